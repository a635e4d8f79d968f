"""The pictures of docs/how-to/clients: SillyTavern and Open WebUI as they are, with a role that a script plays.

Run it after `make clients`: `PYTHONPATH=tests/support .venv/bin/python docs/generate/client_pictures.py`.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from chat_clients import missing, open_webui, page_at, stage
from sillytavern import HEADERS, Screen, tavern

from roles import actor

HERE = Path(__file__).parents[1] / "how-to" / "clients"
REPLY = "The light must never fail. *She trims the wick.* Ask me anything, but ask it while I work."
QUESTION = "What do you do when a storm comes?"

# A free port was taken; people have the usual one.
AS_USUAL = """url => document.querySelectorAll('input').forEach(
    one => { if (one.value === url) one.value = 'http://127.0.0.1:8642/v1'; })"""


async def sillytavern(folder: Path) -> None:
    """A chat with its thinking open, the connection, and the headers."""
    with stage(folder / "roles") as roles, tavern(folder / "tavern", roles.base_url) as house:
        roles.stub.model = actor(reply=REPLY)
        house.role("Ada", "ada")
        house.settings(custom_include_headers=HEADERS, custom_url="http://127.0.0.1:8642/v1")
        async with page_at(str(house.http.base_url), 900, 640) as page:
            screen = Screen(page)
            house.settings(custom_url=roles.base_url)
            await page.reload()
            await screen.open("Ada")
            await screen.say(QUESTION)
            await page.evaluate("document.querySelector('#chat .last_mes .mes_reasoning_details').open = true")
            await page.wait_for_timeout(1_000)
            await page.screenshot(path=HERE / "sillytavern_chat.png")
            await page.click("#sys-settings-button .drawer-toggle")
            await page.wait_for_timeout(1_500)
            await page.fill("#custom_api_url_text", "http://127.0.0.1:8642/v1")
            await page.screenshot(path=HERE / "sillytavern_connection.png")
            await page.click("#customize_additional_parameters")
            await page.locator("#custom_include_headers").scroll_into_view_if_needed()
            await page.wait_for_timeout(1_000)
            await page.screenshot(path=HERE / "sillytavern_headers.png")


async def webui(folder: Path) -> None:
    """A chat with its thinking open, and the connection."""
    with stage(folder / "roles") as roles, open_webui(folder / "webui", roles.base_url) as http:
        roles.stub.model = actor(reply=REPLY)
        async with page_at(f"{http.base_url}?models=ada", 900, 640) as page:
            await page.get_by_text("Okay, Let's Go!").click()
            await page.locator("#chat-input").click()
            await page.keyboard.type(QUESTION)
            await page.keyboard.press("Enter")
            thought = page.get_by_text("Thought for").last
            await thought.wait_for()
            await page.wait_for_timeout(3_000)
            await thought.click()
            await page.wait_for_timeout(1_500)
            await page.screenshot(path=HERE / "open_webui_chat.png")
            await page.goto(f"{http.base_url}/admin/settings/connections")
            await page.get_by_text("OpenAI API").first.wait_for()
            await page.wait_for_timeout(2_000)
            await page.evaluate(AS_USUAL, roles.base_url)
            await page.screenshot(path=HERE / "open_webui_connection.png")


if __name__ == "__main__":
    if lacks := missing("sillytavern") or missing("open-webui"):
        raise SystemExit(lacks)
    HERE.mkdir(exist_ok=True)
    for shoot in (sillytavern, webui):
        if not sys.argv[1:] or shoot.__name__ in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                asyncio.run(shoot(Path(folder)))
