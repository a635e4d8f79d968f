"""The pictures of docs/how-to/page: how the page looks, each state of what waits and of what is learned, and two films.

Run it after `make build/clients/.playwright`:

    PYTHONPATH=tests/support .venv/bin/python docs/generate/page_pictures.py          # the sheets of states
    PYTHONPATH=tests/support .venv/bin/python docs/generate/page_pictures.py looks    # on a phone, a tablet, and wide
    PYTHONPATH=tests/support .venv/bin/python docs/generate/page_pictures.py scene    # a scene, and who knew what when
    PYTHONPATH=tests/support .venv/bin/python docs/generate/page_pictures.py graph    # a character's graph, and why
    PYTHONPATH=tests/support .venv/bin/python docs/generate/page_pictures.py moving   # talk.webp
    PYTHONPATH=tests/support .venv/bin/python docs/generate/page_pictures.py film     # needs `dramaturg models pull`

A script plays the role on the sheets and in talk.webp. In the film it is the embedded model: an empty home,
`dramaturg serve`, one click, a word, and why, with the seconds since the command was typed.
"""

import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
from all_methods import whole_role
from chat_clients import missing, page_at
from page_house import House, page_house
from PIL import Image, ImageDraw, ImageFont
from platformdirs import user_cache_path

from dramaturg.server.access import Access
from dramaturg.stores.documents.merges import PLAN, Merge, MergePlan, Why, write_plan

from changing_roles import CORE, finding
from dev_server import free_port
from roles import LIFE
from scope_roles import MOON, judged, publish, scoped

HERE = Path(__file__).parents[1] / "how-to" / "page"
SIZES = {"phone": (390, 760), "wide": (1280, 800)}
WIDTHS = {"phone": 270, "wide": 460}
"""Of one picture on a sheet, in pixels."""
HARBOUR = b"# The harbour\n\nThe harbour master is called Imelda. She sold the old lamp, and has been sorry since.\n"
NAMES = ("Ada Quill", "Tom", "the harbour master", "the lamp", "the old lamp", "the lighthouse", "Gull Rock")
FACTS = {
    "entities": [{"name": one, "type": "other", "sentence": 1, "description": f"{one} is there."} for one in NAMES],
    "relations": [],
}
PARTS = {
    "reflected": json.dumps({"findings": [CORE, finding("brandy", 1, "likes")]}),
    "facts": json.dumps(FACTS),
}
SEEN = "!document.querySelector('#waiting').hidden && document.querySelector('#waiting input')"
Shot = Callable[[str], Awaitable[None]]
Pictures = dict[str, Image.Image]


async def planned(house: House, library: Path) -> None:
    """Have the facts of the role extracted, and put a plan of its names into its folder."""
    files = [{"name": "harbour.md", "data": base64.b64encode(HARBOUR).decode()}]
    await house.http.post("/v1/roles/ada/knowledge", json={"method": "role-rag", "files": files})
    yes = Why(names=("the lamp", "the old lamp"), certainty=0.9, similarity=0.82, reason="Both are the lamp she trims.")
    maybe = Why(names=("the lighthouse", "Gull Rock"), certainty=0.6, reason="The one stands on the other.")
    no = Why(names=("Tom", "the harbour master"), same=False, certainty=0.1, reason="One is her brother.")
    merges = (
        Merge(name="the lamp", names=yes.names, why=(yes,)),
        Merge(name="the lighthouse", names=maybe.names, why=(maybe,)),
    )
    write_plan(library / "ada", MergePlan(merges=merges, alone=NAMES[:3], apart=(no,)), PLAN)


async def waits(house: House, folder: Path, shot: Shot) -> None:
    """An approval: asked for, ticked, answered, late, and away."""
    page = house.page
    await house.open(method="id-rag")
    await house.say("Who are you now?")
    await house.until(SEEN)
    await shot("a change waits")
    await page.locator("#waiting input").first.check()
    await house.cable.cut()
    await page.locator("#waiting button.main").click()
    await house.until("document.querySelector('#notice').textContent.includes('does not answer')")
    await shot("the server is away: ticks stay")
    await house.cable.plug_in()
    await house.until("document.querySelector('#notice').textContent.includes('server is back')")
    threads = (await house.http.get("/v1/threads?role=ada")).json()["data"]
    at = f"/v1/threads/{threads[0]['id']}"
    turn = (await house.http.get(f"{at}/waiting?role=ada")).json()["turn"]
    await house.http.post(f"{at}/answer?role=ada", json={"turn": turn, "approved": [1]})
    await page.locator("#waiting button.main").click()
    await house.until("document.querySelector('#notice').textContent.includes('in another window')")
    await shot("another window was first")
    if page.viewport_size["width"] < 1000:
        await house.page.locator(".ask-why").last.click()
        await house.page.wait_for_selector("#why-body .because")
    await page.evaluate("""() => [...document.querySelectorAll('#why-body h3')]
        .find(one => one.textContent === 'Changes to the character')?.scrollIntoView()""")
    await shot("why: what the role has become")


