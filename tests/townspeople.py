"""A chat model that plays all parts of the simulation by a script, the same for the same questions."""

import json
import re
from collections.abc import Mapping
from string import Template
from typing import Any

from langchain_core.messages import BaseMessage

from dramaturg.prompts import load

from fakes import ScriptedChatModel
from roles import WordEmbeddings, said

PARTS = (
    *("query_identity", "infer_identity", "feel_progress", "take_action", "choose_option"),
    *("resolve_action", "say_line", "contradicts", "weigh_action", "why_contradicts"),
)
NAMES = ("Alice", "Bob", "Charlie", "Dorothy", "Ellen")
BY_ALICE = "Alice asks Dorothy at the bridge what the town needs."


def part(text: str) -> tuple[str, str]:
    """Which prompt a question comes from, and who it is about, by the prompt's last line."""
    for name in PARTS:
        last = load(name, "en").sections[-1][1].splitlines()[-1]
        pattern = re.escape(Template(last).safe_substitute(role="\0", user="\1", limits=""))
        if found := re.search(pattern.replace("\0", r"(?P<role>\w+)", 1).replace("\0", r"\w+").replace("\1", r"\w+"), text):
            return name, found.groupdict().get("role", "")
    raise ValueError(text)


def deed(role: str, text: str) -> str:
    """What somebody does."""
    return BY_ALICE if role == "Alice" else f"{role} walks down Ferry Lane."


def outcome(_: str, text: str) -> str:
    """What comes of it: whom Alice asks has to answer."""
    spoken = BY_ALICE in text
    told = {"happens": "It went well.", "noticed_by": ["Ellen"] if spoken else [], "importance": 4}
    return json.dumps({**told, "talks_with": "Dorothy" if spoken else "nobody"})


USUAL: Mapping[str, Any] = {
    "query_identity": json.dumps({"high_priority": ["values"], "medium_priority": ["profession"], "keywords": []}),
    "infer_identity": lambda role, _: f"{role} lives in Riverbend.",
    "feel_progress": lambda role, _: f"{role} feels well.",
    "take_action": deed,
    "choose_option": "1",
    "resolve_action": outcome,
    "say_line": lambda role, _: json.dumps({"line": f"I am {role}.", "leaves": False}),
    "contradicts": "no",
    "weigh_action": json.dumps({"reason": "it fits", "statement": 0}),
    "why_contradicts": "It does not fit.",
}


def townspeople(**parts: Any) -> ScriptedChatModel:
    """Play all parts; a part is a text, an exception, or a function of who it is about and the question."""
    script = {**USUAL, **parts}

    def answer(messages: list[BaseMessage]) -> str | Exception:
        text = said(messages)
        name, role = part(text)
        given = script[name]
        answered: str | Exception = given(role, text) if callable(given) else given
        return answered

    return ScriptedChatModel(reply=answer)


def world_settings(library: Any, model: Any, **settings: Any) -> dict[str, Any]:
    """What the context of a simulation is made of in a test."""
    return {
        "library": str(library),
        "chat_model": model,
        "embedding_model": WordEmbeddings(),
        **settings,
    }
