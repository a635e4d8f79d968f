"""What people write is read as they meant it, or refused with the file, the line and what to do."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dramaturg.stores import files
from dramaturg.stores.documents.forms import Chronicle, RoleCard, Triple, card_text, parse_card
from dramaturg.stores.errors import RoleError, RoleFileError
from dramaturg.stores.files import sha256
from dramaturg.stores.library import Library, examples, open_role
from dramaturg.stores.role import Role

from passage_samples import quick

letters = st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n")
printable, names = st.text(letters), st.text(letters, max_size=200)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return Library(tmp_path).create("ada", RoleCard(name="Ada"))


def write(role: Role, name: str, content: str | bytes) -> None:
    path = role.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_a_new_role_knows_nothing(role: Role) -> None:
    assert role.documents() == role.dialogues() == role.memories() == role.questions() == []
    assert role.chronicle() == Chronicle()


def test_all_files_of_a_role(role: Role) -> None:
    write(role, "persona/b.md", "# B")
    write(role, "persona/a.md", "# A")
    write(role, "persona/.hidden.md", "no")
    write(role, "persona/notes.txt", "no")
    write(role, "dialogues/2.jsonl", '{"scene": "s", "speaker": "Tom", "text": "Letters!", "mood": "glad"}')
    write(role, "dialogues/1.jsonl", '\n{"scene": "s", "speaker": "Ada", "text": "Ahoy.", "place": "pier"}\n\n')
    write(role, "memories.jsonl", '{"text": "A storm.", "when": "1880"}\n{"question": "Who?", "answer": "Tom."}')
    write(role, "chronicle.yaml", "triples:\n- {subject: Ada, relation: keeps, object: light, kind: goal, core: true}")
    write(role, "questions.jsonl", '{"question": "Radio?", "answer": null, "scope": "out", "reason": "not yet made"}')
    assert [(one.name, one.text, one.sha256) for one in role.documents()] == [
        ("a.md", "# A", sha256(b"# A")),
        ("b.md", "# B", sha256(b"# B")),
    ]
    assert [line.text for line in role.dialogues()] == ["Ahoy.", "Letters!"]
    assert role.dialogues()[1].model_extra == {"mood": "glad"}
    assert [(one.text, one.answer) for one in role.memories()] == [("A storm.", None), (None, "Tom.")]
    keeps = Triple(subject="Ada", relation="keeps", object="light", kind="goal", core=True)
    assert role.chronicle() == Chronicle(triples=(keeps,))
    assert role.questions()[0].answer is None


@pytest.mark.parametrize("encoded", ["a\nb\nc", "a\r\nb\r\nc", "\ufeffa\nb\nc", "a\rb\nc"])
def test_line_ends_and_byte_order_marks_do_not_matter(role: Role, encoded: str) -> None:
    write(role, "persona/life.md", encoded)
    assert role.documents()[0].text == "a\nb\nc"
    assert role.documents()[0].sha256 == sha256(encoded.encode())


def test_line_separators_inside_a_text_are_no_line_ends(role: Role) -> None:
    line = {"scene": "s", "speaker": "Ada", "text": "one\u2028two\x85three\x0cfour"}
    write(role, "dialogues/1.jsonl", "\ufeff" + json.dumps(line, ensure_ascii=False) + "\r\n")
    assert role.dialogues()[0].text == line["text"]


def test_the_card_is_read_again_when_it_changed(role: Role) -> None:
    first = role.card
    assert role.card is first
    write(role, "role.yaml", "name: Ida\naliases: [I, II]\nlanguage: ko\nprofile:\n")
    assert role.card == RoleCard(name="Ida", aliases=("I", "II"), language="ko")


def test_memories_are_parsed_again_when_they_changed(role: Role) -> None:
    write(role, "memories.jsonl", '{"text": "The storm."}\n')
    assert [[one.text for one in role.memories()] for _ in range(2)] == [["The storm."]] * 2
    write(role, "memories.jsonl", '{"text": "The calm."}\n')
    assert [one.text for one in role.with_card_of_now().memories()] == ["The calm."]


def test_the_chronicle_is_parsed_again_when_it_changed(role: Role) -> None:
    path = role.root / "chronicle.yaml"
    path.write_text("triples: [{subject: Ada, relation: likes, object: tea, kind: preference}]", encoding="utf-8")
    first = role.chronicle()
    assert role.chronicle() is first
    path.write_text("triples: [{subject: Ada, relation: likes, object: gin, kind: preference}]", encoding="utf-8")
    assert [one.object for one in role.chronicle().triples] == ["gin"]
    path.unlink()
    assert role.chronicle() == Chronicle()


LETTERS = "abcdefghijklmnopqrstuvwxyz"
BOMB = "a: &a [x, x]\n" + "".join(f"{new}: &{new} [*{old}, *{old}]\n" for old, new in pairwise(LETTERS))


@example(RoleCard(name="...", profile="\n", aliases=("a\n...\n", "\n\n")))
@given(st.builds(RoleCard, name=names.filter(bool), profile=printable, aliases=st.lists(names).map(tuple)))
def test_a_card_survives_its_file(card: RoleCard) -> None:
    assert parse_card(card_text(card).encode(), Path("library/ada")) == card


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: Ada\nalias: [A]", "role.yaml, line 2: there is no key `alias`; did you mean 'aliases'"),
        ("name: Ada\nzzz: 1", "line 2: there is no key `zzz`; the keys are name, aliases, language, profile, sources"),
        ("language: en", "line 1: `name` is missing: add it"),
        ("name:\nlanguage: en", "`name` is missing"),
        ("", "line 1: `name` is missing"),
        ("name: 1984", "line 1: `name` must be text: put it in quotes"),
        ("name: Ada\n\naliases:\n- A\n- 7", "line 5: `aliases.2` must be text: put it in quotes"),
        ("name: ''", "line 1: `name` must not be empty"),
        pytest.param(f"profile: {'x' * 5_000_000}\nname: A", "`profile` has more than 100,000 characters", id="5 MB"),
        (f"name: {'x' * 201}", "line 1: `name` has more than 200 characters: shorten or split it"),
        (f"name: Ada\naliases:\n- {'x' * 201}", "line 3: `aliases.1` has more than 200 characters"),
        ("name: Ada\nsources: one", "line 2: `sources` must be a list: put each item on a line of its own"),
        ("name: Ada\nlanguage: fr", "line 2: `language` should be 'en', 'zh' or 'ko'"),
        ("name: Ada\nname: Ida", "line 2: `name` is there twice"),
        ("name: Ada\nprofile: a: b", "line 2: mapping values are not allowed in this context: check colons"),
        ("name: [Ada", "check colons, quotes and indentation"),
        ("name: Ada\n\tprofile: x", "line 2: "),
        ("- name", "line 1: this must hold keys and values; the keys are name, aliases"),
        ("nam: Ada", "line 1: there is no key `nam`; did you mean 'name'"),
        ("just words", "line 1: this must hold keys and values"),
        ("name: !!python/object/apply:os.getcwd []", "line 1: tags such as"),
        ("a: &a [*a]", "`*` repeats too much"),
        pytest.param(BOMB, "`*` repeats too much", id="doubled 25 times"),
        ("[" * 5000, "line 1: "),
        ("name: Ada\n--- \nname: Ida", "line 2: "),
        ("name: Ada\x00", "zero character"),
    ],
)
def test_cards_that_are_refused(role: Role, text: str, says: str) -> None:
    write(role, "role.yaml", text)
    with pytest.raises(RoleFileError) as error:
        _ = role.card
    assert str(error.value).startswith("ada/role.yaml, line ")
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("dialogues/1.jsonl", '{"scene": "s", "speaker": "A"}', "1.jsonl, line 2: `text` is missing: add it"),
        ("dialogues/1.jsonl", '{"scene": 1, "speaker": "A", "text": "x"}', "`scene` must be text: put it in quotes"),
        ("dialogues/1.jsonl", "{'scene': 's'}", "line 2: no JSON, key must be a string at column 2"),
        ("dialogues/1.jsonl", '{"scene": "s", "speaker": "A", "text": "\\ud800"}', "line 2: "),
        ("dialogues/1.jsonl", "[]", "line 2: "),
        ("dialogues/1.jsonl", "[" * 100_000, "line 2: "),
        ("memories.jsonl", '{"question": "Who?"}', "a memory has either `text`, or `question` and `answer`"),
        ("memories.jsonl", '{"text": "x", "question": "Who?", "answer": "I"}', "a memory has either"),
        ("memories.jsonl", "{}", "a memory has either"),
        pytest.param("memories.jsonl", f'{{"text": "{"x" * 5_000_000}"}}', "`text` has more than 100,000", id="5 MB"),
        ("questions.jsonl", '{"question": "Q", "scope": "in"}', "`answer` is missing"),
        ("questions.jsonl", '{"question": "Q", "answer": "A", "scope": "no"}', "`scope` should be 'in' or 'out'"),
        ("chronicle.yaml", "triple: []", "line 2: there is no key `triple`; did you mean 'triples'"),
        ("chronicle.yaml", "triples:\n- subject: A\n  relation: r\n  object: o\n  kind: x", "line 6: `triples.1.kind`"),
        (
            "chronicle.yaml",
            "triples:\n- {subject: A, relations: r}",
            "line 3: there is no key `triples.1.relations`; did you mean 'relation'",
        ),
        (
            "chronicle.yaml",
            "triples:\n- subject: A\n  relation: r\n  object: o\n  kind: goal\n  cores: true",
            "line 7: there is no key `triples.1.cores`; did you mean 'core'",
        ),
        ("chronicle.yaml", "triples:\n- {subject: A, relation: r, object: 3, kind: goal}", "put it in quotes"),
        (
            "chronicle.yaml",
            "triples:\n- {subject: A, relation: r, object: o, kind: goal, until: soon}",
            "line 3: 'soon' is no moment that can be read",
        ),
        ("chronicle.yaml", "sentences:\n  likes: $who likes $object", "line 3: `sentences.likes` must be a sentence"),
        ("chronicle.yaml", "sentences:\n  likes: $subject likes it", "line 3: `sentences.likes` must be a sentence"),
    ],
)
def test_lines_that_are_refused(role: Role, name: str, line: str, says: str) -> None:
    write(role, name, "\n" + line)
    with pytest.raises(RoleFileError) as error:
        [role.dialogues(), role.memories(), role.questions(), role.chronicle()]
    assert str(error.value).startswith(f"ada/{name}, line ")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("één".encode("latin-1"), "line 1: this is not UTF-8 (byte 0xe9): save the file as UTF-8"),
        (b"one\ntwo\nthr\xff", "line 3: this is not UTF-8 (byte 0xff)"),
        ("één".encode("utf-16"), "it looks like UTF-16"),
        ("제\x00".encode(), "zero character"),
        ("孙悟空".encode("gb18030"), "this is not UTF-8"),
        (b"\xed\xa0\x80", "this is not UTF-8"),
    ],
)
def test_other_encodings_are_refused(role: Role, data: bytes, says: str) -> None:
    write(role, "persona/life.md", data)
    with pytest.raises(RoleFileError) as error:
        role.documents()
    assert str(error.value).startswith("ada/persona/life.md, line ")
    assert says in str(error.value)


def test_a_file_that_is_too_large_is_not_read(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    with (role.root / "persona" / "life.md").open("wb") as file:
        file.truncate(files.LARGEST + 1)  # a hole: it takes no space
    read = Path.read_bytes

    def read_small(path: Path) -> bytes:
        assert path.name != "life.md"
        return read(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", read_small)
        with pytest.raises(RoleFileError, match="more than 100,000,000 bytes: split it"):
            role.documents()


def test_links_that_lead_out_of_the_role(role: Role, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("x")
    (role.root / "persona" / "life.md").symlink_to(secret)
    with pytest.raises(RoleError, match=r"life\.md leads out of ada"):
        role.documents()
    (role.root / "persona" / "life.md").unlink()
    (role.root / "memories.jsonl").symlink_to(secret)
    with pytest.raises(RoleError, match="leads out"):
        role.memories()
    (role.root / "persona").rmdir()
    (role.root / "persona").symlink_to(tmp_path)
    with pytest.raises(RoleError, match="leads out"):
        role.documents()


def test_names_that_climb_out_of_the_role(role: Role) -> None:
    for name in ("..", "../secret.md", "persona/../../secret.md", "persona/nowhere/../../../secret.md"):
        with pytest.raises(RoleError, match="leads out of ada"):
            files.read_if_there(role.root / name, within=role.root)
    write(role, "persona/life.md", "# Life")
    assert files.read_if_there(role.root / "persona" / ".." / "persona" / "life.md", within=role.root) == b"# Life"


def test_links_inside_the_role_are_followed(role: Role) -> None:
    write(role, "persona/life.md", "# Life")
    (role.root / "persona" / "other.md").symlink_to(role.root / "persona" / "life.md")
    assert [one.text for one in role.documents()] == ["# Life", "# Life"]
    (role.root / "persona" / "loop.md").symlink_to(role.root / "persona" / "loop.md")
    with pytest.raises(RoleError, match=r"loop\.md"):
        role.documents()


@pytest.mark.parametrize("example", examples())
def test_the_examples_can_be_read(example: str, tmp_path: Path) -> None:
    role = open_role(example, tmp_path)
    assert role.card.name
    assert role.card.profile
    written = role.story.root if role.story else role.root
    assert bool(role.documents()) == (written / "persona").exists()  # some are a card only
    for part in (role.dialogues, role.memories, role.chronicle, role.questions):
        assert part() is not None


def test_a_triple_holds_for_a_time(role: Role) -> None:
    given = "{subject: A, relation: r, object: o, kind: goal, since: 1792-11, until: 1827}"
    write(role, "chronicle.yaml", f"triples:\n- {given}\n- {{subject: A, relation: r, object: p, kind: goal}}")
    passing, lasting = role.chronicle().triples
    assert (passing.since, passing.until) == ("1792-11", "1827")
    days = ["", "1792-10-31", "1792-11-01", "1827-12-31", "1828-01-01"]
    assert [passing.holds_at(day) for day in days] == [False, False, True, True, False]
    assert all(lasting.holds_at(day) for day in days)
