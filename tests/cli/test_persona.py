"""`dramaturg learn`, `forget`, `edit`, `versions` and `undo`, as a person and as a program use them."""

import json
import sys
from pathlib import Path

import click
import pytest

from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.learning import learn
from dramaturg.stores.role import Role

from commands import Command
from roles import LIFE

DOG = "# The dog\n\nKit is a grey dog and sleeps under the lamp.\n"


@pytest.fixture
def dog(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("texts") / "dog.txt"
    path.write_text(DOG)
    return str(path)


def persona(tmp_path: Path) -> list[str]:
    return Role(tmp_path / "ada").persona.names()


def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Make a Python program the editor; the file is sys.argv[1]."""
    script = tmp_path / "editor.py"
    script.write_text("import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n" + program)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.delenv("VISUAL", raising=False)


def test_a_document_is_learned_and_indexed(run: Command, tmp_path: Path, dog: str) -> None:
    run("index", "ada")
    before = sorted(tmp_path.rglob("*"))
    asked = json.loads(run("learn", "ada", dog, "--dry-run", "--json")[1])
    assert asked["index"] == {"documents": 2, "passages": 8, "to_embed": 1}
    assert sorted(tmp_path.rglob("*")) == before
    code, out, _ = run("learn", "ada", dog)
    assert code == 0
    assert "dog.md" in out
    assert "Documents: 2; passages: 8; embedded: 1." in out
    again = json.loads(run("learn", "ada", dog, "--json")[1])
    assert again["documents"][0]["change"] == "unchanged"
    assert again["index"]["embedded"] == 0
    assert run("learn", "ada", dog, "--as", "kit")[0] == 0
    assert persona(tmp_path) == ["dog.md", "kit.md", "life.md"]


def test_what_cannot_be_learned_changes_nothing(run: Command, tmp_path: Path, dog: str) -> None:
    for arguments, says in (
        ((dog, str(tmp_path)), "is a folder"),
        ((dog, dog), "Two of the files would both be dog.md"),
        ((dog, str(tmp_path / "none.md")), "cannot be read"),
        ((dog, dog, "--as", "x"), "--as names one document"),
    ):
        code, _, err = run("learn", "ada", *arguments)
        assert code == 2
        assert says in err
    assert persona(tmp_path) == ["life.md"]


def test_a_document_is_forgotten_when_asked_twice(
    run: Command, tmp_path: Path, dog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("learn", "ada", dog)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
    assert run("forget", "ada", "--source", "dog.md")[0] == 130
    assert "dog.md" in persona(tmp_path)
    code, out, _ = run("forget", "ada", "--source", "dog.md", "--yes")
    assert code == 0
    assert "Documents: 1; passages: 7; embedded: 0." in out
    assert "has no document 'dog.md'" in run("forget", "ada", "--source", "dog.md", "--yes")[2]
    assert "grey dog" in everything(tmp_path)
    assert run("forget", "ada", "--source", "dog.md", "--for-good", "--yes")[0] == 0
    assert "grey dog" not in everything(tmp_path)


def test_the_only_document_is_forgotten_for_good_only(run: Command, tmp_path: Path) -> None:
    run("index", "ada")
    code, _, err = run("forget", "ada", "--source", "life.md", "--yes")
    assert code == 2
    assert "all that 'ada' knows" in err
    assert run("forget", "ada", "--source", "life.md", "--for-good", "--yes")[0] == 0
    assert "lighthouse" not in everything(tmp_path)


def everything(folder: Path) -> str:
    files = (path for path in folder.rglob("*") if path.is_file())
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


def test_a_document_is_edited(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("index", "ada")
    editor(tmp_path, monkeypatch, "path.write_text(path.read_text().replace('Tom', 'Tim'))")
    code, out, _ = run("edit", "ada")
    assert code == 0
    assert "replaced" in out
    assert "Documents: 1; passages: 7; embedded: 1." in out
    assert Role(tmp_path / "ada").documents()[0].text == LIFE.replace("Tom", "Tim")
    assert "Nothing was changed." in run("edit", "ada", "life.md")[1]


def test_what_was_written_is_not_lost_when_it_cannot_be_learned(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(tmp_path, monkeypatch, "path.write_bytes(b'caf\\xe9')")
    code, _, err = run("edit", "ada")
    assert code == 2
    assert "this is not UTF-8" in err
    assert Path(err.rsplit("What you wrote is in ", 1)[1].rstrip(".")).read_bytes() == b"caf\xe9"
    assert Role(tmp_path / "ada").documents()[0].text == LIFE

    def meanwhile(*_: object, filename: str) -> None:
        Path(filename).write_text("mine")
        learn(Role(tmp_path / "ada"), [("life.md", b"theirs")])

    monkeypatch.setattr(click, "edit", meanwhile)
    code, _, err = run("edit", "ada")
    assert code == 2
    assert "was changed meanwhile" in err
    assert Role(tmp_path / "ada").documents()[0].text == "theirs"


def test_an_editor_that_is_not_there(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "no-such-editor")
    monkeypatch.delenv("VISUAL", raising=False)
    code, _, err = run("edit", "ada")
    assert code == 2
    assert "set EDITOR" in err


def test_versions_are_listed_and_taken_back(run: Command, tmp_path: Path, dog: str) -> None:
    run("index", "ada")
    refused = run("undo", "ada")[2]
    assert "no version before this one" in refused
    assert "To take a document back: `dramaturg forget ada NAME`." in refused
    run("learn", "ada", dog)
    rows = json.loads(run("versions", "ada", "--json")[1])
    assert [(row["documents"], row["counts"]["passages"], row["served"]) for row in rows] == [
        (["dog.md", "life.md"], 8, True),
        (["life.md"], 7, False),
    ]
    assert "served" in run("versions", "ada")[1]
    code, out, _ = run("undo", "ada")
    assert code == 0
    assert "life.md" in out
    assert persona(tmp_path) == ["life.md"]
    back = json.loads(run("undo", "ada", "--to", rows[0]["version"][:8], "--json")[1])
    assert back["documents"] == ["dog.md", "life.md"]
    assert back["index"]["embedded"] == 0
    assert "no version 'zz'" in run("undo", "ada", "--to", "zz")[2]


def test_a_damaged_index_is_shown(run: Command, tmp_path: Path) -> None:
    run("index", "ada")
    for path in tmp_path.glob("ada/index/acts/current*.json"):
        path.write_bytes(b"")
    assert "acts: damaged, run `dramaturg index ada`" in run("show", "ada", "--json")[1]
    assert run("index", "ada")[0] == 0
    assert "acts: 7 passages" in run("show", "ada", "--json")[1]


def test_a_document_whose_name_is_a_folders_is_refused_and_the_role_stays_usable(
    run: Command, tmp_path: Path, dog: str
) -> None:
    (tmp_path / "ada" / "persona" / "dog.md").mkdir()
    code, _, said = run("learn", "ada", dog)
    assert code == 2
    assert "persona/dog.md of 'ada' is a folder: move it away" in said
    for command in (("show", "ada"), ("roles",), ("learn", "ada", dog, "--as", "kit")):
        code, _, said = run(*command)
        assert (code, said if command[0] != "learn" else "") == (0, "")


def test_a_change_that_an_earlier_version_could_not_finish_is_told_once(run: Command, tmp_path: Path) -> None:
    (tmp_path / "ada" / "persona" / "dog.md").mkdir()
    documents = {"persona/dog.md": sha256(DOG.encode())}
    begun = tmp_path / "ada" / "index" / "change.json"
    begun.parent.mkdir()
    begun.write_text(json.dumps({"documents": documents, "sha256": sha256(canonical(documents))}))
    code, _, said = run("show", "ada")
    assert code == 0
    assert "A change of 'ada' that was interrupted cannot be finished" in said
    assert run("show", "ada")[::2] == (0, "")
