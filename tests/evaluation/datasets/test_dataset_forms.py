"""The forms of other projects' datasets: small files of each shape, and the real ones where they are."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.datasets import character_llm, charactereval, coser, files
from dramaturg.evaluation.datasets.dataset import FORMS, DatasetTurn, Label
from dramaturg.evaluation.datasets.reading import READERS, read_dataset
from dramaturg.stores.errors import RoleFileError

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
DATA = Path(SHARED or "")
shared = pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")

SCENE = {
    "id": 7,
    "role": "阿灯",
    "novel_name": "灯塔",
    "context": "老汤：今晚有雾。\n阿灯：（点灯）我知道。\n老汤：油够吗？",
}
HEADED = {"阿灯": {"姓名": "阿灯", "爱好": ["看海", "喝茶"], "年龄": 40}, "老汤": "渔夫。"}
ASKED = {
    "role": "Ada",
    "question": " Fog? ",
    "generated": ["Ring the bell. ", "", "Bell!"],
    "type": ["script_based"] * 2,
}
TOPIC = {"topic_id": "t1", "topic": "interpersonal relationships", "question": "Who is Tom?"}
FILM = {"topic_id": "t4", "topic": character_llm.BEYOND, "question": "Your favourite film?"}
REPLY = {"role": "Ada", "action": "(speaking)", "content": "My brother."}
SINGLE = {"topic_id": "t1", "question": "Who is Tom?", "reply": [REPLY]}
LABELS = {
    "pdb": {"ada-en": {"BFI": {"Openness": {"score": 4.5, "type": "H"}, "Agreeableness": {"score": 3, "type": "X"}}}},
    "annotation": {"ada-en": {"BFI": {"Openness": {"score": "X", "type": "X"}}}},
}
PEOPLE = {"ada-en": {"alias": ["Ada"], "agent": {}, "experimenter": "Tom", "groundtruth": {"BFI": "SLOAI"}, "idx": 0}}


def put(path: Path, *values: object) -> Path:
    """Write one JSON value, or JSON lines of several."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(value, ensure_ascii=False) for value in values), encoding="utf-8")
    return path


def raw(*path: str) -> Any:
    """A file of shared data, read without the package."""
    text = DATA.joinpath(*path).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line] if path[-1].endswith("l") else json.loads(text)


def spoken(speaker: str, message: str) -> Mapping[str, str]:
    return {"character": speaker, "message": message}


def talk(turn: int, who: str, speaker: str, text: str) -> Mapping[str, Any]:
    return {"turn_id": turn, "turn_role": who, "turn_content": [{"role": speaker, "content": text}]}


def book(*dialogues: Mapping[str, str], **more: Any) -> Mapping[str, Any]:
    """A book with one conversation, of which Ada and Tom have profiles."""
    conversation = {"scenario": "A gale.", "topic": "The lamp", "dialogues": dialogues, "key_characters": []}
    plot = {"chapter": "I", "conversation": [conversation | more]}
    people = {name: {"profile": f"{name} lives here.", "plots": []} for name in ("Ada", "Tom")}
    return {"plots": [plot], "character_datasets": people, "split_plot_index": 1}


def test_a_dialogue_of_charactereval_is_gone_on_with(tmp_path: Path) -> None:
    found = read_dataset(put(tmp_path / "test_data.json", [SCENE]))
    (one,) = found.questions
    assert (found.form, one.id, one.role, one.user_role, one.text) == ("charactereval", "7", "阿灯", "老汤", "油够吗？")
    assert one.turns == (
        DatasetTurn(speaker="老汤", text="今晚有雾。"),
        DatasetTurn(speaker="阿灯", text="（点灯）我知道。"),
    )
    assert (one.answer, one.scope, one.metrics, one.labels) == ("", "", (), {"novel": "灯塔"})
    assert "no licence" in found.licence


def test_a_folder_of_charactereval_has_profiles_and_metrics(tmp_path: Path) -> None:
    put(tmp_path / "test_data.jsonl", [SCENE, SCENE | {"id": 8}])
    put(tmp_path / "character_profiles.json", HEADED)
    put(tmp_path / "id2metric.jsonl", {"7": [["Accuracy", "准"], ["Fluency", "顺"]], "99": [["Empathy", "情"]]})
    found = read_dataset(tmp_path)
    assert [one.metrics for one in found.questions] == [("Accuracy", "Fluency"), ()]
    assert found.characters["阿灯"].persona == "姓名：阿灯\n爱好：看海；喝茶\n年龄：40"
    assert found.characters["老汤"].persona == "渔夫。"


