"""A chat model that plays all parts of the simulation by a script, the same for the same questions."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from langchain_core.messages import BaseMessage

from dramaturg.prompts import load
from dramaturg.testing import Call
from dramaturg.workflows.riverbend import graph
from dramaturg.workflows.riverbend_agents import RiverbendContext

from fakes import ScriptedChatModel
from roles import WordEmbeddings, fenced, said

PARTS = (
    *("make_plan", "query_identity", "infer_identity", "feel_progress", "take_action", "choose_option"),
    *("resolve_action", "say_line", "contradicts", "weigh_action", "why_contradicts", "reflect_identity"),
)
NAMES = ("Alice", "Bob", "Charlie", "Dorothy", "Ellen")
BY_ALICE = "Alice asks Dorothy at the bridge what the town needs."


def part(text: str) -> tuple[str, str]:
    """Which prompt a question comes from, and who it is about, by the prompt's last line."""
    for name in PARTS:
        last = load(name, "en").sections[-1][1].splitlines()[-1]
        pattern = re.escape(Template(last).safe_substitute(role="\0", user="\1", limits=""))
        if found := re.search(
            pattern.replace("\0", r"(?P<role>\w+)", 1).replace("\0", r"\w+").replace("\1", r"\w+"), text
        ):
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
    "make_plan": lambda role, _: f"{role} means to walk.",
    "infer_identity": lambda role, _: f"{role} lives in Riverbend.",
    "feel_progress": lambda role, _: f"{role} feels well.",
    "take_action": deed,
    "choose_option": "1",
    "resolve_action": outcome,
    "say_line": lambda role, _: json.dumps({"line": f"I am {role}.", "leaves": False}),
    "contradicts": "yes",  # the line fits the statement
    "weigh_action": json.dumps({"reason": "it fits", "statement": 0}),
    "why_contradicts": "It does not fit.",
    "reflect_identity": '{"findings": []}',
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


def played(library: Path, model: Any = None, **settings: Any) -> Any:
    """Play a simulation without checkpoints; give what comes of it."""
    context = RiverbendContext(**world_settings(library, model or townspeople(), **settings))
    return asyncio.run(graph.ainvoke({}, context=context))


def of_kind(log: Sequence[Mapping[str, Any]], *kinds: str) -> list[Any]:
    """The events of some kinds."""
    return [one for one in log if one["kind"] in kinds]


def timeless(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A log without the seconds, which differ from run to run."""
    return [{name: value for name, value in one.items() if name != "seconds"} for one in log]


def asked(model: ScriptedChatModel, name: str, role: str = "") -> list[Call]:
    """The calls of one part, and of one person if one is named, in their order."""
    parts = [(call, part(call.text)) for call in model.calls]
    return [call for call, found in parts if found[0] == name and role in ("", found[1])]


def by_hour(deed: str) -> Callable[[str, str], str]:
    """A deed that tells who does it and when, so that no two are the same."""
    return lambda role, text: f"{role} {deed} at {hour(text)}."


def hour(text: str) -> str:
    """The hour that a prompt says it is."""
    return fenced("now", text)[-5:]


def in_turn(*answers: str | Exception) -> Callable[[str, str], str | Exception]:
    """Answers one after the other; the last one from then on."""
    left = list(answers)
    return lambda *_: left.pop(0) if len(left) > 1 else left[0]


def comes(happens: str = "It went well.", *noticed: str, talks_with: str = "nobody", importance: int = 4) -> str:
    """What the game master answers."""
    told = {"happens": happens, "noticed_by": noticed, "talks_with": talks_with, "importance": importance}
    return json.dumps(told)
