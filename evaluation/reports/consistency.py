"""How far scores of interviews differ: of an item or a dimension, by batch, judging or seed (InCharacter)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dramaturg.evaluation.instruments.instrument import Instrument
from dramaturg.evaluation.interviews.scores import value_of
from dramaturg.evaluation.interviews.state import InterviewOutput, Judgement
from dramaturg.evaluation.metrics.reliability import Consistency, dim_consistency, item_consistency, robustness

MEASURES: Mapping[str, str] = {
    "items, over repeats": "an item's scores from judging to judging (item consistency)",
    "items, over seeds": "an item's scores from interview to interview",
    "dimensions, over batches": "a dimension's scores from batch to batch (dimension consistency)",
    "dimensions, over repeats": "a dimension's scores from judging to judging (robustness)",
    "dimensions, over seeds": "a dimension's scores from interview to interview",
}
"""Each is a mean standard deviation (of a population) as a share of the scale's span: 0 where all is the same."""


class Steadiness(NamedTuple):
    """How far one kind of score differs in the interviews of one method by one inventory."""

    inventory: str
    method: str
    judging: str
    measure: str
    roles: int
    interviews: int
    groups: int
    """Over how many groups of two scores or more the mean is; 0: there are none."""
    value: float | None


def steadiness(
    outputs: Iterable[InterviewOutput], inventory_of: Callable[[InterviewOutput], Instrument]
) -> list[Steadiness]:
    """Return how steady interviews are, by inventory, method and way of judging.

    Args:
        outputs: interviews that are over.
        inventory_of: how the inventory of one is had.
    """
    groups: dict[tuple[str, str, str], list[InterviewOutput]] = {}
    for one in outputs:
        about = one["about"]
        groups.setdefault((about["instrument"], str(about["method"]), about["judging"]), []).append(one)
    found = []
    for (name, method, judging), of in groups.items():
        instrument = inventory_of(of[0])
        low, high = instrument.range
        for measure, (scores, mean) in measured(instrument, of).items():
            several = [one for one in scores if len(one) > 1]
            got = mean(several, low=low, high=high) if several else None
            roles = len({one["about"]["role"] for one in of})
            value, number = (got.value, got.n) if got else (None, 0)
            found.append(Steadiness(name, method, judging, measure, roles, len(of), number, value))
    return found


def measured(
    instrument: Instrument, outputs: Sequence[InterviewOutput]
) -> dict[str, tuple[list[list[float]], Callable[..., Consistency]]]:
    """The groups of scores that each measure is over, and the measure."""
    repeats, seeds = list[list[float]](), dict[tuple[str, ...], list[float]]()
    batches, judgings, interviews = list[list[float]](), list[list[float]](), dict[tuple[str, ...], list[float]]()
    for output in outputs:
        who = settings_of(output["about"])
        for item, scores in of_items(instrument, output).items():
            repeats.append(scores)
            seeds.setdefault((*who, item), []).append(scores[0])
        for dimension, result in output["scores"].items():
            if output["about"]["judging"] == "expert_rating":  # else a batch is an item
                batches += result["batches"]
            judgings.append([one for one in result["repeats"] if one is not None])
            if result["score"] is not None:
                interviews.setdefault((*who, dimension), []).append(result["score"])
    return {
        "items, over repeats": (repeats, item_consistency),
        "items, over seeds": ([*seeds.values()], item_consistency),
        "dimensions, over batches": (batches, dim_consistency),
        "dimensions, over repeats": (judgings, robustness),
        "dimensions, over seeds": ([*interviews.values()], robustness),
    }


def of_items(instrument: Instrument, output: InterviewOutput) -> dict[str, list[float]]:
    """The scores of items that were judged one by one, a score a repeat; nothing where batches were."""
    about, found = output["about"], dict[str, list[float]]()
    if about["judging"] == "expert_rating":
        return found
    judged: list[Judgement] = sorted(output["judgements"], key=lambda one: one["repeat"])
    for one in judged:
        if (value := value_of(instrument, one, about["judging"], about["refusals"])) is not None:
            found.setdefault(one["items"][0], []).append(value)
    return found


def settings_of(about: Mapping[str, Any]) -> tuple[str, ...]:
    """All by which an interview is told from others but its seed."""
    return tuple(f"{name}={about[name]}" for name in sorted(about) if name != "model_seed")
