"""What a report concludes from its numbers, and what it does not: the unit, the plan, and what is missing."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from made_runs import made_run, report_of

from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.comparison.records import Indexed, RecordFile
from dramaturg.evaluation.metrics.chunks import chunk_duplication
from dramaturg.evaluation.reports.page import written_report
from dramaturg.evaluation.reports.reach import reach_lines
from dramaturg.evaluation.reports.tables import tables
from dramaturg.stores.errors import RoleFileError

from commands import Command

pytestmark = pytest.mark.sample_of_file(4)

EIGHT = tuple(f"role-{at}" for at in range(8))


def gain_in_two(method: str, role: str, question: int, judge: str) -> float:
    """Right answers to eleven of thirty questions, of two roles, by one method alone."""
    return float(method == "profile" and role in EIGHT[:2] and question < 11)


def spread_over_roles(method: str, role: str, question: int, judge: str) -> float:
    """A method that is better on every role, on some more than on others."""
    return float(question < (2 if method == "vanilla" else 4 + int(role.rpartition("-")[2]) % 4))


def cells(report: str, *begins: str) -> list[list[str]]:
    """The cells of the lines of tables that begin so."""
    start = "| " + " | ".join(begins) + " |"
    return [
        [one.strip() for one in line.strip("|").split("|")] for line in report.splitlines() if line.startswith(start)
    ]


# The unit is the role (V1)


def test_a_gain_in_two_of_eight_roles_is_no_difference_of_methods(tmp_path: Path) -> None:
    report = report_of(made_run(tmp_path / "run", gain_in_two, roles=EIGHT, questions=30))
    (line,) = [one for one in report.splitlines() if "sign flips" in one and one.startswith("| accuracy")]
    assert "4.8e-07" not in line
    assert "| 0.500 | 0.500 |" in line  # p, and p by Holm; McNemar's test on all questions has 4.8e-7
    assert "McNemar" not in report


def test_below_six_roles_no_p_of_sign_flips_is_printed(tmp_path: Path) -> None:
    report = report_of(made_run(tmp_path / "run", spread_over_roles, roles=EIGHT[:4], questions=10))
    assert "Student's t over 4 roles, taking their differences for normal; sign flips reach 0.125" in report
    assert "rests on Student's t" in report


def test_with_one_role_nothing_is_concluded_beyond_it(tmp_path: Path) -> None:
    report = report_of(made_run(tmp_path / "run", lambda method, *_: float(method == "profile"), questions=30))
    assert report.splitlines()[2] == (
        "Primary comparison with vanilla by accuracy (judged by judge, over the questions of one role, ada): profile "
        "is better (profile − vanilla 1.000, 95 % [0.769, 1.000])."
    )
    assert (
        "\nThis is about more questions of this kind to this role: nothing is concluded beyond it. Nothing shows "
        "whether judge can tell right from wrong.\n"
    ) in report


def test_one_question_has_no_test(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", lambda method, *_: 5.0, questions=1, metrics=("accuracy_level",))
    report = report_of(folder)
    assert report.splitlines()[2] == "Nothing is tested, and nothing can be concluded: there is one question."
    (told,) = [line for line in report.splitlines() if "none: there is one question" in line]
    assert "1.000" not in told  # nor p, nor one that Holm corrected
    for path in written_report(folder):
        text = path.read_text(encoding="utf-8")
        assert ("There is no test." in text, "p is corrected within" in text) == (True, False)
    lines = list(reach_lines(read_plan(folder), RecordFile(folder).read()))
    assert lines[-1] == "The metrics apply to 1 question: no test is possible."


def test_what_differs_on_every_role_is_found_and_said_in_a_sentence(tmp_path: Path) -> None:
    report = report_of(made_run(tmp_path / "run", spread_over_roles, roles=EIGHT, questions=10))
    assert report.splitlines()[2] == (
        "Primary comparison with vanilla by accuracy (judged by judge, over 8 roles): profile is better (profile "
        "− vanilla 0.350, 95 % [0.245, 0.449])."
    )
    assert "\nNothing shows whether judge can tell right from wrong.\n" in report


@pytest.mark.parametrize(
    ("roles", "methods", "said"),
    [
        (1, 2, ["nothing will be concluded beyond it", "The smallest p is 0.002.", "of shares none"]),
        (1, 1, ["There is one method", "nothing is compared"]),
        (2, 2, ["sign flips reach no p below 0.5", "of shares none is found"]),
        (4, 2, ["sign flips reach no p below 0.125", "Student's t", "2.13 standard deviations"]),
        (8, 2, ["The smallest p is 0.0078.", "1.18 standard deviations", "of a share at least 0.20"]),
        (8, 14, ["the primary comparison (accuracy by judge) of 13 methods", "1.91 standard deviations"]),
    ],
)
def test_a_plan_says_before_what_it_can_show(tmp_path: Path, roles: int, methods: int, said: Sequence[str]) -> None:
    names = [f"method-{at}" for at in range(methods)]
    folder = made_run(tmp_path / "run", gain_in_two, roles=EIGHT[:roles], methods=names, questions=10, judged_by=())
    lines = " ".join(reach_lines(read_plan(folder), RecordFile(folder).read()))
    assert all(one in lines for one in said)


# Planned and exploratory


def test_methods_are_compared_with_the_baseline_and_other_pairs_are_exploratory(tmp_path: Path) -> None:
    def value(method: str, role: str, question: int, judge: str) -> float:
        return float(question < {"a": 2, "b": 4, "c": 5}[method] + int(role[-1]) % 2)

    folder = made_run(tmp_path / "run", value, methods=("a", "b", "c"), roles=EIGHT, questions=10, baseline="b")
    found = tables(read_plan(folder), RecordFile(folder).read())
    assert [(one.first, one.second) for one in found.planned] == [("a", "b"), ("c", "b")]
    assert {one.corrected.n for one in found.planned if one.corrected} == {2}
    assert all(one.primary for one in found.planned)
    (other,) = [one for one in found.differences if not one.planned]
    assert (other.first, other.second, other.p, other.corrected) == ("a", "c", None, None)
    assert other.interval.high < 0
    report = report_of(folder)
    assert "## Differences from b" in report
    assert "Exploratory: nobody planned to compare these" in report


# The plan decides what is valid (V2)


def test_a_judge_that_is_not_there_is_named_and_concludes_nothing_and_the_other_does(tmp_path: Path) -> None:
    report = report_of(made_run(tmp_path / "run", gain_in_two, judges=("B", "A"), judged_by=("A",)))
    assert "**This run is incomplete**" in report
    assert "- accuracy by B: all 6 are missing" in report
    assert "(judged by A, as B fails its checks, over the questions of one role, ada)" in report.splitlines()[2]
    assert "**Nothing is concluded from accuracy by B** (†): results are missing" in report


def test_a_judge_that_was_replaced_leaves_tables_and_correction(tmp_path: Path) -> None:
    report = report_of(made_run(tmp_path / "run", gain_in_two, roles=EIGHT, judges=("B",), judged_by=("A", "B")))
    assert "This run is incomplete" not in report
    assert "| A |" not in report
    assert "within the 1 primary comparison" in report


@pytest.mark.parametrize(
    ("gone", "named"),
    [
        (
            lambda method, role, question: method == "profile",
            "replies: 320 of 640 are missing, and there is nothing for method profile",
        ),
        (
            lambda method, role, question: role == "role-3",
            "replies: 80 of 640 are missing, and there is nothing for role role-3",
        ),
        (lambda method, role, question: question == 7 and role == "role-1", "question “Question 7?” of role-1"),
    ],
)
def test_what_was_planned_and_is_missing_is_named(tmp_path: Path, gone, named: str) -> None:  # type: ignore[no-untyped-def]
    folder = made_run(tmp_path / "run", gain_in_two, roles=EIGHT, questions=40, skip=gone)
    report = report_of(folder)
    assert "**This run is incomplete**" in report
    assert named in report
    assert report.splitlines()[2].startswith("Nothing is concluded")


def test_a_little_that_is_missing_is_bounded_and_no_more(tmp_path: Path) -> None:
    def value(method: str, role: str, question: int, judge: str) -> float | None:
        return None if (method, role, question) == ("profile", "role-1", 7) else 1.0

    report = report_of(made_run(tmp_path / "run", value, roles=EIGHT, questions=10))
    assert "This run is incomplete" not in report
    assert "1 of 80 | 0.988 to 1.000" in report
    assert "Worst case: the means between which the whole would lie" in report


def test_a_star_survives_the_worst_case_of_what_is_missing(tmp_path: Path) -> None:
    """Eight of eight roles gain a tenth; of 50 judgements a role one is missing, which is 2 % and allowed."""

    def gaining(gain: int, gone: bool) -> Any:
        def value(method: str, role: str, question: int, judge: str) -> float | None:
            if gone and method == "profile" and question == 49:
                return None
            return float(question >= 25 - gain * (method == "profile"))

        return value

    found = {}
    for name, (gain, gone) in {"whole": (1, False), "gone": (1, True), "large": (5, True)}.items():
        folder = made_run(tmp_path / name, gaining(gain, gone), roles=EIGHT, questions=50)
        found[name] = tables(read_plan(folder), RecordFile(folder).read())
        assert found[name].valid
    (whole,), (gone,), (large,) = (found[name].planned for name in ("whole", "gone", "large"))
    assert (whole.found, whole.worst) == (True, whole.corrected.corrected)
    assert gone.corrected.significant
    assert (gone.found, gone.worst) == (False, 1.0)
    assert (large.found, large.worst) == (True, 2 / 2**8)
    report = report_of(tmp_path / "gone")
    assert "a difference is there, and would not be if what is missing were the worst for it" in report.splitlines()[2]
    assert "0.020* [" not in report


def test_a_question_that_all_methods_lack_is_left_out_by_a_record_that_the_report_names(
    run: Command, tmp_path: Path
) -> None:
    def refused(method: str, role: str, question: int) -> bool:
        return (role, question) in (("role-1", 7), ("role-2", 3)) and not (method == "vanilla" and role == "role-2")

    folder = made_run(tmp_path / "run", spread_over_roles, roles=EIGHT, questions=10, skip=refused)
    assert not tables(read_plan(folder), RecordFile(folder).read()).valid
    why = ("--because", "the server refuses it")
    for named, told in (
        ("role-1/Question 8?", "a method has it"),
        ("role-2/3", "a method has it"),
        ("role-1/none", "asks role-1 no such question"),
    ):
        code, _, err = run("report", str(folder), "--leave-out", named, *why)
        assert code != 0
        assert told in err
    code, _, err = run("report", str(folder), "--leave-out", "role-1/Question 7?")
    assert (code != 0, "Say why" in err) == (True, True)
    told = json.loads(run("report", str(folder), "--leave-out", "role-1/Question 7?", *why, "--json")[1])
    assert told["run"]["excluded"][0] == {
        "role": "role-1", "question": "7", "text": "Question 7?", "why": "the server refuses it"
    }  # fmt: skip
    assert not any("Question 7?" in one for one in told["problems"])
    assert {one["interval"]["n_values"] for one in told["rows"]} == {78, 79}
    line = "Left out of this report, as no method has it: “Question 7?” of role-1 (the server refuses it)."
    for path in written_report(folder):  # again, from the folder alone
        assert line in path.read_text("utf-8")
    assert read_plan(folder).excluded == ()


def test_the_report_of_several_runs_leaves_out_what_they_do_but_not_what_another_has(
    run: Command, tmp_path: Path
) -> None:
    def refused(_: str, role: str, question: int) -> bool:
        return (role, question) == ("role-1", 7)

    wishes = {"first": (EIGHT[:4], refused), "second": (EIGHT[4:], refused), "again": (EIGHT[:4], lambda *_: False)}
    folders = {
        name: str(made_run(tmp_path / name, spread_over_roles, roles=roles, questions=10, skip=skip))
        for name, (roles, skip) in wishes.items()
    }
    why = ("--because", "the server refuses it")
    assert run("report", folders["first"], "--leave-out", "role-1/7", *why)[0] == 0
    for names, number, left_out in (("first second", 79, ["7"]), ("first second again", 80, [])):
        several, out = [folders[name] for name in names.split()], tmp_path / "all"
        told = json.loads(run("report", *several, "--out", str(out), "--json")[1])
        assert not any("Question 7?" in one for one in told["problems"])
        assert {one["interval"]["n_values"] for one in told["rows"]} == {number}
        assert [one["question"] for one in told["run"]["excluded"]] == left_out
        for name in ("report.md", "report.html"):
            assert ("Left out of this report" in (out / name).read_text("utf-8")) == bool(left_out)


# One comparison is primary


def agreeing(method: str, role: str, question: int, judge: str) -> float:
    """Eight of eight roles gain by one method, by all metrics and judges; nearly alike, and not quite."""
    gain = {"a": 0, "b": 3, "c": 0}[method]
    return float(question < 4 + gain + (int(role[-1]) + len(judge)) % 2)


def test_what_holm_takes_from_eight_roles_is_found(tmp_path: Path) -> None:
    wishes = {"methods": ("a", "b", "c"), "metrics": ("accuracy", "memory", "personality"), "judges": ("A", "BB")}

    def value(method: str, role: str, question: int, judge: str) -> float:
        return 1 + agreeing(method, role, question, judge)

    def share(method: str, role: str, question: int, judge: str) -> float:
        return agreeing(method, role, question, judge)

    folder = made_run(tmp_path / "run", share, roles=EIGHT, questions=10, **{**wishes, "metrics": ("accuracy",)})
    found = tables(read_plan(folder), RecordFile(folder).read())
    assert [(one.first, one.judge, one.primary, one.found) for one in found.planned] == [
        ("b", "A", True, True),
        ("c", "A", True, False),
        ("b", "BB", False, True),
        ("c", "BB", False, False),
    ]
    folder = made_run(
        tmp_path / "more", value, roles=EIGHT, questions=10, **{**wishes, "metrics": wishes["metrics"][1:]}
    )
    found = tables(read_plan(folder), RecordFile(folder).read())
    assert {(one.first, one.found) for one in found.planned} == {("b", True), ("c", False)}
    assert min(one.p for one in found.planned if one.p is not None) * len(found.planned) > 0.05  # Holm's first step
    said = report_of(folder).splitlines()[2]
    assert "Of 6 other comparisons, corrected together, 3 differ: b is better by memory (BB), personality (A)," in said


def test_the_plan_names_a_primary_comparison_by_a_judge_or_the_mean_of_all(tmp_path: Path) -> None:
    wishes = {"methods": ("a", "b"), "judges": ("A", "BB"), "roles": EIGHT, "questions": 10}
    for primary, by in (("accuracy:BB", "BB"), ("accuracy:mean", "mean of A, BB")):
        folder = made_run(tmp_path / by, agreeing, primary=primary, **wishes)
        found = tables(read_plan(folder), RecordFile(folder).read())
        assert [one.judge for one in found.planned if one.primary] == [by]
        assert f"Primary comparison with a by accuracy (judged by {by}, over 8 roles): b is better" in report_of(folder)
    rows = {(one.judge, one.contestant): one.interval.mean for one in found.rows if one.interval}
    assert rows[by, "b"] == pytest.approx((rows["A", "b"] + rows["BB", "b"]) / 2)


def test_all_that_differs_is_said_without_a_word_of_others(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", agreeing, methods=("a", "b"), judges=("A", "BB"), roles=EIGHT, questions=10)
    report = report_of(folder)
    assert "The one other comparison differs: b is better by accuracy (BB)." in report.splitlines()[2]
    assert "no proof that there is none" not in report


def test_differences_stand_role_by_role(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", gain_in_two, roles=EIGHT, questions=30)
    (one,) = tables(read_plan(folder), RecordFile(folder).read()).planned
    assert one.by_role == {role: pytest.approx(11 / 30 if role in EIGHT[:2] else 0) for role in EIGHT}
    for text in (path.read_text("utf-8") for path in written_report(folder)):
        assert "Role by role" in text
    report = report_of(folder)
    assert "| role | accuracy, all, judge (primary), profile |" in report
    assert "| role-1 | 0.367 |\n| role-2 | 0.000 |" in report


# Length


def test_what_length_explains_is_said_beside_a_difference(tmp_path: Path) -> None:
    """A judge that says yes to what is longer, and a method that is longer: nothing is left at equal length."""

    def size(method: str, question: int) -> int:
        return (40 if method == "vanilla" else 80) + 20 * question

    def value(method: str, role: str, question: int, judge: str) -> float:
        return min(10.0, 1 + size(method, question) / 40 + int(role[-1]) / 20)

    wishes = {"roles": EIGHT, "questions": 10, "metrics": ("accuracy_level",)}
    folder = made_run(tmp_path / "run", value, text=lambda method, at: "x" * size(method, at), **wishes)
    (one,) = tables(read_plan(folder), RecordFile(folder).read()).planned
    assert one.found
    assert one.interval.mean == pytest.approx(1.0)
    assert one.equal_length is not None
    assert abs(one.equal_length.mean) < 0.5 * one.interval.mean
    report = report_of(folder)
    assert "## Length of replies" in report
    assert "| vanilla | 130 |" in report
    folder = made_run(tmp_path / "same", value, **wishes)
    (one,) = tables(read_plan(folder), RecordFile(folder).read()).planned
    assert one.equal_length is not None
    assert one.equal_length.mean == pytest.approx(one.interval.mean)


# On the scale (V3)


def test_equal_cosines_are_equal_though_rounded(tmp_path: Path) -> None:
    def value(method: str, role: str, question: int, judge: str) -> float:
        return 1.0 - 1.2e-7 * (question % 2)

    report = report_of(made_run(tmp_path / "run", value, metrics=("similarity",), judges=("minilm",)))
    assert "rests on little where all 3 questions have the same mean, so that each question counts as one" in report


@pytest.mark.parametrize(
    ("metric", "low", "high"), [("accuracy", 0.0, 1.0), ("accuracy_level", 1.0, 10.0), ("refusal", 0.0, 1.0)]
)
def test_intervals_stay_on_the_scale_and_equal_values_have_one(
    tmp_path: Path, metric: str, low: float, high: float
) -> None:
    def value(method: str, role: str, question: int, judge: str) -> float:
        return high if method == "profile" or role == "role-0" else low

    folder = made_run(tmp_path / "run", value, roles=EIGHT[:3], metrics=(metric,))
    found = re.findall(r"^\| (?:vanilla|profile) \|.*?\[(\S+), (\S+)\]", report_of(folder), re.MULTILINE)
    ends = [[float(one.replace("−", "-")) for one in pair] for pair in found]
    assert len(ends) >= 2  # also of the method whose values are equal
    assert all(low <= first <= second <= high for first, second in ends)


# What was not asked (V4)


def test_a_scope_without_a_question_is_not_asked_and_has_no_rows(tmp_path: Path) -> None:
    left_out = {"ada": {"out of scope": 2, "in scope, belief": 1}}
    more = {"metrics": ("refusal",), "left_out": left_out}
    report = report_of(made_run(tmp_path / "run", lambda *_: 0.0, scopes=("in",), **more))
    assert "Out of scope not asked: the plan has no such question." in report
    assert cells(report, "vanilla", "out of scope") == []
    assert "A limit left out: out of scope 2; in scope, belief 1." in report


# Records (V6)


@pytest.mark.parametrize(
    ("value", "told"),
    [("11.0", "accuracy_level goes from 1 to 10, and 11 is off that scale"), ("NaN", ""), ("-Infinity", "")],
)
def test_a_record_off_its_scale_is_named_by_its_line(tmp_path: Path, value: str, told: str) -> None:
    folder = made_run(tmp_path / "run", lambda *_: 5.0, metrics=("accuracy_level",))
    with (folder / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write(
            '{"kind": "judged", "key": "k", "reply": "vanilla-ada-0", "metric": "accuracy_level", "model": "judge", '
            f'"value": {value}}}\n'
        )
    with pytest.raises(RoleFileError, match=r"records.jsonl, line 13: ") as error:
        report_of(folder)
    assert told in str(error.value)


def test_a_record_on_its_scale_is_read(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", lambda *_: 10.0, metrics=("accuracy_level",))
    assert {one.value for one in RecordFile(folder).read().judged.values()} == {10.0}


# Costs


def test_costs_are_of_index_and_judges_too(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", gain_in_two)
    RecordFile(folder).add([Indexed(key="i", contestant="profile", role="ada", calls=4, tokens=600, seconds=1.0)])
    report = report_of(folder)
    assert cells(report, "profile", "3", "0") == [
        ["profile", "3", "0", "3", "300", "0.0", "1.0", "4", "600", "0", "30"]
    ]
    (line,) = cells(report, "profile", "1.5") or cells(report, "profile", "1.0")
    assert line[-1] == "310"  # (300 + 600 + 30) / 3


# Passages (V10)


def test_passages_are_counted_from_the_replies_of_any_run(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", gain_in_two, methods=("amadeus", "naive-rag", "vanilla"), roles=("ada", "bea"))
    given = {"amadeus": [["p1"], ["p1"], ["p2"]], "naive-rag": [["p1", "p2"], ["p1", "p3"], ["p1", "p4"]]}
    replies = []
    for one in RecordFile(folder).read().replies.values():
        if one.contestant in given:
            passages = [{"passage": name, "text": "?"} for name in given[one.contestant][int(one.question)]]
            evidence = {"knowledge": passages}
            if one.contestant == "amadeus":
                fell_back = "top-K" if (one.role, one.question) == ("bea", "2") else None
                evidence = {
                    "knowledge": [{"passage": "p9"}],
                    "selection": {"selected": passages, "fallback": fell_back},
                }
            replies.append(one.model_copy(update={"evidence": evidence}))
    indexed = [
        Indexed(key=f"{name}{role}", contestant=name, role=role, calls=0, tokens=0, seconds=0, passages=8)
        for name in given
        for role in ("ada", "bea")
    ]
    RecordFile(folder).add([*replies, *indexed])
    passages = report_of(folder).partition("## Passages")[2].partition("## Cost")[0]
    (selected,), (nearest,) = cells(passages, "amadeus", "6"), cells(passages, "naive-rag", "6")
    assert [one.partition(" ")[0] for one in selected[2:]] == ["0.250", selected[3], "0.167"]
    assert [one.partition(" ")[0] for one in nearest[2:]] == [
        "0.500", f"{chunk_duplication(given['naive-rag'], 8).gini:.3f}", ""
    ]  # fmt: skip
    assert cells(passages, "vanilla") == []
