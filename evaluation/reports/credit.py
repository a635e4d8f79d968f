"""What the numbers of a judge by a metric can bear: whether anything may be concluded from them, and if not, why.

All that is known of a judge comes together here, and every form of a report asks here. Some checks withhold the numbers
from every conclusion: no test, no rank, no star. They are that results are missing; that floor and ceiling are not told
apart; that the judge is not above chance on the anchors in a language of the run, or at two lengths; that length alone
moves its scores; and that it does not agree with people. Others are warnings, and are said. A judge stands by a metric
if it stands in every language of the run, as a number over roles is over all of them.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

from dramaturg.evaluation.comparison.contestants import CEILING, FLOOR
from dramaturg.evaluation.comparison.plan import OF_ALL, Entry, Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.holding import PAIR
from dramaturg.evaluation.judging.judges import JUDGES, prompt_version
from dramaturg.evaluation.judging.lines import SPEAKER
from dramaturg.evaluation.judging.scales import UNJUDGED, scale_of
from dramaturg.evaluation.judging.standing import ANCHORS, InLanguage, Measured
from dramaturg.evaluation.judging.verdicts import LANGUAGE, Standing, shown
from dramaturg.evaluation.metrics.intervals import SAME, SHARE, Ends, Interval, cluster_interval
from dramaturg.evaluation.reports.standings import standings_in
from dramaturg.evaluation.reports.values import REFUSAL, by_reply, judges_of, mean_of, value_of
from dramaturg.prompts import LANGUAGES

YES: Mapping[str, str] = {"accuracy": CEILING, REFUSAL: FLOOR}
"""Who deserves a yes; the other deserves a no."""
BLIND = 0.6
"""An AUC that is no larger tells nothing apart, whatever its interval."""


class BoundsCheck(NamedTuple):
    """What one judge, by one metric, says of right answers and of a sentence that declines, to the same questions."""

    metric: str
    judge: str
    kind: str
    """share right: of both replies together, half of which deserve a yes. AUC: the share of questions whose right
    answer is scored above the sentence that declines; the same score counts half."""
    value: float
    low: float | None
    """None where the judge says the same of both every time, or tells them apart half of the times every time."""
    high: float | None
    right: Interval
    """Of the scores of right answers."""
    declining: Interval
    n: int
    """Questions with both scores."""
    missing: int
    """Questions without one of them."""

    @property
    def blind(self) -> bool:
        """Whether these questions do not show that the judge tells the two apart."""
        return self.low is None or self.low <= 1 / 2 or (self.kind == "AUC" and self.value <= BLIND)


FEWEST = 6
"""With fewer questions even a judge that is always right is not shown to be above chance."""
LENGTH_ALLOWED = 0.1
"""As a share of the scale, what a judge may add for length alone: one step of 1 to 10, or one yes of ten."""
UNCHECKED = "never checked"
Outcome = Literal["passed", "failed", "warns", "too few"]


class Check(NamedTuple):
    """One thing that was looked at of a judge by a metric."""

    kind: str
    language: str
    """Empty where it is of all languages of the run."""
    outcome: Outcome
    """failed: nothing is concluded. warns: it is said. too few: neither was shown."""
    said: str
    """In words, without a full stop."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Credit(NamedTuple):
    """What the numbers of one judge by one metric can bear."""

    metric: str
    judge: str
    checks: tuple[Check, ...]

    @property
    def why(self) -> str:
        """Why nothing is concluded from them; empty where it may be."""
        return "; ".join(dict.fromkeys(one.said for one in self.checks if one.outcome == "failed"))

    @property
    def stands(self) -> bool:
        """Whether anything may be concluded from them."""
        return not self.why

    @property
    def warnings(self) -> list[str]:
        """What has to be known besides."""
        return [one.said for one in self.checks if one.outcome == "warns"]


def credits_of(plan: Plan, records: Records, lacking: Mapping[tuple[str, str], Sequence[str]]) -> list[Credit]:
    """Return what each judge's numbers can bear, by metric; of several judges in the mean, those that stand.

    Args:
        plan: of the run.
        records: of the run.
        lacking: by metric and judge, what was planned and is missing, in words.
    """
    known = standings_in(plan, records)
    found = [
        Credit(
            metric,
            judge,
            (*missing_checks(lacking.get((metric, judge), ())), *checks(plan, records, known, metric, judge)),
        )
        for metric in plan.metrics
        for judge in judges_of(plan, records, metric)
    ]
    metric, judge = plan.primary_metric
    if judge == OF_ALL:
        of = [one for one in found if one.metric == metric]
        judges = [one.judge for one in of if one.stands] or [one.judge for one in of]
        of = [one for one in of if one.judge in judges]
        found.append(Credit(metric, mean_of(judges), tuple(dict.fromkeys(check for one in of for check in one.checks))))
    return found


def missing_checks(lacking: Sequence[str]) -> Iterator[Check]:
    """That results are missing."""
    if lacking:
        more = f", and {len(lacking) - 1} more of this kind" if lacking[1:] else ""
        yield Check("missing", "", "failed", f"results are missing ({lacking[0]}{more})")


