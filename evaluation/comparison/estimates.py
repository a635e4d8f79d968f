"""What an evaluation will cost, before it does: by what was measured in it so far, else by a guess that says so."""

from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import NamedTuple

from dramaturg.evaluation.comparison.records import Records, Reply
from dramaturg.evaluation.comparison.run import Evaluation, unanswered, unmeasured
from dramaturg.evaluation.judging.measures import SIMILARITY

GUESS = (3.0, 3000.0, 30.0)
"""Calls, tokens and seconds of a reply while nothing is known: methods differ widely."""
JUDGED = (2.0, 1000.0, 10.0)
"""The same of a judgement."""
GUESSED = "a rough guess: --limit 1 measures it"


class Estimate(NamedTuple):
    """What is left of one kind of work, and what it costs."""

    what: str
    left: int
    done: int
    calls: float
    tokens: float
    seconds: float
    basis: str
    """What the numbers are taken from."""


def estimated(evaluation: Evaluation, known: Records) -> list[Estimate]:
    """Return what is left to be asked of each contestant, and by each metric."""
    left = [one.contestant.name for one in unanswered(evaluation.asked, known).values()]
    found = [of_contestant(name, left.count(name), known) for name in evaluation.plan.methods]
    return [*found, *of_metrics(evaluation, known, len(left))]


def of_contestant(name: str, left: int, known: Records) -> Estimate:
    """The replies of one contestant."""
    had = [one for one in known.replies.values() if one.contestant == name and not one.error]
    each = mean_of(had) if had else GUESS
    basis = f"{len(had)} replies of this run" if had else GUESSED
    return priced(f"replies of {name}", left, len(had), each, basis)


def of_metrics(evaluation: Evaluation, known: Records, unsaid: int) -> Iterator[Estimate]:
    """What measures are left; of replies that are not there yet, each is measured once a judge."""
    waiting = [one.metric for one in unmeasured(evaluation, known).values()]
    judges = max(len(evaluation.plan.judges), 1)
    for metric in evaluation.plan.metrics:
        had = [one for one in known.judged.values() if one.metric == metric and one.value is not None]
        left = waiting.count(metric) + unsaid * (1 if metric == SIMILARITY else judges)
        if metric == SIMILARITY:
            yield priced(metric, left, len(had), (0.0, 0.0, 0.0), "no model is asked")
        else:
            yield priced(metric, left, len(had), JUDGED, GUESSED)


def priced(what: str, left: int, done: int, each: tuple[float, float, float], basis: str) -> Estimate:
    """An estimate by what one costs."""
    calls, tokens, seconds = (left * one for one in each)
    return Estimate(what, left, done, calls, tokens, seconds, basis)


def mean_of(had: Iterable[Reply]) -> tuple[float, float, float]:
    """What a reply has cost."""
    known = list(had)
    return fmean(one.calls for one in known), fmean(one.tokens for one in known), fmean(one.seconds for one in known)
