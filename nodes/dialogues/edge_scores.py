"""EdgeScore (DRMR 3.2, Equation 2): how much two roles matter in a dialogue, asked once for its text."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from pydantic import JsonValue

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.index_steps import Announce, Answers, answer_all
from dramaturg.nodes.judgement import Appraisal, AppraisalSettings, Appraising
from dramaturg.nodes.run import Run
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.dialogues import Pair, StoredDialogue


class DialogueEdge(NamedTuple):
    """Two roles who speak with each other in a dialogue."""

    pair: Pair
    dialogue: StoredDialogue


class EdgeScoring(NamedTuple):
    """Who scores the edges of a role's dialogues."""

    run: Run[AppraisalSettings]
    card: RoleCard
    """As it was when the edges were looked for."""


async def ask_scores(
    scoring: EdgeScoring,
    left: Mapping[str, DialogueEdge],
    keep: Callable[[Answers], Awaitable[None]],
    announce: Announce,
) -> dict[str, str]:
    """Have the scores s_ij of edges, 1 … 5 with a reason, by their keys.

    Returns:
        Why there is none, by the keys of the edges that have none.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    (run, card), chat = scoring, scoring.run.chat
    errors: dict[str, str] = {}

    async def asked(edge: DialogueEdge) -> Answers:
        key = edge_key(edge, card)
        question = Appraising(
            together="score_edge",
            score="rate_edge",
            reason="why_edge",
            values={},
            data={"dialogue": edge.dialogue.text, "pair": "\n".join(edge.pair)},
            prompt=partial(run.prompt, language=card.language),
        )
        try:
            found = await (question.rated_by if run.settings.scores_apart(chat) else question.together_by)(chat)
        except UNANSWERED as error:
            errors[key] = str(error)
            return {}
        cut: dict[str, JsonValue] = {"dropped": list(found.dropped)} if found.dropped else {}
        return {key: {"score": found.score, "reason": found.reason, **cut}}

    await answer_all(left, asked, keep=keep, announce=announce)
    return errors


def edge_key(edge: DialogueEdge, card: RoleCard) -> str:
    """What the score of an edge is kept by: the two roles and the text; not the model that gave it."""
    return answer_key("edge", list(edge.pair), edge.dialogue.text, card.language)


def edges_of(dialogues: Iterable[StoredDialogue]) -> list[DialogueEdge]:
    """All edges that dialogues give, dialogue by dialogue."""
    return [DialogueEdge(pair, dialogue) for dialogue in dialogues for pair in dialogue.pairs]


def score_in(answers: Mapping[str, JsonValue], key: str) -> Appraisal | None:
    """A score that is kept."""
    match answers.get(key):
        case {"score": int() | float() as score, "reason": str(reason), **more}:
            dropped = more.get("dropped")
            return Appraisal(float(score), reason, tuple(map(str, dropped)) if isinstance(dropped, list) else ())
    return None
