"""The real SillyTavern, as a person uses it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from chat_clients import CLIENTS, running

from dev_server import free_port

HERE = CLIENTS / "sillytavern"
# What docs/how-to/clients/sillytavern.md recommends. A chat names its thread by itself, once; the name is
# kept with the chat.
NEW_NAME = "{{datetimeformat::YYYYMMDD-HHmmss}}-{{roll::1d9999}}"
NAMED = f"{{{{if {{{{hasvar::role_thread}}}}}}}}{{{{else}}}}{{{{setvar::role_thread::{NEW_NAME}}}}}{{{{/if}}}}"
HEADERS = f"""X-Role-Thread: "{NAMED}{{{{getvar::role_thread}}}}"
X-Role-Char: "{{{{char}}}}"
X-Role-User: "{{{{user}}}}"
X-Role-Group: "{{{{group}}}}"
X-Gen-Type: "{{{{lastGenerationType}}}}"
"""
# The same, with who is not muted, as docs/how-to/serve.md recommends for groups.
GROUP_HEADERS = f'{HEADERS}X-Role-Present: "{{{{groupNotMuted}}}}"\n'
# The same where a name is not Latin: what Node sends as a header holds no other letters.
BODY = f"""metadata:
  thread_id: "{NAMED}{{{{getvar::role_thread}}}}"
  role_char: "{{{{char}}}}"
  role_user: "{{{{user}}}}"
  role_group: "{{{{group}}}}"
  gen_type: "{{{{lastGenerationType}}}}"
"""
GREETING = "*She waves.* Good evening, {{user}}."


class Tavern:
    """A server of SillyTavern with folders of its own, over HTTP."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http
        self.http.headers["X-CSRF-Token"] = self.http.get("/csrf-token").json()["token"]

    def put(self, what: str, body: Mapping[str, Any]) -> None:
        """Make a character, a group or a book of lore."""
        self.http.post(f"/api/{what}", json=body).raise_for_status()

    def role(self, name: str, file: str, **fields: str) -> None:
        card = {"ch_name": name, "file_name": file, "description": f"{name} minds the house.", "first_mes": GREETING}
        self.put("characters/create", {**card, **fields})

    def settings(self, **changed: Any) -> None:
        """Change the settings of its chat completions, as its panel does."""
        kept = json.loads(self.http.post("/api/settings/get", json={}).json()["settings"])
        kept["oai_settings"].update(changed)
        self.put("settings/save", kept)


@contextmanager
def tavern(folder: Path, base_url: str) -> Iterator[Tavern]:
    """Run it, with the server of roles as its model."""
    settings = json.loads((HERE / "default" / "content" / "settings.json").read_text())
    settings |= {"firstRun": False, "main_api": "openai"}
    settings["power_user"] |= {"auto_connect": True, "quick_continue": True, "quick_impersonate": True}
    settings["oai_settings"] |= {"chat_completion_source": "custom", "custom_url": base_url, "custom_model": "ada"}
    data, built = folder / "data", CLIENTS / "sillytavern-pages"  # what it builds at its first start, in 40 s
    (data / "default-user").mkdir(parents=True)
    (data / "default-user" / "settings.json").write_text(json.dumps(settings))
    built.mkdir(exist_ok=True)
    (data / "_webpack").symlink_to(built)
    config = (HERE / "default" / "config.yaml").read_text()
    for name in ("autoUpdate", "autoDownload", "enableDownloadableTokenizers"):
        config = config.replace(f"{name}: true", f"{name}: false")
    (folder / "config.yaml").write_text(config)
    port = str(free_port())
    command = ["node", "server.js", "--configPath", str(folder / "config.yaml"), "--dataRoot", str(data)]
    command += ["--port", port, "--listen", "false", "--browserLaunchEnabled", "false"]
    with running(command, folder / "tavern.log", f"http://127.0.0.1:{port}/", HERE) as http:
        yield Tavern(http)


