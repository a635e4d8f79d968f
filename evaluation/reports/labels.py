"""How far interviews agree with what is right: InCharacter's measures and AMADEUS's, each beside floor and ceiling."""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.interviews import Inventory
from dramaturg.evaluation.comparison.labels import NOBODY_COULD_TELL, KnownLabels
from dramaturg.evaluation.datasets.dataset import Label
from dramaturg.evaluation.metrics.alignment import Alignment, Floors, alignment, ceiling, floors
from dramaturg.evaluation.metrics.intervals import Interval, cluster_interval, paired_interval
from dramaturg.evaluation.metrics.paired_tests import LEVEL, Corrected, paired_test
from dramaturg.evaluation.metrics.type_metrics import majority_type, type_accuracy, type_f1
from dramaturg.evaluation.reports.differences import SEED, exact_test

VOTES = "pdb"
"""Whose scores are right where several judged: InCharacter's votes; without them, those of whoever comes first."""
TYPES = "types"
RoleScores = Mapping[str, Mapping[str, float]]
"""Values by role and dimension."""
Placed = Mapping[str, Mapping[str, Label]]
"""Labels by role and dimension."""


class LabelAgreement(NamedTuple):
    """How well the roles of one method agree with labels, by one measure."""

    inventory: str
    labels: str
    """Whose: who judged, or `types`."""
    contestant: str
    measure: str
    value: float
    n: int
    """How many dimensions, or roles where it is about whole types."""
    hits: int | None
    """None where the measure is no share."""
    floors: Mapping[str, float]
    """What is had without knowing the role, by how."""
    ceiling: float | None
    """How far a second group of annotators agrees with the labels; none if there is none."""
    interval: Interval | None
    """None where the measure is no mean."""
    left_out: int
    """Dimensions with a label that the interviews have no score for: they are in no number."""


class Truth(NamedTuple):
    """The labels of one inventory: scores by one judge, or types."""

    inventory: Inventory
    name: str
    placed: Placed
    """Without scores where types are labelled."""
    annotators: Placed
    """What a second group says; nothing if there is none."""


Measured = tuple[str, float, int, int | None, Mapping[str, float], float | None, RoleScores]
"""The name, value, n, hits, floors and ceiling of a measure, and the values of which it is the mean, if it is one."""


class Apart(NamedTuple):
    """The hits of two methods on the same roles and dimensions, the first minus the second."""

    inventory: str
    labels: str
    first: str
    second: str
    interval: Interval
    p: float | None
    test: str
    corrected: Corrected | None
    detectable: float | None
    """The smallest difference that would be found 80 times of 100; None where none would."""


def truths_of(inventory: Inventory, known: Mapping[str, KnownLabels]) -> Iterator[Truth]:
    """What the labels of roles say by an inventory: scores, types, or both."""
    judges = sorted({by: None for one in known.values() for by in one.scores}, key=lambda by: by != VOTES)
    groups = [{role: one.scores[by] for role, one in known.items() if by in one.scores} for by in judges]
    if groups:
        yield Truth(inventory, judges[0], groups[0], groups[1] if groups[1:] else {})
    types: dict[str, dict[str, Label]] = {}
    for role, one in known.items():
        for letter, dimension in zip(one.type, inventory.dimensions, strict=True) if one.type else ():
            pole: Any = {dimension.high: "H", dimension.low: "L"}.get(letter, NOBODY_COULD_TELL)
            types.setdefault(role, {})[dimension.name] = Label(score=None, type=pole)
    if types:
        yield Truth(inventory, TYPES, types, {})


def counted(truth: Truth, scores: RoleScores) -> Placed:
    """The labels that scores can be held against: of a pole, and with a score."""
    found = {
        role: {name: one for name, one in of.items() if one.type != NOBODY_COULD_TELL and name in scores.get(role, {})}
        for role, of in truth.placed.items()
    }
    return {role: of for role, of in found.items() if of}