def checks(plan: Plan, records: Records, known: Sequence[Standing], metric: str, judge: str) -> Iterator[Check]:
    """All that was looked at of one judge by one metric; what has no judge has no check."""
    if metric in UNJUDGED:
        return
    languages = languages_of(plan, records, metric, judge)
    mine = [one for one in known if one.judge == judge]
    held = [*held_checks([one for one in mine if one.metric == metric], sorted({*languages.values()}))]
    proved = any(one.kind == ANCHORS for one in held) and all(
        one.outcome == "passed" for one in held if one.kind == ANCHORS
    )
    against = [*floor_checks(plan, records, metric, judge, languages, proved=proved)]
    yield from (*against, *held)
    if not any(one.outcome in ("passed", "failed") and one.kind != "length" for one in (*against, *held)):
        yield Check(UNCHECKED, "", "warns", "nothing shows whether it tells right from wrong")
    yield from ceiling_checks(plan, records, metric, judge)
    if judge == plan.model:
        yield Check("own words", "", "warns", "it judges what it has said itself, and models like what they write")
    for one in mine:
        if one.metric == PAIR and one.place and one.place.apart:
            said = f"of two replies it prefers one by its place (the first: {shown(one.place)})"
            yield check_of("place", "", "warns", said, one.place)
        if one.metric == SPEAKER and not one.told.above:
            said = f"it is near chance at who is speaking ({shown(one.told)})"
            yield check_of("who is speaking", "", "warns", said, one.told)


def check_of(kind: str, language: str, outcome: Outcome, said: str, of: Measured) -> Check:
    """A check with its number."""
    return Check(kind, language, outcome, said, of.value, of.low, of.high, of.n)


@cache
def language_of(metric: str, prompt: str) -> str:
    """The language of a judge's prompt, by its version; empty of another version's."""
    return next((one for one in LANGUAGES if prompt_version(JUDGES[metric], one) == prompt), "")


def languages_of(plan: Plan, records: Records, metric: str, judge: str) -> dict[str, str]:
    """In which language a judge judged each role, as far as that is known."""
    said = by_reply(records, metric, judge)
    return {
        one.role: language
        for one in plan.entries
        if one.key in said and (language := language_of(metric, said[one.key].prompt))
    }


def floor_checks(
    plan: Plan, records: Records, metric: str, judge: str, languages: Mapping[str, str], *, proved: bool
) -> Iterator[Check]:
    """Whether a judge tells the right answer from a sentence that declines, in all and in each language of several.

    Args:
        plan: of the run.
        records: of the run.
        metric: which it judges by.
        judge: its name.
        languages: in which it judged each role.
        proved: whether the anchors show that it is above chance: then it need not be shown here again.
    """
    if metric not in YES and scale_of(metric).better != "higher":
        return
    several = sorted({*languages.values()}) if len({*languages.values()}) > 1 else []
    for language in ("", *several):
        roles = {role for role, one in languages.items() if one == language} if language else None
        if not (found := bounds_check(plan, records, metric, judge, roles)):
            continue
        where = f" in {LANGUAGE[language]}" if language else ""
        ends = "none" if found.low is None or found.high is None else f"{found.low:.3f} to {found.high:.3f}"
        number = f"({found.kind} {found.value:.3f}, 95 % {ends}, {found.n} questions)"
        about = ("floor and ceiling", language)
        if found.value <= BLIND and found.blind:
            said = f"it does not tell right answers from a sentence that declines{where} {number}"
            yield Check(*about, "failed", said, found.value, found.low, found.high, found.n)
        elif found.blind:
            few: Outcome = "too few" if proved or (language and found.n < FEWEST) else "failed"
            said = f"that it tells right answers from a sentence that declines{where} is not shown {number}"
            yield Check(*about, few, said, found.value, found.low, found.high, found.n)
        else:
            said = f"it tells right answers from a sentence that declines{where} {number}"
            yield Check(*about, "passed", said, found.value, found.low, found.high, found.n)


def held_checks(known: Sequence[Standing], languages: Sequence[str]) -> Iterator[Check]:
    """What came of holding a judge against anchors and people's scores, in the languages of the run."""
    for one in known:
        of = {name: one.by_language[name] for name in languages if name in one.by_language}
        whole = InLanguage(one.told, one.crossed, one.length)
        for language, stands in (of if languages and one.by_language else {"": whole}).items():
            yield from above_chance(one, language, stands)
            yield from length_checks(language, stands)
        if one.agreed:
            agrees = one.agreed.above
            said = f"it {'agrees' if agrees else 'does not agree'} with people (alpha {shown(one.agreed)})"
            yield check_of("people", "", "passed" if agrees else "failed", said, one.agreed)


