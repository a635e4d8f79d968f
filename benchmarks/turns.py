"""What a turn of each method costs beside the model: processor and wall, calls, and whose share it is.

Each method talks in a process of its own, as `dramaturg chat` does, with its conversation on disk, to one stub endpoint
in another process (50 ms an answer, 10 ms an embedding). Beside it, in the same process: a bare graph of as many nodes
with the same saver, and bare calls of LangChain's clients, as many and of the same kinds.

Run: python benchmarks/turns.py [METHOD …] [--turns 35] [--rounds 1] [--triples 10000] [--memories 10000] [--write]
"""

import argparse
import asyncio
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import page
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from rich.console import Console
from rich.table import Table
from typing_extensions import TypedDict

from dramaturg.conversations.opening import open_conversation
from dramaturg.stores.library import open_role
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows.methods import context_type, preparations

from stub_server import Stub, running

FIXED, A_CALL = 12.0, 3.0  # the goal: milliseconds of processor a turn, and more for each call
KINDS = ("vanilla", "naive-rag", "amadeus", "role-rag", "emotional-rag", "drmr", "id-rag")
ANSWER, EMBEDDING = 0.05, 0.01  # seconds
WINDOW = 20  # messages in the state of the bare graph
QUESTIONS = (
    "What did you think of Haydn as a teacher?",
    "Do you like to be alone in the woods?",
    "What do you do when you are angry?",
    "Who is Therese, and did she hear your new sonata?",
    "How did your hearing change in Vienna?",
)
LAZY = ("langchain_openai", "faiss", "networkx")  # what a first turn would import, which is measured elsewhere


@contextmanager
def surroundings(library: Path) -> Iterator[None]:
    """Run the endpoint, and have this process and those that it starts use it."""
    with running(ANSWER, EMBEDDING, script=str(Path(__file__).with_name("stub_turns.py"))) as stub:
        os.environ |= {
            "OPENAI_BASE_URL": stub.url,
            "OPENAI_API_KEY": "stub",
            "DRAMATURG_CHAT_MODEL": "stub",
            "DRAMATURG_EMBEDDING_MODEL": "openai:stub",
            "DRAMATURG_LIBRARY": str(library),
        }
        yield


def prepare(library: Path, methods: list[str], triples: int, memories: int) -> None:
    """Put the example role into a library, as long as wanted, and index it for all methods."""
    role = open_role("beethoven", library)
    if triples:
        lines = "".join(
            f"  - {{subject: Friend {n}, relation: met in, object: the house {n % 700} of Vienna, kind: experience}}\n"
            for n in range(triples)
        )
        with (role.root / "chronicle.yaml").open("a") as file:
            file.write(lines)
    if memories:
        with (role.root / "memories.jsonl").open("a") as file:
            for n in range(memories):
                file.write(
                    json.dumps({"text": f"On day {n} I walked to the village number {n % 700} and wrote."}) + "\n"
                )
    done: set[str] = set()
    for method in methods:
        context = context_type(method)(role="beethoven", library=str(library), concurrency=16)
        for name, one in preparations(method, context).items():
            if (name, str(one.kind)) not in done:
                done.add((name, str(one.kind)))
                asyncio.run(one.graph.ainvoke({}, context=one.context))


class Bare(TypedDict):
    """The state of a graph that does nothing: a conversation, and a text that each node writes."""

    messages: Annotated[list[AnyMessage], add_messages]
    text: str


def bare_graph(nodes: int) -> StateGraph[Any]:
    """As many nodes in a row; the first one keeps the window, the last one speaks."""

    async def begin(state: Bare) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id=str(one.id)) for one in state["messages"][:-WINDOW]], "text": ""}

    async def work(state: Bare) -> dict[str, Any]:
        return {"text": f"{state['text'][-40:]}."}

    async def speak(state: Bare) -> dict[str, Any]:
        return {"messages": [AIMessage("Very well.")], "text": ""}

    builder = StateGraph(Bare)
    names = [f"node_{at}" for at in range(max(nodes, 2))]
    for at, name in enumerate(names):
        builder.add_node(name, begin if at == 0 else speak if name == names[-1] else work)
        builder.add_edge(names[at - 1] if at else START, name)
    builder.add_edge(names[-1], END)
    return builder


