"""DRMR over several turns: scores asked once, a memory that lives on and goes back, a state that stays small."""

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.json_lines import exported, imported
from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores import library_folder, locks
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.library import open_role
from dramaturg.stores.role import Role
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows import drmr, drmr_index

from cast_roles import SCENES, Talk, cast_role, context, counted, lines_of, numbered, pairs_asked, scored, take
from fakes import ScriptedChatModel
from roles import WordEmbeddings, fenced, run_settings, write_memories
from scope_roles import asked, player, reasoned, shown

pytestmark = pytest.mark.sample_of_file(7)

PARCEL, LAMP, SOUP = "Where is the parcel from Leith?", "Who sold the lamp?", "How is the soup at supper?"
WHOLE = {"memory_dialogues": 50}
ONE_EACH = {"memory_dialogues": 1, "recalled_dialogues": 7}


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return cast_role(tmp_path)


def remembering(**parts: Any) -> ScriptedChatModel:
    """A model whose records are numbered."""
    return player(**{"record": numbered("Record")} | parts)


def edges_asked(model: ScriptedChatModel) -> list[str]:
    """The pairs that were asked about, in order of names."""
    return sorted(pair.replace("\n", " – ") for _, pair in pairs_asked(shown(model, "edge")))


# Scores are asked once for a text


async def test_a_second_turn_asks_about_no_edge_again(role: Role) -> None:
    await take(role, model := player(), PARCEL, PARCEL, user_role="tom", **WHOLE)
    assert counted(model) == {"edge": 3, "record": 1, "reply": 2, "line": 2}


async def test_another_conversation_asks_only_what_none_has_asked(role: Role) -> None:
    await take(role, player(), PARCEL, user_role="tom")
    output = await take(role, model := player(), PARCEL, user_role="tom")
    assert counted(model) == {"record": 1, "reply": 1, "line": 1}
    assert {one["score"] for one in output["evidence"]["relations"]["edges"]} == {3.0}
    await take(role, model := player(), LAMP, user_role="Mr Pike", recalled_dialogues=7)
    assert edges_asked(model) == ["Ada Quill – Mr Pike", "Mr Pike – Nell", "Mr Pike – Tom Quill"]


