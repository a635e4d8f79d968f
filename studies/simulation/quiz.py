"""What is asked for a measure: of an agent who it is (ID-RAG 5.5.1), of a judge whether a deed fits it (5.5.2)."""

from typing import Any, NamedTuple

import numpy as np
from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from dramaturg.cli.simulation.run_log import Context
from dramaturg.evaluation.judging.judges import reason_of
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.models.questions import rate, write
from dramaturg.nodes.identity.chronicle import Identity
from dramaturg.nodes.identity.perception import Percept
from dramaturg.nodes.identity.retrieval import IdentityRetrievalSettings, query_identity, retrieve_identity
from dramaturg.nodes.text.similarity import text_vectors
from dramaturg.prompts import fence, load
from dramaturg.stores.documents.forms import Question
from dramaturg.stores.role import Role

TEMPERATURE = 0.2
ANSWER_TOKENS = 150
LOOKED_UP = ("strategy", "similarity")
"""How an identity was had that can be looked up anew for a question; all of it, or an inferred one, stays the same."""
LOW, HIGH = 1, 10
"""Goes straight against the identity; fits it in every way. 5: has nothing to do with it."""


class Scored(NamedTuple):
    """What was answered, or why a judge gave a score; and the score."""

    answer: str
    score: float


def quiz_of(role: Role) -> list[Question]:
    """The questions on a role's identity that have a right answer."""
    return [one for one in role.questions() if one.attribute == "identity" and one.answer]


def quiz_messages(identity: Identity, at: Context, question: str, more: str = "") -> list[BaseMessage]:
    """The messages of a question: working memory, what the agent took itself for, perhaps what was looked up."""
    parts = [at.self_image, fence("identity", more) if more else ""]
    return load("answer_quiz", identity.language).messages(
        role=identity.name,
        situation=at.situation,
        self_image="\n\n".join(filter(None, parts)),
        data={"question": question},
    )


async def answered(chat: ChatModel, messages: list[BaseMessage]) -> str:
    """Have a question answered; the answer comes back as a single line."""
    text = await write(chat, messages, temperature=TEMPERATURE, max_tokens=ANSWER_TOKENS, quiet=True)
    return " ".join(text.split())


async def correctness(model: Embedder, answer: str, right: str) -> float:
    """Return the cosine of an answer and the right one, from -1 to 1."""
    one, other = (await text_vectors(model, [answer, right])).astype(np.float64)
    return float(one @ other)


async def looked_up(context: IdentityRetrievalSettings, at: Context, question: str) -> str:
    """Look an identity up for a question of the quiz; return what is not in the self image already."""
    percept: Percept = {"scene": "", "observations": None, "options": [], "now": at.time}
    state: Any = {"question": question, "situation": at.situation, "percept": percept}
    runtime = Runtime(context=context)
    state |= {"strategy": (await query_identity(state, runtime))["strategy"]}
    found = (await retrieve_identity(state, runtime))["identity"]
    known = at.self_image.splitlines()
    return "\n".join(one["sentence"] for one in found if one["sentence"] not in known)


def reason_messages(identity: Identity, deed: str) -> list[BaseMessage]:
    """What the judge is shown first: the whole identity and the deed."""
    data = {"identity": identity.text(identity.triples), "deed": deed}
    return load("why_aligned", identity.language).messages(role=identity.name, data=data)


async def judged_deed(judge: ChatModel, identity: Identity, deed: str) -> Scored:
    """Have a deed judged by how well it fits who an agent is: a sentence, and then a score that rests on it."""
    reason = await reason_of(judge, reason_messages(identity, deed))
    data = {"identity": identity.text(identity.triples), "deed": deed, "reason": reason}
    asked = load("rate_alignment", identity.language).messages(role=identity.name, data=data)
    return Scored(reason, (await rate(judge, asked, low=LOW, high=HIGH)).value)
