"""The real Open WebUI: two turns are two turns, and titles, tags and follow-ups change nothing."""

import json
from pathlib import Path

import pytest
from chat_clients import CLIENTS, TASKS, free_port, missing, page_at, running, stage

from dramaturg.conversations.alignment import as_heard

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing("open-webui")), reason=missing("open-webui")),
]


@pytest.mark.parametrize("headers", [True, False], ids=["headers", "bare"])
async def test_two_turns_are_two_and_utility_requests_are_none(tmp_path: Path, headers: bool) -> None:
    port = str(free_port())
    command = [str(CLIENTS / "open-webui" / "bin" / "open-webui"), "serve", "--host", "127.0.0.1", "--port", port]
    with stage(tmp_path) as roles:
        settings = {
            "OPENAI_API_BASE_URL": roles.base_url,
            "OPENAI_API_KEY": "none",
            "ENABLE_FORWARD_USER_INFO_HEADERS": str(headers),
            "WEBUI_AUTH": "False",
            "WEBUI_SECRET_KEY": "of this test",
            "DATA_DIR": str(tmp_path / "webui"),
            "DEFAULT_MODELS": "ada",
            "ENABLE_OLLAMA_API": "false",
            "OFFLINE_MODE": "true",
            "HF_HUB_OFFLINE": "1",
            "BYPASS_EMBEDDING_AND_RETRIEVAL": "true",
            "RAG_EMBEDDING_ENGINE": "openai",
        }
        (tmp_path / "webui").mkdir()
        with running(command, tmp_path / "webui.log", f"http://127.0.0.1:{port}/health", tmp_path, **settings) as http:
            async with page_at(f"{http.base_url}/?models=ada") as page:
                for number, text in enumerate(("one", "two"), start=1):
                    await page.locator("#chat-input").click()
                    await page.keyboard.type(text)
                    await page.keyboard.press("Enter")
                    await page.get_by_text(f"Reply {number} to {text}").first.wait_for()
                    await page.wait_for_timeout(1_000)
                await page.get_by_text(TASKS["title"]).first.wait_for()
                tasks = 0
                for _ in range(120):
                    tasks = sum("### Task:" in json.dumps(body) for body in roles.stub.asked)
                    if tasks == 4:
                        break
                    await page.wait_for_timeout(500)
                assert tasks == 4
                chat = page.url.rpartition("/")[2]
                (thread,) = roles.threads()
                assert not headers or thread == chat
                said = [as_heard(part) for turn in roles.turns("ada", thread) for part in turn]
                assert said == list(map(as_heard, ("one", "Reply 1 to one", "two", "Reply 2 to two")))
                assert await roles.remembered("ada", thread) == {"one", "two"}
