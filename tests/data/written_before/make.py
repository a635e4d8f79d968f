"""How the files in this folder were made.

This was run once, on the version before the layout of the package changed, and is kept to show what was done:

    LANGGRAPH_STRICT_MSGPACK=true PYTHONPATH=tests python tests/data/written_before/make.py FOLDER

Do not run it again: the files are there so that what people have on disk can be opened by every later version.
"""

import asyncio
import io
import json
import os
import subprocess
import sys
import time
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from test_written_before import (
    EVALUATION,
    INDEXES,
    INTERVIEW,
    SCRIPT,
    SIMULATION,
    THREADS,
    Words,
    answered,
    context,
    history,
    model,
    names_in,
    settings,
)

from dramaturg.cli.app import main
from dramaturg.conversations.opening import open_conversation
from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library, open_role
from dramaturg.workflows.emotional_rag_index import EmotionalRagIndexContext
from dramaturg.workflows.emotional_rag_index import graph as memory_graph

import graph_roles
import stub_endpoint
from cast_roles import SCENES, lines_of
from roles import CHRONICLE, MEMORIES, said, write_memories
from townspeople import townspeople

HERE = Path(sys.argv[1]).resolve()
LIFE = """# Ada Quill

Ada Quill keeps the lighthouse of Gull Rock. Her brother Tom Quill brings flour to Ada Quill. Tom sails the Petrel.

## Work

The keeper trims the old lamp at Gull Rock at dusk and at midnight, and never once has it gone out.

Every ship that passes is written into the log with its name and the hour.

## People

The harbour master sold the old lamp of Ada Quill. Jory Penrose has hated Ada Quill since.

Her brother fears the harbour master.

## Nature

Storms make her cheerful; a calm sea makes her uneasy and short with visitors.
"""
DOG = "# Dog\n\nKit sleeps beside the old lamp. Tom gave Kit to Ada Quill.\n"
QUESTIONS = (
    {"question": "Who brings the flour?", "answer": "My brother Tom.", "scope": "in", "attribute": "activity"},
    {"question": "What do you keep?", "answer": "The light.", "scope": "in", "attribute": "skill_and_expertise"},
    {"question": "Which telephone do you have?", "answer": None, "scope": "out", "reason": "There was none."},
)


INDEXING = {
    r"Are these names of one and the same": graph_roles.same,
    r"They are the same because": lambda text: "Both names stand for one person.",
    r"^\d+\. ": graph_roles.longest_name,
    r"The description:": graph_roles.PARTS["summary"],
    r"The entities and relations as JSON": graph_roles.facts,
    r"The verdicts on all": graph_roles.pairs,
}
"""What a knowledge graph is made by; moods and edges are asked for in turns, too."""
MILL = """name: The mill
about: Two millers want one mill.
agents:
  - {role: mara, goal: to get the mill, candidate: true}
  - {role: jon, goal: to keep the mill, candidate: true}
clock: {start: "2024-10-01T09:00", steps: 2}
polls: {open: "2024-10-01T10:00", close: "2024-10-01T12:00"}
events:
  - {at: "2024-10-01T10:00", text: The bell rings.}
"""


def indexing(text: str) -> str:
    """Play indexing, too."""
    return answered(text, {**INDEXING, **SCRIPT})


def command(*arguments: str) -> str:
    """Run the command, and give what it prints."""
    sys.argv, out = ["dramaturg", *arguments], io.StringIO()
    from dramaturg.cli.output import screen

    screen.file = out
    try:
        with redirect_stdout(out):
            main()
    except SystemExit as ended:
        if ended.code:
            raise
    return out.getvalue()


def roles(library: Path) -> None:
    """Ada, whom she knows, and Bea, who has memories only."""
    card = RoleCard(name="Ada Quill", aliases=("the keeper",), language="en", profile="A keeper of few words.")
    ada = Library(library).create("ada", card).root
    (ada / "persona" / "life.md").write_text(LIFE, encoding="utf-8")
    (ada / "chronicle.yaml").write_text(CHRONICLE, encoding="utf-8")
    (ada / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS), encoding="utf-8")
    write_memories(ada, MEMORIES, lines_of(SCENES))
    people = Library(library)
    people.create("tom", RoleCard(name="Tom Quill", aliases=("Tom",), profile="He sails the mail boat."))
    bea = people.create("bea", RoleCard(name="Bea Loy", profile="She keeps the inn."))
    write_memories(bea.root, [{"text": f"The inn was full on day {day}."} for day in range(1, 6)], ())


