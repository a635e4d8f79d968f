"""The real Open WebUI: two turns are two turns, and titles, tags and follow-ups change nothing."""

import json
import re
from pathlib import Path

import pytest
from chat_clients import TASKS, missing, open_webui, page_at, stage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing("open-webui")), reason=missing("open-webui")),
]


@pytest.mark.parametrize("headers", [True, False], ids=["headers", "bare"])
async def test_two_turns_are_two_and_utility_requests_are_none(tmp_path: Path, headers: bool) -> None:
    with stage(tmp_path) as roles, open_webui(tmp_path / "webui", roles.base_url, headers=headers) as http:
        async with page_at(f"{http.base_url}?models=ada") as page:
            await page.get_by_text("Okay, Let's Go!").click()
            for text in ("one", "two"):
                await page.locator("#chat-input").click()
                await page.keyboard.type(text)
                await page.keyboard.press("Enter")
                await page.get_by_text(re.compile(rf"Reply \d to {text}")).first.wait_for()
            await page.get_by_text(TASKS["title"]).first.wait_for()
            for _ in range(120):
                tasks = sum("### Task:" in json.dumps(body) for body in roles.stub.asked)
                if tasks == 4:
                    break
                await page.wait_for_timeout(500)
            assert tasks == 4
            (thread,) = roles.threads()
            assert not headers or thread == page.url.rpartition("/")[2]
            assert roles.turns("ada", thread) == [("one", "Reply 1 to one"), ("two", "Reply 2 to two")]
            assert await roles.remembered("ada", thread) == {"one", "two"}
            await page.get_by_text("Thought for").last.wait_for()