def above_chance(one: Standing, language: str, of: InLanguage) -> Iterator[Check]:
    """Whether a judge is above chance on anchors, or on replies that people scored."""
    where = f" in {LANGUAGE[language]}" if language else ""
    on = "on the anchors" if one.source == ANCHORS else f"on replies that people scored ({one.source})"
    kind, number = ANCHORS if one.source == ANCHORS else "people", shown(of.told)
    if of.told.above:
        yield check_of(kind, language, "passed", f"{on}{where} it is above chance ({number})", of.told)
    elif of.told.n < FEWEST and of.told.value > BLIND:
        yield check_of(kind, language, "too few", f"{on}{where} so few questions show nothing ({number})", of.told)
    else:
        yield check_of(kind, language, "failed", f"{on}{where} it is not above chance ({number})", of.told)


def length_checks(language: str, of: InLanguage) -> Iterator[Check]:
    """Whether a judge goes by the length of replies."""
    where, kind = f" in {LANGUAGE[language]}" if language else "", "length"
    if of.crossed and not of.crossed.above and (of.crossed.n >= FEWEST or of.crossed.value <= BLIND):
        said = f"it does not score a right reply above a wrong one of another length{where} ({shown(of.crossed)})"
        yield check_of(kind, language, "failed", said, of.crossed)
    if (long := of.length) and long.apart:
        far = long.low is not None and long.high is not None and max(long.low, -long.high) > LENGTH_ALLOWED
        said = (
            f"it scores the same reply {'higher' if long.value > 0 else 'lower'} when it is longer{where}, by "
            f"{abs(long.value):.2f} of the scale (95 % {long.low:.2f} to {long.high:.2f})"
        )
        yield check_of(kind, language, "failed" if far else "warns", said, long)


def ceiling_checks(plan: Plan, records: Records, metric: str, judge: str) -> Iterator[Check]:
    """That a method has a higher mean than the right answers themselves, where these are what the metric asks for."""
    if "gold" not in JUDGES[metric].needs or CEILING not in plan.bounds:
        return
    found = by_reply(records, metric, judge)
    top = {(one.role, one.question): value for one in plan.of(CEILING) if (value := value_of(one, found)) is not None}
    for name in plan.methods:
        there = [
            (value, top[one.role, one.question])
            for one in plan.of(name)
            if (one.role, one.question) in top and (value := value_of(one, found)) is not None
        ]
        if there:
            mean, best = (sum(side) / len(there) for side in zip(*there, strict=True))
            if mean > best + SAME:
                said = f"{name} has a higher mean ({mean:.3f}) than the right answers themselves ({best:.3f})"
                yield Check(
                    "above the ceiling", "", "warns", f"{said}: it rewards something else besides", mean, n=len(there)
                )


def bounds_checks(plan: Plan, records: Records) -> Iterator[BoundsCheck]:
    """Check each judge by each metric for which it is known which reply deserves more; likeness has no judge."""
    for metric in plan.metrics:
        if metric not in UNJUDGED and (metric in YES or scale_of(metric).better == "higher"):
            for judge in judges_of(plan, records, metric):
                if found := bounds_check(plan, records, metric, judge):
                    yield found


def bounds_check(
    plan: Plan, records: Records, metric: str, judge: str, roles: Container[str] | None = None
) -> BoundsCheck | None:
    """Check one judge by one metric, of some roles or all; None where no question has both scores."""
    found = by_reply(records, metric, judge)
    pairs = [both for both in known_pairs(plan) if all(one.key in found for one in both)]
    asked = [
        both
        for both in pairs
        if (roles is None or both[0].role in roles) and all(found[one.key].applicable for one in both)
    ]
    scores = [(value_of(right, found), value_of(declining, found)) for right, declining in asked]
    there = [(right, declining) for right, declining in scores if right is not None and declining is not None]
    if not there:
        return None
    better = [ahead(metric, *both) for both in there]
    mean = over_questions(better)
    low, high = mean.low, mean.high
    scale = scale_of(metric)[:2]
    right, declining = (over_questions([both[at] for both in there], scale) for at in (0, 1))
    kind, gone = "share right" if metric in YES else "AUC", len(asked) - len(there)
    return BoundsCheck(metric, judge, kind, mean.mean, low, high, right, declining, len(there), gone)


def known_pairs(plan: Plan) -> Iterator[tuple[Entry, Entry]]:
    """The right answer and the sentence that declines, to each question in scope."""
    declining = {(one.role, one.question): one for one in plan.of(FLOOR)}
    for one in plan.of(CEILING):
        if plan.question(one).scope != "out" and (one.role, one.question) in declining:
            yield one, declining[one.role, one.question]


def ahead(metric: str, right: float, declining: float) -> float:
    """How well one question's two replies are told apart: 1 wholly, 1/2 by half or not at all, 0 the wrong way."""
    if metric in YES:
        yes, no = (right, declining) if YES[metric] == CEILING else (declining, right)
        return (yes + 1 - no) / 2
    return 0.5 if right == declining else float(right > declining)


def over_questions(values: Sequence[float], scale: Ends = SHARE) -> Interval:
    """The mean over questions."""
    return cluster_interval({str(at): [one] for at, one in enumerate(values)}, scale=scale, unit="question")