async def talks(folder: Path) -> None:
    """The conversations with branches, with a turn that failed, and with one that waits."""
    async with open_conversation("amadeus", context(folder, "amadeus"), "forked") as talk:
        for number, question in enumerate(("Who are you?", "Do you like storms?", "What do you fear?"), 1):
            await talk.take_turn(HumanMessage(question, id=f"m-{number}"))
        await talk.edit("m-2", "Who is Tom?")
    failing = context(folder, "amadeus").model_copy(update={"chat_model": model(fails_at_the_reply)})
    async with open_conversation("amadeus", context(folder, "amadeus"), "stopped") as talk:
        await talk.take_turn("Does a calm sea make you uneasy?")
    async with open_conversation("amadeus", failing, "stopped") as talk:
        with suppress(ModelUnavailable):
            await talk.take_turn("Is every ship that passes written into the log?")
    async with open_conversation("id-rag", context(folder, "id-rag"), "waits") as talk:
        await talk.take_turn("Would you go to sea?")
    async with open_conversation("id-rag", context(folder, "id-rag"), "self") as talk:
        await talk.take_turn("What do you drink?")
        await talk.take_turn("Would you go to sea?")
        await talk.answer({"approved": [1]})


def fails_at_the_reply(text: str) -> str | Exception:
    """The model is gone when it comes to the reply."""
    given = answered(text)
    return ModelUnavailable("The model is not there.") if given.startswith("I hear") else given


def dies_at_the_reply(text: str) -> str:
    """The process is killed when it comes to the reply."""
    given = answered(text)
    if given.startswith("I hear: Who sold"):
        os._exit(9)
    return given


async def killed_turn(folder: Path) -> None:
    """A turn that ends well, and one in which the process is killed."""
    dying = context(folder, "amadeus").model_copy(update={"chat_model": model(dies_at_the_reply)})
    async with open_conversation("amadeus", dying, "killed") as talk:
        await talk.take_turn("What do you keep?")
        await talk.take_turn("Who sold the lamp?")


async def killed_index(folder: Path) -> None:
    """An index in the middle of which the process is killed: two memories have their moods."""
    asked: list[str] = []

    def dies(text: str) -> str:
        asked.append(text)
        if len(asked) == 2:
            time.sleep(2.2)  # what has been answered is written by then
        if len(asked) == 3:
            time.sleep(1)
            os._exit(9)
        return answered(text)

    given = EmotionalRagIndexContext(role="bea", library=str(folder / "library"), chat_model=model(dies), concurrency=1)
    await memory_graph.ainvoke({}, context=given)


def simulation(stub: Any) -> None:
    """A run of two hours whose process is killed in the second, when somebody is about to act."""
    for role in ("mara", "jon"):
        made = Library(HERE / "library").create(role, RoleCard(name=role.title(), profile="A miller."))
        chronicle = CHRONICLE.replace("Ada Quill", role.title()).replace("keeper of the light", "miller")
        (made.root / "chronicle.yaml").write_text(chronicle, encoding="utf-8")
    (HERE / "mill.yaml").write_text(MILL, encoding="utf-8")
    people, deeds = townspeople(), []

    def reply(messages: Any) -> Any:
        if "one deed that can be done within the hour" in said(messages):
            deeds.append("one more")
            if len(deeds) == 3:
                child.kill()
                time.sleep(1)
        return people.reply(messages)

    stub.model = people.model_copy(update={"reply": reply})
    child = begun(*SIMULATION, "--log", "run.jsonl")
    assert child.wait() == -9


def interview(stub: Any) -> None:
    """An interview whose process is killed when the first answers are to be judged."""

    def answer(text: str) -> str:
        if "The rating as JSON" in text:
            child.kill()
            time.sleep(1)
        return answered(text)

    stub.model = model(answer)
    child = begun(*INTERVIEW, "--out", "interview.json")
    assert child.wait() == -9


def begun(*arguments: str) -> subprocess.Popen[bytes]:
    """The command in a process of its own, which may be killed."""
    command = "import sys; from dramaturg.cli.app import main; sys.argv[0] = 'dramaturg'; main()"
    return subprocess.Popen([sys.executable, "-c", command, *arguments], cwd=HERE)


def conversations(stub: Any) -> None:
    """All that is said by the command."""

    def ask(thread: str, *questions: str) -> None:
        held = ("--thread", thread, "--method", THREADS[thread], *settings(THREADS[thread]))
        command("ask", "ada", *questions, *held, "--json")

    ask("tea", "Who are you?", "Do you like storms?", "Who is Tom?", "What do you fear?")
    ask("graph", "Who is Tom?", "Does he sail?")
    ask("moods", "My wedding is on Sunday!", "They drowned, did they not?")
    ask("kin", "Where is the parcel from Leith?", "How is the soup at supper?")
    asyncio.run(talks(HERE))
    said_first = json.loads(command("memories", "ada", "--thread", "moods", "--json"))[0]["memory"]
    command("memories", "ada", "--thread", "moods", "--pin", said_first)
    (HERE / "exports").mkdir()
    for thread in ("tea", "moods", "kin", "self"):
        file = str(HERE / "exports" / f"{thread}.jsonl")
        command("export", "ada", file, "--thread", thread, "--method", THREADS[thread])


