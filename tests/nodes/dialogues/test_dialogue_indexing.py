"""Indexing of dialogues: what is embedded and scored, and how often; scores of conversations; versions; erasing."""

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import JsonValue

from dramaturg.models.errors import ModelRefused, ModelUnavailable
from dramaturg.nodes.dialogues.index import edge_key, edges_of, recipe, score_in
from dramaturg.nodes.index_steps import current
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError, RoleFileError, StaleDraft
from dramaturg.stores.index.answers import ANSWERS, decode_answers
from dramaturg.stores.index.dialogues import DIALOGUE_KIND, DIALOGUES_FILE, DialogueStore
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.locks import role_lock
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back, versions
from dramaturg.workflows.drmr_index import DrmrIndexContext, build, graph

import memory_roles
from cast_roles import SCENES, cast_role, pairs_asked, take
from fakes import ScriptedChatModel
from memory_roles import CountedEmbeddings, add_line, everything, leftovers, with_card
from passage_samples import quick
from roles import WordEmbeddings, fenced, run_settings
from scope_roles import player, reasoned, shown

pytestmark = pytest.mark.sample_of_file(12)

FILE = "dialogues/scenes.jsonl"
SCORES = {"scores": True}
REBUILD = {"rebuild": True}
MOON = {"scene": "zanzibark", "speaker": "Tom Quill", "text": "The zanzibark is full tonight."}
EDGES = 6  # of the cast, in seven dialogues: two of them have two

Rule = Callable[[str, str], str | Exception | None]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return cast_role(tmp_path)


def scoring(rule: Rule = lambda pair, dialogue: None) -> ScriptedChatModel:
    """Score an edge by its names; where `rule` gives an answer for a pair and a dialogue, it is that."""

    def answer(text: str) -> str | Exception:
        pair, dialogue = fenced("pair", text), fenced("dialogue", text)
        given = rule(pair, dialogue)
        return reasoned(usual(pair), f"of {pair[:2]}") if given is None else given

    return player(edge=answer)


def usual(pair: str) -> int:
    """The score of two names."""
    return len(pair) % 5 + 1


def gone_after(answered: int, error: Exception | None = None) -> ScriptedChatModel:
    """A model that is gone after so many answers."""
    model = scoring()
    gone = error or ModelUnavailable("It is gone.")
    model.reply = scoring(lambda *_: gone if len(model.calls) > answered else None).reply
    return model


def context(role: Role, model: Any = None, **given: Any) -> DrmrIndexContext:
    return DrmrIndexContext(**run_settings(role.root.parent, model or scoring(), **given))


async def index(role: Role, model: Any = None, wishes: Mapping[str, bool] | None = None, **given: Any) -> Any:
    """Index the role's dialogues; give the report."""
    output = await graph.ainvoke(dict(wishes or {}), context=context(role, model, **given))  # type: ignore[call-overload]
    return output["index"]


def served(role: Role) -> DialogueStore:
    """The dialogues that are read now, as another process would see them."""
    return Role(role.root).index(DIALOGUE_KIND).open()


def is_current(role: Role, embedding: str = "WordEmbeddings:words", **given: Any) -> bool:
    """Whether the dialogues that are served are what the files and settings ask for."""
    now = recipe(role.card, context(role, **given))
    return (
        current(Role(role.root).index(DIALOGUE_KIND), embedding, lambda one: one.manifest.settings == now) is not None
    )


def published(role: Role, name: str) -> bytes:
    """A file of the version that is served."""
    folder = IndexFolder(role.root, DIALOGUE_KIND)
    pointer = folder.pointer()
    assert pointer
    return (folder.folder_of(pointer.versions[0]) / name).read_bytes()


def in_version(role: Role) -> dict[str, JsonValue]:
    """The answers that the version that is served holds."""
    return decode_answers(published(role, ANSWERS))


def known(role: Role) -> Mapping[str, JsonValue]:
    """All answers that another process finds."""
    return Role(role.root).index(DIALOGUE_KIND).builder.known()


def keys(role: Role) -> dict[tuple[str, str], str]:
    """What the scores of the edges are kept by, by pair and each of its scenes."""
    return {
        (one.scene, " – ".join(edge.pair)): edge_key(edge, role.card)
        for edge in edges_of(served(role).dialogues)
        for one in edge.dialogues
    }


def loose(role: Role) -> list[Path]:
    """Files of answers that belong to no draft."""
    return sorted(role.root.glob("index/dialogues/answers/*"))


def keep(role: Role, *where: str, score: int = 5, reason: str = "said in a talk") -> list[str]:
    """Keep scores for the edges of scenes, as a conversation does; give their keys. A reason names the scene."""
    found = {key: scene for (scene, _), key in keys(role).items() if scene in where}
    Role(role.root).index(DIALOGUE_KIND).builder.keep(
        {key: {"score": score, "reason": reason.replace("SCENE", scene)} for key, scene in found.items()}
    )
    return [*found]


