"""A talk that is erased, killed or refused at every write: it is still there to be erased, or no byte of it is."""

import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from dramaturg.conversations.opening import open_conversation
from dramaturg.conversations.titles import ListedTalk, talks_of
from dramaturg.stores.errors import StorageError
from dramaturg.workflows.methods import context_type

from crash_points import SOME_OR_ALL, Crash, failures, kills
from fakes import ScriptedChatModel
from roles import run_settings, small_role

CODE = "zebulon9417"
SECRET = f"The word that opens my safe is {CODE}, and nobody else may ever hear it."
ASKED = "What is the word that opens my safe?"
METHOD = "vanilla"


def context(folder: Path) -> Any:
    model = ScriptedChatModel(reply=lambda _: "I see.")
    return context_type(METHOD)(**run_settings(folder, model), known_as="tom")


async def talked(folder: Path) -> None:
    """A talk with a title, and another of the same person in which it has come back."""
    for thread, texts in (("tea", [SECRET, "Who are you?"]), ("dinner", [ASKED, "And now?"])):
        async with open_conversation(METHOD, context(folder), thread) as talk:
            for text in texts:
                await talk.take_turn(text)
            await talk.set_label(f"Of {CODE}" if thread == "tea" else "Dinner", pinned=True)


def erase(folder: Path) -> None:
    """Erase the talk where it is listed, as a person does."""

    async def erased() -> None:
        if "tea" in {one.thread for one in await talks_of(context(folder))}:
            async with open_conversation(METHOD, context(folder), "tea") as talk:
                await talk.erase()

    asyncio.run(erased())


def listed(folder: Path) -> dict[str, ListedTalk]:
    return {one.thread: one for one in asyncio.run(talks_of(context(folder)))}


def everything(folder: Path) -> bytes:
    """All bytes, and all that the states of the talks hold, read: on the disk they are packed."""

    async def read() -> str:
        async with open_conversation(METHOD, context(folder), "dinner") as talk:
            return "\n".join([repr(one) async for one in talk.saver.alist(None)])

    states = asyncio.run(read()).casefold().encode()
    return states + b"".join(path.read_bytes().lower() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("talks")
    small_role(folder)
    asyncio.run(talked(folder))
    assert everything(folder).count(CODE.encode()) > 6
    return folder


def gone_or_there(crash: Crash) -> None:
    """Where a list does not have it any more, nothing else has; and where it has, it is erased from there."""
    there = listed(crash.folder)  # what was begun in a file is taken back when that is opened
    assert "tea" in there or CODE.encode() not in everything(crash.folder)
    erase(crash.folder)
    assert CODE.encode() not in everything(crash.folder), crash
    (left,) = listed(crash.folder).values()
    assert (left.thread, left.title, left.pinned, left.turns) == ("dinner", "Dinner", True, 2)


@SOME_OR_ALL
def test_a_talk_that_is_erased_and_killed_at_any_write_is_gone_or_there_to_be_erased(
    before: Path, tmp_path: Path, most: int | None
) -> None:
    count = 0
    for crash in kills(erase, before, tmp_path, most):
        gone_or_there(crash)
        count += 1
    assert count >= (most or 8)


@SOME_OR_ALL
def test_a_disk_that_is_full_at_any_write_leaves_a_talk_gone_or_there(
    before: Path, tmp_path: Path, most: int | None
) -> None:
    for crash in failures(erase, before, tmp_path, errno.ENOSPC, most):
        assert crash.error is None or isinstance(crash.error, StorageError)
        gone_or_there(crash)
