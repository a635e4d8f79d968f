"""A history that a client keeps leads to the branch that it shows, with the role memory of that branch alone."""

import random
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.conversations.alignment import Exchange, place_of
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.turns import Turn, in_turns
from dramaturg.models.errors import ModelError
from dramaturg.nodes.reply import BEGUN
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.steps import Step

from talks import Player, conversation, memory

pytestmark = pytest.mark.sample_of_file(4)


def branch(*words: str) -> list[Turn]:
    """Turns named by words; "ab" is the turn with the question "a?" and the reply "ab.", after all before it."""
    checkpoints = [None, *words]
    return [
        Turn(word, f"{word[0]}?", f"{word}.", word, before)
        for before, word in pairwise(checkpoints)
        if word is not None
    ]


def heard(*words: str) -> list[Exchange]:
    return [Exchange(f"{word[0]}?", f"{word}.") for word in words]


@pytest.mark.parametrize(
    ("history", "after", "known"),
    [
        (["a1", "b1", "c1"], "c1", 3),  # all of it
        (["b1", "c1"], "c1", 2),  # a window
        (["a1", "b1"], "b1", 2),  # a swipe of the last, or it was deleted
        (["a1", "b2"], "b2", 2),  # another branch
        (["a1", "b2", "c3"], "b2", 2),  # what the role never said there
        (["a1", "x1", "c1"], "a1", 1),  # an edit in the middle
        (["x1", "c1"], "a1", 0),  # in a window, the edit of its first
        (["a1", "c1"], "a1", 1),  # a turn in the middle was deleted
        (["x1", "y1"], None, 0),  # an old chat
        (["z1", "a1", "b1"], "b1", 3),  # of a chat that was taken over from a window, the client shows more
        ([], None, 0),
    ],
)
def test_a_history_has_its_place(history: list[str], after: str | None, known: int) -> None:
    place = place_of(heard(*history), [branch("a1", "b1", "c1"), branch("a1", "b2", "c2")])
    assert (place.after and place.after.id, place.known) == (after, known)


@pytest.mark.parametrize("shown", ["Yes.\n\nbert: No.", "ada: Yes.\n\nbert: No.", "**Ada:** Yes.\n\n**bert:** No."])
def test_a_turn_in_which_two_speak_is_known_by_both_lines(shown: str) -> None:
    said = (
        HumanMessage("Is it?", id="q"),
        AIMessage("Yes.", id="a", name="ada"),
        AIMessage("No.", id="b", name="bert"),
    )
    turns = in_turns([Step("1", None, said)])
    assert [one.reply for one in turns] == ["ada: Yes.\n\nbert: No."]
    assert place_of([Exchange("Is it?", shown)], [turns], ("Ada", "ada")).known == 1
    assert place_of([Exchange("Is it?", "No.")], [turns], ("Ada", "ada")).known == 0


def test_what_was_said_before_a_deleted_turn_is_not_taken_over_again() -> None:
    place = place_of(heard("a1", "c1", "d1", "e1"), [branch("a1", "b1", "c1", "d1", "e1")])
    assert (place.after and place.after.id, place.known) == ("a1", 1)


WAVES = '*She waves.* "Well, now"\nI say: go on'


@pytest.mark.parametrize(
    ("said", "sent", "known"),
    [
        (WAVES, "*She waves.* “Well,  now”\n\nI say: go_on", 1),
        (WAVES, "She waves. Well, now I say: goon", 1),
        (WAVES, "*She waves.* Well,now I say: go on", 1),
        (WAVES, "\ufeff*She waves.*\u00a0Well,\u200b now\r\n\r\nI say: go\u2060 on\u3000", 1),
        (WAVES, "*She waves.* „Well, now”\rI say: go on\t", 1),
        ("I keep the light. It nev", "I keep the light.", 0),
    ],
)
def test_what_clients_change_in_showing_is_no_difference_and_a_reply_that_was_cut_is_one(
    said: str, sent: str, known: int
) -> None:
    turns = [Turn("1", "hm?", said, "1", None)]
    assert place_of([Exchange("hm? ", sent)], [turns]).known == known


