"""What a turn leaves behind on the disk, in memory and in a database, and which card of the role it goes by."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from all_methods import whole_cast, whole_role

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.stores.library import Library
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows.methods import context_type

from kept_forms import nothing_more_kept
from roles import run_settings

TALKS = ("amadeus", "role-rag", "emotional-rag", "drmr", "id-rag")


@pytest.fixture(params=TALKS)
async def talk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Conversation]:
    """A conversation of each method whose window is full."""
    whole_role(tmp_path)
    kind: Any = context_type(request.param)
    context = kind(**run_settings(tmp_path, whole_cast()), window=4, summary_tokens=0)
    async with open_conversation(request.param, context, "tea") as talk:
        for number in range(3):
            await talk.take_turn(f"Who is Tom? ({number})")
        yield talk


async def checkpoints(talk: Conversation) -> int:
    """How many the conversation has on the disk."""
    return len([one async for one in talk.saver.alist({"configurable": {"thread_id": "tea"}})])


@pytest.mark.sample(2)
async def test_a_turn_leaves_one_checkpoint(talk: Conversation) -> None:
    before = await checkpoints(talk)
    for number in range(3):
        await talk.take_turn(f"And Mary? ({number})")
    assert await checkpoints(talk) == before + 3


@pytest.mark.sample(2)
async def test_a_turn_leaves_no_form_of_an_answer_in_memory(talk: Conversation) -> None:
    await talk.take_turn("And Mary?")
    with nothing_more_kept():
        await talk.take_turn("And Mary?")


@pytest.mark.parametrize("method", ["emotional-rag", "drmr"])
async def test_a_turn_in_postgres_takes_one_connection(
    method: str, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_role(tmp_path / "roles")
    library = SharedLibrary(postgres, tmp_path / "cache")
    library.replace({"ada": Library(tmp_path / "roles").contents("ada")})
    kind: Any = context_type(method)
    context = kind(**run_settings(tmp_path, whole_cast()) | {"library": library}, window=4, summary_tokens=0)
    opened = list[str]()

    def noting(owner: Any) -> None:
        connect = owner.connect

        def call(*given: Any, **named: Any) -> Any:
            opened.append(owner.__name__)
            return connect(*given, **named)

        monkeypatch.setattr(owner, "connect", call)

    async with open_conversation(method, context, "tea") as talk:
        for number in range(3):
            await talk.take_turn(f"Who is Tom? ({number})")
        for owner in (psycopg.Connection, psycopg.AsyncConnection):
            noting(owner)
        await talk.take_turn("And Mary?")
    library.close()
    assert len(opened) == 1  # the lock of the turn


@pytest.mark.sample(2)
async def test_a_card_that_is_changed_in_a_turn_is_that_of_the_next(talk: Conversation) -> None:
    model: Any = talk.context.chat_model
    card = Path(str(talk.context.library)) / "ada" / "role.yaml"
    plain, renamed = model.reply, card.read_text().replace("Ada", "Adelaide")

    def meanwhile(messages: Any) -> Any:
        card.write_text(renamed)
        return plain(messages)

    asked = len(model.calls)
    model.reply = meanwhile
    await talk.take_turn("And Mary?")
    assert len(model.calls) > asked
    assert not any("Adelaide" in call.text for call in model.calls[asked:])
    asked = len(model.calls)
    await talk.take_turn("And Mary?")
    assert any("Adelaide" in call.text for call in model.calls[asked:])
