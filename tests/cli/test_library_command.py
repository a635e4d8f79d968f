"""`dramaturg library push` and `pull`."""

import json
from pathlib import Path

import pytest

from dramaturg.stores import library_folder
from dramaturg.stores.errors import RoleError, StorageError
from dramaturg.stores.library import Library, examples, library_at

from commands import Command

FEW = ("beethoven", "wukong")


def files(library: Path) -> dict[str, bytes]:
    """What lies in a library."""
    return {
        path.relative_to(library).as_posix(): path.read_bytes()
        for path in library.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(library).parts)
    }


def test_roles_are_carried_into_a_database_and_out_again(run: Command, postgres: str, tmp_path: Path) -> None:
    run("index", "ada")
    code, out, _ = run("library", "push", postgres, "ada", *FEW)
    assert code == 0
    assert [name for name in ("ada", *FEW) if name in out] == ["ada", *FEW]
    other = tmp_path / "other"
    assert run("library", "pull", postgres, "--library", str(other))[0] == 0
    assert files(other) == {path: data for path, data in files(tmp_path).items() if not path.startswith("other/")}
    code, out, _ = run("ask", "ada", "Who are you?", "--json", "--library", postgres)
    assert code == 0
    assert json.loads(run("roles", "--json", "--library", postgres)[1])[0]["role"] == "ada"


def test_a_role_that_is_another_is_not_replaced_unless_one_says_so(run: Command, postgres: str, tmp_path: Path) -> None:
    run("library", "push", postgres, "ada")
    assert json.loads(run("library", "push", postgres, "ada", "--json")[1]) == {"ada": "the same"}
    (tmp_path / "ada" / "persona" / "dog.md").write_text("# The dog\n\nKit is grey.\n")
    assert json.loads(run("library", "push", postgres, "ada", "--dry-run", "--json")[1]) == {"ada": "another"}
    code, _, err = run("library", "push", postgres, "ada", "beethoven")
    assert code == 2
    assert "has another 'ada': nothing was copied. --replace" in err
    shared = library_at(postgres, tmp_path / ".cache")
    assert shared.roles() == ["ada"]
    assert run("library", "push", postgres, "ada", "--replace")[0] == 0
    assert "persona/dog.md" in shared.contents("ada")
    (tmp_path / "ada" / "persona" / "dog.md").unlink()
    code, _, err = run("library", "pull", postgres, "ada")
    assert (code, "has another 'ada'" in err) == (2, True)
    assert run("library", "pull", postgres, "ada", "--replace")[0] == 0
    assert (tmp_path / "ada" / "persona" / "dog.md").is_file()
    assert sorted(Library(tmp_path).roles()) == ["ada", "beethoven"]


def test_what_the_source_lacks_is_not_made_there(run: Command, postgres: str, tmp_path: Path) -> None:
    run("library", "push", postgres, "ada")
    code, _, err = run("library", "pull", postgres, "beethoven")
    assert (code, "There is no role 'beethoven'" in err) == (2, True)
    assert library_at(postgres, tmp_path / ".cache").roles() == ["ada"]


def test_a_role_that_cannot_be_put_in_its_place_leaves_the_one_before(
    run: Command, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("library", "push", postgres, "ada")
    (tmp_path / "ada" / "persona" / "dog.md").write_text("# The dog\n\nKit is grey.\n")
    before, move = files(tmp_path), library_folder.move_folder

    def refused(source: Path, target: Path, *, within: Path) -> None:
        if target.name == "ada" and not (source / "persona" / "dog.md").exists():
            raise StorageError("The disk is full.")
        move(source, target, within=within)

    monkeypatch.setattr(library_folder, "move_folder", refused)
    assert run("library", "pull", postgres, "ada", "--replace")[0] == 2
    assert files(tmp_path) == before


def test_a_path_that_leads_out_of_its_role_is_not_written(tmp_path: Path) -> None:
    shelf = Library(tmp_path / "shelf")
    shelf.replace({"ada": {"role.yaml": b"name: Ada\n"}})
    for path in ("../ada/role.yaml", "/etc/none", "persona/../../ada/x.md"):
        with pytest.raises(RoleError, match="leads out"):
            shelf.replace({"eve": {"role.yaml": b"name: Eve\n", path: b"name: Eve\n"}})
    assert files(shelf.root) == {"ada/role.yaml": b"name: Ada\n"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["push", "somewhere"], "'somewhere' is no database: write postgresql://user@host/name."),
        (["pull", "postgresql://127.0.0.1:1/roles"], "The library in 127.0.0.1/roles cannot be reached"),
        (["push", "postgresql://127.0.0.1:1/roles", "eve"], "There is no role 'eve'"),
        (
            ["push", "postgresql://127.0.0.1:1/a", "--library", "postgresql://127.0.0.1:1/b"],
            "name a folder by --library",
        ),
    ],
)
def test_what_cannot_be_carried_is_said(run: Command, words: list[str], says: str) -> None:
    code, _, err = run("library", *words)
    assert code == 2
    assert says in " ".join(err.split())


def test_a_role_is_carried_with_its_story(run: Command, postgres: str, tmp_path: Path) -> None:
    assert run("library", "push", postgres, "jim")[0] == 0
    assert library_at(postgres).roles() == ["hispaniola", "jim"]
    assert run("library", "pull", postgres, "jim", "--library", str(tmp_path / "other"))[0] == 0
    assert Library(tmp_path / "other").roles() == ["hispaniola", "jim"]


@pytest.mark.slow
def test_all_examples_are_carried(run: Command, postgres: str, tmp_path: Path) -> None:
    assert run("library", "push", postgres, *examples())[0] == 0
    assert run("library", "pull", postgres, *examples(), "--library", str(tmp_path / "other"))[0] == 0
    there = files(tmp_path / "other")
    assert {path.partition("/")[0] for path in there} == {*examples()}
    assert there == {path: data for path, data in files(tmp_path).items() if path in there}
