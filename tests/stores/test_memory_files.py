"""The files of memories: what is wrong in them is said with its line, and a change leaves all else as it was."""

import codecs
import errno
import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.documents import memories as memory_files
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.documents.memories import (
    change_lines,
    edit,
    memory_paths,
    pin,
    read_memory_files,
    remove,
)
from dramaturg.stores.errors import RoleError, RoleFileError, StaleDraft, StorageError
from dramaturg.stores.files import sha256
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role

from memory_roles import files_of, lines_of
from passage_samples import quick
from property_settings import property_settings

MEMORY_FILE = "memories.jsonl"
SCENES = "dialogues/scenes.jsonl"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    role = Library(tmp_path).create("ada", RoleCard(name="Ada"))
    (role.root / "dialogues").mkdir(exist_ok=True)
    return role


def write(role: Role, content: str | bytes, name: str = MEMORY_FILE) -> None:
    (role.root / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def data(role: Role, name: str = MEMORY_FILE) -> bytes:
    return (role.root / name).read_bytes()


def told(*texts: str, end: str = "\n") -> str:
    return "".join(json.dumps({"text": text}) + end for text in texts)


def said(text: str, **more: Any) -> str:
    return json.dumps({"scene": "s", "speaker": "Ada", "text": text, **more}) + "\n"


# What is read


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{'text': 'a'}", "line 2: no JSON, key must be a string at column 2"),
        ('{"text": "a"', "line 2: no JSON"),
        ('"a"', "line 2: this must hold keys and values; the keys are text, question, answer, when, known_to, pinned"),
        ("[]", "line 2: this must hold keys and values"),
        ("null", "line 2: this must hold keys and values"),
        ("{}", "line 2: a memory has either `text`, or `question` and `answer`"),
        ('{"text": "a", "question": "b", "answer": "c"}', "line 2: a memory has either `text`, or"),
        ('{"text": "a", "answer": "c"}', "line 2: a memory has either `text`, or"),
        ('{"question": "b"}', "line 2: a memory has either `text`, or"),
        ('{"answer": "b", "txt": "a"}', "line 2: a memory has either `text`, or"),
        ('{"text": 7}', "line 2: `text` must be text: put it in quotes"),
        ('{"text": ["a"]}', "line 2: `text` must be text"),
        ('{"text": "a", "when": 1841}', "line 2: `when` must be text: put it in quotes"),
        ('{"text": "a", "pinned": "yes"}', "line 2: `pinned` should be a valid boolean"),
        ('{"text": "a", "pinned": null}', "line 2: `pinned` should be a valid boolean"),
        ('{"text": "\\ud800"}', "line 2: no JSON"),
        ("[" * 100_000, "line 2: no JSON"),
        (" \u00a0{", "line 2: no JSON"),
        ("\ufeff{}", "line 2: no JSON"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file_and_line(role: Role, line: str, says: str) -> None:
    write(role, told("a") + line + "\n" + told("b"))
    with pytest.raises(RoleFileError) as raised:
        read_memory_files(role.memory_files)
    assert f"ada/memories.jsonl, {says}" in str(raised.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"text": "a"}', "`scene` is missing: add it"),
        ('{"scene": "s", "speaker": "Ada", "text": null}', "`text` must be text"),
        ('{"scene": "s", "speaker": "Ada", "text": "a", "memory": 0}', "`memory` should be a valid boolean"),
        ('{"scene": 1, "speaker": "Ada", "text": "a"}', "`scene` must be text"),
    ],
)
def test_what_cannot_be_read_of_a_dialogue(role: Role, line: str, says: str) -> None:
    write(role, f"\n\n{line}\n", SCENES)
    with pytest.raises(RoleFileError) as raised:
        read_memory_files(role.memory_files)
    assert f"ada/{SCENES}, line 3: {says}" in str(raised.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (told("a").encode("utf-16"), "UTF-16"),
        (told("a").encode() + b'{"text": "\xe9"}', r"line 2: this is not UTF-8 \(byte 0xe9\)"),
        (told("a").encode() + b"\0", "line 2: there is a zero character"),
    ],
)
def test_what_is_no_text_is_refused(role: Role, content: bytes, says: str) -> None:
    write(role, content)
    with pytest.raises(RoleFileError, match=says):
        read_memory_files(role.memory_files)


