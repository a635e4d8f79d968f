"""Casting that is killed or refused at any write: no draft is lost or doubled, and files of the role are whole."""

import asyncio
import errno
from pathlib import Path

import pytest

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import StorageError
from dramaturg.stores.library_folder import Library
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import CastDraft
from dramaturg.stores.texts.reading import read_sent
from dramaturg.workflows.cast import CastContext, graph

from crash_points import SOME_OR_ALL, failures, kills

STORY = b"""\
# The Lamp

## One

Ada Brandt kept the light.

"The boat is late," said Ada.

"It will come," said Tom Reed.

"So you say," said Ada.

"I do," said Tom Reed.
"""
KINDS = {"card": 3, "persona": 3, "dialogues": 1, "chronicle": 1}


def cast(folder: Path) -> None:
    """Put the story beside the role, and draft what rules find."""
    CastDraft(folder / "ada").add_texts([read_sent("lamp.md", STORY)])
    context = CastContext(role="ada", library=str(folder), asks=False)
    asyncio.run(graph.ainvoke({}, context=context))


def accept(folder: Path) -> None:
    """Take all that waits over."""
    draft = CastDraft(folder / "ada")
    draft.accept({kind: draft.items(kind) for kind in draft.counts()})


def taken(role: Role) -> dict[str, int]:
    """What the files of the role hold."""
    paragraphs = sum(text.text.count(", line ") for text in role.documents())
    found = {
        "card": len(role.card.aliases) + bool(role.card.profile) + len(role.card.greetings),
        "persona": paragraphs,
        "dialogues": len({line.scene for line in role.dialogues()}),
        "chronicle": len(role.chronicle().triples),
    }
    return {kind: number for kind, number in found.items() if number}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cast")
    Library(folder).create("ada", RoleCard(name="Ada Brandt"))
    return folder


@pytest.fixture(scope="module")
def drafted(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drafted")
    Library(folder).create("ada", RoleCard(name="Ada Brandt"))
    cast(folder)
    assert CastDraft(folder / "ada").counts() == KINDS
    return folder


@SOME_OR_ALL
def test_a_run_that_is_killed_is_gone_on_with_and_comes_to_the_same(
    empty: Path, tmp_path: Path, most: int | None
) -> None:
    points = 0
    for crash in kills(cast, empty, tmp_path, most):
        cast(crash.folder)
        assert CastDraft(crash.folder / "ada").counts() == KINDS
        points += 1
    assert points >= (most or 5)


@SOME_OR_ALL
def test_what_is_accepted_is_taken_over_whole_or_waits(drafted: Path, tmp_path: Path, most: int | None) -> None:
    for crash in kills(accept, drafted, tmp_path, most):
        role = Role(crash.folder / "ada")
        role.documents()  # who reads a role finishes a change that has begun
        waiting = CastDraft(role.root).counts()
        assert (taken(role), waiting) in (({}, KINDS), (KINDS, {}))
        accept(crash.folder)
        assert (taken(role), CastDraft(role.root).counts()) == (KINDS, {})


@SOME_OR_ALL
def test_a_full_disk_is_said_and_nothing_is_lost(drafted: Path, tmp_path: Path, most: int | None) -> None:
    for crash in failures(accept, drafted, tmp_path, errno.ENOSPC, most):
        assert crash.error is None or isinstance(crash.error, StorageError)
        accept(crash.folder)
        assert taken(Role(crash.folder / "ada")) == KINDS
