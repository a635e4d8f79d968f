"""The example of a story, the voyage of the Hispaniola: each role knows its own part, and nothing of the others'."""

import json
import re
import shutil
from pathlib import Path

import pytest
from all_methods import whole_cast
from langchain_core.messages import HumanMessage

from dramaturg.nodes.known import unread_times
from dramaturg.nodes.told import unknown_knowers
from dramaturg.stores.library import Library
from dramaturg.workflows.methods import chat_graph, context_type, preparations
from dramaturg.workflows.names import METHODS

from fakes import ScriptedChatModel
from roles import fenced, run_settings, said
from scope_roles import judged, scoped

EXAMPLES = Path(__file__).parents[2] / "examples"
STORY = "hispaniola"
GENTRY = {"livesey", "smollett", "trelawney"}
MUTINEERS = {"merry", "morgan", "dick", "silver"}
CREW = {"jim", "hands", "gunn"} | GENTRY | MUTINEERS
SECRETS = {
    "doc": {
        "packet of oilcloth": {"jim"} | GENTRY,
        "no mind to catch him": {"silver", "hands", "merry", "morgan"},
        "seven whom they could trust": {"jim"} | GENTRY,
        "between the man's shoulders": {"jim", "silver"},
        "the hill with two peaks": {"gunn"} | GENTRY,
        "what he gained by it": GENTRY | MUTINEERS,
        "in the North Inlet": {"jim", "hands", "livesey"},
        "coil of rope": {"jim", "hands"},
        "leaf cut from Dick's Bible": {"jim"} | MUTINEERS,
        "agreed in whispers": {"jim", "silver"},
        "in which inlet": {"jim", "livesey"},
        "many weary journeys": {"gunn"},
        "Under the white rock": {"gunn", "jim"},
        "Parmesan": {"jim", "livesey"},
        "broke the head of one": {"gunn"},
        "in a high voice": {"gunn", "livesey"},
    },
    "mem": {"among the apples": {"jim"}, "thoughts about that bargain": {"merry"}, "a goat's bone": {"gunn"}},
    "say": {"not a crumb": {"gunn", "jim"}, "like antelopes": {"jim", "livesey"}, "half a plank": {"jim", "silver"}},
    "tri": {"carrying the gold": {"gunn"} | GENTRY, "beaching the schooner": {"jim", "hands", "livesey"}},
}  # fmt: skip
READS = {
    "amadeus": ("doc",),
    "role-rag": ("doc",),
    "emotional-rag": ("doc", "mem", "say"),
    "drmr": ("say",),
    "id-rag": ("doc", "mem", "tri"),
    "ensemble": ("doc",),
}
"""What a method shows some of, whatever is asked."""
ASKED = "What do you know of Ben Gunn?"
WIDE = {"knowledge": 50, "recalled": 50, "recalled_dialogues": 9, "document_passages": 50}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """The examples, which are there when they are asked for, and Silver, who has joined the story."""
    shutil.copytree(EXAMPLES / "silver", tmp_path / "silver")
    with (tmp_path / "silver" / "role.yaml").open("a", encoding="utf-8") as card:
        card.write(f"story: {STORY}\n")
    return tmp_path


def facts(text: str) -> str:
    """Ben Gunn is told of in each sentence."""
    sentences = re.findall(r"^\[(\d+)\] (.*)$", fenced("text", text), re.MULTILINE)
    found = [
        {"name": "Ben Gunn", "type": "character", "sentence": int(at), "description": one} for at, one in sentences
    ]
    return json.dumps({"entities": found, "relations": []})


async def prompts(library: Path, method: str, role: str, **settings: str) -> str:
    """All that is shown to a model in a turn."""

    def cast() -> ScriptedChatModel:
        return whole_cast(facts=facts, scope=judged(scoped("Ben Gunn", "character")))

    user = "Jim Hawkins" if role != "jim" else "Ben Gunn"
    fields = context_type(method).model_fields
    kept = {name: one for name, one in {**WIDE, "user_role": user, "role": role, **settings}.items() if name in fields}
    kept |= {"identity": "full"} if method == "id-rag" else {}
    for one in preparations(method, context_type(method)(**run_settings(library, cast(), **kept))).values():
        await one.made({}, lambda *_: None)
    model = cast()
    context = context_type(method)(**run_settings(library, model, **kept))
    await chat_graph(method).compile().ainvoke({"messages": [HumanMessage(ASKED)]}, context=context)
    return " ".join(" ".join(said(call.messages) for call in model.calls).split())


def shown(text: str, *kinds: str) -> set[str]:
    return {one for kind in kinds or SECRETS for one in SECRETS[kind] if one in text}


def known(role: str, *kinds: str) -> set[str]:
    return {one for kind in kinds or SECRETS for one, roles in SECRETS[kind].items() if role in roles}


@pytest.mark.parametrize("role", ["jim", "silver", "gunn"])
@pytest.mark.parametrize("method", METHODS)
async def test_no_secret_of_others_is_in_a_prompt_by_any_method(library: Path, method: str, role: str) -> None:
    text = await prompts(library, method, role)
    assert shown(text) <= known(role)
    if role != "silver":  # he has more of his own than there is room for
        assert all(shown(text, kind) for kind in READS.get(method, ()) if known(role, kind))
        assert method != "amadeus" or shown(text) == known(role, "doc")


async def test_on_the_last_night_at_sea_nobody_knows_of_the_island(library: Path) -> None:
    text = await prompts(library, "amadeus", "jim", as_of="the last night at sea")
    assert shown(text) == {"packet of oilcloth", "seven whom they could trust"}


def test_an_example_of_a_story_is_copied_with_it_and_says_what_is_unclear(tmp_path: Path) -> None:
    library = Library(tmp_path)
    jim = library.open("jim")
    assert library.roles() == [STORY, "jim"]
    assert (unknown_knowers(jim), unread_times(jim)) == ([], [])
    assert {role for role, card in Library(EXAMPLES).cards().items() if card().story == STORY} == CREW - {"silver"}