def test_a_line_without_a_speaker_goes_on() -> None:
    assert charactereval.spoken("甲：一\n\n二\n乙：三：四") == [
        DatasetTurn(speaker="甲", text="一\n二"),
        DatasetTurn(speaker="乙", text="三：四"),
    ]


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        ("", charactereval.NO_SPEAKER),
        ("一\n甲：二", charactereval.NO_SPEAKER),
        ("甲：一\n阿灯：二", charactereval.OWN_TURN),
        ("甲：一\n乙：", charactereval.NOTHING_SAID),
    ],
)
def test_dialogues_that_cannot_be_gone_on_with_are_counted(tmp_path: Path, context: str, reason: str) -> None:
    found = read_dataset(put(tmp_path / "test_data.json", [SCENE, SCENE | {"id": 8, "context": context}]))
    assert len(found.questions) == 1
    assert found.left_out == {reason: 1}


def test_where_all_is_left_out_there_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match=rf"holds nothing to ask \({charactereval.OWN_TURN}, 2 times\)"):
        read_dataset(put(tmp_path / "d.json", [SCENE | {"id": number, "context": "阿灯：二"} for number in (1, 2)]))
    with pytest.raises(RoleFileError, match=r"Light holds nothing to ask \(no entries\)"):
        read_dataset(put(tmp_path / "Light.json", book()))


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("test.jsonl", ASKED, "rolebench"),
        ("Ada.json", [TOPIC], "character_llm"),
        ("i.json", [SINGLE], "character_llm"),
        ("dialogues.json", [SCENE], "charactereval"),
        ("people.json", PEOPLE, "incharacter"),
        ("labels.json", LABELS, "incharacter"),
        ("Light.json", book(spoken("Ada", "Fog!"), spoken("Tom", "Where?")), "coser"),
    ],
)
def test_a_text_beside_a_file_does_not_make_it_another_form(tmp_path: Path, name: str, value: Any, form: str) -> None:
    put(tmp_path / name, value)
    put(tmp_path / "notes.txt", "Notes.")
    assert read_dataset(tmp_path).form == form


def test_two_files_of_one_name(tmp_path: Path) -> None:
    put(tmp_path / "test_data.json", [SCENE])
    put(tmp_path / "test_data.jsonl", [SCENE])
    with pytest.raises(RoleFileError, match=r"holds both test_data.json and test_data.jsonl: keep one"):
        read_dataset(tmp_path)


def test_a_line_of_rolebench_has_several_answers(tmp_path: Path) -> None:
    found = read_dataset(put(tmp_path / "test.jsonl", ASKED, ASKED | {"type": "script_agnostic"}))
    one, other = found.questions
    assert (found.form, one.id, one.role, one.text) == ("rolebench", "1", "Ada", "Fog?")
    assert (one.answer, one.more_answers) == ("Ring the bell.", ("Bell!",))
    assert (one.labels, other.labels) == ({"type": "script_based"}, {"type": "script_agnostic"})


def test_a_line_of_rolebench_without_a_question_is_counted(tmp_path: Path) -> None:
    found = read_dataset(put(tmp_path / "test.jsonl", ASKED, ASKED | {"question": "  "}, ASKED | {"generated": []}))
    assert [one.answer for one in found.questions] == ["Ring the bell.", ""]
    assert found.left_out == {files.NO_QUESTION: 1}


def test_questions_of_character_llm_have_their_role_in_the_name_of_the_file(tmp_path: Path) -> None:
    found = read_dataset(put(tmp_path / "generated_agent_interview_Ada.json", [TOPIC, FILM, TOPIC | {"question": ""}]))
    assert found.form == "character_llm"
    assert [(one.id, one.role, one.scope) for one in found.questions] == [("1", "Ada", "in"), ("2", "Ada", "out")]
    assert found.questions[0].labels == {"topic": "interpersonal relationships"}
    assert found.left_out == {files.NO_QUESTION: 1}


@pytest.mark.parametrize("given", [".", "questions"])
def test_a_folder_of_character_llm_has_several_roles_and_profiles(tmp_path: Path, given: str) -> None:
    for role in ("Ada", "Tom"):
        put(tmp_path / "questions" / f"{role}.json", [TOPIC])
    put(tmp_path / "profiles" / "wiki_Ada.txt", "Ada.")
    found = read_dataset(tmp_path / given)
    assert [(one.id, one.role) for one in found.questions] == [("Ada-1", "Ada"), ("Tom-1", "Tom")]
    assert {name: one.persona for name, one in found.characters.items()} == {"Ada": '"Ada."'}