def texts(role: Role) -> list[str]:
    return [dialogue.text for dialogue in served(role).dialogues]


def lines(role: Role) -> list[str]:
    return (role.root / FILE).read_text(encoding="utf-8").splitlines()


def drop_scene(role: Role, scene: str) -> None:
    """Take a scene out of the file."""
    left = [line for line in lines(role) if json.loads(line)["scene"] != scene]
    (role.root / FILE).write_text("".join(f"{line}\n" for line in left), encoding="utf-8")


# What is made


async def test_published_dialogues(role: Role) -> None:
    report, store = await index(role, model := scoring()), served(role)
    assert report == {
        "version": store.version,
        "dialogues": 7,
        "speakers": 4,
        "relations": 6,
        "scored": 0,
        "cut": 0,
        "failed": [],
        "calls": 0,
        "tokens": 0,
    }
    assert model.calls == []
    assert [one.scene for one in store.dialogues] == [*SCENES]
    assert sorted(store.graph) == ["Ada Quill", "Mr Pike", "Nell", "Tom Quill"]
    assert store.manifest.counts == {"dialogues": 7, "speakers": 4, "relations": 6, "scored": 0}
    assert store.manifest.settings == {"length": 1000, "names": ["Ada Quill"]}
    assert {*store.manifest.sources} == {FILE}
    assert np.abs(store.vectors() - np.array(WordEmbeddings().embed_documents(texts(role)))).max() < 1e-6
    assert (in_version(role), leftovers(role.root)) == ({}, [])


async def test_a_store_knows_its_dialogues_and_ranks_them(role: Role) -> None:
    await index(role)
    store = served(role)
    one = store.dialogues[3]
    assert (store.get(one.id), one.id in store, "nowhere" in store) == (one, True, False)
    with pytest.raises(RoleError, match="has no dialogue 'nowhere'"):
        store.get("nowhere")
    near = store.ranked(WordEmbeddings().embed_query(one.text))
    assert near[0][0] == one
    assert near[0][1] == pytest.approx(1, abs=1e-5)
    assert {dialogue.id for dialogue, _ in near} == {dialogue.id for dialogue in store.dialogues}
    assert [similarity for _, similarity in near] == sorted((similarity for _, similarity in near), reverse=True)
    with pytest.raises(ValueError, match=r"vectors of shape \(1024,\)"):
        store.ranked([1.0, 0.0])


async def test_what_is_streamed(role: Role) -> None:
    given = build().compile().astream(SCORES, context=context(role), stream_mode="custom")  # type: ignore[call-overload]
    events = [event async for event in given]
    assert events[0] == {"event": "gathered", "dialogues": 7}
    asked = [event for event in events if event["event"] == "asked"]
    assert [(one["done"], one["total"]) for one in asked if one["what"] == "edges"][-1] == (EDGES, EDGES)
    assert [(one["done"], one["total"]) for one in asked if one["what"] == "vectors"] == [(0, 7), (7, 7)]
    assert (events[-1]["event"], events[-1]["version"]) == ("published", served(role).version)


async def test_a_role_without_dialogues_says_what_to_do(role: Role) -> None:
    says = r"^'ada' has no dialogues: write dialogues/\*\.jsonl into its folder, then index it\."
    for text in ("", '{"scene": "s", "speaker": "Tom", "text": "…"}\n'):
        (role.root / FILE).write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=says):
            await index(role)
    (role.root / FILE).unlink()
    with pytest.raises(ValueError, match=says):
        await index(role)
    with pytest.raises(MissingIndex, match="run `dramaturg index ada --method drmr`"):
        served(role)


@pytest.mark.parametrize(
    "slip", ['{"scene": "s", "speaker": "Tom", "txt": "Aye."}', '{"scene": "s"', '{"scene": "s", "text": "Aye."}']
)
async def test_a_line_that_cannot_be_read_is_named_and_leaves_what_is_served(role: Role, slip: str) -> None:
    await index(role)
    before, number = texts(role), len(lines(role)) + 2
    with (role.root / FILE).open("a", encoding="utf-8") as file:
        file.write(f"\n{slip}\n")
    with pytest.raises(RoleFileError, match=rf"ada/dialogues/scenes\.jsonl, line {number}: "):
        await index(role, model := scoring(), SCORES)
    assert (model.calls, texts(role)) == ([], before)


async def test_a_role_whose_dialogues_have_one_speaker_has_nothing_to_score(role: Role) -> None:
    (role.root / FILE).write_text(json.dumps(MOON) + "\n", encoding="utf-8")
    report = await index(role, model := scoring(), SCORES)
    assert (report["dialogues"], report["speakers"], report["relations"]) == (1, 1, 0)
    assert (model.calls, report["scored"]) == ([], 0)


# What is current


