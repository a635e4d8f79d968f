"""YAML that people write or download: no tags, no references, bounded; a bad file costs nobody else anything."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.documents.forms import RoleCard, parse_chronicle
from dramaturg.stores.documents.reading import DEPTH, NotPlain, plain_value, read_yaml
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.library import Library

from commands import Command

BOMB = "\n".join(
    [
        "a: &a {k: 1}",
        *(
            f"{new}: &{new} {{<<: [{', '.join([f'*{old}'] * 9)}]}}"
            for old, new in zip("abcdefg", "bcdefgh", strict=True)
        ),
    ]
)
LAUGHS = "a: &a [x, x]\n" + "\n".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "shelf")
    library.create("ada", RoleCard(name="Ada"))
    library.create("bob", RoleCard(name="Bob"))
    return library


@pytest.mark.parametrize(
    "text",
    [
        "name: !!int ''",
        "name: !!timestamp nope",
        "name: !!bool maybe",
        "name: !!binary '!'",
        "name: !!python/object:os.system x",
        "name: !mine x",
        "name: &one [*one]",
        "name: {<<: {a: 1}}",
        BOMB,
        LAUGHS,
        "[" * 1000 + "]" * 1000,
        "- " * 1000 + "a",
        "{a: " * 100_000,
        "[" * 100_000,
        "name: ? [a]\n",
        "? [a, b]\n: c",
        "? {a: b}\n: c",
    ],
    ids=range(17),
)
def test_what_is_more_than_plain_values_is_refused_in_a_sentence(library: Library, text: str) -> None:
    (library.root / "ada" / "role.yaml").write_text(text)
    begun = time.process_time()
    with pytest.raises(RoleFileError, match=r"^ada/role\.yaml, line \d+: "):
        _ = library.role("ada").card
    assert time.process_time() - begun < 30  # far from what takes its time
    assert library.role("bob").card.name == "Bob"


@pytest.mark.parametrize(
    ("text", "profile"),
    [("name: &one Ada\nprofile: *one\n", "Ada"), ("name: Ada\nprofile: 1880-05-01\n", "1880-05-01")],
    ids=["a reference within bounds", "a date is text"],
)
def test_what_is_plain_is_taken(library: Library, text: str, profile: str) -> None:
    (library.root / "ada" / "role.yaml").write_text(text)
    assert library.role("ada").card.profile == profile


def test_levels_are_bounded(library: Library) -> None:
    def nested(levels: int) -> str:
        return f"profile: {'[' * levels}{']' * levels}"

    for levels, says in ((DEPTH - 1, "must be text"), (DEPTH, f"more than {DEPTH} levels")):
        (library.root / "ada" / "role.yaml").write_text(f"name: Ada\n{nested(levels)}")
        with pytest.raises(RoleFileError, match=says):
            _ = library.role("ada").card


@pytest.mark.parametrize("text", ["name: !!int ''", "name: [", "name: Ada\nnames: x", BOMB])
def test_one_bad_role_breaks_no_command_about_another(run: Command, library: Library, text: str) -> None:
    (library.root / "ada" / "role.yaml").write_text(text)
    code, out, err = run("roles", "--library", str(library.root))
    assert code == 0
    assert "Bob" in out
    assert "ada" in out
    assert "ada/role.yaml, line" in err
    code, out, _ = run("roles", "--library", str(library.root), "--json")
    assert (code, '"bob"' in out) == (0, True)
    code, _, err = run("show", "ada", "--library", str(library.root))
    assert code == 2
    assert "ada/role.yaml, line" in err


@pytest.mark.parametrize(
    "value", ["!!int ''", "!!timestamp nope", "&a [*a]", "{a: " * 5000, "!!bool maybe", "[" * 100_000]
)
def test_a_setting_is_a_plain_value(run: Command, library: Library, value: str) -> None:
    code, _, err = run("ask", "bob", "Hello?", "--library", str(library.root), "--set", f"window={value}")
    assert code == 2
    assert "The value of --set window cannot be read" in err
    assert err.count("\n") <= 4


PIECES = (
    "a",
    "b: ",
    "- ",
    "\n",
    "\n  ",
    "\n- ",
    " ",
    "1",
    "01",
    "true",
    "~",
    "2020-01-01",
    "'x'",
    '"y',
    "#",
    "<<: ",
    "=",
)
MARKS = ("[", "]", "{", "}", ", ", ": ", "? ", "&a ", "*a", "!!int ", "|\n", "---\n", "...\n", "%")


@given(st.lists(st.sampled_from([*PIECES, *MARKS]), max_size=12).map("".join))
def test_plain_values_are_those_that_are_read_node_by_node(text: str) -> None:
    try:
        plain = plain_value(text)
    except NotPlain:
        return
    assert repr(plain) == repr(read_yaml(text)[1])


def test_a_chronicle_is_read_without_a_node_for_each_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.stores.documents.reading.read_yaml", None)
    role = Path(__file__).parents[2] / "examples" / "beethoven"
    assert len(parse_chronicle((role / "chronicle.yaml").read_bytes(), role).triples) > 50
