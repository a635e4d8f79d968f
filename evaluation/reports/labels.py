"""How far interviews agree with what is right: InCharacter's measures and AMADEUS's, each beside floor and ceiling."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.interviews import Inventory, Poles
from dramaturg.evaluation.comparison.labels import NOBODY_COULD_TELL, Known
from dramaturg.evaluation.datasets.dataset import Label
from dramaturg.evaluation.metrics.alignment import Alignment, alignment, ceiling, floors
from dramaturg.evaluation.metrics.intervals import (
    Interval,
    cluster_interval,
    paired_interval,
)
from dramaturg.evaluation.metrics.paired_tests import Corrected, mcnemar, sign_flip, smallest_difference
from dramaturg.evaluation.metrics.type_metrics import majority_type, type_accuracy, type_f1
from dramaturg.evaluation.reports.tables import SEED, uncorrected

VOTES = "pdb"
"""Whose scores are right where several judged: InCharacter's votes; without them, those of whoever comes first."""


TYPES = "types"


RoleScores = Mapping[str, Mapping[str, float]]
"""A value a role and dimension."""


Placed = Mapping[str, Mapping[str, Label]]
"""A label a role and dimension."""


class LabelAgreement(NamedTuple):
    """How well the roles of one method agree with labels, by one measure."""

    inventory: str
    labels: str
    """Whose: who judged, or `types`."""
    contestant: str
    measure: str
    value: float
    interval: Interval | None
    """None where the measure is no mean."""
    hits: int | None
    """None where the measure is no share."""
    n: int
    """How many dimensions, or roles where it is about whole types."""
    floors: Mapping[str, float]
    """What is had without knowing the role, by how."""
    ceiling: float | None
    """How far a second group of annotators agrees with the labels; none if there is none."""
    left_out: int
    """Dimensions with a label that the interviews have no score for: they are in no number."""


class Truth(NamedTuple):
    """What is right by one inventory, of the roles of which it is known."""

    inventory: Inventory
    name: str
    placed: Placed
    """Without scores where types are labelled."""
    annotators: Placed
    """What a second group says; nothing if there is none."""


class Measured(NamedTuple):
    """A measure before it is known whose it is."""

    measure: str
    value: float
    n: int
    hits: int | None
    floors: Mapping[str, float]
    ceiling: float | None
    values: RoleScores
    """Of which the value is the mean, weighing each alike; nothing where it is no mean."""


class Apart(NamedTuple):
    """The hits of two methods on the same roles and dimensions, the first minus the second."""

    inventory: str
    labels: str
    first: str
    second: str
    interval: Interval
    p: float
    test: str
    p_roles: float | None
    """The p of sign flips over roles, which does not take the dimensions of a role for independent; None of one."""
    corrected: Corrected
    detectable: float | None
    """The smallest difference that so many pairs would have shown; None where none would be."""


def truths_of(inventory: Inventory, known: Mapping[str, Known]) -> Iterator[Truth]:
    """What the labels of roles say by an inventory: scores, types, or both."""
    judges = sorted({by: None for one in known.values() for by in one.scores}, key=lambda by: by != VOTES)
    groups = [{role: one.scores[by] for role, one in known.items() if by in one.scores} for by in judges]
    if groups:
        yield Truth(inventory, judges[0], groups[0], groups[1] if groups[1:] else {})
    if types := {role: placed_by(one.type, inventory) for role, one in known.items() if one.type}:
        yield Truth(inventory, TYPES, types, {})


def placed_by(letters: str, inventory: Inventory) -> dict[str, Label]:
    """Where a type places a role on each dimension."""
    pairs = zip(letters, inventory.dimensions, strict=True)
    return {one.name: Label(score=None, type=side(letter, one)) for letter, one in pairs}


