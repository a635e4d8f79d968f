"""Riverbend: two candidates with a chronicle and a quiz, three townspeople, an office, and the scenario."""

import os
import re
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from dramaturg.nodes.identity.chronicle import triple_sentence
from dramaturg.stores.documents.forms import Chronicle, Triple
from dramaturg.stores.library import Library, examples

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
EXAMPLES = Path(__file__).parents[2] / "examples"
LIBRARY = Library(EXAMPLES)
CANDIDATES = ("alice", "bob")
OFFICE = "fire_watch"
PEOPLE = {"alice": 40, "bob": 41, "charlie": 28, "dorothy": 27, "ellen": 27}
"""The agents and how much each remembers: as much as in the released simulation, and more than comes back at once."""
SCENARIO = EXAMPLES / "scenarios" / "riverbend.yaml"
RUN = 8
"""So many words in a row, equal to those of a source, are copied."""


@pytest.fixture
def scenario() -> Any:
    return yaml.safe_load(SCENARIO.read_text(encoding="utf-8"))


def chronicle(role: str) -> Chronicle:
    return LIBRARY.role(role).chronicle()


def facts(role: str) -> set[tuple[str, str, str]]:
    return {(one.subject, one.relation, one.object) for one in chronicle(role).triples}


def core(role: str) -> list[Triple]:
    return [one for one in chronicle(role).triples if one.core]


@pytest.mark.parametrize("role", [*CANDIDATES, OFFICE])
def test_a_chronicle_reads_as_sentences(role: str) -> None:
    written = chronicle(role)
    for one in written.triples:
        line = triple_sentence(one, "en", written.sentences)
        assert re.fullmatch(r"[A-Z][^._]+\.", line), line


@pytest.mark.parametrize("role", CANDIDATES)
def test_a_candidate_is_known_in_every_kind_and_has_a_core(role: str) -> None:
    triples = chronicle(role).triples
    assert 16 <= len(triples) == len(facts(role)) <= 20
    assert {one.kind for one in triples} == {"belief", "trait", "value", "preference", "goal", "experience"}
    assert 5 <= len(core(role)) <= 7
    assert {one.subject for one in triples} == {LIBRARY.role(role).card.name}


def test_the_candidates_have_no_fact_in_common() -> None:
    apart = [{fact[1:] for fact in facts(role)} for role in CANDIDATES]
    assert apart[0] & apart[1] == set()


def test_an_office_is_rules_that_all_are_core() -> None:
    triples = chronicle(OFFICE).triples
    assert 6 <= len(triples) == len(facts(OFFICE)) <= 8
    assert core(OFFICE) == [*triples]
    assert {one.kind for one in triples} == {"rule"}
    assert {one.relation for one in triples} == {"must", "must_not"}
    assert {one.subject for one in triples} == {LIBRARY.role(OFFICE).card.name}


def test_the_quiz_is_one_and_everybody_answers_it_differently() -> None:
    quizzes = [LIBRARY.role(role).questions() for role in CANDIDATES]
    for quiz in quizzes:
        assert len({one.question for one in quiz}) == len(quiz) == 20
        assert all((one.scope, one.attribute) == ("in", "identity") for one in quiz)
        assert all(re.search(r"\b(I|me)\b", one.answer or "") for one in quiz)
    assert [one.question for one in quizzes[0]] == [one.question for one in quizzes[1]]
    assert len({one.answer for quiz in quizzes for one in quiz}) == 40


@pytest.mark.parametrize("role", PEOPLE)
def test_memories_are_short_weighed_and_end_on_the_eve_of_the_election(role: str) -> None:
    memories = LIBRARY.role(role).memories()
    days = [one.when or "" for one in memories]
    assert len({one.text for one in memories}) == len(memories) == PEOPLE[role]
    assert all(datetime.fromisoformat(day) < datetime(2024, 10, 1) for day in days)
    assert days == sorted(days)
    assert all(len((one.text or "").split()) <= 30 for one in memories)
    assert all((one.model_extra or {})["importance"] in range(1, 11) for one in memories)


def test_the_scenario_is_played_by_examples(scenario: Any) -> None:
    agents = scenario["agents"]
    assert [one["role"] for one in agents] == [*PEOPLE]
    assert {*PEOPLE, OFFICE} <= {*examples()}
    assert [one["role"] for one in agents if one.get("candidate")] == [*CANDIDATES]
    assert all(one["goal"] for one in agents)
    assert SCENARIO.parent.name not in examples()


def test_what_everybody_knows_is_short(scenario: Any) -> None:
    shared = scenario["shared"]
    assert 12 <= len(set(shared)) == len(shared) <= 18
    assert all(len(fact.split()) <= 20 and fact.endswith(".") for fact in shared)


def test_the_hours_of_the_day_fit_the_clock(scenario: Any) -> None:
    clock, polls = scenario["clock"], scenario["polls"]
    start = datetime.fromisoformat(clock["start"])
    hours = [start + timedelta(hours=clock["hours"]) * step for step in range(clock["steps"])]
    events = [datetime.fromisoformat(one["at"]) for one in scenario["events"]]
    opened, closed = (datetime.fromisoformat(polls[end]) for end in ("open", "close"))
    assert start.minute == 0
    assert {opened, closed, *events} <= {*hours}
    assert opened < closed
    assert events == sorted(set(events))


def runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
def test_no_sentence_is_the_papers_or_the_released_datas() -> None:
    data = Path(SHARED or "")
    sources = [data.parent / "papers" / "id_rag.txt", *(data / "humanai_agents").glob("*.json")]
    assert len(sources) > 1
    theirs = set(chain.from_iterable(runs(source.read_text(encoding="utf-8")) for source in sources))
    folders = [EXAMPLES / role for role in (*PEOPLE, OFFICE)]
    ours = [path for folder in (*folders, SCENARIO.parent) for path in folder.iterdir() if path.is_file()]
    for path in ours:
        assert runs(path.read_text(encoding="utf-8")) & theirs == set(), path
