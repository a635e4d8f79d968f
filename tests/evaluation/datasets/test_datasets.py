"""Datasets: plain questions and pairs with a persona, how a form is told, and what bad input is answered."""

import json
import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.evaluation.datasets import files as dataset_files
from dramaturg.evaluation.datasets.dataset import ATTRIBUTES, FORMS, Character, Dataset, DatasetQuestion
from dramaturg.evaluation.datasets.files import LONGEST, NO_PERSONA, Source, documents, read_content
from dramaturg.evaluation.datasets.reading import SMALLEST, form_of, read_dataset
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.library import Library

from property_settings import property_settings

EXAMPLES = Path(__file__).parents[3] / "examples"
OIL = {"question": "What burns in your lamp?", "answer": "Whale oil.", "attribute": "activity"}
PAIRS = [{"question": f"What of {name}?", "answer": "Much.", "attribute": name} for name in ATTRIBUTES]


def file(folder: Path, name: str, text: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder / name


def lines(*values: object) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def refused(path: Path, form: Any = "auto") -> str:
    with pytest.raises(RoleFileError) as caught:
        read_dataset(path, form)
    return str(caught.value)


def keeper(folder: Path, pairs: Sequence[object] = PAIRS) -> Path:
    file(folder, "persona.md", "# Ada\n\nAda keeps a light.")
    file(folder, "pairs.jsonl", lines(*pairs))
    return folder


def test_the_smallest_line_is_a_dataset(tmp_path: Path) -> None:
    found = read_dataset(file(tmp_path, "mine.jsonl", SMALLEST))
    (one,) = found.questions
    assert (found.name, found.form, found.licence) == ("mine", "jsonl", "")
    assert one == DatasetQuestion(id="1", text=json.loads(SMALLEST)["question"])


def test_a_line_says_all_that_a_question_has(tmp_path: Path) -> None:
    told = {"id": "oil", "role": "ada", "scope": "in", "user_role": "Tom", "context": "At night.", "year": 1862}
    (one,) = read_dataset(file(tmp_path, "mine.jsonl", lines(OIL | told | {"source": "logbook"}))).questions
    assert (one.id, one.role, one.scope, one.user_role, one.context) == ("oil", "ada", "in", "Tom", "At night.")
    assert (one.text, one.answer, one.attribute) == (OIL["question"], "Whale oil.", "activity")
    assert one.labels == {"year": "1862", "source": "logbook"}


def test_no_value_is_as_good_as_no_key(tmp_path: Path) -> None:
    bare = {"question": "Radio?", "answer": None, "role": None, "scope": None, "id": None, "reason": None}
    (one,) = read_dataset(file(tmp_path, "mine.jsonl", lines(bare))).questions
    assert one == DatasetQuestion(id="1", text="Radio?")


def test_numbers_of_lines_are_ids_and_blank_lines_count(tmp_path: Path) -> None:
    found = read_dataset(file(tmp_path, "mine.jsonl", "\n" + lines(OIL) + "\n\n" + lines(OIL)))
    assert [one.id for one in found.questions] == ["2", "5"]


@pytest.mark.parametrize("name", ["mine.json", "mine.jsonl", "mine.txt", "mine"])
@pytest.mark.parametrize("text", [lines(OIL, OIL), json.dumps([OIL, OIL]), json.dumps([OIL, OIL], indent=2)])
def test_what_the_file_holds_decides_and_not_its_name(tmp_path: Path, name: str, text: str) -> None:
    assert len(read_dataset(file(tmp_path, name, text)).questions) == 2


@pytest.mark.parametrize("name", ["mine.json", "mine.jsonl"])
def test_one_object_is_one_question(tmp_path: Path, name: str) -> None:
    assert len(read_dataset(file(tmp_path, name, lines(OIL))).questions) == 1
    assert len(read_dataset(file(tmp_path, "spread.json", json.dumps(OIL, indent=2))).questions) == 1


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + lines(OIL, OIL).replace("\n", "\r\n").encode()
    assert len(read_dataset(file(tmp_path, "mine.jsonl", text)).questions) == 2


def test_other_line_separators_stay_in_a_text(tmp_path: Path) -> None:
    (one,) = read_dataset(file(tmp_path, "mine.jsonl", lines({"question": "One\u2028two?"}))).questions
    assert one.text == "One\u2028two?"


@pytest.mark.parametrize("role", ["alice", "beethoven", "bob", "silver", "wukong"])
def test_the_questions_of_the_example_roles_are_read_as_the_roles_read_them(role: str) -> None:
    found = read_dataset(EXAMPLES / role / "questions.jsonl").questions
    assert [(one.text, one.answer or None, one.scope, one.attribute or None) for one in found] == [
        (one.question, one.answer, one.scope, one.attribute) for one in Library(EXAMPLES).role(role).questions()
    ]


def test_a_folder_with_one_file_is_that_file(tmp_path: Path) -> None:
    file(tmp_path / "mine", "all.jsonl", lines(OIL))
    file(tmp_path / "mine", "README.md", "About the questions.")
    file(tmp_path / "mine", ".hidden.json", "{")
    found = read_dataset(tmp_path / "mine")
    assert (found.name, found.form, len(found.questions)) == ("mine", "jsonl", 1)


def test_a_link_may_lead_anywhere(tmp_path: Path) -> None:
    kept = file(tmp_path / "cache", "0a1b", lines(OIL))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "all.jsonl").symlink_to(kept)
    assert len(read_dataset(tmp_path / "mine" / "all.jsonl").questions) == 1
    assert len(read_dataset(tmp_path / "mine").questions) == 1


