"""The use of passages from the records of a run, against hand-made ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison.records import RecordFile, Records, Reply
from dramaturg.evaluation.reports.chunk_usage import OVER_ROLES, recorded_sizes, shown_to, uses

from commands import Command
from evaluations import evaluation_of, library_of, taken


def reply(key: str, evidence: dict[str, Any]) -> Reply:
    return Reply(
        key=key, contestant="amadeus", role="ada", seed=0, question="1", asked="?", text="!", evidence=evidence
    )


def chunks(*names: str) -> list[dict[str, str]]:
    return [{"passage": name} for name in names]


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        ({"selection": {"selected": chunks("a", "b")}, "knowledge": chunks("c")}, ["a", "b"]),
        ({"knowledge": chunks("c")}, ["c"]),
        ({"retrieved": chunks("d"), "knowledge": ["a strip"]}, ["d"]),
        ({"knowledge": []}, []),
        ({"knowledge": ["a strip"]}, None),
        ({"selection": "of somebody's own flow"}, None),
        ({}, None),
    ],
)
def test_what_a_reply_was_shown(evidence: dict[str, Any], shown: list[str] | None) -> None:
    assert shown_to(reply("k", evidence)) == shown


async def test_usage_and_failures_are_counted(tmp_path: Path) -> None:
    """Of 8 passages 3 are shown, one of them for two of three questions; the third fell back."""
    evaluation = evaluation_of(
        library_of(tmp_path / "library", "ada", "bea"), methods=("amadeus",), roles=("ada", "bea")
    )
    keys = {role: [one.key for one in evaluation.plan.entries if one.role == role] for role in ("ada", "bea")}
    evidence: list[dict[str, Any]] = [
        {"selection": {"selected": chunks("a", "b"), "fallback": None}},
        {"selection": {"selected": chunks("a"), "fallback": None}},
        {"selection": {"selected": chunks("c"), "fallback": "top-K+1"}, "selection_error": "1 of 3 have no verdict."},
    ]
    replies = {key: reply(key, one) for of in keys.values() for key, one in zip(of, evidence, strict=True)}
    records = Records(replies, {}, {})
    ada, bea, whole = uses(evaluation.plan, records, {("amadeus", "ada"): 8})
    assert (ada.replies, ada.used, ada.passages, ada.usage) == (3, 3, 8, 3 / 8)
    assert ada.by_chance == pytest.approx(1 - (6 / 8) * (7 / 8) * (7 / 8))
    assert (ada.failed, ada.selected, ada.failure, ada.unjudged) == (1, 3, pytest.approx(1 / 3), 1)
    assert (bea.used, bea.passages, bea.usage) == (3, None, None)
    assert (whole.role, whole.usage, whole.failed, whole.selected) == (OVER_ROLES, None, 2, 6)
    both = uses(evaluation.plan, records, {("amadeus", "ada"): 8, ("amadeus", "bea"): 4})[-1]
    assert both.usage == pytest.approx((3 / 8 + 3 / 4) / 2)
    assert uses(evaluation.plan, records, {("amadeus", "ada"): 2})[0].usage is None  # more are seen than there are


async def test_a_run_says_what_it_used(run: Command, tmp_path: Path) -> None:
    evaluation = evaluation_of(library_of(tmp_path / "library"), methods=("naive-rag", "vanilla"))
    records = await taken(evaluation)
    code, text, _ = run("chunks", str(evaluation.folder), "--library", str(tmp_path / "library"), "--json")
    (found,) = json.loads(text)
    assert (code, found["contestant"], found["replies"], found["selected"]) == (0, "naive-rag", 3, None)
    assert 0 < found["used"] <= found["passages"]
    assert found["usage"] == found["used"] / found["passages"]
    assert {size for _, size in recorded_sizes(records)} <= {found["passages"]}
    text = run("chunks", str(evaluation.folder), "--library", str(tmp_path / "library"))[1]
    assert "naive-rag: use of passages" in text


async def test_a_run_without_passages_says_so(run: Command, tmp_path: Path) -> None:
    evaluation = evaluation_of(library_of(tmp_path / "library"))
    await taken(evaluation)
    code, _, err = run("chunks", str(evaluation.folder))
    assert (code, "No method of" in err) == (2, True)
    assert RecordFile(evaluation.folder).path.is_file()