async def state(thread: str, method: str) -> tuple[list[list[str]], dict[str, Any], list[list[str]]]:
    """What a conversation holds."""
    async with open_conversation(method, context(HERE, method), thread) as talk:
        branches = [[turn.question for turn in branch] for branch in await talk.branches()]
        return await history(talk), await talk.values(), branches


def expectations(versions: dict[str, str]) -> dict[str, Any]:
    """What is there, as this version reads it."""
    role = open_role("ada", HERE / "library")
    drafted = (HERE / "library" / "bea" / "index").rglob("answers/*.jsonl")
    kept = {thread: asyncio.run(state(thread, method)) for thread, method in THREADS.items()}
    tea, stopped = kept["tea"][1], asyncio.run(state("stopped", "amadeus"))[0]
    listed, made = (json.loads(command("memories", "ada", *more, "--json")) for more in ((), ("--thread", "moods")))
    command("graph", "ada", "--format", "json", "--open-file", str(HERE / "graph.json"))
    names = names_in(HERE / "graph.json")
    (HERE / "graph.json").unlink()
    rows = json.loads(command("report", str(HERE / "evaluation"), "--json"))["rows"]
    return {
        "role": {
            "documents": len(role.documents()),
            "memories": len(role.memories()),
            "dialogues": len(role.dialogues()),
            "chronicle": len(role.chronicle().triples),
            "questions": len(role.questions()),
        },
        "versions": versions,
        "names": names,
        "memories": [[one["memory"], one["text"], one["emotions"], one["pinned"]] for one in listed],
        "relations": json.loads(command("relations", "ada", "--json")),
        "past": json.loads(command("versions", "ada", "--json")),
        "stopped_index": {"memories": 5, "left": 5 - sum(len(file.read_text().splitlines()) for file in drafted)},
        "threads": {thread: turns for thread, (turns, _, _) in kept.items()},
        "summary": tea["summary"],
        "role_memory": [one["attribute"] for one in tea["role_memory"]],
        "branches": kept["forked"][2],
        "stopped": ["Is every ship that passes written into the log?", *stopped],
        "identity_changes": [one["triple"]["object"] for one in kept["self"][1]["identity_changes"]],
        "said": [[one["text"], one["emotions"], one["pinned"]] for one in made],
        "evaluation": [[one["contestant"], one["interval"]["n_values"]] for one in rows],
    }


def everything() -> None:
    """Make it all."""
    os.environ["DRAMATURG_LIBRARY"] = str(HERE / "library")
    os.environ["DRAMATURG_CACHE"] = str(HERE.parent / "written_before_cache")
    roles(HERE / "library")
    with stub_endpoint.endpoint() as stub:
        stub_endpoint.WordEmbeddings = Words  # type: ignore[misc]
        stub.model = model(indexing)
        os.environ.update(stub.variables())
        command("index", "ada", "--json")
        (HERE / "dog.md").write_text(DOG, encoding="utf-8")
        command("learn", "ada", str(HERE / "dog.md"))
        (HERE / "dog.md").unlink()
        command("index", "ada", "--method", "role-rag", "--json")
        command("unmerge", "ada", "Her brother")
        command("index", "ada", "--method", "emotional-rag", "--json")
        storm = json.loads(command("memories", "ada", "--find", "great storm", "--json"))[0]["memory"]
        command("memories", "ada", "--pin", storm)
        command("index", "ada", "--method", "drmr", "--scores", "--json")
        versions = {one: json.loads(command("index", "ada", "--method", one, "--json"))["version"] for one in INDEXES}
        conversations(stub)
        for part in ("turn", "index"):
            ended = subprocess.run([sys.executable, __file__, str(HERE), part], env=os.environ, check=False)
            assert ended.returncode == 9, ended
        stub.model = model(lambda text: "My brother Tom keeps the light.")
        command(*EVALUATION, "--limit", "1", "--out", str(HERE / "evaluation"))
        simulation(stub)
        interview(stub)
        stub.model = model()
        expected = expectations(versions)
        for file in (*HERE.rglob("*.lock"), *HERE.rglob(".lock")):
            file.unlink(missing_ok=True)
        (HERE / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":  # the parts that are killed are processes of their own
    match sys.argv[2:]:
        case ["turn"]:
            asyncio.run(killed_turn(HERE))
        case ["index"]:
            asyncio.run(killed_index(HERE))
        case _:
            everything()
