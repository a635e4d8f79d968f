"""What is later than the time that is set is in no prompt, by any method; without a time it is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast
from langchain_core.messages import HumanMessage

from dramaturg.testing import write_role
from dramaturg.workflows.methods import chat_graph, context_type, preparations
from dramaturg.workflows.names import METHODS

from fakes import ScriptedChatModel
from roles import fenced, run_settings, said
from scope_roles import judged, scoped

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
