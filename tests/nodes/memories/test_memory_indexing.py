"""Indexing of memories: what is asked and embedded, and how often; what cannot be had; what others do meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.models.errors import ModelRefused, ModelUnavailable
from dramaturg.nodes.index_steps import current
from dramaturg.nodes.memories.index import cost_of_memories, made_so
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.documents.memories import edit, pin, remove
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError, RoleFileError, StaleDraft
from dramaturg.stores.index.answers import ANSWERS, decode_answers
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.memories import MEMORY_KIND, MOODS_FILE, Felt, Mood
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.index.records import encode_records
from dramaturg.stores.learning import learn
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, holding, take_back, versions
from dramaturg.workflows import amadeus_index, emotional_rag
from dramaturg.workflows.emotional_rag import EmotionalRagContext
from dramaturg.workflows.emotional_rag_index import build

from fakes import ScriptedChatModel
from memory_roles import (
    ALL,
    CALM,
    DROWNED,
    HATED,
    PARCEL,
    STORM,
    CountedEmbeddings,
    add_line,
    context,
    everything,
    feeling,
    feels,
    files_of,
    index,
    leftovers,
    memories_asked,
    memory_role,
    moods,
    place_of,
    put_memories,
    scored,
    served,
    with_card,
)
from passage_samples import quick
from roles import MEMORIES, WordEmbeddings, mood, run_settings, small_role, write_memories

pytestmark = pytest.mark.sample_of_file(12)

NEW = "The zanzibark sang in the rigging."
EMOTIONS = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return memory_role(tmp_path)


def persona(role: Role) -> dict[str, bytes]:
    return {name: role.persona.read(name) for name in role.persona.names()}


def published(role: Role, name: str) -> bytes:
    """A file of the version that is served."""
    folder = IndexFolder(role.root, MEMORY_KIND)
    current = folder.pointer()
    assert current
    return (folder.folder_of(current.versions[0]) / name).read_bytes()


def is_current(role: Role, embedding: str = "CountedEmbeddings:words", **given: Any) -> bool:
    """Whether the memories that are served are what the files and settings ask for."""
    now = made_so(context(role, **given), role.card)
    return current(Role(role.root).index(MEMORY_KIND), embedding, now) is not None


# What is made


async def test_published_memories(role: Role) -> None:
    report, store = await index(role, model := feeling()), served(role)
    assert report == {
        "version": store.version,
        "encoder": "model",
        "memories": 5,
        "copies": 0,
        "failed": [],
        "calls": 5,
        "tokens": report["tokens"],
    }
    assert report["tokens"] > 500
    assert {one.text for one in store.memories} == ALL == {*memories_asked(model)}
    assert len(model.calls) == 5
    first = next(mood for one, mood in zip(store.memories, store.moods, strict=True) if one.text == STORM)
    assert first.emotions is not None
    assert list(first.emotions) == list(EMOTIONS)
    assert first.emotions["joy"] == Felt(score=scored(STORM), reason="so it seems")
    rows = np.array(WordEmbeddings().embed_documents(store.embedded_texts()))
    assert np.abs(store.vectors() - rows).max() < 1e-6
    assert (store.encoder, store.manifest.settings) == (
        "model",
        {"encoder": "model", "names": ["Ada Quill"], "language": "en"},
    )
    assert store.manifest.counts == {"memories": 5, "copies": 0, "failed": 0}
    assert {*store.manifest.sources} == {"memories.jsonl", "dialogues/scenes.jsonl"}


async def test_what_is_streamed(role: Role) -> None:
    events = [event async for event in build().compile().astream({}, context=context(role), stream_mode="custom")]
    assert events[0] == {"event": "gathered", "memories": 5, "copies": 0}
    asked = [event for event in events if event["event"] == "asked"]
    assert [(one["done"], one["total"]) for one in asked if one["what"] == "moods"][-1] == (5, 5)
    assert [(one["done"], one["total"]) for one in asked if one["what"] == "vectors"] == [(0, 5), (5, 5)]
    assert events[-1]["event"] == "published"
    assert events[-1]["version"] == served(role).version


async def test_copies_are_asked_once_and_counted(role: Role) -> None:
    add_line(role, text="THE LAMP burned all night, in the great storm; and I sang to it", pinned=True)
    add_line(role, "dialogues/scenes.jsonl", scene="again", speaker="ada quill", text=CALM.removeprefix("Ada Quill: "))
    report = await index(role, model := feeling())
    assert (report["memories"], report["copies"], len(model.calls)) == (5, 2, 5)
    assert place_of(role, STORM) == ("memories.jsonl:1", "memories.jsonl:4")
    assert place_of(role, CALM) == ("dialogues/scenes.jsonl:4", "dialogues/scenes.jsonl:5")
    assert [one.pinned for one in served(role).memories if one.text == STORM] == [True]


async def test_the_similarity_encoder_asks_no_chat_model(role: Role) -> None:
    report = await index(role, model := feeling(), emotion_encoder="embedding")
    assert (model.calls, report["calls"], report["failed"]) == ([], 0, [])
    assert report["encoder"] == served(role).encoder == "embedding:WordEmbeddings:words"
    assert all(scores is not None and {*scores} == {*EMOTIONS} for scores in moods(role).values())
    assert all(1 <= score <= 10 for scores in moods(role).values() for score in (scores or {}).values())


async def test_what_is_indexed_for_meaning_alone_lacks_moods_and_says_no_failure(role: Role) -> None:
    report = await index(role, model := feeling(), strategy="semantic")
    assert (report["failed"], report["calls"], model.calls) == ([], 0, [])
    assert {*moods(role).values()} == {None}
    again = await index(role, model, strategy="semantic")
    assert (again["version"], model.calls) == (report["version"], [])
    assert (await cost_of_memories(context(role, strategy="semantic"), {})).questions == 0
    assert (await cost_of_memories(context(role), {})).questions == len(ALL)
    await index(role, model)
    assert {*memories_asked(model)} == ALL
    assert None not in moods(role).values()
    await index(role, model, strategy="semantic")
    assert len(model.calls) == len(ALL)
    assert None not in moods(role).values()


async def test_a_role_without_memories_says_what_to_do(role: Role) -> None:
    for written in ((), ({"text": "…"}, {"question": "Well?", "answer": ""})):
        write_memories(role.root, written, dialogue=({"scene": "s", "speaker": "Tom", "text": "Well?"},))
        with pytest.raises(
            ValueError, match=r"'ada' has no memories: write memories\.jsonl or dialogues/\*\.jsonl into its folder"
        ):
            await index(role, model := feeling())
        assert model.calls == []
    (role.root / "memories.jsonl").unlink()
    (role.root / "dialogues" / "scenes.jsonl").unlink()
    with pytest.raises(ValueError, match="has no memories"):
        await index(role)
    with pytest.raises(MissingIndex):
        served(role)


async def test_a_line_that_cannot_be_read_leaves_what_is_served(role: Role) -> None:
    await index(role)
    add_line(role, txt="slip")
    with pytest.raises(RoleFileError, match=r"memories\.jsonl, line 4"):
        await index(role, model := feeling())
    assert (model.calls, {*moods(role)}) == ([], ALL)


# What is asked, and how often


async def test_nothing_is_asked_or_embedded_twice(role: Role) -> None:
    first = await index(role, embedding_model=(words := CountedEmbeddings()))
    assert sorted(words.texts) == sorted(ALL)
    again = await index(role, model := feeling(), embedding_model=(words := CountedEmbeddings()))
    assert (model.calls, words.texts) == ([], [])
    assert again == {**first, "calls": 0, "tokens": 0}
    assert len(versions(Role(role.root), MEMORY_KIND)) == 1


def added(role: Role) -> None:
    add_line(role, text=NEW)


def added_first(role: Role) -> None:
    path = role.root / "memories.jsonl"
    path.write_text(f'{{"text": "{NEW}"}}\n{path.read_text()}')


def edited(role: Role) -> None:
    edit(role.root, place_of(role, STORM), NEW)


def removed(role: Role) -> None:
    remove(role.root, place_of(role, STORM))


def said_no_more(role: Role) -> None:
    remove(role.root, place_of(role, CALM))


def pinned(role: Role) -> None:
    pin(role.root, place_of(role, PARCEL), pinned=True)


def moved(role: Role) -> None:
    write_memories(role.root, MEMORIES[::-1])


@pytest.mark.parametrize(
    ("change", "new", "gone"),
    [
        (added, {NEW}, set()),
        (added_first, {NEW}, set()),
        (edited, {NEW}, {STORM}),
        (removed, set(), {STORM}),
        (said_no_more, set(), {CALM}),
        (pinned, set(), set()),
        (moved, set(), set()),
    ],
)
async def test_only_what_changed_is_asked_and_embedded(
    role: Role, change: Callable[[Role], None], new: set[str], gone: set[str]
) -> None:
    first = await index(role)
    before = moods(role)
    change(role)
    assert not is_current(role, "WordEmbeddings:words")
    report = await index(role, model := feeling(), embedding_model=(words := CountedEmbeddings()))
    # `words` has another name than the model of before: all is embedded, nothing asked but what is new
    assert (memories_asked(model), {*words.texts}) == (sorted(new), ALL - gone | new)
    assert report["calls"] == len(new)
    assert report["version"] != first["version"]
    assert moods(role) == {text: scores for text, scores in before.items() if text not in gone} | {
        text: mood_of(text) for text in new
    }
    add_line(role, text="Once more.")
    await index(role, embedding_model=(words := CountedEmbeddings()))
    assert words.texts == ["Once more."]


def mood_of(text: str) -> dict[str, int]:
    """What `feeling` answers."""
    return dict.fromkeys(EMOTIONS, 1) | {"joy": scored(text), "fear": scored(text[::-1])}


async def test_what_is_taken_back_by_hand_is_not_asked_again(role: Role) -> None:
    files = files_of(role)
    first = await index(role)
    removed(role)
    await index(role)
    for name, data in files.items():
        (role.root / name).write_bytes(data)
    report = await index(role, model := feeling(), embedding_model=(words := WordEmbeddings()))
    assert (model.calls, words.model) == ([], "words")
    assert report["version"] == first["version"]


async def test_a_rebuild_asks_all_anew_while_the_old_is_served(role: Role) -> None:
    first, seen = await index(role), []

    def looking(memory: str) -> None:
        seen.append(served(role).version)

    model = feeling(looking)
    report = await index(role, model, {"rebuild": True}, embedding_model=(words := CountedEmbeddings()))
    assert {*seen} == {first["version"]}
    assert (len(model.calls), {*memories_asked(model)}, sorted(words.texts)) == (5, ALL, sorted(ALL))
    assert report["version"] == served(role).version
    sadder = feeling(lambda memory: mood(sadness=9))
    again = await index(role, sadder, {"rebuild": True})
    assert again["version"] not in (first["version"], report["version"])
    assert {scores["sadness"] for scores in moods(role).values() if scores} == {9}
    after = await index(role, model := feeling())
    assert (model.calls, after["version"]) == ([], again["version"])


async def test_a_rebuild_that_is_broken_off_goes_on(role: Role) -> None:
    await index(role)
    broken = failing_after(2)
    with pytest.raises(ModelUnavailable):
        await index(role, broken, {"rebuild": True}, concurrency=1)
    assert moods(role).keys() == ALL
    await index(role, model := feeling(), {"rebuild": True})
    assert len(model.calls) == 3


async def test_another_embedding_model_embeds_anew_and_asks_nothing(role: Role) -> None:
    first = await index(role, embedding_model=CountedEmbeddings())
    small = CountedEmbeddings("small", 512)
    assert not is_current(role, "CountedEmbeddings:small")
    report = await index(role, model := feeling(), embedding_model=small)
    assert (model.calls, sorted(small.texts), report["encoder"]) == ([], sorted(ALL), "model")
    assert served(role).manifest.embedding.dimension == 512
    assert report["version"] != first["version"]
    assert is_current(role, "CountedEmbeddings:small")
    back = await index(role, model := feeling(), embedding_model=(words := CountedEmbeddings()))
    assert (model.calls, back["version"]) == ([], first["version"])
    assert len(versions(Role(role.root), MEMORY_KIND)) == 2
    assert {*words.texts} in (set(), ALL)  # only the vectors of the version that is served are looked up


async def test_another_encoder_is_published_anew_and_asks_nothing_twice(role: Role) -> None:
    given = {"embedding_model": CountedEmbeddings()}
    by_model = await index(role, **given)
    assert is_current(role, emotion_encoder="model")
    assert not is_current(role, emotion_encoder="embedding")
    by_words = await index(role, model := feeling(), **given, emotion_encoder="embedding")
    assert (model.calls, by_words["encoder"]) == ([], "embedding:CountedEmbeddings:words")
    assert by_words["version"] != by_model["version"]
    assert not is_current(role, emotion_encoder="model")
    assert is_current(role)
    assert is_current(role, emotion_encoder="embedding")
    stays = await index(role, model := feeling(), **given)  # auto
    assert (model.calls, stays["version"]) == ([], by_words["version"])
    back = await index(role, model := feeling(), **given, emotion_encoder="model")
    assert (model.calls, back["version"]) == ([], by_model["version"])
    stays = await index(role, model := feeling(), **given)
    assert (model.calls, stays["encoder"]) == ([], "model")


async def test_what_auto_stays_with_is_made_by_it(role: Role) -> None:
    await index(role, emotion_encoder="embedding")
    add_line(role, text=NEW)
    report = await index(role, model := feeling())
    assert (model.calls, report["encoder"], len(moods(role))) == ([], "embedding:WordEmbeddings:words", 6)
    report = await index(role, model := feeling(), {"rebuild": True})  # begins from nothing: the chat model is asked
    assert (len(model.calls), report["encoder"]) == (6, "model")


async def test_auto_takes_the_chat_model_where_the_embedding_model_is_another(role: Role) -> None:
    await index(role, emotion_encoder="embedding")
    report = await index(role, model := feeling(), embedding_model=CountedEmbeddings("small", 512))
    assert (len(model.calls), report["encoder"]) == (5, "model")


@pytest.mark.parametrize(
    ("changes", "asked"),
    [({"name": "Ada Penrose", "aliases": ("Ada Quill",)}, 5), ({"aliases": ("Tom",)}, 1), ({"language": "zh"}, 5)],
    ids=["name", "aliases", "language"],
)
async def test_another_card_makes_other_memories(role: Role, changes: Mapping[str, Any], asked: int) -> None:
    """Its name is in the texts, an alias gives the role Tom's lines, moods are asked in its language."""
    first = await index(role)
    with_card(role, **changes)
    assert not is_current(role, "WordEmbeddings:words")
    report = await index(role, model := feeling())
    assert report["version"] != first["version"]
    assert is_current(role, "WordEmbeddings:words")
    assert len(model.calls) >= asked
    again = await index(role, model := feeling())
    assert (model.calls, again["version"]) == ([], report["version"])