def test_what_is_no_file_is_refused(role: Role, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text(told("a"))
    (role.root / "dialogues" / "a.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(RoleError, match="leads out of ada"):
        read_memory_files(role.memory_files)
    (role.root / "dialogues" / "a.jsonl").unlink()
    (role.root / MEMORY_FILE).mkdir()
    with pytest.raises(RoleFileError, match="cannot be read"):
        read_memory_files(role.memory_files)


def test_the_files_and_their_order(role: Role) -> None:
    for name in ("b.jsonl", "A.JSONL", "a.txt", ".hidden.jsonl"):
        write(role, said(name), f"dialogues/{name}")
    (role.root / "dialogues" / "deep.jsonl").mkdir()
    assert [path.name for path in memory_paths(role.root)] == ["A.JSONL", "b.jsonl"]
    write(role, "")
    assert list(read_memory_files(role.memory_files)) == ["dialogues/A.JSONL", "dialogues/b.jsonl", MEMORY_FILE]
    assert role.memory_files.names() == ["dialogues/A.JSONL", "dialogues/b.jsonl", MEMORY_FILE]


SPELLINGS = {
    "plain": "{a}\n{b}\n\n{c}\n",
    "no line feed at the end": "{a}\n{b}\n\n{c}",
    "windows": "{a}\r\n{b}\r\n\r\n{c}\r\n",
    "old": "{a}\r{b}\r\r{c}\r",
    "mixed": "{a}\r{b}\n\r\n{c}",
    "marked": "\ufeff{a}\n{b}\n\n{c}\n",
    "spaced": "  {a}\t\n{b} \n \t \n{c}\n\n\n",
}
LONG = 'one\u2028two\x85three\x0cfour\\" \U0001f56f'


def spelled(how: str) -> bytes:
    lines = [json.dumps({"text": text, "note": LONG}, ensure_ascii=False) for text in "abc"]
    return SPELLINGS[how].format(a=lines[0], b=lines[1], c=lines[2]).encode()


@pytest.mark.parametrize("how", SPELLINGS)
def test_lines_are_counted_as_editors_count_them(role: Role, how: str) -> None:
    write(role, spelled(how))
    assert [(number, text) for _, number, text in lines_of(role)] == [(1, "a"), (2, "b"), (4, "c")]
    lines = read_memory_files(role.memory_files)[MEMORY_FILE]
    assert all(line.model_extra == {"note": LONG} for line in lines.values())


def split(content: bytes) -> list[bytes]:
    return content.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


# What is changed


@pytest.mark.parametrize("how", SPELLINGS)
@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_changed_line_leaves_every_other_byte(role: Role, how: str, number: int) -> None:
    write(role, spelled(how))
    was = {number: line.model_dump() for number, line in read_memory_files(role.memory_files)[MEMORY_FILE].items()}
    change_lines(role.memory_files, {f"{MEMORY_FILE}:{number}": {"text": LONG, "pinned": True}})
    now = {number: line.model_dump() for number, line in read_memory_files(role.memory_files)[MEMORY_FILE].items()}
    assert now == {**was, number: {**was[number], "text": LONG, "pinned": True}}
    changed = json.dumps({"text": LONG, "note": LONG, "pinned": True}, ensure_ascii=False).encode()
    assert data(role).count(changed) == 1
    old = json.dumps({"text": {1: "a", 2: "b", 4: "c"}[number], "note": LONG}, ensure_ascii=False).encode()
    before, after = (part.strip(b" \t") for part in data(role).split(changed))
    assert [part.strip(b" \t") for part in spelled(how).split(old)] == [before, after]


@pytest.mark.parametrize("how", SPELLINGS)
@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_line_that_is_taken_out_leaves_every_other_byte(role: Role, how: str, number: int) -> None:
    write(role, spelled(how))
    change_lines(role.memory_files, {f"{MEMORY_FILE}:{number}": None})
    kept = [text for at, text in ((1, "a"), (2, "b"), (4, "c")) if at != number]
    assert [text for *_, text in lines_of(role)] == kept
    assert data(role).startswith(codecs.BOM_UTF8) == (how == "marked")
    lines = split(spelled(how))
    assert split(data(role)) == [*lines[: number - 1], *lines[number:]]
    assert len(spelled(how)) - len(data(role)) - len(lines[number - 1]) in (1, 2)


@pytest.mark.parametrize("how", SPELLINGS)
def test_all_lines_can_be_taken_out_at_once(role: Role, how: str) -> None:
    write(role, spelled(how))
    remove(role.root, [f"{MEMORY_FILE}:{number}" for number in (1, 4, 2, 4)])
    assert lines_of(role) == []
    assert data(role).strip(b" \t\r\n") in (b"", codecs.BOM_UTF8)


def test_a_single_line_without_an_end(role: Role) -> None:
    write(role, told("a", end=""))
    remove(role.root, [f"{MEMORY_FILE}:1"])
    assert data(role) == b""


lines = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9), min_size=1, max_size=6)
ends = st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=6, max_size=6)


