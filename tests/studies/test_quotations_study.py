"""Who says what in prose, held against a corpus: its form, the arithmetic, and runs of the command over a tiny one."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.errors import RoleFileError
from studies.datasets.pdnc import novels_in
from studies.quotations import Judged, Novel, findings

from commands import Command
from fakes import scripted
from stub_endpoint import Endpoint

NOVEL = (
    "CHAPTER I\n\n“Where is it?” asked Mira. “Tell me.”\n\n“Gone,” said old Brandt.\n\n“Gone?”\n\nIt grew dark.\n\n"
    "“Light it.”\n\nBells rang in the “Blue Heron”.\n"
)
PEOPLE = [
    ("Mira Quill", "{'Mira', 'Miss Quill'}"),
    ("Tom Brandt", "['The Keeper']"),
    ("_unknowable", "['_unknowable']"),
]
SAID = [
    (("Where is it?", "Tell me."), "Mira", "Explicit", "asked Mira"),
    (("Gone,",), "Tom Brandt", "Explicit", "said old Brandt"),
    (("Gone?",), "Mira Quill", "Implicit", ""),
    (("Light it.",), "Tom Brandt", "Implicit", ""),
    (("Blue Heron",), "_unknowable", "Implicit", ""),
]


def table(path: Path, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


def corpus(folder: Path) -> Path:
    novel = folder / "data" / "TheQuay"
    novel.mkdir(parents=True)
    (novel / "novel_text.txt").write_text(NOVEL, encoding="utf-8")
    table(novel / "character_info.csv", ("Main Name", "Aliases"), PEOPLE)
    spans = [[[NOVEL.index(part), NOVEL.index(part) + len(part)] for part in parts] for parts, *_ in SAID]
    rows = [(str(span), *rest) for span, (_, *rest) in zip(spans, SAID, strict=True)]
    columns = ("quoteByteSpans", "speaker", "quoteType", "referringExpression")
    table(novel / "quotation_info.csv", columns, rows)
    return folder


def test_a_speaker_is_a_character_by_any_name_that_one_character_alone_has(tmp_path: Path) -> None:
    (novel,) = novels_in(corpus(tmp_path))
    assert [one.speaker for one in novel.quotes] == ["Mira Quill", "Tom Brandt", "Mira Quill", "Tom Brandt"]
    assert [novel.character([one]) for one in ("Miss Quill", "Keeper", "Brandt", "Bo")] == [
        "Mira Quill",
        "Tom Brandt",
        "Tom Brandt",
        "",
    ]


def test_what_is_no_novel_of_the_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match="holds no novels with quotations"):
        novels_in(tmp_path)
    corpus(tmp_path)
    (tmp_path / "data" / "TheQuay" / "character_info.csv").write_text("Name\nMira\n", encoding="utf-8")
    with pytest.raises(RoleFileError, match="TheQuay is no novel of the corpus"):
        novels_in(tmp_path)


def test_shares_are_of_all_and_of_those_that_are_told() -> None:
    judged = [("verb", True), ("verb", False), ("turns", True), ("", False)]
    quotes = tuple(Judged("Implicit", True, how, right) for how, right in judged)
    made = findings([Novel("One", quotes, 5, 4), Novel("Two", quotes, 4, 4)])
    row = made.tables[0].rows[0]
    assert (row[1], [round(cell.mean, 3) for cell in row[2:]]) == (8, [1.0, 0.889, 0.75, 0.667, 0.5])


def cells(out: str, title: str) -> list[list[Any]]:
    (study,) = json.loads(out)
    (found,) = (one for one in study["tables"] if one["title"] == title)
    return [[cell["value"] for cell in row] for row in found["rows"]]


def test_the_study_tells_what_rules_find_and_what_a_model_adds(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    folder = str(corpus(tmp_path / "pdnc"))
    code, out, err = run("studies", "quotations", folder, "--json")
    assert code == 0, err
    assert cells(out, "Quotations and their speakers, by rules alone")[1] == ["TheQuay", 4, 1.0, 1.0, 0.75, 1.0, 0.75]
    stub.model = scripted('{"speakers": [{"quote": 1, "speaker": 2}]}')
    code, out, err = run("studies", "quotations", folder, "--set", "ask=true", "--model", "auto", "--json")
    assert code == 0, err
    assert cells(out, "What rules leave open, by the chat model")[0] == ["together", 1, 1.0, 1.0, 1.0]


def test_what_the_study_would_ask_is_said_before(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    stub.asked.clear()
    words = ("studies", "quotations", str(corpus(tmp_path / "pdnc")), "--set", "ask=true", "--dry-run")
    code, out, err = run(*words)
    assert code == 0, err
    assert "TheQuay: 4 quotations. The chat model would be asked 1 times about 1 of them" in " ".join(out.split())
    assert stub.asked == []
