"""What came of holding a judge against what is known: how well it tells apart, calibration, and bias.

A judge is above chance where the lower end of its 95 % interval is. Intervals are over questions, or over groups of
four lines: they are about this judge on such replies. The same is said by one number for yes and no and for scales: how
often a reply that is to lie higher is scored higher than another one, equal scores count half (for yes and no that is
the mean of the shares that are right of both). Anchors are compared with those to the same question; scored replies
with all in the file. All of it stands for each language by itself too: a judge may read one and not another.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from dramaturg.evaluation.comparison.records import Judged, Records
from dramaturg.evaluation.judging.anchors import LONG, Known
from dramaturg.evaluation.judging.holding import PAIR, Material, Pair, ToAsk, to_ask
from dramaturg.evaluation.judging.judges import BOUNDS, JUDGES, agreement
from dramaturg.evaluation.judging.lines import AMONG, SPEAKER, HiddenSpeaker
from dramaturg.evaluation.metrics.calibration import Brier, brier, equal_bins
from dramaturg.evaluation.metrics.intervals import SHARE, Ends, Share, cluster_interval, wilson

FEWEST = 4
"""Replies of a group that are parted into the longer and the shorter ones."""
ANCHORS = "anchors"


class Measured(NamedTuple):
    """A mean with its interval, and what chance gives."""

    value: float
    low: float | None
    """None where nothing varies, or there is one unit alone."""
    high: float | None
    chance: float
    n: int
    """Units: questions, groups of four lines, or lines."""
    n_values: int

    @property
    def above(self) -> bool:
        """Whether it is above chance."""
        return self.low is not None and self.low > self.chance

    @property
    def apart(self) -> bool:
        """Whether it is another than chance, either way."""
        return self.above or (self.high is not None and self.high < self.chance)


class InLanguage(NamedTuple):
    """How a judge stands in one language."""

    told: Measured
    crossed: Measured | None = None
    """How often a right reply is scored above a wrong one of the other length; None where there are no such anchors."""
    length: Measured | None = None
    """How much higher, as a share of the scale, the same reply is scored at length."""


class KindCell(NamedTuple):
    """What a judge says of one kind of reply in one language."""

    kind: str
    language: str
    worth: float
    """1: it is to lie higher on the scale, 0: lower. Of replies that people scored, the mean of that."""
    mean: float
    """Of the judge; of yes and no, the share of yes."""
    n: int


class Held(NamedTuple):
    """A judge by one metric; or by `pair`, which of two replies is better; or by `speaker`, who is speaking."""

    judge: str
    metric: str
    source: str
    version: str
    prompts: tuple[str, ...]
    told: Measured | None
    """How well it tells apart; None where nothing was answered, or nothing can be compared."""
    by_language: Mapping[str, InLanguage]
    cells: tuple[KindCell, ...] = ()
    same: str = ""
    """What the judge said to everything, where it said one thing."""
    crossed: Measured | None = None
    """How often a right reply is scored above a wrong one of the other length."""
    length: Measured | None = None
    """How much higher, as a share of the scale, the same reply is scored at length; where people scored, the longer
    half of replies of one worth and language."""
    place: Measured | None = None
    """How often the reply that was shown first is chosen, of pairs in both orders; of four names, how often the one
    that is chosen most by its place."""
    favourite: int = 0
    """That place, from 1."""
    agreed: Measured | None = None
    """Krippendorff's alpha with people's scores; chance has 0, and the interval leaves out a question at a time."""
    among: float | None = None
    """The same of people among each other."""
    brier: Brier | None = None
    bins: tuple[tuple[float, Share], ...] = ()
    missing: int = 0
    asked: int = 0


Answer = tuple[ToAsk, Judged]


def held(
    material: Material, records: Records, judge: str, ratings: Sequence[Sequence[float | None]] = ()
) -> list[Held]:
    """What came of one judge, metric by metric; what was not asked is not there."""
    found, tasks = [], to_ask(material, judge)
    for metric in dict.fromkeys(one.metric for one in tasks):
        of = [one for one in tasks if one.metric == metric]
        answers = [(one, said) for one in of if (said := records.judged.get(one.key))]
        there = [(one, said) for one, said in answers if said.value is not None]
        if answers:
            about = Held(
                judge=judge,
                metric=metric,
                source=material.source if metric != SPEAKER else "",
                version=material.version if metric != SPEAKER else "",
                prompts=tuple(sorted({said.prompt for _, said in there})),
                told=None,
                by_language={},
                missing=len(answers) - len(there),
                asked=len(of),
            )
            found.append(finished(about, there, ratings) if there else about)
    return found


def finished(about: Held, there: Sequence[Answer], ratings: Sequence[Sequence[float | None]]) -> Held:
    """The numbers of one metric."""
    told = {PAIR: told_of_pairs, SPEAKER: told_of_speakers}.get(about.metric, told_apart)
    values = {said.value for _, said in there}
    about = about._replace(
        told=told(there),
        by_language={
            name: InLanguage(found, *of_lengths(of)) for name, of in by_language(there).items() if (found := told(of))
        },
        same=f"{values.pop():g}" if len(values) == 1 and len(there) > 1 else "",
    )
    if about.metric == PAIR:
        return about._replace(place=first_chosen(there))
    if about.metric == SPEAKER:
        place, favourite = favourite_place(there)
        return about._replace(place=place, favourite=favourite)
    crossed, length = of_lengths(there)
    about = about._replace(cells=tuple(cells(there)), crossed=crossed, length=length or length_bias(there))
    if about.source != ANCHORS:
        agreed, among = agreement_with_people(there, ratings)
        about = about._replace(agreed=agreed, among=among)
    return calibrated(about, there)


def by_language(there: Sequence[Answer]) -> dict[str, list[Answer]]:
    """The answers in each language."""
    found: dict[str, list[Answer]] = {}
    for both in there:
        found.setdefault(both[0].language, []).append(both)
    return found


def of_lengths(there: Sequence[Answer]) -> tuple[Measured | None, Measured | None]:
    """Of anchors at two lengths: how often the right one is above the wrong one of the other, and what length adds."""
    metric = there[0][0].metric
    if metric not in JUDGES:
        return None, None
    low, high = BOUNDS[JUDGES[metric].scale]
    crossed: dict[str, list[float]] = {}
    added: dict[str, list[float]] = {}
    by_question: dict[str, dict[str, tuple[float, float]]] = {}
    for one, said in there:
        by_question.setdefault(known_of(one).question, {})[known_of(one).kind] = (worth_of(one), said.value or 0.0)
    for name, of in by_question.items():
        for short, other in (("right", "wrong"), ("wrong", "right")):
            if short in of and f"{other}{LONG}" in of:
                crossed.setdefault(name, []).extend(in_order([of[short], of[f"{other}{LONG}"]]))
            if short in of and f"{short}{LONG}" in of:
                added.setdefault(name, []).append((of[f"{short}{LONG}"][1] - of[short][1]) / (high - low))
    told = {name: values for name, values in crossed.items() if values}
    return over(told, 1 / 2) if told else None, over(added, 0.0, scale=(-1.0, 1.0)) if added else None


def known_of(one: ToAsk) -> Known:
    """The reply that a question is about."""
    if not isinstance(one.about, Known):
        raise TypeError(f"{one.metric} is no metric of one reply.")
    return one.about


def worth_of(one: ToAsk) -> float:
    """What the reply that a question is about is worth by its metric."""
    return known_of(one).worth[one.metric]


def told_apart(there: Sequence[Answer]) -> Measured | None:
    """How often the reply that is worth more is scored higher: to the same question, or where people scored, of all."""
    by_question: dict[str, list[tuple[float, float]]] = {}
    for one, said in there:
        by_question.setdefault(known_of(one).question, []).append((worth_of(one), said.value or 0.0))
    if known_of(there[0][0]).kind:
        within = {name: of for name, pairs in by_question.items() if (of := [*in_order(pairs)])}
        return over(within, 1 / 2) if within else None
    return concordance(by_question)


def in_order(pairs: Sequence[tuple[float, float]]) -> Iterator[float]:
    """Of each two replies of which one is worth more: 1 if it is scored higher, 1/2 if they are equal, else 0."""
    for worth, score in pairs:
        yield from ((score > other) + (score == other) / 2 for less, other in pairs if less < worth)


def concordance(by_question: Mapping[str, Sequence[tuple[float, float]]]) -> Measured | None:
    """The same over all replies of a file; the interval is the jackknife's, which leaves out a question at a time."""
    names = np.repeat(np.arange(len(by_question)), [len(of) for of in by_question.values()])
    worth, score = np.array([both for of in by_question.values() for both in of], float).T
    ahead = np.sign(worth[:, None] - worth[None, :]) > 0
    right = (np.sign(score[:, None] - score[None, :]) + 1) / 2
    if not ahead.any():
        return None
    value, n = float(right[ahead].mean()), len(by_question)
    left = [
        float(right[kept].mean()) if (kept := np.outer(names != name, names != name) & ahead).any() else None
        for name in range(n)
    ]
    if len({*left}) == 1 and left[0] is not None:  # as where all pairs are in order
        return over({f"{at}": [value] for at in range(n)}, 1 / 2)._replace(n_values=len(names))
    return jackknife(value, left, SHARE, 1 / 2, len(names))


