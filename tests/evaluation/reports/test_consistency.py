"""How steady interviews are: of hand-made ones, and of a run's."""

import json
from pathlib import Path
from statistics import pstdev
from typing import Any

import pytest

from dramaturg.evaluation.instruments.instrument import Instrument
from dramaturg.evaluation.interviews.scores import scored
from dramaturg.evaluation.reports.consistency import steadiness

from commands import Command

INSTRUMENT = Instrument.model_validate(
    {
        "name": "tiny",
        "language": "en",
        "licence": "CC0-1.0",
        "source": "a test",
        "scale": {"low": 1, "high": 5},
        "scores": "scale",
        "dimensions": [{"name": "O", "high": "O", "low": "N", "description": "What it means."}],
        "items": [
            {"id": number, "dimension": "O", "key": key, "statement": "I do.", "question": "Do you?"}
            for number, key in (("1", "high"), ("2", "low"))
        ],
    }
)


def interview(judging: str, results: list[tuple[int, str, float]], repeats: int, seed: int = 0) -> Any:
    """An interview whose judgements are given: repeat, item (or batch) and result."""
    judgements: Any = [
        {"dimension": "O", "repeat": repeat, "items": [item], "analysis": "", "result": result, "error": ""}
        for repeat, item, result in results
    ]
    about = {"role": "ada", "method": "vanilla", "instrument": "tiny", "language": "en", "judging": judging}
    result = scored(INSTRUMENT, [], judgements, repeats=repeats, judging=judging)  # type: ignore[arg-type]
    kept = {"about": {**about, "refusals": "leave_out", "model_seed": seed}, "records": [], "judgements": judgements}
    return {**result, **kept, "usage": {}}


def test_items_that_are_judged_one_by_one() -> None:
    """A low key reverses a choice, and so changes no deviation."""
    results = [(0, "1", 4.0), (1, "1", 2.0), (0, "2", 5.0), (1, "2", 5.0)]
    found = {one.measure: one for one in steadiness([interview("option_conversion", results, 2)], lambda _: INSTRUMENT)}
    assert (found["items, over repeats"].value, found["items, over repeats"].groups) == (0.5 * 1.0 / 4, 2)
    first, second = (4 + 1) / 2, (2 + 1) / 2
    assert found["dimensions, over repeats"].value == pytest.approx(pstdev([first, second]) / 4)
    assert (found["dimensions, over batches"].value, found["dimensions, over seeds"].groups) == (None, 0)


def test_batches_and_seeds_of_expert_ratings() -> None:
    outputs = [
        interview("expert_rating", [(0, "1", 4.0), (0, "2", 3.0)], 1),
        interview("expert_rating", [(0, "1", 2.0)], 1, seed=1),
    ]
    found = {one.measure: one for one in steadiness(outputs, lambda _: INSTRUMENT)}
    assert (found["dimensions, over batches"].value, found["dimensions, over batches"].groups) == (0.5 / 4, 1)
    assert found["dimensions, over seeds"].value == pytest.approx(pstdev([3.5, 2.0]) / 4)
    assert (found["dimensions, over seeds"].roles, found["dimensions, over seeds"].interviews) == (1, 2)
    assert found["items, over repeats"].groups == 0


def test_files_of_interviews_are_read(run: Command, tmp_path: Path) -> None:
    output, inventory = interview("expert_rating", [(0, "1", 4.0), (0, "2", 3.0)], 1), tmp_path / "tiny.yaml"
    (tmp_path / "one.json").write_text(json.dumps(output))
    code, _, err = run("consistency", str(tmp_path / "one.json"))
    assert (code, "give its path with --inventory" in err) == (2, True)
    told = INSTRUMENT.model_dump(mode="json", exclude={"language"})
    for one in told["dimensions"]:
        one["description"] = {"en": one["description"]}
    for one in told["items"]:
        one.update(statement={"en": one["statement"]}, question={"en": one["question"]})
    inventory.write_text(json.dumps(told))
    code, text, _ = run("consistency", str(tmp_path / "one.json"), "--inventory", str(inventory), "--json")
    assert (code, {one["measure"]: one["value"] for one in json.loads(text)}["dimensions, over batches"]) == (0, 0.125)
    assert "0.125" in run("consistency", str(tmp_path / "one.json"), "--inventory", str(inventory))[1]
    (tmp_path / "empty").mkdir()
    code, _, err = run("consistency", str(tmp_path / "empty"))
    assert (code, "holds no interview that is over" in err) == (2, True)