async def learns(house: House, folder: Path, shot: Shot) -> None:
    """Knowledge: empty, refused, weighed, under way, learned, to be taken back, a method that reads none."""
    page = house.page
    await house.open()
    persona = folder / "library" / "ada" / "persona" / "life.md"
    text = persona.read_text()
    persona.unlink()
    await house.menu("#open-knowledge")
    await page.wait_for_selector(".knowledge section")
    await shot("nothing is written yet")
    persona.write_text(text)
    await house.choose("role-rag")
    await page.wait_for_selector(".knowledge section")
    await page.set_input_files("#files", {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": b"x"})
    await page.wait_for_selector(".said .warning")
    await shot("a kind that is not read")
    given = {"name": "harbour.md", "mimeType": "text/markdown", "buffer": HARBOUR}
    await page.set_input_files("#files", given)
    await page.wait_for_selector(".card")
    await page.locator(".card").scroll_into_view_if_needed()
    await shot("weighed: what it would cost")
    far = {"what": "learn", "step": "facts", "done": 3, "total": 9}
    known = (await house.http.get("/v1/roles/ada/knowledge?method=role-rag")).json()
    await page.route("**/knowledge?**", lambda route: route.fulfill(json=known | {"work": far}))
    await house.menu("#open-knowledge")
    await house.menu("#open-knowledge")
    await page.wait_for_selector("progress")
    await shot("under way, also for other windows")
    await page.unroute("**/knowledge?**")
    await page.wait_for_selector(".drop:visible")
    await page.set_input_files("#files", given)
    await page.wait_for_selector(".card")
    await page.click(".card .main")
    await page.wait_for_selector(".fine, .said .warning")
    await shot("learned; it can be taken back")
    await house.choose("profile")
    await house.until("document.querySelector('.knowledge').textContent.includes('Profile reads no')")
    await shot("a method that reads no documents")


async def merges(house: House, folder: Path, shot: Shot) -> None:
    """Names: a plan with what was said, decided, damaged."""
    page, library = house.page, folder / "library"
    await planned(house, library)
    await house.open()
    await house.menu("#open-knowledge")
    await page.wait_for_selector(".merges")
    for one in await page.query_selector_all(".merges summary"):
        await one.click()
    await page.locator(".merges input").first.check()
    await page.locator(".merges h3").scroll_into_view_if_needed()
    await page.evaluate("document.querySelector('.merges').scrollIntoView()")
    await shot("names: what was said, yes and no")
    await page.click(".merges button.main")
    await page.wait_for_selector(".fine, .said .warning")
    await shot("decided")
    (library / "ada" / PLAN).write_text("merges: [")
    await house.menu("#open-knowledge")
    await house.menu("#open-knowledge")
    await house.until("document.querySelector('.knowledge .warning')")
    await shot("a damaged plan")


async def forbidden(house: House, folder: Path, shot: Shot) -> None:
    """A server that may not change roles."""
    await house.open()
    await house.menu("#open-knowledge")
    await house.page.wait_for_selector(".knowledge section")
    await shot("a server that changes no role")


SCENES: dict[str, Any] = {"waits": waits, "learns": learns, "merges": merges, "forbidden": forbidden}


async def taken(size: str, scheme: str) -> Pictures:
    """Every state at one size and in one scheme."""
    found: Pictures = {}
    for name, scene in SCENES.items():
        how: dict[str, Any] = {"parts": PARTS, "settings": {"update": True, "redraws": 0}}
        if name == "forbidden":
            how["access"] = Access(a_minute=100_000, changes_roles=False)
        with tempfile.TemporaryDirectory() as at:
            async with page_house(Path(at), *SIZES[size], **how) as house:
                await house.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

                async def shot(title: str, page: Any = house.page) -> None:
                    await page.wait_for_timeout(250)
                    found[title] = Image.open(BytesIO(await page.screenshot())).convert("RGB")

                await scene(house, Path(at), shot)
    return found


REPLY = """*She sets the lamp down, and laughs.*

Tom? He is my **brother**. Every Friday his boat brings me two things:

- flour,
- letters, when there are any.

It is the harbour master whom I would not trust. *She looks out.* Why do you ask?"""
QUESTION = "Do you trust Tom?"
PLAYED = {"parts": {"reply": lambda _: REPLY}, "settings": {"redraws": 0}}
LOOKS = {"phone": (390, 780), "tablet": (820, 1100), "wide": (1440, 900)}
COLUMNS = {"phone": (7, 240), "tablet": (3, 380), "wide": (3, 560)}
"""Of a sheet, and the width of each in pixels."""


async def looks_of(house: House, shot: Shot) -> None:
    """From the first visit to why and the settings."""
    page = house.page
    await page.wait_for_selector(".roles li")
    await shot("characters")
    await house.open()
    await shot("a new chat")
    await house.say(QUESTION)
    await house.press(".reply", "Regenerate")
    await house.settled()
    await page.wait_for_selector(".because")
    await shot("a reply, 2 of 2")
    await house.why()
    await shot("why")
    if page.viewport_size["width"] < 1000:
        await page.click("#close-why")
        await page.click("#open-side")
        await page.wait_for_selector("#threads .open-talk")
        await shot("chats")
        await page.click("#close-side")
    await page.click("#about-role")
    await shot("the menu of a character")
    await page.keyboard.press("Escape")
    await house.side("#open-settings")
    await page.wait_for_selector("#dialog[open]")
    await shot("settings")


async def looked(size: str, scheme: str) -> Pictures:
    """How the page looks at one size and in one scheme."""
    found: Pictures = {}
    with tempfile.TemporaryDirectory() as at:
        async with page_house(Path(at), *LOOKS[size], **PLAYED) as house:
            await house.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

            async def shot(title: str) -> None:
                await house.page.wait_for_timeout(250)
                found[title] = Image.open(BytesIO(await house.page.screenshot())).convert("RGB")

            await looks_of(house, shot)
    return found


async def looks() -> None:
    """A sheet for each size, the light scheme above the dark one."""
    for size, (columns, wide) in COLUMNS.items():
        light, dark = [await looked(size, scheme) for scheme in ("light", "dark")]
        both = light | {f"{title} (dark)": one for title, one in dark.items()}
        kept(sheet(both, wide, columns, dark=False), HERE / f"looks_{size}.png", 200)
        if size == "wide":
            kept(light["why"].resize((1280, 800), Image.Resampling.LANCZOS), HERE / "talk.png", 200)


STAGED = (
    "Ye'll sail with a bold crew yet, Dick, if ye have the stomach for it.",
    "What would I have to do, Mr Silver?",
    "[He knows too much.] Hush. Where is he, then?",
    "A pretty evening, and none to hear us.",
    "I thought I heard something stir, Mr Silver.",
)
SAID = (
    "/next Long John Silver",
    "/next Dick Johnson",
    "/leave Dick Johnson",
    "/whisper Long John Silver: The boy is in the barrel.",
)


async def played(house: House) -> None:
    """Some lines of the example scene."""
    page = house.page
    await page.locator("#gallery .scenes").get_by_role("button", name="Apple barrel").click()
    await page.wait_for_selector(".greeting .cast")
    for line in SAID:
        await house.say(line)
    await house.say("/enter Dick Johnson")


async def scene() -> None:
    """A scene at two sizes: before it begins, as it is played, what can be done in it, and who knew what when."""
    for size in ("phone", "wide"):
        found: Pictures = {}
        lines = iter(STAGED * 4)
        how = {"parts": {"reply": lambda _, lines=lines: next(lines)}, "settings": {"redraws": 0, "summary_tokens": 0}}
        with tempfile.TemporaryDirectory() as at:
            async with page_house(Path(at), *LOOKS[size], **how) as house:
                page = house.page
                await page.emulate_media(color_scheme="light", reduced_motion="reduce")

                async def shot(title: str, page: Any = page, found: Pictures = found) -> None:
                    await page.wait_for_timeout(250)
                    found[title] = Image.open(BytesIO(await page.screenshot())).convert("RGB")

                await played(house)
                await shot("a scene")
                await page.click("#cues")
                await shot("what can be done in it")
                await page.keyboard.press("Escape")
                await house.menu("#open-heard")
                await page.wait_for_selector("#heard td")
                await page.locator("#heard tbody tr", has_text="boy is in the barrel").locator("td").nth(1).click()
                await shot("who knew what when, and why")
                await page.select_option("#heard-by", label="what Dick Johnson knows")
                await shot("what one role knows")
        columns, wide = (4, COLUMNS["phone"][1]) if size == "phone" else (2, COLUMNS["wide"][1])
        kept(sheet(found, wide, columns, dark=False), HERE / f"scene_{size}.png", 200)


async def graph() -> None:
    """The graph of a character under its knowledge, and the part of it that a reply touched, under Why."""
    found: Pictures = {}
    parts = {"scope": lambda _: judged(scoped("Tom"), MOON)}
    with tempfile.TemporaryDirectory() as at:
        whole_role(Path(at) / "library")
        (Path(at) / "library" / "ada" / "persona" / "life.md").write_text(LIFE, encoding="utf-8")
        publish(Path(at) / "library")
        async with page_house(Path(at), *LOOKS["wide"], parts=parts) as house:
            page = house.page
            await page.emulate_media(color_scheme="light", reduced_motion="reduce")

            async def shot(title: str) -> None:
                await page.wait_for_timeout(500)
                found[title] = Image.open(BytesIO(await page.screenshot())).convert("RGB")

            await house.open(method="role-rag")
            await house.menu("#open-knowledge")
            section = page.locator("section", has_text="Knowledge graph")
            await section.get_by_role("button", name="Show it").click()
            await page.locator(".hits button", has_text="Ada Quill").first.click()
            await page.locator(".explorer canvas").scroll_into_view_if_needed()
            await shot("what a character knows")
            await page.click("#back")
            await house.say("Did Tom fly to the moon?")
            await house.why()
            await page.wait_for_selector("#why canvas")
            await shot("what a reply touched")
    kept(sheet(found, COLUMNS["wide"][1], 2, dark=False), HERE / "graph.png", 200)


GROWS = """async () => {
  const { showText } = await import("/page/markdown.js");
  const reply = document.querySelector(".turn:last-child .reply");
  const rest = reply.querySelectorAll(".because, .tools");
  for (const one of rest) one.hidden = true;
  window.grown = (text) => showText(reply.querySelector(".text"), text, true);
  window.whole = () => rest.forEach((one) => (one.hidden = false));
}"""
"""The reply once more, so that it streams at the same pace on every machine."""


async def moving() -> None:
    """Ten seconds: the characters, a reply that streams, why it is so, and a passage that it rests on."""
    frames: list[tuple[Image.Image, int]] = []
    with tempfile.TemporaryDirectory() as at:
        async with page_house(Path(at), 1200, 750, **PLAYED) as house:
            page = house.page

            async def shot(milliseconds: int) -> None:
                picture = Image.open(BytesIO(await page.screenshot())).convert("RGB")
                frames.append((picture.resize((960, 600), Image.Resampling.LANCZOS), milliseconds))

            await page.wait_for_selector(".roles li")
            await page.wait_for_timeout(300)
            await shot(1_400)
            await house.open()
            await shot(700)
            for end in range(4, len(QUESTION) + 4, 4):
                await page.fill("#say", QUESTION[:end])
                await shot(110)
            await page.press("#say", "Enter")
            await house.settled()
            await page.wait_for_selector(".because")
            await page.evaluate(GROWS)
            words = REPLY.split(" ")
            for end in range(3, len(words) + 3, 3):
                await page.evaluate("text => window.grown(text)", " ".join(words[:end]))
                await shot(150)
            await page.evaluate("window.whole()")
            await shot(1_500)
            await house.why()
            await page.wait_for_timeout(200)
            await shot(1_800)
            await page.locator("#why-body .how summary").click()
            quoted = page.locator("#why-body .quoted summary").first
            if await quoted.count():
                await quoted.click()
            await page.wait_for_timeout(200)
            await shot(2_600)
    first, *others = (one for one, _ in frames)
    file, times = HERE / "talk.webp", [one for _, one in frames]
    first.save(file, save_all=True, append_images=others, duration=times, loop=0, quality=70, method=4)
    print(f"{file.relative_to(HERE.parents[1])}: {file.stat().st_size:,} bytes, {sum(times) / 1000:.1f} s")


def sheet(pictures: Pictures, width: int, columns: int, dark: bool) -> Image.Image:
    """Pictures side by side, each under its title."""
    ground, ink = ("#17151c", "#ece8f2") if dark else ("#ffffff", "#1e1b24")
    font = ImageFont.load_default(13)
    small = {
        title: one.resize((width, one.height * width // one.width), Image.Resampling.LANCZOS)
        for title, one in pictures.items()
    }
    height = max(one.height for one in small.values()) + 34
    rows = -(-len(small) // columns)
    whole = Image.new("RGB", (columns * (width + 12) + 12, rows * height + 12), ground)
    draw = ImageDraw.Draw(whole)
    for at, (title, one) in enumerate(small.items()):
        x, y = 12 + at % columns * (width + 12), 8 + at // columns * height
        draw.text((x, y), title, fill=ink, font=font)
        whole.paste(one, (x, y + 20))
    return whole


def kept(picture: Image.Image, file: Path, colours: int = 40) -> None:
    """Write a picture with few colours: a page has no more, but for faces."""
    few = picture.quantize(colours, dither=Image.Dither.NONE)
    few.save(file, optimize=True)
    print(f"{file.relative_to(HERE.parents[1])}: {file.stat().st_size:,} bytes")


async def states() -> None:
    """The sheets of states: phone and wide, light and dark."""
    for size in SIZES:
        for scheme in ("light", "dark"):
            found = await taken(size, scheme)
            columns = 5 if size == "phone" else 3
            kept(sheet(found, WIDTHS[size], columns, scheme == "dark"), HERE / f"states_{size}_{scheme}.png")


async def until(page: Any, true: str) -> None:
    """Wait until an expression is true: Playwright's own waiting is refused by the page's policy."""
    while not await page.evaluate(true):
        if await page.locator("#notice:not(:empty)").count():
            raise RuntimeError(await page.inner_text("#notice"))
        await asyncio.sleep(0.05)


async def film() -> None:
    """A first visit with the embedded model, from an empty home on."""
    frames: Pictures = {}
    with tempfile.TemporaryDirectory() as at:
        home, port = Path(at), free_port()
        weights = str(user_cache_path("dramaturg"))  # which were pulled before
        env = {**os.environ, "HOME": at, "DRAMATURG_LIBRARY": str(home / "library"), "DRAMATURG_WEIGHTS": weights}
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DRAMATURG_CHAT_MODEL"):
            env.pop(name, None)
        command = [str(Path(sys.executable).with_name("dramaturg")), "serve", "--port", str(port)]
        began = time.monotonic()
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)  # noqa: ASYNC220 (it is waited for)
        try:
            async with httpx.AsyncClient(trust_env=False) as http:
                while True:
                    try:
                        if (await http.get(f"http://127.0.0.1:{port}/health")).is_success:
                            break
                    except httpx.TransportError:
                        await asyncio.sleep(0.1)
            up = time.monotonic() - began
            print(f"the server is up: {up:.1f} s")
            async with page_at(f"http://127.0.0.1:{port}/", *SIZES["wide"]) as page:
                page.set_default_timeout(560_000)

                async def shot(title: str) -> None:
                    seconds = time.monotonic() - began
                    print(f"{title}: {seconds:.1f} s")
                    await page.wait_for_timeout(200)
                    frames[f"{seconds:.0f} s: {title}"] = Image.open(BytesIO(await page.screenshot())).convert("RGB")

                await page.wait_for_selector(".roles li")
                await shot("the first visit")
                await page.get_by_role("button", name="Alice", exact=True).click()
                await page.wait_for_selector("#say:focus")
                await shot("one click")
                await page.fill("#say", "Who taught you?")
                await page.press("#say", "Enter")
                await page.wait_for_selector(".coming .thought")
                await shot("the role thinks")
                await until(page, "document.querySelector('.coming .reply .text')?.textContent.trim()")
                await shot("the first word")
                await page.wait_for_selector("#send:visible")
                if await page.locator("#turns .warning").count():
                    raise RuntimeError(await page.inner_text("#turns .warning"))  # cut off: there is no why
                await shot("the reply is whole")
                await page.click("#toggle-why")
                await page.wait_for_selector("#why-body .because")
                await shot("why")
        finally:
            process.terminate()
            process.wait(60)
    kept(sheet(frames, WIDTHS["wide"], 3, dark=False), HERE / "first_five_minutes.png")


if __name__ == "__main__":
    if lacks := missing("playwright"):
        raise SystemExit(lacks)
    HERE.mkdir(exist_ok=True)
    kinds = {"film": film, "graph": graph, "looks": looks, "moving": moving, "scene": scene}
    asyncio.run(kinds.get("".join(sys.argv[1:2]), states)())
