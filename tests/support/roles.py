"""A small role, and a chat model that plays all parts of AMADEUS by a script."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from dramaturg.testing import WordEmbeddings, write_role
from dramaturg.testing.role import DIALOGUE, LIFE, MEMORIES, write_lines

from fakes import ScriptedChatModel

FINDINGS = """{"belief_and_value": [{"attribute": "Ada holds that a light must never fail.", "passage": 1}],
"psychological_traits": [{"attribute": "Ada is cheerful in storms.", "passage": 1}]}"""


EMOTIONS = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")


def mood(**scores: int) -> str:
    """A model's answer about a mood: these scores, and 1 for the others."""
    return json.dumps({name: {"reason": "so it seems", "score": scores.get(name, 1)} for name in EMOTIONS})


def small_role(library: Path, text: str = LIFE, role: str = "ada") -> None:
    """Put Ada into a library."""
    write_role(library, role, persona=text)


def write_memories(
    role: Path,
    memories: Iterable[Mapping[str, Any]] = MEMORIES,
    dialogue: Iterable[Mapping[str, Any]] = DIALOGUE,
) -> None:
    """Put memories into a role's folder."""
    (role / "dialogues").mkdir(exist_ok=True)
    write_lines(role / "memories.jsonl", memories)
    write_lines(role / "dialogues" / "scenes.jsonl", dialogue)


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
        if "<events>" in text:
            return '{"record": "He brings me what I need."}'
        if "In words that can be understood alone" in text:
            return fenced("question", text)
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