def side(letter: str, dimension: Poles) -> Any:
    """The pole of a letter: H, L, or X where nobody could tell."""
    return {dimension.high: "H", dimension.low: "L"}.get(letter, NOBODY_COULD_TELL)


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
        yield LabelAgreement(
            truth.inventory.metric,
            truth.name,
            contestant,
            one.measure,
            one.value,
            interval_of(one.values) if one.values else None,
            one.hits,
            one.n,
            one.floors,
            one.ceiling,
            left_out,
        )


def interval_of(values: RoleScores) -> Interval:
    """Where a mean lies that weighs each value alike: over roles, or of a single role over its dimensions."""
    return cluster_interval(clusters(values), seed=SEED, pooled=True, unit=unit(values))


def clusters(values: RoleScores) -> dict[str, list[float]]:
    """Values by role, or of a single role by dimension."""
    if len(values) > 1:
        return {role: [*of.values()] for role, of in values.items()}
    return {name: [value] for of in values.values() for name, value in of.items()}


def unit(values: RoleScores) -> str:
    """What intervals and tests are over."""
    return "role" if len(values) > 1 else "dimension"


def score_measures(truth: Truth, labels: Placed, scores: RoleScores) -> Iterator[Measured]:
    """Acc(Dim), Acc(Full), MSE and MAE of InCharacter, with the scores' own types."""
    found, top = aligned(truth, labels, scores), best(truth, labels)
    least = floors(written(labels), low=truth.inventory.low, high=truth.inventory.high)
    hits, errors = hits_of(truth, labels, scores), errors_of(truth, labels, scores)
    of_acc = {"majority": least.majority_acc_dim}
    yield Measured("Acc(Dim)", found.acc_dim, found.n_dimensions, found.hits, of_acc, top and top.acc_dim, hits)
    yield from full_measure(truth, whole(truth, labels), scores)
    squares = {role: {name: one**2 for name, one in of.items()} for role, of in errors.items()}
    of_mse = {"constant": least.constant_mse, "midpoint": least.midpoint_mse}
    yield Measured("MSE", found.mse, found.n_dimensions, None, of_mse, top and top.mse, squares)
    of_mae = {"constant": least.constant_mae, "midpoint": least.midpoint_mae}
    yield Measured("MAE", found.mae, found.n_dimensions, None, of_mae, top and top.mae, errors)


def full_measure(truth: Truth, labels: Placed, scores: RoleScores) -> Iterator[Measured]:
    """Acc(Full), of the roles without a dimension that is left out; nothing where there are none."""
    if labels:
        found, top = aligned(truth, labels, scores), best(truth, labels)
        least = floors(written(labels), low=truth.inventory.low, high=truth.inventory.high).majority_acc_full
        values = all_right(hits_of(truth, labels, scores))
        full = top and top.acc_full
        yield Measured("Acc(Full)", found.acc_full, found.n_roles, found.full_hits, {"majority": least}, full, values)


def aligned(truth: Truth, labels: Placed, scores: RoleScores) -> Alignment:
    """The scores held against the labels that count."""
    predictions = {role: {name: scores[role][name] for name in of} for role, of in labels.items()}
    return alignment(predictions, written(labels), low=truth.inventory.low, high=truth.inventory.high)


def best(truth: Truth, labels: Placed) -> Alignment | None:
    """How far a second group agrees with the labels of the roles that it has scored as a whole."""
    known = {
        role: of
        for role, of in labels.items()
        if all((one := truth.annotators.get(role, {}).get(name)) and one.score is not None for name in of)
    }
    if not known:
        return None
    said = {role: {name: truth.annotators[role][name] for name in of} for role, of in known.items()}
    return ceiling(written(known), written(said), low=truth.inventory.low, high=truth.inventory.high)


def written(labels: Placed) -> dict[str, dict[str, dict[str, Any]]]:
    """Labels as the metrics take them."""
    return {role: {name: one.model_dump() for name, one in of.items()} for role, of in labels.items()}


def errors_of(truth: Truth, labels: Placed, scores: RoleScores) -> RoleScores:
    """How far scores are from the labels, as a share of the scale."""
    span = truth.inventory.high - truth.inventory.low
    return {
        role: {name: abs(scores[role][name] - one.score) / span for name, one in of.items() if one.score is not None}
        for role, of in labels.items()
    }


