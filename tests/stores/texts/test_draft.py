"""Drafts that wait: what is accepted stands in the files of the role, whatever the file was called that it is from."""

from pathlib import Path

import pytest

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library_folder import Library
from dramaturg.stores.texts.draft import CastDraft, DraftedLine, DraftedScene, Statement


@pytest.mark.parametrize(
    ("document", "file"),
    [
        ("the_ferry.txt", "the_ferry.txt"),
        ("Who are you?.txt", "Who are you .txt"),
        ("Treasure Island: a novel.epub", "Treasure Island a novel.epub"),
        ("con.txt", "text con.txt"),
        ("??", "text"),
        ("渡" * 120, "渡" * 50),
    ],
)
def test_drafts_of_a_file_of_any_name_are_accepted(tmp_path: Path, document: str, file: str) -> None:
    role = Library(tmp_path).create("mira", RoleCard(name="Mira"))
    drafts = CastDraft(role.root)
    said = DraftedScene(document=document, scene="One", lines=(DraftedLine(speaker="Mira", text="The lamp is out."),))
    told = Statement(document=document, heading="Past", text="She runs a ferry.")
    drafts.put({"dialogues": [said], "persona": [told]})
    drafts.accept({kind: drafts.items(kind) for kind in drafts.counts()})
    assert role.persona.names() == [f"{file}.md"]
    assert role.dialogue_files.names() == [f"dialogues/{file}.jsonl"]
    assert role.persona.read(f"{file}.md").decode().startswith(f"# {document}\n")


def test_drafts_of_two_files_that_become_one_are_all_taken_over(tmp_path: Path) -> None:
    role = Library(tmp_path).create("mira", RoleCard(name="Mira"))
    drafts = CastDraft(role.root)
    told = [Statement(document=name, heading="Past", text=f"Told in {name}") for name in ("notes?", "notes.md")]
    drafts.put({"persona": told})
    drafts.accept({"persona": drafts.items("persona")})
    assert role.persona.names() == ["notes.md"]
    assert all(one.text in role.persona.read("notes.md").decode() for one in told)
