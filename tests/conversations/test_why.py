"""Why a reply is as it is, in one plain sentence, for every method and in every language."""

from pathlib import Path
from typing import Any

import pytest

from dramaturg.conversations.opening import open_conversation
from dramaturg.conversations.why import SAYS, why
from dramaturg.testing import ScriptedChatModel, WordEmbeddings, write_role
from dramaturg.workflows.methods import context_type

QUESTION = "When do you trim the lamp?"
SAID: dict[str, str] = {
    "amadeus": "Rests on 2 passages of life.md and a trait of the character.",
    "role-rag": "Rests on the character's profile and the conversation alone; so it seems is beyond what the character "
    "knows.",
    "emotional-rag": "Rests on 3 passages of life.md and 5 memories.",
    "drmr": "Rests on 3 passages of life.md, 2 scenes with Tom, and a note on how the two stand with each other; "
    "1 draft was rejected.",
    "id-rag": "Rests on 3 passages of life.md, 3 memories, and a statement of who the character is.",
}


@pytest.mark.parametrize("method", SAID)
async def test_a_turn_of_each_method_is_explained(method: str, tmp_path: Path) -> None:
    write_role(tmp_path)
    told: dict[str, Any] = {"user_role": "Tom"} if method == "drmr" else {}
    model = ScriptedChatModel(log_probabilities=True)
    context = context_type(method)(
        role="ada", library=str(tmp_path), chat_model=model, embedding_model=WordEmbeddings(), **told
    )
    async with open_conversation(method, context, "tea") as talk:
        output = await talk.take_turn(QUESTION)
    assert why(output["evidence"]) == SAID[method]


def recalled(*days: str) -> dict[str, Any]:
    return {"talk": [{"when": day, "text": "user: It rains."} for day in days]}


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (recalled("2026-11-27T10:00:00", "2026-11-27T12:00:00"), "Rests on what was said on 27 November."),
        (recalled(""), "Rests on what was said before."),
        (
            {"knowledge": [{"text": "t", "source": f"{name}.md", "headings": []} for name in "abcd"]},
            "Rests on 4 passages of a.md, b.md and 2 more.",
        ),
        (
            {"gate": {"attempts": [{"verdict": "block"}, {"verdict": "revise"}, {"verdict": "allow"}]}},
            "Rests on the character's profile and the conversation alone; 2 drafts were rejected.",
        ),
        (
            {"mine": {"memories": [{"text": "one"}]}, "other": {"anything": 3}},
            "Rests on a memory.",
        ),
        (
            {"memories": "not what the package writes", "dialogues": [{}]},
            "Rests on a scene with ….",
        ),
        ({}, ""),
        ("no mapping", ""),
        (None, ""),
    ],
)
def test_no_more_is_said_than_the_evidence_says(evidence: Any, said: str) -> None:
    assert why(evidence) == said


@pytest.mark.parametrize("language", SAYS)
def test_every_language_has_every_text(language: Any) -> None:
    assert (
        {key for key in SAYS["en"] if not key.endswith(("_1", "_many"))} <= SAYS[language].keys() <= SAYS["en"].keys()
    )
    assert "{" not in why(recalled("2026-11-27") | {"memories": [{"text": "one"}] * 2}, language)
