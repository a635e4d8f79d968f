"""How a conversation grows: each method as `Conversation` keeps it, beside LangGraph's default, in one run.

Each turn has 600 characters of new text, half of it the user's. The model answers at once, so what is timed is
everything but the model: seconds of the processor. At each mark, turns of the long conversation are timed, and the
first thirty of a new one, three times by turns: another program on the machine slows both. About turn 10, all that was
said still stands in the window, and nothing of it is looked up; in turns 21 to 30 it is: what a turn takes more than
those is growth, what those take more than turn 10 is a step. The default is a graph that keeps all messages in its
state, on the stock sqlite saver.

Ten thousand turns take an hour. With `--written 10000`, so many exchanges are written into the memory of the talk
after its first turns, without being turns, and those after them are taken: they look up as much.

Run: python benchmarks/growth.py [METHOD …] [--turns 10000] [--plain 400] [--written 10000] [--write]
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import page
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import Field
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.stores.library import open_role
from dramaturg.testing.fitting import TEXT, fitting
from dramaturg.testing.script import Call
from dramaturg.workflows.methods import context_type

METHODS = ("vanilla", "amadeus", "role-rag", "emotional-rag", "drmr", "id-rag")
ABOUT_10, LATER = slice(7, 11), slice(20, 30)  # turns of a new conversation, from 0
EACH = 10  # turns of the long one
ROUNDS = 3  # of both
WORDS = (
    "the",
    "music",
    "of",
    "a",
    "summer",
    "in",
    "Vienna",
    "and",
    "rain",
    "upon",
    "my",
    "window",
    "while",
    "I",
    "wrote",
)

Turn = Callable[[str], Awaitable[Any]]
Begin = Callable[[Path, str], AbstractAsyncContextManager[Turn]]
"""Goes on with a conversation in a folder, by its name."""


class Mark(NamedTuple):
    """What was measured after so many turns."""

    turns: int
    megabytes: float
    milliseconds: float
    about_10: float
    """The same of turns 8 to 11 of a conversation, in these minutes."""
    later: float
    """The same of turns 21 to 30."""
    prompt: int

    @property
    def times(self) -> float:
        """Of how many tenth turns it takes the time."""
        return self.milliseconds / self.about_10

    @property
    def grown(self) -> float:
        """Of how many turns that look up what was said it takes the time."""
        return self.milliseconds / self.later


class Stub(BaseChatModel):
    """Says yes, gives the best score, fills in what is asked for, and else speaks 300 characters.

    It remembers how long its prompts were.
    """

    prompts: list[int] = Field(default_factory=list)  # shared with the copies that other parameters make

    @property
    def _llm_type(self) -> str:
        return "stub"

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        call = Call(messages)
        self.prompts.append(len(call.text))
        answer = speech(300)
        if call.schema:
            asked = call.schema.get("properties", {})
            usual = {"answer": "yes", "score": 5, "attribute": speech(120), "text": speech(120)}
            known = {name: value for name, value in usual.items() if name in asked}
            answer = json.dumps({**filled_in(fitting(call.schema)), **known})
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])


def filled_in(value: Any) -> Any:
    """What fits a schema, with other words in each turn: else a role would remember nothing new."""
    if isinstance(value, dict):
        return {name: filled_in(one) for name, one in value.items()}
    if isinstance(value, list):
        return [filled_in(one) for one in value]
    return speech(60) if value == TEXT else value


def speech(length: int) -> str:
    """Words of so many characters in all."""
    text = ""
    while len(text) < length:
        text += random.choice(WORDS) + (" " if random.random() < 0.9 else f" {random.randrange(10**6)}. ")
    return text[:length].strip().ljust(length, ".")


async def grown(
    begin: Begin, stub: Stub, folder: Path, marks: list[int], name: str, kept: str = "", written: int = 0
) -> list[Mark]:
    """Take turns, and measure at each mark; what is kept of them is in a folder, and of those that were written."""
    found = []
    async with begin(folder / "long", "long") as turn:
        done = 0
        for mark in track(marks, description=name, transient=True):
            for _ in range(done, mark):
                await turn(speech(300))
            found.append(await measured_at(mark + written, turn, begin, stub, folder, kept))
            done = mark + ROUNDS * EACH
    return found


async def measured_at(number: int, turn: Turn, begin: Begin, stub: Stub, folder: Path, kept: str) -> Mark:
    """Measure a conversation of so many turns, beside new ones."""
    megabytes, times, prompts = size(folder / "long" / kept) / 1e6, list[float](), list[int]()
    about_10, later = list[float](), list[float]()
    for again in range(ROUNDS):
        async with begin(folder / "new", f"new {number} {again}") as other:
            taken = [await seconds(other) for _ in range(LATER.stop)]
        about_10 += taken[ABOUT_10]
        later += taken[LATER]
        stub.prompts.clear()
        times += [await seconds(turn) for _ in range(EACH)]
        prompts += stub.prompts
    return Mark(number, megabytes, *(1000 * median(one) for one in (times, about_10, later)), max(prompts))


async def seconds(turn: Turn) -> float:
    """What a turn takes of the processor."""
    began = time.process_time()
    await turn(speech(300))
    return time.process_time() - began


def size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def write(talk: Conversation, number: int) -> None:
    """Have as much remembered as if that was said in so many turns, after as many as the window holds."""
    for _ in range(ABOUT_10.stop):
        await talk.take_turn(speech(300))
    kept, head, thread = talk.talk_records, (await talk.values())["talk_head"], talk.thread
    assert kept
    for begin in range(0, number, 1000):
        said = [
            message
            for at in range(begin, min(begin + 1000, number))
            for message in (HumanMessage(speech(300), id=f"q{at}"), AIMessage(speech(300), id=f"a{at}"))
        ]
        head = await kept.extended(head, said)
    await thread.graph.aupdate_state(thread.address(), {"talk_head": head}, as_node="keep_talk")


async def ours(method: str, written: int, folder: Path, marks: list[int]) -> list[Mark]:
    """A method with the example role, kept by `Conversation`."""
    stub, embeddings = Stub(), DeterministicFakeEmbedding(size=64)

    @asynccontextmanager
    async def begin(place: Path, name: str) -> AsyncIterator[Turn]:
        open_role("beethoven", place)
        given = {"library": str(place), "chat_model": stub, "embedding_model": embeddings}
        async with open_conversation(method, context_type(method)(role="beethoven", **given), name) as talk:
            if written and name == "long":
                await write(talk, written)
            yield talk.take_turn

    return await grown(begin, stub, folder, marks, method, ".conversations", written)


async def plain(folder: Path, marks: list[int]) -> list[Mark]:
    """LangGraph's default: all messages in the state, the stock saver, a checkpoint a step."""
    stub = Stub()

    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await stub.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(speak)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", END)

    @asynccontextmanager
    async def begin(place: Path, name: str) -> AsyncIterator[Turn]:
        await asyncio.to_thread(place.mkdir, exist_ok=True)
        async with AsyncSqliteSaver.from_conn_string(str(place / "plain.sqlite")) as saver:
            graph = builder.compile(saver)
            thread: Any = {"configurable": {"thread_id": name}}
            yield lambda text: graph.ainvoke({"messages": [HumanMessage(text)]}, thread)

    return await grown(begin, stub, folder, marks, "LangGraph")


