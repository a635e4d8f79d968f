"""Conditions of a simulation compared: runs are the unit, and those of one scenario and seed are a pair."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from dramaturg.evaluation.metrics.intervals import POSITIVE, Interval, paired_interval
from dramaturg.evaluation.metrics.paired_tests import Corrected, PairedTest, holm, paired_test
from studies.simulation.curves import SCALES, Reading

ORDER = ("id-rag", "full", "baseline")
"""The last of those that there are is what the others are compared with."""
SEED = 0


class Contrast(NamedTuple):
    """A measure of one condition minus that of the baseline, over pairs of runs."""

    measure: str
    first: str
    second: str
    interval: Interval
    """Of the mean of steps that both runs of a pair have; of costs, what a step costs."""
    test: PairedTest
    corrected: Corrected | None
    """None where there is one pair, and so no test."""
    alone: tuple[str, ...]
    """What has no partner in the other condition, and is left out."""


def contrasts(readings: Mapping[str, Sequence[Reading]], order: Sequence[str] = ORDER) -> list[Contrast]:
    """Compare each condition with the baseline by each measure, corrected by Holm over all of them.

    Args:
        readings: what was observed, by measure.
        order: of the conditions; the last of those that there are is the baseline.

    Returns:
        Nothing where there is one condition, or no pair.
    """
    conditions = {one.condition for of in readings.values() for one in of}
    *others, baseline = [name for name in order if name in conditions] or [""]
    found = []
    for measure, of in readings.items():
        scale = SCALES.get(measure, POSITIVE)
        for first in others:
            sides = [steps_of((one for one in of if one.condition == name), scale) for name in (first, baseline)]
            both = {pair: steps.keys() & sides[1].get(pair, {}).keys() for pair, steps in sides[0].items()}
            ours, theirs = (
                {pair: [fmean(side[pair][step] for step in steps)] for pair, steps in both.items() if steps}
                for side in sides
            )
            if ours:
                alone = tuple(sorted((sides[0].keys() | sides[1].keys()) - ours.keys()))
                interval = paired_interval(ours, theirs, scale=scale, unit="pair")
                told = paired_test(ours, theirs, seed=SEED, unit="pair")
                found.append((measure, first, baseline, interval, told, alone))
    tested = {f"{at}": one[4].p for at, one in enumerate(found) if one[4].p is not None}
    fixed = holm(tested) if tested else {}
    return [Contrast(*one[:5], fixed.get(f"{at}"), one[5]) for at, one in enumerate(found)]


def steps_of(readings: Iterable[Reading], scale: tuple[float, float]) -> dict[str, dict[int, float]]:
    """The mean of each pair's runs and agents at each step."""
    values: dict[str, dict[int, list[float]]] = {}
    for one in readings:
        if one.value is not None:
            value = min(max(one.value, scale[0]), scale[1])
            values.setdefault(one.pair, {}).setdefault(one.step, []).append(value)
    return {pair: {step: fmean(of) for step, of in steps.items()} for pair, steps in values.items()}
