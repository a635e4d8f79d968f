"""Triples drafted from documents: what a model says of numbered sentences, and what becomes of it."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any, get_args

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.errors import ModelError, UnusableAnswer
from dramaturg.nodes.identity.chronicle import templates
from dramaturg.nodes.identity.drafting import (
    CHUNK_TOKENS,
    MOST_TRIPLES,
    ChronicleDraft,
    DraftedTriple,
    chunks_of,
    draft_chronicle,
    drafted_triples,
)
from dramaturg.nodes.text.boundaries import Tokens
from dramaturg.stores.documents.forms import Document, Triple
from dramaturg.stores.index.passages import StoredPassage

from fakes import ScriptedChatModel, scripted
from kept_forms import nothing_more_kept
from roles import LIFE, fenced, said

NAME = "Ada Quill"
STATEMENT = {"sentence": 1, "relation": "has_role", "object": "keeper of the light", "kind": "trait", "core": True}


def document(text: str = LIFE, name: str = "life.md") -> Document:
    return Document(name=name, text=text, sha256="")


def statement(**given: Any) -> dict[str, Any]:
    return {**STATEMENT, **given}


def answer(*statements: dict[str, Any]) -> str:
    return json.dumps({"triples": statements})


def asked(model: ScriptedChatModel) -> ChatModel:
    return chat_model(model, deadline=20)


async def of_one(model: ScriptedChatModel, language: str = "en", **relations: str) -> list[Triple]:
    """Draft from the one chunk of Ada's life."""
    (chunk,) = chunks_of([document()])
    triples, _ = await drafted_triples(
        asked(model), chunk, role=NAME, language=language, relations=relations or templates(language)
    )
    return triples


async def of_all(model: ScriptedChatModel, chunks: list[StoredPassage], **given: Any) -> ChronicleDraft:
    return await draft_chronicle(asked(model), chunks, role=NAME, language="en", relations=templates("en"), **given)


def long_life(sections: int = 3) -> str:
    """A document of as many chunks as sections."""
    sentence = "Ada Quill trims the lamp with care and then she writes into the log what she has done."
    return "# Ada\n\n" + "\n".join(f"## Year {n}\n\nThis is year {n}. {f'{sentence} ' * 30}\n" for n in range(sections))


def by_year(reply: Callable[[str], str]) -> ScriptedChatModel:
    """Answer by the year that a chunk is about."""

    def answered(messages: list[BaseMessage]) -> str:
        text = fenced("text", said(messages))
        return reply(next(year for year in ("year 0", "year 1", "year 2") if year in text))

    return ScriptedChatModel(reply=answered)


async def test_the_source_of_a_triple_is_the_sentence_of_the_document_that_was_named() -> None:
    model = scripted(answer(STATEMENT, statement(sentence=3, relation="writes_down", object=" each ship ", core=False)))
    assert await of_one(model) == [
        Triple(
            subject=NAME,
            relation="has_role",
            object="keeper of the light",
            kind="trait",
            core=True,
            source="life.md: Ada Quill keeps the lighthouse of Gull Rock and has kept it for thirty years.",
        ),
        Triple(
            subject=NAME,
            relation="writes_down",
            object="each ship",
            kind="trait",
            source="life.md: Every ship that passes is written into the log with its name and the hour.",
        ),
    ]


async def test_a_draft_that_is_made_again_leaves_no_form_of_an_answer_in_memory() -> None:
    await of_one(scripted(answer(STATEMENT)))
    with nothing_more_kept():
        await of_one(scripted(answer(STATEMENT)))


async def test_sentences_are_numbered_between_tags_and_relations_are_offered_as_they_will_read() -> None:
    model = scripted(answer())
    assert await of_one(model, keeps="$subject keeps $object", loves="$subject loves $object.") == []
    system, user = model.calls[0].messages[:2]
    shown = fenced("text", user.text)
    assert "[1] Ada Quill keeps the lighthouse" in shown
    assert "\n## Work\n" in shown
    assert shown.rstrip().splitlines()[-1].startswith("[6] Storms make her cheerful")
    assert f"\nkeeps: {NAME} keeps …\nloves: {NAME} loves ….\n" in system.text
    assert f"at most {MOST_TRIPLES}" in system.text


@pytest.mark.parametrize(("language", "words"), [("zh", "看重…"), ("ko", "문장마다")])
async def test_the_prompt_is_in_the_language_of_the_role(language: str, words: str) -> None:
    model = scripted(answer())
    await of_one(model, language)
    assert words in model.calls[0].text


@pytest.mark.parametrize(
    "bad",
    [
        "She keeps a light.",
        answer(statement(sentence=0)),
        answer(statement(sentence=7)),
        answer(statement(relation="—")),
        answer(statement(object="  ")),
    ],
)
async def test_an_answer_out_of_form_is_asked_for_again(bad: str) -> None:
    model = scripted(bad, answer(STATEMENT))
    (found,) = await of_one(model)
    assert (found.object, len(model.calls)) == ("keeper of the light", 2)
    with pytest.raises(UnusableAnswer):
        await of_one(scripted(bad))