async def test_another_process_asks_only_what_none_has_asked(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    await take(role, player(), PARCEL, user_role="tom")
    monkeypatch.setattr(library_folder, "_roles", {})
    again = open_role("ada", role.root.parent)
    assert again is not role
    await take(again, model := player(), PARCEL, user_role="tom")
    assert counted(model) == {"record": 1, "reply": 1, "line": 1}


async def index(role: Role, model: ScriptedChatModel, **given: Any) -> Any:
    """Index the dialogues; give the report."""
    settings = drmr_index.DrmrIndexContext(**run_settings(role.root.parent, model, appraisal="together"))
    return (await drmr_index.build().compile().ainvoke(given, context=settings))["index"]


async def test_what_indexing_has_scored_no_turn_asks_about(role: Role) -> None:
    report = await index(role, model := player(), scores=True)
    assert (report["relations"], report["scored"], counted(model)) == (6, 6, {"edge": 6})
    await take(role, model := player(), PARCEL, user_role="tom", recalled_dialogues=7)
    assert counted(model) == {"record": 1, "reply": 1, "line": 1}


async def test_what_turns_have_scored_indexing_takes_in_and_does_not_ask_about(role: Role) -> None:
    await take(role, player(), PARCEL, user_role="tom")
    kept = role.root / "index" / "dialogues" / "answers"
    assert list(kept.glob("*.jsonl"))
    write_memories(role.root, (), dialogue=lines_of({**SCENES, "new": (("Ada Quill", "Fog."), ("Tom Quill", "Ay."))}))
    report = await index(role, model := player(), scores=True)
    assert (report["relations"], report["scored"], counted(model)) == (6, 6, {"edge": 4})  # three that none has asked
    assert len(list(kept.glob("*.jsonl"))) == 1  # with what was asked of Ada and Tom before the new scene
    await take(role, model := player(), PARCEL, user_role="tom", recalled_dialogues=8)
    assert counted(model) == {"record": 1, "reply": 1, "line": 1}


async def test_a_dialogue_whose_text_is_changed_is_asked_about_again_and_no_other(role: Role) -> None:
    await take(role, player(), PARCEL, user_role="tom")
    said = {**SCENES, "parcel": (("Tom Quill", "A parcel from Leith!"), ("Ada Quill", "Give me the parcel, Tom."))}
    write_memories(role.root, (), dialogue=lines_of(said))
    await take(role, model := player(), PARCEL, user_role="tom")
    ((dialogue, pair),) = pairs_asked(shown(model, "edge"))
    assert (dialogue.split("\n")[0], pair) == ("Tom Quill: A parcel from Leith!", "Ada Quill\nTom Quill")


async def test_another_model_does_not_ask_again(role: Role) -> None:
    await take(role, player(), PARCEL, user_role="tom")
    await take(role, model := player(edge=reasoned(1)), PARCEL, user_role="tom", language="ko", temperature=1)
    assert "edge" not in counted(model)


def crowd() -> dict[str, list[tuple[str, str]]]:
    """Twelve people of whom each two have a word with each other, at dawn and at noon, where Ada hears it."""
    names = ["Ada Quill", "Tom Quill", *(f"Sailor {at}" for at in range(10))]
    return {
        f"{part} of {one} and {other}": [(one, f"{part}?"), (other, "Ay."), ("Ada Quill", "Hm.")]
        for part in ("dawn", "noon")
        for one, other in combinations(names, 2)
    }


async def test_in_a_crowd_each_two_are_asked_about_once_with_their_dialogues_together(tmp_path: Path) -> None:
    role = cast_role(tmp_path, crowd())
    talk = Talk(role, user_role="tom", recalled_dialogues=50, graph_dialogues=300, revision_dialogues=50)
    unhappy = player(line=scored(1))
    for text in (PARCEL, SOUP, LAMP):
        await talk.ask(text, unhappy)
    asked = pairs_asked(shown(unhappy, "edge"))
    assert len(asked) == len({pair for _, pair in asked}) == 66
    assert all("dawn" in dialogues and "noon" in dialogues for dialogues, _ in asked)


async def test_an_edge_without_a_score_is_not_asked_about_again_in_its_conversation(role: Role) -> None:
    failing = player(edge=lambda text: "Hm." if "I mended the net." in text else reasoned(4))
    talk = Talk(role, user_role="tom")
    evidence = await talk.ask(PARCEL, failing)
    assert evidence["relations"]["unscored"] == 1
    (lost,) = [one for one in (await talk.values())["relations"] if one["error"]]
    assert "no usable answer" in lost["error"]
    evidence = await talk.ask(SOUP, model := player())
    assert "edge" not in counted(model)
    assert evidence["relations"]["unscored"] == 1
    await take(role, model := player(), PARCEL, user_role="tom")
    assert edges_asked(model) == ["Ada Quill – Nell"]
    evidence = await talk.ask(LAMP, player())
    assert evidence["relations"]["unscored"] == 0


async def test_scores_that_came_before_a_failure_are_kept(role: Role) -> None:
    failing = player(edge=lambda text: ModelUnavailable("nobody there") if "the net." in text else reasoned(4))
    with pytest.raises(ModelUnavailable):
        await take(role, failing, PARCEL, user_role="tom", concurrency=1)
    await take(role, model := player(), PARCEL, user_role="tom")
    assert edges_asked(model) == ["Ada Quill – Nell", "Nell – Tom Quill"]


async def test_conversations_at_once_keep_all_their_scores(role: Role) -> None:
    questions = (PARCEL, LAMP, SOUP, "Beer at the inn?")
    await take(role, player(), "Hello?")
    await asyncio.gather(*(take(role, player(), text, user_role="tom", recalled_dialogues=7) for text in questions))
    await take(role, model := player(), PARCEL, user_role="Mr Pike", recalled_dialogues=7)
    assert edges_asked(model) == ["Mr Pike – Nell"]


async def test_a_turn_whose_scores_are_known_waits_for_nobody_who_changes_the_role(
    role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take(role, player(), PARCEL, user_role="tom")
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    with locks.role_lock(role.root):
        await take(role, model := player(), PARCEL, user_role="tom")
    assert counted(model) == {"record": 1, "reply": 1, "line": 1}


def test_programs_that_keep_scores_at_once_lose_none(role: Role) -> None:
    builders = [Role(role.root).index(DIALOGUE_KIND).builder for _ in range(4)]
    scores = {f"key {n}": {"score": n % 5 + 1.0, "reason": ""} for n in range(40)}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: builders[n % 4].keep({f"key {n}": scores[f"key {n}"]}), range(40)))
    assert all(builder.known() == scores for builder in builders)


