"""What an earlier version wrote is opened and gone on with: a library, conversations, exports, runs.

`data/written_before/make.py` shows how the files were made. They are never made anew: whoever changes what is kept on
disk has to read what is there.
"""

import asyncio
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.messages import BaseMessage
from langgraph.store.memory import InMemoryStore

from dramaturg.cli.app import main
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.stores.library import open_role
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows.methods import chat_graph, context_type, preparations

import stub_endpoint
from fakes import ScriptedChatModel
from roles import WordEmbeddings, fenced, mood, said
from stub_endpoint import Endpoint, endpoint
from townspeople import townspeople

WRITTEN = Path(__file__).parents[1] / "data" / "written_before"
INDEXES = {"amadeus": "passages", "role-rag": "graph", "emotional-rag": "memories", "drmr": "dialogues"}
SETTINGS: dict[str, dict[str, Any]] = {
    "amadeus": {"window": 4},
    "role-rag": {},
    "emotional-rag": {},
    "drmr": {"user_role": "tom"},
    "id-rag": {"update": True},
}
"""How the conversations of each method are held."""
THREADS = {
    "tea": "amadeus",
    "forked": "amadeus",
    "killed": "amadeus",
    "graph": "role-rag",
    "moods": "emotional-rag",
    "kin": "drmr",
    "self": "id-rag",
}
"""The conversations that were not stopped in the middle of a turn, and their methods."""
EVALUATION = ("evaluate", "--methods", "vanilla,profile", "--role", "ada", "--metrics", "similarity", "--no-bounds")
SIMULATION = ("simulate", "mill.yaml", "--steps", "2")
INTERVIEW = ("interview", "ada", "--method", "vanilla", "--instrument", "four-letters", "--limit", "4")
Run = Callable[..., str]


# The model that all of it was made with, but for what only indexing asks


class Words(WordEmbeddings):
    """Hashed words in 64 dimensions: the vectors of the files."""

    def embed_query(self, text: str) -> list[float]:
        vector = np.full(64, 0.001)
        for letter in re.findall(r"\w+", text.lower()):
            vector[sum(ord(one) * place for place, one in enumerate(letter, 1)) % 64] += 1
        return [round(float(value), 6) for value in vector / np.linalg.norm(vector)]


def findings(text: str) -> str:
    """What she has become: a sailor, where she is asked of the sea, in place of the core of her."""
    sea = "sea" in fenced("question", text)
    told = {"evidence": "She says so.", "salience": 9, "confidence": 0.9, "replaces": 1 if sea else 0}
    kind = {"relation": "profession", "object": "a sailor", "kind": "experience"}
    found = {**told, **(kind if sea else {"relation": "likes", "object": "brandy", "kind": "preference"})}
    return json.dumps({"findings": [found]})


def attributes(text: str) -> str:
    """What passages say of her: an attribute that names the question."""
    found = {"attribute": f"She thought of {fenced('question', text)}", "passage": 1}
    return json.dumps({"belief_and_value": [found], "psychological_traits": []})


def rating(high: str, low: str) -> str:
    """What a judge says of a dimension between two letters."""
    return json.dumps({"analysis": "so it seems", "result": {high: 60, low: 40}})


SCORED = json.dumps({"reason": "so it seems", "score": 5})
SCOPE = {"name": "Tom Quill", "type": "character", "reason": "He is near her.", "relevant": True, "level": "specific"}
SCRIPT: dict[str, str | Callable[[str], str]] = {
    r"What to look up of": json.dumps({"high_priority": ["values"], "medium_priority": [], "keywords": []}),
    r"What Ada Quill has become": findings,
    r"Which fact the line goes against": json.dumps({"reason": "so it seems", "statement": 0}),
    r"(feels in it|What speaks from it), as JSON": lambda text: mood(**{"joy" if "storm" in text else "sadness": 8}),
    r"The attributes of": attributes,
    r"In words that can be understood alone": lambda text: fenced("question", text),
    r"The sentences of the book": lambda text: "She knew of " + fenced("question", text),
    r"The entities as JSON": json.dumps({"entities": [SCOPE]}),
    r"(How well the line fits|How much these two matter in the scene), as JSON": SCORED,
    r"how I, Ada Quill, stand to": json.dumps({"record": "I have known him for long."}),
    r"The one record": "All in all I know him.",
    r"The new notes": lambda text: f"They spoke of: {fenced('conversation', text)[:60]}",
    r"yes or no:$": "yes",
    r"The rating as JSON": lambda text: rating(*re.findall(r'"result": \{"(\w)": …, "(\w)"', text)[-1]),
    r"[Aa]loud in English": lambda text: "I hear: " + fenced("question", text),
}
"""What is answered to a prompt, by words of its last line."""