async def measured(kind: Callable[[Path, list[int]], Awaitable[list[Mark]]], turns: int) -> list[Mark]:
    """Grow one kind in a folder of its own."""
    marks = [mark for mark in (60, 200, 400, 1000, 2000, 5000, 10_000) if mark < turns - ROUNDS * EACH] + [turns]
    with tempfile.TemporaryDirectory() as folder:
        return await kind(Path(folder), marks)


def shown(title: str, marks: list[Mark]) -> Table:
    """A table of marks."""
    table = Table(
        "turns",
        "MB on disk",
        "bytes a turn",
        "processor ms a turn",
        "× turn 10",
        "× turns 21–30",
        "longest prompt, characters",
        title=title,
    )
    for mark in marks:
        each = 1e6 * mark.megabytes / mark.turns
        table.add_row(
            f"{mark.turns:,}",
            f"{mark.megabytes:.2f}",
            f"{each:,.0f}",
            f"{mark.milliseconds:.1f}",
            f"{mark.times:.2f}",
            f"{mark.grown:.2f}",
            f"{mark.prompt:,}",
        )
    return table


def plot(marks: list[Mark], others: list[Mark]) -> str:
    """A Mermaid chart of the first turns, where both were measured."""
    both = sorted({mark.turns for mark in marks} & {mark.turns for mark in others})
    lines = [[mark.megabytes for mark in series if mark.turns in both] for series in (marks, others)]
    series = "\n".join(f"    line [{', '.join(f'{value:.2f}' for value in line)}]" for line in lines)
    return f'xychart-beta\n    title "MB on disk"\n    x-axis "turns" [{", ".join(map(str, both))}]\n{series}'


def together(found: dict[str, list[Mark]]) -> Table:
    """A table with a row for each that was measured."""
    took = ("processor ms, turn 10", "turns 21–30", "at turns", "× turn 10", "× turns 21–30")
    table = Table("kept", "turns", "bytes a turn to turn 200", "to the last", *took)
    for name, marks in found.items():
        early, last = next(mark for mark in marks if mark.turns >= 200 or mark == marks[-1]), marks[-1]
        each = [f"{1e6 * mark.megabytes / mark.turns:,.0f}" for mark in (early, last)]
        about_10, later = (median(times) for times in zip(*((one.about_10, one.later) for one in marks), strict=True))
        several = [" / ".join(texts) for texts in zip(*map(told, marks), strict=True)]
        table.add_row(name, f"{last.turns:,}", *each, f"{about_10:.1f}", f"{later:.1f}", *several)
    return table


def told(mark: Mark) -> tuple[str, str, str]:
    """After how many turns, and of how many others a turn takes the time there."""
    return f"{mark.turns:,}", f"{mark.times:.2f}", f"{mark.grown:.2f}"


async def main(methods: list[str], turns: int, others: int, written: int, *, into_page: bool) -> None:
    """Measure each method, and the default, and print."""
    random.seed(1)
    console = Console(width=110)
    found = {method: await measured(partial(ours, method, written), turns) for method in methods}
    for method, marks in found.items():
        console.print(shown(f"{method}, kept by Dramaturg", marks))
    if others:
        default = await measured(plain, others)
        console.print(shown("One node, kept by LangGraph's default", default))
        print(plot(found[methods[0]], default))
        found["LangGraph's default, one node"] = default
    table = page.markdown(together(found))
    print(table)
    if into_page:
        command = f"python benchmarks/growth.py --turns {turns} --plain {others}"
        page.put("growth", f"`{command}`: {page.machine('langgraph')}.\n\n{table}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--turns", type=int, default=10_000, help="at least 60")
    parser.add_argument("--plain", type=int, default=400, help="turns of LangGraph's default; 0: it is left out")
    parser.add_argument("--written", type=int, default=0, help="exchanges that are remembered without a turn")
    parser.add_argument(
        "--write", action="store_true", help="put the first and last marks into docs/research/performance.md"
    )
    arguments = parser.parse_args()
    given = list(arguments.methods), arguments.turns, arguments.plain, arguments.written
    asyncio.run(main(*given, into_page=arguments.write))