def decided(of: Mapping[str, Label]) -> int:
    """How many dimensions of a role have a label that counts."""
    return sum(one.type != NOBODY_COULD_TELL for one in of.values())


def whole(truth: Truth, labels: Placed) -> Placed:
    """The roles of which no dimension is left out: only they can be right as a whole, or not."""
    return {role: of for role, of in labels.items() if len(of) == decided(truth.placed[role])}


def hits_of(truth: Truth, labels: Placed, scores: RoleScores) -> RoleScores:
    """By role and dimension, 1 where a score is on the side of the label, and 0 where it is not."""
    middle = truth.inventory.midpoint
    return {
        role: {name: float((scores[role][name] > middle) == (one.type == "H")) for name, one in of.items()}
        for role, of in labels.items()
    }


def agreements_of(truth: Truth, contestant: str, scores: RoleScores) -> Iterator[LabelAgreement]:
    """All measures of a method against labels; none where there is nothing to compare."""
    labels = counted(truth, scores)
    left_out = sum(map(decided, truth.placed.values())) - sum(map(len, labels.values()))
    measures = type_measures if truth.name == TYPES else score_measures
    for one in measures(truth, labels, scores) if labels else ():
        # Each value weighs alike: over roles, or of a single role over its dimensions.
        interval = cluster_interval(clusters(values), pooled=True, unit=unit(values)) if (values := one[6]) else None
        yield LabelAgreement(truth.inventory.metric, truth.name, contestant, *one[:6], interval, left_out)


def clusters(values: RoleScores) -> dict[str, list[float]]:
    """Values by role, or of a single role by dimension."""
    if len(values) > 1:
        return {role: [*of.values()] for role, of in values.items()}
    return {name: [value] for of in values.values() for name, value in of.items()}


def unit(values: RoleScores) -> str:
    """What intervals and tests are over."""
    return "role" if len(values) > 1 else "dimension"


def score_measures(truth: Truth, labels: Placed, scores: RoleScores) -> Iterator[Measured]:
    """Acc(Dim), Acc(Full), MSE and MAE of InCharacter; Acc(Full) of the roles without a dimension that is left out."""
    found, top, least = compared(truth, labels, scores)
    n, hits = found.n_dimensions, hits_of(truth, labels, scores)
    span = truth.inventory.high - truth.inventory.low
    errors = {
        role: {name: abs(scores[role][name] - one.score) / span for name, one in of.items() if one.score is not None}
        for role, of in labels.items()
    }
    squares = {role: {name: one**2 for name, one in of.items()} for role, of in errors.items()}
    majority = floor_of(labels, majority=least.majority_acc_dim)
    yield ("Acc(Dim)", found.acc_dim, n, found.hits, majority, top and top.acc_dim, hits)
    if full := whole(truth, labels):
        of_full, top_full, floor = compared(truth, full, scores)
        right, majority = all_right(hits_of(truth, full, scores)), floor_of(full, majority=floor.majority_acc_full)
        best = top_full and top_full.acc_full
        yield ("Acc(Full)", of_full.acc_full, of_full.n_roles, of_full.full_hits, majority, best, right)
    of_mse = floor_of(labels, constant=least.constant_mse) | {"midpoint": least.midpoint_mse}
    yield ("MSE", found.mse, n, None, of_mse, top and top.mse, squares)
    of_mae = floor_of(labels, constant=least.constant_mae) | {"midpoint": least.midpoint_mae}
    yield ("MAE", found.mae, n, None, of_mae, top and top.mae, errors)


def floor_of(labels: Placed, **found: float) -> dict[str, float]:
    """What labels give without knowing the role; of one role they are its own, and no floor."""
    return found if len(labels) > 1 else {}