def test_a_path_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file(tmp_path, "mine.jsonl", lines(OIL, {"question": 1}))
    monkeypatch.chdir(tmp_path)
    assert refused(Path("mine.jsonl")) == "mine.jsonl, line 2: `question` must be text: put it in quotes."
    assert read_content(file(Path(), "one.json", lines(OIL))).first.where == "one.json"
    assert Source(Path()).name == tmp_path.name


def test_questions_of_a_role_are_its_own_and_those_for_whoever_is_evaluated(tmp_path: Path) -> None:
    given = [{"question": who, "role": who} for who in ("Ada", "Tom", "")]
    found = read_dataset(file(tmp_path, "mine.jsonl", lines(*(one | {"question": "Who?"} for one in given))))
    assert [one.role for one in found.of_role("ada", "Ada Lark")] == ["Ada", ""]


@pytest.mark.parametrize("written", ["베토벤", unicodedata.normalize("NFD", "베토벤"), " 베토벤\t"])
def test_a_name_in_another_form_of_unicode_or_with_spaces_is_the_same(written: str) -> None:
    asked = (DatasetQuestion(id="1", text="Who?", role=written), DatasetQuestion(id="2", text="Who?", role=" "))
    assert Dataset(name="mine", form="jsonl", questions=asked).of_role("베토벤") == asked


def test_a_role_without_questions_is_told_who_has_some() -> None:
    asked = (DatasetQuestion(id="1", text="Who?", role="Ada"), DatasetQuestion(id="2", text="Who?", role="Tom"))
    with pytest.raises(ValueError, match="mine has no questions for Bob or bob: it has some for Ada, Tom"):
        Dataset(name="mine", form="jsonl", questions=asked).of_role("Bob", "bob")


def test_pairs_come_with_their_persona(tmp_path: Path) -> None:
    found = read_dataset(keeper(tmp_path / "ada"))
    assert (found.name, found.form) == ("ada", "characterrag")
    assert Counter(one.attribute for one in found.questions) == dict.fromkeys(ATTRIBUTES, 1)
    assert {(one.role, one.scope, one.answer) for one in found.questions} == {("", "in", "Much.")}
    assert found.characters[""].persona == "# Ada\n\nAda keeps a light."
    assert "Namuwiki" in found.licence


def test_a_folder_of_folders_has_a_role_each(tmp_path: Path) -> None:
    keeper(tmp_path / "all" / "ada")
    keeper(tmp_path / "all" / "tom", PAIRS[:2])
    (tmp_path / "all" / ".cache").mkdir()
    found = read_dataset(tmp_path / "all")
    assert Counter(one.role for one in found.questions) == {"ada": 6, "tom": 2}
    assert {*found.characters} == {"ada", "tom"}
    assert len({one.id for one in found.questions}) == 8