def answered(text: str, script: dict[str, str | Callable[[str], str]] = SCRIPT) -> str:
    """Play every part of a turn.

    Raises:
        ValueError: no turn asks this.
    """
    # A model without structured output is shown the schema of its answer at the end.
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("{")]
    for line, (pattern, given) in product(reversed(lines[-3:]), script.items()):
        if re.search(pattern, line):
            return given(text) if callable(given) else given
    raise ValueError(lines[-1])


def model(answer: Callable[[str], str | Exception] = answered) -> ScriptedChatModel:
    """A model that goes by all it is shown."""

    def reply(messages: list[BaseMessage]) -> str | Exception:
        return answer(said(messages))

    return ScriptedChatModel(reply=reply)


# What was written, and the doors to it


@pytest.fixture(scope="module")
def stub() -> Iterator[Endpoint]:
    """The model and the embeddings that everything was made with, behind an endpoint."""
    with pytest.MonkeyPatch.context() as patch, endpoint() as running:
        patch.setattr(stub_endpoint, "WordEmbeddings", Words)
        running.model = model()
        yield running


@pytest.fixture(autouse=True)
def written(stub: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of everything; it is the library that commands use and the folder that they stand in."""
    folder = tmp_path / "written"
    shutil.copytree(WRITTEN, folder)
    for name, value in {**stub.variables(), "DRAMATURG_LIBRARY": str(folder / "library")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    stub.asked.clear()
    stub.model = model()
    return folder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command, and give what it prints."""

    def command(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["dramaturg", *arguments])
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        told = capsys.readouterr()
        assert code == 0, told.err
        return told.out

    return command


def expected(name: str) -> Any:
    """What was there when it was written."""
    return json.loads((WRITTEN / "expected.json").read_text(encoding="utf-8"))[name]


def indexes(folder: Path) -> dict[str, bytes]:
    """Every file of Ada's indexes, but locks and the answers that turns add."""
    root = folder / "library" / "ada" / "index"
    files = {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if "answers" not in name and "lock" not in name}


def context(folder: Path, method: str) -> Any:
    """How the conversations were held."""
    return context_type(method)(role="ada", library=str(folder / "library"), **SETTINGS[method])


def settings(method: str) -> list[str]:
    """The same for a command."""
    return [part for name, value in SETTINGS[method].items() for part in ("--set", f"{name}={json.dumps(value)}")]


def chats(stub: Endpoint) -> int:
    """How often the chat model was asked."""
    return sum("messages" in body for body in stub.asked)


async def history(talk: Conversation) -> list[list[str]]:
    return [[turn.question, turn.reply or ""] for turn in await talk.history()]


def names_in(file: Path) -> list[list[str]]:
    """The names of each entity in a graph that was written as JSON."""
    entities = json.loads(file.read_text(encoding="utf-8"))["nodes"]
    return sorted(sorted(one["names"]) for one in entities)


# A role and what was derived from it


def test_the_role_opens_with_all_it_was_given(written: Path) -> None:
    role = open_role("ada", written / "library")
    assert (role.card.name, role.card.aliases) == ("Ada Quill", ("the keeper",))
    there = {
        "documents": len(role.documents()),
        "memories": len(role.memories()),
        "dialogues": len(role.dialogues()),
        "chronicle": len(role.chronicle().triples),
        "questions": len(role.questions()),
    }
    assert there == expected("role")


def test_a_graph_is_read_as_it_is_and_gets_its_sentences_without_a_question(run: Run, stub: Endpoint) -> None:
    reports = [json.loads(run("index", "ada", "--method", "role-rag", "--json")) for _ in range(2)]
    assert reports[0]["version"] == reports[1]["version"] != expected("versions")["role-rag"]
    assert chats(stub) == 0
    run("graph", "ada", "--format", "json", "--open-file", "graph.json")
    assert names_in(Path("graph.json")) == expected("names")
    assert json.loads(Path("graph.json").read_text(encoding="utf-8"))["graph"]["sentences"]


@pytest.mark.parametrize("method", [one for one in INDEXES if one != "role-rag"])
def test_no_index_is_made_again(method: str, written: Path, run: Run, stub: Endpoint) -> None:
    before = indexes(written)
    report = json.loads(run("index", "ada", "--method", method, "--json"))
    assert report["version"] == expected("versions")[method]
    assert chats(stub) == 0
    assert indexes(written) == before


def test_a_name_that_was_taken_out_of_a_merge_stays_out(run: Run) -> None:
    run("graph", "ada", "--format", "json", "--open-file", "graph.json")
    names = names_in(Path("graph.json"))
    assert names == expected("names")
    assert ["Her brother"] in names
    assert ["Tom", "Tom Quill"] in names


def test_memories_come_back_with_their_moods_and_pins(run: Run) -> None:
    listed = json.loads(run("memories", "ada", "--json"))
    assert [[one["memory"], one["text"], one["emotions"], one["pinned"]] for one in listed] == expected("memories")
    assert any(one["pinned"] for one in listed)
    assert all(one["emotions"] for one in listed)


def test_relations_keep_their_scores(run: Run, stub: Endpoint) -> None:
    relations, earlier = json.loads(run("relations", "ada", "--json")), expected("relations")
    for one in (dialogue for pair in earlier["relations"] for dialogue in pair["dialogues"]):
        del one["score"], one["reason"]  # each dialogue had its own; the highest counts
    assert relations == earlier
    assert stub.asked == []


def test_a_document_that_was_learned_is_taken_back(written: Path, run: Run) -> None:
    assert json.loads(run("versions", "ada", "--json")) == expected("past")
    assert (written / "library" / "ada" / "persona" / "dog.md").exists()
    run("undo", "ada")
    assert not (written / "library" / "ada" / "persona" / "dog.md").exists()
    assert json.loads(run("ask", "ada", "Whose dog is it?", "--json"))["reply"]


def test_an_index_that_was_stopped_goes_on_where_it_was(run: Run, stub: Endpoint) -> None:
    report = json.loads(run("index", "bea", "--method", "emotional-rag", "--json"))
    assert report["memories"] == expected("stopped_index")["memories"]
    assert 0 < chats(stub) == expected("stopped_index")["left"] < report["memories"]


# Conversations


@pytest.mark.sample(3)
@pytest.mark.parametrize("thread", THREADS)
def test_a_conversation_goes_on(thread: str, written: Path, run: Run) -> None:
    before, method = indexes(written), THREADS[thread]
    asked = ("--thread", thread, "--method", method, *settings(method))
    turn = json.loads(run("ask", "ada", "Does the storm come?", *asked, "--json"))
    assert turn["reply"] == "I hear: Does the storm come?"
    assert turn["evidence"]
    assert turn["usage"]

    async def read() -> list[list[str]]:
        async with open_conversation(method, context(written, method), thread) as talk:
            return await history(talk)

    assert asyncio.run(read()) == [*expected("threads")[thread], ["Does the storm come?", turn["reply"]]]
    assert indexes(written) == before


def test_all_conversations_are_listed(run: Run) -> None:
    listed = json.loads(run("conversations", "ada", "--json"))
    assert sorted(one["thread"] for one in listed) == sorted([*THREADS, "stopped", "waits"])


async def test_what_left_the_window_is_still_in_the_summary_and_the_role_memory(written: Path) -> None:
    async with open_conversation("amadeus", context(written, "amadeus"), "tea") as talk:
        values = await talk.values()
    assert values["summary"] == expected("summary")
    assert [one["attribute"] for one in values["role_memory"]] == expected("role_memory")


async def test_branches_are_there_and_grow(written: Path) -> None:
    async with open_conversation("amadeus", context(written, "amadeus"), "forked") as talk:
        branches = await talk.branches()
        assert [[turn.question for turn in branch] for branch in branches] == expected("branches")
        await talk.fork(branches[1][-1].id)
        await talk.take_turn("And then?")
        assert [turn.question for turn in await talk.history()] == [*expected("branches")[1], "And then?"]
        await talk.edit(branches[0][0].id, "Who are you, really?")
        assert len(await talk.branches()) == 3
        await talk.delete(branches[0][-1].id)


async def test_a_turn_that_was_stopped_in_the_middle_is_finished_and_loses_nothing(
    written: Path, stub: Endpoint
) -> None:
    before, (question, *done) = indexes(written), expected("stopped")
    async with open_conversation("amadeus", context(written, "amadeus"), "stopped") as talk:
        assert await history(talk) == done
        unfinished = await talk.unfinished()
        assert (unfinished.question, unfinished.reply) == (question, None)  # type: ignore[union-attr]
        output = await talk.finish()
        assert output["messages"][-1].text == f"I hear: {question}"
        assert chats(stub) == 1  # the passages were judged before, and what they say was found
        assert await history(talk) == [*done, [question, f"I hear: {question}"]]
        assert f"She thought of {question}" in [one["attribute"] for one in (await talk.values())["role_memory"]]
        await talk.take_turn("And now?")
    assert indexes(written) == before


STOPS: dict[str, tuple[str, dict[str, Any]]] = {
    "amadeus": ("amadeus", {"window": 2}),
    "amadeus verified": ("amadeus", {"verify": True, "revisions": 1, "slots": 1}),
    "role-rag": ("role-rag", {}),
    "role-rag local": ("role-rag", {"retrieval": "local"}),
    "emotional-rag": ("emotional-rag", {"window": 2}),
    "drmr": ("drmr", {"user_role": "tom", "revisions": 1}),
    "drmr as they are": ("drmr", {"role_memory": False}),
    "id-rag": ("id-rag", {"feeling": True}),
    "id-rag blocked": ("id-rag", {"changes_of_mind": 0}),
    "id-rag inferred": ("id-rag", {"identity": "baseline", "gate": False}),
    "crag": ("crag", {}),
    "role-gpt": ("role-gpt", {}),
    "vanilla": ("vanilla", {"window": 2}),
}
"""The threads of stops.sqlite, as stops.py has written them: of which method, by which settings."""


def talkative(text: str) -> str:
    """Play every part, and say something where `answered` has nothing to say."""
    try:
        return answered(text)
    except ValueError:
        return "I keep the light."


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "thread", [pytest.param(one, marks=[pytest.mark.crash] if number % 3 else []) for number, one in enumerate(STOPS)]
)
async def test_a_turn_goes_on_from_wherever_it_stopped(thread: str, written: Path, stub: Endpoint) -> None:
    stub.model = model(talkative)
    method, own = STOPS[thread]
    settings = context_type(method)(role="ada", library=str(written / "library"), **own)
    for one in preparations(method, settings).values():
        await one.graph.ainvoke({}, context=one.context)
    config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": 100}
    async with ConversationSaver.open(written / "stops.sqlite") as saver:
        graph = chat_graph(method).compile(checkpointer=saver, store=InMemoryStore())
        steps = [step async for step in graph.aget_state_history(config)]
        assert len(steps) > 3
        assert all(step.next for step in steps[1:]), "a step has no next one"
        for step in steps[1:]:
            output = await graph.ainvoke(None, step.config, context=settings)
            assert output["messages"][-1].type == "ai", step.next
            assert output["messages"][-1].text.startswith("I"), step.next
            assert (await graph.aget_state(config)).next == ()


