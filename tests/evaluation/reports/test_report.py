"""The numbers of an evaluation, its report and its page: what they say, and what they do not hide."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.judging.measures import shown_texts
from dramaturg.evaluation.judging.scales import SIMILARITY
from dramaturg.evaluation.metrics.intervals import COSINE, cluster_interval
from dramaturg.evaluation.reports.numbers import scale_ends
from dramaturg.evaluation.reports.page import written_report
from dramaturg.evaluation.reports.tables import tables
from dramaturg.models.errors import UnusableAnswer

from evaluations import RIGHT, evaluation_of, judge, library_of, speaker, taken

pytestmark = pytest.mark.sample_of_file(4)

ROLES = tuple(f"ada{number}" for number in range(12))


def by_method(good: str) -> Any:
    """A speaker who is right for one method, which it knows by its prompt, and wrong for the others."""
    return speaker(lambda text: RIGHT if ("A keeper of few words" in text) == (good == "profile") else "Who knows?")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return library_of(tmp_path / "library")


async def reported(library: Path, model: Any = None, marker: Any = None, **wishes: Any) -> tuple[Any, str, str]:
    """Run and report; the tables, the Markdown and the page."""
    evaluation = evaluation_of(library, model, marker, **wishes)
    await taken(evaluation)
    markdown, page = (path.read_text(encoding="utf-8") for path in written_report(evaluation.folder))
    return tables(evaluation.plan, RecordFile(evaluation.folder).read()), markdown, page


# Oracles


@pytest.mark.crash
async def test_a_method_that_is_always_right_has_all_and_one_that_never_is_has_nothing(tmp_path: Path) -> None:
    library = library_of(tmp_path / "library", *ROLES)
    found, _, _ = await reported(library, by_method("profile"), roles=ROLES, metrics=("accuracy", "accuracy_level"))
    means = {
        (one.metric, one.contestant): (one.interval.mean, one.interval.n, one.not_applicable) for one in found.rows
    }
    assert means == {
        ("accuracy", "vanilla"): (0.0, 12, 12),
        ("accuracy", "profile"): (1.0, 12, 12),
        ("accuracy_level", "vanilla"): (2.0, 12, 12),
        ("accuracy_level", "profile"): (9.0, 12, 12),
    }
    apart = {one.metric: one for one in found.differences}
    assert apart["accuracy"].interval.mean == 1.0  # the method minus the baseline
    assert {one.p for one in found.differences} == {2 * 0.5**12}  # twelve roles, however many questions they have
    assert all(one.found and one.corrected.n == 1 for one in found.differences)
    assert [one.primary for one in found.differences] == [True, False]
    assert apart["accuracy"].corrected.corrected == pytest.approx(2 * 0.5**12)


async def test_methods_that_say_the_same_do_not_differ(library: Path) -> None:
    found, _, _ = await reported(library, metrics=("accuracy", SIMILARITY))
    assert {(one.interval.mean, one.p, one.corrected.significant) for one in found.differences} == {(0.0, 1.0, False)}
    assert all(one.detectable is None for one in found.differences)


async def test_refusals_count_by_scope(library: Path) -> None:
    marker = (judge(lambda reply: "knows" in reply),)
    found, markdown, _ = await reported(library, by_method("profile"), marker, metrics=("refusal",))
    means = {(one.contestant, one.scope): (one.interval.mean, one.interval.n_values) for one in found.rows}
    assert means == {
        ("vanilla", "in"): (1.0, 2),
        ("vanilla", "out"): (1.0, 1),
        ("profile", "in"): (0.0, 2),
        ("profile", "out"): (0.0, 1),
    }
    assert "vanilla by judge: 0.333; profile by judge: 0.667" in markdown


# What is missing


async def test_what_is_missing_is_counted_bounded_and_makes_a_run_invalid(library: Path) -> None:
    def unsure(reply: str) -> bool | Exception:
        return UnusableAnswer("Hm.") if "Tom" in reply else False

    found, markdown, page = await reported(library, by_method("profile"), (judge(unsure),))
    rows = {one.contestant: one for one in found.rows}
    assert (rows["vanilla"].missing.missing, rows["vanilla"].missing.valid) == (0, True)
    assert rows["profile"].interval is None
    assert rows["profile"].missing[:6] == (None, 0.0, 1.0, 1.0, 2, 2)
    assert not found.valid
    assert found.differences == ()
    for text in (markdown, page):
        assert "This run is incomplete" in text


async def test_what_was_not_asked_yet_is_missing(library: Path) -> None:
    evaluation = evaluation_of(library, metrics=(SIMILARITY,))
    records = await taken(evaluation)
    one = next(iter(records.replies))
    kept = records._replace(replies={key: reply for key, reply in records.replies.items() if key != one})
    kept = kept._replace(judged={key: mark for key, mark in records.judged.items() if mark.reply != one})
    found = tables(evaluation.plan, kept)
    assert sum(row.missing.missing for row in found.rows) == 1
    assert not found.valid


def test_a_report_of_nothing_says_so(tmp_path: Path) -> None:
    library = library_of(tmp_path / "library")
    evaluation = evaluation_of(library)
    evaluation.folder.mkdir()
    (evaluation.folder / "plan.json").write_text(evaluation.plan.model_dump_json(), encoding="utf-8")
    markdown, page = (path.read_text(encoding="utf-8") for path in written_report(evaluation.folder))
    assert "Nothing was measured yet." in markdown
    assert "Not asked yet." in page


# What is said


async def test_a_report_needs_no_model_and_is_the_same_again(library: Path) -> None:
    await reported(library)
    folder = library.parent / "run"
    first = {path: path.read_bytes() for path in written_report(folder)}
    assert first == {path: path.read_bytes() for path in written_report(folder)}


async def test_the_page_holds_what_was_said_of_each_reply(library: Path) -> None:
    _, _, page = await reported(library, metrics=("accuracy",))
    replies = page.split("<h2>Replies</h2>")[1].split("<details")[1:]
    judged = [one for one in replies if "Right answer:" in one]
    assert judged
    assert all("<p>accuracy: " in one for one in judged)


async def test_the_report_says_what_numbers_rest_on(library: Path) -> None:
    _, markdown, _ = await reported(library, metrics=("accuracy", SIMILARITY))
    for text in (
        "Speaker: scripted. Judges: judge.",
        "There is one role",
        "AMADEUS, Evaluation Protocols, Table 6: ACC. Prompt ",
        "Intervals: Clopper–Pearson over questions.",
        "| vanilla | 3 | 0 | 3 |",
        "p is corrected within the 1 primary comparison and the 1 other comparison",
    ):
        assert text in markdown


async def test_a_judge_of_its_own_words_is_named(library: Path) -> None:
    model = speaker()
    _, markdown, _ = await reported(library, model, (model,), metrics=(SIMILARITY,))
    assert "is a judge of what it has said" not in markdown  # nobody was asked
    assert "Judges:" not in markdown
    again = library_of(library.parent / "elsewhere" / "library")
    _, markdown, _ = await reported(again, model, (model,), metrics=("accuracy",))
    assert "scripted spoke, and is a judge of what it has said" in markdown


async def test_two_judges_are_compared(library: Path) -> None:
    markers = (judge(lambda reply: "Tom" in reply), judge(lambda reply: "Tom" in reply, "other"))
    _, markdown, _ = await reported(library, by_method("profile"), markers)
    assert (
        "accuracy: judge and other agree with Krippendorff's alpha 1.000 and Cohen's kappa 1.000 (n = 4)." in markdown
    )
    markers = (judge(lambda reply: True), judge(lambda reply: True, "other"))
    _, markdown, _ = await reported(library_of(library.parent / "elsewhere" / "library"), None, markers)
    assert "no agreement of judge and other can be computed" in markdown


class Links(HTMLParser):
    """The ids of a page and what its links lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.leads: list[str] = []
        self.elsewhere: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name == "href" and tag == "a":
                self.leads.append(str(value))
            if name in ("src", "href") and not str(value).startswith(("#", "data:image/svg+xml;base64,")):
                self.elsewhere.append(str(value))


