"""`dramaturg library push` and `pull`."""

import json
from pathlib import Path

import pytest

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
    assert "has another 'ada': nothing was carried. --replace" in err
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


@pytest.mark.slow
def test_all_examples_are_carried(run: Command, postgres: str, tmp_path: Path) -> None:
    assert run("library", "push", postgres, *examples())[0] == 0
    assert run("library", "pull", postgres, *examples(), "--library", str(tmp_path / "other"))[0] == 0
    there = files(tmp_path / "other")
    assert {path.partition("/")[0] for path in there} == {*examples()}
    assert there == {path: data for path, data in files(tmp_path).items() if path in there}
