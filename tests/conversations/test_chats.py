"""A chat of SillyTavern becomes a conversation with its swipes as branches, and goes back as it was."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from wild_cards import lost

from dramaturg.conversations.chats import taken_in, written_out
from dramaturg.conversations.conversation import Conversation
from dramaturg.stores.formats.chats import Chat, read_chat, written_chat
from dramaturg.stores.saver.conversation_saver import ConversationSaver

from talks import Player, conversation

SHARED = os.environ.get("DRAMATURG_SHARED_DATA", "")
shared = pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")


def line(name: str, mes: str, *, user: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "is_user": user,
        "is_system": False,
        "send_date": "2026-01-01T00:00:00.000Z",
        "mes": mes,
        "extra": {"foreign": [mes]},
        **more,
    }


SWIPED = Chat(
    {"chat_metadata": {"integrity": "i-1", "foreign": {"kept": 1}}, "user_name": "unused", "character_name": "unused"},
    [
        line(
            "Ada", "*Ada waves.* Hello Jim.", swipes=["*{{char}} waves.* Hello {{user}}.", "Who is there?"], swipe_id=0
        ),
        line("Jim", "A hidden note.", is_system=True, user=True),
        line("Jim", "Who built the lamp?", user=True),
        line(
            "Ada", "Tom did.", swipes=["I forget.", "Tom did.", "Ask Tom."], swipe_id=1, swipe_info=[{"extra": {}}] * 3
        ),
        line("Jim", "And when?", user=True),
        line("Ada", "Long ago.", title=""),
        line("Jim", "Not answered yet.", user=True),
    ],
)


async def talk_of(chat: Chat, folder: Path, **how: Any) -> Conversation:
    talk = conversation(InMemorySaver(), folder, Player(), **how)
    await taken_in(talk, chat, ("Ada Quill", "ada", "Ada"))
    return talk


async def test_swipes_are_branches_and_what_is_shown_is_the_head(tmp_path: Path) -> None:
    talk = await talk_of(SWIPED, tmp_path)
    shown = [("", "*Ada waves.* Hello Jim."), ("Who built the lamp?", "Tom did."), ("And when?", "Long ago.")]
    assert [(turn.question, turn.reply) for turn in await talk.history()] == shown
    ends = {branch[-1].reply for branch in await talk.branches()}
    assert ends == {"Long ago.", "Who is there?", "I forget.", "Ask Tom."}


async def test_a_chat_that_was_taken_in_goes_on_and_forks(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = conversation(saver, tmp_path, Player())
        await taken_in(talk, SWIPED, ("Ada",))
        await talk.take_turn("Thank you.")
        other = next(branch[-1] for branch in await talk.branches() if branch[-1].reply == "Ask Tom.")
        await talk.fork(other.id)
        await talk.take_turn("I shall.")
        said = [(turn.question, turn.reply) for turn in await talk.history()]
        assert said[-2:] == [("Who built the lamp?", "Ask Tom."), ("I shall.", "Reply 2 to I shall.")]
        again = await written_out(talk)
        assert [one["mes"] for one in again.messages][-2:] == ["I shall.", "Reply 2 to I shall."]
        assert again.messages[-1]["extra"]["dramaturg"]["evidence"]["knowledge"]


async def test_a_chat_goes_back_as_it_was(tmp_path: Path) -> None:
    again = await written_out(await talk_of(SWIPED, tmp_path))
    assert list(lost([SWIPED.header, *SWIPED.messages], [again.header, *again.messages])) == []
    assert again.header["chat_metadata"]["dramaturg"] == {"thread_id": "tea", "role": "ada"}
    assert read_chat(written_chat(again)) == again


async def test_a_turn_that_is_answered_again_is_a_swipe(tmp_path: Path) -> None:
    talk = conversation(InMemorySaver(), tmp_path, Player())
    await talk.take_turn("Who are you?")
    await talk.regenerate()
    await talk.take_turn("And then?")
    chat = await written_out(talk)
    first = chat.messages[1]
    assert (first["mes"], first["swipe_id"]) == ("Reply 2 to Who are you?", 0)
    assert first["swipes"] == ["Reply 2 to Who are you?", "Reply 1 to Who are you?"]
    assert first["mes"] == first["swipes"][first["swipe_id"]]
    assert len(first["swipe_info"]) == 2
    assert [(one["name"], one["is_user"]) for one in chat.messages[:2]] == [("User", True), ("Ada Quill", False)]


async def test_in_a_group_each_role_hears_the_others(tmp_path: Path) -> None:
    group = Chat(
        SWIPED.header,
        [line("Jim", "Hello both.", user=True), line("Tom", "Flour!"), line("Ada", "At last."), line("Tom", "Heavy.")],
    )
    talk = await talk_of(group, tmp_path)
    assert [(turn.question, turn.reply) for turn in await talk.history()] == [
        ("Jim: Hello both.\n\nTom: Flour!", "At last.")
    ]
    again = await written_out(talk)
    assert list(lost([*group.messages], [*again.messages])) == []


async def test_a_long_chat_is_kept_whole_in_windows(tmp_path: Path) -> None:
    said = [one for at in range(25) for one in (line("Jim", f"q{at}", user=True), line("Ada", f"a{at}"))]
    talk = await talk_of(Chat(SWIPED.header, said), tmp_path)
    assert [turn.reply for turn in await talk.history()] == [f"a{at}" for at in range(25)]
    assert len((await talk.values())["messages"]) == 40
    assert list(lost(said, list((await written_out(talk)).messages))) == []


async def test_a_chat_without_the_role_or_on_a_thread_that_has_begun_is_refused(tmp_path: Path) -> None:
    strangers = Chat(SWIPED.header, [line("Tom", "Flour!"), line("Ben", "Letters!")])
    talk = conversation(InMemorySaver(), tmp_path, Player())
    with pytest.raises(ValueError, match="Ada says nothing in this chat: name one of Tom, Ben"):
        await taken_in(talk, strangers, ("Ada",))
    assert await talk.history() == []
    await talk.take_turn("Who are you?")
    with pytest.raises(ValueError, match="has begun already"):
        await taken_in(talk, SWIPED, ("Ada",))


@shared
@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("own/chat.jsonl", "KeeperV2"),
        ("written_by_sillytavern/chat_solo_swipes_continue_edit.jsonl", "KeeperV2"),
        ("written_by_sillytavern/chat_group.jsonl", "KeeperV2"),
        ("written_by_sillytavern/chat_group.jsonl", "KeeperV3"),
    ],
)
async def test_a_real_chat_goes_back_as_it_was(name: str, role: str, tmp_path: Path) -> None:
    chat = read_chat((Path(SHARED) / "cards" / name).read_bytes())
    talk = conversation(InMemorySaver(), tmp_path, Player())
    await taken_in(talk, chat, (role,))
    again = await written_out(talk)
    assert list(lost([chat.header, *chat.messages], [again.header, *again.messages])) == []
    assert json.loads(written_chat(again).split(b"\n")[0])["chat_metadata"]["dramaturg"]["thread_id"] == "tea"
