"""Action alignment: how well a deed fits who an agent is, by a judge that first says why (ID-RAG 5.5.2)."""

from typing import NamedTuple

from langchain_core.messages import BaseMessage

from dramaturg.models.chat import ChatModel
from dramaturg.models.questions import rate, write
from dramaturg.nodes.identity import Identity
from dramaturg.prompts import load

LOW, HIGH = 1, 10
"""Goes straight against the identity; fits it in every way. 5: has nothing to do with it."""
REASON_TOKENS = 120


class Alignment(NamedTuple):
    """A score from 1 to 10, and the sentence that it rests on."""

    reason: str
    score: float


def reason_messages(identity: Identity, deed: str) -> list[BaseMessage]:
    """What the judge is shown first: the whole identity and the deed."""
    data = {"identity": identity.text(identity.triples), "deed": deed}
    return load("why_aligned", identity.language).messages(role=identity.name, data=data)


async def alignment(judge: ChatModel, identity: Identity, deed: str) -> Alignment:
    """Judge a deed: a sentence, and then a score that rests on it.

    Raises:
        ModelError: the judge gave no answer.
    """
    messages = reason_messages(identity, deed)
    text = await write(judge, messages, temperature=0, max_tokens=REASON_TOKENS, quiet=True)
    reason = " ".join(text.split())
    data = {"identity": identity.text(identity.triples), "deed": deed, "reason": reason}
    asked = load("rate_alignment", identity.language).messages(role=identity.name, data=data)
    return Alignment(reason, (await rate(judge, asked, low=LOW, high=HIGH)).value)
