"""Identity recall: what of its identity an agent can say from what it had before its eyes (ID-RAG 5.5.1)."""

from typing import Any

import numpy as np
from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from dramaturg.evaluation.simulation.events import Context
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.models.questions import write
from dramaturg.nodes.embedded_texts import vectors_of
from dramaturg.nodes.identity import Identity
from dramaturg.nodes.identity_query import query_identity
from dramaturg.nodes.identity_recall import IdentityRecallSettings, retrieve_identity
from dramaturg.nodes.perception import Percept
from dramaturg.prompts import fence, load
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import Question

TEMPERATURE = 0.2
ANSWER_TOKENS = 150
LOOKED_UP = ("strategy", "similarity")
"""How an identity was had that can be looked up anew for a question; all of it, or an inferred one, stays the same."""


def quiz_of(role: Role) -> list[Question]:
    """The questions on a role's identity that have a right answer."""
    return [one for one in role.questions() if one.attribute == "identity" and one.answer]


def quiz_messages(identity: Identity, at: Context, question: str, more: str = "") -> list[BaseMessage]:
    """What an agent is shown: working memory, what it took itself for, perhaps what was looked up, and the question."""
    parts = [at.self_image, fence("identity", more) if more else ""]
    return load("answer_quiz", identity.language).messages(
        role=identity.name,
        situation=at.situation,
        self_image="\n\n".join(filter(None, parts)),
        data={"question": question},
    )


async def answered(chat: ChatModel, messages: list[BaseMessage]) -> str:
    """Have a question answered.

    Raises:
        ModelError: the model gave no answer.
    """
    text = await write(chat, messages, temperature=TEMPERATURE, max_tokens=ANSWER_TOKENS, quiet=True)
    return " ".join(text.split())


async def correctness(model: Embedder, answer: str, right: str) -> float:
    """Return the cosine of an answer and the right one, from -1 to 1.

    Raises:
        ValueError: the embedding model fails on one of them.
    """
    one, other = (await vectors_of(model, [answer, right])).astype(np.float64)
    return float(one @ other)


async def looked_up(context: IdentityRecallSettings, at: Context, question: str) -> str:
    """Look an identity up for a question of the quiz: what is found and not in the self image already.

    Raises:
        RoleError: the role has no chronicle.
        ModelError: the model cannot be reached or refuses every question.
    """
    percept: Percept = {"scene": "", "observations": None, "options": [], "now": at.time}
    state: Any = {"question": question, "situation": at.situation, "percept": percept}
    runtime = Runtime(context=context)
    state |= {"strategy": (await query_identity(state, runtime))["strategy"]}
    found = (await retrieve_identity(state, runtime))["identity"]
    known = at.self_image.splitlines()
    return "\n".join(one["sentence"] for one in found if one["sentence"] not in known)