def over(values: Mapping[str, Sequence[float]], chance: float, *, scale: Ends = SHARE) -> Measured:
    """The mean over units, each with its values."""
    found = cluster_interval(values, scale=scale, unit="question")
    return Measured(found.mean, found.low, found.high, chance, found.n, found.n_values)


def told_of_pairs(there: Sequence[Answer]) -> Measured:
    """How often the better one of two replies is chosen, over both orders."""
    right: dict[str, list[float]] = {}
    for one, said in there:
        if isinstance(one.about, Pair):
            right.setdefault(one.about.better.question, []).append(float(said.value == 1 + one.about.swapped))
    return over(right, 1 / 2)


def first_chosen(there: Sequence[Answer]) -> Measured | None:
    """How often the first one of two replies is chosen, of pairs that were asked in both orders."""
    first: dict[str, list[float]] = {}
    for one, said in there:
        if isinstance(one.about, Pair):
            first.setdefault(one.about.better.question, []).append(float(said.value == 1))
    both = {name: of for name, of in first.items() if len(of) > 1}
    return over(both, 1 / 2) if both else None


def told_of_speakers(there: Sequence[Answer]) -> Measured:
    """How often the right one of four is named."""
    right: dict[str, list[float]] = {}
    for one, said in there:
        if isinstance(one.about, HiddenSpeaker):
            right.setdefault(one.about.group, []).append(float(said.value == one.about.speaker + 1))
    return over(right, 1 / AMONG)


