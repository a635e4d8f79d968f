"""Answers of a size that no model should give: each is refused, cut or read in a time that grows with its length."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field

from dramaturg.models.chat import chat_model
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.extracted import Extracted, cut_text, read_extracted, whole_sentences
from dramaturg.models.questions import read_choice, read_rating, write_message
from dramaturg.models.reading import (
    MAX_CHARACTERS,
    InvalidAnswer,
    object_in,
    records_in,
    short_answer,
    word_answer,
)
from dramaturg.models.thoughts import split_thoughts

from fakes import ScriptedChatModel

LENGTH = MAX_CHARACTERS // 4
PIECES = (
    "a",
    "The lamp. ",
    "yes ",
    "[",
    "{",
    '"',
    "<",
    "<think>",
    "```\n",
    ")",
    "\n",
    " ",
    "灯。",
    '{"a":',
    '"a",',
    "...",
)
LONG = [
    *((piece * LENGTH)[:LENGTH] for piece in PIECES),
    ")" + " " * LENGTH,
    "." * LENGTH + "x",
    '."' + '"' * LENGTH + "x",
    '{"names": [' + '"a",' * (LENGTH // 4),
    '{"names": ["' + "a" * LENGTH,
]


class Names(Extracted):
    names: list[Annotated[str, Field(max_length=50)]] = Field(max_length=5)


class Chatterer(ScriptedChatModel):
    """Streams one letter after the other and never stops."""

    letter: str = "a"
    sent: list[str] = Field(default_factory=list)  # shared with the copies that other parameters make

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        while True:
            self.sent.append(self.letter)
            yield ChatGenerationChunk(message=AIMessageChunk(content=self.letter))


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_any_answer_is_read_or_refused(text: str) -> None:
    for read in (
        object_in,
        short_answer,
        lambda one: read_rating(one, 1, 5),
        lambda one: read_choice(one, ["yes", "no"]),
        lambda one: word_answer(one, ["yes", "no"]),
        lambda one: read_extracted(Names, one),
        lambda one: read_extracted(Names, one, cut=True),
    ):
        with suppress(InvalidAnswer):
            read(text)
    assert isinstance(records_in(text), list)
    assert len(whole_sentences(text)) <= len(text)
    assert len(cut_text(text, 100)) <= 100
    split = split_thoughts(text)
    assert len(split.said) + len(split.thoughts) <= len(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"names": ["a", "b", "c', ["a", "b"]),
        ('{"names": ["a", "b", ', ["a", "b"]),
        ('So: {"names": ["a", "b]", "c\\"', ["a", "b]"]),
        ('{"names": ["a", "b"], "oth', ["a", "b"]),
        ('["a", "b", "c', ["a", "b"]),
    ],
)
def test_of_an_answer_that_was_cut_the_whole_items_are_kept(text: str, names: list[str]) -> None:
    with pytest.raises(InvalidAnswer) as cut:
        read_extracted(Names, text, cut=True)
    assert cut.value.rest.names == names


@pytest.mark.parametrize(
    "text", ["", "none", "}", "]", '{"reason": "because', '{"a": {"b": 1, "c', '["a', "{]", "[" * 99_999]
)
def test_of_an_answer_that_was_cut_before_its_first_item_nothing_is_kept(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        read_extracted(Names, text, cut=True)


@pytest.mark.parametrize("letter", ["a", "\n"])
async def test_a_stream_without_an_end_is_left(letter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("questions", "reading"):
        monkeypatch.setattr(f"dramaturg.models.{module}.MAX_CHARACTERS", 2000)
    model, looked_at = Chatterer(reply=str, letter=letter), list[int]()

    def may_show(text: str, whole: bool) -> bool | None:
        looked_at.append(len(text))
        return True if whole or len(text) >= 300 else None

    with pytest.raises(UnusableAnswer):
        await write_message(chat_model(model, attempts=1), [HumanMessage("Who are you?")], may_show=may_show)
    assert len(model.sent) == 2001
    assert sum(looked_at) < 300 * 301
