"""Files in persona/ that are no Markdown: named wherever a person would look, and read by `index` and `learn`."""

import json
from pathlib import Path

import pytest

from dramaturg.stores.documents import originals
from dramaturg.stores.documents.originals import TAKEN
from dramaturg.stores.role import Role

from commands import Command
from packed_documents import pdf

pytestmark = pytest.mark.sample_of_file(3)

DOG = "# The dog\n\nKit is a grey dog and sleeps under the lamp.\n"


@pytest.fixture
def persona(run: Command, tmp_path: Path) -> Path:
    """The folder persona/ of Ada, with files that are no Markdown."""
    folder = tmp_path / "ada" / "persona"
    (folder / "dog.txt").write_text(DOG)
    (folder / "photo.png").write_bytes(b"no picture")
    (folder / "letters").mkdir()
    (folder / ".hidden.pdf").write_bytes(b"")
    return folder


def test_files_that_are_not_read_are_named_before_a_role_is_indexed(persona: Path, run: Command) -> None:
    code, _, err = run("ask", "ada", "How is Kit?")
    assert code == 0
    assert "Not read yet in persona/: dog.txt. `dramaturg index ada` reads it." in err
    assert "Not read in persona/: letters/, photo.png." in err
    assert "photo.png" not in run("ask", "ada", "How is Kit?", "--json")[1]
    assert json.loads(run("show", "ada", "--json")[1])["not read"] == ["dog.txt", "letters/", "photo.png"]
    assert "3 file(s) not read" in run("roles")[1].replace("\n", " ")


def test_index_reads_what_it_can_and_names_the_rest(persona: Path, run: Command) -> None:
    _, out, err = run("index", "ada", "--dry-run")
    assert "Not read yet in persona/: dog.txt. `dramaturg index ada` reads it." in err
    assert "It is not counted here." in err
    assert not (persona / "dog.md").exists()
    code, out, err = run("index", "ada", "--json")
    assert code == 0
    assert json.loads(out)["documents"] == 2
    assert "Read into dog.md" in err
    assert "Not read in persona/: letters/, photo.png." in err
    assert (persona / "dog.md").read_text() == DOG
    assert (persona / "dog.txt").read_text() == DOG
    assert "dog" not in run("index", "ada", "--json")[2]
    assert "Not read yet" not in run("ask", "ada", "How is Kit?")[2]


def test_without_what_reads_a_pdf_the_extra_is_named(
    persona: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (persona / "life.pdf").write_bytes(pdf([[(11, "Kit is grey.")]]))
    assert "dramaturg[documents]" not in run("ask", "ada", "How is Kit?")[2]
    monkeypatch.setattr(originals, "find_spec", lambda name: None)
    assert "`pip install 'dramaturg[documents]'`" in run("ask", "ada", "How is Kit?")[2]


def test_an_original_that_changes_is_read_again_unless_its_document_was_edited(persona: Path, run: Command) -> None:
    run("index", "ada")
    (persona / "dog.txt").write_text(DOG.replace("grey", "black"))
    assert "Not read yet in persona/: dog.txt" in run("ask", "ada", "How is Kit?")[2]
    run("index", "ada")
    assert "black" in (persona / "dog.md").read_text()
    (persona / "dog.md").write_text(DOG.replace("grey", "brown"))
    (persona / "dog.txt").write_text(DOG.replace("grey", "white"))
    code, _, err = run("index", "ada")
    assert code == 0
    assert "dog.txt is not read: there is dog.md already" in err
    assert "brown" in (persona / "dog.md").read_text()


def test_a_document_of_ones_own_is_not_written_over(persona: Path, run: Command) -> None:
    (persona / "dog.md").write_text("Mine.")
    assert "dog.txt is not read: there is dog.md already" in run("index", "ada")[2]
    assert (persona / "dog.md").read_text() == "Mine."


def test_without_what_was_read_before_the_same_text_is_taken_as_read(persona: Path, run: Command) -> None:
    run("index", "ada")
    (persona.parent / TAKEN).unlink()
    assert "is not read" not in run("index", "ada")[2].replace("Not read in", "")
    assert "dog.txt" not in run("index", "ada")[2]


def test_what_was_forgotten_is_not_read_again_and_for_good_it_is_gone(persona: Path, run: Command) -> None:
    run("index", "ada")
    _, _, err = run("forget", "ada", "--source", "dog.md", "--yes")
    assert "dog.txt stays in persona/" in err
    run("index", "ada")
    assert Role(persona.parent).persona.names() == ["life.md"]
    assert run("forget", "ada", "--source", "dog.md", "--for-good", "--yes")[0] == 0
    assert not (persona / "dog.txt").exists()
    assert "sleeps under the lamp" not in "".join(
        path.read_text(errors="replace") for path in persona.parent.rglob("*") if path.is_file()
    )


def test_a_link_out_of_the_role_is_not_followed(persona: Path, run: Command, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("swordfish")
    (persona / "link.txt").symlink_to(tmp_path / "secret.txt")
    code, _, err = run("index", "ada")
    assert code == 0
    assert "link.txt leads out of" in err
    assert not (persona / "link.md").exists()


def test_a_role_with_nothing_else_says_what_reads_it(persona: Path, run: Command) -> None:
    (persona / "life.md").unlink()
    code, _, err = run("ask", "ada", "How is Kit?")
    assert code == 2
    assert "`dramaturg index ada` reads it" in err.partition("Error:")[2]


def test_without_the_extra_a_pdf_is_named_with_the_extra_and_the_rest_is_read(
    persona: Path, run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "pypdf.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "without"))
    (persona / "sea.pdf").write_bytes(pdf([[(11, "The sea is cold.")]]))
    code, _, err = run("index", "ada")
    assert code == 0
    assert "sea.pdf is read by an extra: pip install 'dramaturg[documents]'" in err
    assert (persona / "dog.md").exists()
    code, _, err = run("learn", "ada", str(persona / "sea.pdf"))
    assert code == 2
    assert "pip install 'dramaturg[documents]'" in err


def test_a_pdf_is_learned_and_indexed_and_its_empty_page_named(persona: Path, run: Command, tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    book = pdf([[(20, "The sea"), (11, "The sea is cold.")], []])
    (tmp_path / "book.pdf").write_bytes(book)
    code, out, err = run("learn", "ada", str(tmp_path / "book.pdf"))
    assert code == 0
    assert "book.md" in out
    assert "book.pdf: page 2 has no text." in err
    assert (persona / "book.md").read_text() == "# The sea\n\nThe sea is cold.\n"
    (persona / "sea.pdf").write_bytes(book)
    assert "sea.pdf: page 2 has no text." in run("index", "ada")[2]
    assert (persona / "sea.md").read_text() == (persona / "book.md").read_text()
