"""From a text to a first reply: a role that is cast answers by each of the five methods, and by all of them at once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.formats.markdown import language_of
from dramaturg.stores.library_folder import Library
from dramaturg.stores.texts.draft import CastDraft
from dramaturg.stores.texts.reading import read_source
from dramaturg.workflows.cast import CastContext, graph
from dramaturg.workflows.methods import chat_graph, context_type

from fakes import ScriptedChatModel
from roles import run_settings
from scope_roles import player, scoped

TEXTS = Path(__file__).parents[2] / "examples" / "texts"
WHO = {
    "the_ferry.md": "Mira Castellan",
    "the_ferry.zh.md": "林秋禾",
    "the_ferry.ko.md": "한미래",
    "the_ferry.fountain": "Mira",
    "mira_and_hale.txt": "Mira",
    "mira_diary.md": "Mira",
    "mira_castellan.html": "Mira Castellan",
}


def reader(messages: list[BaseMessage]) -> str:
    """What a model finds in a text: of each part its first sentences, whatever is asked of it."""
    rules = str(messages[0].content)
    answers: dict[str, Any] = {
        "told": [{"sentence": number, "kind": "who"} for number in (1, 2, 3)],
        "episodes": [{"sentence": 1, "text": "I rowed across.", "when": "", "place": ""}],
        "triples": [{"sentence": 1, "relation": "profession", "object": "ferrywoman", "kind": "trait"}],
        "speakers": [],
        "profile": "She runs the ferry.",
        "greetings": ["Get in."],
    }
    return json.dumps({kind: answer for kind, answer in answers.items() if f'"{kind}": ' in rules})


@pytest.mark.sample(6)
@pytest.mark.parametrize("method", ["amadeus", "role-rag", "emotional-rag", "drmr", "id-rag", "ensemble"])
@pytest.mark.parametrize("file", WHO)
async def test_from_a_text_to_a_first_reply(file: str, method: str, tmp_path: Path) -> None:
    text = read_source(TEXTS / file)
    own = text.form == "diary"
    name = WHO[file]
    role = Library(tmp_path).create("mira", RoleCard(name=name, language=language_of(text.text)))
    draft = CastDraft(role.root)
    draft.add_texts([text])
    model = ScriptedChatModel(reply=reader)
    context = CastContext(role="mira", library=str(tmp_path), chat_model=model, first_person=own)
    report = (await graph.ainvoke({}, context=context))["cast"]
    assert not report["failed"]
    draft.accept({kind: draft.items(kind) for kind in draft.counts()})
    needs = {"emotional-rag": "memories", "drmr": "dialogues"}
    if method == "drmr" and not role.dialogues():
        pytest.skip("nobody speaks in a page or a diary")
    assert needs.get(method, "persona") in report["waiting"]
    settings = run_settings(tmp_path, player(scoped("Hale"))) | {"role": "mira"}
    found = (
        await chat_graph(method)
        .compile()
        .ainvoke({"messages": [HumanMessage("Who are you?")]}, context=context_type(method)(**settings))
    )
    assert re.search(r"\w", found["messages"][-1].text)
    assert found["evidence"]
