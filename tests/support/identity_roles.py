"""Ada with a chronicle and an office, a chat model that plays all parts of ID-RAG by a script, and its turns."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.prompts import filled, load
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library
from dramaturg.workflows.id_rag import IdRagContext, build

from fakes import ScriptedChatModel
from roles import fenced, run_settings, small_role, write_memories

Answer = str | Exception | Callable[[str], str | Exception]

KEEPER, LIGHT, SILENCE, STORMS, CALM = (
    "Ada Quill is by profession keeper of the light.",
    "Ada Quill holds dear a light that never fails.",
    "Ada Quill holds dear silence.",
    "Ada Quill likes storms.",
    "Ada Quill fears a calm sea.",
)
"""What her chronicle says, line by line; the first two are core."""
STAY, WRITE = "The watch must not: leave the lamp at night.", "The watch must: log every ship."
WATCH = """triples:
- {subject: The watch, relation: must_not, object: leave the lamp at night, kind: rule}
- {subject: The watch, relation: must, object: log every ship, kind: rule}
"""
PARTS = {
    "make_plan": "plan",
    "query_identity": "query",
    "respond_from_identity": "reply",
    "take_action": "deed",
    "choose_option": "choice",
    "weigh_action": "weighed",
    "contradicts": "contradicts",
    "why_contradicts": "why",
    "decline": "declined",
    "infer_identity": "inferred",
    "feel_progress": "felt",
    "reflect_identity": "reflected",
    "summarize": "summary",
    "self_contained": "understood",
}
THREAD: Any = {"configurable": {"thread_id": "talk"}}
PERCEPTS = {"scene", "observations", "options", "now", "episodes"}
"""What a decision is given beside its question; the rest are settings."""


def sought(*high: str, medium: Sequence[str] = (), keywords: Sequence[str] = ()) -> str:
    """A search strategy as a model writes it."""
    return json.dumps({"high_priority": high, "medium_priority": medium, "keywords": keywords})


def weighed(statement: int, reason: str = "it denies it") -> str:
    """What the gate finds: the number of the statement that is contradicted."""
    return json.dumps({"reason": reason, "statement": statement})


def finding(thing: str, replaces: int = 0, relation: str = "likes", **given: Any) -> dict[str, Any]:
    """What a turn tells of her."""
    told = {"evidence": "She says so.", "relation": relation, "object": thing, "kind": "preference"}
    return {**told, "salience": 9, "confidence": 0.9, "replaces": replaces, **given}


def found(*findings: dict[str, Any]) -> str:
    """An answer with these findings."""
    return json.dumps({"findings": findings})


USUAL: dict[str, Answer] = {
    "plan": "She means to trim the lamp.",
    "query": sought("values"),
    "reply": "I keep the light.",
    "deed": "Ada Quill trims the lamp.",
    "choice": "1",
    "weighed": weighed(0),
    "contradicts": "yes",  # the line fits the statement
    "why": "It denies it.",
    "declined": "I shall do no such thing.",
    "inferred": "She keeps a light.",
    "felt": "She is content.",
    "reflected": found(),
    "summary": "They spoke of the light.",
}


def ada(library: Path, *, chronicle: bool = True) -> Path:
    """Put Ada into a library, with an office `watch`; return her folder."""
    small_role(library)
    write_memories(library / "ada", ())
    if not chronicle:
        (library / "ada" / "chronicle.yaml").unlink()
    watch = Library(library).create("watch", RoleCard(name="The watch"))
    (watch.root / "chronicle.yaml").write_text(WATCH, encoding="utf-8")
    return library / "ada"


def decider(**parts: Answer) -> ScriptedChatModel:
    """Play all parts: say what is given for a part, and else the usual."""
    script = {**USUAL, **parts}

    def answer(messages: list[BaseMessage]) -> str | Exception:
        part, text = asked(messages)
        said = script.get(part, lambda text: fenced("question", text))  # what stands alone is said again
        return said(text) if callable(said) else said

    return ScriptedChatModel(reply=answer)


@cache
def endings() -> tuple[tuple[str, str], ...]:
    """How the prompt of each part ends, in every language."""
    values = {"role": "Ada Quill", "limits": "", "sentences": 6}
    return tuple(
        (filled(load(name, language).sections[-1][1].splitlines()[-1], values), part)
        for name, part in PARTS.items()
        for language in ("en", "zh", "ko")
    )


def asked(messages: Sequence[BaseMessage]) -> tuple[str, str]:
    """Which part a prompt is for, and what it asks."""
    for message in reversed(messages):
        for ending, part in endings():
            if message.type == "human" and message.text.endswith(ending):
                return part, message.text
    raise AssertionError(messages)


def shown(model: ScriptedChatModel, part: str) -> list[str]:
    """What a model was asked for a part, call by call."""
    return [text for kind, text in (asked(call.messages) for call in model.calls) if kind == part]


def counted(model: ScriptedChatModel) -> dict[str, int]:
    """How often a model was asked for each part."""
    return dict(Counter(asked(call.messages)[0] for call in model.calls))


def in_turn(*answers: str | Exception) -> Callable[[str], str | Exception]:
    """Answers one after the other; the last one from then on."""
    left = list(answers)
    return lambda text: left.pop(0) if len(left) > 1 else left[0]


def context(role: Path, model: Any, /, **settings: Any) -> IdRagContext:
    """How a decision is made."""
    return IdRagContext(**run_settings(role.parent, model, **settings))


async def take(
    role: Path,
    model: ScriptedChatModel,
    /,
    question: str | HumanMessage = "Who are you?",
    saver: BaseCheckpointSaver[Any] | None = None,
    **given: Any,
) -> Any:
    """Take a turn or make a decision, on the thread of a saver if there is one; give what comes of it."""
    percepts = {name: value for name, value in given.items() if name in PERCEPTS}
    settings = {name: value for name, value in given.items() if name not in PERCEPTS}
    asks = question if isinstance(question, HumanMessage) else HumanMessage(question)
    return await run(role, model, saver or InMemorySaver(), {"messages": [asks], **percepts}, **settings)


async def run(role: Path, model: Any, saver: BaseCheckpointSaver[Any], given: Any, /, **settings: Any) -> Any:
    """Run the graph on the thread with an input, a command, or None to go on."""
    return await build().compile(saver).ainvoke(given, THREAD, context=context(role, model, **settings))


async def state_of(saver: BaseCheckpointSaver[Any]) -> dict[str, Any]:
    """What is kept of a thread."""
    return dict((await build().compile(saver).aget_state(THREAD)).values)


def as_json(value: Any) -> Any:
    """What is left of a value in a file of JSON."""
    return json.loads(json.dumps(value, allow_nan=False))