def test_what_an_agent_replied_is_no_right_answer(tmp_path: Path) -> None:
    found = read_dataset(put(tmp_path / "i.json", [SINGLE, SINGLE | {"reply": []}, SINGLE | {"question": ""}]))
    (one,) = found.questions
    assert (one.role, one.text, one.answer, one.said) == ("Ada", "Who is Tom?", "", "My brother.")
    assert found.left_out == {character_llm.NO_REPLY: 1, files.NO_QUESTION: 1}


def test_each_question_of_a_long_interview_follows_what_was_said(tmp_path: Path) -> None:
    rounds = [
        talk(0, "interviewer", "Man", "Who is Tom?"),
        talk(0, "character", "Ada", "My brother."),
        talk(1, "interviewer", "Man", "Older?"),
    ]
    line = {"character": "Ada Lark", "topic": "Kin", "qid": 3, "content": rounds}
    first, second = read_dataset(put(tmp_path / "i.jsonl", line)).questions
    assert (first.id, first.role, first.user_role, first.said) == ("1.0", "Ada Lark", "Man", "My brother.")
    assert first.turns == ()
    assert (second.id, second.text, second.said) == ("1.1", "Older?", "")
    assert second.turns == (
        DatasetTurn(speaker="Man", text="Who is Tom?"),
        DatasetTurn(speaker="Ada", text="My brother."),
    )


def test_a_line_of_coser_answers_the_one_before(tmp_path: Path) -> None:
    told = book(
        spoken("Environment", "The lamp dies."),
        spoken("Ada", "[I dread it.] (runs) Oil,  Tom!"),
        spoken("Tom", "Coming."),
        spoken("Tom", "[Where is it?] Here."),
        key_characters=[{"name": "Tom", "motivation": "He wants to help."}],
    )
    found = read_dataset(put(tmp_path / "Light.json", told))
    ada, tom = found.questions
    assert (found.form, ada.role, ada.user_role, ada.text) == ("coser", "Ada", "Environment", "The lamp dies.")
    assert (ada.answer, ada.context) == ("(runs) Oil, Tom!", "A gale.")
    assert (tom.text, tom.answer, tom.context) == ("(runs) Oil, Tom!", "Coming.\nHere.", "A gale.\n\nHe wants to help.")
    assert tom.turns == (DatasetTurn(speaker="Environment", text="The lamp dies."),)
    assert tom.labels == {"topic": "The lamp", "chapter": "I", "split": "train"}
    assert found.characters["Ada"].persona == "Ada lives here."
    assert found.left_out == {}


def test_lines_of_coser_that_nobody_is_asked_for_are_counted(tmp_path: Path) -> None:
    told = book(spoken("Ada", "Fog!"), spoken("Gull", "Kree."), spoken("Tom", "[Fog.]"), spoken("Ada", "Hush."))
    found = read_dataset(put(tmp_path / "Light.json", told))
    assert [(one.role, one.text) for one in found.questions] == [("Ada", "Kree.")]
    assert found.left_out == {coser.THOUGHT: 1, coser.OPENS: 1, coser.STRANGER: 1}


def test_from_the_split_on_plots_are_for_testing(tmp_path: Path) -> None:
    told = dict(book(spoken("Ada", "Fog!"), spoken("Tom", "Where?"))) | {"split_plot_index": 0}
    assert read_dataset(put(tmp_path / "Light.json", told)).questions[0].labels["split"] == "test"


def test_incharacter_has_characters_and_no_questions(tmp_path: Path) -> None:
    put(tmp_path / "characters.json", PEOPLE)
    put(tmp_path / "characters_labels.json", LABELS)
    found = read_dataset(tmp_path)
    ada = found.characters["ada-en"]
    assert (found.form, found.questions) == ("incharacter", ())
    assert (ada.aliases, ada.language, ada.experimenter, ada.types) == (("Ada",), "en", "Tom", {"BFI": "SLOAI"})
    assert ada.labels["pdb"]["BFI"]["Agreeableness"] == Label(score=3, type="X")
    assert ada.labels["annotation"]["BFI"]["Openness"] == Label(score=None, type="X")


