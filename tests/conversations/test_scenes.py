"""Scenes of a library: read from their files, played, remembered by each role alone, written as a script."""

import json
import shutil
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from dramaturg.conversations.alignment import Exchange
from dramaturg.conversations.opening import open_conversation
from dramaturg.conversations.scene_files import read_scene, scenes_of
from dramaturg.conversations.scene_histories import SceneTalk
from dramaturg.conversations.scenes import (
    cast_of,
    lines_of,
    open_scene,
    played_turns,
    script_of,
    thread_of,
)
from dramaturg.stores.conversations.talk import TalkRecords
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library import library_at
from dramaturg.testing import Rule, ScriptedChatModel, WordEmbeddings, in_turn, write_role
from dramaturg.workflows import scene
from dramaturg.workflows.methods import context_type
from dramaturg.workflows.scene import SceneContext

from changing_roles import CORE, changing
from fakes import ScriptedChatModel as Scripted
from roles import run_settings, small_role

CROWN = """place: An inn by night.
opening: The fire is low.
lines: 1
cast:
- {role: ada, method: vanilla}
- {role: ben, method: vanilla}
- {role: tom, method: vanilla, hidden: true, told: You lie under the table.}
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for role, name in (("ada", "Ada Quill"), ("ben", "Ben Gunn"), ("tom", "Tom Morgan")):
        write_role(tmp_path, role, name=name)
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes" / "inn.yaml").write_text(CROWN, encoding="utf-8")
    return tmp_path


def scene_of(library: Path, model: Any, **given: Any) -> Any:
    own = {"chat_model": model, "embedding_model": WordEmbeddings(), **given}
    return read_scene(library_at(library), "inn", **own)


async def played(library: Path, *lines: str, **given: Any) -> ScriptedChatModel:
    model = ScriptedChatModel(write="Aye, so it is.")
    async with open_scene(scene_of(library, model, **given), thread_of("inn")) as talk:
        for line in lines:
            await talk.take_turn(line)
    return model


async def asked(library: Path, role: str, question: str, thread: str = "", **given: Any) -> str:
    """The prompt of a private talk with a role of the library."""
    model = ScriptedChatModel()
    own = {"library": str(library), "chat_model": model, "embedding_model": WordEmbeddings(), "role": role}
    context = context_type("vanilla")(**own, scenes="everybody", **given)
    async with open_conversation("vanilla", context, thread or "private") as talk:
        await talk.take_turn(question)
    return model.calls[-1].text


async def test_what_a_role_has_heard_comes_back_in_its_next_talk_and_nothing_else(library: Path) -> None:
    await played(library, "/whisper Ben: The brass key is under the hearth.", "/leave ben", "The duke sleeps upstairs.")
    assert "The brass key is under the hearth." in await asked(library, "ben", "Where is the brass key?")
    assert "in another talk" in await asked(library, "ben", "Where is the brass key?", "again")
    for role in ("ada", "tom"):
        shown = await asked(library, role, "Where is the brass key? Does the duke sleep?")
        assert "hearth" not in shown
        assert "The duke sleeps upstairs." in shown
    assert "upstairs" not in await asked(library, "ben", "Does the duke sleep?")


async def test_a_private_talk_is_no_scene_and_comes_back_in_none(library: Path) -> None:
    await asked(library, "ada", "My sister keeps a tortoise, Ada.")
    other = await asked(library, "ada", "Who keeps a tortoise?", "other")
    assert "My sister" not in other
    model = await played(library, "Ada, who keeps a tortoise?")
    assert "My sister" not in model.calls[-1].text


async def test_a_role_goes_on_with_its_memory_in_the_next_scene(library: Path) -> None:
    await played(library, "/whisper Ada: The brass key is under the hearth.")
    model = ScriptedChatModel()
    async with open_scene(scene_of(library, model), thread_of("inn", "second night")) as talk:
        await talk.take_turn("Ada, where is the brass key?")
        await talk.take_turn("Ben, where is the brass key?")
    first, second = (call.text for call in model.calls)
    assert "is under the hearth" in first
    assert "is under the hearth" not in second


async def test_a_scene_begins_with_what_all_and_what_one_alone_is_told(library: Path) -> None:
    model = await played(library, "Ben, a fine night.", "/next Tom")
    ben, tom = (call.text for call in model.calls)
    assert "The fire is low." in ben
    assert "under the table" not in ben
    assert "Tom Morgan" not in ben
    assert "You lie under the table." in tom
    assert "You are hidden" in tom


async def test_what_is_forgotten_is_forgotten_by_everybody_who_has_heard_it(library: Path) -> None:
    await played(library, "The brass key is under the hearth, Ada.", "A fine night, Ben.")
    assert "hearth" in await asked(library, "ben", "Where is the brass key?", "before")
    async with open_scene(scene_of(library, ScriptedChatModel()), thread_of("inn")) as talk:
        gone = await talk.forget(phrase="brass key")
        assert gone.said
    for role in ("ada", "ben", "tom"):
        assert "hearth" not in await asked(library, role, "Where is the brass key?")
    assert "hearth" not in kept_in(library)


async def test_what_was_answered_to_what_is_forgotten_is_forgotten_with_it(library: Path) -> None:
    model = ScriptedChatModel(write=in_turn("Under the old stones, then.", "Aye."))
    async with open_scene(scene_of(library, model, user_role="Squire"), thread_of("inn")) as talk:
        await talk.take_turn("/whisper Ben: The brass key is under the hearth.")
        await talk.take_turn("Ben, a fine night.")
        (heard,) = [one for one in await talk.remembered_by("ben") if "hearth" in one.said[0].text]
        assert len((await talk.to_forget([heard.id])).said) == 2
        await talk.forget([heard.id])
        assert "fine night" in str(await talk.remembered_by("ben"))
    assert "old stones" not in kept_in(library)


async def test_a_summary_of_what_is_forgotten_is_emptied_with_it(library: Path) -> None:
    model = ScriptedChatModel(rules=[Rule("<conversation>", "Somebody has hidden something.")], write="Aye.")
    async with open_scene(scene_of(library, model, window=2), thread_of("inn")) as talk:
        for line in ("Ada, the brass key is under the hearth.", *["Ada, a fine night."] * 4):
            await talk.take_turn(line)
        assert "has hidden something" in model.calls[-2].text + model.calls[-1].text
        await talk.forget(phrase="brass key")
        model.calls.clear()
        await talk.take_turn("/next ada")
    assert "has hidden something" not in model.calls[0].text


async def test_a_scene_that_is_erased_is_gone_from_every_role(library: Path) -> None:
    await played(library, "The brass key is under the hearth, Ada.")
    async with open_scene(scene_of(library, ScriptedChatModel()), thread_of("inn")) as talk:
        await talk.erase()
        assert await talk.history() == []
    for role in ("ada", "ben", "tom"):
        assert "hearth" not in await asked(library, role, "Where is the brass key?")


async def test_who_plays_no_more_or_is_gone_forgets_with_the_others_on_every_branch(library: Path) -> None:
    ada = {"role": "ada", "method": "vanilla"}
    await played(library, "/whisper Ben: The brass key is under the hearth.", "/leave tom", "The duke sleeps.")
    assert "hearth" in await asked(library, "ben", "Where is the brass key?", "before")
    shutil.rmtree(library / "tom")
    async with open_scene(scene_of(library, ScriptedChatModel(write="Aye."), cast=[ada]), thread_of("inn")) as talk:
        await talk.edit((await talk.history())[0].id, "A fine night.")  # nobody else has heard it on this branch
        assert [one.role for one in await cast_of(talk)] == ["ada", "ben", "tom"]
        assert (await talk.forget(phrase="brass key")).said
        assert "hearth" not in kept_in(library)
        await talk.erase()
    assert not [one for one in ("The duke sleeps", "lie under the table", "fire is low") if one in kept_in(library)]


async def test_a_forgetting_that_was_stopped_reaches_who_plays_no_more_when_it_is_done_again(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await played(library, "/whisper Tom, Ada: The brass key is under the hearth.")
    ada = {"role": "ada", "method": "vanilla"}
    reached, forget = list[str](), TalkRecords.forget

    async def stopped(records: TalkRecords, ids: Any) -> None:
        reached.append(records.role)
        if records.role != "ada":
            raise KeyboardInterrupt
        await forget(records, ids)

    monkeypatch.setattr(TalkRecords, "forget", stopped)
    with pytest.raises(KeyboardInterrupt):
        await forgotten(library, cast=[ada])
    monkeypatch.undo()
    assert reached == ["ada", "ben"]
    assert "hearth" in kept_in(library)
    await forgotten(library, cast=[ada])
    assert "hearth" not in kept_in(library)
    async with open_scene(scene_of(library, ScriptedChatModel(), cast=[ada]), thread_of("inn")) as talk:
        assert {*await talk.heads()} == {"ada"}


async def forgotten(library: Path, **given: Any) -> None:
    async with open_scene(scene_of(library, ScriptedChatModel(), **given), thread_of("inn")) as talk:
        await talk.forget(phrase="brass key")


def kept_in(library: Path) -> str:
    """All that is kept of what was said."""
    files = [one for one in (library / ".conversations").iterdir() if one.is_file()]
    return "".join(one.read_bytes().decode(errors="replace") for one in files)


async def test_what_one_alone_was_told_stays_when_a_turn_is_deleted(library: Path) -> None:
    absent = {"role": "tom", "method": "vanilla", "absent": True, "told": "You hid the brass key in the well."}
    cast = [{"role": "ada", "method": "vanilla"}, absent]
    model = ScriptedChatModel(write="Aye.")
    async with open_scene(scene_of(library, model, cast=cast), thread_of("inn")) as talk:
        for line in ("Ada, good evening.", "Ada, a fine night."):
            await talk.take_turn(line)
        await talk.delete((await talk.history())[-1].id)
        assert [line.text for one in await talk.remembered_by("tom") for line in one.said] == [absent["told"]]
    assert "in the well" in await asked(library, "tom", "Where is the brass key?")


async def test_a_script_says_who_has_heard_what_was_not_for_all(library: Path) -> None:
    await played(library, "/narrate The door opens.", "/whisper Ben: Hush.", user_role="Squire")
    async with open_scene(scene_of(library, ScriptedChatModel()), thread_of("inn")) as talk:
        script = "\n".join(await script_of(talk))
    begins = "!The fire is low.\n\n!You lie under the table. [[heard by Tom Morgan]]\n\n!The door opens.\n"
    assert script.startswith(f"Title: inn\n\n.An inn by night.\n\n{begins}")
    assert "@Squire\n(whispers)\nHush. [[heard by Ben Gunn]]" in script
    assert "@Ben Gunn\n(whispers)\nAye, so it is. [[heard by Ben Gunn]]" in script


async def test_who_was_there_and_why_somebody_heard_a_line_or_did_not(library: Path) -> None:
    lines = (
        "Good evening.",
        "/whisper Ben: Hush.",
        "/leave ben",
        "/narrate A cat comes in.",
        "/hide ben",
        "/enter ben",
    )
    await played(library, *lines, user_role="Squire", next="user")
    async with open_scene(scene_of(library, ScriptedChatModel()), thread_of("inn")) as talk:
        found = await lines_of(talk)
        turns = await played_turns(talk)
    table = [(one.text, *(one.why(role) for role in ("ada", "ben", "tom"))) for one in found]
    assert table == [
        ("The fire is low.", "heard", "heard", "heard"),
        ("You lie under the table.", "to_others", "to_others", "told"),
        ("Good evening.", "heard", "heard", "heard"),
        ("Hush.", "to_others", "whispered", "to_others"),
        ("Aye, so it is.", "to_others", "said", "to_others"),
        ("Ben Gunn leaves.", "seen", "seen", "seen"),
        ("A cat comes in.", "heard", "away", "heard"),
        ("Ben Gunn is hidden and listens; nobody here knows.", "unseen", "seen", "unseen"),
        ("Ben Gunn comes in.", "seen", "seen", "seen"),
    ]
    assert [one.hidden for one in found][-3:] == [["tom"], ["ben", "tom"], ["ben", "tom"]]
    assert [len(turn.lines) for turn in turns.values()] == [1, 2, 1, 1, 1, 1]
    assert [*turns.values()][2].stage["present"] == ["ada", "tom"]


async def test_a_whisper_in_a_history_that_a_client_shows_is_a_whisper(library: Path) -> None:
    model = ScriptedChatModel(write="Aye.")
    async with open_scene(scene_of(library, model), thread_of("inn")) as opened:
        talk = SceneTalk(scene.build(), opened.saver, opened.context, opened.thread.name, store=opened.store)
        whispered = "Ben Gunn: (whispers to Ada Quill) The brass key is under the hearth."
        await talk.take_turn_after([Exchange("/next ben", whispered)], "/next tom")
        assert "hearth" not in model.calls[-1].text
        await talk.take_turn("/next ada")
        assert "hearth" in model.calls[-1].text


async def test_thoughts_are_heard_by_nobody_and_a_role_can_whisper(library: Path) -> None:
    lines = in_turn("[I shall rob him.] Good evening.", "/whisper Ada: He is rich.", "What?")
    model = ScriptedChatModel(write=lines)
    async with open_scene(scene_of(library, model, lines=1), thread_of("inn")) as talk:
        await talk.take_turn("Ben, speak.")
        await talk.take_turn("Ben, again.")
        await talk.take_turn("/next tom")
    own, tom = model.calls[1].text, model.calls[2].text
    assert "[I shall rob him.] Good evening." in own
    assert "Ben Gunn: Good evening." in tom
    assert "rob him" not in tom
    assert "rich" not in tom


@pytest.mark.parametrize(
    ("said", "heard", "text"),
    [
        ("/whisper Squire: The key is under the hearth.", ["ben"], "The key is under the hearth."),
        ("/whisper Squire, Ada: The key is under the hearth.", ["ada", "ben"], "The key is under the hearth."),
        ("/whisper Ben: The key is under the hearth.", ["ben"], "Ben: The key is under the hearth."),
        ("/whisper Silver: The key is under the hearth.", ["ben"], "Silver: The key is under the hearth."),
        ("[Nobody must hear it.] /whisper Ada: The key.", ["ada", "ben"], "[Nobody must hear it.] The key."),
        ("Good evening.\n/whisper Ada: The key.", ["ada", "ben"], "Good evening. The key."),
    ],
)
async def test_what_a_role_whispers_is_never_said_aloud(library: Path, said: str, heard: list[str], text: str) -> None:
    model = ScriptedChatModel(write=said)
    async with open_scene(scene_of(library, model, user_role="Squire"), thread_of("inn")) as talk:
        await talk.take_turn("Ben, speak.")
        *_, line = await lines_of(talk)
        assert (line.kind, line.heard, line.text) == ("whisper", heard, text)
        await talk.take_turn("/next tom")
    assert "key" not in model.calls[-1].text


async def test_two_of_one_name_are_told_apart(library: Path) -> None:
    card = library / "ben" / "role.yaml"
    card.write_text(card.read_text("utf-8").replace("Ben Gunn", "Ada Quill"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"Ada Quill is the name of several here: ada or ben\?"):
        await played(library, "/whisper Ada Quill: Hush.")
    model = await played(library, "/whisper ben: Hush.", "/next ada")
    assert "Hush" not in model.calls[-1].text
    async with open_scene(scene_of(library, model), thread_of("inn")) as talk:
        script = "\n".join(await script_of(talk))
    assert "@Ada Quill (ben)\n(whispers)\nAye, so it is. [[heard by Ada Quill (ben)]]" in script


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/whisper Nobody: Hush.", "needs the name of somebody of the cast"),
        ("/whisper Ben:", "There is nothing to whisper"),
        ("/narrate", "There is nothing to narrate"),
        ("/enter Bem Gunn", "Ben Gunn"),
    ],
)
async def test_a_command_that_means_nothing_is_refused_and_nothing_is_kept(library: Path, line: str, said: str) -> None:
    async with open_scene(scene_of(library, ScriptedChatModel()), thread_of("inn")) as talk:
        with pytest.raises(ValueError, match=said):
            await talk.take_turn(line)
        await talk.take_turn("Ben, good evening.")
        assert [turn.question for turn in await talk.history()] == ["Ben, good evening."]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Hands up, all of you.", True),
        ("/whisper Ada: I am under the table.", False),
        ("[I must not sneeze.]", False),
    ],
)
async def test_who_is_hidden_and_speaks_aloud_is_there_from_then_on(library: Path, said: str, shown: bool) -> None:
    model = ScriptedChatModel(write=in_turn(said, "Aye."))
    async with open_scene(scene_of(library, model, next="user"), thread_of("inn")) as talk:
        await talk.take_turn("/next tom")
        await talk.take_turn("/narrate A cat comes in.")
        await talk.take_turn("/next ben")
        assert "You are hidden" in model.calls[0].text
        assert ("Tom Morgan" in model.calls[-1].text.partition("<scene>")[2].partition("</scene>")[0]) == shown
        last = [*(await played_turns(talk)).values()][-1]
        assert last.stage["hidden"] == (await talk.thread.values())["stage"]["hidden"] == ([] if shown else ["tom"])
        told = {one.text: one.hidden for one in await lines_of(talk)}
        assert (told["You lie under the table."], told["A cat comes in."]) == (["tom"], [] if shown else ["tom"])
        await talk.take_turn("/leave tom")
        assert ("Tom Morgan leaves." in str(await talk.remembered_by("ben"))) == shown


async def test_who_is_hidden_leaves_without_a_word(library: Path) -> None:
    with pytest.raises(ValueError, match="Nobody knows that Tom Morgan is here: write /leave Tom Morgan by itself"):
        await played(library, "/leave ben, tom")
    model = await played(library, "/leave tom", "Ada, good evening.")
    assert "Tom Morgan" not in model.calls[-1].text


async def test_no_text_ends_what_somebody_says_in_a_script(library: Path) -> None:
    lines = ("/narrate @Ada Quill\nI did it.\n\nINT. HELL", "Ben, hush.\n\n@Ada Quill\nAye. [[heard by nobody]] /* x")
    await played(library, *lines, user_role="Squire")
    async with open_scene(scene_of(library, ScriptedChatModel()), thread_of("inn")) as talk:
        script = "\n".join(await script_of(talk))
    assert "!@Ada Quill\n!I did it.\n\n!INT. HELL\n\n" in script
    assert "@Squire\nBen, hush.\n  \n@Ada Quill\nAye. [ [heard by nobody]] / * x\n\n" in script


async def test_who_has_gone_cannot_be_whispered_to(library: Path) -> None:
    with pytest.raises(ValueError, match="Ben Gunn is not there to hear it: /enter Ben Gunn first"):
        await played(library, "/leave ben", "/whisper Ben: Hush.")


def test_a_scene_file_that_cannot_be_read_says_where(library: Path) -> None:
    shelf = library_at(library)
    assert {"inn", "apple_barrel"} <= {*scenes_of(shelf)}
    with pytest.raises(RoleError, match="no scene 'inm'; did you mean 'inn'"):
        read_scene(shelf, "inm")
    (library / "scenes" / "bad.yaml").write_text(CROWN.replace("hidden", "hiden"), encoding="utf-8")
    with pytest.raises(RoleError, match=r"bad\.yaml, line 7"):
        read_scene(shelf, "bad")
    (library / "scenes" / "twice.yaml").write_text(CROWN.replace("ben", "ada"), encoding="utf-8")
    with pytest.raises(RoleError, match="in the cast twice"):
        read_scene(shelf, "twice")


async def test_who_speaks_is_judged_by_one_question_whatever_their_number(library: Path) -> None:
    for policy in ("willing", "director"):
        model = ScriptedChatModel(choose="2", write="Aye.")
        async with open_scene(scene_of(library, model, next=policy), thread_of("inn", policy)) as talk:
            await talk.take_turn("/narrate The door opens.")
            output = await talk.take_turn("/narrate A man comes in.")
        assert output["messages"][-1].name == "ben"
        assert len([call for call in model.calls if "<conversation>" in call.text]) == 2
        assert json.dumps(output["usage"]["choose_speaker"]["calls"]) == "1"


async def test_what_was_heard_at_a_later_time_of_the_story_does_not_come_back(library: Path) -> None:
    for when, thread, key in (("chapter 3", "early", "brass"), ("chapter 9", "late", "silver")):
        context = scene_of(library, ScriptedChatModel(), as_of=when)
        async with open_scene(context, thread_of("inn", thread)) as talk:
            await talk.take_turn(f"Ada, the {key} key is under the hearth.")
    for as_of, known in (("chapter 5", {"brass"}), ("chapter 9", {"brass", "silver"}), ("", {"brass", "silver"})):
        shown = await asked(library, "ada", "Which key is under the hearth?", f"private {as_of}", as_of=as_of)
        assert {one for one in ("brass", "silver") if f"the {one} key" in shown} == known


async def test_who_is_willing_is_judged_by_what_all_have_heard_and_a_director_sees_all(library: Path) -> None:
    for policy, shown in (("willing", False), ("director", True)):
        model = ScriptedChatModel(choose="2", write="Aye.")
        async with open_scene(scene_of(library, model, next=policy), thread_of("inn", policy)) as talk:
            await talk.take_turn("/whisper Ada: The brass key is under the hearth.")
            model.calls.clear()
            await talk.take_turn("/narrate The door opens.")
        (judged,) = [call.text for call in model.calls if "<conversation>" in call.text]
        assert ("hearth" in judged) == shown
        assert "The door opens." in judged


async def test_what_was_said_before_a_turn_that_is_deleted_stays_with_who_heard_it(library: Path) -> None:
    model = ScriptedChatModel(write=in_turn("The brass key is under the hearth.", "I know nothing of it."))
    async with open_scene(scene_of(library, model), thread_of("inn")) as talk:
        for line in ("Ada, where is the key?", "Ben, where is it?"):
            await talk.take_turn(line)
        await talk.delete((await talk.history())[-1].id)
        said = [line.text for one in await talk.remembered() for line in one.said]
    assert said.count("The brass key is under the hearth.") == 3
    assert "I know nothing of it." not in said
    assert "under the hearth" in await asked(library, "ben", "Where is the brass key?")


async def test_where_a_turn_is_left_out_each_has_said_and_heard_what_it_has(library: Path) -> None:
    lines = ("/whisper Ben: The brass key is under the hearth.", "Ada, a fine night.", "Tom, come out.", "/next ben")
    await played(library, *lines, user_role="Squire", next="named")
    async with open_scene(scene_of(library, ScriptedChatModel(), user_role="Squire"), thread_of("inn")) as talk:
        before = [one for one in await lines_of(talk) if one.turn]
        left = (await talk.history())[1]
        await talk.leave_out(left.id)
        after = [one for one in await lines_of(talk) if one.turn]
    told = [(one.kind, one.role, one.text, one.heard) for one in before if one.turn != left.id]
    assert [(one.kind, one.role, one.text, one.heard) for one in after] == told


async def test_a_role_may_have_a_longer_window_than_the_scene(library: Path) -> None:
    long = {"role": "ada", "method": "vanilla", "settings": {"window": 40, "talk_tokens": 0}}
    short = {"role": "ben", "method": "vanilla", "settings": {"talk_tokens": 0}}
    model = await played(
        library,
        *[f"/narrate Hour {hour} strikes." for hour in range(9)],
        "/next ada",
        "/next ben",
        cast=[long, short],
        window=4,
        next="user",
        summary_tokens=0,
    )
    ada, ben = (call.text for call in model.calls)
    assert "Hour 0 strikes." in ada
    assert "Hour 0 strikes." not in ben


async def test_a_line_that_waits_for_approval_is_kept_where_nobody_answers(tmp_path: Path) -> None:
    small_role(tmp_path)
    cast = [{"role": "ada", "method": "id-rag", "settings": {"update": True}}]
    context = SceneContext(**run_settings(tmp_path, Scripted(reply=changing(CORE)), cast=cast))
    async with open_scene(context, thread_of("inn")) as talk:
        await talk.take_turn("Who are you?")
        assert await talk.waiting()
        await talk.take_turn("And then?")
        assert [turn.question for turn in await talk.history()] == ["Who are you?"]
        assert await talk.waiting()  # the second line does, too
        await talk.answer({"approved": [1]})
        turns = await talk.history()
        assert [(turn.question, turn.reply) for turn in turns] == [
            ("Who are you?", "I keep the light."),
            ("And then?", "I keep the light."),
        ]
        told = [(await talk.values(turn))["evidence"]["ada"].get("identity_changes", []) for turn in turns]
        assert [[one["approved"] for one in of_turn] for of_turn in told] == [[], [True]]


async def test_all_lines_of_a_turn_that_wait_one_after_the_other_are_kept_where_nobody_answers(tmp_path: Path) -> None:
    small_role(tmp_path)
    copytree(tmp_path / "ada", tmp_path / "eve")
    cast = [{"role": role, "method": "id-rag", "settings": {"update": True}} for role in ("ada", "eve")]
    settings = run_settings(tmp_path, Scripted(reply=changing(CORE)), cast=cast, lines=2, next="round")
    async with open_scene(SceneContext(**settings), thread_of("inn")) as talk:
        await talk.take_turn("Who are you?")
        await talk.take_turn("And then?")
        (turn,) = await talk.history()
        assert turn.speakers == ("ada", "eve")
