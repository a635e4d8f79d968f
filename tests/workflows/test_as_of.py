"""What is later than the time that is set is in no prompt, by any method; without a time it is."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.testing import write_role
from dramaturg.testing.role import write_lines
from dramaturg.workflows.methods import chat_graph, context_type, preparations
from dramaturg.workflows.names import METHODS

from fakes import ScriptedChatModel
from roles import fenced, run_settings, said
from scope_roles import judged, remembered, scoped

LIFE = """# Ada Quill

Ada Quill keeps the lighthouse and looks down on the quay.

# Chapter 1

Ada Quill found an Amberdoc on the quay.

# Chapter 2

Ada Quill lost a Birchdoc on the quay.

## Scene 2

Ada Quill hid a Cedardoc under the quay.

# Chapter 3

Ada Quill burned a Dogwooddoc on the quay.

# Epilogue

Ada Quill mourned an Elmdoc on the quay.
"""
LETTERS = "---\nwhen: Chapter 3\n---\n\n# Letters\n\nAda Quill wrote of a Firdoc from the quay.\n"
KINDS = ("doc", "mem", "say", "tri")
EARLY, LATE = ("Amber", "Birch"), ("Dogwood", "Elm", "Fir")
CHAPTERS = ("Chapter 1", "Chapter 2", "Chapter 3")
NAME = re.compile(r"\b(?:Amber|Birch|Cedar|Dogwood|Elm|Fir)doc\b")
ASKED = "What do you know of the quay, and of the Birchdoc and the Dogwooddoc?"


NAMES = ("Amber", "Birch", "Dogwood")
TOLD = [*zip(NAMES, CHAPTERS, strict=True)]


def memories() -> list[dict[str, str]]:
    told = [{"text": f"I saw the {name}mem on the quay.", "when": when} for name, when in TOLD]
    return [*told, {"text": "I lost the Elmmem on the quay.", "when": "1850"}]


def lines() -> list[dict[str, str]]:
    return [
        {"scene": when, "speaker": speaker, "text": f"{text} the {name}say on the quay."}
        for name, when in TOLD
        for speaker, text in (("Tom", "Behold"), ("Ada Quill", "I have"))
    ]


def chronicle() -> str:
    line = "- {{subject: Ada Quill, relation: values, object: the {}tri on the quay, kind: value, since: {}}}\n"
    return "triples:\n" + "".join(line.format(name, when) for name, when in TOLD)


def facts(text: str) -> str:
    """Ada and what each sentence names, and how the two are connected."""
    entities, relations = [{"name": "Ada Quill", "type": "character", "sentence": 1}], []
    for number, sentence in re.findall(r"^\[(\d+)\] (.*)$", fenced("text", text), re.MULTILINE):
        for name in NAME.findall(sentence):
            here = {"sentence": int(number), "description": sentence}
            entities.append({"name": name, "type": "object", **here})
            relations.append({"source": "Ada Quill", "target": name, "strength": 9, **here})
    return json.dumps({"entities": entities, "relations": relations})


def cast() -> ScriptedChatModel:
    scope = judged(scoped("Birchdoc", "object"), scoped("Dogwooddoc", "object"))
    return whole_cast(facts=facts, scope=scope)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Ada, of whose three chapters something of each kind is known."""
    root = write_role(tmp_path, persona=LIFE, memories=memories(), dialogue=lines(), chronicle=chronicle())
    (root / "persona" / "letters.md").write_text(LETTERS, encoding="utf-8")
    return tmp_path


async def turn(library: Path, method: str, **settings: Any) -> tuple[str, dict[str, Any]]:
    """All prompts of a turn of a role that is indexed already, and the evidence."""
    own = {"user_role": "Tom", "knowledge": 50, "recalled": 50, "recalled_dialogues": 9, "fixed_length": 60}
    own |= {"fixed_overlap": 0, "identity": "full"} if method == "id-rag" else {"fixed_overlap": 0}
    fields = context_type(method).model_fields
    kept = {name: value for name, value in {**own, **settings}.items() if name in fields}
    untimed = {name: value for name, value in kept.items() if name != "as_of"}
    for preparation in preparations(method, context_type(method)(**run_settings(library, cast(), **untimed))).values():
        await preparation.made({}, lambda *_: None)
    model = cast()
    context = context_type(method)(**run_settings(library, model, **kept))
    output = await chat_graph(method).compile().ainvoke({"messages": [HumanMessage(ASKED)]}, context=context)
    asked = {ASKED, "Birchdoc and the Dogwooddoc"}
    prompts = "\n".join(said(call.messages) for call in model.calls)
    for one in asked:
        prompts = prompts.replace(one, "")
    return prompts, output["evidence"]