async def bare_turns(saver: ConversationSaver, nodes: int, turns: int) -> list[float]:
    """Processor milliseconds of each turn of a bare graph on a saver."""
    graph, spent = bare_graph(nodes).compile(saver), []
    thread: Any = {"configurable": {"thread_id": "bare"}}
    for _ in range(turns):
        began = time.process_time()
        async for _part in graph.astream(
            {"messages": [HumanMessage("What then?")]},
            thread,
            stream_mode=["custom", "messages", "values"],
            subgraphs=True,
            durability="exit",
            version="v2",
        ):
            pass
        spent.append(1000 * (time.process_time() - began))
    return spent


async def bare_calls() -> dict[str, float]:
    """Processor milliseconds of a call of LangChain's clients, shared and warm."""
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    chat, embed = ChatOpenAI(model="stub"), OpenAIEmbeddings(model="words", check_embedding_ctx_length=False)
    prompt = [("system", "You are Ludwig van Beethoven. " * 40), ("human", "What then?")]

    async def streamed() -> None:
        async for _ in chat.astream(prompt):
            pass

    calls = {"chat": lambda: chat.ainvoke(prompt), "streamed": streamed, "embedding": lambda: embed.aembed_query("a")}
    found = {}
    for kind, call in calls.items():
        spent = []
        for _ in range(23):
            began = time.process_time()
            await call()
            spent.append(1000 * (time.process_time() - began))
        found[kind] = median(spent[3:])
    return found


async def measured(method: str, turns: int, profile: str) -> dict[str, Any]:
    """Talk for so many turns."""
    for module in LAZY:
        import_module(module)
    context, stub = context_type(method)(role="beethoven"), Stub(os.environ["OPENAI_BASE_URL"])
    spent, walls, asked = [], [], []
    began, wall = time.process_time(), time.perf_counter()
    async with open_conversation(method, context, "long") as talk:
        for number in range(turns + 1):
            before = stub.counts()
            if number:
                began, wall = time.process_time(), time.perf_counter()
            if number == 1 and profile:
                import cProfile

                profiler = cProfile.Profile(time.thread_time)
                profiler.enable()
            await talk.take_turn(f"{QUESTIONS[number % len(QUESTIONS)]} ({number})")
            spent.append(1000 * (time.process_time() - began))
            walls.append(1000 * (time.perf_counter() - wall))
            asked.append({kind: count - before[kind] for kind, count in stub.counts().items()})
        if profile:
            profiler.disable()
            profiler.dump_stats(profile)
        nodes = 0
        async for part in talk.thread.graph.astream(
            {"messages": [HumanMessage("And then?")]},
            {"configurable": {"thread_id": "counted"}},
            context=context,
            stream_mode="tasks",
            subgraphs=True,
            durability="exit",
        ):
            nodes += "triggers" in part[-1]
        assert isinstance(talk.saver, ConversationSaver)
        bare = median((await bare_turns(talk.saver, nodes, turns + 1))[1:])
    calls = await bare_calls()
    usual = {kind: median(one[kind] for one in asked[1:]) for kind in asked[0]}
    whole, pieces = usual["chat"] - usual["streamed"], usual["chat"] + usual["embedding"]
    clients = whole * calls["chat"] + usual["streamed"] * calls["streamed"] + usual["embedding"] * calls["embedding"]
    model = ANSWER * usual["chat"] + EMBEDDING * usual["embedding"]
    return {
        "method": method,
        "chat": usual["chat"],
        "streamed": usual["streamed"],
        "embedding": usual["embedding"],
        "nodes": nodes,
        "processor": median(spent[1:]),
        "goal": FIXED + A_CALL * pieces,
        "bare_graph": bare,
        "bare_calls": clients,
        "ours": median(spent[1:]) - bare - clients,
        "wall": median(walls[1:]),
        "wall_beyond": median(walls[1:]) - 1000 * model,
        "first": spent[0],
        "last_to_second": median(spent[-5:]) / median(spent[1:6]),
        "a_call": calls,
    }