@pytest.mark.parametrize("beside", [("about.md",), ("about.md", "meta.json"), ("meta.json",)])
def test_what_lies_beside_folders_of_roles_does_no_harm(tmp_path: Path, beside: tuple[str, ...]) -> None:
    keeper(tmp_path / "all" / "ada")
    for name in beside:
        file(tmp_path / "all", name, '{"version": 1}')
    assert {one.role for one in read_dataset(tmp_path / "all").questions} == {"ada"}


def test_several_texts_are_one_persona_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = keeper(tmp_path / "ada")
    file(folder, "b.txt", "Then.")
    file(folder, "a.md", "First.")
    assert read_dataset(folder).characters[""].persona == "First.\n\nThen.\n\n# Ada\n\nAda keeps a light."
    assert [one.name for one in documents(folder)] == ["a.md", "b.txt", "persona.md"]


@pytest.mark.parametrize("written", ["Belief and Value", "belief_and_value", "BELIEF & VALUE", "belief-and-value "])
def test_attributes_are_known_however_they_are_spelled(tmp_path: Path, written: str) -> None:
    found = read_dataset(keeper(tmp_path / "ada", [OIL | {"attribute": written}]))
    assert found.questions[0].attribute == "belief_and_value"


@pytest.mark.parametrize(
    ("pair", "what"),
    [
        ({"attribute": "hobby"}, "`attribute` must be one of activity, belief_and_value,"),
        ({"attribute": None}, "`attribute` must be text"),
        ({"answer": " "}, "`answer` must not be blank"),
        ({"answer": None}, "`answer` must be text"),
    ],
)
def test_pairs_that_are_refused(tmp_path: Path, pair: Any, what: str) -> None:
    assert refused(keeper(tmp_path / "ada", [OIL, OIL | pair])).startswith(f"ada/pairs.jsonl, line 2: {what}")


def test_plain_questions_beside_a_text_are_read_when_the_file_is_given(tmp_path: Path) -> None:
    folder = keeper(tmp_path / "ada", [{"question": "Who?"}])
    assert "line 1: `answer` is missing: add it" in refused(folder)
    assert len(read_dataset(folder / "pairs.jsonl").questions) == 1


def test_a_role_lacks_its_persona_or_its_pairs(tmp_path: Path) -> None:
    keeper(tmp_path / "all" / "ada")
    file(tmp_path / "all" / "tom", "pairs.jsonl", lines(OIL))
    assert refused(tmp_path / "all") == "all/tom has no persona: put it there as a .md or .txt file."
    file(tmp_path / "all" / "tom", "tom.txt", "Tom.")
    file(tmp_path / "all" / "tom", "more.json", lines(OIL))
    assert refused(tmp_path / "all") == "all/tom has 2 files with JSON: it needs one, with the pairs."


