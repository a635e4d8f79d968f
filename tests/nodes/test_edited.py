"""What somebody has written into a state, as in Studio: it is read as it is meant, or refused in a sentence."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.nodes.dialogues.role_memory import RoleRecord
from dramaturg.nodes.edited import UnreadableEntry, entries
from dramaturg.workflows.drmr import build as drmr
from dramaturg.workflows.id_rag import build as id_rag

import cast_roles
import identity_roles
from identity_roles import THREAD, decider
from roles import fenced
from scope_roles import player, shown


async def edit(graph: Any, saver: InMemorySaver, node: str | None = None, /, **values: Any) -> None:
    """Write into the state after a whole turn, or as a node does."""
    await graph().compile(saver).aupdate_state(THREAD, values, as_node=node)


async def test_a_record_without_dialogues_is_remembered_and_condensed(tmp_path: Path) -> None:
    role, saver = cast_roles.cast_role(tmp_path), InMemorySaver()
    await cast_roles.take(role, player(), "Where is the parcel?", saver=saver, user_role="tom")
    long = {"role": "ada", "user_role": "Tom Quill", "text": "He lost my oil can. " * 10}
    await edit(drmr, saver, memory_records=[long, {**long, "text": "He found it."}])
    given: dict[str, Any] = {"saver": saver, "user_role": "tom", "memory_length": 200}
    output = await cast_roles.take(role, model := player(), "How is the soup at supper?", **given)
    assert "He found it." in fenced("memory", shown(model, "reply")[-1])
    assert output["evidence"]["condensed"]["records"] >= 2


async def test_a_record_without_text_is_refused_in_a_sentence(tmp_path: Path) -> None:
    role, saver = cast_roles.cast_role(tmp_path), InMemorySaver()
    await cast_roles.take(role, player(), "Where is the parcel?", saver=saver, user_role="tom")
    said = r"Entry 1 of 'memory_records' in the state cannot be read \(text: Field required\): correct it there"
    with pytest.raises(UnreadableEntry, match=said):
        await edit(drmr, saver, "speak", memory_records=[{"role": "ada", "user_role": "Tom Quill"}])
    await edit(drmr, saver, memory_records=[], known_dialogues=[{"similarity": 1.0}])
    with pytest.raises(UnreadableEntry, match=r"Entry 1 of 'known_dialogues' .* \(dialogue: Field required\)"):
        await cast_roles.take(role, player(), "And?", saver=saver, user_role="tom")


async def test_a_change_and_a_memory_that_a_person_wrote_are_read(tmp_path: Path) -> None:
    role, saver = identity_roles.ada(tmp_path), InMemorySaver()
    on: dict[str, Any] = {"identity": "full", "gate": False, "update": True}
    await identity_roles.take(role, decider(), "Who are you?", saver, **on)
    tea = {"subject": "Ada Quill", "relation": "likes", "object": "tea", "kind": "preference"}
    await edit(
        id_rag,
        saver,
        identity_changes=[{"role": "ada", "triple": tea}],
        episodes=[{"id": "e", "text": "Tom brought the tea."}],
    )
    await identity_roles.take(role, model := decider(), "Tea?", saver, **on)
    (reply,) = identity_roles.shown(model, "reply")
    assert "Ada Quill likes tea." in fenced("identity", reply)
    assert "Tom brought the tea." in reply
    await edit(id_rag, saver, identity_changes=[{"role": "ada", "triple": {**tea, "kind": "drink"}}])
    with pytest.raises(
        UnreadableEntry, match=r"Entry 1 of 'identity_changes' in the state cannot be read \(triple\.kind"
    ):
        await identity_roles.take(role, decider(), "Tea?", saver, **on)


@pytest.mark.parametrize("wrong", ["text", 1, {"role": 1}])
def test_whatever_stands_there_has_a_sentence(wrong: Any) -> None:
    state = {"memory_records": [{"role": "a", "user_role": "b", "text": "c"}, wrong]}
    with pytest.raises(UnreadableEntry, match=r"Entry 2 of 'memory_records'"):
        entries(state, "memory_records", RoleRecord, turn="", dialogues=[])