async def test_of_an_answer_what_is_good_is_kept() -> None:
    good = [statement(object=f"no. {n}") for n in range(MOST_TRIPLES)]
    found = await of_one(model := scripted(answer(*good, statement(object="one more"))))
    assert [one.object for one in found] == [f"no. {n}" for n in range(MOST_TRIPLES)]
    bad = [statement(sentence=7), statement(relation=" "), statement(object=" ")]
    found = await of_one(scripted(answer(*bad, statement(object="a light " * 40, subject="Tom"))))
    assert [len(one.object) <= 200 for one in found] == [True]
    assert len(model.calls) == 1


async def test_what_was_left_out_of_an_answer_is_said_with_where_it_was() -> None:
    model = by_year(lambda year: answer(statement(object=year), *[statement(object=" ")] * (year == "year 1")))
    found = await of_all(model, chunks_of([document(long_life())]))
    assert [one.object for one in found.triples] == ["year 0", "year 1", "year 2"]
    (said,) = getattr(found, "dropped", ())
    assert said.startswith("life.md, Ada > Year 1: triples 2 object")


async def test_the_last_sentence_can_be_named() -> None:
    (found,) = await of_one(scripted(answer(statement(sentence=6))))
    assert found.source.startswith("life.md: Storms make her cheerful")


async def test_what_a_chunk_says_twice_is_there_once() -> None:
    model = scripted(
        answer(STATEMENT, statement(object="Keeper of  the light.", core=False), statement(relation="values"))
    )
    assert [(one.relation, one.object, one.core) for one in await of_one(model)] == [
        ("has_role", "keeper of the light", True),
        ("values", "keeper of the light", True),
    ]


async def test_a_relation_is_written_as_it_is_known() -> None:
    said = [statement(relation=one, object=one) for one in ("hasIdeology", "works at", "喜欢")]
    found = await of_one(scripted(answer(*said)), has_Ideology="$object", worksAt="$object")
    assert [one.relation for one in found] == ["has_Ideology", "worksAt", "喜欢"]


def test_kinds_are_those_of_a_chronicle() -> None:
    kinds, _ = get_args(DraftedTriple.model_fields["kind"].annotation)
    assert get_args(kinds) == get_args(Triple.model_fields["kind"].annotation)


# Documents


def test_chunks_do_not_overlap_and_have_the_headings_that_they_begin_under() -> None:
    text = long_life()
    chunks = chunks_of([document("Tom sails.", "a.md"), document(text), document(" \n", "z.md")])
    assert [(one.source, one.headings) for one in chunks] == [
        ("a.md", ()),
        ("life.md", ("Ada",)),
        ("life.md", ("Ada", "Year 1")),
        ("life.md", ("Ada", "Year 2")),
    ]
    own = chunks[1:]
    assert all(before.end <= after.start for before, after in pairwise(own))
    assert "".join("".join(one.text.split()) for one in own) == "".join(text.split())
    assert all(Tokens(one.text).length(0, len(one.text)) <= CHUNK_TOKENS for one in own)


async def test_all_chunks_are_asked_and_their_triples_come_in_order_and_once() -> None:
    model = by_year(lambda year: answer(STATEMENT, statement(object=year)))
    done: list[int] = []
    found = await of_all(model, chunks_of([document(long_life())]), announce=done.append)
    assert [one.object for one in found.triples] == ["keeper of the light", "year 0", "year 1", "year 2"]
    assert found.failed == []
    assert (done, len(model.calls)) == ([0, 1, 2, 3], 3)


async def test_what_the_chronicle_holds_is_not_drafted_again() -> None:
    known = [
        Triple(subject="ada quill", relation="has_role", object="Keeper of the light", kind="trait"),
        Triple(subject="Tom", relation="has_role", object="year 1", kind="trait"),
    ]
    model = by_year(lambda year: answer(STATEMENT, statement(object=year)))
    found = await of_all(model, chunks_of([document(long_life())]), known=known)
    assert [one.object for one in found.triples] == ["year 0", "year 1", "year 2"]


async def test_a_chunk_without_a_usable_answer_is_named_and_the_others_are_kept() -> None:
    model = by_year(lambda year: "I would rather not." if year == "year 1" else answer(statement(object=year)))
    found = await of_all(model, chunks_of([document(long_life())]))
    assert [one.object for one in found.triples] == ["year 0", "year 2"]
    ((where, heading, why),) = found.failed
    assert (where, heading) == ("life.md", "Ada > Year 1")
    assert why


async def test_a_server_that_is_not_there_ends_the_draft() -> None:
    with pytest.raises(ModelError):
        await of_all(scripted(ConnectionError("no route")), chunks_of([document()]))