async def test_a_relation_that_is_known_costs_two_calls_a_turn(role: Role) -> None:
    talk = Talk(role, user_role="tom", recalled_dialogues=7)
    for text in (PARCEL, LAMP, SOUP):
        await talk.ask(text)
    await talk.ask("And then?", model := player())
    assert counted(model) == {"reply": 1, "line": 1}


# The role memory lives on


@asynccontextmanager
async def forgetful(saver: InMemorySaver) -> AsyncIterator[InMemorySaver]:
    """The same saver each time."""
    yield saver


@pytest.mark.parametrize("kept", ["our own", "LangGraph's"])
async def test_the_memory_of_turn_one_is_used_after_a_restart(
    role: Role, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two turns in one process, a third with a saver that was opened again (Show 2)."""
    memory = InMemorySaver()

    def opened() -> AbstractAsyncContextManager[BaseCheckpointSaver[Any]]:
        return ConversationSaver.open(tmp_path / "talks.sqlite") if kept == "our own" else forgetful(memory)

    async with opened() as saver:
        talk = Talk(role, saver, user_role="tom", **WHOLE)
        await talk.ask(PARCEL, player(record="He brought me the parcel."))
        await talk.ask(SOUP, second := player())
    monkeypatch.setattr(library_folder, "_roles", {})
    async with opened() as saver:
        talk = Talk(open_role("ada", role.root.parent), saver, user_role="tom", **WHOLE)
        assert await talk.records() == ["He brought me the parcel."]
        await talk.ask("And now?", third := player())
        assert len(await talk.history()) == 3
    for model in (second, third):
        assert counted(model) == {"reply": 1, "line": 1}
        assert fenced("memory", shown(model, "reply")[0]) == "He brought me the parcel."
        assert "He brought me the parcel." in fenced("notes", shown(model, "line")[0])


async def test_going_back_takes_the_role_memory_back(role: Role) -> None:
    talk, model = Talk(role, user_role="tom", **ONE_EACH), remembering()
    for text in (PARCEL, SOUP, LAMP):
        await talk.ask(text, model)
    assert await talk.records() == ["Record 1", "Record 2", "Record 3"]
    await talk.fork(SOUP)
    assert await talk.records() == ["Record 1", "Record 2"]
    await talk.regenerate(PARCEL)
    assert await talk.records() == ["Record 4"]
    assert fenced("memory", shown(model, "reply")[-1]) == "Record 4"
    await talk.fork(LAMP)
    assert await talk.records() == ["Record 1", "Record 2", "Record 3"]
    await talk.delete(SOUP)
    assert await talk.records() == ["Record 1"]
    await talk.delete(PARCEL)
    assert await talk.records() == []
    assert not (await talk.values()).get("known_dialogues")


async def test_a_turn_that_is_asked_again_makes_its_record_again(role: Role) -> None:
    talk, model = Talk(role, user_role="tom", **ONE_EACH), remembering()
    await talk.ask(PARCEL, model)
    before = (await talk.values())["memory_records"][0]["dialogues"]
    await talk.regenerate()
    assert await talk.records() == ["Record 2"]
    assert (await talk.values())["memory_records"][0]["dialogues"] == before
    assert counted(model) == {"edge": 5, "record": 2, "reply": 2, "line": 2}


async def test_a_turn_that_failed_and_is_withdrawn_leaves_no_record(role: Role) -> None:
    talk = Talk(role, user_role="tom")
    with pytest.raises(ModelUnavailable):
        await talk.ask(PARCEL, player(reply=ModelUnavailable("nobody there")))
    await talk.withdraw()
    assert await talk.records() == []
    await talk.ask(PARCEL, model := player())
    assert counted(model) == {"record": 1, "reply": 1, "line": 1}


# Others on the thread


async def test_records_of_another_user_are_not_shown_and_are_there_when_that_one_comes_back(role: Role) -> None:
    talk = Talk(role)
    memories = []
    for user, text in (("tom", PARCEL), ("Mr Pike", LAMP), ("", "Who are you?"), ("Tom Quill", "Me again.")):
        await talk.ask(text, model := player(record=f"Of {user}."), user_role=user)
        memories.append(fenced("memory", shown(model, "reply")[0]))
    assert memories[:3] == ["Of tom.", "Of Mr Pike.", "Of ."]
    assert memories[3].split("\n\n")[0] == "Of tom."
    assert not {"Of Mr Pike.", "Of ."} & set(memories[3].split("\n\n"))


async def test_what_another_role_knows_on_the_same_thread_is_its_own(role: Role, tmp_path: Path) -> None:
    other = open_role("rose", tmp_path)
    write_memories(other.root, (), dialogue=lines_of({"school": (("Tom Quill", "A parcel."), ("Rose", "A book!"))}))
    talk = Talk(role, user_role="tom")
    await talk.ask(PARCEL, player(record="Ada of Tom."))
    evidence = await talk.ask("Another parcel?", model := player(record="Rose of Tom."), role="rose")
    assert fenced("memory", shown(model, "reply")[0]) == "Rose of Tom."
    assert evidence["relations"]["clique"] == ["Rose", "Tom Quill"]
    evidence = await talk.ask("And you, Ada?", model := player(), role="ada")
    assert fenced("memory", shown(model, "reply")[0]).split("\n\n")[0] == "Ada of Tom."
    assert "Rose of Tom." not in shown(model, "reply")[0]
    assert "Rose" not in evidence["relations"]["roles"]


async def test_dialogues_that_are_gone_leave_the_graph_and_the_record_stays(role: Role) -> None:
    talk = Talk(role, user_role="tom")
    await talk.ask(PARCEL, player(record="He brought me the parcel."))
    write_memories(role.root, (), dialogue=lines_of({"net": SCENES["net"], "quay": SCENES["quay"]}))
    evidence = await talk.ask("And now?", model := player())
    assert evidence["relations"]["roles"] == ["Ada Quill", "Mr Pike", "Nell", "Tom Quill"]
    assert evidence["relations"]["clique"] == []
    assert fenced("memory", shown(model, "reply")[0]).startswith("He brought me the parcel.")
    assert len((await talk.values())["known_dialogues"]) == 2


# Who has said what


SECRET = "I hid the gold under the lamp."


def before_question(model: ScriptedChatModel) -> list[str]:
    """What a reply is shown of the conversation before the question, message by message."""
    (call,) = [call for call in model.calls if asked(call.messages)[0] == "reply"]
    return [message.text for message in call.messages if message.type in {"human", "ai"}]


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        ("tom", "Mr Pike", f"Tom Quill: {SECRET}"),
        ("tom", "", f"Tom Quill: {SECRET}"),
        ("", "Mr Pike", f"this stranger: {SECRET}"),
        ("tom", "Tom Quill", SECRET),
        ("", "", SECRET),
    ],
)
async def test_earlier_lines_carry_the_role_that_spoke_them_where_another_asks_now(
    role: Role, first: str, then: str, told: str
) -> None:
    talk = Talk(role, user_role=first)
    await talk.ask(SECRET)
    await talk.ask("What do you know?", model := player(), user_role=then)
    assert before_question(model)[0] == told


class Listening(WordEmbeddings):
    """Remembers what it was asked to embed."""

    def embed_query(self, text: str) -> list[float]:
        HEARD.append(text)
        return super().embed_query(text)


HEARD: list[str] = []


async def test_a_conversation_is_embedded_with_the_names_of_those_who_spoke(role: Role) -> None:
    talk = Talk(role, user_role="tom", embedding_model=Listening(), document_passages=0)
    await talk.ask(SECRET)
    await talk.ask("And the soup?", user_role="Mr Pike")
    assert HEARD[-1].split("\n") == [
        f"Tom Quill: {SECRET}",
        "Ada Quill: I keep the light.",
        "Mr Pike: And the soup?",
    ]


async def test_a_summary_is_made_of_lines_with_the_names_of_those_who_spoke(role: Role) -> None:
    talk = Talk(role, user_role="tom", window=2)
    await talk.ask(SECRET)
    await talk.ask("And the soup?", model := player(), user_role="Mr Pike")
    assert fenced("conversation", shown(model, "summary")[0]).split("\n")[0] == f"Tom Quill: {SECRET}"


async def test_lines_of_an_earlier_version_are_those_of_who_asks_now(role: Role) -> None:
    before = [HumanMessage(SECRET, id="1"), AIMessage("Ay.", id="2", name="ada")]
    model = player()
    given = context(role, model, user_role="tom", embedding_model=Listening(), document_passages=0)
    await drmr.graph.ainvoke({"messages": [*before, HumanMessage("And?", id="3")]}, context=given)
    assert before_question(model)[0] == SECRET
    assert HEARD[-1].split("\n")[0] == f"Tom Quill: {SECRET}"


async def test_who_spoke_is_in_an_exported_conversation(role: Role) -> None:
    talk, again = Talk(role, user_role="tom"), Talk(role, user_role="Mr Pike")
    await talk.ask(SECRET)
    await imported(again, [line async for line in exported(talk)])
    await again.ask("What do you know?", model := player())
    assert before_question(model)[0] == f"Tom Quill: {SECRET}"


async def test_what_another_role_said_on_the_thread_is_not_this_roles(role: Role, tmp_path: Path) -> None:
    other = open_role("rose", tmp_path)
    write_memories(other.root, (), dialogue=lines_of({"school": (("Tom Quill", "A parcel."), ("Rose", "A book!"))}))
    talk = Talk(role, user_role="tom", embedding_model=Listening())
    await talk.ask(PARCEL, player(reply="It is in the cellar."))
    await talk.ask("Another parcel?", model := player(), role="rose")
    assert "ada: It is in the cellar." in before_question(model)[0]
    assert "ada: It is in the cellar." in HEARD[-1].split("\n")


# A state of plain values that stays small


@pytest.mark.crash
async def test_the_state_is_plain_and_bounded_over_many_turns(tmp_path: Path) -> None:
    scenes = {f"s{n}": (("Tom Quill", f"The parcel {n} of w{n}."), ("Ada Quill", f"Give me {n}.")) for n in range(40)}
    role, saver = cast_role(tmp_path, scenes), InMemorySaver()
    model = player(
        record=numbered("I have known him since parcel"),
        merged=numbered("All in all"),
        line=lambda text: reasoned(5 if "odd" in text else 3),
    )
    settings = {"user_role": "tom", "graph_dialogues": 8, "memory_length": 200, "window": 6}
    graph, config = drmr.build().compile(saver), {"configurable": {"thread_id": "t"}}
    sizes = []
    for turn in range(60):
        message = HumanMessage(f"The parcel of w{turn % 40}, is it {'odd' if turn % 2 else 'even'}?")
        await graph.ainvoke({"messages": [message]}, config, context=context(role, model, **settings))
        values = (await graph.aget_state(config)).values
        assert len(values["known_dialogues"]) <= 5 + 2 * 2  # what is recalled, and by two revisions
        assert len(values["relations"]) <= 5 + 2 * 2
        assert sum(len(one["text"]) for one in values["memory_records"]) <= 200
        assert values["drafts"] == []
        assert len(values["messages"]) <= 6
        plain = {name: value for name, value in values.items() if name != "messages"}
        assert json.loads(json.dumps(plain)) == plain
        sizes.append(len(saver.serde.dumps_typed(values)[1]))
    assert max(sizes[50:]) <= max(sizes[20:40]) * 1.1
    assert counted(model)["merged"] > 1


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_a_graph_smaller_than_what_a_turn_brings_still_gives_a_reply(role: Role, most: int) -> None:
    talk = Talk(role, user_role="tom", graph_dialogues=most)
    for text in (PARCEL, SOUP, LAMP):
        evidence = await talk.ask(text, player(line=scored(1)))
        assert evidence["verification"]["passed"] is False
        ids = [one["dialogue"] for one in evidence["dialogues"]]
        assert len(ids) == len(set(ids))
        known = {one["dialogue"] for one in (await talk.values())["known_dialogues"]}
        assert known
        assert known <= {*ids}


async def test_a_conversation_that_begins_with_role_memory_may_go_on_without(role: Role) -> None:
    talk = Talk(role, user_role="tom")
    await talk.ask(PARCEL, player(record="He brought me the parcel."))
    evidence = await talk.ask(SOUP, model := player(), role_memory=False)
    assert "He brought me the parcel." not in shown(model, "reply")[0]
    assert "relations" not in evidence
    await talk.ask(LAMP, model := player(), role_memory=True)
    assert fenced("memory", shown(model, "reply")[0]).startswith("He brought me the parcel.")


async def test_messages_without_ids_are_turns_all_the_same(role: Role) -> None:
    talk = Conversation(
        drmr.build(), InMemorySaver(), context(role, model := remembering(), user_role="tom", **WHOLE), "tea"
    )
    for text in (PARCEL, PARCEL):
        await talk.take_turn(text)
    assert counted(model) == {"edge": 3, "record": 1, "reply": 2, "line": 2}
    first, second = await talk.history()
    assert first.id != second.id
    assert (await talk.values())["memory_records"][0]["turn"] == first.id
