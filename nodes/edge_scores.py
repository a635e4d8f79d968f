"""EdgeScore (DRMR 3.2, Equation 2): how much two roles matter in a dialogue, asked once for its text."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.appraisal import Appraisal, AppraisalSettings, Appraising
from dramaturg.nodes.asked_answers import Announce, Answers, answer_all
from dramaturg.stores.answers import answer_key
from dramaturg.stores.dialogues import Pair, StoredDialogue
from dramaturg.stores.role_files import RoleCard

Keep = Callable[[Answers], Awaitable[None]]


class Edge(NamedTuple):
    """Two roles who speak with each other in a dialogue."""

    pair: Pair
    dialogue: StoredDialogue


class EdgeScoring(NamedTuple):
    """Who scores the edges of a role's dialogues."""

    chat: ChatModel
    card: RoleCard
    context: AppraisalSettings

    async def answers(self, edge: Edge) -> Answers:
        """Have the score of an edge, under the key that it is kept by.

        Raises:
            ModelError: there is no score.
        """
        found = await self.score(edge)
        return {edge_key(edge, self.card): {"score": found.score, "reason": found.reason}}

    async def score(self, edge: Edge) -> Appraisal:
        """s_ij in 1 … 5 with its reason."""
        asked = Appraising(
            together="score_edge",
            score="rate_edge",
            reason="why_edge",
            values={},
            data={"dialogue": edge.dialogue.text, "pair": "\n".join(edge.pair)},
            language=self.card.language,
        )
        return await (asked.rated_by if self.context.apart(self.chat) else asked.together_by)(self.chat)


async def ask_scores(scoring: EdgeScoring, left: Mapping[str, Edge], keep: Keep, announce: Announce) -> dict[str, str]:
    """Have the scores of edges, by their keys; return why there is none, for those that have none.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    errors: dict[str, str] = {}

    async def asked(edge: Edge) -> Answers:
        try:
            return await scoring.answers(edge)
        except UNANSWERED as error:
            errors[edge_key(edge, scoring.card)] = str(error)
            return {}

    await answer_all(left, asked, keep=keep, announce=announce)
    return errors


def edge_key(edge: Edge, card: RoleCard) -> str:
    """What the score of an edge is kept by: the two roles and the text; not the model that gave it."""
    return answer_key("edge", list(edge.pair), edge.dialogue.text, card.language)


def edges_of(dialogues: Iterable[StoredDialogue]) -> list[Edge]:
    """All edges that dialogues give, dialogue by dialogue."""
    return [Edge(pair, dialogue) for dialogue in dialogues for pair in dialogue.pairs]


def score_in(answers: Mapping[str, JsonValue], key: str) -> Appraisal | None:
    """A score that is kept."""
    match answers.get(key):
        case {"score": int() | float() as score, "reason": str(reason)}:
            return Appraisal(float(score), reason)
    return None
