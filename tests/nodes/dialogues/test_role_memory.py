"""The role memory: what a record is made of, that none is there twice, and how old ones become one."""

import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.models.errors import ModelTimeout, ModelUnavailable
from dramaturg.nodes.dialogues.role_memory import MOST_SOURCES, RoleRecord, appended, length_of, too_old
from dramaturg.stores.role import Role

from cast_roles import Talk, cast_role, counted, in_turn, numbered, scored, systems, take
from fakes import ScriptedChatModel
from roles import fenced
from scope_roles import Answer, player, shown

pytestmark = pytest.mark.sample_of_file(5)

PARCEL, LAMP, SOUP = "Where is the parcel from Leith?", "Who sold the lamp?", "How is the soup at supper?"
ONE_EACH = {"memory_dialogues": 1, "recalled_dialogues": 7}
LONG = "This is what I remember of him, at some length and with all that has happened between the two of us: part"
SHORT: dict[str, Any] = {"memory_length": 200, **ONE_EACH}


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return cast_role(tmp_path)


def record(text: str, *dialogues: str, user: str = "Tom", turn: str = "1") -> RoleRecord:
    return {"role": "ada", "user_role": user, "turn": turn, "text": text, "dialogues": list(dialogues)}


async def recorded(talk: Talk) -> list[RoleRecord]:
    """The role memory."""
    return list((await talk.values()).get("memory_records", []))


def memory(model: ScriptedChatModel) -> str:
    """What the last reply was shown of the role memory."""
    return fenced("memory", shown(model, "reply")[-1])


# What a record is made of


async def test_the_memory_begins_as_the_profile_and_the_record_is_appended(role: Role) -> None:
    await take(role, model := player(record="  He brings my letters.\n"), PARCEL, user_role="tom", document_passages=0)
    (draft,) = shown(model, "reply")
    assert fenced("memory", draft) == "He brings my letters."
    assert fenced("profile", systems(model, "reply")[0]) == "A keeper of few words."
    notes = fenced("notes", shown(model, "line")[0])
    assert notes.split("\n\n") == ["A keeper of few words.", "He sails the mail boat.", "He brings my letters."]


async def test_a_record_is_made_from_the_nearest_dialogues_and_says_whose_it_is_and_of_whom(role: Role) -> None:
    talk = Talk(role, user_role="tom")
    evidence = await talk.ask(PARCEL, model := player())
    assert "Ada Quill" in systems(model, "record")[0]
    (text,) = shown(model, "record")
    events = fenced("events", text).split("\n\n")
    assert [event.split("\n")[0] for event in events] == [
        "Tom Quill: A parcel from Leith for you.",
        "Ada Quill: Sit down to supper, both of you.",
    ]
    (made,) = await recorded(talk)
    assert evidence["records"] == [made]
    assert made == {
        "role": "ada",
        "user_role": "Tom Quill",
        "turn": PARCEL,
        "text": "I have known them for long.",
        "dialogues": [one["dialogue"] for one in evidence["dialogues"] if one["scene"] in {"parcel", "supper"}],
    }


async def test_a_dialogue_makes_no_second_record(role: Role) -> None:
    talk, model = Talk(role, user_role="tom", **ONE_EACH), player(record=numbered("Record"))
    for text in (PARCEL, SOUP, LAMP, "And?", "Then?", "Go on."):
        await talk.ask(text, model)
    told = [dialogue for one in await recorded(talk) for dialogue in one["dialogues"]]
    assert (len(told), len(set(told))) == (4, 4)  # those of Ada, Mr Pike and Tom with each other
    assert counted(model) == {"edge": 5, "record": 4, "reply": 6, "line": 6}
    assert memory(model) == "\n\n".join(f"Record {n}" for n in range(1, 5))


async def test_each_revision_adds_a_record_and_the_next_draft_has_it(role: Role) -> None:
    talk, model = Talk(role, user_role="tom", **ONE_EACH | {"recalled_dialogues": 3}), player(record=numbered("Record"))
    evidence = await talk.ask(PARCEL, player(record=numbered("Record"), line=scored(1, 2, 5)))
    assert [one["text"] for one in evidence["records"]] == ["Record 1", "Record 2", "Record 3"]
    await talk.ask("And?", model)
    texts = [one["text"] for one in await recorded(talk)]
    assert memory(model).split("\n\n") == texts


async def test_a_record_that_says_the_same_is_there_once_with_the_dialogues_of_both(role: Role) -> None:
    talk, model = Talk(role, user_role="tom", **ONE_EACH), player()
    for text in (PARCEL, SOUP):
        await talk.ask(text, model)
    (only,) = await recorded(talk)
    assert (len(only["dialogues"]), only["turn"]) == (2, SOUP)
    assert len(shown(model, "record")) == 2