class Screen:
    """What a person sees of a chat in SillyTavern, and does with it."""

    def __init__(self, page: Any) -> None:
        self.page = page

    async def open(self, name: str) -> None:
        """Wait for the page, whose welcome is written last, and open a new chat with a character, or a group's."""
        await self.page.wait_for_function("document.querySelector('#preloader') === null")
        await self.page.wait_for_function("SillyTavern.getContext().onlineStatus !== 'no_connection'")
        await self.page.wait_for_selector("#chat .welcomePanel")
        await self.page.wait_for_selector("#chat .mes")
        await self.command(f"/go {name}")
        await self.command("/newchat")
        await self.page.wait_for_function("document.querySelectorAll('#chat .mes').length > 0")

    async def shown(self) -> list[tuple[str, str]]:
        """Who says what on the screen."""
        lines = await self.page.evaluate(SHOWN)
        return [(name, text) for name, text in lines]

    async def last(self) -> str:
        return (await self.shown())[-1][1]

    async def answered(self, *clicks: str) -> str:
        """Click, wait until the model has answered and nobody writes any more, and give the last line."""
        async with self.page.expect_event("requestfinished", lambda one: one.url.endswith("/generate")):
            for one in clicks:
                await self.page.click(one)
        return await self.done()

    async def done(self) -> str:
        """Wait until nobody writes any more, and give the last line. What is clicked in a swipe is not heeded."""
        await self.page.wait_for_function(
            "SillyTavern.getContext().swipe.state() === 'none'"
            " && !document.body.matches('[data-generating]') && !document.querySelector('#curEditTextarea')"
        )
        await self.page.wait_for_timeout(200)
        return await self.last()

    async def say(self, text: str, replies: int = 1) -> str:
        lines = await self.page.locator("#chat .mes").count()
        await self.page.fill("#send_textarea", text)
        await self.answered("#send_but")
        enough = "most => document.querySelectorAll('#chat .mes').length >= most"
        await self.page.wait_for_function(enough, arg=lines + 1 + replies)
        return await self.done()

    async def begin(self, text: str, shown: str) -> None:
        """Say something, and wait until some words of the reply are on the screen."""
        lines = await self.page.locator("#chat .mes").count()
        await self.page.fill("#send_textarea", text)
        await self.page.click("#send_but")
        begun = "([at, shown]) => document.querySelectorAll('#chat .mes .mes_text')[at]?.innerText.includes(shown)"
        await self.page.wait_for_function(begun, arg=[lines + 1, shown])

    async def stop(self) -> str:
        await self.page.click("#mes_stop")
        return await self.done()

    async def thought(self) -> str:
        """What stands behind "Thought for some seconds", over the last line."""
        return str(await self.page.locator("#chat .last_mes .mes_reasoning").text_content()).strip()

    async def swipe(self) -> str:
        return await self.answered("#chat .last_mes .swipe_right")

    async def swipe_back(self) -> str:
        """Go back to the reply before, which asks nothing."""
        await self.page.click("#chat .last_mes .swipe_left")
        return await self.done()

    async def go_on(self) -> str:
        return await self.answered("#mes_continue")

    async def regenerate(self) -> str:
        return await self.answered("#options_button", "#option_regenerate")

    async def impersonate(self) -> str:
        """Have the user's own line written, and give it; it stands where one types."""
        await self.answered("#mes_impersonate")
        text = await self.page.input_value("#send_textarea")
        await self.page.fill("#send_textarea", "")
        return str(text)

    async def command(self, text: str) -> str:
        """Run a line of its script language, and give what it says."""
        run = "async text => (await SillyTavern.getContext().executeSlashCommandsWithOptions(text)).pipe"
        return str(await self.page.evaluate(run, text))

    async def edit(self, at: int, text: str) -> None:
        """Change a message by its place on the screen."""
        line = self.page.locator("#chat .mes").nth(at)
        await line.locator(".extraMesButtonsHint").click()
        await line.locator(".mes_edit").click()
        await self.page.fill("#curEditTextarea", text)
        await line.locator(".mes_edit_done").click()
        await self.done()

    async def delete_from(self, at: int) -> None:
        """Delete a message and all below it, as its own menu does."""
        await self.page.click("#options_button")
        await self.page.click("#option_delete_mes")
        await self.page.locator("#chat .mes").nth(at).locator(".del_checkbox").click()
        await self.page.click("#dialogue_del_mes_ok")
        await self.done()


SHOWN = """() => [...document.querySelectorAll('#chat .mes')].map(one => [
    one.getAttribute('ch_name'), one.querySelector('.mes_text').innerText.trim()])"""
