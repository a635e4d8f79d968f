"""What an index of a talk finds, and of what it asks for meanings."""

import asyncio
from collections.abc import Iterable

import numpy as np

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.talk.index import EMBEDDED_AT_ONCE, TalkIndex
from dramaturg.stores.conversations.talk import Line, TalkRecord

from roles import WordEmbeddings

ASKED = "tortoise"


def index_of(texts: Iterable[str]) -> TalkIndex:
    """An index of what was said, each in a record of its own."""
    index = TalkIndex()
    for at, text in enumerate(texts):
        said = (Line(id=f"h{at}", who="human", text=text),)
        index.extend([TalkRecord(id=str(at), parent="", place=at, said=said, at="2026-01-01T00:00:00Z")])  # type: ignore[arg-type]
    return index


def test_what_the_window_shows_takes_no_place_of_what_was_said_before_it() -> None:
    embeddings, texts = WordEmbeddings(), [f"A tortoise, {at}." for at in range(9)]
    index = index_of([*texts, *[f"{ASKED} {ASKED} {at}" for at in range(3)]])
    model = Embedder("words", embeddings)
    asyncio.run(index.embed(model, index.lacking("words", len(index))))
    vector = np.asarray(embeddings.embed_query(ASKED), np.float32)
    for given in (None, vector):
        found = index.nearest(ASKED, given, 9, 5)
        assert [one.at < 9 for one in found] == [True] * 5


def test_of_a_long_history_the_latest_is_embedded_first_and_some_at_a_time() -> None:
    many = EMBEDDED_AT_ONCE + 44
    index = index_of(f"Line {at}." for at in range(many))
    assert index.lacking("words", many) == list(range(many))[: -EMBEDDED_AT_ONCE - 1 : -1]
    assert index.lacking("words", 10) == list(range(10))[::-1]


def test_a_line_that_is_longer_than_what_is_embedded_at_once_is_embedded_alone() -> None:
    index = index_of(["one", "word " * 100 * EMBEDDED_AT_ONCE, "three"])
    asked = []
    while places := index.lacking("words", 3):
        asked.append(places)
        asyncio.run(index.embed(Embedder("words", WordEmbeddings()), places))
    assert asked == [[2], [1], [0]]


def test_meanings_of_another_model_are_asked_for_anew() -> None:
    index = index_of(["one", "two"])
    asyncio.run(index.embed(Embedder("words", WordEmbeddings()), index.lacking("words", 2)))
    assert index.lacking("words", 2) == []
    assert index.lacking("others", 2) == [1, 0]


def test_who_has_said_something_is_found_by_name() -> None:
    index = TalkIndex()
    for at, name in enumerate(["Mira", "Tom", None]):
        said = (Line(id=f"h{at}", who="human", name=name, text=f"It rains, {at}."),)
        index.extend([TalkRecord(id=str(at), parent="", place=at, said=said, at="2026-01-01T00:00:00Z")])  # type: ignore[arg-type]
    assert [one.at for one in index.nearest("What has Tom said?", None, 3, 5)] == [1]


def test_words_of_a_language_without_spaces_are_found_within_what_was_said() -> None:
    index = index_of(["今天的海很蓝", "我妹妹在地窖里养了一只乌龟", "누가 그물을 고치나요?"])
    assert [one.at for one in index.nearest("乌龟叫什么名字？", None, 3, 5)] == [1]
    assert [one.at for one in index.nearest("그물", None, 3, 5)] == [2]


def test_another_form_of_a_word_is_found() -> None:
    index = index_of(["It rains.", "She has a tortoise.", "Is it late?"])
    assert [one.at for one in index.nearest("Tortoises?", None, 3, 5)] == [1]


def test_what_is_said_beside_what_is_asked_for_comes_before_the_same_said_elsewhere() -> None:
    index = index_of(
        ["It rains.", "Which pet has Wilhelmina?", "A goat, no.", "Is it late?", "So be it.", "A goat, yes."]
    )
    assert [one.at for one in index.nearest("Has Wilhelmina a goat?", None, 6, 3)][1:] == [2, 5]


def test_a_word_of_most_exchanges_is_looked_up_only_where_there_is_no_other() -> None:
    index = index_of(["The sea is calm.", "The quince is in the attic.", "The lamp burns.", "The end."])
    assert [one.at for one in index.nearest("the quince", None, 4, 5)] == [1]
    assert len(index.nearest("the", None, 4, 5)) == 4


def test_what_was_said_hundreds_of_times_takes_one_place() -> None:
    index = index_of(
        [*["a tortoise"] * 300, *[f"a tortoise walks by, slowly, {at}" for at in range(9)], *["sea"] * 400]
    )
    assert len({index.records[one.at].said[0].text for one in index.nearest(ASKED, None, 709, 5)}) == 5