@pytest.mark.parametrize("text", ["Café, Élise", "바다를 본다"])
def test_composed_and_decomposed_letters_are_the_same(text: str) -> None:
    apart = unicodedata.normalize("NFD", text)
    assert apart != text
    for said, sent in ((text, apart), (apart, text)):
        assert place_of([Exchange(sent, sent)], [[Turn("1", said, said, "1", None)]]).known == 1


@pytest.mark.parametrize(
    ("said", "sent", "known"),
    [
        ("Hello.", "Ada: Hello.", 1),
        ("Ada Quill: Hello.", "Hello.", 1),
        ("**Ada:** Hello.\n*Ada*: And?", "Hello.\nAnd?", 1),
        ("바다： 안녕.", "안녕.", 1),
        ("Ada: Hello.", "Ada Quill : Hello.", 1),
        ("Tom: Hello.", "Hello.", 0),
        (": Hello.", "Hello.", 0),
        ("Well: yes.", "yes.", 0),
        ("I am Ada: hello.", "hello.", 0),
        ("Adam: Hello.", "Hello.", 0),
    ],
)
def test_the_name_of_the_role_before_a_line_is_no_difference(said: str, sent: str, known: int) -> None:
    names = ("Ada Quill", "Ada", "바다", "")
    assert place_of([Exchange("hm?", sent)], [[Turn("1", "hm?", said, "1", None)]], names).known == known


def test_a_window_that_begins_with_a_reply_is_one() -> None:
    assert place_of([Exchange("", "b1."), *heard("c1")], [branch("a1", "b1", "c1")]).known == 2


def test_a_line_that_is_only_dots_is_told_from_another() -> None:
    assert place_of([Exchange("…", "?")], [[Turn("1", "!", "?", "1", None)]]).agreed == 0


class Client:
    """A chat client: what is on its screen, and what it sends of it."""

    def __init__(self, talk: Conversation, window: int) -> None:
        self.talk = talk
        self.window = window
        self.screen: list[Exchange] = []
        self.number = 0

    async def say(self) -> None:
        self.number += 1
        await self._ask(f"question {self.number}")

    async def swipe(self) -> None:
        if self.screen:
            await self._ask(self.screen.pop().heard)

    async def edit(self) -> None:
        """Say something else in the place of the last."""
        if self.screen:
            self.screen.pop()
        await self.say()

    async def delete(self) -> None:
        del self.screen[-2:]

    async def rewrite(self) -> None:
        """Rewrite a reply in the middle."""
        if len(self.screen) > 1:
            at, self.number = len(self.screen) // 2, self.number + 1
            self.screen[at] = Exchange(self.screen[at].heard, f"rewritten {self.number}")
            await self.say()

    async def _ask(self, question: str) -> None:
        output = await self.talk.take_turn_after(self.screen[-self.window :], question)
        self.screen.append(Exchange(question, output["messages"][-1].text))

    @property
    def learned(self) -> set[str]:
        """What a role learns from: the questions before an edit in the middle, and those that it answered after it."""
        return {one.heard for one in self.screen if not one.said.startswith("rewritten")}


@pytest.mark.sample(2)
@pytest.mark.parametrize("window", [4, 100])
@pytest.mark.parametrize("seed", range(3))
async def test_what_the_role_remembers_is_what_is_on_the_screen(tmp_path: Path, window: int, seed: int) -> None:
    chance = random.Random(seed)
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        client = Client(conversation(saver, tmp_path, Player()), window)
        for _ in range(14):
            await chance.choice([client.say, client.say, client.swipe, client.edit, client.delete, client.rewrite])()
            if client.screen:
                await client.talk.take_over(client.screen[-window:])
                on_branch = [Exchange(turn.question, turn.reply or "") for turn in await client.talk.history()]
                assert on_branch == client.screen
                assert await memory(client.talk) <= client.learned


