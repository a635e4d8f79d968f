"""PersonaEval: a judge is asked in the dataset's prompts, and its largest share is what it says."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.judging.persona_eval import persona_eval, shared
from dramaturg.models.chat import chat_model
from dramaturg.models.errors import UnusableAnswer
from dramaturg.stores.errors import RoleFileError

from fakes import scripted

NAMES = ("Ada", "Tom", "Jory", "Fay")


def track(folder: Path, *rows: dict[str, str]) -> Path:
    """A track as it is released: more columns than are needed, and prompts of several lines."""
    path = folder / "Literary.csv"
    with path.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, ["idx", "prompt", *(f"option{n}" for n in range(1, 6)), "gt"])
        writer.writeheader()
        for at, row in enumerate(rows):
            names = {f"option{n}": name for n, name in enumerate(NAMES, start=1)}
            writer.writerow({"idx": at, "prompt": f'Who says, "It is lit"?\n{at}', **names, "gt": "Jory"} | row)
    return path


def test_a_track_is_read_question_by_question(tmp_path: Path) -> None:
    found = persona_eval(track(tmp_path, {}, {"gt": "Ada"}, {}), 2)
    assert [(one.id, one.source, one.names, one.speaker, one.language) for one in found] == [
        ("Literary/1", "PersonaEval Literary", NAMES, 2, "en"),
        ("Literary/2", "PersonaEval Literary", NAMES, 0, "en"),
    ]
    assert found[0].prompt == 'Who says, "It is lit"?\n0'


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"gt": "Zoe"}, "Literary.csv, line 3, column gt: this must be one of four names"),
        ({"option2": "Ada"}, "one of four names that differ"),
        ({"option5": "Zoe"}, "column option5: this is a fifth name"),
    ],
)
def test_what_is_no_question_of_four_names_is_named(tmp_path: Path, row: dict[str, str], told: str) -> None:
    with pytest.raises(RoleFileError, match=told):
        persona_eval(track(tmp_path, row), 0)
    (tmp_path / "other.csv").write_text("prompt,gt\na,b\n")
    with pytest.raises(RoleFileError, match="there is no column option1"):
        persona_eval(tmp_path / "other.csv", 0)


async def test_the_largest_share_is_the_answer(tmp_path: Path) -> None:
    (one,) = persona_eval(track(tmp_path, {}), 0)
    shares = dict(zip(NAMES, (0.1, 0.2, 0.6, 0.1), strict=True))
    model = scripted(f"The lamp is Jory's.\n```json\n{json.dumps(shares)}\n```")
    assert await shared(chat_model(model), one) == 2
    assert [message.text for call in model.calls for message in call.messages] == [one.prompt]


@pytest.mark.parametrize(
    "answer",
    [
        "Jory.",
        {"Ada": 1},
        {"Ada": 0.5, "Tom": 0.5, "Jory": 0, "Fay": 0},
        {"Ada": 0.5, "Tom": 0.6, "Jory": 0, "Fay": 0},
        {"Ada": "none", "Tom": 1, "Jory": 0, "Fay": 0},
    ],
)
async def test_shares_that_say_nothing_are_no_answer(tmp_path: Path, answer: Any) -> None:
    (one,) = persona_eval(track(tmp_path, {}), 0)
    with pytest.raises(UnusableAnswer):
        await shared(chat_model(scripted(answer if isinstance(answer, str) else json.dumps(answer))), one)