@given(lines, ends, st.booleans(), st.sets(st.integers(1, 6), min_size=1))
@property_settings(60)
def test_whatever_is_taken_out_the_others_stay(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], ends: list[str], closed: bool, out: set[int]
) -> None:
    role = Library(tmp_path_factory.mktemp("any")).create("ada", RoleCard(name="Ada"))
    written = [json.dumps({"text": text}, ensure_ascii=False) for text in texts]
    whole = "".join(map("".join, zip(written, ends, strict=False)))
    write(role, whole if closed else whole.rstrip("\r\n"))
    out = {number for number in out if number <= len(texts)}
    remove(role.root, [f"{MEMORY_FILE}:{number}" for number in out])
    left = [text for number, text in enumerate(texts, start=1) if number not in out]
    assert [text for *_, text in lines_of(role)] == left
    assert [line for line in data(role).decode().replace("\r", "\n").split("\n") if line] == [
        one for number, one in enumerate(written, start=1) if number not in out
    ]


def test_keys_that_nobody_knows_stay_as_they_are(role: Role) -> None:
    line = {"mood": None, "text": "a", "n": 1.50, "deep": {"b": [None, True]}, "pinned": True, "when": None}
    write(role, json.dumps(line) + "\n")
    pin(role.root, [f"{MEMORY_FILE}:1"], pinned=False)
    assert json.loads(data(role)) == {key: value for key, value in line.items() if key != "pinned"}
    assert list(json.loads(data(role))) == ["mood", "text", "n", "deep", "when"]


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "9" * 5000])
def test_numbers_that_would_become_others_are_left_alone(role: Role, number: str) -> None:
    write(role, f'{{"text": "a", "n": {number}}}\n')
    before = data(role)
    with pytest.raises(RoleError, match=r"memories\.jsonl"):
        pin(role.root, [f"{MEMORY_FILE}:1"], pinned=True)
    assert data(role) == before


PLACES = [
    "0",
    "-1",
    "2",
    "3",
    "5",
    "6",
    "999999999",
    "9" * 30,
    "9" * 5000,
    "1.0",
    "1e3",
    "",
    "one",
    "²",
    "١",
    " 1",
    "+1",
    "1_0",
]


@pytest.mark.parametrize("number", PLACES)
@pytest.mark.parametrize("change", [pin, remove, edit])
def test_places_that_are_none(role: Role, number: str, change: Any) -> None:
    write(role, told("a") + "\n" + " \n" + told("b"))
    before = data(role)
    more: dict[str, Any] = {pin: {"pinned": True}, remove: {}, edit: {"text": "c"}}[change]
    with pytest.raises(RoleError, match=r"no line memories\.jsonl:|is no place: give the file") as raised:
        change(role.root, [f"{MEMORY_FILE}:1", f"{MEMORY_FILE}:{number}"], **more)
    assert len(str(raised.value)) < 200
    assert data(role) == before  # also the line that there is


@pytest.mark.parametrize(
    "name", ["role.yaml", "persona/a.md", "../ada/memories.jsonl", "/etc/passwd", "", "nope.jsonl"]
)
@pytest.mark.parametrize("change", [pin, remove, edit])
def test_other_files_are_no_places(role: Role, name: str, change: Any) -> None:
    write(role, told("a"))
    (role.root / "persona").mkdir(exist_ok=True)
    write(role, "# A\n", "persona/a.md")
    before = {path: path.read_bytes() for path in role.root.rglob("*") if path.is_file()}
    more: dict[str, Any] = {pin: {"pinned": True}, remove: {}, edit: {"text": "c"}}[change]
    with pytest.raises(RoleError, match="There is no line"):
        change(role.root, [f"{name}:1"], **more)
    assert {path: path.read_bytes() for path in role.root.rglob("*") if path.is_file()} == before


# In every copy


def copies(role: Role) -> list[str]:
    """A memory that is written in three files, five times."""
    write(role, said("Well?", speaker="Tom") + said("No.") + said("Why?", speaker="Tom") + said("No."), SCENES)
    write(role, said("Well?", speaker="Tom") + said("No."), "dialogues/again.jsonl")
    write(role, told("No.", "Other.", "no", "Last."))
    return ["dialogues/again.jsonl:2", f"{SCENES}:2", f"{SCENES}:4", f"{MEMORY_FILE}:1", f"{MEMORY_FILE}:3"]


def test_pinning_and_unpinning_every_copy(role: Role) -> None:
    places = copies(role)
    before = files_of(role)
    pin(role.root, places, pinned=True)
    files = read_memory_files(role.memory_files).items()
    assert {f"{name}:{at}" for name, lines in files for at, line in lines.items() if line.pinned} == {*places}
    pin(role.root, reversed(places), pinned=False)
    assert files_of(role) == before


