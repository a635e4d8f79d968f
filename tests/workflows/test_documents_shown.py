"""What is written in persona/ reaches the replies of the methods that rest on something else; the papers' stay."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.documents.forms import RoleCard, card_text
from dramaturg.stores.library import Library
from dramaturg.testing import WordEmbeddings
from dramaturg.testing.role import CHRONICLE, DIALOGUE, LIFE, write_lines
from dramaturg.workflows import amadeus_index, drmr, emotional_rag, id_rag

from fakes import ScriptedChatModel
from identity_roles import decider
from identity_roles import shown as decided
from roles import fenced, run_settings
from scope_roles import player, shown

LOG = "Every ship that passes is written into the log"
ASKED = "What do you write into the log of every ship that passes?"
METHODS = {
    "drmr": (drmr, drmr.DrmrContext, player, shown),
    "emotional-rag": (emotional_rag, emotional_rag.EmotionalRagContext, player, shown),
    "id-rag": (id_rag, id_rag.IdRagContext, decider, decided),
}
Taken = Callable[..., Awaitable[tuple[str, dict[str, Any]]]]


@pytest.fixture(params=METHODS)
def take(request: pytest.FixtureRequest, tmp_path: Path) -> Taken:
    """Take a turn; give the prompt of the reply, and the evidence."""
    workflow, kind, model_of, parts = METHODS[request.param]

    async def taken(question: str = ASKED, **settings: Any) -> tuple[str, dict[str, Any]]:
        model: ScriptedChatModel = model_of()
        context = kind(**run_settings(tmp_path, model, **settings))
        given = {"messages": [HumanMessage(question)]}
        output = await workflow.build().compile().ainvoke(given, context=context)
        (prompt,) = parts(model, "reply")
        system = next(call.messages[0].text for call in model.calls if call.messages[-1].text == prompt)
        return f"{system}\n{prompt}", output["evidence"]

    return taken


def ada(library: Path, persona: str = LIFE) -> Path:
    """Ada, whose profile, directions and documents say things that nothing else does."""
    played = {"data": {"system_prompt": "She clips her words."}}
    card = RoleCard(name="Ada Quill", profile="A keeper of few words.", card=played)
    root = Library(library).create("ada", card).root
    (root / "persona").mkdir(exist_ok=True)
    (root / "persona" / "life.md").write_text(persona, encoding="utf-8")
    (root / "dialogues").mkdir(exist_ok=True)
    write_lines(root / "dialogues" / "scenes.jsonl", DIALOGUE)
    (root / "chronicle.yaml").write_text(CHRONICLE, encoding="utf-8")
    return root


async def test_a_reply_is_shown_profile_directions_and_the_nearest_documents(take: Taken, tmp_path: Path) -> None:
    ada(tmp_path)
    prompt, evidence = await take()
    assert all(said in prompt for said in ("A keeper of few words.", "She clips her words.", LOG))
    assert evidence["knowledge"][0]["source"] == "life.md"
    assert LOG in evidence["knowledge"][0]["text"]


async def test_directions_that_a_prompt_has_no_room_for_are_said(take: Taken, tmp_path: Path) -> None:
    root, told = ada(tmp_path), "She clips her words. " * 400
    (root / "role.yaml").write_text(
        card_text(RoleCard(name="Ada Quill", card={"data": {"system_prompt": told}})), encoding="utf-8"
    )
    prompt, evidence = await take()
    assert evidence["fitted"]["directions"] == len(told.strip().encode()) - len(fenced("directions", prompt).encode())


async def test_by_the_papers_rules_it_rests_on_what_the_paper_says_alone(take: Taken, tmp_path: Path) -> None:
    ada(tmp_path)
    prompt, evidence = await take(rules="paper")
    assert LOG not in prompt
    assert "knowledge" not in evidence


async def test_a_role_without_documents_is_not_missed(take: Taken, tmp_path: Path) -> None:
    (ada(tmp_path) / "persona" / "life.md").unlink()
    prompt, evidence = await take()
    assert "<knowledge>" not in prompt
    assert not {one for one in evidence if one.startswith("documents")}


async def test_what_the_profile_says_already_is_not_shown_twice(take: Taken, tmp_path: Path) -> None:
    ada(tmp_path, "# Ada\n\nA keeper of few words.\n")
    prompt, _ = await take("Are you a keeper of few words?")
    assert prompt.count("A keeper of few words.") == 1


async def test_a_long_document_is_searched_in_its_index_and_without_one_the_evidence_says_how_to_make_it(
    take: Taken, tmp_path: Path
) -> None:
    filler = "\n\n".join(f"## Day {at}\n\nNothing came past but gulls, {'and gulls ' * 20}." for at in range(400))
    ada(tmp_path, f"{LIFE}\n\n{filler}\n")
    prompt, evidence = await take()
    assert LOG not in prompt
    assert "`dramaturg index ada`" in evidence["documents_warning"]
    context = amadeus_index.AmadeusIndexContext(**run_settings(tmp_path, player()))
    await amadeus_index.build().compile().ainvoke({}, context=context)
    prompt, evidence = await take()
    assert LOG in prompt
    assert "documents_warning" not in evidence


async def test_the_evidence_has_the_passages_that_the_prompt_had_room_for(take: Taken, tmp_path: Path) -> None:
    days = [f"## Day {at}\n\nShe writes the log. {f'On day {at} she writes the log again. ' * 45}" for at in range(4)]
    ada(tmp_path, "\n\n".join(days))
    prompt, evidence = await take("What does she write into the log?")
    assert 0 < len(evidence["knowledge"]) < 3
    assert prompt.count("She writes the log.") == len(evidence["knowledge"])


class Refusing(WordEmbeddings):
    """Embeds everything but what only the documents say."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any(LOG in text for text in texts):
            raise ModelUnavailable("The connection was lost.")
        return super().embed_documents(texts)


async def test_documents_that_cannot_be_searched_cost_the_reply_nothing_else(take: Taken, tmp_path: Path) -> None:
    ada(tmp_path)
    prompt, evidence = await take(embedding_model=Refusing())
    assert "A keeper of few words." in prompt
    assert "connection was lost" in evidence["documents_error"]