def compared(truth: Truth, labels: Placed, scores: RoleScores) -> tuple[Alignment, Alignment | None, Floors]:
    """Scores held against the labels that count; the ceiling of a second group, of the roles it has scored; floors."""
    scale: Any = {"low": truth.inventory.low, "high": truth.inventory.high}
    predictions = {role: {name: scores[role][name] for name in of} for role, of in labels.items()}
    known = {
        role: of
        for role, of in labels.items()
        if all((one := truth.annotators.get(role, {}).get(name)) and one.score is not None for name in of)
    }
    said = {role: {name: truth.annotators[role][name] for name in of} for role, of in known.items()}
    return (
        alignment(predictions, written(labels), **scale),
        ceiling(written(known), written(said), **scale) if known else None,
        floors(written(labels), **scale),
    )


def written(labels: Placed) -> dict[str, dict[str, dict[str, Any]]]:
    """Labels as the metrics take them."""
    return {role: {name: one.model_dump() for name, one in of.items()} for role, of in labels.items()}


def all_right(hits: RoleScores) -> RoleScores:
    """By role, 1 where all is a hit."""
    return {role: {"type": float(all(of.values()))} for role, of in hits.items()}


def type_measures(truth: Truth, labels: Placed, scores: RoleScores) -> Iterator[Measured]:
    """Accuracy and F1 of AMADEUS, Tables 4 and 5, position by position; letters that do not count are in neither."""
    hits, middle = hits_of(truth, labels, scores), truth.inventory.midpoint
    columns = []  # of each dimension, role by role: the right letters, those of the scores, and the most frequent one
    for one in truth.inventory.dimensions:
        roles, letters = [role for role, of in labels.items() if one.name in of], {"H": one.high, "L": one.low}
        right = [letters[labels[role][one.name].type] for role in roles]
        said = [letters["H" if scores[role][one.name] > middle else "L"] for role in roles]
        if roles:
            columns.append((right, said, [majority_type(right)] * len(right)))
    right, said, common = ([letter for column in columns for letter in column[at]] for at in range(3))
    n, got = len(right), type_accuracy(right, said)
    floor = floor_of(labels, majority=type_accuracy(right, common))
    yield ("type accuracy", got, n, round(got * n), floor, None, hits)
    if full := whole(truth, labels):
        values = all_right({role: hits[role] for role in full})
        matched = sum(int(of["type"]) for of in values.values())
        floor = floor_of(full, majority=majority_full(full))
        yield ("whole type", matched / len(full), len(full), matched, floor, None, values)
    least = fmean(type_f1(right, common) for right, _, common in columns)
    found = fmean(type_f1(right, said) for right, said, _ in columns)
    yield ("F1", found, n, None, floor_of(labels, majority=least), None, {})


def majority_full(labels: Placed) -> float:
    """The share of roles that have the most frequent side of every dimension."""
    names = {name for of in labels.values() for name in of}
    most = {name: majority_type([of[name].type for of in labels.values() if name in of]) for name in names}
    return fmean(all(one.type == most[name] for name, one in of.items()) for of in labels.values())


def differences_of(truth: Truth, scores: Mapping[str, RoleScores], baseline: str) -> Iterator[Apart]:
    """Each method against the baseline, by their hits; not corrected yet."""
    hits = {name: hits_of(truth, counted(truth, of), of) for name, of in scores.items()}
    theirs = hits.pop(baseline)
    for name, ours in hits.items():
        both = {role: [name for name in of if name in theirs.get(role, {})] for role, of in ours.items()}
        sides = [
            {role: {name: side[role][name] for name in of} for role, of in both.items() if of}
            for side in (ours, theirs)
        ]
        if not sides[0]:
            continue
        one, other = map(clusters, sides)
        interval = paired_interval(one, other, pooled=True, unit=unit(sides[0]))
        about = (truth.inventory.metric, truth.name, name, baseline)
        if len(sides[0]) > 1:
            told = paired_test(one, other, seed=SEED, largest=1)
            yield Apart(*about, interval, told.p, told.method, None, told.detectable)
        else:
            pairs = ([bool(value) for of in side.values() for value in of.values()] for side in sides)
            p, _, test, detectable = exact_test(*pairs, level=LEVEL)
            yield Apart(*about, interval, p, test, None, detectable)
