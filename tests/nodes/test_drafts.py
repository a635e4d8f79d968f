"""One list of drafts: checkers take turns on it, each with verdicts and a bound of its own."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from dramaturg.nodes import drafts
from dramaturg.nodes.drafts import Draft, DraftState, Verdict, drafts_of, ended, may_be_spoken, next_step, revise, speak
from dramaturg.nodes.run import MissingInput, RoleContext
from dramaturg.testing import ScriptedChatModel, write_role


@pytest.fixture
def library(tmp_path: Path) -> Path:
    write_role(tmp_path)
    return tmp_path


ASKED = HumanMessage("Who are you?", id="turn")


def verdict(outcome: Any = "allow", score: float | None = None, bound: int = 1, above: float = 4) -> Verdict:
    limit = None if score is None else above
    return drafts.verdict(outcome, score=score, above=limit, bound=bound, reason=f"{outcome}!")


def draft(text: str = "I.", *, checkers: tuple[str, ...] = ("gate", "verifier"), **verdicts: Verdict) -> Draft:
    return {"turn": "turn", "id": text, "text": text, "error": "", "checkers": [*checkers], "verdicts": verdicts}


def state(*drafts: Any) -> DraftState:
    return {"messages": [ASKED], "drafts": [*drafts]}  # type: ignore[typeddict-item]


REVISE, BLOCK, ALLOW = verdict("revise"), verdict("block"), verdict()
LOW, HIGH = verdict(score=2), verdict(score=5)


@pytest.mark.parametrize(
    ("drafts", "step"),
    [
        ([draft()], "gate"),
        ([draft(gate=ALLOW)], "verifier"),
        ([draft(gate=REVISE)], "revise"),
        ([draft(gate=ALLOW, verifier=LOW)], "revise"),
        ([draft(gate=ALLOW, verifier=HIGH)], "settled"),
        ([draft(gate=BLOCK)], "blocked"),
        ([draft(gate=ALLOW, verifier=LOW), draft(gate=BLOCK)], "settled"),  # the one before may be spoken
        ([draft(gate=REVISE), draft(gate=REVISE)], "blocked"),  # no revision of the gate is left
        ([draft(gate=REVISE), draft(gate=ALLOW, verifier=LOW)], "revise"),  # the verifier has not asked for one yet
        ([draft(gate=ALLOW, verifier=LOW), draft(gate=REVISE)], "revise"),  # nor the gate
        ([draft(gate=ALLOW, verifier=LOW), draft(gate=ALLOW, verifier=LOW)], "settled"),
        ([draft(checkers=())], "settled"),
        ([draft(checkers=("mine", "gate"))], "mine"),
        ([draft(checkers=("mine", "gate"), mine=ALLOW)], "gate"),
        ([draft(checkers=("verifier", "gate"), verifier=LOW)], "gate"),  # all see it, unless one forbids it
        ([draft(gate=ALLOW, verifier=LOW), draft("")], "settled"),  # a revision that gave nothing
        ([], "settled"),
    ],
)
def test_who_comes_next(drafts: list[Draft], step: str) -> None:
    assert next_step(state(*drafts)) == step


def test_without_a_draft_it_is_said_who_writes_one() -> None:
    with pytest.raises(MissingInput, match="next_step reads 'drafts', which is not in the state: a node that drafts"):
        next_step({"messages": [ASKED]})  # type: ignore[typeddict-item]


@given(
    some.lists(
        some.tuples(some.sampled_from(["allow", "revise", "block"]), some.sampled_from([1.0, 3.0, 5.0])),
        min_size=1,
        max_size=6,
    ),
    some.integers(0, 3),
    some.integers(0, 3),
)
def test_it_ends_and_neither_counts_the_revisions_of_the_other(
    script: list[tuple[str, float]], gate: int, verifier: int
) -> None:
    """Whatever checkers say, each asks for as many revisions as it may, and what is spoken was allowed by both."""
    drafts: list[Draft] = []
    for outcome, score in script * 10:
        drafts.append(draft(str(len(drafts))))
        while (step := next_step(state(*drafts))) in ("gate", "verifier"):
            given = verdict(outcome, bound=gate) if step == "gate" else verdict(score=score, bound=verifier)
            drafts[-1]["verdicts"][step] = given
        if step != "revise":
            break
    asked = {name: [one["verdicts"].get(name) for one in drafts[:-1]] for name in ("gate", "verifier")}
    assert sum(one is not None and one["outcome"] == "revise" for one in asked["gate"]) <= gate
    assert sum(one is not None and (one["score"] or 5) <= 4 for one in asked["verifier"]) <= verifier
    assert step == ("settled" if any(map(may_be_spoken, drafts)) else "blocked")
    assert all(len(one["verdicts"]) == 2 for one in drafts if may_be_spoken(one))


async def test_of_drafts_that_nobody_forbids_the_best_is_spoken_and_of_equals_the_last(library: Path) -> None:
    runtime = Runtime(context=RoleContext(role="ada", library=str(library), chat_model=ScriptedChatModel()))

    async def spoken(*found: Draft) -> str:
        return str((await speak(state(*found), runtime))["messages"][0].text)

    good, better = draft("Good.", gate=ALLOW, verifier=LOW), draft("Better.", gate=ALLOW, verifier=HIGH)
    assert await spoken(good, better, draft("Forbidden.", gate=BLOCK, verifier=HIGH)) == "Better."
    assert await spoken(better, good) == "Better."
    assert await spoken(good, draft("Last.", gate=ALLOW, verifier=LOW)) == "Last."
    with pytest.raises(ValueError, match="all are blocked: lead the outcome 'blocked'"):
        await spoken(draft(gate=BLOCK))
    with pytest.raises(ValueError, match="there is none: a node that drafts comes before"):
        await spoken()


def test_evidence_of_each_checker_under_its_name() -> None:
    drafts = [draft("A.", gate=REVISE), draft("B.", gate=ALLOW, verifier=LOW), draft("C.", gate=ALLOW, verifier=HIGH)]
    evidence = ended(drafts, AIMessage("C."), 2)["evidence"]
    assert [one["verdict"] for one in evidence["gate"]["attempts"]] == ["revise", "allow", "allow"]
    assert evidence["gate"]["outcome"] == "allow"
    assert evidence["verification"] == {"passed": True, "spoken": 2, "revisions": 1, "alpha": 4}
    assert [one["score"] for one in evidence["drafts"]] == [None, 2, 5]
    mine = [draft("A.", checkers=("mine",), mine=LOW), draft("B.", checkers=("mine",), mine=HIGH)]
    assert ended(mine, AIMessage("B."), 1)["evidence"]["mine"]["attempts"] == [
        {"text": "A.", "verdict": "revise", "reason": "allow!", "error": "", "score": 2},
        {"text": "B.", "verdict": "allow", "reason": "allow!", "error": "", "score": 5},
    ]


async def test_a_revision_says_why_also_where_nobody_wants_one() -> None:
    events: list[Any] = []
    runtime = Runtime(context=None, stream_writer=events.append)
    await revise(state(draft(gate=ALLOW, verifier=LOW)), runtime)
    await revise(state(draft(gate=ALLOW)), runtime)  # a person leads there in Studio
    assert [one["reason"] for one in events] == ["allow!", ""]


def test_drafts_of_an_earlier_version_are_read() -> None:
    verified = {"turn": "turn", "id": "a", "text": "A.", "score": 3.0, "alpha": 4.0, "reason": "no", "error": ""}
    gated = {"turn": "turn", "id": "b", "text": "B.", "verdict": None}
    held = {"verdict": "revise", "triple": None, "reason": "no", "probability": 0.9, "error": ""}
    other = {**verified, "turn": "another"}
    assert next_step(state(verified)) == "revise"
    assert next_step(state({**verified, "score": None})) == "verifier"
    assert next_step(state(gated)) == "gate"
    assert next_step(state({**gated, "verdict": held})) == "revise"
    assert [one["text"] for one in drafts_of(state(other, gated))] == ["B."]