def test_what_is_appended_moves_what_says_the_same_to_the_end() -> None:
    before = [record("A", "1"), record("B", "2"), record("A", "3", user="Pike")]
    assert appended(before, record("A", "4", turn="2")) == [
        record("B", "2"),
        record("A", "3", user="Pike"),
        record("A", "1", "4", turn="2"),
    ]
    assert before[0] == record("A", "1")


# Steps before the record


STEPS = {
    "wants": "I want the light to burn.",
    "scenes": "Tom brought a parcel.",
    "bond": "He is my brother.",
    "others": "Nell is on his side.",
}


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
async def test_the_steps_are_written_before_the_record_and_are_not_remembered(role: Role, language: str) -> None:
    written = json.dumps({**STEPS, "record": "I trust him."})
    output = await take(role, model := player(record=written), PARCEL, user_role="tom", language=language)
    assert [one["text"] for one in output["evidence"]["records"]] == ["I trust him."]
    assert memory(model) == "I trust him."
    (call,) = [call for call in model.calls if "</events>" in call.text]
    for text in (call.messages[0].text, call.messages[-1].text):  # the prompt, and the schema of the answer
        places = [text.index(f'"{key}"') for key in (*STEPS, "record")]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("written", "dropped"),
    [
        ({**STEPS, "record": "I trust him. " * 400}, ["record: cut to 1200 characters"]),
        ({**STEPS, "bond": "My brother. " * 99, "record": "I trust him."}, ["bond: cut to 200 characters"]),
        ({"record": "I trust him."}, []),
    ],
)
async def test_a_record_is_kept_whatever_its_steps_are(role: Role, written: dict[str, Any], dropped: list[str]) -> None:
    output = await take(role, player(record=json.dumps(written)), PARCEL, user_role="tom")
    (made,) = output["evidence"]["records"]
    assert made["text"].startswith("I trust him.")
    assert output["evidence"].get("record_dropped", []) == dropped


# A record that cannot be had


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("", "no usable answer"),
        ("<events>\n</events>", "held tags and no text"),
        (ModelTimeout("It took too long."), "took too long"),
    ],
)
async def test_without_a_record_the_memory_stays_and_the_dialogues_are_told_later(
    role: Role, answer: str | Exception, error: str
) -> None:
    talk = Talk(role, user_role="tom", **ONE_EACH)
    await talk.ask(PARCEL, player(record="First."))
    failing = player(record=answer)
    evidence = await talk.ask(SOUP, failing)
    assert error in evidence["memory_error"]
    assert "records" not in evidence
    assert (await talk.records(), memory(failing)) == (["First."], "First.")
    evidence = await talk.ask(SOUP + " Well?", model := player(record="Second."))
    assert "memory_error" not in evidence
    events = [fenced("events", text) for one in (failing, model) for text in shown(one, "record")]
    assert set(events) == {events[0]}
    assert await talk.records() == ["First.", "Second."]


async def test_where_the_model_cannot_be_reached_for_a_record_the_turn_fails_and_is_finished_later(role: Role) -> None:
    talk = Talk(role, user_role="tom")
    with pytest.raises(ModelUnavailable):
        await talk.ask(PARCEL, player(record=in_turn(ModelUnavailable("nobody there"), "First.")))
    await talk.finish()
    assert await talk.records() == ["First."]


async def test_tags_that_a_model_repeats_are_not_in_the_record(role: Role) -> None:
    talk = Talk(role, user_role="tom")
    await talk.ask(PARCEL, player(record="<profile>\n<other>He is my brother.</other></profile>"))
    assert await talk.records() == ["He is my brother."]


async def test_a_record_keeps_to_its_length_and_ends_with_a_sentence(role: Role) -> None:
    talk = Talk(role, user_role="tom", record_tokens=16)
    await talk.ask(PARCEL, player(record="He is my brother. " * 20))
    (text,) = await talk.records()
    assert len(text.encode()) <= 16 * 6
    assert text.endswith("brother.")


# Old records become one


async def test_the_oldest_records_become_one_and_their_dialogues_stay_told(role: Role) -> None:
    talk, model = Talk(role, user_role="tom", **SHORT), player(record=numbered(LONG))
    evidence = await talk.ask(PARCEL, model)
    assert "merged" not in counted(model)
    before = await recorded(talk)
    evidence = await talk.ask(SOUP, model)
    (text,) = shown(model, "merged")
    assert fenced("records", text) == f"{LONG} 1\n\n{LONG} 2"
    assert "Ada Quill" in systems(model, "merged")[0]
    assert evidence["condensed"] == {"records": 2, "text": "All in all I know them."}
    (merged,) = await recorded(talk)
    assert (merged["text"], len(merged["dialogues"]), merged["turn"]) == ("All in all I know them.", 2, SOUP)
    assert merged["dialogues"][:1] == before[0]["dialogues"]
    evidence = await talk.ask("And?", model)
    assert memory(model) == f"All in all I know them.\n\n{LONG} 3"
    assert not {*merged["dialogues"]} & {dialogue for one in evidence["records"] for dialogue in one["dialogues"]}