def favourite_place(there: Sequence[Answer]) -> tuple[Measured, int]:
    """The place that is chosen most, and how often; wide enough for four places that are looked at."""
    places = [int(said.value or 0) for _, said in there]
    favourite = max(range(1, AMONG + 1), key=places.count)
    share = wilson(places.count(favourite), len(places), covered=1 - 0.05 / AMONG)
    return Measured(share.share, share.low, share.high, 1 / AMONG, len(places), len(places)), favourite


def cells(there: Sequence[Answer]) -> Iterator[KindCell]:
    """What is said of each kind of reply in each language."""
    groups: dict[tuple[str, str], list[Answer]] = {}
    for one, said in there:
        groups.setdefault((known_of(one).kind, one.language), []).append((one, said))
    for (kind, language), of in groups.items():
        worth, mean = fmean(worth_of(one) for one, _ in of), fmean(said.value or 0.0 for _, said in of)
        yield KindCell(kind, language, worth, mean, len(of))


def length_bias(there: Sequence[Answer]) -> Measured | None:
    """How much higher longer replies are scored than shorter ones of the same worth and language, where people scored.

    As a share of the scale: the mean of the longer half of such a group less that of the shorter one, over all groups;
    replies of middling length are left out. The interval is over questions.
    """
    metric = there[0][0].metric
    low, high = BOUNDS[JUDGES[metric].scale]
    groups: dict[str, list[tuple[int, float, str]]] = {}
    for one, said in there:
        reply = known_of(one)
        size, score = len(reply.case.reply), ((said.value or 0.0) - low) / (high - low)
        groups.setdefault(f"{reply.kind} {worth_of(one):g} {one.language}", []).append((size, score, reply.question))
    apart: dict[str, list[float]] = {}
    for of in groups.values():
        middle = median(size for size, *_ in of)
        longer = [score for size, score, _ in of if size > middle]
        shorter = [score for size, score, _ in of if size < middle]
        if len(of) >= FEWEST and longer and shorter:
            for size, score, question in of:
                if size != middle:
                    more = score - fmean(shorter) if size > middle else fmean(longer) - score
                    apart.setdefault(question, []).append(more)
    return over(apart, 0.0, scale=(-1.0, 1.0)) if apart else None


def agreement_with_people(
    there: Sequence[Answer], ratings: Sequence[Sequence[float | None]]
) -> tuple[Measured | None, float | None]:
    """Krippendorff's alpha of judge and people, and of people among each other, where it can be computed."""
    from dramaturg.evaluation.metrics.reliability import Level, krippendorff_alpha

    scale = JUDGES[there[0][0].metric].scale
    level: Level = "nominal" if scale == "yes/no" else "ordinal"

    def alpha(of: Sequence[Answer]) -> float | None:
        try:
            people, judge = zip(*((worth_of(one), said.value) for one, said in of), strict=True)
            return agreement(people, judge, scale).alpha
        except ValueError:
            return None

    try:
        among = krippendorff_alpha(ratings, level=level).alpha if ratings else None
    except ValueError:
        among = None
    if (value := alpha(there)) is None:
        return None, among
    questions = dict.fromkeys(known_of(one).question for one, _ in there)
    left = [alpha([both for both in there if known_of(both[0]).question != name]) for name in questions]
    return jackknife(value, left, (-1.0, 1.0), 0.0, len(there)), among


def jackknife(value: float, left: Sequence[float | None], ends: Ends, chance: float, n_values: int) -> Measured:
    """A number with the interval of what is left of it without each unit in turn; none where it hangs on one unit."""
    from scipy.stats import t

    n, known = len(left), [one for one in left if one is not None]
    if len(known) < max(n, 2):
        return Measured(value, None, None, chance, n, n_values)
    spread = float(np.sqrt((n - 1) / n * np.square(np.array(known) - np.mean(known)).sum()))
    half = float(t.ppf(0.975, n - 1)) * spread
    return Measured(value, max(ends[0], value - half), min(ends[1], value + half), chance, n, n_values)


def calibrated(about: Held, there: Sequence[Answer]) -> Held:
    """P(yes) of a judge that gives one, against what is to be yes."""
    known = [
        (said.probability, bool(worth))
        for one, said in there
        if said.probability is not None and (worth := worth_of(one)) in (0, 1)
    ]
    if not known:
        return about
    said, true = zip(*known, strict=True)
    return about._replace(brier=brier(said, true), bins=tuple(equal_bins(said, true)))
