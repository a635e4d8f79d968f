"""An index that holds files of another kind, as a context of two methods could once make it: said, and made anew."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dramaturg.stores.errors import DamagedIndex
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.graph import GRAPH_KIND
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.index.passages import passage_kind
from dramaturg.workflows import (
    amadeus,
    amadeus_index,
    drmr,
    drmr_index,
    emotional_rag,
    emotional_rag_index,
    role_rag,
    role_rag_index,
)

from crossed_indexes import cross
from roles import run_settings, small_role
from scope_roles import player, scoped

QUESTION = {"messages": [("user", "Do storms make you afraid?")]}


class Method(NamedTuple):
    """A method, its index, and the settings of both."""

    kind: IndexKind[Any, Any]
    talk: Any
    index: Any
    context: Any
    index_context: Any


AMADEUS = Method(
    passage_kind("acts"),
    amadeus.graph,
    amadeus_index.graph,
    amadeus.AmadeusContext,
    amadeus_index.AmadeusIndexContext,
)
ROLE_RAG = Method(
    GRAPH_KIND, role_rag.graph, role_rag_index.graph, role_rag.RoleRagContext, role_rag_index.RoleRagIndexContext
)
EMOTIONAL_RAG = Method(
    MEMORY_KIND,
    emotional_rag.graph,
    emotional_rag_index.graph,
    emotional_rag.EmotionalRagContext,
    emotional_rag_index.EmotionalRagIndexContext,
)
DRMR = Method(DIALOGUE_KIND, drmr.graph, drmr_index.graph, drmr.DrmrContext, drmr_index.DrmrIndexContext)


@pytest.mark.sample(3)
@pytest.mark.parametrize("wishes", [{}, {"rebuild": True}], ids=["as it is", "rebuild"])
@pytest.mark.parametrize(
    ("held", "into"),
    [(EMOTIONAL_RAG, DRMR), (DRMR, EMOTIONAL_RAG), (ROLE_RAG, AMADEUS), (AMADEUS, ROLE_RAG)],
    ids=lambda method: method.kind.name,
)
async def test_an_index_that_holds_files_of_another_kind_is_made_anew(
    tmp_path: Path, held: Method, into: Method, wishes: dict[str, bool]
) -> None:
    small_role(tmp_path)
    settings = run_settings(tmp_path, player(scoped("Tom")))
    first = await held.index.ainvoke({}, context=held.index_context(**settings))
    cross(tmp_path / "ada", held.kind, into.kind)
    with pytest.raises(DamagedIndex, match=f"run `{into.kind.command('ada')}`, which makes it again"):
        await into.talk.ainvoke(QUESTION, context=into.context(**settings))
    made = await into.index.ainvoke(wishes, context=into.index_context(**settings))
    assert made["index"]["version"] != first["index"]["version"]
    for method in (into, held):
        reply = await method.talk.ainvoke(QUESTION, context=method.context(**settings))
        assert reply["messages"][-1].text == "I keep the light."
        assert "warning" not in reply["evidence"]