@pytest.mark.parametrize("name", sorted(NO_PERSONA))
def test_texts_about_the_data_are_no_persona(tmp_path: Path, name: str) -> None:
    file(tmp_path / "mine", "all.jsonl", lines(OIL))
    file(tmp_path / "mine", f"{name.upper()}.md", "About.")
    assert form_of(Source(tmp_path / "mine")) == "jsonl"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        ("[]", "is an empty list"),
        (lines(OIL) + '{"question": \n', "line 2: no JSON, Expecting value at column 13"),
        (lines(OIL, OIL) + "{'question': 'Who?'}", "line 3: no JSON"),
        ('\n\n[\n{"question": "Who?"},\n?]', "line 5: no JSON"),
        ("Who are you?", "line 1: no JSON"),
        (lines(OIL).encode("utf-16"), "line 1: this is not UTF-8 (it looks like UTF-16)"),
        (lines(OIL).encode() + "{é".encode("latin-1"), "line 2: this is not UTF-8 (byte 0xe9)"),
        ('{"question": "Who\0?"}', "line 1: there is a zero character"),
        (lines(OIL) + '{"question": "Who?", "question": "Why?"}', "line 2: no JSON that can be used: A key is there"),
        (lines(OIL) + '{"question": "Who?", "year": NaN}', "line 2: no JSON that can be used: NaN is not a number"),
        (lines(OIL) + '{"question": "Who?", "year": 1e999}', "line 2: no JSON that can be used: 1e999 is not"),
        (lines(OIL) + '{"question": "Who?", "year": ' + "9" * 5000 + "}", "line 2: no JSON that can be used: Exceeds"),
        (lines(OIL) + '{"question": ' + "[" * 100_000, "line 2: no JSON that can be used: The brackets are too deep"),
        (lines(OIL, {"question": ""}), "line 2: `question` must not be blank"),
        (lines(OIL, {"question": " \n"}), "line 2: `question` must not be blank"),
        (lines(OIL, {"question": ["Who?"]}), "line 2: `question` must be text"),
        (lines(OIL, {"answer": "Ada."}), "line 2: `question` is missing: add it"),
        (lines(OIL, ["Who?"]), "line 2: this must hold keys and values"),
        (lines(OIL, OIL | {"scope": "no"}), "line 2: `scope` should be 'in', 'out'"),
        (lines(OIL, OIL | {"answer": 5}), "line 2: `answer` must be text"),
        (lines(OIL, {"question": "a" * (LONGEST + 1)}), "line 2: `question` has more than"),
        (lines(OIL | {"id": "a"}, OIL | {"id": "a"}), "line 2: the id 'a' is there twice: give each entry its own"),
        (lines(OIL | {"id": "2"}, OIL), "line 2: the id '2' is there twice: give each entry its own"),
        (json.dumps([OIL, {"answer": "Ada."}]), "entry 2: `question` is missing: add it"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(tmp_path: Path, text: str | bytes, what: str) -> None:
    said = refused(file(tmp_path / "mine", "all.jsonl", text))
    assert said.startswith("mine/all.jsonl")
    assert what in said
    assert len(said) < 400


@pytest.mark.parametrize("text", ['"Who?"', "5", "{}", "[1, 2]", '{"a": 1}', "[[]]", lines({"text": "Who?"})])
def test_an_unknown_shape_is_told_the_forms_and_the_smallest_line(tmp_path: Path, text: str) -> None:
    said = refused(file(tmp_path, "odd.json", text))
    assert said.startswith("odd has none of the known forms")
    assert SMALLEST in said
    assert all(form in said for form in FORMS)


def test_there_is_nothing_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.jsonl").startswith(f"There is no {tmp_path / 'none.jsonl'}")
    assert "holds no .json or .jsonl file" in refused(tmp_path)


def test_a_folder_with_many_files_names_some(tmp_path: Path) -> None:
    for number in range(7):
        file(tmp_path / "mine", f"{number}.json", lines(OIL))
    assert refused(tmp_path / "mine") == (
        "mine holds 7 files with JSON: give one of them (0.json, 1.json, 2.json, 3.json, 4.json, …)."
    )


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_files, "LARGEST", 10)
    assert refused(file(tmp_path / "mine", "all.jsonl", lines(OIL))).startswith("mine/all.jsonl has more than 10 bytes")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path / "mine", "all.jsonl", lines(OIL))

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert refused(path) == "mine/all.jsonl cannot be read (Permission denied): check path and permission."


def test_a_form_that_was_named_must_fit(tmp_path: Path) -> None:
    path = file(tmp_path, "mine.jsonl", lines(OIL))
    assert read_dataset(path, "jsonl").form == "jsonl"
    assert "mine does not have the form rolebench: give JSON lines with" in refused(path, "rolebench")
    assert "mine does not have the form characterrag: give a folder" in refused(path, "characterrag")


@pytest.mark.parametrize(("form", "what"), [("rolbench", "did you mean 'rolebench'?"), ("x", "the forms are jsonl,")])
def test_a_form_that_does_not_exist(tmp_path: Path, form: Any, what: str) -> None:
    with pytest.raises(ValueError, match="There is no form of datasets") as caught:
        read_dataset(file(tmp_path, "mine.jsonl", lines(OIL)), form)
    assert what in str(caught.value)


@property_settings(100)
@given(st.binary(max_size=60) | st.text(st.sampled_from('{}[]",:question0 \n'), max_size=60).map(str.encode))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = file(tmp_path_factory.getbasetemp() / "fuzz", "any.jsonl", data)
    with suppress(RoleFileError):
        assert read_dataset(path).questions


def test_a_dataset_of_labels_alone_says_what_it_is_for() -> None:
    labels = Dataset(name="InCharacter", form="incharacter", questions=(), characters={"ada-en": Character()})
    with pytest.raises(ValueError, match=r"no questions to ask: its labels are for interviews \(--labels\)"):
        labels.of_role("ada")
