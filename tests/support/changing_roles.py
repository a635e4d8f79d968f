"""Ada in ID-RAG, and a model that finds in what she says what she has become."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.workflows import id_rag
from dramaturg.workflows.id_rag import IdRagContext

from fakes import ScriptedChatModel
from roles import run_settings, said, small_role

KEEPER, SAILOR = "Ada Quill is by profession keeper of the light.", "Ada Quill is by profession a sailor."
QUERY = {"high_priority": ["values"], "medium_priority": [], "keywords": []}


def finding(thing: str, replaces: int = 0, relation: str = "profession") -> dict[str, Any]:
    """What a turn tells of her; statement 1, that she keeps the light, is core."""
    told = {"evidence": "She says so.", "relation": relation, "object": thing, "kind": "experience"}
    return {**told, "salience": 9, "confidence": 0.9, "replaces": replaces}


CORE, FREE = finding("a sailor", 1), finding("brandy", relation="likes")


def changing(*findings: dict[str, Any]) -> Callable[[list[BaseMessage]], str]:
    """Play every part; each turn tells the same of her."""

    def answer(messages: list[BaseMessage]) -> str:
        text = said(messages)
        if "high_priority" in text:
            return json.dumps(QUERY)
        if "salience" in text:
            return json.dumps({"findings": findings})
        return json.dumps({"reason": "so it seems", "statement": 0}) if "<statements>" in text else "I keep the light."

    return answer


def becoming(library: Path, *findings: dict[str, Any], **settings: Any) -> IdRagContext:
    """How turns are taken that may change her."""
    if not (library / "ada").exists():
        small_role(library)
    model = ScriptedChatModel(reply=changing(*(findings or (CORE, FREE))))
    return IdRagContext(**run_settings(library, model, **{"update": True, **settings}))


def changing_talk(saver: BaseCheckpointSaver[Any], context: IdRagContext) -> Conversation:
    """A conversation that may change her."""
    return Conversation(id_rag.build(), saver, context, "tea")


def take_waiting_turn(folder: Path) -> None:
    """Take a turn of a kept conversation that ends waiting."""

    async def take() -> None:
        async with open_conversation("id-rag", becoming(folder), "tea") as talk:
            await talk.take_turn(HumanMessage("Who are you?", id="m-1"))

    asyncio.run(take())


def approve_it(folder: Path) -> None:
    """Approve what a kept conversation waits for, if it does."""

    async def approve() -> None:
        async with open_conversation("id-rag", becoming(folder), "tea") as talk:
            if await talk.waiting():
                await talk.answer({"approved": [1]})

    asyncio.run(approve())


def what_is_kept(folder: Path) -> tuple[list[str | None], list[Any], list[str]]:
    """The replies of a kept conversation, what waits, and what she has become."""

    async def read() -> tuple[list[str | None], list[Any], list[str]]:
        async with open_conversation("id-rag", becoming(folder), "tea") as talk:
            return [turn.reply for turn in await talk.history()], await talk.waiting(), await became(talk)

    return asyncio.run(read())


async def became(talk: Conversation) -> list[str]:
    """What she has become in a conversation."""
    return [change["triple"]["object"] for change in (await talk.values()).get("identity_changes", [])]