def found(prompts: str, names: tuple[str, ...]) -> set[str]:
    return {f"{name}{kind}" for name in names for kind in KINDS if f"{name}{kind}" in prompts}


REASON = "Nothing of it is known yet at the time at which Ada Quill speaks (chapter 2): it comes later."
DECLINED = f"- Dogwooddoc: {REASON}"


KNOWS = {
    **dict.fromkeys(("amadeus", "naive-rag", "crag", "graph-rag-local", "role-rag"), ("doc",)),
    "emotional-rag": ("doc", "mem", "say"),
    "drmr": ("doc", "say"),
    "role-gpt": ("say",),
    "id-rag": ("doc", "mem", "tri"),
    "ensemble": KINDS,
    "profile": (),
    "vanilla": (),
}


@pytest.mark.parametrize("method", METHODS)
async def test_nothing_later_is_in_any_prompt_and_without_a_time_it_is(library: Path, method: str) -> None:
    whole, _ = await turn(library, method)
    assert {name[-3:] for name in found(whole, LATE)} == {*KNOWS[method]}
    early, evidence = await turn(library, method, as_of="chapter 2")
    assert found(early.replace(DECLINED, ""), LATE) == set()
    assert {name[-3:] for name in found(early, EARLY)} == {*KNOWS[method]}
    if KNOWS[method]:
        assert evidence["not_yet"]["as_of"] == "chapter 2"
        assert evidence["not_yet"]["later"]
    if method == "role-rag":
        assert DECLINED in early
        named = {one["name"]: (one["strategy"], one["reason"]) for one in evidence["entities"]}
        assert named == {"Birchdoc": ("specific", "Birchdoc is near her."), "Dogwooddoc": ("out of scope", REASON)}


@pytest.mark.parametrize("method", METHODS)
async def test_a_role_of_whom_nothing_is_known_yet_answers(library: Path, method: str) -> None:
    prompts, evidence = await turn(library, method, as_of="1700")
    declined = re.sub(r"- \w+: Nothing of it is known yet at the time", "", prompts)
    assert found(declined, (*EARLY, *LATE)) == set()
    if KNOWS[method]:
        assert evidence["not_yet"]["not_comparable"]


@pytest.mark.parametrize("method", METHODS)
async def test_a_time_that_cannot_be_read_is_refused(library: Path, method: str) -> None:
    with pytest.raises(ValueError, match="'some day' is no moment that can be read: write a year"):
        await turn(library, method, as_of="some day")


async def test_a_name_of_the_roles_own_timeline_is_a_time(library: Path) -> None:
    card = library / "ada" / "role.yaml"
    card.write_text(f"{card.read_text(encoding='utf-8')}\ntimeline: [the quay, the sea]\n", encoding="utf-8")
    told = [{"text": "I saw the Amber on the quay.", "when": "The quay"}, {"text": "I sank.", "when": "the sea"}]
    write_lines(library / "ada" / "memories.jsonl", told)
    prompts, evidence = await turn(library, "emotional-rag", as_of="the quay")
    assert "I saw the Amber" in prompts
    assert "I sank." not in prompts
    assert evidence["not_yet"]["later"] == {"memories": 1}


class Talk:
    """A talk of one method, whose time moves on."""

    def __init__(self, library: Path, method: str, **settings: Any) -> None:
        self.library, self.method, self.settings = library, method, settings
        self.graph = chat_graph(method).compile(InMemorySaver())

    async def say(self, text: str, as_of: str = "", **parts: Any) -> tuple[str, dict[str, Any]]:
        model = whole_cast(**{"facts": facts, "scope": judged(scoped("Dogwooddoc", "object")), **parts})
        given = run_settings(self.library, model, **self.settings, as_of=as_of)
        output = await self.graph.ainvoke(
            {"messages": [HumanMessage(text)]},
            {"configurable": {"thread_id": "talk"}},
            context=context_type(self.method)(**given),
        )
        return "\n".join(said(call.messages) for call in model.calls), output["evidence"]