async def test_what_decides_whether_dialogues_are_current(role: Role) -> None:
    assert not is_current(role)
    await index(role)
    assert is_current(role)
    assert is_current(role, appraisal="apart", concurrency=1, embedding_batch=2, deadline=7)
    assert not is_current(role, dialogue_length=500)
    assert not is_current(role, "another")
    add_line(role, FILE, **MOON)
    assert not is_current(role)
    await index(role)
    assert is_current(role)
    shutil.copy(role.root / FILE, role.root / "dialogues" / "more.jsonl")
    assert not is_current(role)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"name": "Ada Penrose", "aliases": ("Ada Quill",)}, False),
        ({"aliases": ("Nell",)}, False),
        ({"profile": "A keeper."}, True),
        ({"sources": ("here",)}, True),
        ({"language": "zh"}, True),  # the language of the questions, and no part of the dialogues
    ],
    ids=["name", "aliases", "profile", "sources", "language"],
)
async def test_the_names_of_the_card_are_part_of_the_dialogues(
    role: Role, changes: Mapping[str, Any], same: bool
) -> None:
    first = await index(role)
    with_card(role, **changes)
    assert is_current(role) == same
    report = await index(role)
    assert (report["version"] == first["version"]) == same
    assert is_current(role)
    assert {*served(role).graph} - {"Tom Quill", "Mr Pike", "Nell"} == {Role(role.root).card.name}
    assert ("Nell" in served(role).graph) == ("Nell" not in Role(role.root).card.aliases)


async def test_another_language_asks_for_other_scores(role: Role) -> None:
    await index(role, None, SCORES)
    with_card(role, language="zh")
    report = await index(role, model := scoring(), SCORES)
    assert (len(model.calls), report["scored"]) == (EDGES, EDGES)
    with_card(role, language="en")
    report = await index(role, model := scoring(), SCORES)
    assert (model.calls, report["scored"]) == ([], EDGES)


async def test_another_length_makes_other_dialogues(role: Role) -> None:
    for number in range(8):
        add_line(role, FILE, scene="long", speaker=("Tom Quill", "Nell")[number % 2], text=f"{number} fathoms. " * 2)
    first = await index(role)
    shorter = await index(role, dialogue_length=100)
    assert first["dialogues"] == 8 < shorter["dialogues"]
    assert all(len(text) <= 100 for text in texts(role))
    assert is_current(role, dialogue_length=100)
    assert not is_current(role)
    assert (await index(role))["version"] == first["version"]


# What is embedded and asked, and how often


async def test_nothing_is_embedded_or_scored_twice(role: Role) -> None:
    first = await index(role, None, SCORES, embedding_model=(words := CountedEmbeddings()))
    assert sorted(words.texts) == sorted(texts(role))
    again = await index(role, model := scoring(), SCORES, embedding_model=(words := CountedEmbeddings()))
    assert (model.calls, words.texts) == ([], [])
    assert again == {**first, "calls": 0, "tokens": 0}
    assert len(versions(Role(role.root), DIALOGUE_KIND)) == 1


async def test_only_what_is_new_is_embedded_and_scored(role: Role) -> None:
    words = CountedEmbeddings()
    await index(role, None, SCORES, embedding_model=words)
    before = in_version(role)
    words.texts.clear()
    add_line(role, FILE, **MOON)
    add_line(role, FILE, scene="zanzibark", speaker="Nell", text="It is.")
    drop_scene(role, "net")
    report = await index(role, model := scoring(), SCORES, embedding_model=words)
    assert words.texts == ["Tom Quill: The zanzibark is full tonight.\nNell: It is."]
    asked = {pair: dialogues for dialogues, pair in pairs_asked(shown(model, "edge"))}
    assert sorted(asked) == ["Ada Quill\nNell", "Nell\nTom Quill"]  # without the net, and with the new scene
    assert asked["Nell\nTom Quill"].endswith(f"\n\n{words.texts[0]}")
    assert (report["dialogues"], report["relations"], report["scored"], report["calls"]) == (7, EDGES, EDGES, 2)
    assert len({*before} - {*in_version(role)}) == 2


async def test_a_text_that_is_said_in_two_scenes_is_embedded_and_scored_once(role: Role) -> None:
    for speaker, text in SCENES["parcel"]:
        add_line(role, FILE, scene="once more", speaker=speaker, text=text)
    report = await index(role, model := scoring(), SCORES, embedding_model=(words := CountedEmbeddings()))
    assert (report["dialogues"], report["relations"], report["scored"]) == (8, EDGES, EDGES)
    assert (len(model.calls), len(words.texts)) == (EDGES, 7)