async def test_a_merged_record_that_says_the_same_as_a_newer_one_is_there_once(role: Role) -> None:
    talk, short = Talk(role, user_role="tom", **SHORT | {"memory_length": 230}), "All in all I know them."
    model = player(record=in_turn(f"{LONG} 1", f"{LONG} 2", short), merged=short)
    for text in (PARCEL, SOUP, LAMP):
        evidence = await talk.ask(text, model)
    assert evidence["condensed"] == {"records": 2, "text": short}
    (only,) = await recorded(talk)
    assert (only["text"], only["turn"], len(only["dialogues"])) == (short, LAMP, 3)


async def test_records_are_merged_after_the_reply_and_at_the_cost_of_their_node(role: Role) -> None:
    output = await take(role, model := player(record=numbered(LONG)), PARCEL, SOUP, user_role="tom", **SHORT)
    parts = [part for part in ("reply", "merged") if shown(model, part)]
    assert parts == ["reply", "merged"]
    assert "<records>" in model.calls[-1].text
    assert output["usage"]["condense_memory"]["calls"] == 1


@pytest.mark.parametrize("answer", ["", ModelTimeout("It took too long."), ModelUnavailable("nobody there")])
async def test_records_that_cannot_be_merged_are_all_kept_and_tried_again(role: Role, answer: str | Exception) -> None:
    talk, records = Talk(role, user_role="tom", **SHORT), numbered(LONG)
    for text in (PARCEL, SOUP):
        evidence = await talk.ask(text, player(record=records, merged=answer))
    assert evidence["condense_error"]
    assert await talk.records() == [f"{LONG} 1", f"{LONG} 2"]
    await talk.ask("And?", player(record=records, merged="In short."))
    assert await talk.records() == ["In short."]
    assert len((await recorded(talk))[0]["dialogues"]) == 3


async def test_only_the_records_of_this_user_count_and_are_merged(role: Role) -> None:
    talk = Talk(role, **SHORT)
    parts: dict[str, Answer] = {"record": numbered(LONG)}
    await talk.ask(PARCEL, model := player(**parts), user_role="tom")
    await talk.ask(LAMP, model, user_role="Mr Pike")
    assert "merged" not in counted(model)
    await talk.ask(SOUP, model, user_role="tom")
    assert fenced("records", shown(model, "merged")[0]) == f"{LONG} 1\n\n{LONG} 3"
    told = [(one["user_role"], one["text"]) for one in await recorded(talk)]
    assert told == [("Tom Quill", "All in all I know them."), ("Mr Pike", f"{LONG} 2")]


async def test_a_window_and_a_memory_that_are_full_are_both_made_smaller_in_one_turn(role: Role) -> None:
    talk, model = Talk(role, user_role="tom", **SHORT, window=2), player(record=numbered(LONG))
    await talk.ask(PARCEL, model)
    evidence = await talk.ask(SOUP, model)
    assert {"condensed", "summary"} <= set(evidence)
    assert counted(model)["summary"] == counted(model)["merged"] == 1
    assert await talk.records() == ["All in all I know them."]


@pytest.mark.parametrize(("spare", "merged"), [(0, 0), (-1, 1)])
async def test_records_that_just_fit_are_kept(role: Role, spare: int, merged: int) -> None:
    most = 2 * len(f"{LONG} 1") + spare
    talk, model = Talk(role, user_role="tom", **SHORT | {"memory_length": most}), player(record=numbered(LONG))
    await talk.ask(PARCEL, model)
    await talk.ask(SOUP, model)
    assert counted(model).get("merged", 0) == merged


@pytest.mark.parametrize(
    ("lengths", "most", "oldest"),
    [((90, 90, 30), 200, 2), ((50, 50, 50, 60), 200, 3), ((30, 30, 30, 30, 90), 200, 4), ((150, 150), 200, 2)],
)
def test_as_many_of_the_oldest_become_one_as_leave_half(lengths: tuple[int, ...], most: int, oldest: int) -> None:
    records = [record(f"{n:<{length}}") for n, length in enumerate(lengths)]
    taken = too_old(records, most)
    assert taken == records[:oldest]
    assert length_of(records[oldest:]) <= most / 2


async def test_a_merged_record_names_no_more_dialogues_than_it_may(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_SOURCES >= 50
    monkeypatch.setattr("dramaturg.nodes.dialogues.role_memory.MOST_SOURCES", 2)
    talk = Talk(role, user_role="tom", **SHORT)
    answers = in_turn(f"{LONG} 1", f"{LONG} 2", f"{LONG} 3")
    for text in (PARCEL, SOUP):
        await talk.ask(text, player(record=answers, merged=""))
    await talk.ask("And?", player(record=answers))
    (merged,) = await recorded(talk)
    assert len(merged["dialogues"]) == 2