async def test_what_was_of_a_later_time_is_known_when_that_has_come(library: Path) -> None:
    talk = Talk(library, "role-rag", close_strength=11)
    await talk.say(ASKED)
    scopes = [(await talk.say(ASKED, as_of))[1]["entities"][0]["strategy"] for as_of in ("chapter 2", "chapter 3")]
    assert scopes == ["out of scope", "specific"]


async def test_a_record_of_a_later_time_waits_until_then(library: Path) -> None:
    record = "We met the Dogwoodsay, Tom and I."
    talk = Talk(library, "drmr", user_role="Tom", recalled_dialogues=9, memory_dialogues=9)
    assert record in (await talk.say("Ahoy.", record=remembered(record)))[0]
    early, _ = await talk.say("Ahoy.", "chapter 2", record=remembered("We met the Ambersay."))
    assert record not in early
    assert "We met the Ambersay." in early
    assert record in (await talk.say("Ahoy.", "chapter 3"))[0]


@pytest.mark.parametrize(("as_of", "asked"), [("", 0), ("chapter 3", 0), ("chapter 2", 1), ("chapter 1", 1)])
async def test_a_relation_is_asked_about_where_its_lines_are_others_and_never_twice(
    library: Path, as_of: str, asked: int
) -> None:
    await Talk(library, "drmr", user_role="Tom").say("Ahoy.")
    for wanted in (asked, 0):
        prompts, _ = await Talk(library, "drmr", user_role="Tom").say("Ahoy.", as_of)
        assert prompts.count("You weigh how much two people matter") == wanted


SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
PLAYS = sorted((Path(SHARED or "") / "coser_plays").glob("*.json")) if SHARED else []
ACTS = ("one", "two", "three", "four", "five")


def told_in_acts(book: Path) -> tuple[str, list[dict[str, Any]], dict[int, list[str]]]:
    """A play as a document and as dialogues, and what is said in each act, as far as the file says which it is."""
    document, lines, by_act = list[str](), list[dict[str, Any]](), dict[int, list[str]]()
    for number, plot in enumerate(json.loads(book.read_text(encoding="utf-8"))["plots"]):
        act = next((at for at, name in enumerate(ACTS, 1) if f"act {name}" in (plot["chapter"] or "").lower()), 0)
        if not act:
            continue
        document.append(f"# {plot['chapter']}\n\n{plot['text']}")
        spoken = [line for one in plot["conversation"] for line in one["dialogues"] if line["character"].strip()]
        lines += [
            {"scene": f"{plot['chapter']} ({number})", "speaker": one["character"], "text": one["message"]}
            for one in spoken
        ]
        by_act.setdefault(act, []).extend([one["message"] for one in spoken] + plot["text"].split("\n\n"))
    return "\n\n".join(document), lines, by_act


@pytest.mark.slow
@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
@pytest.mark.parametrize("book", PLAYS, ids=lambda book: book.stem)
@pytest.mark.parametrize("method", [one for one in METHODS if KNOWS[one]])
async def test_a_play_is_known_up_to_its_act(tmp_path: Path, method: str, book: Path) -> None:
    document, lines, by_act = told_in_acts(book)
    name = max((one["speaker"] for one in lines), key=[one["speaker"] for one in lines].count)
    write_role(tmp_path, name=name, persona=document, memories=(), dialogue=lines)
    shown = dict[int, int]()
    for act in range(1, 6):
        prompts, _ = await turn(tmp_path, method, as_of=f"act {act}")
        told = " ".join(prompts.split())
        later = [text for at, texts in by_act.items() if at > act for text in texts]
        earlier = [text for at, texts in by_act.items() if at <= act for text in texts]
        kept = {" ".join(text.split()) for text in later if len(text) > 40} - {" ".join(one.split()) for one in earlier}
        assert [text for text in kept if text in told] == []
        shown[act] = sum(" ".join(text.split()) in told for text in earlier if len(text) > 40)
    assert any(shown.values())
