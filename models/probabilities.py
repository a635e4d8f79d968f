"""What a server says about the probabilities of the first token of an answer."""

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage

LEAST_MASS = 0.05  # of the named answers together: with less, the model is about to say something else
AROUND = " \t\r\n\"'`*_.,:;!?()[]{}<>。，：、！？「」"


class Undecided(ValueError):
    """The first token does not tell the answer."""


class NoProbabilities(Undecided):
    """The server leaves the probabilities out."""


def first_token(message: AIMessage) -> dict[str, float]:
    """Probabilities of the first token, summed over spellings: " Yes", "YES" and "yes." are one.

    Raises:
        NoProbabilities: the server gave none, or not of alternatives.
    """
    found: dict[str, float] = {}
    for token, logprob in alternatives(message.response_metadata):
        word = normal(token)
        if word:
            found[word] = found.get(word, 0.0) + math.exp(min(logprob, 0.0))
    if not found:
        raise NoProbabilities
    return found


def alternatives(metadata: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Tokens with their log-probabilities, from what a server sent, which may be anything."""
    match metadata.get("logprobs"):
        case {"content": [{"top_logprobs": [_, _, *_] as top}, *_]}:
            for one in top:
                match one:
                    case {"token": str(token), "logprob": float() | int() as logprob} if not math.isnan(logprob):
                        yield token, float(logprob)


def normal(token: str) -> str:
    """One spelling for a word: compatibility forms, case, spaces and punctuation do not count."""
    return unicodedata.normalize("NFKC", token).strip(AROUND).casefold()


def begins(token: str, words: Sequence[str]) -> bool:
    """Whether a token is a word, or the beginning of one."""
    return any(normal(word).startswith(token) for word in words)


def enough(mass: float) -> float:
    """Give back the mass of the named answers.

    Raises:
        Undecided: it is less than 0.05.
    """
    if not mass >= LEAST_MASS:
        raise Undecided
    return mass
