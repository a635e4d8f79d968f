"""The retrieval studies: their arithmetic on records made up here, their runs with a scripted model, their page."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.metrics.intervals import Interval, Share, wilson
from dramaturg.nodes.memories.index import memory_unit
from dramaturg.stores.documents.memories import read_memory_files
from dramaturg.stores.library import Library
from studies import (
    chunk_usage,
    clique_relevance,
    drmr_tokens,
    entity_merges,
    follow_ups,
    mood_congruence,
    scope_detection,
    splitters,
)
from studies.chunk_usage import Used
from studies.clique_relevance import Chosen
from studies.entity_merges import Compared, Merging
from studies.mood_congruence import Recalled
from studies.report import (
    BEGIN,
    END,
    STUDIES,
    Finished,
    as_record,
    calibration_plot,
    markdown,
    shown,
    studies_of,
    within,
)
from studies.scope_detection import Scoped
from studies.separation import separation
from studies.splitters import Retrieved
from studies.study import (
    Bench,
    MarkedRelation,
    StudyFindings,
    StudyTable,
    copy_roles,
    gold,
    spaced,
)

from fakes import ScriptedChatModel
from roles import LIFE, WordEmbeddings, fenced, said, small_role
from scope_roles import player

EXAMPLES = ("beethoven", "wukong", "silver")


def rows(table: StudyTable, *first: Any) -> list[tuple[Any, ...]]:
    return [row for row in table.rows if row[: len(first)] == first]


def table(found: StudyFindings, title: str) -> StudyTable:
    return next(one for one in found.tables if one.title.startswith(title))


# --- the marks


def test_the_marks_fit_the_example_roles() -> None:
    assert set(gold().aliases) == set(gold().relations) == set(gold().moods.memories) == set(EXAMPLES)
    for groups in gold().aliases.values():
        names = [one.name for group in groups for one in group]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("role", EXAMPLES)
def test_the_follow_up_questions_are_the_roles_own(role: str, tmp_path: Path) -> None:
    known = {one.question for one in splitters.answerable(Library(tmp_path).adopt(role))}
    assert {one.question for one in gold().follow_ups[role]} <= known


def test_follow_up_questions_are_compared_with_what_they_mean() -> None:
    ways = ((follow_ups.FULL, 1), (follow_ups.AS_ASKED, 4))
    found = follow_ups.findings([(way, retrieved("acts", role, rank)) for way, rank in ways for role in ("a", "b")])
    (recall,) = rows(table(found, "Follow-up"), "recall at 3")
    assert [recall[at].mean for at in (1, 2, 3)] == [1, 0, 1]


@pytest.mark.parametrize("role", EXAMPLES)
def test_the_scenes_and_users_that_are_marked_are_there(role: str, tmp_path: Path) -> None:
    lines = Library(tmp_path).adopt(role).dialogues()
    for relation in gold().relations[role]:
        assert relation.user in {one.speaker for one in lines}
        assert set(relation.bears) <= {one.scene for one in lines}


@pytest.mark.parametrize("role", EXAMPLES)
def test_each_mark_of_a_mood_fits_one_memory(role: str, tmp_path: Path) -> None:
    opened = Library(tmp_path).adopt(role)

    class Store:
        memories = memory_unit(read_memory_files(opened.memory_files), opened.card)

    found = mood_congruence.labels_of(role, Store())  # type: ignore[arg-type]
    assert len(found) == sum(map(len, gold().moods.memories[role].values()))


def test_a_mark_that_fits_two_memories_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Store:
        memories = ()

    with pytest.raises(ValueError, match="0 memories of silver begin with"):
        mood_congruence.labels_of("silver", Store())  # type: ignore[arg-type]


# --- areas under curves


def test_an_area_counts_pairs_in_order_and_ties_by_half() -> None:
    found = separation([0.9, 0.5], [0.5, 0.1])
    assert found is not None
    assert found.auc == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert found.low is not None
    assert found.high == 1.0


def test_an_area_without_a_fault_has_no_interval() -> None:
    found = separation([0.9, 0.8], [0.2, 0.1])
    assert found is not None
    assert (found.auc, found.low, found.high) == (1.0, None, None)
    assert separation([], [0.1]) is None


def test_delong_s_interval_is_that_of_the_textbook() -> None:
    yes, no = [0.8, 0.6, 0.7, 0.3], [0.5, 0.2, 0.4, 0.65]
    found = separation(yes, no)
    # V10 = 1, .75, 1, .25 and V01 = .75, 1, .75, .5, so the variance is (.125 + .041667) / 4
    assert found is not None
    assert found.auc == pytest.approx(0.75)
    assert found.low == pytest.approx(0.75 - 1.959964 * ((0.125 + 0.0416667) / 4) ** 0.5, abs=1e-5)


# --- splitters


def retrieved(splitter: Any, role: str, rank: int | None, scores: tuple[float, ...] = (0.5, 0.4, 0.3)) -> Retrieved:
    return Retrieved(splitter, role, "?", scores, rank, rank and 300 * rank, 1, 10, 0, 900, 0.5)


def test_recall_counts_ranks_up_to_k_and_is_shown_beside_chance() -> None:
    records = [
        retrieved(splitter, role, rank)
        for splitter in splitters.SPLITTERS
        for role in ("a", "b")
        for rank in (1, 4, None)
    ]
    found = splitters.findings(records)
    recall = {row[1]: row[2] for row in rows(table(found, "Answer recall"), "acts")}
    assert [recall[k].mean for k in (1, 3, 5)] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert rows(table(found, "Answer recall"), "acts", 3)[0][3] == pytest.approx(0.3)


def test_chance_is_that_of_drawing_without_putting_back() -> None:
    one = retrieved("acts", "a", 1)._replace(holding=2, passages=4)
    assert splitters.by_chance(one, 3) == pytest.approx(1.0)
    assert splitters.by_chance(one, 2) == pytest.approx(1 - 1 / 6)
    assert splitters.by_chance(one._replace(holding=0), 3) == 0.0


def test_similarities_are_shown_with_sums_and_differences() -> None:
    records = [
        retrieved(splitter, role, 1, (score, score, score + 0.3))
        for splitter, score in (("fixed", 0.1), ("ats", 0.2), ("acts", 0.3), ("acts-document", 0.4))
        for role in ("a", "b")
    ]
    found = splitters.findings(records)
    (acts,) = rows(table(found, "Similarity"), "acts")
    assert acts[1].mean == pytest.approx(0.4)
    assert acts[3] == pytest.approx(0.8)
    (gap,) = rows(table(found, "Differences"), "acts − fixed", "similarity")
    assert gap[2].mean == pytest.approx(0.2)


def test_words_of_an_answer_are_counted_once_and_chinese_by_characters() -> None:
    assert splitters.word_share("The lamp, the lamp and oil!", ["a lamp"]) == pytest.approx(1 / 4)
    assert splitters.word_share("扫地", ["地上"]) == pytest.approx(0.5)
    assert splitters.word_share("–", ["–"]) == 0.0


# --- use of passages


def used(question: str, nearest: tuple[str, ...], selected: tuple[str, ...] | None, role: str = "a") -> Used:
    return Used(role, question, 10, nearest, selected, 4)


def test_usage_is_that_of_what_was_given_with_the_fallback() -> None:
    records = [used("1", ("p", "q", "r"), ("s",)), used("2", ("p", "q", "t"), ())]
    found = chunk_usage.findings(records)
    (near,) = rows(table(found, "Use"), "nearest K", "a")
    assert near[3:5] == ("2 of 10", pytest.approx(0.2))
    (guided,) = rows(table(found, "Use"), "guided", "a")
    assert guided[3] == "4 of 10"
    failed = table(found, "Guided").rows[0][1]
    assert (failed.hits, failed.n) == (1, 2)


def test_a_language_that_nobody_judges_is_left_out_and_said() -> None:
    found = chunk_usage.findings([used("1", ("p", "q", "r"), ("s",)), used("1", ("p", "q", "r"), None, "zh")])
    assert not rows(table(found, "Use"), "guided", "zh")
    assert any(line.startswith("zh: no guided selection") for line in found.limits)


def test_selection_keeps_the_first_that_are_accepted() -> None:
    assert chunk_usage.selected("abcde", [False, True, True, True]) == ["b", "c"]


def test_usage_by_chance_grows_with_the_questions() -> None:
    assert chunk_usage.expected_usage([2, 2], 4) == pytest.approx(0.75)


def test_the_histogram_counts_passages_and_those_that_were_never_given() -> None:
    found = chunk_usage.findings([used("1", ("p", "q", "r"), ()), used("2", ("p", "q", "r"), ())])
    assert rows(table(found, "Passages"), "nearest K", "a")[0][2:] == (8, 0, 2, 0, 0, 0, 0)


# --- names


def test_no_more_names_are_compared_than_there_is_time_for() -> None:
    for groups in gold().aliases.values():
        names = sum(map(len, entity_merges.fewer(groups)))
        assert entity_merges.MOST - 2 <= names <= entity_merges.MOST


def merged(*pairs: tuple[str, str, float | None]) -> Merging:
    compared = tuple(Compared(*pair) for pair in pairs)
    return Merging(
        "a", ("Tom", "Thomas", "Jory", "Tom Penrose"), (("Tom", "Thomas"), ("Jory",), ("Tom Penrose",)), compared, 0.8
    )


def test_merges_are_scored_by_pairs_of_whole_groups() -> None:
    record = merged(("Tom", "Thomas", 0.9), ("Thomas", "Jory", 0.85), ("Tom", "Jory", None))
    score = entity_merges.scored(record, entity_merges.by_certainty(record, record.above))
    assert (score.hits, score.found, score.wanted) == (1, 3, 1)
    assert score.f1 == pytest.approx(0.5)
    best = entity_merges.scored(record, entity_merges.in_hindsight(record))
    assert best.f1 == 1.0


def test_a_pair_that_is_not_compared_cannot_be_found_by_any_judge() -> None:
    record = merged(("Tom", "Jory", 0.1))
    ceiling = entity_merges.scored(record, entity_merges.rightly(record))
    assert (ceiling.hits, ceiling.wanted) == (0, 1)


def test_an_answer_that_is_missing_is_counted() -> None:
    found = entity_merges.findings([merged(("Tom", "Thomas", None), ("Tom", "Jory", 0.2))])
    assert any("1 of 2 pairs had no answer" in line for line in found.how)


def test_names_look_alike_by_a_word_or_by_one_within_the_other() -> None:
    assert entity_merges.alike("joseph haydn", "haydn")
    assert not entity_merges.alike("karl", "carl")
    assert entity_merges.alike("老君", "太上老君")
    assert not entity_merges.alike("金角大王", "银角大王")


# --- scope


def scoped(known: bool, certainty: float | None, role: str = "a", *, judged: bool = True) -> Scoped:
    return Scoped(role, "?", known, 0.5, judged, certainty, 1, 0.4)


def test_rates_and_bins_leave_out_what_has_no_answer() -> None:
    records = [scoped(True, 0.9), scoped(True, 0.3), scoped(False, 0.1), scoped(False, None), scoped(True, 1.0)]
    found = scope_detection.findings(records)
    (rates,) = rows(table(found, "Rates"), "a")
    assert (rates[1].hits, rates[1].n, rates[2].hits, rates[2].n) == (1, 1, 1, 3)
    bins = [row[0] for row in table(found, "Calibration").rows[:-1]]
    assert bins == ["0 to 0.2", "0.2 to 0.4", "0.8 to 1"]
    assert found.calibration[-1][1].n == 2
    assert any("1 without an answer" in line for line in found.how)


@pytest.mark.parametrize("known", [True, False])
def test_where_all_questions_are_of_one_scope_the_other_rate_is_empty(known: bool) -> None:
    rates = table(scope_detection.findings([scoped(known, 0.1)]), "Rates")
    (over,) = rows(rates, "over roles")
    assert [one is None for one in over[1:]] == [known, not known]


def test_the_brier_score_stands_beside_its_floor() -> None:
    found = scope_detection.findings([scoped(True, 1.0), scoped(False, 0.0), scoped(True, 0.5), scoped(False, 0.5)])
    last = table(found, "Calibration").rows[-1]
    assert "0.250" in str(last[0])
    assert last[1] == pytest.approx(0.125)


def test_what_was_not_judged_counts_for_similarity_only() -> None:
    records = [scoped(True, 0.9), scoped(False, 0.2), scoped(True, None, judged=False)]
    areas = table(scope_detection.findings(records), "In scope")
    assert rows(areas, "P(known)", "a")[0][3:] == (1, 1)
    assert rows(areas, "similarity", "a")[0][3:] == (2, 1)


def test_questions_are_spaced_evenly() -> None:
    assert spaced(list("abcde"), 3) == ["a", "c", "e"]
    assert spaced([], 3) == []


# --- moods


def recalled(strategy: Any, right: float | None, mood: float, role: str = "a") -> Recalled:
    emotion = "" if right is None else "joy"
    chance = None if right is None else 0.125
    return Recalled(role, strategy, "?", emotion, mood, None, 0.5, 1.0, None, right, 0.4, None, chance)


def test_right_emotions_stand_beside_those_of_memories_at_random() -> None:
    records = [
        recalled(strategy, right, 0.1 if strategy == "C-A" else 0.3, role)
        for strategy in mood_congruence.WAYS
        for role in ("a", "b")
        for right in (1.0 if strategy == "C-A" else 0.5, None)
    ]
    found = mood_congruence.findings(records)
    right = table(found, "Right emotion")
    assert rows(right, "C-A")[0][1].mean == 1.0
    assert rows(right, "random")[0][1].mean == 0.125
    assert [row[0][:3] for row in table(found, "Against").rows] == ["C-A", "C-M", "S-S", "S-E"]
    gain = rows(table(found, "Against"), "C-A − semantic")[0]
    assert gain[1].mean == pytest.approx(0.5)
    assert gain[2].mean == pytest.approx(-0.2)
    assert gain[3] is None


# --- cliques


def chosen(with_clique: tuple[bool, ...], without: tuple[bool, ...], role: str = "a") -> Chosen:
    return Chosen(role, "Tom", "?", 3, 2, 1, with_clique, without, (True, False, False), (5.0,), (1.0,), False)


def test_shares_are_of_questions_and_differences_of_those_with_both() -> None:
    found = clique_relevance.findings([chosen((True, True), (True, False)), chosen((), (False,), "b")])
    bearing = table(found, "Dialogues that bear")
    assert rows(bearing, "on the clique's edges")[0][1].mean == 1.0
    assert rows(bearing, "the nearest")[0][1].mean == pytest.approx(0.25)
    assert rows(bearing, "clique − nearest")[0][1].mean == pytest.approx(0.5)
    assert any("2 scores were not available" in line for line in found.how)


# --- runs on a small role


def answers(messages: list[BaseMessage]) -> str:
    text = said(messages)
    if "<one>" in text:
        return "yes" if "Quill" in fenced("one", text) + fenced("other", text) else "no"
    if "<entity>" in text:
        return "no" if "television" in fenced("entity", text) else "yes"
    if "<pair>" in text:
        return "5" if "Tom" in fenced("pair", text) else "2"
    name = "television" if "television" in fenced("question", text) else "lamp"
    return json.dumps({"entities": [{"name": name, "type": "object"}]})


QUESTIONS = (
    {"question": "How often do you trim the lamp?", "answer": "She trims the lamp at dusk.", "scope": "in"},
    {"question": "Who brings your letters?", "answer": "Her brother Tom brings flour.", "scope": "in"},
    {"question": "What is on television?", "answer": None, "scope": "out"},
    {"question": "Do you own a television?", "answer": None, "scope": "out"},
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    small_role(tmp_path / "own", LIFE + LIFE.replace("# ", "## ") * 4)
    lines = "".join(json.dumps(one) + "\n" for one in QUESTIONS)
    (tmp_path / "own" / "ada" / "questions.jsonl").write_text(lines, encoding="utf-8")
    made = Bench(tmp_path / "studies", ("ada",), ScriptedChatModel(reply=answers), WordEmbeddings())
    copy_roles(made, Library(tmp_path / "own"))
    return made


def test_a_study_works_on_a_copy_that_follows_the_role(bench: Bench, tmp_path: Path) -> None:
    copy, own = bench.role("ada").root, tmp_path / "own" / "ada"
    assert copy != own
    (copy / "index").mkdir()
    (own / "persona" / "more.md").write_text("# More\n", encoding="utf-8")
    (own / "memories.jsonl").unlink()
    copy_roles(bench, Library(tmp_path / "own"))
    assert (copy / "persona" / "more.md").is_file()
    assert not (copy / "memories.jsonl").exists()
    assert (copy / "index").is_dir()
    assert not (own / "index").exists()


def test_an_example_is_copied_past_the_library(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "studies", ("silver", "jim"))
    copy_roles(bench, Library(tmp_path / "own"))
    assert bench.role("silver").card.name == "Long John Silver"
    assert bench.role("jim").memories()  # they are his story's
    assert not (tmp_path / "own").exists()


def test_splitters_are_run_on_all_questions_in_scope(bench: Bench) -> None:
    found = asyncio.run(splitters.records(bench))
    assert {(one.splitter, one.question) for one in found} == {
        (splitter, str(one["question"])) for splitter in splitters.SPLITTERS for one in QUESTIONS[:2]
    }
    acts = next(one for one in found if one.splitter == "acts" and "lamp" in one.question)
    assert acts.rank == 1
    assert acts.words > 0.5
    assert splitters.findings([*found, *(one._replace(role="b") for one in found)]).tables


def test_a_role_without_questions_to_look_up_is_named(bench: Bench) -> None:
    (bench.role("ada").root / "questions.jsonl").write_text(json.dumps(QUESTIONS[2]), encoding="utf-8")
    with pytest.raises(ValueError, match="'ada' has no answered questions in scope: write some"):
        asyncio.run(splitters.records(bench))


def test_passages_are_judged_and_the_search_ends_when_the_slots_are_full(bench: Bench) -> None:
    found = asyncio.run(
        chunk_usage.records(bench, lambda question, texts: [0.0 if "lamp" in one else -9.0 for one in texts])
    )
    assert [one.question for one in found] == [one["question"] for one in QUESTIONS[:2]]
    assert all(len(one.selected or ()) == chunk_usage.K for one in found)
    assert found[0].judged >= chunk_usage.K
    assert chunk_usage.findings(found).tables


def test_questions_are_as_known_as_their_least_known_entity(bench: Bench) -> None:
    found = asyncio.run(scope_detection.records(bench))
    assert {one.question: one.certainty for one in found} == {
        str(one["question"]): float(one["scope"] == "in") for one in QUESTIONS
    }
    areas = table(scope_detection.findings(found), "In scope")
    assert rows(areas, "P(known)", "ada")[0][2].auc == 1.0


def test_names_are_compared_with_their_neighbours_before_them(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    names = gold().aliases["silver"][:3]
    monkeypatch.setattr(entity_merges, "gold", lambda: gold()._replace(aliases={"ada": names}))
    (record,) = asyncio.run(entity_merges.records(bench))
    count = sum(map(len, names))
    assert len(record.pairs) == sum(min(at, entity_merges.NEIGHBOURS) for at in range(count))
    assert all(one.certainty == 0.0 for one in record.pairs)


def test_a_clique_is_chosen_among_what_comes_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = MarkedRelation(user="Tom", questions=("What is in the parcel?",), bears=("friday",))
    monkeypatch.setattr(clique_relevance, "gold", lambda: gold()._replace(relations={"ada": (relation,)}))
    (record,) = asyncio.run(clique_relevance.records(bench))
    assert record.with_clique == (True,)
    assert record.weight_with == (5.0,)
    assert record.without == (True, False)
    assert record.weight_without == (5.0, 1.0)
    assert not record.same


def test_tokens_of_a_talk_are_told_apart_by_module(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = MarkedRelation(user="Tom", questions=("What is in the parcel?",), bears=("friday",))
    monkeypatch.setattr(drmr_tokens, "gold", lambda: gold()._replace(relations={"ada": (relation,)}))
    told = replace(bench, chat_model=player(), settings={"turns": 3})
    assert drmr_tokens.cost(told).counts["turns"] == 3
    found = asyncio.run(drmr_tokens.records(told))
    assert [(one.role, one.turn) for one in found] == [("ada", 1), ("ada", 2), ("ada", 3)]
    assert all(one.response > 0 and one.revision > 0 for one in found)
    assert found[0].construction > found[2].construction
    shares, talks = drmr_tokens.findings(found).tables
    assert [row[0] for row in shares.rows] == ["1", "2 to 3"]
    for row in shares.rows:
        assert sum(cell.mean for cell in row[2:] if isinstance(cell, Interval)) == pytest.approx(1)
    plain, related, ratio = talks.rows
    assert [row[0] for row in talks.rows] == ["RoleGPT", "DRMR", "ratio"]
    assert (plain[2:], related[2:], ratio[2:]) == ((24_000, 62_000), (46_000, 86_000), (1.92, 1.39))
    of_all = sum(one.construction + one.response + one.revision for one in found)
    of_plain = sum(one.baseline for one in found)
    means = [cell.mean for cell in (plain[1], related[1], ratio[1]) if isinstance(cell, Interval)]
    assert means == pytest.approx([of_plain, of_all, of_all / of_plain])
    assert 0 < of_plain < of_all


def test_what_follows_a_check_is_revision() -> None:
    def step(node: str, tokens: int) -> dict[str, Any]:
        return {node: {"usage": {node: {"prompt_tokens": tokens, "completion_tokens": 0}}}}

    nodes = ("score_edges", "build_memory", "draft", "verify", "build_memory", "draft", "verify")
    after = {"speak": None}, step("condense_memory", 1000), step("summarize", 2000)
    spent = drmr_tokens.spent_by([*(step(node, 2**at) for at, node in enumerate(nodes)), *after])
    assert spent == {"construction": 1 + 2 + 1000, "response": 4 + 2000, "revision": 8 + 16 + 32 + 64}


def test_memories_are_recalled_by_every_strategy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    moods = gold().moods.model_copy(
        update={"memories": {"ada": {"joy": ("The lamp burned",), "sadness": ("They drowned",)}}}
    )
    monkeypatch.setattr(mood_congruence, "gold", lambda: gold()._replace(moods=moods))
    found = asyncio.run(mood_congruence.records(bench))
    asked = 2 + sum(map(len, moods.questions["en"].values()))
    assert len(found) == asked * len(mood_congruence.WAYS)
    assert {one.right for one in found if one.emotion == "joy"} == {0.5}
    assert mood_congruence.findings(found).tables


# --- the page


def finished(mean: float = 0.5) -> Finished:
    bins = ((0.1, wilson(1, 4)), (0.9, wilson(3, 4)))
    interval = Interval(mean, 0.25, None, 3, 12, 0.95, "t", "")
    shape = StudyTable("Numbers", ("of", "value"), (("a", interval), ("b", wilson(1, 4)), ("c", None), ("d | e", -0.5)))
    return Finished(STUDIES["splitters"], StudyFindings((shape,), ("So.",), ("Nothing.",), bins), 61.0)


def test_numbers_are_shown_with_what_they_rest_on() -> None:
    found = markdown([finished()], ["ada"], "page_calibration.svg")
    assert "| a | 0.500 none (3 roles, n = 12) |" in found
    assert "| b | 0.250 [0.046, 0.699] (1 of 4) |" in found
    assert "| d \\| e | −0.500 |" in found
    assert "- Nothing." in found
    assert "](page_calibration.svg)" in found


def test_a_program_gets_numbers_in_full() -> None:
    record = json.loads(json.dumps(as_record(finished(1 / 3))))
    (value,) = [one["value"] for one in record["tables"][0]["rows"][0] if one["column"] == "value"]
    assert value["mean"] == 1 / 3


def test_a_run_replaces_what_stands_between_its_lines() -> None:
    page = within("", "first")
    assert page.startswith("# ")
    again = within(f"before\n\n{page}\nafter\n", "second")
    assert "first" not in again
    assert again.startswith("before")
    assert again.endswith("after\n")
    with pytest.raises(ValueError, match="lacks the lines"):
        within("a page of somebody else", "found")
    assert BEGIN in page < END or END in page


def test_the_plot_shows_each_bin_and_is_the_same_twice() -> None:
    bins = ((0.1, wilson(1, 4)), (0.9, wilson(3, 4)))
    first = calibration_plot(bins)
    assert first == calibration_plot(bins)
    assert b"1 of 4" in first
    assert first.startswith(b"<?xml")


def test_studies_are_had_by_their_names() -> None:
    dear = ("drmr-tokens", "riverbend", "memory", "quotations")
    assert [one.name for one in studies_of([])] == [name for name in STUDIES if name not in dear]
    assert [one.name for one in studies_of(["chunk-usage", "chunk-usage"])] == ["chunk-usage"]
    with pytest.raises(ValueError, match="splitters"):
        studies_of(["spliters"])


def test_shares_and_areas_are_shown_with_their_intervals() -> None:
    assert shown(Share(0.5, 0.1, 0.9, 1, 2, 0.95, None, "Wilson")) == "0.500 [0.100, 0.900] (1 of 2)"
    assert shown(separation([0.9, 0.8], [0.1])) == "1.000 no interval"