async def test_a_rebuild_embeds_and_scores_all_anew_while_the_old_is_served(role: Role) -> None:
    first, seen = await index(role, None, SCORES), list[str]()

    def looking(pair: str, dialogue: str) -> str:
        seen.append(served(role).version)
        return reasoned(1, "seen again")

    words = CountedEmbeddings()
    report = await index(role, model := scoring(looking), {**SCORES, **REBUILD}, embedding_model=words)
    assert {*seen} == {first["version"]}
    assert (len(model.calls), sorted(words.texts)) == (EDGES, sorted(texts(role)))
    assert report["version"] != first["version"]
    assert {score_in(in_version(role), key) for key in keys(role).values()} == {(1.0, "seen again", ())}
    again = await index(role, model := scoring(), SCORES, embedding_model=words)
    assert (model.calls, again["version"]) == ([], report["version"])


async def test_texts_are_embedded_in_batches(role: Role) -> None:
    sizes = []

    class Batches(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            sizes.append(len(texts))
            return super().embed_documents(texts)

    await index(role, embedding_model=Batches(), embedding_batch=3)
    assert sizes == [3, 3, 1]


async def test_wishes_are_not_remembered(role: Role) -> None:
    compiled, thread = build().compile(InMemorySaver()), {"configurable": {"thread_id": "t"}}
    calls = []
    wishes: list[Mapping[str, bool]] = [{}, SCORES, {}, {**SCORES, **REBUILD}, REBUILD, {}]
    for wish in wishes:
        model = scoring()
        output = await compiled.ainvoke(dict(wish), thread, context=context(role, model))  # type: ignore[call-overload]
        calls.append(len(model.calls))
        assert output["index"]["calls"] == calls[-1]
    assert calls == [0, EDGES, 0, EDGES, 0, 0]


# Scores


async def test_every_edge_is_scored_once_for_its_dialogues_together(role: Role) -> None:
    report = await index(role, model := scoring(), SCORES)
    expected = {
        ("\n\n".join(one.text for one in edge.dialogues), "\n".join(edge.pair)): edge_key(edge, role.card)
        for edge in edges_of(served(role).dialogues)
    }
    asked = pairs_asked(shown(model, "edge"))
    assert sorted(asked) == sorted(expected)
    assert len(asked) == EDGES == report["scored"] == report["calls"]
    assert report["tokens"] > 100
    assert in_version(role) == {
        key: {"score": usual(pair), "reason": f"of {pair[:2]}"} for (_, pair), key in expected.items()
    }
    assert served(role).manifest.counts["scored"] == EDGES


async def test_score_and_reason_apart_are_two_questions(role: Role) -> None:
    model = player(edge=lambda text: "4" if text.endswith("from 1 to 5:") else "They\n quarrel.")
    report = await index(role, model, SCORES, appraisal="apart")
    assert (report["calls"], report["scored"]) == (2 * EDGES, EDGES)
    assert {score_in(in_version(role), key) for key in keys(role).values()} == {(4.0, "They quarrel.", ())}
    again = await index(role, model := scoring(), SCORES, appraisal="together")
    assert (model.calls, again["version"]) == ([], report["version"])


SAID: Mapping[str, str | None] = {"together": None, "apart": "3"}


@pytest.mark.parametrize("appraisal", SAID)
async def test_an_edge_without_a_score_is_listed_and_asked_about_again(role: Role, appraisal: str) -> None:
    silent = scoring(lambda pair, dialogue: "I cannot say." if pair == "Nell\nTom Quill" else SAID[appraisal])
    report = await index(role, silent, SCORES, appraisal=appraisal)
    (failed,) = report["failed"]
    assert (failed["edge"], failed["dialogue"]) == ("Nell – Tom Quill", f"{FILE}:7–10")
    assert failed["error"]
    assert (report["scored"], served(role).manifest.counts["scored"]) == (EDGES - 1, EDGES - 1)
    again = await index(role, model := scoring(), SCORES)
    assert [pair for _, pair in pairs_asked(shown(model, "edge"))] == ["Nell\nTom Quill"]
    assert (again["scored"], again["failed"]) == (EDGES, [])


@pytest.mark.parametrize("error", [ModelRefused("Wrong key."), ModelUnavailable("It is gone.")])
async def test_a_model_that_answers_nothing_stops_the_run(role: Role, error: Exception) -> None:
    first = await index(role)
    with pytest.raises(type(error), match=str(error)):
        await index(role, scoring(lambda *_: error), SCORES)
    assert served(role).version == first["version"]


@pytest.mark.parametrize("answered", [1, 3, 5])
@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_run_that_loses_its_model_goes_on_where_it_was(role: Role, answered: int, concurrency: int) -> None:
    with pytest.raises(ModelUnavailable):
        await index(role, broken := gone_after(answered), SCORES, concurrency=concurrency)
    had = known(role)  # an answer under way beside a failure may be lost
    assert len(had) == answered if concurrency == 1 else len(had) <= answered
    report = await index(role, model := scoring(), SCORES)
    assert len(had) + len(model.calls) == EDGES == report["scored"]
    assert had.items() <= in_version(role).items()
    if concurrency == 1:
        before = pairs_asked(shown(broken, "edge"))[:answered]
        assert not {*before} & {*pairs_asked(shown(model, "edge"))}


async def test_embeddings_that_fail_keep_the_scores(role: Role) -> None:
    class Broken(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise RuntimeError("out of memory")

    model = scoring()
    with pytest.raises(RuntimeError, match="out of memory"):
        await index(role, model, SCORES, embedding_model=Broken())
    had = len(known(role))  # an answer that is under way may still be kept
    before = len(model.calls)
    assert (await index(role, model, SCORES))["scored"] == EDGES
    assert len(model.calls) - before <= EDGES - had


# Scores that conversations have asked for


async def test_scores_of_conversations_go_into_the_next_version(role: Role) -> None:
    await index(role)
    kept = keep(role, "parcel", "supper")
    assert len(loose(role)) == 1
    report = await index(role, model := scoring())
    assert (model.calls, report["scored"]) == ([], 3)
    assert {*in_version(role)} == {*kept}
    assert {score_in(in_version(role), key) for key in kept} == {(5.0, "said in a talk", ())}
    assert loose(role) == []
    assert {*known(role)} == {*kept}


async def test_scores_of_conversations_are_not_asked_again(role: Role) -> None:
    await index(role)
    kept = keep(role, "parcel", "supper")
    report = await index(role, model := scoring(), SCORES)
    assert (len(model.calls), report["scored"]) == (EDGES - len(kept), EDGES)
    asked = [dialogue for dialogue, _ in pairs_asked(shown(model, "edge"))]
    assert not any("parcel" in dialogue or "supper" in dialogue for dialogue in asked)


async def test_a_turn_keeps_its_scores_beside_the_version(role: Role) -> None:
    await index(role)
    await take(role, model := player(), "Where is my parcel?", user_role="tom")
    asked = shown(model, "edge")
    assert asked
    assert len(loose(role)) == 1
    assert len(known(role)) == len({*asked})
    report = await index(role, model := scoring(), SCORES)
    assert len(model.calls) == EDGES - len({*asked})
    assert (report["scored"], loose(role)) == (EDGES, [])
    await take(role, model := player(), "Where is my parcel?", user_role="tom")
    assert shown(model, "edge") == []


async def test_what_a_version_does_not_hold_stays_beside_it(role: Role) -> None:
    await index(role)
    (parcel,), (net, inn) = keep(role, "parcel"), keep(role, "net", "inn", score=2)  # in the order of the file
    drop_scene(role, "net")
    report = await index(role)
    assert report["scored"] == 2
    assert {*in_version(role)} == {parcel, inn}
    (left,) = loose(role)
    assert {*decode_answers(left.read_bytes())} == {inn, net}
    add_line(role, FILE, scene="net", speaker="Nell", text=SCENES["net"][0][1])
    add_line(role, FILE, scene="net", speaker="Ada Quill", text=SCENES["net"][1][1])
    report = await index(role, model := scoring())
    assert (model.calls, report["scored"], loose(role)) == ([], 3, [])


async def test_a_rebuild_drops_scores_of_conversations(role: Role) -> None:
    await index(role)
    keep(role, "parcel", score=5)
    report = await index(role, model := scoring(lambda *_: reasoned(1)), {**SCORES, **REBUILD})
    assert (len(model.calls), report["scored"]) == (EDGES, EDGES)
    assert loose(role) == []
    assert {answer["score"] for answer in known(role).values() if isinstance(answer, dict)} == {1}


async def test_a_rebuild_with_scores_that_was_killed_before_it_tidied_up_counts(
    role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise RuntimeError("killed")

    await index(role)
    keep(role, "parcel", score=5)
    with monkeypatch.context() as patch:
        patch.setattr("dramaturg.stores.index.builder.drop_kept", killed)
        with pytest.raises(RuntimeError, match="killed"):
            await index(role, scoring(lambda *_: reasoned(1)), {**SCORES, **REBUILD})
    assert len(loose(role)) == 1
    report = await index(Role(role.root), model := scoring())
    assert (model.calls, report["scored"]) == ([], EDGES)
    assert {score_in(in_version(role), key) for key in keys(role).values()} == {(1.0, "so it seems", ())}


async def test_a_rebuild_without_scores_keeps_those_of_conversations_also_of_one_meanwhile(role: Role) -> None:
    class Keeping(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            kept.extend(keep(role, "net"))
            return super().embed_documents(texts)

    await index(role)
    kept = keep(role, "parcel")
    report = await index(role, model := scoring(), REBUILD, embedding_model=Keeping())
    assert len(kept) == 2
    assert (model.calls, report["scored"]) == ([], 2)
    assert {*known(role)} == {*in_version(role)} == {*kept}


@pytest.mark.parametrize("damage", [b"", b'["x", 1]\n', b"\xff\xfe"], ids=["empty", "other", "bytes"])
async def test_a_damaged_file_of_scores_is_asked_again(role: Role, damage: bytes) -> None:
    await index(role)
    kept = keep(role, "parcel")
    (path,) = loose(role)
    path.write_bytes(damage)
    assert known(role) == {}
    report = await index(role, model := scoring(), SCORES)
    assert (len(model.calls), report["scored"]) == (EDGES, EDGES)
    assert score_in(in_version(role), kept[0]) == (float(usual("Ada Quill\nTom Quill")), "of Ad", ())


# What others do meanwhile


def once(act: Callable[[], None]) -> Rule:
    """Something that is done when the first score is asked for."""
    left, lock = [act], Lock()

    def done(pair: str, dialogue: str) -> None:
        with lock:
            while left:
                left.pop()()

    return done


@pytest.mark.parametrize("number", [2, 5])
async def test_several_that_index_at_once_make_one_version(role: Role, number: int) -> None:
    models = [scoring() for _ in range(number)]
    reports = await asyncio.gather(*(index(role, model, SCORES, concurrency=1) for model in models))
    assert {report["version"] for report in reports} == {served(role).version}
    assert {report["scored"] for report in reports} == {EDGES}
    assert len(list(role.root.glob("index/dialogues/versions/*"))) == 1
    assert list(role.root.glob("index/dialogues/drafts/*")) == []
    assert [report["calls"] for report in reports] == [len(model.calls) for model in models]


async def test_dialogues_that_change_meanwhile_are_indexed_as_they_became(role: Role) -> None:
    @once
    def writing() -> None:
        add_line(role, FILE, **MOON)
        drop_scene(role, "net")

    report = await index(role, model := scoring(writing), SCORES)
    assert [one.scene for one in served(role).dialogues] == [*(one for one in SCENES if one != "net"), "zanzibark"]
    assert (report["scored"], report["calls"]) == (EDGES, len(model.calls))
    assert len(model.calls) == EDGES + 1  # that of the net was asked for in vain
    assert served(role).manifest.sources == role.dialogue_files.checksums()


async def test_a_card_that_changes_meanwhile_counts_as_it_became(role: Role) -> None:
    @once
    def renaming() -> None:
        with_card(role, name="Ida", aliases=("Ada Quill",))

    report = await index(role, model := scoring(renaming), SCORES, concurrency=1)
    assert is_current(role)
    assert "Ida" in served(role).graph
    assert (report["scored"], report["calls"]) == (EDGES, len(model.calls))


async def test_a_draft_that_is_taken_away_is_made_again(role: Role) -> None:
    @once
    def removing() -> None:
        with role_lock(role.root):  # else a file may be written there meanwhile
            shutil.rmtree(role.root / "index" / "dialogues")

    report = await index(role, scoring(removing), SCORES)
    assert (report["scored"], report["failed"], len(texts(role))) == (EDGES, [], 7)
    assert leftovers(role.root) == []


async def test_files_that_never_rest_are_said(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.nodes.index_steps.PATIENCE", 3)
    number = iter(range(99))

    class Restless(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            add_line(role, FILE, scene="song", speaker="Tom", text=f"Verse {next(number)}.")
            return super().embed_documents(texts)

    with pytest.raises(StaleDraft, match="run `dramaturg index ada` again, with the same --method"):
        await index(role, embedding_model=Restless())
    assert next(number) == 3
    with pytest.raises(MissingIndex):
        served(role)


async def test_an_index_that_was_deleted_is_made_again(role: Role) -> None:
    first = await index(role, None, SCORES)
    shutil.rmtree(role.root / "index")
    assert not is_current(role)
    again = await index(role, model := scoring(), SCORES)
    assert (again["version"], again["scored"], len(texts(role))) == (first["version"], EDGES, 7)
    assert is_current(role)
    shutil.rmtree(role.root / "index")
    output = await take(role, model := player(), "Where is my parcel?", user_role="tom")
    assert output["messages"][-1].text == "I keep the light."
    assert shown(model, "edge")
    assert is_current(role)


# Versions


async def test_versions_are_listed_with_what_they_hold(role: Role) -> None:
    first = await index(role, None, SCORES)
    drop_scene(role, "supper")
    second = await index(role)
    found = versions(Role(role.root), DIALOGUE_KIND)
    assert [(one.version, one.served, one.restorable, one.documents) for one in found] == [
        (second["version"], True, True, (FILE,)),
        (first["version"], False, True, (FILE,)),
    ]
    assert [dict(one.counts) for one in found] == [
        {"dialogues": 6, "speakers": 4, "relations": 5, "scored": 3},
        {"dialogues": 7, "speakers": 4, "relations": 6, "scored": EDGES},
    ]


async def test_five_versions_are_kept(role: Role) -> None:
    for number in range(7):
        add_line(role, FILE, scene=f"s{number}", speaker="Tom Quill", text=f"Verse {number}.")
        await index(role)
    assert (
        len(versions(role, DIALOGUE_KIND)) == len(list(role.root.glob("index/dialogues/versions/*/manifest.json"))) == 5
    )


async def test_a_version_is_taken_back_with_its_files_alone(role: Role) -> None:
    before, others = (role.root / FILE).read_bytes(), {**files_beside(role)}
    first = await index(role, None, SCORES)
    drop_scene(role, "supper")
    add_line(role, "dialogues/more.jsonl", **MOON)
    after = (role.root / FILE).read_bytes()
    second = await index(role)
    assert take_back(role, DIALOGUE_KIND).version == first["version"]
    assert ((role.root / FILE).read_bytes(), role.dialogue_files.names()) == (before, [FILE])
    assert is_current(role)
    report = await index(role, model := scoring(), SCORES)
    assert (model.calls, report["version"]) == ([], first["version"])
    assert take_back(role, DIALOGUE_KIND).version == second["version"]
    assert (role.root / FILE).read_bytes() == after
    assert role.dialogue_files.names() == ["dialogues/more.jsonl", FILE]
    assert files_beside(role) == others


def files_beside(role: Role) -> dict[str, bytes]:
    """What is no dialogue and in no index."""
    paths = [path for path in role.root.rglob("*") if path.is_file() and path.suffix in (".md", ".yaml", ".jsonl")]
    inside = {path: path.relative_to(role.root).as_posix() for path in paths}
    return {name: path.read_bytes() for path, name in inside.items() if not name.startswith(("index/", "dialogues/"))}


async def test_what_is_in_no_version_is_not_lost_by_taking_back(role: Role) -> None:
    await index(role)
    add_line(role, FILE, **MOON)
    await index(role)
    drop_scene(role, "net")
    before = (role.root / FILE).read_bytes()
    with pytest.raises(RoleError, match=r"dialogues/scenes\.jsonl has changes that are in no version yet"):
        take_back(role, DIALOGUE_KIND)
    assert (role.root / FILE).read_bytes() == before


async def test_scores_outlive_a_version_that_is_taken_back(role: Role) -> None:
    await index(role)
    drop_scene(role, "supper")
    await index(role)
    kept = keep(role, "old-lamp")
    take_back(role, DIALOGUE_KIND)
    assert {*known(role)} == {*kept}
    report = await index(role, model := scoring(), SCORES)
    assert (len(model.calls), report["scored"]) == (EDGES - 1, EDGES)


async def test_a_damaged_version_is_stood_in_for_and_mended(role: Role) -> None:
    first = await index(role, None, SCORES)
    add_line(role, FILE, **MOON)
    second = await index(role)
    folder = IndexFolder(role.root, DIALOGUE_KIND)
    pointer = folder.pointer()
    assert pointer
    (folder.folder_of(pointer.versions[0]) / DIALOGUES_FILE).write_bytes(b"{}\n")
    store = served(role)
    assert (store.version, f"{DIALOGUES_FILE} is not as it was written" in store.warning) == (first["version"], True)
    assert "Until then the version of" in store.warning
    with pytest.raises(DamagedIndex):
        Role(role.root).index(DIALOGUE_KIND).open(second["version"])
    assert not is_current(role)
    report = await index(Role(role.root), model := scoring(), SCORES)
    assert (model.calls, report["version"], served(role).warning) == ([], second["version"], "")


async def test_a_turn_that_reads_a_version_standing_in_is_told(role: Role) -> None:
    await index(role)
    drop_scene(role, "calm")
    await index(role)
    folder = IndexFolder(role.root, DIALOGUE_KIND)
    pointer = folder.pointer()
    assert pointer
    shutil.rmtree(folder.folder_of(pointer.versions[0]))
    store = served(role)
    assert "calm" in {one.scene for one in store.dialogues}
    assert store.warning


@pytest.mark.parametrize("name", ["dialogues.jsonl", "vectors.faiss", "manifest.json"])
async def test_where_no_version_is_whole_all_is_made_again(role: Role, name: str) -> None:
    first = await index(role, None, SCORES)
    for path in role.root.glob(f"index/dialogues/versions/*/{name}"):
        path.write_bytes(b"")
    with pytest.raises(DamagedIndex, match="run `dramaturg index ada --method drmr`, which makes it again"):
        served(role)
    report = await index(Role(role.root), None, SCORES)
    assert (report["version"], served(role).warning) == (first["version"], "")


async def test_memories_of_the_same_files_are_indexed_again_and_ask_nothing(role: Role) -> None:
    """They share dialogues/*.jsonl: what one kind takes back, the other reads too."""
    await index(role)
    await memory_roles.index(role)
    drop_scene(role, "calm")
    await index(role)
    await memory_roles.index(role)
    take_back(role, DIALOGUE_KIND)
    assert is_current(role)
    assert Role(role.root).index(MEMORY_KIND).open().manifest.sources != role.memory_files.checksums()
    await memory_roles.index(role, model := memory_roles.feeling())
    assert model.calls == []
    assert Role(role.root).index(MEMORY_KIND).open().manifest.sources == role.memory_files.checksums()


# Erasing


async def test_erasing_leaves_nothing_of_what_was_removed(role: Role) -> None:
    secret = b"zanzibark"
    add_line(role, FILE, **MOON)
    add_line(role, FILE, scene="zanzibark", speaker="Nell", text="The zanzibark sings.")
    tells = scoring(lambda pair, dialogue: reasoned(4, "of the zanzibark") if "zanzibark" in dialogue else None)
    await index(role)
    keep(role, "zanzibark", reason="the SCENE is theirs")
    await index(role, tells, {**SCORES, **REBUILD})
    keep(role, "zanzibark", "net", reason="of the SCENE")
    with pytest.raises(ModelUnavailable):
        await index(role, gone_after(3), {**SCORES, **REBUILD})
    drop_scene(role, "zanzibark")
    version = (await index(role))["version"]
    assert len(loose(role)) == 1  # it holds a score that no version has any use for
    assert secret in everything(role.root)
    erase_past(role)
    assert secret not in everything(role.root)
    assert (served(role).version, loose(role), leftovers(role.root)) == (version, [], [])
    assert is_current(role)
    assert [one.served for one in versions(role, DIALOGUE_KIND)] == [True]
    with pytest.raises(MissingIndex, match="no version before this one"):
        take_back(role, DIALOGUE_KIND, None)
    report = await index(role, model := scoring(), SCORES)
    assert (len(model.calls), report["scored"]) == (1, EDGES)  # of the two whose score rested on what is gone


async def test_erasing_before_the_files_are_indexed_erases_all(role: Role) -> None:
    add_line(role, FILE, **MOON)
    await index(role, None, SCORES)
    keep(role, "zanzibark", "net", reason="of the SCENE")
    drop_scene(role, "zanzibark")
    erase_past(role)
    with pytest.raises(MissingIndex):
        served(role)
    assert b"zanzibark" not in everything(role.root)
    assert known(role) == {}


async def test_erasing_takes_the_draft_of_dialogues_that_were_never_published(role: Role) -> None:
    add_line(role, FILE, **MOON)
    add_line(role, FILE, scene="zanzibark", speaker="Nell", text="The zanzibark sings.")
    with pytest.raises(ModelUnavailable):
        await index(role, gone_after(3), SCORES)
    drop_scene(role, "zanzibark")
    assert b"zanzibark" in everything(role.root)
    erase_past(role)
    assert b"zanzibark" not in everything(role.root)


async def test_erasing_makes_the_role_forget_what_it_has_in_memory(role: Role) -> None:
    add_line(role, FILE, **MOON)
    add_line(role, FILE, scene="zanzibark", speaker="Nell", text="The zanzibark sings.")
    await index(role, None, SCORES)
    builder = role.index(DIALOGUE_KIND).builder
    assert len(builder.known()) == EDGES
    role.index(DIALOGUE_KIND).open()
    drop_scene(role, "zanzibark")
    await index(role)
    erase_past(role)
    assert len(builder.known()) == EDGES - 1
    assert len(role.index(DIALOGUE_KIND).open().dialogues) == 7


# The builder by itself


async def test_a_builder_refuses_what_does_not_fit(role: Role) -> None:
    await index(role)
    builder, dialogues = Role(role.root).index(DIALOGUE_KIND).builder, served(role).dialogues
    for nothing, why in (([], r"nothing to index \(dialogues\)"), ([*dialogues, dialogues[0]], "have the same id")):
        with pytest.raises(RoleError, match=why):
            builder.draft(nothing, embedding="hash-2", settings={}, sources={})
    draft = builder.draft(dialogues, embedding="hash-2", settings={}, sources=role.dialogue_files.checksums())
    said = [one.embedding_text for one in dialogues]
    with pytest.raises(MissingIndex, match="7 texts have no vector yet: run `dramaturg index ada --method drmr` again"):
        builder.publish(draft, {}, used={}, sources=role.dialogue_files)
    builder.add_vectors(draft, said, [[1.0, 0.0]] * 7)
    add_line(role, FILE, **MOON)
    with pytest.raises(StaleDraft):
        builder.publish(draft, {}, used={}, sources=role.dialogue_files)
    with pytest.raises(MissingIndex, match=r"no draft .*: run `dramaturg index ada --method drmr` from"):
        builder.publish("0" * 24, {}, used={}, sources=role.dialogue_files)
    builder.keep({})
    assert loose(role) == []
    assert len(texts(role)) == 7
