"""The study of Riverbend, played by a script: each condition changes what it says, and what was asked is kept."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.conversations.simulation import open_simulation
from dramaturg.evaluation.metrics.intervals import Interval
from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.documents.scenario import read_scenario
from dramaturg.stores.library import Library, open_role
from dramaturg.workflows import riverbend as town
from studies import riverbend
from studies.filler import MOST_FILLER, away_from, grown
from studies.report import STUDIES, Finished, as_record, markdown, studies_of
from studies.riverbend import CONDITIONS, STUDY, Observed
from studies.simulation.curves import Reading
from studies.study import Bench, copy_roles

from fakes import ScriptedChatModel
from measured_runs import EXAMINED, asked_for, examined_townspeople
from roles import WordEmbeddings, fenced
from townspeople import BY_ALICE, asked, of_kind

pytestmark = pytest.mark.sample_of_file(6)

WANTED = {"high_priority": ["profession"], "medium_priority": ["values", "believes", "supports"], "keywords": []}
CHANGE = {
    "evidence": "She walked.",
    "relation": "likes",
    "object": "walking",
    "kind": "preference",
    "salience": 9,
    "confidence": 0.9,
    "replaces": 0,
}


def population() -> ScriptedChatModel:
    """All parts, played and measured; Alice and Bob find that they like walking."""
    return examined_townspeople(query_identity=json.dumps(WANTED), reflect_identity=json.dumps({"findings": [CHANGE]}))


async def play(context: Any, log: Path, show: Callable[[Any], None]) -> None:
    async with open_simulation(town.build(), context, log) as run:
        await run.play(show)


def bench_in(folder: Path, model: Any = None, **settings: Any) -> Bench:
    """A bench with the agents of Riverbend, whose day is an hour long unless it is said."""
    told = {"hours": 1, "seeds": 1, "measures": "alignment", **settings}
    bench = Bench(folder / "studies", STUDY.roles, model or population(), WordEmbeddings(), settings=told, play=play)
    copy_roles(bench, Library(folder / "none"))
    for role in ("alice", "bob"):  # a short quiz
        path = bench.role(role).root / "questions.jsonl"
        path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
    return bench


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[Any], ScriptedChatModel]]:
    """An hour under each condition, with grown chronicles and a gate: what was logged, and the model that played."""
    bench = bench_in(tmp_path_factory.mktemp("rows"), conditions=",".join(CONDITIONS), triples=200, gate=True)
    found = {}
    for run in riverbend.prepared(bench)[0]:
        context = run.context.model_copy(update={"chat_model": (model := population())})
        output: Any = asyncio.run(town.graph.ainvoke({}, context=context))
        found[run.condition] = (output["log"], model)
    return found


def looked_up(log: Sequence[Any]) -> list[Any]:
    """What Alice's identity was made of."""
    (found,) = [one["identity"] for one in of_kind(log, "context") if one["agent"] == "alice"]
    return [(one["subject"], one["relation"]) for one in found["triples"]]


def how(log: Sequence[Any]) -> set[str]:
    return {one["identity"]["how"] for one in of_kind(log, "context") if one["agent"] in ("alice", "bob")}


# Each condition changes what it says


def test_the_complete_condition_has_all_parts(rows: Any) -> None:
    log, model = rows["complete"]
    assert how(log) == {"strategy"}
    assert len(asked(model, "make_plan")) == 5
    assert {one["agent"] for one in of_kind(log, "change")} == {"alice", "bob"}


@pytest.mark.parametrize(("name", "hops"), [("complete", 2), ("hops-1", 1), ("hops-0", 0)])
def test_hops_are_as_many_as_the_condition_says(rows: Any, name: str, hops: int) -> None:
    near, far = away_from("an urban planner", 1)
    found = looked_up(rows[name][0])
    assert ("Alice", "profession") in found
    assert [(one.subject, one.relation) in found for one in (near, far)] == [hops >= 1, hops >= 2]


@pytest.mark.crash
def test_fewer_triples_are_found_where_fewer_are_wanted(rows: Any) -> None:
    direct = {
        name: [one for one in looked_up(rows[name][0]) if one[1] in ("profession", "values", "believes", "supports")]
        for name in ("complete", "triples-4")
    }
    assert (len(direct["complete"]), direct["triples-4"]) == (8, direct["complete"][:4])