def test_each_file_of_incharacter_may_be_given_alone(tmp_path: Path) -> None:
    typed = {"ada-en": PEOPLE["ada-en"] | {"groundtruth": {}, "labels": {"BFI": "RLOAI"}}}
    assert read_dataset(put(tmp_path / "typed.json", typed)).characters["ada-en"].types == {"BFI": "RLOAI"}
    people = read_dataset(put(tmp_path / "some_people.json", PEOPLE)).characters["ada-en"]
    labels = read_dataset(put(tmp_path / "some_labels.json", LABELS)).characters["ada-en"]
    assert (people.experimenter, people.labels) == ("Tom", {})
    assert (labels.experimenter, {*labels.labels}) == ("", {"pdb", "annotation"})


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("test_data.json", [SCENE, SCENE | {"context": 5}], "test_data.json, entry 2: `context` must be text"),
        ("test_data.json", [SCENE, SCENE], "entry 2: the id '7' is there twice"),
        ("rolebench.json", [ASKED, ASKED | {"generated": "One."}], "entry 2: `generated` should be a valid list"),
        ("rolebench.json", [ASKED, {"role": "Ada", "question": "Fog?"}], "entry 2: `generated` is missing"),
        ("Ada.json", [TOPIC, TOPIC | {"topic": None}], "Ada.json, entry 2: `topic` must be text"),
        ("i.json", [SINGLE, SINGLE | {"reply": [{"role": "Ada"}]}], "entry 2: `reply.1.content` is missing"),
        ("Light.json", dict(book()) | {"plots": [{}]}, "Light.json: `plots.1.conversation` is missing"),
        ("Light.json", book(spoken("", "Fog!")), "`plots.1.conversation.1.dialogues.1.character` must not be blank"),
        ("p.json", PEOPLE | {"tom-en": {"alias": []}}, "p.json: `tom-en.experimenter` is missing"),
    ],
)
def test_an_entry_without_its_form_is_an_error(tmp_path: Path, name: str, value: object, what: str) -> None:
    with pytest.raises(RoleFileError) as caught:
        read_dataset(put(tmp_path / name, value))
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("score", "says"),
    [
        *(
            (one, r"l\.json: `pdb\.ada-en\.BFI\.Openness\.score` must be a number, or X")
            for one in ("high", True, None, [1])
        ),
        ("X", r"`pdb\.ada-en\.BFI\.Openness` has a score of X: its type must be X too"),
    ],
    ids=str,
)
def test_a_score_is_a_number_or_x_where_nobody_could_tell(tmp_path: Path, score: object, says: str) -> None:
    label = {"score": score, "type": "H"}
    with pytest.raises(RoleFileError, match=says):
        read_dataset(put(tmp_path / "l.json", {"pdb": {"ada-en": {"BFI": {"Openness": label}}}}))


@pytest.mark.parametrize("form", [form for form in FORMS if form != "jsonl"])
def test_a_form_says_what_it_looks_like_when_it_was_named_and_is_not_there(tmp_path: Path, form: Any) -> None:
    with pytest.raises(RoleFileError, match=f"mine does not have the form {form}: give ") as caught:
        read_dataset(put(tmp_path / "mine.json", [{"question": "Who?"}]), form)
    assert READERS[form].looks in str(caught.value)


@shared
def test_charactereval_as_released() -> None:
    found = read_dataset(DATA / "charactereval")
    rows, metrics = raw("charactereval", "test_data.json"), raw("charactereval", "id2metric.json")
    assert (len(found.questions), len(found.characters), found.left_out) == (953, 12, {})
    assert Counter(one.role for one in found.questions) == Counter(row["role"] for row in rows)
    assert [1 + len(one.turns) for one in found.questions] == [row["context"].count("\n") + 1 for row in rows]
    assert Counter(name for one in found.questions for name in one.metrics) == Counter(
        name for pairs in metrics.values() for name, _ in pairs
    )
    assert sum(not one.metrics for one in found.questions) == len(rows) - len(metrics) == 8
    assert all(one.user_role != one.role and one.text for one in found.questions)


@shared
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("eng_role_specific_test", 495),
        ("zh_general_test", 585),
        ("zh_role_specific_test", 89),
        ("zh_role_specific_train", 713),
    ],
)
def test_rolebench_as_released(name: str, number: int) -> None:
    found, rows = read_dataset(DATA / "rolebench" / f"{name}.jsonl"), raw("rolebench", f"{name}.jsonl")
    assert (found.form, len(found.questions), found.left_out) == ("rolebench", number, {})
    assert Counter(one.role for one in found.questions) == Counter(row["role"] for row in rows)
    answers = [len(one.more_answers) + 1 for one in found.questions]
    assert answers == [len(row["generated"]) for row in rows]


