"""The metrics of the papers: pure functions of plain numbers, without a model (InCharacter, AMADEUS Tables 1 to 5)."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, isfinite
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from dramaturg.evaluation.metrics.type_metrics import most_frequent

Predictions = Mapping[str, Mapping[str, float]]
"""A score a role and dimension."""
Labels = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""A score and a type a role and dimension: `{"score": 98.6, "type": "H"}`, as in InCharacter's label file."""
Tie = Literal["low", "high"]
"""What a score exactly at the midpoint counts as."""
Undecided = Literal["miss", "score", "exclude"]
"""What becomes of a dimension that the annotators call X; see `ceiling`."""
SMALLEST_SPLIT, BATCH, SMALLEST_BATCH = 6, 4, 3
"""InCharacter's batches: from how many items on they are split, the size of a batch, and its least size."""


class Alignment(NamedTuple):
    """How well scores agree with labels; the errors are shares of the scale's span."""

    acc_dim: float
    """Hits by all counted dimensions of all roles together, not a mean of the roles' means."""
    acc_full: float
    """Roles without a miss by the roles that have a counted dimension."""
    mse: float
    mae: float
    hits: int
    n_dimensions: int
    full_hits: int
    n_roles: int


class Floors(NamedTuple):
    """Baselines that know nothing of the role; each is the best of its kind on these very labels."""

    majority_acc_dim: float
    """The more frequent type of each dimension; L where both are as frequent."""
    majority_acc_full: float
    constant_mse: float
    """The mean label score of each dimension."""
    constant_mae: float
    """The median label score of each dimension."""
    midpoint_mse: float
    midpoint_mae: float
    majority_hits: int
    n_dimensions: int
    majority_full_hits: int
    n_roles: int


class _Scale(NamedTuple):
    """The scale of a questionnaire."""

    low: float
    high: float

    def checked(self, score: object, whose: str) -> float:
        """Give a score that is a number on the scale."""
        try:
            found = float(score)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            found = float("nan")
        if not (isfinite(found) and self.low <= found <= self.high):
            raise ValueError(f"Give a score from {self.low} to {self.high} for {whose}: {score!r} is none.")
        return found

    def type_of(self, score: float, tie: Tie) -> str:
        """H above the midpoint, L below, and what `tie` says exactly there."""
        middle = (self.low + self.high) / 2
        return "H" if score > middle or (score == middle and tie == "high") else "L"


class _Pair(NamedTuple):
    """A counted dimension of a role: what was predicted, and the label."""

    role: str
    dimension: str
    score: float
    label: float
    type: str


def alignment(
    predictions: Predictions,
    labels: Labels,
    *,
    low: float,
    high: float,
    mask_by: Sequence[Labels] = (),
    tie: Tie = "low",
) -> Alignment:
    """How well predicted scores agree with labels: Acc(Dim), Acc(Full), MSE and MAE of InCharacter.

    The roles of `predictions` count. All their labelled dimensions do but those of type X: of an X, no prediction is
    needed. Labels may know more roles than were interviewed, and a mask fewer.

    Args:
        predictions: scores from low to high by role and dimension.
        labels: what is right, by role and dimension.
        low: the lowest score of the scale (16 Personalities: 0, BFI: 1).
        high: the highest (100, 5).
        mask_by: more labels; where one of them is X, the dimension does not count either.
        tie: the type of a score exactly at the midpoint; InCharacter's rule is "low".

    Raises:
        ValueError: a role or dimension is missing, a score is not on the scale, a type is unknown, nothing counts.
    """
    scale = _scale(low, high)
    _one_of(tie, "tie", "low", "high")
    pairs = _pairs(predictions, labels, scale, mask_by)
    return _summary(pairs, [scale.type_of(one.score, tie) == one.type for one in pairs], scale)


def ceiling(labels: Labels, annotators: Labels, *, low: float, high: float, undecided: Undecided = "miss") -> Alignment:
    """How well people who know the roles agree with the labels: a model cannot be expected to do better.

    Args:
        labels: what is right; the dimensions of type X do not count.
        annotators: the labels that the people gave.
        low: the lowest score of the scale.
        high: the highest.
        undecided: a dimension that the annotators call X is a "miss"; or goes by its "score", as a prediction does,
            with L at the midpoint; or does not count ("exclude").
    """
    _one_of(undecided, "undecided", "miss", "score", "exclude")
    scale = _scale(low, high)
    pairs = _pairs(_scores(annotators), labels, scale, [annotators] if undecided == "exclude" else [])
    hits = [scale.type_of(one.score, "low") == one.type for one in pairs]
    if undecided == "miss":
        hits = [_type(annotators, one.role, one.dimension) == one.type for one in pairs]
    return _summary(pairs, hits, scale)


