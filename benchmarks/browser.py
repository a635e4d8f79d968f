"""What pages cost in a browser: a graph of 2,000 entities, and a server's page with 1,000 turns or 500 characters.

Chromium draws without a screen, in a window of 1280 by 800. Of the graph, in a file and on the page of a server: the
first picture (of the page: from the press of the button), how long a frame takes while it is dragged and zoomed, and
the whole drawing of it, which follows where the hand rests. Of the talk: the first
picture, how long after its coming it is shown, how long a letter takes from the key to the screen in the box where one
writes, and the gaps between frames while the talk scrolls, with the turns that it begins with and with all of them,
and while a turn is taken. Of the characters, each with a card of 3 MB: the first picture, and the gaps while all of
them scroll. Bytes are those of the files, megabytes those of the process that draws the page. Needs Playwright
(`make build/clients/.playwright`) and Chromium; says so where they are missing.

Run: python benchmarks/browser.py [--entities 2000] [--turns 1000] [--characters 500] [--rounds 3]
     python benchmarks/browser.py --report FOLDER/report.html     # the first picture, and until all of it is there
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from dramaturg.cli.drawing.page import html
from dramaturg.server.graphs import graph_data
from dramaturg.server.pages import PAGE
from dramaturg.stores.index.graph import KnowledgeGraph

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
FRAMES = """async (act) => {
  const target = document.querySelector(act.on);
  const box = target.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const point = (type, at) => target.dispatchEvent(
    new PointerEvent(type, { pointerId: 1, clientX: x + at, clientY: y + at, bubbles: true }));
  target.setPointerCapture = () => {};
  const does = {
    drag: (n) => point("pointermove", 3 * n),
    zoom: (n) => target.dispatchEvent(
      new WheelEvent("wheel", { deltaY: n % 40 < 20 ? -40 : 40, clientX: x, clientY: y, cancelable: true })),
  };
  if (act.does === "drag") point("pointerdown", 0);
  const frame = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
  await frame();
  const times = [];
  for (let n = 0; n < 60; n += 1) {
    const began = performance.now();
    does[act.does](n);
    await frame();
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b);
}"""
"""Acts once a frame, and says how long each frame takes until what it draws is handed over; 16.7 ms at best."""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def made_up(entities: int) -> KnowledgeGraph:
    """A graph of made-up entities, four relations each, a few with many."""
    from dramaturg.stores.index.graph import TYPES, Entity, Relation

    from graph_samples import knowledge, statement

    chance = random.Random(0)  # the same graph each time
    names = [f"Person {n} of the {chance.choice(('North', 'South', 'Isle'))}" for n in range(entities)]
    found = [
        Entity(
            name=name,
            type=TYPES[n % len(TYPES)],
            description=f"{name} keeps a light and a log of the ships.",
            names=(name,),
            statements=(statement("Kept the light."),),
        )
        for n, name in enumerate(names)
    ]
    pairs = {tuple(sorted((n, int(chance.random() ** 3 * entities)))) for n in range(entities) for _ in range(4)}
    told = (statement("Spoke on the quay."),)
    relations = [
        Relation(
            source=names[a], target=names[b], description="They know each other.", strength=1 + a % 10, statements=told
        )
        for a, b in sorted(pairs)
        if a != b
    ]
    return knowledge(found, relations)


def graph_page(entities: int) -> bytes:
    """The file of a graph."""
    known = made_up(entities)
    return html(known, next(iter(known.graph)))


async def measured_report(file: Path) -> dict[str, float]:
    """Open the report of a run."""
    from chat_clients import page_at

    async with page_at(file.as_uri(), 1280, 800) as page:
        await page.reload()
        await page.wait_for_selector("#s-replies", state="attached")
        ready = await page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart")
        return {"first paint": await page.evaluate(PAINT), "ready": ready}


async def measured_graph(file: Path) -> dict[str, float]:
    """Open the page of a graph, drag and zoom."""
    from chat_clients import page_at

    async with page_at(file.as_uri(), 1280, 800) as page:
        await page.reload()
        await page.wait_for_selector(".hits li")
        ready = await page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart")
        return {"first paint": await page.evaluate(PAINT), "ready": ready, **await handled(page)}


async def measured_graph_there(folder: Path, known: KnowledgeGraph) -> dict[str, float]:
    """Show a graph on the page of a server, drag and zoom."""
    from page_house import page_house

    data = {"whole": True, **graph_data(known, next(iter(known.graph)))}

    async def has_one(route: Any) -> None:
        told = await (await route.fetch()).json()
        await route.fulfill(json=told | {"graph": True})

    async def answer(route: Any) -> None:
        await route.fulfill(json=data)

    async with page_house(folder, 1280, 800) as house:
        page = house.page
        await page.route("**/knowledge?*", has_one)
        await page.route("**/graph?*", answer)
        await house.open()
        await house.menu("#open-knowledge")
        await page.wait_for_selector(".knowledge button")
        await page.evaluate("window.began = performance.now()")
        await page.get_by_role("button", name="Show it").click()
        await page.wait_for_selector(".explorer .hits li")
        shown = await page.evaluate("performance.now() - window.began")
        return {"shown": shown, **await handled(page), "megabytes": drawing_megabytes()}


async def handled(page: Any) -> dict[str, float]:
    """Drag a graph, zoom it, search it, and draw all of it."""
    await page.wait_for_timeout(1_000)
    drag = await page.evaluate(FRAMES, {"on": "canvas", "does": "drag"})
    zoom = await page.evaluate(FRAMES, {"on": "canvas", "does": "zoom"})
    await page.evaluate("window.began = performance.now()")
    await page.fill("[type=search][aria-label^='Search names']", "person 7")
    search = await page.evaluate("performance.now() - window.began")
    whole = [await page.evaluate(WHOLE) for _ in range(9)]
    return {"whole": median(whole), **of("drag", drag), **of("zoom", zoom), "search": search}


async def gaps(page: Any, where: str, step: int, frames: int = 200) -> list[float]:
    """Milliseconds from frame to frame while something scrolls, in order of size."""
    found: list[float] = await page.evaluate(GAPS, {"on": where, "step": step, "frames": frames})
    return found


def drawing_megabytes() -> float:
    """The memory of the process that draws the page: the largest renderer of this run."""
    sizes = [0.0]
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (one / "cmdline").read_bytes():
                sizes.append(int((one / "statm").read_text().split()[1]) * PAGE_SIZE / 1e6)
        except OSError:  # it has ended
            continue
    return max(sizes)


def many_characters(folder: Path, characters: int) -> None:
    """Put characters into a library, each with a picture of 3 MB."""
    from PIL import Image

    library, card = folder / "library", folder / "card.png"
    library.mkdir(parents=True)
    Image.frombytes("RGB", (832, 1216), random.Random(0).randbytes(832 * 1216 * 3)).save(card)
    for n in range(characters):
        role = library / f"person-{n}"
        (role / "persona").mkdir(parents=True)
        line = f"Keeps light {n}, and counts the ships that pass it."
        (role / "role.yaml").write_text(f"name: Person {n} of the Isle\nprofile: {line}\n")
        (role / "picture.png").hardlink_to(card)


async def measured_gallery(folder: Path, characters: int) -> dict[str, float]:
    """Open the gallery of a library of so many characters, show all of them, and scroll."""
    from page_house import page_house

    await asyncio.to_thread(many_characters, folder, characters)
    async with page_house(folder, 1280, 800) as house:
        page = house.page
        await page.goto("about:blank")
        began = time.perf_counter()
        await page.goto(f"http://127.0.0.1:{house.cable.own}/")
        await page.wait_for_selector(".roles li:nth-child(60)")
        shown, first = 1e3 * (time.perf_counter() - began), await page.evaluate(PAINT)
        while await page.locator("#gallery p.tools button").count():
            await page.evaluate("document.querySelector('#gallery p.tools button').click()")
        return {
            "first paint": first,
            "characters shown": shown,
            "characters drawn": await page.locator(".roles > li").count(),
            **of("scroll", await gaps(page, "#gallery", 100)),
            "megabytes": drawing_megabytes(),
        }


async def measured_talk(folder: Path, turns: int) -> dict[str, float]:
    """Open a talk that the server answers as long as it is, scroll it, and write."""
    from page_house import page_house

    said = [
        {
            "id": f"turn-{n}",
            "after": f"turn-{n - 1}" if n else None,
            "question": f"Question {n}: what of the light, and of the ships that passed it in the night?",
            "reply": f"Reply {n}: I keep it, and I have counted {n} of them, none of them lost. " * 4,
        }
        for n in range(turns)
    ]
    tree = {"object": "tree", "id": "long", "role": "ada", "head": said[-1]["id"], "turns": said}

    async def answer(route: Any) -> None:
        await route.fulfill(json=tree)

    async with page_house(folder, 1280, 800) as house:
        page = house.page
        await page.route("**/tree*", answer)
        await page.goto("about:blank")
        await page.goto(f"http://127.0.0.1:{house.cable.own}/#role=ada&thread=long")
        await page.wait_for_selector(f"#turns > li:last-child[data-turn='turn-{turns - 1}']")
        shown = await page.evaluate(SHOWN)
        first = await page.evaluate(PAINT)
        drawn = await page.locator("#turns > li").count()
        await page.wait_for_timeout(500)
        await page.focus("#say")
        await page.evaluate(TYPED)
        await page.keyboard.type("The lamp burned all night in the storm.")
        await page.wait_for_timeout(200)
        letters = sorted(await page.evaluate("window.letters"))
        scroll = await gaps(page, "#scroll", -200)
        while await page.locator("#earlier button").count():
            await page.evaluate("document.querySelector('#earlier button').click()")
        every = await gaps(page, "#scroll", 600)
        await page.evaluate(WATCHED)
        await page.press("#say", "Enter")
        await page.wait_for_selector("#stop:visible")
        await house.settled()
        turn = sorted(await page.evaluate("(window.halted = true, window.gaps)"))
        megabytes = drawing_megabytes()
    return {
        "first paint": first,
        "talk shown": shown,
        "turns drawn": drawn,
        **of("letter", letters),
        **of("scroll", scroll),
        **of("all turns, scroll", every),
        **of("all turns, a turn taken", turn),
        "megabytes": megabytes,
    }


WHOLE = """new Promise((done) => {
  const canvas = document.querySelector("canvas");
  let began;
  requestAnimationFrame(() => (began = performance.now()));
  canvas.dispatchEvent(new Event("refresh"));
  requestAnimationFrame(() => {
    canvas.getContext("2d").getImageData(0, 0, 1, 1);
    done(performance.now() - began);
  });
})"""
"""How long the frame takes in which all is drawn."""
GAPS = """async ({ on, step, frames }) => {
  const box = document.querySelector(on);
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (let n = 0; n < frames; n += 1) {
    box.scrollTop += step;
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps.sort((a, b) => a - b);
}"""
WATCHED = """() => {
  window.gaps = [];
  let last = performance.now();
  requestAnimationFrame(function next(now) {
    window.gaps.push(now - last);
    last = now;
    if (!window.halted) requestAnimationFrame(next);
  });
}"""
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
SHOWN = """performance.now() - performance.getEntriesByType("resource").filter(
  (one) => one.name.includes("/tree")).pop().responseEnd"""
"""From when the talk has come from the server."""
TYPED = """() => {
  window.letters = [];
  let began = 0;
  document.querySelector("#say").addEventListener("keydown", () => (began = performance.now()), true);
  document.querySelector("#say").addEventListener("input", () => {
    const since = began;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.letters.push(performance.now() - since);
      channel.port2.postMessage(0);
    });
  });
}"""


def of(name: str, times: list[float]) -> dict[str, float]:
    """The middle, the slowest of twenty, and the slowest of all."""
    return {
        f"{name}, middle": median(times),
        f"{name}, 95 %": times[int(len(times) * 0.95)],
        f"{name}, most": times[-1],
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entities", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--characters", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--report", type=Path, help="a report that `evaluate` or benchmarks/reports.py wrote, alone")
    given = parser.parse_args()
    sys.path[:0] = [str(SUPPORT)]
    from chat_clients import missing

    if why := missing("playwright"):
        sys.exit(f"{why}.")
    console = Console()
    if given.report:
        rounds = [asyncio.run(measured_report(given.report.resolve())) for _ in range(given.rounds)]
        console.print(table_of(f"{given.report.name}, {given.report.stat().st_size:,} bytes", rounds))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.html"
        known = made_up(given.entities)
        file.write_bytes(graph_page(given.entities))
        empty = len(graph_page(1))
        pages = {
            f"a graph of {given.entities:,} entities": [asyncio.run(measured_graph(file)) for _ in range(given.rounds)],
            "the same on the page of a server": [
                asyncio.run(measured_graph_there(Path(folder) / f"graph {n}", known)) for n in range(given.rounds)
            ],
            f"a talk of {given.turns:,} turns": [
                asyncio.run(measured_talk(Path(folder) / str(n), given.turns)) for n in range(given.rounds)
            ],
            f"a gallery of {given.characters:,} characters": [
                asyncio.run(measured_gallery(Path(folder) / f"gallery {n}", given.characters))
                for n in range(given.rounds)
            ],
        }
        for title, found in pages.items():
            console.print(table_of(title, found))
        page = sum(one.stat().st_size for one in PAGE.rglob("*") if one.is_file())
        console.print(
            f"Bytes: the page of a server {page:,}; that of a graph {empty:,} without its data, "
            f"{file.stat().st_size:,} with it."
        )


def table_of(title: str, rounds: list[Mapping[str, float]]) -> Table:
    """The middle of the rounds, and each of them."""
    table = Table("", "middle", "rounds", title=title, title_justify="left")
    for name in rounds[0]:
        values = [one[name] for one in rounds]
        unit = " MB" if name == "megabytes" else "" if name.endswith(" drawn") else " ms"
        table.add_row(name, f"{median(values):,.1f}{unit}", json.dumps([round(value, 1) for value in values]))
    return table


if __name__ == "__main__":
    main()