def test_editing_every_copy(role: Role) -> None:
    places = copies(role)
    edit(role.root, places, "Never again!")
    assert [text for *_, text in lines_of(role)].count("Never again!") == 5
    assert {text for *_, text in lines_of(role)} == {"Well?", "Why?", "Never again!", "Other.", "Last."}


def test_removing_every_copy(role: Role) -> None:
    remove(role.root, copies(role))
    assert [text for name, _, text in lines_of(role) if name == MEMORY_FILE] == ["Other.", "Last."]
    said_here = read_memory_files(role.memory_files)[SCENES]
    assert [(line.text, line.memory) for line in said_here.values()] == [
        ("Well?", True),
        ("No.", False),
        ("Why?", True),
        ("No.", False),
    ]


def test_a_question_and_its_answer_are_edited(role: Role) -> None:
    write(role, '{"question": "Q?", "answer": "A.", "n": 1}\n' + told("Free."))
    edit(role.root, [f"{MEMORY_FILE}:1"], "B.")
    assert json.loads(data(role).split(b"\n")[0]) == {"question": "Q?", "answer": "B.", "n": 1}
    edit(role.root, [f"{MEMORY_FILE}:1"], "C.", "R?")
    assert json.loads(data(role).split(b"\n")[0]) == {"question": "R?", "answer": "C.", "n": 1}


def test_where_a_copy_cannot_be_changed_none_is(role: Role) -> None:
    write(role, '{"question": "Tom: Well?", "answer": "No."}\n')
    write(role, said("Well?", speaker="Tom") + said("No."), SCENES)
    before = files_of(role)
    with pytest.raises(RoleError, match="no question of its own"):
        edit(role.root, [f"{MEMORY_FILE}:1", f"{SCENES}:2"], "Yes.", "Sure?")
    with pytest.raises(RoleError, match=r"memories\.jsonl, line 1"):
        edit(role.root, [f"{MEMORY_FILE}:1", f"{SCENES}:2"], "\ud800")
    with pytest.raises(RoleError, match=f"There is no line {SCENES}:9"):
        pin(role.root, [f"{MEMORY_FILE}:1", f"{SCENES}:9"], pinned=True)
    assert files_of(role) == before


def test_a_change_that_leaves_no_memory_is_refused(role: Role) -> None:
    write(role, told("a", "b"))
    before = data(role)
    changes: list[dict[str, Any]] = [{"text": None}, {"pinned": "yes"}, {"question": "Q?"}, {"text": 7}]
    for change in changes:
        with pytest.raises(RoleError, match=r"memories\.jsonl, line 2"):
            change_lines(role.memory_files, {f"{MEMORY_FILE}:2": change})
    assert data(role) == before


@pytest.mark.parametrize("other", [MEMORY_FILE, SCENES])
def test_a_file_that_was_changed_meanwhile_is_not_written_over(role: Role, other: str) -> None:
    places, meanwhile = copies(role), b'{"text": "New.", "scene": "s", "speaker": "Ada"}\n'

    def late(content: bytes) -> str:
        write(role, meanwhile, other)
        return sha256(content)

    before = files_of(role)
    with (
        patch.object(memory_files, "sha256", late),
        pytest.raises(StaleDraft, match=f"{other} of 'ada' was changed meanwhile: look at it, then try again"),
    ):
        remove(role.root, places)
    assert files_of(role) == {**before, other: meanwhile}


def test_a_file_that_is_gone_meanwhile_is_not_made_anew(role: Role) -> None:
    places = copies(role)

    def late(content: bytes) -> str:
        (role.root / MEMORY_FILE).unlink(missing_ok=True)
        return sha256(content)

    with patch.object(memory_files, "sha256", late), pytest.raises(StaleDraft):
        remove(role.root, places)
    assert MEMORY_FILE not in files_of(role)
    assert b'"memory"' not in data(role, SCENES)


def test_a_full_disk_changes_nothing_or_everything(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    places, before = copies(role), files_of(role)
    pin(role.root, places, pinned=True)
    after = files_of(role)
    for name, content in before.items():
        write(role, content, name)
    replace, done = os.replace, []

    def full(source: Any, target: Any) -> None:
        done.append(Path(target).name)
        if len(done) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(StorageError):
            pin(role.root, places, pinned=True)
    assert done == ["change.json", "again.jsonl", "scenes.jsonl"]
    assert data(role) == before[MEMORY_FILE]
    assert data(role, SCENES) == before[SCENES]
    assert data(role, "dialogues/again.jsonl") == after["dialogues/again.jsonl"]
    assert [text for *_, text in lines_of(Role(role.root))]  # whoever reads next first finishes what was begun
    assert {name: data(role, name) for name in after} == after
