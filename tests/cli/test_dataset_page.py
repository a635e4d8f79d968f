"""Every command of the page on datasets, on files as they are fetched, and on made ones of the same form."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_datasets as tiny
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.datasets.fetching import digest_of
from dramaturg.evaluation.datasets.released import RELEASES, DatasetFile

from commands import Command
from fakes import ScriptedChatModel
from roles import actor, said
from stub_endpoint import Endpoint

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "datasets.md"
SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
BOOK, FOLDER = "King Lear.json", "~/data"
ASKS = ("evaluate", "fetch")
"""Commands that ask whether to go on."""


def commands() -> list[list[str]]:
    """Those of the page, as a shell reads them."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def made(folder: Path) -> None:
    """A book in which one person has two profiles, and another speaks only where it is asked about."""
    tiny.coser(folder / "coser", "King Lear")
    file = folder / "coser" / BOOK
    text = file.read_text(encoding="utf-8").replace("Ada", "Cordelia").replace("Tom", "Duke of Albany")
    book: Any = json.loads(text)
    book["character_datasets"] |= {"Albany": {"profile": "Albany is a duke."}, "Fool": {"profile": "He sings."}}
    book["plots"][2]["conversation"][0]["dialogues"].append({"character": "Fool", "message": "Nuncle, a lamp!"})
    tiny.put(file, book)
    people = {"Hermione-en": {"alias": ["Hermione"], "agent": {}, "experimenter": "Harry"}}
    tiny.put(folder / "incharacter" / "characters.json", people)
    scores = {"Hermione-en": {"BFI": {"Extraversion": {"score": 3.5, "type": "H"}}}}
    tiny.put(folder / "incharacter" / "characters_labels.json", {"pdb": scores})
    items = {
        f"{at}": {
            "origin_en": "I talk.",
            "rewritten_en": "Do you talk?",
            "dimension": "Extraversion",
            "category": "positive",
        }
        for at in range(1, 4)
    }
    asked = {"name": "BFI", "range": [1, 5], "questions": items, "prompts": {"dim_desc": {"Extraversion": "talks"}}}
    tiny.put(folder / "incharacter" / "questionnaires" / "BFI.json", asked)
    tiny.character_llm(folder / "character_llm")
    benchmarks(folder)


def benchmarks(folder: Path) -> None:
    """A little of each benchmark."""
    tiny.coser_test(folder / "coser_test")
    tiny.timechara(folder / "timechara")
    tiny.rolebench(folder / "RoleBench", "Jack Sparrow")
    tiny.persona_gym(folder / "persona_gym")
    tiny.ping_pong(folder / "ping_pong")


def fetched(folder: Path) -> None:
    """What is fetched; benchmarks are made, and for Character-LLM the profile of somebody whom InCharacter has."""
    shared = Path(SHARED or "")
    for name in ("incharacter", "character_llm"):
        shutil.copytree(shared / name, folder / name)
    (folder / "coser").mkdir()
    shutil.copy(shared / "coser_plays" / "King_Lear.json", folder / "coser" / BOOK)
    benchmarks(folder)


@pytest.fixture
def data(
    request: pytest.FixtureRequest, tmp_path: Path, stub: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    folder = tmp_path / "data"
    {"made": made, "fetched": fetched}[request.param](folder)
    tiny.put(folder / "character_llm" / "profiles" / "wiki_Hermione.txt", "# Hermione Granger\n\nShe reads much.\n")
    for name in ("coser", "coser_test", "ping_pong"):
        there = sorted((folder / name).rglob("*.json"))
        files = (DatasetFile(digest_of(one), one.stat().st_size, str(one.relative_to(folder / name))) for one in there)
        known = RELEASES[name]._replace(files=tuple(files))
        monkeypatch.setitem(RELEASES, name, known)  # type: ignore[misc]  # a mapping that is a dict
    monkeypatch.chdir(tmp_path)

    def answer(messages: list[BaseMessage]) -> str:
        if "<answers>" in said(messages):
            return '{"analysis": "so it seems", "result": 4}'
        return str(actor(reply="I am here.").reply(messages))

    stub.model = ScriptedChatModel(reply=answer)
    yield folder
    stub.model = actor()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("made", marks=pytest.mark.crash),
        pytest.param(
            "fetched",
            marks=[pytest.mark.slow, pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA")],
        ),
    ],
    indirect=True,
)
def test_every_command_of_the_page_works(run: Command, data: Path, tmp_path: Path) -> None:
    tiny.put(tmp_path / "FILE.csv", "sample,rater,score\n1,a,3\n1,b,4\n2,a,1\n2,b,2\n")
    found, heard = commands(), dict[str, str]()
    assert [one[1] for one in found].count("evaluate") >= 2
    for at, (program, *command) in enumerate(found):
        more = ["--yes"] if {*command} & {*ASKS} and "--dry-run" not in command else []
        code, text, err = run(*(one.replace(FOLDER, str(data)) for one in command), *more)
        assert (program, code) == ("dramaturg", 0), f"{' '.join(command)}: {err}"
        heard[f"{at} {' '.join(command)}"] = text + err
    assert "coser-albany" not in str(heard)  # the same person as the Duke of Albany
    told = next(text for command, text in heard.items() if "coser=" in command)
    assert "for want of dialogues/*.jsonl (for drmr)" in told
    plan = read_plan(tmp_path / "run")
    assert "coser-cordelia" in plan.roles or len(plan.roles) == 4
    assert plan.unplayed[0] in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert read_plan(tmp_path / "interviews").labels