def test_the_released_rule_leaves_medium_out_where_three_of_high_were_found(rows: Any) -> None:
    direct = {"profession", "values", "believes", "supports"}
    found = {name: {of for _, of in looked_up(rows[name][0])} & direct for name in ("complete", "released-rule")}
    assert found["released-rule"] == {"profession"}
    assert found["complete"] > {"profession"}


def test_by_similarity_no_query_is_asked_for(rows: Any) -> None:
    log, model = rows["by-similarity"]
    assert how(log) == {"similarity"}
    assert (len(asked(model, "query_identity")), len(asked(rows["complete"][1], "query_identity"))) == (0, 2)


def test_without_retrieval_the_gate_sees_no_triple_that_was_looked_up(rows: Any, tmp_path: Path) -> None:
    core = sum(one.core for one in open_role("alice", tmp_path).chronicle().triples)
    assert how(rows["no-retrieval"][0]) == {"inferred"}
    assert looked_up(rows["no-retrieval"][0]) == []
    seen = {
        name: [call.text for call in asked(rows[name][1], "weigh_action") if fenced("line", call.text) == BY_ALICE]
        for name in ("complete", "no-retrieval")
    }
    lines = {name: fenced("statements", text).splitlines() for name, (text,) in seen.items()}
    assert len(lines["no-retrieval"]) == core < len(lines["complete"])


def test_without_update_nobody_changes(rows: Any) -> None:
    log, model = rows["no-update"]
    assert of_kind(log, "change") == asked(model, "reflect_identity") == []


def test_without_a_plan_nobody_plans(rows: Any) -> None:
    assert asked(rows["no-plan"][1], "make_plan") == []
    for name in ("complete", "no-plan"):
        shown = {bool(fenced("plan", one["situation"])) for one in of_kind(rows[name][0], "context")}
        assert shown == {name == "complete"}


def test_the_whole_chronicle_is_all_that_it_was_grown_to(rows: Any, tmp_path: Path) -> None:
    own = open_role("alice", tmp_path).chronicle().triples
    assert how(rows["whole-chronicle"][0]) == {"all"}
    assert len(looked_up(rows["whole-chronicle"][0])) == 200 + len(own)


def test_each_condition_differs_from_the_complete_one_in_one_setting() -> None:
    for name, (_, settings) in CONDITIONS.items():
        assert len(settings) == (name != riverbend.COMPLETE)
        assert all(riverbend.PARTS[key] != value for key, value in settings.items())


# Chronicles that have grown


def test_a_chronicle_grows_by_other_matters_among_its_own(tmp_path: Path) -> None:
    own = open_role("alice", tmp_path).chronicle().triples
    longer = grown(own, MOST_FILLER)
    assert len({(one.subject, one.relation, one.object) for one in longer}) == len(own) + MOST_FILLER
    assert [one for one in longer if one in own] == [*own]
    assert longer[: len(own)] != [*own]
    others = [one for one in longer if one not in own]
    assert {one.subject for one in others} & {"Alice", "Bob"} == set()
    assert 0.1 < sum(one.relation in {mine.relation for mine in own} for one in others) / MOST_FILLER < 0.15
    assert grown(own, 10) == grown(own, 10)
    assert not any(one.core for one in others)


def test_only_those_grow_who_have_a_chronicle_and_the_library_stays(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, triples=50)
    before = {role: bench.library.contents(role) for role in STUDY.roles}
    runs, plain = riverbend.prepared(bench)
    grown_to = Library(Path(runs[0].context.library))  # type: ignore[arg-type]
    sizes = {role: [len(of.role(role).chronicle().triples) for of in (plain, grown_to)] for role in STUDY.roles}
    assert [after - own for own, after in sizes.values()] == [50, 50, 0, 0, 0]
    assert {role: plain.contents(role) for role in STUDY.roles} == before


def test_the_agents_are_those_of_the_scenario() -> None:
    assert [one.role for one in read_scenario("riverbend").agents] == [*STUDY.roles]


# Played, measured, kept