async def test_every_number_leads_to_the_replies_behind_it(library: Path) -> None:
    found, _, page = await reported(library, metrics=("accuracy", "refusal", SIMILARITY))
    links = Links()
    links.feed(page)
    numbers, replies = ([one for one in links.ids if one.startswith(start)] for start in ("n-", "r"))
    assert (len(links.ids), len(numbers), len(replies)) == (len({*links.ids}), len(found.rows), 6)
    assert {one.removeprefix("#") for one in links.leads} >= {*numbers, *replies}
    assert {one.removeprefix("#") for one in links.leads} <= {*links.ids}
    assert links.elsewhere == []
    assert page.count("<img") == 3 + 1  # a metric each, and what the first one costs


async def test_what_was_said_is_text_in_the_page(library: Path) -> None:
    evil = "<script>alert(1)</script>Tom & the light $x"
    _, _, page = await reported(library, speaker(lambda text: evil))
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;Tom &amp; the light $x" in page


async def test_attributes_have_a_table_and_no_radar(tmp_path: Path) -> None:
    library = library_of(tmp_path / "library")
    lines = [{"question": f"{at}?", "answer": "Tom.", "scope": "in", "attribute": f"kind_{at}"} for at in range(3)]
    (library / "ada" / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    _, _, page = await reported(library)
    assert "<th scope=col>kind 0</th>" in page
    assert "1.000 (1)" in page


def test_a_picture_shows_the_whole_scale() -> None:
    above, below = (cluster_interval({"a": [value], "b": [value]}, scale=COSINE) for value in (0.99, -0.2))
    assert scale_ends("accuracy", [above]) == (0, 1)
    assert scale_ends("accuracy_level", []) == (1, 10)
    assert scale_ends(SIMILARITY, []) == (0, 1)
    assert scale_ends(SIMILARITY, [above, below]) == (below.low, 1)


def test_texts_of_the_evidence_are_found_wherever_they_stand() -> None:
    evidence = {
        "knowledge": [{"text": "A", "score": 1}, {"text": " "}],
        "specific": [{"description": "B", "statements": [{"text": "C"}], "relation": {"description": "D"}}],
        "identity": {"triples": [{"sentence": "E"}]},
        "memories": [{"text": "A"}],
        "mood": {"text": "not shown"},
    }
    assert shown_texts(evidence) == ("A", "B", "C", "D", "E")


async def test_a_plan_of_more_seeds_pairs_them_by_question(library: Path) -> None:
    found, _, _ = await reported(library, by_method("profile"), seeds=(0, 1, 2))
    (apart,) = found.differences
    assert apart.test.startswith("Student's t over 2 questions")  # no more pairs than with one seed
    assert (apart.interval.n, apart.interval.n_values) == (2, 6)


async def test_the_plan_of_the_report_is_that_of_the_run(library: Path) -> None:
    await reported(library)
    assert re.fullmatch(r"\d+\.\d+.*", read_plan(library.parent / "run").dramaturg)