@pytest.mark.parametrize("changes", [{"profile": "A keeper."}, {"sources": ("here",)}], ids=["profile", "sources"])
async def test_what_is_no_part_of_memories_makes_no_others(role: Role, changes: Mapping[str, Any]) -> None:
    await index(role)
    with_card(role, **changes)
    assert is_current(role, "WordEmbeddings:words")
    await index(role, model := feeling(), language="ko", deadline=7, concurrency=1, embedding_batch=2)
    assert model.calls == []


async def test_another_chat_model_asks_nothing(role: Role) -> None:
    await index(role)
    other = ScriptedChatModel(reply=lambda messages: mood(anger=9), metadata={"name": "other"})
    await index(role, other)
    assert other.calls == []


@pytest.mark.parametrize("batch", [1, 2, 2048])
async def test_texts_are_embedded_in_batches(role: Role, batch: int) -> None:
    sizes = []

    class Batches(CountedEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            sizes.append(len(texts))
            return super().embed_documents(texts)

    await index(role, embedding_model=Batches(), embedding_batch=batch)
    assert sizes == {1: [1] * 5, 2: [2, 2, 1], 2048: [5]}[batch]


async def test_wishes_are_not_remembered(role: Role) -> None:
    graph, thread = build().compile(InMemorySaver()), {"configurable": {"thread_id": "t"}}
    calls = []
    silent = feeling(lambda memory: "?" if memory == STORM else None)
    wishes: list[Mapping[str, bool]] = [{}, {}, {"retry": True}, {}, {"rebuild": True}, {}]
    for wish in wishes:
        before = len(silent.calls)
        output = await graph.ainvoke(dict(wish), thread, context=context(role, silent))  # type: ignore[call-overload]
        calls.append(len(silent.calls) - before)
        assert output["index"]["calls"] == calls[-1]
    assert calls == [6, 0, 2, 0, 6, 0]


# What cannot be had


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "answer",
    [
        "I cannot say.",
        "{}",
        mood(joy=11),
        mood(joy=-1),
        mood()[:-9],
        "",
    ],
    ids=["words", "nothing", "above", "below", "cut", "empty"],
)
async def test_an_answer_that_cannot_be_used_is_kept_and_listed(role: Role, answer: str) -> None:
    silent = feeling(lambda memory: answer if memory == STORM else None)
    report = await index(role, silent)
    assert len(silent.calls) == 6  # asked twice
    store = served(role)
    (felt,) = [mood for one, mood in zip(store.memories, store.moods, strict=True) if one.text == STORM]
    (memory,) = [one.id for one in store.memories if one.text == STORM]
    assert felt.emotions is felt.scores is None
    assert felt.error
    assert report["failed"] == [{"memory": memory, "error": felt.error}]
    assert store.manifest.counts == {"memories": 5, "copies": 0, "failed": 1}
    assert len(store.vectors()) == 5
    assert moods(role) == {text: None if text == STORM else mood_of(text) for text in ALL}
    again = await index(role, model := feeling())
    assert (model.calls, again["failed"], again["version"]) == ([], report["failed"], report["version"])
    last = await index(role, model := feeling(), {"retry": True})
    assert (memories_asked(model), last["failed"]) == ([STORM], [])
    assert moods(role)[STORM] == mood_of(STORM)
    done = await index(role, model := feeling(), {"retry": True})
    assert (model.calls, done["version"]) == ([], last["version"])


