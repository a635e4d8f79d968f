"""What was said, remembered and answered is its owner's alone, and nothing beside it is a link to elsewhere (S11)."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dramaturg.conversations.opening import open_conversation
from dramaturg.models.answer_cache import open_answers
from dramaturg.stores.errors import StorageError
from dramaturg.testing import ScriptedChatModel, WordEmbeddings, write_role
from dramaturg.workflows.emotional_rag import EmotionalRagContext

from commands import Command

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has other rights.")


@pytest.fixture(autouse=True)
def open_handed() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def context(library: Path) -> EmotionalRagContext:
    return EmotionalRagContext(
        library=str(library), role="ada", chat_model=ScriptedChatModel(), embedding_model=WordEmbeddings()
    )


async def talked(library: Path) -> None:
    async with open_conversation("emotional-rag", context(library), "t") as talk:
        await talk.take_turn("Do storms frighten you?")


def rights(path: Path) -> str:
    return oct(stat.S_IMODE(path.lstat().st_mode))


def open_to_others(folder: Path) -> list[str]:
    found = [path for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077]
    return [f"{path.relative_to(folder.parent)} {rights(path)}" for path in found]


async def test_conversations_and_memories_are_their_owners(tmp_path: Path) -> None:
    write_role(tmp_path)
    await talked(tmp_path)
    folder = tmp_path / ".conversations"
    assert open_to_others(folder) == []
    assert any(path.name.endswith(".memories.sqlite") for path in folder.iterdir())


@pytest.mark.parametrize(("of_folders", "of_files"), [(0o777, 0o666), (0o750, 0o640)])
async def test_files_of_an_earlier_version_are_closed_when_they_are_opened(
    tmp_path: Path, of_folders: int, of_files: int
) -> None:
    write_role(tmp_path)
    await talked(tmp_path)
    folder = tmp_path / ".conversations"
    for path in (folder, *folder.rglob("*")):
        path.chmod(of_folders if path.is_dir() else of_files)
    await talked(tmp_path)
    assert [one for one in open_to_others(folder) if ".lock " not in one] == []


async def test_kept_answers_are_their_owners(tmp_path: Path) -> None:
    await open_answers(tmp_path / "cache" / "answers.sqlite").set("k", "v")
    assert open_to_others(tmp_path / "cache") == []


def test_an_export_is_its_owners(run: Command, tmp_path: Path) -> None:
    run("ask", "ada", "Who?", "--thread", "t")
    code, _, _ = run("export", "ada", str(tmp_path / "talk.jsonl"), "--thread", "t")
    assert (code, rights(tmp_path / "talk.jsonl")) == (0, "0o600")


@pytest.mark.parametrize("suffix", [".sqlite", ".memories.sqlite", ".locks"])
def test_a_link_beside_conversations_is_refused(tmp_path: Path, suffix: str) -> None:
    library, elsewhere = tmp_path / "library", tmp_path / "elsewhere"
    write_role(library)
    asyncio.run(talked(library))
    folder = library / ".conversations"
    there = folder / f"ada{suffix}"
    there.rename(elsewhere)
    there.symlink_to(elsewhere)
    before = elsewhere.read_bytes() if elsewhere.is_file() else sorted(elsewhere.iterdir())
    with pytest.raises(StorageError, match="link"):
        asyncio.run(talked(library))
    assert before == (elsewhere.read_bytes() if elsewhere.is_file() else sorted(elsewhere.iterdir()))


async def test_a_thread_that_is_erased_leaves_no_lock(tmp_path: Path) -> None:
    write_role(tmp_path)
    await talked(tmp_path)
    async with open_conversation("emotional-rag", context(tmp_path), "t") as talk:
        await talk.erase()
    assert [*(tmp_path / ".conversations" / "ada.locks").iterdir()] == []