def test_a_study_is_played_measured_and_said(tmp_path: Path) -> None:
    told = {"conditions": "no-plan", "seeds": 2, "hours": 2, "measures": "recall,alignment", "triples": 20}
    bench = bench_in(tmp_path, **told)
    found = STUDY.findings(asyncio.run(STUDY.records(bench)))
    means, compared, halves = found.tables
    assert [row[0] for row in means.rows] == [row[0] for row in halves.rows] == ["complete", "no-plan"]
    assert all(cell.n == 2 for row in means.rows for cell in row[1:])  # type: ignore[union-attr]
    at = means.columns.index("alignment")
    assert [row[at].mean for row in means.rows] == [7, 7]  # type: ignore[union-attr]
    calls = means.columns.index("calls")
    assert means.rows[0][calls].mean - means.rows[1][calls].mean == 5  # type: ignore[union-attr]
    assert [row[3:] for row in compared.rows] == [(None, None)] * 5  # two pairs: no test
    assert "0 answers did not come" in " ".join(found.how)
    page = markdown([Finished(STUDY, found, 1.0)], STUDY.roles)
    assert "(2 runs, n = " in page
    assert "(2 pairs, n = " in page
    json.dumps(as_record(Finished(STUDY, found, 1.0)))


def test_a_judge_sees_the_own_triples_and_a_lookup_those_of_the_grown_chronicle(tmp_path: Path) -> None:
    model = population()
    bench = bench_in(tmp_path, model, triples=200, conditions="complete", measures="recall_with_retrieval,alignment")
    asyncio.run(STUDY.records(bench))
    judged, quizzed = (asked_for(model, name) for name in ("why_aligned", "answer_quiz"))
    assert (len(judged), len(quizzed)) == (2, 4)
    assert not any("town archive" in text for text in judged)
    assert all("town archive" in text for text in quizzed)


def test_a_study_that_was_stopped_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    whole = population()
    told = {"conditions": "complete", "measures": "recall,alignment"}
    wanted = asyncio.run(STUDY.records(bench_in(tmp_path / "whole", whole, **told)))
    asked_in_all = 0
    for number in (10, 30, 10**6):
        model, left = population(), [number]
        reply = model.reply

        def breaks(messages: list[BaseMessage], left: list[int] = left, reply: Any = reply) -> Any:
            left[0] -= 1
            return reply(messages) if left[0] >= 0 else ModelUnavailable("gone")

        bench = bench_in(tmp_path / "stopped", ScriptedChatModel(reply=breaks), **told)
        try:
            found = asyncio.run(STUDY.records(bench))
        except ModelUnavailable:
            asked_in_all += number
        else:
            asked_in_all += len(bench.chat_model.calls)  # type: ignore[union-attr]
    assert timeless_values(found) == timeless_values(wanted)
    assert asked_in_all < 1.5 * len(whole.calls)
    again = bench_in(tmp_path / "stopped", model := population(), **told)
    assert timeless_values(asyncio.run(STUDY.records(again))) == timeless_values(wanted)
    assert model.calls == []


def timeless_values(records: Sequence[Observed]) -> list[tuple[Any, ...]]:
    """What was observed, without what differs from run to run."""
    return [
        (one.measure, one.reading.condition, one.reading.agent, one.reading.step, one.reading.value, one.reading.pair)
        for one in records
        if one.measure != "seconds"
    ]


@pytest.mark.parametrize(
    "changed", [{"triples": 5}, {"gate": True}, {"hours": 2}, {"role": "bob"}], ids=lambda one: next(iter(one))
)
def test_what_a_run_rests_on_makes_it_another_run(tmp_path: Path, changed: dict[str, Any]) -> None:
    bench = bench_in(tmp_path)
    logs = {one.log for one in riverbend.prepared(bench)[0]}
    if role := changed.get("role"):
        (bench.role(role).root / "memories.jsonl").write_text("", encoding="utf-8")
    else:
        bench = replace(bench, settings={**bench.settings, **changed})
    assert not logs & {one.log for one in riverbend.prepared(bench)[0]}


# What it costs


def test_the_cost_is_the_most_that_is_asked_and_what_is_kept_costs_nothing(tmp_path: Path) -> None:
    model = population()
    told = {"conditions": "no-plan,no-retrieval", "measures": "recall,recall_with_retrieval,alignment"}
    bench = bench_in(tmp_path, model, **told)
    before = riverbend.cost(bench).counts
    assert model.calls == []
    asyncio.run(STUDY.records(bench))
    measures = sum(len(asked_for(model, name)) for name in EXAMINED)
    # Two conditions look up anew for two questions of Alice and two of Bob: a question more for each.
    assert before["questions_of_measures"] == measures + 2 * 4
    assert len(model.calls) <= before["questions"] < 1.5 * len(model.calls)  # type: ignore[operator]
    after = riverbend.cost(bench).counts
    assert (after["questions"], after["runs"], after["runs_over"]) == (0, 3, 3)