def floors(labels: Labels, *, low: float, high: float, mask_by: Sequence[Labels] = ()) -> Floors:
    """What the most frequent type, the best constant and the midpoint reach on labels, to be shown beside a value."""
    scale = _scale(low, high)
    pairs = _pairs(_scores(labels), labels, scale, mask_by)
    by_dimension = {name: [one for one in pairs if one.dimension == name] for name in {one.dimension for one in pairs}}
    most = {name: most_frequent(sorted((one.type for one in of), reverse=True)) for name, of in by_dimension.items()}
    majority = _summary(pairs, [one.type == most[one.dimension] for one in pairs], scale)
    mean = {name: fmean(one.label for one in of) for name, of in by_dimension.items()}
    middle = {name: median(one.label for one in of) for name, of in by_dimension.items()}
    midpoint = _errors([one.label - (low + high) / 2 for one in pairs], scale)
    return Floors(
        majority_acc_dim=majority.acc_dim,
        majority_acc_full=majority.acc_full,
        constant_mse=_errors([one.label - mean[one.dimension] for one in pairs], scale)[0],
        constant_mae=_errors([one.label - middle[one.dimension] for one in pairs], scale)[1],
        midpoint_mse=midpoint[0],
        midpoint_mae=midpoint[1],
        majority_hits=majority.hits,
        n_dimensions=majority.n_dimensions,
        majority_full_hits=majority.full_hits,
        n_roles=majority.n_roles,
    )


def split_batches(n: int) -> list[int]:
    """Into which batches InCharacter splits the n items of a dimension: fours, the last filled up to three.

    Returns:
        The sizes; what the last batch lacks is taken one by one from the first ones.
    """
    if n < 1:
        raise ValueError(f"There is nothing to split into batches: give 1 item or more, not {n}.")
    if n < SMALLEST_SPLIT:
        return [n]
    sizes = [min(BATCH, n - at) for at in range(0, n, BATCH)]
    for at in range(SMALLEST_BATCH - sizes[-1]):
        sizes[at] -= 1
        sizes[-1] += 1
    return sizes


def _scale(low: float, high: float) -> _Scale:
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ValueError(f"Give a scale that goes up: from {low} to {high} does not.")
    return _Scale(low, high)


def _pairs(predictions: Predictions, labels: Labels, scale: _Scale, mask_by: Sequence[Labels]) -> list[_Pair]:
    """All that counts, checked."""
    if isinstance(mask_by, Mapping):
        raise ValueError("Give `mask_by` as a list of label mappings, also where it is one only.")
    found = [
        _pair(predictions, labels, scale, role, dimension)
        for role in predictions
        for dimension in _dimensions(predictions, labels, role)
        if not any(_type(by, role, dimension) == "X" for by in (labels, *mask_by) if dimension in by.get(role, {}))
    ]
    if not found:
        raise ValueError("There is nothing to count: give a role or more with a dimension that is not X.")
    return found


def _dimensions(predictions: Predictions, labels: Labels, role: str) -> Iterable[str]:
    """The labelled dimensions of a role."""
    if role not in labels:
        raise ValueError(f"The role {role!r} has no labels: give them, or leave its predictions out.")
    if unknown := [one for one in predictions[role] if one not in labels[role]]:
        raise ValueError(f"The labels of {role!r} lack {unknown[0]!r}: give one, or leave its prediction out.")
    return labels[role]


def _pair(predictions: Predictions, labels: Labels, scale: _Scale, role: str, dimension: str) -> _Pair:
    whose = f"{dimension!r} of {role!r}"
    if dimension not in predictions[role]:
        raise ValueError(f"There is no prediction for {whose}: give one, or leave the role out and count it.")
    score = scale.checked(predictions[role][dimension], f"the prediction for {whose}")
    label = scale.checked(labels[role][dimension].get("score"), f"the label for {whose}")
    return _Pair(role, dimension, score, label, _type(labels, role, dimension))


def _type(labels: Labels, role: str, dimension: str) -> str:
    found = str(labels[role][dimension].get("type"))
    if found not in ("H", "L", "X"):
        raise ValueError(f"Give the label for {dimension!r} of {role!r} the type H, L or X: {found!r} is none.")
    return found


def _scores(labels: Labels) -> dict[str, dict[str, Any]]:
    """Labels as if they were predicted."""
    return {role: {name: one.get("score") for name, one in of.items()} for role, of in labels.items()}


def _summary(pairs: Sequence[_Pair], hits: Sequence[bool], scale: _Scale) -> Alignment:
    """Count the hits; the errors are those of the scores."""
    misses = {one.role for one, hit in zip(pairs, hits, strict=True) if not hit}
    roles = {one.role for one in pairs}
    mse, mae = _errors([one.score - one.label for one in pairs], scale)
    n, right, full = len(pairs), sum(hits), len(roles - misses)
    return Alignment(right / n, full / len(roles), mse, mae, right, n, full, len(roles))


def _errors(differences: Sequence[float], scale: _Scale) -> tuple[float, float]:
    """The mean squared and the mean absolute difference, as shares of the span; the order changes nothing."""
    shares = [abs(one) / (scale.high - scale.low) for one in differences]
    return fsum(one * one for one in shares) / len(shares), fsum(shares) / len(shares)


def _one_of(value: str, name: str, *known: str) -> None:
    if value not in known:
        raise ValueError(f"`{name}` is {value!r}: choose one of {', '.join(known)}.")