async def test_what_fails_again_is_listed_again(role: Role) -> None:
    silent = feeling(lambda memory: "?" if memory in (STORM, CALM) else None)
    first = await index(role, silent, attempts=1)
    half = feeling(lambda memory: "?" if memory == CALM else None)
    second = await index(role, half, {"retry": True}, attempts=1)
    assert {*memories_asked(half)} == {STORM, CALM}
    assert [one["memory"] for one in second["failed"]] == [
        one["memory"] for one in first["failed"] if one["memory"] == second["failed"][0]["memory"]
    ]
    assert len(first["failed"]) == 2
    third = await index(role, model := feeling())
    assert (model.calls, third["failed"]) == ([], second["failed"])


async def test_a_rebuild_asks_what_could_not_be_had(role: Role) -> None:
    await index(role, feeling(lambda memory: "?"), attempts=1)
    assert {*moods(role).values()} == {None}
    report = await index(role, model := feeling(), {"rebuild": True})
    assert (len(model.calls), report["failed"]) == (5, [])


async def test_an_answer_that_is_mended_is_no_failure(role: Role) -> None:
    left = ["nonsense"]
    report = await index(role, model := feeling(lambda memory: left.pop() if left else None))
    assert (len(model.calls), report["failed"], report["calls"]) == (6, [], 6)


