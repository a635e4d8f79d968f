"""One talk of sixty turns with the embedded model: what was told in turn 3 is asked for in turn 58.

The talk stays in a folder with what each turn took, and the same command goes on where it stopped. Which record came
back and why is the evidence of the turn; whether the reply has the fact is said as it is.

Run: python benchmarks/long_talk.py [--folder build/long_talk] [--write]
"""

import argparse
import asyncio
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import page
import yaml
from langchain_core.messages import HumanMessage

from dramaturg.conversations.opening import open_conversation
from dramaturg.workflows.methods import context_type

METHOD, ROLE, REPLY_TOKENS = "vanilla", "beethoven", 60
TOLD, ASKED = 3, 58
FACT = ("tortoise", "Zebulon")
LINES: list[str] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


async def talked(folder: Path) -> tuple[list[dict[str, Any]], str]:
    """Take the turns that were not taken yet; return what was written down of each, and the summary at the end."""
    file = folder / "turns.jsonl"
    turns = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    how = {"library": str(folder), "chat_model": "embedded", "reply_tokens": REPLY_TOKENS}
    context = context_type(METHOD)(role=ROLE, deadline=3600, turn_deadline=36_000, **how)
    async with open_conversation(METHOD, context, "long") as talk:
        for number, text in list(enumerate(LINES, start=1))[len(turns) :]:
            began = time.monotonic()
            given = await talk.take_turn(HumanMessage(text, id=f"turn {number}"))
            turn = {
                "turn": number,
                "said": text,
                "reply": given["messages"][-1].text,
                "seconds": time.monotonic() - began,
                "talk": given["evidence"].get("talk", []),
            }
            turns.append(turn)
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(turn, ensure_ascii=False) + "\n")
            print(f"{number:2} {turn['seconds']:5.1f} s  {text}\n   {turn['reply']!r}", flush=True)
        return turns, str((await talk.values()).get("summary", ""))


def held_by(text: str) -> str:
    """How much of the fact is in a text."""
    held = [word for word in FACT if word.lower() in text.lower()]
    return "the whole fact" if len(held) == len(FACT) else f"{' and '.join(held) or 'nothing'} of the fact"


def told(turns: list[dict[str, Any]], summary: str) -> str:
    """The turns around both, what came back to the second and why, and seconds a turn."""
    asked = turns[ASKED - 1]
    near = [one for one in turns if min(abs(one["turn"] - at) for at in (TOLD, ASKED)) <= 1]
    rows = [f"| {one['turn']} | {one['said']} | {in_a_cell(one['reply'])} | {one['seconds']:.0f} |" for one in near]
    back = [
        f"| {one['place'] + 1} | {in_a_cell(one['text'])} | {rank(one['by_meaning'])} | {rank(one['by_words'])} |"
        for one in asked["talk"]
    ]
    first, last = (median(one["seconds"] for one in some) for some in (turns[:10], turns[-10:]))
    return "\n".join(
        [
            f"The reply of turn {ASKED} has {held_by(asked['reply'])}; what was told in turn {TOLD} "
            f"{'came' if any(one['place'] == TOLD - 1 for one in asked['talk']) else 'did not come'} back. The summary "
            f"of what has left the window has {held_by(summary)}. "
            f"A turn takes {first:.0f} s in the first ten turns and {last:.0f} s in the last ten (median).",
            "",
            "| turn | said | reply | seconds |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            f"What came back to turn {ASKED}, with its rank by meaning and by words (empty: not found by that):",
            "",
            "| turn | exchange | by meaning | by words |",
            "| --- | --- | --- | --- |",
            *back,
        ]
    )


def in_a_cell(text: str) -> str:
    """A text on one line of a table."""
    return " ".join(text.replace("|", "/").replace("\n", " · ").split())


def rank(place: int | None) -> str:
    """At which place something was found."""
    return "" if place is None else str(place)


async def main(folder: Path, *, into_page: bool) -> None:
    """Have the talk, and show it."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    text = told(*await talked(folder))
    print(text)
    if into_page:
        page.put("long_talk", f"`python benchmarks/long_talk.py`: {page.machine('langgraph')}.\n\n{text}", page.MEMORY)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=page.ROOT / "build" / "long_talk")
    parser.add_argument("--write", action="store_true", help="put it into docs/research/memory.md")
    given = parser.parse_args()
    asyncio.run(main(given.folder, into_page=given.write))