async def test_a_turn_that_waits_is_answered(written: Path, stub: Endpoint) -> None:
    async with open_conversation("id-rag", context(written, "id-rag"), "waits") as talk:
        (asked,) = await talk.waiting()
        assert [one["sentence"] for one in asked["changes"]] == ["Ada Quill is by profession a sailor."]
        await talk.answer({"approved": [1]})
        assert [one["triple"]["object"] for one in (await talk.values())["identity_changes"]] == ["a sailor"]
    assert chats(stub) == 0


async def test_an_identity_that_has_changed_stays_so(written: Path, stub: Endpoint) -> None:
    sought = json.dumps({"high_priority": ["profession"], "medium_priority": [], "keywords": []})
    stub.model = model(lambda text: answered(text, {**SCRIPT, r"What to look up of": sought}))
    async with open_conversation("id-rag", context(written, "id-rag"), "self") as talk:
        changes = (await talk.values())["identity_changes"]
        assert [one["triple"]["object"] for one in changes] == expected("identity_changes")
        output = await talk.take_turn("Who are you now?")
    assert "a sailor" in json.dumps(output["evidence"])


def test_what_a_conversation_made_of_its_turns_is_remembered(run: Run) -> None:
    memories = json.loads(run("memories", "ada", "--thread", "moods", "--json"))
    assert [[one["text"], one["emotions"], one["pinned"]] for one in memories] == expected("said")
    asked = ("--thread", "moods", "--method", "emotional-rag", "--set", "window=2", "--json")
    turn = json.loads(run("ask", "ada", "Does the storm come?", *asked))
    recalled = json.dumps(turn["evidence"]["memories"], ensure_ascii=False)
    *before, (shown, _) = expected("threads")["moods"]
    assert all(question in recalled for question, _ in before)
    assert shown not in recalled  # it still stands in the window


