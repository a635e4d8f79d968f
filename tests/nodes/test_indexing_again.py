"""Indexing again with nothing changed: no question, no text embedded, nothing decoded; what has changed is noticed."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.builder import IndexBuilder
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.graph import GRAPH_KIND
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.role import Role
from dramaturg.workflows import amadeus_index, drmr_index, emotional_rag_index, role_rag_index

from cast_roles import SCENES, lines_of
from crash_points import few_or_many, mutations
from fakes import ScriptedChatModel
from graph_roles import graph_actor, graph_role, only, put
from memory_roles import CountedEmbeddings, feeling
from passage_samples import quick
from roles import run_settings, write_memories

pytestmark = pytest.mark.sample_of_file(3)

Run = Callable[..., Awaitable["Ran"]]
KINDS: dict[str, tuple[IndexKind[Any, Any], Any, Callable[..., Any], Callable[[], ScriptedChatModel]]] = {
    "passages": (passage_kind("acts"), amadeus_index.graph, amadeus_index.AmadeusIndexContext, graph_actor),
    "graph": (GRAPH_KIND, role_rag_index.graph, role_rag_index.RoleRagIndexContext, graph_actor),
    "memories": (MEMORY_KIND, emotional_rag_index.graph, emotional_rag_index.EmotionalRagIndexContext, feeling),
    "dialogues": (DIALOGUE_KIND, drmr_index.graph, drmr_index.DrmrIndexContext, graph_actor),
}
EACH = pytest.mark.parametrize("kind", KINDS)


class Ran(NamedTuple):
    """What indexing reported and cost."""

    report: dict[str, Any]
    asked: int
    embedded: int
    published: bool


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    role = graph_role(tmp_path)
    write_memories(role.root, dialogue=lines_of(SCENES))
    return role


async def index(role: Role, kind: str, model: ScriptedChatModel | None = None, **given: Any) -> Ran:
    """Index as a process that has just begun would."""
    role.forget_opened()
    _, graph, context, actor = KINDS[kind]
    model, embeddings, drafts = model or actor(), CountedEmbeddings(), []
    wishes = {name: given.pop(name) for name in ("rebuild", "retry") if name in given}
    begin = IndexBuilder.draft
    settings = context(**{**run_settings(role.root.parent, model), "embedding_model": embeddings, **given})
    with patch.object(IndexBuilder, "draft", lambda *args, **named: drafts.append(1) or begin(*args, **named)):
        output = await graph.ainvoke(wishes, context=settings)
    return Ran(output["index"], len(model.calls), len(embeddings.texts), bool(drafts))


@EACH
async def test_nothing_is_asked_embedded_or_decoded(role: Role, kind: str) -> None:
    first = await index(role, kind)
    before = {path: path.stat().st_mtime_ns for path in role.root.rglob("*") if path.name != ".lock"}
    with patch.object(KINDS[kind][0].store, "decode", side_effect=AssertionError("It was decoded.")):
        again = await index(role, kind)
    assert (again.asked, again.embedded, again.published) == (0, 0, False)
    free = {name: 0 for name in ("calls", "tokens", "embedded") if name in first.report}
    assert again.report == {**first.report, **free}
    assert {path: path.stat().st_mtime_ns for path in role.root.rglob("*") if path.name != ".lock"} == before


@EACH
async def test_a_change_of_a_source_of_the_card_or_of_a_setting_is_gone_into(role: Role, kind: str) -> None:
    await index(role, kind)
    put(role, "dog", "# Dog\n\nKit sleeps beside Ada Quill.\n")
    with (role.root / "memories.jsonl").open("a") as file:
        file.write('{"text": "Kit came to me."}\n')
    with (role.root / "dialogues" / "scenes.jsonl").open("a") as file:
        file.write('{"scene": "late", "speaker": "Nell", "text": "Kit is here."}\n')
    assert (await index(role, kind)).published
    assert not (await index(role, kind)).published
    card = role.root / "role.yaml"
    text = card.read_text(encoding="utf-8")
    card.write_text(re.sub(r"^name:.*$", "name: Ada Quilt", text, flags=re.MULTILINE), encoding="utf-8")
    assert (await index(role, kind)).published
    assert not (await index(role, kind)).published
    embedding = CountedEmbeddings("other", 512)
    assert (await index(role, kind, embedding_model=embedding)).published
    assert embedding.texts
    own = {"graph": {"same_above": 0.9}, "dialogues": {"dialogue_length": 900}, "passages": {"longest": 900}}
    assert (await index(role, kind, **own.get(kind, {"emotion_encoder": "model"}))).published


@EACH
@few_or_many(1, 60)
async def test_an_index_that_is_damaged_is_noticed(role: Role, kind: str, count: int) -> None:
    first = await index(role, kind)
    whole, index_of = Role(role.root), KINDS[kind][0]
    done = role.index(index_of).manifest().done  # type: ignore[union-attr]
    for path, how in mutations(role.root / "index", seed=1, count=count, only=lambda one: one.name != ".lock"):
        found = whole.index(index_of).unchanged("CountedEmbeddings:words", done.settings)  # type: ignore[union-attr]
        assert found is None, (path, how)
    for path in list((role.root / "index").glob("*/versions/*/*")):
        path.write_bytes(b"")
    mended = await index(role, kind)
    assert (mended.published, mended.report["version"]) == (True, first.report["version"])
    assert not (await index(role, kind)).published


@EACH
async def test_wishes_are_always_gone_into(role: Role, kind: str) -> None:
    await index(role, kind)
    assert (await index(role, kind, rebuild=True)).published


async def test_what_is_left_open_is_asked_again(role: Role) -> None:
    put(role, "work", "# Work\n\nTom trims the old lamp of Ada Quill.\n")
    failed = graph_actor(only("summary", ""))
    assert (await index(role, "graph", failed)).report["undescribed"]
    again = await index(role, "graph")
    assert (again.asked > 0, again.report["undescribed"]) == (True, 0)
    assert (await index(role, "graph")).asked == 0


@pytest.mark.parametrize("kind", ["same", "why", "name"])
async def test_a_pair_a_reason_or_a_name_without_an_answer_is_asked_again(role: Role, kind: str) -> None:
    given = {"neighbours": 50, "descriptions": "written"}
    await index(role, "graph", graph_actor(only(kind, "")), **given)
    again = await index(role, "graph", **given)
    assert again.asked > 0
    assert (await index(role, "graph", **given)).asked == 0


async def test_answers_of_a_conversation_are_taken_in(role: Role) -> None:
    await index(role, "dialogues")
    role.index(DIALOGUE_KIND).builder.keep({answer_key("edge", "of a turn"): 1})
    assert (await index(role, "dialogues")).published


async def test_another_release_goes_through_it_once(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await index(role, "graph")
    monkeypatch.setattr("dramaturg.nodes.index_steps.version", lambda name: "99")
    later = await index(role, "graph")
    assert (later.published, later.asked, later.embedded) == (True, 0, 0)
    assert later.report["version"] == first.report["version"]
    assert not (await index(role, "graph")).published