@shared
def test_character_llm_as_released() -> None:
    found = read_dataset(DATA / "character_llm")
    numbers = {
        role: len(raw("character_llm", "questions", f"{role}.json")) for role in ("Beethoven", "Caesar", "Newton")
    }
    assert Counter(one.role for one in found.questions) == numbers == {"Beethoven": 82, "Caesar": 92, "Newton": 95}
    assert Counter((one.role, one.scope) for one in found.questions if one.scope == "out") == {
        (role, "out"): 5 for role in numbers
    }
    assert {name: len(one.persona) > 30_000 for name, one in found.characters.items()} == dict.fromkeys(numbers, True)


@shared
def test_interviews_of_character_llm_as_released() -> None:
    for name in ("Beethoven_sft", "Beethoven_chatgpt"):
        single = read_dataset(DATA / "character_llm" / "interview_single" / f"{name}.json").questions
        rows = raw("character_llm", "interview_single", f"{name}.json")
        assert [one.said for one in single] == [row["reply"][0]["content"].strip() for row in rows]
    rounds = read_dataset(DATA / "character_llm" / "interview_turns" / "Beethoven_sft.jsonl").questions
    lines = raw("character_llm", "interview_turns", "Beethoven_sft.jsonl")
    asked = [one for line in lines for one in line["content"] if one["turn_role"] == "interviewer"]
    assert len(rounds) == len(asked) == 250
    assert Counter(len(one.turns) for one in rounds) == dict.fromkeys([0, 2, 4, 6, 8], 50)
    assert all(one.said and not one.answer for one in rounds)


@shared
def test_coser_as_released() -> None:
    found, told = read_dataset(DATA / "coser_plays"), raw("coser_plays", "King_Lear.json")
    assert {*found.characters} == {*told["character_datasets"]}
    assert Counter(one.role for one in found.questions) == Counter(dict(counted(told)))
    assert (len(found.questions), found.left_out) == (154, {coser.OPENS: 1})
    assert not any(re.search(r"[\[\]]", one.text + one.answer) for one in found.questions)
    held_out = [one for one in found.questions if one.labels["split"] == "test"]
    assert {int(one.id.split(".")[0]) for one in held_out} == {16, 17}


def counted(told: Any) -> Iterator[tuple[str, int]]:
    """How many lines each speaker has that follow somebody else's."""
    pairs: Counter[str] = Counter()
    for conversation in (one for plot in told["plots"] for one in plot["conversation"]):
        speakers = [line["character"] for line in conversation["dialogues"]]
        pairs.update(now for before, now in pairwise(speakers) if before != now)
    yield from ((name, number) for name, number in pairs.items() if name in told["character_datasets"])


@shared
def test_incharacter_as_released() -> None:
    found, labels = read_dataset(DATA / "incharacter"), raw("incharacter", "characters_labels.json")
    assert {*found.characters} == {*labels["pdb"]} == {*labels["annotation"]}
    assert len(found.characters) == 32
    for name, contested in (("BFI", 3), ("16Personalities", 7)):
        placed = [one for who in found.characters.values() for one in who.labels["pdb"][name].values()]
        written = [one for who in labels["pdb"].values() for one in who[name].values()]
        assert [(one.score, one.type) for one in placed] == [(one["score"], one["type"]) for one in written]
        assert sum(one.type == "X" for one in placed) == contested
    missing = sum(one.score is None for who in found.characters.values() for one in every(who.labels["annotation"]))
    assert missing == 141
    assert Counter(who.language for who in found.characters.values()) == Counter(
        name[-2:] for name in raw("incharacter", "characters.json")
    )


def every(labels: Mapping[str, Mapping[str, Label]]) -> list[Label]:
    return [one for placed in labels.values() for one in placed.values()]


@shared
def test_characters_of_character_llm_in_incharacter_have_types() -> None:
    found = read_dataset(DATA / "incharacter" / "characters_cllm.json").characters
    assert len(found) == 9
    assert all({*one.types} == {"BFI", "16Personalities"} for one in found.values())


@shared
def test_other_files_of_questions_and_answers_are_plain() -> None:
    files = sorted((DATA / "out_of_scope_zh").glob("qa__*.json"))
    assert len(files) == 5
    for path in files:
        found = read_dataset(path)
        assert (found.form, len(found.questions)) == ("jsonl", len(raw("out_of_scope_zh", path.name)))
        assert f"_{len(found.questions)}.json" in path.name


@shared
@pytest.mark.parametrize("path", ["incharacter/questionnaires/BFI.json", "charactereval/id2metric.json"])
def test_files_of_other_kinds_are_no_datasets(path: str) -> None:
    with pytest.raises(RoleFileError, match="has none of the known forms"):
        read_dataset(DATA / path)
