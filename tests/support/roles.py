"""A small role, and a chat model that plays all parts of AMADEUS by a script."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library

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

MEMORIES = (
    {"text": "The lamp burned all night in the great storm, and I sang to it.", "when": "1841"},
    {"text": "They drowned within sight of my lamp, and I could do nothing but weep.", "when": "1843"},
    {"question": "Do you trust the harbour master?", "answer": "He sold my old lamp. I spit on his name."},
)
CHRONICLE = """triples:
- {subject: Ada Quill, relation: profession, object: keeper of the light, kind: experience, core: true}
- {subject: Ada Quill, relation: values, object: a light that never fails, kind: value, core: true}
- {subject: Ada Quill, relation: values, object: silence, kind: value}
- {subject: Ada Quill, relation: likes, object: storms, kind: preference}
- {subject: Ada Quill, relation: fears, object: a calm sea, kind: trait}
"""
DIALOGUE = (
    {"scene": "friday", "speaker": "Tom", "text": "Flour, letters, and a parcel from Leith."},
    {"scene": "friday", "speaker": "Ada Quill", "text": "A parcel! Give it here, I have waited a month."},
    {"scene": "friday", "speaker": "Tom", "text": "It is heavy."},
    {"scene": "calm", "speaker": "Ada Quill", "text": "Not a breath of wind. I do not like it."},
)

FINDINGS = """{"belief_and_value": [{"attribute": "Ada holds that a light must never fail.", "passage": 1}],
"psychological_traits": [{"attribute": "Ada is cheerful in storms.", "passage": 1}]}"""


EMOTIONS = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")


def mood(**scores: int) -> str:
    """A model's answer about a mood: these scores, and 1 for the others."""
    return json.dumps({name: {"reason": "so it seems", "score": scores.get(name, 1)} for name in EMOTIONS})


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
    (made.root / "chronicle.yaml").write_text(CHRONICLE, encoding="utf-8")
    write_memories(made.root)


def write_memories(
    role: Path,
    memories: Iterable[Mapping[str, Any]] = MEMORIES,
    dialogue: Iterable[Mapping[str, Any]] = DIALOGUE,
) -> None:
    """Put memories into a role's folder."""
    (role / "dialogues").mkdir(exist_ok=True)
    for path, lines in ((role / "memories.jsonl", memories), (role / "dialogues" / "scenes.jsonl", dialogue)):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def actor(
    verdict: Callable[[str], bool] = lambda passage: True,
    findings: str = FINDINGS,
    reply: str | Exception = "I keep the light.",
) -> ScriptedChatModel:
    """Judge by what `verdict` says of a passage, extract `findings`, and reply with `reply`."""

    def answer(messages: list[BaseMessage]) -> str | Exception:
        text = said(messages)
        if "<pair>" in text or "<line>" in text:
            return '{"reason": "so it seems", "score": 5}'
        if ("<memory>" in text and "<question>" not in text) or "<said>" in text:
            return mood(joy=7) if "sing" in text or "storm" in text.lower() else mood(sadness=7)
        if "<passage>" in text:
            return '{"answer": "yes"}' if verdict(fenced("passage", text)) else '{"answer": "no"}'
        return findings if "<passages>" in text else reply

    return ScriptedChatModel(reply=answer)


def said(messages: list[BaseMessage]) -> str:
    """All that a model is shown."""
    return "\n".join(message.text for message in messages)


def fenced(name: str, text: str) -> str:
    """What stands between a prompt's tags, the last ones: examples come before."""
    found = re.findall(rf"<{name}>\n(.*?)\n</{name}>", text, re.DOTALL)
    return str(found[-1]) if found else ""


def run_settings(library: Path, model: Any, **settings: Any) -> dict[str, Any]:
    """What a context is made of in a test."""
    return {
        "role": "ada",
        "library": str(library),
        "chat_model": model,
        "embedding_model": WordEmbeddings(),
        **settings,
    }
