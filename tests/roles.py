"""A small role, and a chat model that plays all parts of AMADEUS by a script."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage

from dramaturg.stores.library import Library
from dramaturg.stores.role_files import RoleCard

from fakes import ScriptedChatModel

LIFE = """# Ada Quill

Ada Quill keeps the lighthouse of Gull Rock and has kept it for thirty years.

## Work

### The lamp

She trims the lamp at dusk and at midnight, and never once has it gone out.

### The log

Every ship that passes is written into the log with its name and the hour.

## People

Her brother Tom sails the mail boat and brings flour and letters on Fridays.

She distrusts the harbour master, who once sold the old lamp behind her back.

## Nature

Storms make her cheerful; a calm sea makes her uneasy and short with visitors.
"""

FINDINGS = """{"belief_and_value": [{"attribute": "Ada holds that a light must never fail.", "passage": 1}],
"psychological_traits": [{"attribute": "Ada is cheerful in storms.", "passage": 1}]}"""


class WordEmbeddings(Embeddings):
    """A bag of hashed words: texts that share words are near each other."""

    model = "words"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = np.full(1024, 0.001)
        for word in re.findall(r"\w+", text.lower()):
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 1024] += 1
        return (vector / np.linalg.norm(vector)).tolist()


def small_role(library: Path, text: str = LIFE, role: str = "ada") -> None:
    """Put Ada into a library."""
    made = Library(library).create(role, RoleCard(name="Ada Quill", language="en", profile="A keeper of few words."))
    (made.root / "persona" / "life.md").write_text(text, encoding="utf-8")


def actor(
    verdict: Callable[[str], bool] = lambda passage: True,
    findings: str = FINDINGS,
    reply: str | Exception = "I keep the light.",
) -> ScriptedChatModel:
    """Judge by what `verdict` says of a passage, extract `findings`, and reply with `reply`."""

    def answer(messages: list[BaseMessage]) -> str | Exception:
        text = said(messages)
        if "<passage>" in text:
            return '{"answer": "yes"}' if verdict(fenced("passage", text)) else '{"answer": "no"}'
        return findings if "<passages>" in text else reply

    return ScriptedChatModel(reply=answer)


def said(messages: list[BaseMessage]) -> str:
    """All that a model is shown."""
    return "\n".join(message.text for message in messages)


def fenced(name: str, text: str) -> str:
    """What stands between a prompt's tags."""
    found = re.search(rf"<{name}>\n(.*?)\n</{name}>", text, re.DOTALL)
    return found.group(1) if found else ""


def run_settings(library: Path, model: Any, **settings: Any) -> dict[str, Any]:
    """What a context is made of in a test."""
    return {
        "role": "ada",
        "library": str(library),
        "chat_model": model,
        "embedding_model": WordEmbeddings(),
        **settings,
    }