def test_the_past_is_shown_in_a_chat(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["/history", "/branches", "/evidence", "/usage", "/again 1", "/fork 1", "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(typed))
    shown = run("chat", "ada", "--thread", "forked")
    assert all(branch[-1] in shown for branch in expected("branches"))
    assert "She thought of" in shown
    assert "goes on after" in shown


# Exports


def as_named_now(export: str, method: str) -> list[Any]:
    """The turns of an export, with the channels of their state as they are called now."""
    turns = [json.loads(line) for line in export.splitlines()[1:]]
    former = chat_graph(method).former_channels if method else {}  # type: ignore[attr-defined]
    for turn in turns:
        state = turn["state"]
        turn["state"] = {former.get(name, name): value for name, value in state.items() if former.get(name, name)}
        turn.pop("user", None)  # who asked, which was not said then
    return turns


@pytest.mark.parametrize("thread", ["tea", "moods", "kin", "self"])
def test_an_export_is_taken_up_and_exported_again(thread: str, run: Run) -> None:
    method, file = THREADS[thread], f"exports/{thread}.jsonl"
    turns = as_named_now(Path(file).read_text(encoding="utf-8"), method)
    assert f"{len(turns)} turns." in run("import", "ada", file, "--thread", "elsewhere", "--method", method)
    assert as_named_now(run("export", "ada", "--thread", "elsewhere", "--method", method), "") == turns
    assert as_named_now(run("export", "ada", "--thread", thread, "--method", method), "") == turns
    asked = ("--thread", "elsewhere", "--method", method, *settings(method))
    assert json.loads(run("ask", "ada", "And here?", *asked, "--json"))["reply"] == "I hear: And here?"


# Runs


@pytest.mark.crash
def test_an_evaluation_is_reported_and_gone_on_with_by_nobody(run: Run, stub: Endpoint) -> None:
    """It does not say by which prompts it was answered, and so nothing is put beside its answers."""
    rows = json.loads(run("report", "evaluation", "--json"))["rows"]
    assert [[one["contestant"], one["interval"]["n_values"]] for one in rows] == expected("evaluation")
    for more in (("--limit", "1", "--out", "evaluation"), ("--from", "evaluation", "--out", "whole")):
        with pytest.raises(AssertionError, match=r"is of an earlier version.*dramaturg report shows it"):
            run(*EVALUATION, *more)
    assert stub.asked == []
    assert not Path("whole").exists()


def test_a_simulation_that_was_stopped_goes_on(run: Run, stub: Endpoint) -> None:
    before = Path("run.jsonl").read_text(encoding="utf-8").splitlines()
    assert "mara, jon" in run("log", "run.jsonl", "overview")
    stub.model = townspeople()
    run(*SIMULATION, "--log", "run.jsonl")
    after = Path("run.jsonl").read_text(encoding="utf-8").splitlines()
    assert after[: len(before)] == before
    kinds = [json.loads(line)["kind"] for line in after]
    assert kinds.count("step") == 2
    assert kinds[-1] == "cost"
    deeds = Counter((event["agent"], event["step"]) for event in map(json.loads, after) if event["kind"] == "action")
    assert set(deeds.values()) == {1}


def test_an_interview_that_was_stopped_goes_on(run: Run, stub: Endpoint) -> None:
    output = json.loads(run(*INTERVIEW, "--out", "interview.json", "--json"))
    asked = [str(body["messages"][-1]["content"]) for body in stub.asked if "messages" in body]
    assert asked
    assert all("The rating as JSON" in text for text in asked)  # what she said is kept
    assert output["counts"]["missing"] == 0
    assert Path("interview.json").exists()