def test_a_plan_says_what_it_can_show(tmp_path: Path) -> None:
    lines = riverbend.cost(bench_in(tmp_path, seeds=5)).lines
    assert "With 5 pairs there is no test: take 6 seeds or more for one." in lines
    few = riverbend.cost(bench_in(tmp_path, seeds=6, conditions="no-plan,hops-0"))
    assert (few.counts["tests"], few.counts["smallest_p"], few.counts["smallest_p_corrected"]) == (2, 2**-5, 2**-4)
    assert few.counts["seeds_needed"] == 7
    assert any("before 7 seeds" in line for line in few.lines)
    enough = riverbend.cost(bench_in(tmp_path, seeds=7, conditions="no-plan,hops-0"))
    assert not any("No difference" in line for line in enough.lines)


# Numbers


def observed(condition: str, seed: int, value: float | None, *, step: int = 1, measure: str = "recall") -> Observed:
    reading = Reading(condition, f"{condition}-{seed}", "alice", step, value, value is None, f"seed {seed}")
    return Observed(measure, reading, 0)


def study_of(values: dict[str, Sequence[float | None]], *more: Observed) -> Any:
    recall = [observed(name, seed, value) for name, of in values.items() for seed, value in enumerate(of)]
    costs = [
        observed(name, seed, 10.0, measure=cost)
        for name, of in values.items()
        for seed in range(len(of))
        for cost in riverbend.COSTS
    ]
    return STUDY.findings([*recall, *more, *costs])


def compared(found: Any) -> dict[tuple[str, str], tuple[Any, ...]]:
    return {row[:2]: row[2:] for row in found.tables[1].rows}


def test_from_six_pairs_on_differences_are_tested_and_corrected_among_themselves() -> None:
    complete = [0.5, 0.6, 0.7, 0.4, 0.5, 0.6]
    less = {"hops-0": [one - 0.1 - at / 100 for at, one in enumerate(complete)], "no-plan": complete[::-1]}
    rows = compared(study_of({"complete": complete, **less}))
    gap, p, corrected = rows["recall", "hops-0"]
    assert (gap.mean, gap.n, p, corrected) == (pytest.approx(-0.125), 6, 2**-5, 2 * 2**-5)
    assert rows["recall", "no-plan"][2] == 1
    assert rows["calls", "hops-0"][1:] == (None, None)


def test_five_pairs_have_an_interval_and_no_p() -> None:
    complete = [0.5, 0.6, 0.7, 0.4, 0.5]
    gap, p, corrected = compared(study_of({"complete": complete, "hops-0": [0.1, 0.2, 0.1, 0.3, 0.2]}))[
        "recall", "hops-0"
    ]
    assert isinstance(gap, Interval)
    assert gap.high is not None
    assert (gap.high < 0, p, corrected) == (True, None, None)


def test_a_pair_is_a_seed_and_whoever_has_none_is_left_out() -> None:
    rows = compared(study_of({"complete": [0.5, 0.9], "hops-0": [0.4, None]}))
    assert (rows["recall", "hops-0"][0].mean, rows["recall", "hops-0"][0].n) == (pytest.approx(-0.1), 1)


def test_the_complete_condition_alone_has_nothing_to_be_compared_with() -> None:
    found = study_of({"complete": [0.5, 0.9]})
    assert [len(one.rows) for one in found.tables] == [1, 0]
    assert "complete" in markdown([Finished(STUDY, found, 1.0)], STUDY.roles)


def test_missing_answers_are_said() -> None:
    assert "1 answers did not come" in " ".join(study_of({"complete": [0.5, 0.9], "hops-0": [0.4, None]}).how)


def test_the_day_is_halved_without_the_hour_between() -> None:
    day = [observed("complete", 0, value, step=step) for step, value in enumerate((0.1, 0.1, 0.5, 0.3, 0.5), start=1)]
    assert riverbend.later([one.reading for one in day], "complete", "recall", 5).mean == pytest.approx(0.3)  # type: ignore[union-attr]


# The study among others


def test_it_is_made_only_where_it_is_named() -> None:
    assert STUDY not in studies_of([])
    assert studies_of(["riverbend"]) == [STUDY]
    assert [name for name, one in STUDIES.items() if one.cost] == ["drmr-tokens", "riverbend", "memory", "quotations"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"conditions": "no-hops"}, "there is no condition 'no-hops'"), ({"triples": MOST_FILLER + 1}, "triples")],
)
def test_what_is_not_there_is_refused(tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        STUDY.check(Bench(tmp_path, (), settings=settings, play=play))
