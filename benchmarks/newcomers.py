"""Five things that newcomers do, on the page and by commands: how many steps each takes, and how long a machine takes.

On the page, Chromium does what a person sees who knows no ids: it presses buttons and fills fields by the names that
are shown; the command line is given what `--help` and the last output say. A script answers at once in the place of a
model, so the seconds are those of Dramaturg. Needs Playwright (`make build/clients/.playwright`) and Chromium.

Run: python benchmarks/newcomers.py
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
TEXT = ROOT / "examples" / "texts" / "the_ferry.md"
CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Mara Finch", "description": "Mara Finch mends nets on the quay.", "first_mes": "*looks up* Yes?"},
}
TOLD = "My sister Wilhelmina keeps a one-eyed tortoise called Zebulon."


class Done(NamedTuple):
    """What a task took."""

    task: str
    steps: int
    """Presses, fields and files; or commands."""
    seconds: float


class Person:
    """Somebody at the page, who counts what they do."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.steps = 0
        self.done = list[Done]()

    async def press(self, name: str, role: str = "button", within: str = "body") -> None:
        """Press what has a name."""
        self.steps += 1
        await self.page.locator(within).get_by_role(role, name=name, exact=True).locator("visible=true").first.click()

    async def write(self, name: str, text: str, *, enter: bool = False) -> None:
        """Fill a field that has a label."""
        self.steps += 1
        await self.page.get_by_label(name, exact=True).locator("visible=true").first.fill(text)
        if enter:
            await self.page.keyboard.press("Enter")

    async def give(self, where: str, *files: Any) -> None:
        """Choose files."""
        self.steps += 1
        await self.page.set_input_files(where, *files)

    async def say(self, text: str) -> None:
        """Send a message, and wait for the reply."""
        await self.write("Message", text, enter=True)
        await self.page.wait_for_selector("#stop:visible, .turn.last .reply")
        await self.page.wait_for_selector("#send:visible")

    async def task(self, name: str, doing: Callable[[], Awaitable[None]]) -> None:
        """Do a task, and note what it took."""
        self.steps, began = 0, time.perf_counter()
        await doing()
        self.done.append(Done(name, self.steps, time.perf_counter() - began))


async def on_the_page(folder: Path) -> list[Done]:
    """Do everything on the page."""
    from page_house import page_house

    async with page_house(folder, 1280, 800, settings={"window": 4, "summary_tokens": 0, "redraws": 0}) as house:
        page, one = house.page, Person(house.page)

        async def from_a_card() -> None:
            await one.press("New character")
            await one.give("#card-file", {"name": "mara.json", "mimeType": "", "buffer": json.dumps(CARD).encode()})
            await one.press("Import")
            await page.wait_for_selector("#say:visible")

        async def from_a_text() -> None:
            await one.press("Characters")
            await one.press("New character")
            await one.press("Create from a text")
            await one.give("#cast-files", TEXT)
            await one.write("Which character (a name from the text)", "Mira Castellan")
            await one.press("See what it costs")
            await one.press("Cast", within="#casting .card")
            await page.wait_for_selector(".drafts [data-kind]", timeout=60_000)
            await page.locator("[data-kind=dialogues]").get_by_text("Accept all of this kind").click()
            one.steps += 1
            await house.until("!document.querySelector('[data-kind=dialogues]')")

        async def talk() -> None:
            await one.press("Characters")
            await one.press("Ada Quill", within="#gallery")
            await one.say(TOLD)
            await one.say("Do you trust Tom?")
            await one.press("Regenerate", within=".turn.last .reply")
            await page.wait_for_selector(".turn.last .reply .variants")
            await page.wait_for_selector("#send:visible")

        async def why() -> None:
            await one.press("Why", within="header")
            await page.locator("#why-body .source").first.click()
            one.steps += 1
            await page.wait_for_selector("#dialog mark")
            await one.press("Close", within="#dialog")

        async def memory() -> None:
            await page.click("#about-role")
            one.steps += 1
            await one.press("What it remembers of you", "menuitem")
            await one.write("New note", "Zebulon has both eyes.", enter=True)
            await page.wait_for_selector("#memory section li")
            row = page.locator("#memory li", has_text="Wilhelmina").first
            await row.get_by_role("button", name="Forget …").click()
            one.steps += 1
            await one.press("Forget for good", within="#memory")
            await house.until("document.querySelector('#live').textContent.startsWith('Forgotten')")
            await one.press("Back to the chat")
            async with page.expect_download() as waited:
                await page.click("#about-role")
                one.steps += 1
                await one.press("Export as a card", "menuitem")
            await waited.value

        for name, doing in zip(TASKS, (from_a_card, from_a_text, talk, why, memory), strict=True):
            await one.task(name, doing)
    return one.done


TASKS = (
    "a character from a card",
    "a character from a text",
    "talk, and regenerate",
    "why, and open a source",
    "correct and forget a memory, export",
)


def by_commands(folder: Path) -> list[Done]:
    """Do the same in a terminal."""
    from roles import small_role
    from stub_endpoint import endpoint

    library = folder / "library"
    small_role(library)
    (folder / "mara.json").write_text(json.dumps(CARD), encoding="utf-8")
    done = list[Done]()
    with endpoint() as stub:
        env = {**os.environ, **stub.variables(), "DRAMATURG_LIBRARY": str(library), "DRAMATURG_CACHE": str(folder)}

        def run(*arguments: str, said: str = "") -> str:
            command = [str(Path(sys.executable).parent / "dramaturg"), *arguments]
            ended = subprocess.run(
                command, cwd=folder, env=env, input=said, capture_output=True, text=True, check=False
            )
            if ended.returncode:
                raise RuntimeError(f"{' '.join(arguments)}: {ended.stderr[-600:]}")
            return ended.stdout

        def from_a_card() -> int:
            run("import", "mara.json")
            return 1

        def from_a_text() -> int:
            run("cast", str(TEXT), "--who", "Mira Castellan", "--without-model")
            run("cast", "--role", "mira-castellan", "--accept", "all")
            return 2

        def talk() -> int:
            run("chat", "ada", "--thread", "tea", said=f"{TOLD}\nDo you trust Tom?\n/again\n/quit\n")
            return 3

        def why() -> int:
            run("chat", "ada", "--thread", "tea", said="/evidence\n/quit\n")
            return 2

        def memory() -> int:
            run("chat", "ada", "--thread", "tea", said="/remember Zebulon has both eyes.\n/quit\n")
            listed = json.loads(run("memories", "ada", "--thread", "tea", "--find", "Wilhelmina", "--json"))
            run("memories", "ada", "--thread", "tea", "--remove", str(listed[0]["memory"]), "--yes")
            run("export", "ada", "ada.png")
            return 5

        for name, doing in zip(TASKS, (from_a_card, from_a_text, talk, why, memory), strict=True):
            began = time.perf_counter()
            done.append(Done(name, doing(), time.perf_counter() - began))
    return done


def main() -> None:
    """Do the tasks, and print a table."""
    sys.path[:0] = [str(ROOT / "tests" / "support")]
    from chat_clients import missing

    if why := missing("playwright"):
        sys.exit(f"{why}.")
    table = Table("task", "on the page", "by commands", title="Steps and seconds", title_justify="left")
    with tempfile.TemporaryDirectory() as folder:
        page = asyncio.run(on_the_page(Path(folder) / "page"))
        commands = by_commands(Path(folder))
    for one, other in zip(page, commands, strict=True):
        table.add_row(one.task, *(f"{each.steps} steps, {each.seconds:.1f} s" for each in (one, other)))
    Console().print(table)


if __name__ == "__main__":
    main()