def failing_after(answered: int, error: Exception | None = None) -> ScriptedChatModel:
    """A model that is gone after so many answers."""
    model = feeling()
    model.reply = feeling(
        lambda _: (error or ModelUnavailable("It is gone.")) if len(model.calls) > answered else None
    ).reply
    return model


@pytest.mark.parametrize("error", [ModelRefused("Wrong key."), ModelUnavailable("It is gone.")])
async def test_a_model_that_answers_nothing_stops_the_run(role: Role, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        await index(role, feeling(lambda memory: error), embedding_model=(words := CountedEmbeddings()))
    with pytest.raises(MissingIndex):
        served(role)
    report = await index(role, model := feeling(), embedding_model=words)
    assert (len(model.calls), report["failed"]) == (5, [])
    assert len({*words.texts}) == 5
    assert len(words.texts) <= 10  # the batch that was being embedded when the model refused may be lost


@pytest.mark.parametrize("answered", [1, 2, 4])
@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_run_that_loses_its_model_goes_on_where_it_was(role: Role, answered: int, concurrency: int) -> None:
    broken = failing_after(answered)
    with pytest.raises(ModelUnavailable):
        await index(role, broken, concurrency=concurrency)
    had = len(Role(role.root).index(MEMORY_KIND).builder.known())  # an answer under way beside a failure may be lost
    assert had == answered if concurrency == 1 else had <= answered
    report = await index(role, model := feeling())
    assert had + len(model.calls) == 5
    assert report["calls"] == len(model.calls)
    if concurrency == 1:
        assert {*memories_asked(broken)[:answered]} | {*memories_asked(model)} == ALL


async def test_a_served_version_outlives_a_run_that_fails(role: Role) -> None:
    first = await index(role)
    add_line(role, text=NEW)
    with pytest.raises(ModelRefused):
        await index(role, feeling(lambda memory: ModelRefused("Wrong key.")))
    assert served(role).version == first["version"]
    await index(role, model := feeling())
    assert memories_asked(model) == [NEW]


class Without(CountedEmbeddings):
    """Has no direction for texts with some words: a number is not finite, or all are zero."""

    words = ("great storm",)
    fault = float("nan")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors = super().embed_documents(texts)
        bad = [self.fault] * self.width
        return [bad if any(one in text for one in self.words) else v for text, v in zip(texts, vectors, strict=True)]


Without.__name__ = CountedEmbeddings.__name__  # the same model, by name


class Zero(Without):
    fault = 0.0


Zero.__name__ = CountedEmbeddings.__name__


async def report_of(role: Role, wishes: Mapping[str, bool] | None = None, **given: Any) -> Any:
    """The report, or why there is none."""
    try:
        return await index(role, wishes=wishes, **given)
    except ValueError as error:
        return {"failed": [], "error": str(error)}


@pytest.mark.parametrize("wishes", [{}, {"rebuild": True}])
@pytest.mark.parametrize("kind", [Without, Zero])
async def test_a_memory_without_a_vector_is_named_and_costs_no_other(
    role: Role, kind: type[Without], wishes: Mapping[str, bool]
) -> None:
    report = await report_of(role, wishes, embedding_model=kind())
    assert [one["error"].partition(": ")[0] for one in report["failed"]] == ["memories.jsonl:1 has no vector"]
    assert set(moods(role)) == ALL - {STORM}
    assert report["memories"] == len(ALL) - 1
    assert is_current(role)
    report = await report_of(role, {"retry": True}, embedding_model=CountedEmbeddings())
    assert (report["failed"], set(moods(role))) == ([], ALL)


async def test_where_no_memory_has_a_vector_it_is_said(role: Role) -> None:
    report = await report_of(role, embedding_model=type("CountedEmbeddings", (Without,), {"words": ("",)})())
    assert "no memory of 'ada' has a vector" in report["error"]


@pytest.mark.parametrize("encoder", ["model", "embedding"])
async def test_a_turn_goes_on_where_a_new_line_has_no_vector(role: Role, encoder: Any) -> None:
    await index(role, emotion_encoder=encoder, embedding_model=CountedEmbeddings())
    add_line(role, text="Another great storm came.")
    told = EmotionalRagContext(
        **run_settings(role.root.parent, feeling(), embedding_model=Without(), emotion_encoder=encoder)
    )
    graph = emotional_rag.build().compile()
    (output,) = await asyncio.gather(
        graph.ainvoke({"messages": [("user", "The lamp?")]}, context=told), return_exceptions=True
    )
    assert not isinstance(output, BaseException)
    assert output["messages"][-1].text == "I keep the light."
    assert output["evidence"]["memories_without_vector"] == 1
    assert len(output["evidence"]["memories"]) == len(ALL)


async def test_embeddings_that_fail_keep_the_moods(role: Role) -> None:
    class Broken(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise RuntimeError("out of memory")

    class Zero(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[0.0] * 8 for _ in texts]

    model = feeling()
    for broken, says in ((Broken(), "out of memory"), (Zero(), "zero")):
        with pytest.raises((RuntimeError, ValueError), match=says):
            await index(role, model, embedding_model=broken)
    report = await index(role, model)
    assert report["memories"] == 5
    assert len(model.calls) <= 15


# What others do meanwhile


def once(act: Callable[[], None]) -> Callable[[str], None]:
    """Something that is done when the first mood is asked for."""
    left, lock = [act], Lock()

    def done(memory: str) -> None:
        with lock:
            while left:
                left.pop()()

    return done


@pytest.mark.parametrize("number", [2, 5])
async def test_several_that_index_at_once_make_one_version(role: Role, number: int) -> None:
    models = [feeling() for _ in range(number)]
    reports = await asyncio.gather(*(index(role, model, concurrency=1) for model in models))
    assert {report["version"] for report in reports} == {served(role).version}
    assert moods(role) == {text: mood_of(text) for text in ALL}
    assert len(list(role.root.glob("index/memories/versions/*"))) == 1
    assert list(role.root.glob("index/memories/drafts/*")) == []
    assert [report["calls"] for report in reports] == [len(model.calls) for model in models]


async def test_memories_that_change_meanwhile_are_indexed_as_they_became(role: Role) -> None:
    @once
    def writing() -> None:
        add_line(role, text=NEW)
        remove(role.root, ["memories.jsonl:2"])

    report = await index(role, model := feeling(writing))
    assert moods(role).keys() == ALL - {DROWNED} | {NEW} != ALL
    assert (report["memories"], report["calls"]) == (5, len(model.calls))
    assert sorted(memories_asked(model)) == sorted(ALL | {NEW})
    assert served(role).manifest.sources == role.memory_files.checksums()


async def test_files_that_never_rest_are_said(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.nodes.index_steps.PATIENCE", 3)
    number = iter(range(99))

    class Restless(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            add_line(role, text=f"Verse {next(number)}.")
            return super().embed_documents(texts)

    with pytest.raises(StaleDraft, match="run `dramaturg index ada` again, with the same --method"):
        await index(role, embedding_model=Restless())
    assert next(number) == 3
    with pytest.raises(MissingIndex):
        served(role)


@pytest.mark.parametrize(
    "changes", [{"language": "zh"}, {"name": "Ida"}, {"aliases": ()}], ids=["language", "name", "aliases"]
)
async def test_a_card_that_changes_meanwhile_counts_as_it_became(role: Role, changes: Mapping[str, Any]) -> None:
    with_card(role, aliases=("Tom",))
    card = role.card

    @once
    def renaming() -> None:
        with_card(role, **changes)

    report = await index(role, model := feeling(renaming), concurrency=1)
    assert report["failed"] == []
    assert is_current(role, "WordEmbeddings:words")
    assert all(moods(role).values())
    assert report["calls"] == len(model.calls) >= report["memories"]
    with_card(role, **card.model_dump())
    assert not is_current(role, "WordEmbeddings:words")
    await index(role)
    assert all(moods(role).values())


# Versions


async def test_a_version_is_taken_back_with_its_files_alone(role: Role) -> None:
    before = files_of(role)
    first = await index(role)
    learn(role, [("dog.md", b"# Dog\n\nKit sleeps.\n")])
    texts = persona(role)
    edit(role.root, place_of(role, CALM), NEW)
    remove(role.root, place_of(role, STORM))
    (role.root / "dialogues" / "more.jsonl").write_bytes(before["dialogues/scenes.jsonl"])
    after = files_of(role)
    second = await index(role)
    found = versions(role, MEMORY_KIND)
    assert [(one.version, one.served, one.restorable) for one in found] == [
        (second["version"], True, True),
        (first["version"], False, True),
    ]
    assert found[0].documents == ("dialogues/more.jsonl", "dialogues/scenes.jsonl", "memories.jsonl")
    assert take_back(role, MEMORY_KIND).version == first["version"]
    assert (files_of(role), persona(role)) == (before, texts)
    assert {*moods(role)} == ALL
    await index(role, model := feeling())
    assert model.calls == []
    assert take_back(role, MEMORY_KIND).version == second["version"]
    assert (files_of(role), persona(role)) == (after, texts)
    assert take_back(role, MEMORY_KIND, first["version"][:6]).version == first["version"]
    assert holding(role, "memories.jsonl")


async def test_what_is_in_no_version_is_not_lost_by_taking_back(role: Role) -> None:
    await index(role)
    added(role)
    await index(role)
    add_line(role, text="Unheard of.")
    before = files_of(role)
    with pytest.raises(RoleError, match=r"memories\.jsonl has changes that are in no version yet"):
        take_back(role, MEMORY_KIND)
    assert files_of(role) == before


async def test_documents_and_memories_do_not_disturb_each_other(role: Role) -> None:
    settings = amadeus_index.AmadeusIndexContext(**run_settings(role.root.parent, feeling()))
    await amadeus_index.graph.ainvoke({}, context=settings)
    await index(role)
    files = files_of(role)
    learn(role, [("dog.md", b"# Dog\n\nKit sleeps.\n")])
    await amadeus_index.graph.ainvoke({}, context=settings)
    assert is_current(role, "WordEmbeddings:words")
    added(role)
    await index(role)
    assert {one.source for one in Role(role.root).index(passage_kind("acts")).open().passages} == {"dog.md", "life.md"}
    take_back(role, passage_kind("acts"))
    assert role.persona.names() == ["life.md"]
    assert NEW in moods(role)
    take_back(role, MEMORY_KIND)
    assert files_of(role) == files
    assert role.persona.names() == ["life.md"]
    take_back(role, passage_kind("acts"))
    assert role.persona.names() == ["dog.md", "life.md"]
    assert [len(versions(role, kind)) for kind in (passage_kind("acts"), MEMORY_KIND)] == [2, 2]
    erase_past(role)
    assert [len(versions(role, kind)) for kind in (passage_kind("acts"), MEMORY_KIND)] == [1, 1]
    assert is_current(role, "WordEmbeddings:words")


async def test_five_versions_are_kept(role: Role) -> None:
    for number in range(7):
        add_line(role, text=f"Verse {number}.")
        await index(role)
    assert len(versions(role, MEMORY_KIND)) == len(list(role.root.glob("index/memories/versions/*/manifest.json"))) == 5
    for _ in range(4):
        take_back(role, MEMORY_KIND)
        assert served(role).manifest.sources == role.memory_files.checksums()


async def test_erasing_leaves_nothing_of_what_was_removed(role: Role) -> None:
    secret = b"zanzibark"
    add_line(role, text=NEW)
    add_line(role, "dialogues/scenes.jsonl", scene="late", speaker="Ada Quill", text="My zanzibark is gone.")
    await index(role, feeling(lambda memory: mood(joy=3).replace("so it seems", f"of {memory[:18]}")))
    with pytest.raises(ModelUnavailable):
        await index(role, failing_after(1), {"rebuild": True})
    edit(role.root, ["dialogues/scenes.jsonl:5"], "It is gone.")
    remove(role.root, ["memories.jsonl:4"])
    await index(role)
    assert secret in everything(role.root)
    version = served(role).version
    erase_past(role)
    assert secret not in everything(role.root)
    assert (served(role).version, leftovers(role.root)) == (version, [])
    assert is_current(role, "WordEmbeddings:words")
    await index(role, model := feeling(), embedding_model=(words := CountedEmbeddings()))
    assert model.calls == []
    assert words.texts
    erase_past(role)
    with pytest.raises(MissingIndex, match="no version before this one"):
        take_back(role, MEMORY_KIND)


async def test_erasing_before_the_files_are_indexed_erases_all(role: Role) -> None:
    await index(role)
    removed(role)
    erase_past(role)
    with pytest.raises(MissingIndex):
        served(role)
    assert STORM.encode() not in everything(role.root)
    assert {*(text for text in ALL if text.encode() in everything(role.root))} == {DROWNED}  # as the file says it


async def test_a_version_keeps_only_the_answers_that_it_rests_on(role: Role) -> None:
    await index(role, feeling(lambda memory: "?" if memory == STORM else None))
    assert len(decode_answers(published(role, ANSWERS))) == 5
    await index(role, None, {"retry": True})
    answers = decode_answers(published(role, ANSWERS))
    assert len(answers) == 5
    assert all(isinstance(answer, dict) for answer in answers.values())  # the failure is no part of it any more
    removed(role)
    await index(role)
    assert len(decode_answers(published(role, ANSWERS))) == 4
    await index(role, emotion_encoder="embedding")
    by_words = decode_answers(published(role, ANSWERS))
    assert len(by_words) == 4
    assert not {*by_words} & {*answers}
    assert len(Role(role.root).index(MEMORY_KIND).builder.known()) == 4 + 5 + 1


async def test_a_damaged_version_is_stood_in_for_and_mended(role: Role) -> None:
    first = await index(role)
    added(role)
    second = await index(role)
    folder = IndexFolder(role.root, MEMORY_KIND)
    pointer = folder.pointer()
    assert pointer
    (folder.folder_of(pointer.versions[0]) / "moods.jsonl").write_bytes(b"{}\n")
    store = served(role)
    assert (store.version, "moods.jsonl is not as it was written" in store.warning) == (first["version"], True)
    assert "Until then the version of" in store.warning
    with pytest.raises(DamagedIndex):
        Role(role.root).index(MEMORY_KIND).open(second["version"])
    report = await index(Role(role.root), model := feeling())
    assert (len(model.calls), report["version"]) == (0, second["version"])
    assert (served(role).warning, NEW in moods(role)) == ("", True)


async def test_where_no_version_is_whole_all_is_made_again(role: Role) -> None:
    first = await index(role)
    for path in role.root.glob("index/memories/versions/*/*"):
        path.write_bytes(b"")
    with pytest.raises(DamagedIndex, match="run `dramaturg index ada --method emotional-rag`, which makes it again"):
        served(role)
    report = await index(Role(role.root), model := feeling())
    assert (len(model.calls), report["version"]) == (5, first["version"])


# The builder by itself


async def test_a_builder_refuses_what_does_not_fit(role: Role) -> None:
    await index(role)
    builder, memories = Role(role.root).index(MEMORY_KIND).builder, served(role).memories
    for nothing_new, why in (
        ([], r"nothing to index \(memories\)"),
        ([*memories, memories[0]], "records have the same id"),
    ):
        with pytest.raises(RoleError, match=why):
            builder.draft(nothing_new, embedding="hash-2", settings={}, sources={})
    draft = builder.draft(memories, embedding="hash-2", settings={}, sources=role.memory_files.checksums())
    texts, felt = [one.embedding_text for one in memories], [Mood(emotions=None, error="?")] * 5

    def publish(moods: list[Mood]) -> None:
        builder.publish(draft, {}, files={MOODS_FILE: encode_records(moods)}, used={}, sources=role.memory_files)

    assert builder.unembedded(draft, [*texts, *texts]) == builder.unembedded(draft) == texts
    with pytest.raises(
        MissingIndex, match="5 texts have no vector yet: run `dramaturg index ada --method emotional-rag` again"
    ):
        publish(felt)
    with pytest.raises(ValueError, match="5 texts but 4 vectors"):
        builder.add_vectors(draft, texts, [[1.0, 0.0]] * 4)
    builder.add_vectors(draft, [], [])
    builder.add_vectors(draft, texts, [[1.0, 0.0]] * 5)
    for number in (0, 4, 6):
        with pytest.raises(RoleError, match=r"moods\.jsonl, vectors\.faiss do not fit each other"):
            publish([felt[0]] * number)
    add_line(role, text=NEW)
    with pytest.raises(StaleDraft):
        publish(felt)
    for nothing in (builder.records, builder.answers, lambda one: builder.add_answers(one, {"a": 1})):
        with pytest.raises(MissingIndex, match=r"no draft .*: run `dramaturg index ada --method emotional-rag` from"):
            nothing("0" * 24)
    assert {*moods(role)} == ALL


async def test_roles_do_not_share_answers(tmp_path: Path) -> None:
    for name in ("ada", "ida"):
        small_role(tmp_path, role=name)
    ada, ida = Role(tmp_path / "ada"), Role(tmp_path / "ida")
    assert isinstance(ada.card, RoleCard)
    put_memories(ada, NEW)
    put_memories(ida, NEW)
    runs: list[Awaitable[Any]] = [index(ada, first := feeling()), index(ida, second := feeling())]
    await asyncio.gather(*runs)
    assert memories_asked(first) == memories_asked(second) == [NEW]
    assert moods(ida) == {NEW: mood_of(NEW)}
    assert feels(NEW)
    assert HATED not in moods(ada)
