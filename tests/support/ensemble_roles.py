"""A chat model that plays all parts of the ensemble by a script, and turns of the ensemble."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.workflows.ensemble import EnsembleContext, build

import identity_roles
import scope_roles
from fakes import ScriptedChatModel
from roles import run_settings, small_role
from scope_roles import Answer, judged, remembered, scoped

OWN_TO_ID_RAG = ("query", "reflected", "declined", "weighed")
USUAL = {**scope_roles.USUAL, **{part: identity_roles.USUAL[part] for part in OWN_TO_ID_RAG}}


def asked(messages: Sequence[BaseMessage]) -> tuple[str, str]:
    """Which part a prompt is for, and what it asks."""
    for message in reversed(messages):
        for ending, part in identity_roles.endings():
            if part in OWN_TO_ID_RAG and message.type == "human" and message.text.endswith(ending):
                return part, message.text
        if "high_priority" in message.text and message.type == "human":  # of another role than Ada
            return "query", message.text
    return scope_roles.asked(messages)


def cast(*entities: dict[str, Any], **parts: Answer) -> ScriptedChatModel:
    """Play all parts: name these entities, say what is given for a part, and else the usual."""
    script = {**USUAL, "scope": judged(*(entities or (scoped("Tom"),))), **parts}

    def answer(messages: list[BaseMessage]) -> str | Exception:
        part, text = asked(messages)
        said = script[part](text) if callable(script[part]) else script[part]
        return remembered(said) if part == "record" and isinstance(said, str) else said

    return ScriptedChatModel(reply=answer)


def in_turn(*answers: str | Exception) -> Answer:
    """These answers one after the other, and the last one ever after."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def shown(model: ScriptedChatModel, part: str) -> list[str]:
    """What a model was asked for a part, call by call."""
    return [text for kind, text in (asked(call.messages) for call in model.calls) if kind == part]


class Talk:
    """A conversation whose turns may each have a model and settings of their own."""

    def __init__(self, library: Path, saver: BaseCheckpointSaver[Any] | None = None) -> None:
        if not (library / "ada").exists():
            small_role(library)
        self.library = library
        self.graph: Any = build().compile(saver or InMemorySaver(), store=InMemoryStore())
        self.config: Any = {"configurable": {"thread_id": "t"}}

    async def turn(self, model: ScriptedChatModel, question: str = "Do storms frighten you?", **settings: Any) -> Any:
        given = {"messages": [HumanMessage(question)]}
        return await self.graph.ainvoke(given, self.config, context=self.context(model, **settings))

    async def steps(self, model: ScriptedChatModel, question: str = "Storms?", **settings: Any) -> list[str]:
        """The nodes of a turn, in the order in which they ended."""
        given, context = {"messages": [HumanMessage(question)]}, self.context(model, **settings)
        return [one async for one in self._steps(given, context)]

    async def _steps(self, given: Any, context: EnsembleContext) -> AsyncIterator[str]:
        async for part in self.graph.astream(given, self.config, context=context, stream_mode="updates"):
            for node in part:
                yield node

    def context(self, model: ScriptedChatModel, **settings: Any) -> EnsembleContext:
        return EnsembleContext(**run_settings(self.library, model) | settings)

    async def values(self) -> dict[str, Any]:
        return dict((await self.graph.aget_state(self.config)).values)