def all_right(hits: RoleScores) -> RoleScores:
    """By role, 1 where all is a hit."""
    return {role: {"type": float(all(of.values()))} for role, of in hits.items()}


def type_measures(truth: Truth, labels: Placed, scores: RoleScores) -> Iterator[Measured]:
    """Accuracy and F1 of AMADEUS, Tables 4 and 5, position by position; letters that do not count are in neither."""
    hits = hits_of(truth, labels, scores)
    columns = [one for dimension in truth.inventory.dimensions if (one := column(truth, dimension, labels, scores))]
    right, said = ([letter for pair in columns for letter in pair[at]] for at in (0, 1))
    common = [letter for pair in columns for letter in majority(pair[0])]
    n = len(right)
    got, least = type_accuracy(right, said), type_accuracy(right, common)
    yield Measured("type accuracy", got, n, round(got * n), {"majority": least}, None, hits)
    if full := whole(truth, labels):
        values, floor = all_right({role: hits[role] for role in full}), majority_full(full)
        matched = sum(int(of["type"]) for of in values.values())
        share = matched / len(full)
        yield Measured("whole type", share, len(full), matched, {"majority": floor}, None, values)
    least = fmean(type_f1(pair[0], majority(pair[0])) for pair in columns)
    yield Measured("F1", fmean(type_f1(*pair) for pair in columns), n, None, {"majority": least}, None, {})


def column(truth: Truth, dimension: Poles, labels: Placed, scores: RoleScores) -> tuple[list[str], list[str]] | None:
    """The right letters of a dimension and those of the scores, role by role; none where no role counts."""
    letters, middle = {"H": dimension.high, "L": dimension.low}, truth.inventory.midpoint
    roles = [role for role, of in labels.items() if dimension.name in of]
    right = [letters[labels[role][dimension.name].type] for role in roles]
    said = [letters["H" if scores[role][dimension.name] > middle else "L"] for role in roles]
    return (right, said) if roles else None


def majority(letters: Sequence[str]) -> list[str]:
    """The most frequent letter, for everybody."""
    return [majority_type(letters)] * len(letters)


def majority_full(labels: Placed) -> float:
    """The share of roles that have the most frequent side of every dimension."""
    names = {name for of in labels.values() for name in of}
    most = {name: majority_type([of[name].type for of in labels.values() if name in of]) for name in names}
    return fmean(all(one.type == most[name] for name, one in of.items()) for of in labels.values())


def differences_of(truth: Truth, scores: Mapping[str, RoleScores]) -> Iterator[Apart]:
    """The first method against each other one, by their hits; not corrected yet."""
    (first, ours), *others = ((name, hits_of(truth, counted(truth, of), of)) for name, of in scores.items())
    for second, theirs in others:
        both = {role: [name for name in of if name in theirs.get(role, {})] for role, of in ours.items()}
        sides = [
            {role: {name: side[role][name] for name in of} for role, of in both.items() if of}
            for side in (ours, theirs)
        ]
        if sides[0]:
            yield apart(truth, first, second, *sides)


def apart(truth: Truth, first: str, second: str, ours: RoleScores, theirs: RoleScores) -> Apart:
    """Two methods on the roles and dimensions that both have a score for."""
    sides, several = [clusters(ours), clusters(theirs)], len(ours) > 1
    exact = mcnemar(*([bool(value) for of in side.values() for value in of.values()] for side in (ours, theirs)))
    differ = exact.only_first + exact.only_second
    return Apart(
        truth.inventory.metric,
        truth.name,
        first,
        second,
        paired_interval(sides[0], sides[1], seed=SEED, pooled=True, unit=unit(ours)),
        exact.p,
        exact.method,
        sign_flip(sides[0], sides[1], seed=SEED).p if several else None,
        uncorrected(exact.p),
        smallest_difference(exact.n, differ / exact.n).difference if differ else None,
    )