PARTS = {
    "OpenAI's client": ("openai",),
    "langchain-core and langchain-openai": ("langchain_core", "langchain_openai", "langsmith"),
    "LangGraph": ("langgraph",),
    "asyncio": ("asyncio", "selectors.py", "concurrent"),
    "httpx, h11, anyio": ("httpx", "httpx2", "httpcore", "httpcore2", "h11", "anyio", "sniffio"),
    "pydantic": ("pydantic",),
}
"""Folders of Python's library and of packages, by what they are called in the table of a profile."""


def shares(profile: str) -> dict[str, float]:
    """Whose functions the time of a profile was spent in, in parts of the whole."""
    known = {folder: part for part, folders in PARTS.items() for folder in folders}
    here, library = Path(__file__).resolve().parents[1], Path(os.__file__).parent
    found: dict[str, float] = dict.fromkeys([*PARTS, "this package", REST], 0.0)
    entries: dict[tuple[str, int, str], tuple[Any, ...]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for (name, _, _), (_, _, own, *_) in entries.items():
        path, part = Path(name), REST
        if "site-packages" in path.parts:
            part = known.get(path.parts[path.parts.index("site-packages") + 1], REST)
        elif path.is_relative_to(library):
            part = known.get(path.relative_to(library).parts[0], REST)
        elif path.is_relative_to(here) and not path.is_relative_to(here / "benchmarks"):
            part = "this package"
        found[part] += own
    return {part: own / sum(found.values()) for part, own in found.items()}


REST = "the rest: Python's library and built-in functions, called most by the first three"


def row(one: dict[str, Any]) -> list[str]:
    """A line of the table."""
    keys = ("processor", "goal", "bare_graph", "bare_calls", "ours", "wall", "first")
    calls = f"{one['chat']:.0f} + {one['embedding']:.0f}"
    return [one["method"], calls, str(one["nodes"]), *(f"{one[key]:.1f}" for key in keys)]


def main(given: argparse.Namespace) -> None:
    """Measure each method, round by round, and print the round in which it took the least of the processor."""
    methods, turns, rounds, profile = list(given.methods), given.turns, given.rounds, given.profile
    found: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
    with tempfile.TemporaryDirectory() as folder, surroundings(Path(folder)):
        prepare(Path(folder), methods, given.triples, given.memories)
        for at in range(rounds):
            for method in methods:
                command = [sys.executable, __file__, method, "--worker", "--turns", str(turns)]
                more = ["--profile", f"{profile}.{method}.{at}"] if profile else []
                done = subprocess.run([*command, *more], check=True, stdout=subprocess.PIPE, text=True)
                found[method].append(json.loads(done.stdout.splitlines()[-1]))
    best = [min(rows, key=lambda one: one["processor"]) for rows in found.values()]
    if given.json:
        print(json.dumps({"rounds": found, "best": best}, indent=2))
        return
    columns = ("processor ms", "goal", "bare graph", "bare calls", "ours", "wall ms", "first turn ms")
    table = Table("method", "chat + embed", "nodes", *columns)
    for one in best:
        table.add_row(*row(one))
    Console(width=130).print(table)
    if profile:
        of = {method: shares(f"{profile}.{method}.{rounds - 1}") for method in methods}
        owners = Table("own time in", *methods)
        for part in [*PARTS, "this package", REST]:
            owners.add_row(part, *(f"{100 * of[method][part]:.0f} %" for method in methods))
        Console(width=130).print(owners)
    if given.write:
        command = f"python benchmarks/turns.py --turns {turns} --rounds {rounds}"
        page.put("turns", f"`{command}`: {page.machine('langgraph', 'langchain-openai')}.\n\n{page.markdown(table)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=KINDS)
    parser.add_argument("--turns", type=int, default=35)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--triples", type=int, default=0)
    parser.add_argument("--memories", type=int, default=0)
    parser.add_argument(
        "--profile", default="", help="a file's beginning: a profile of each worker, and whose time it is"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into docs/research/performance.md")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(asyncio.run(measured(given.methods[0], given.turns, given.profile))))
    else:
        main(given)
