"""Turns that are taken in processes of their own, and what they acknowledged."""

import asyncio
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from dramaturg.conversations.opening import open_conversation
from dramaturg.conversations.turns import Turn
from dramaturg.workflows.methods import context_type

from roles import run_settings, small_role
from scope_roles import MOON, player, scoped

THREAD = "tea"


def prepared(folder: Path, method: str, turns: int) -> Path:
    """A library with one role that is indexed, and a conversation with some turns."""
    small_role(folder)
    take(folder, method, (f"m-{number}" for number in range(1, turns + 1)))
    return folder


def take(folder: Path, method: str, messages: Iterable[str]) -> None:
    """Take a turn for each message id, and write down which were acknowledged."""
    asyncio.run(taken(folder, method, messages))


def go_on(folder: Path, method: str, turns: int) -> None:
    """Take turns after those that are there."""
    done = len(history(folder, method))
    take(folder, method, (f"m-{done + number}" for number in range(1, turns + 1)))


async def taken(folder: Path, method: str, messages: Iterable[str]) -> None:
    async with open_conversation(method, context(folder, method), THREAD, patience=600) as talk:
        for message in messages:
            await talk.take_turn(HumanMessage(f"Question {message}?", id=message))
            acknowledge(folder, message)


def acknowledge(folder: Path, message: str) -> None:
    """Write down that a message was answered, for the test: a disk that is full here is nothing of the turn's."""
    with suppress(OSError), (folder / "acknowledged.txt").open("a") as file:
        file.write(f"<{message}>")


def acknowledged(folder: Path) -> list[str]:
    """The ids of the messages that were answered; one that a crash has cut off is not read."""
    return re.findall(r"<([^<>]+)>", (folder / "acknowledged.txt").read_text())


def history(folder: Path, method: str) -> list[Turn]:
    """The turns that a new process finds."""

    async def read() -> list[Turn]:
        async with open_conversation(method, context(folder, method), THREAD) as talk:
            return await talk.history()

    return asyncio.run(read())


def remembered(folder: Path, method: str) -> tuple[list[str], list[str]]:
    """The ids of the memories in the state that a new process finds, and those of them that it can read."""

    async def read() -> tuple[list[str], list[str]]:
        async with open_conversation(method, context(folder, method), THREAD) as talk:
            ids = (await talk.values()).get("remembered", [])
            there = {one.id for one in await talk.memories()}
            return ids, [one for one in ids if one in there]

    return asyncio.run(read())


def context(folder: Path, method: str, **settings: Any) -> Any:
    return context_type(method)(**run_settings(folder, player(MOON, scoped("Tom")), **settings))