async def test_a_turn_goes_on_with_the_memory_of_its_branch(tmp_path: Path) -> None:
    talk = conversation(InMemorySaver(), tmp_path, Player())
    for question in ("one", "two", "three"):
        await talk.take_turn(question)
    one, two, _ = await talk.history()
    await talk.take_turn_after([Exchange(one.question, one.reply or "")], "again")
    assert await memory(talk) == {"one", "again"}
    await talk.take_turn_after([Exchange(turn.question, turn.reply or "") for turn in (one, two)], "on")
    assert await memory(talk) == {"one", "two", "on"}


async def test_an_old_chat_is_taken_over_as_said_and_nobody_is_asked(tmp_path: Path) -> None:
    player = Player()
    talk = conversation(InMemorySaver(), tmp_path, player)
    old = [
        Exchange("", "Welcome, stranger."),
        Exchange("Who are you?", "A gardener."),
        Exchange("Why?", "For the peace."),
    ]
    await talk.take_over(old)
    assert player.replies == 0
    assert [(turn.question, turn.reply) for turn in await talk.history()] == old
    await talk.take_turn_after(old, "And then?")
    assert [message.text for message in (await talk.values())["messages"]] == [
        *("Welcome, stranger.", "Who are you?", "A gardener.", "Why?", "For the peace.", "And then?"),
        "Reply 1 to And then?",
    ]
    assert "Begin the conversation." in player.shown[-1]  # servers refuse a reply in front of all messages
    assert await memory(talk) == {"And then?"}
    await talk.take_turn_after(old, "And then?")
    assert len(await talk.branches()) == 2


async def test_of_a_long_chat_that_is_taken_over_no_state_holds_more_than_the_window(tmp_path: Path) -> None:
    """Else each state holds all before it, and 700 exchanges cost the square of what one does."""
    async with ConversationSaver.open(tmp_path / "conversations.sqlite") as saver:
        talk = conversation(saver, tmp_path, Player())
        long = [Exchange("", "I greet you."), *(Exchange(f"Question {n}?", f"Reply {n}.") for n in range(40))]
        await talk.take_over(long)
        turns = await talk.history()
        assert [(one.question, one.reply) for one in turns] == [tuple(one) for one in long]
        held = [[message.text for message in (await talk.values(turn))["messages"]] for turn in turns]
        assert max(map(len, held)) == talk.context.window
        assert held[-1] == [text for one in long[-10:] for text in one]
        assert held[9][0] == "I greet you."  # as long as there is room for all
        assert held[10][0] == "Question 0?" or held[10][0] == "Question 1?"
        await talk.fork(turns[20].id)
        await talk.take_turn("And now?")
        assert len(await talk.history()) == 22


async def test_a_turn_that_fails_leaves_the_head_where_it_was(tmp_path: Path) -> None:
    player = Player()
    talk = conversation(InMemorySaver(), tmp_path, player)
    await talk.take_turn("one")
    await talk.take_turn("two")
    player.down = True
    with pytest.raises(ModelError):
        await talk.take_turn_after([Exchange("one", "Reply 1 to one")], "else")
    assert [turn.question for turn in await talk.history()] == ["one", "two"]
    assert await talk.unfinished() is None


async def test_a_reply_that_was_begun_is_gone_on_with(tmp_path: Path) -> None:
    player = Player()
    talk = conversation(InMemorySaver(), tmp_path, player)
    await talk.take_turn("one")
    message = HumanMessage("one", additional_kwargs={BEGUN: "Reply 1 to one"})
    output = await talk.take_turn_after([], message)
    assert output["messages"][-1].text == "Reply 1 to one Reply 2 to one"
    assert "Reply 1 to one" in player.shown[-1]
    assert "repeat nothing of it" in player.shown[-1]


@given(st.data())
def test_any_window_of_a_branch_leads_to_its_end(data: st.DataObject) -> None:
    words = data.draw(st.lists(st.sampled_from(["a1", "a2", "b1", "b2"]), min_size=1, max_size=12))
    turns = [Turn(str(at), f"{word[0]}?", f"{word}.", str(at), None) for at, word in enumerate(words)]
    window = data.draw(st.integers(1, len(words)))
    place = place_of(heard(*words[-window:]), [turns])
    assert place.known == window
    assert place.after == turns[-1] or words[:window] == words[-window:]  # then it may be all that is shown
