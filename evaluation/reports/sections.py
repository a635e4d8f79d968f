"""What the report of an evaluation says, by sections: no number without its n, its interval and what it can bear."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dramaturg.evaluation.comparison.contestants import CEILING, FLOOR, rules_of
from dramaturg.evaluation.comparison.plan import OF_ALL, Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.judges import JUDGES
from dramaturg.evaluation.judging.scales import ASKS, OF_SCENES, RECALL, UNJUDGED
from dramaturg.evaluation.metrics.intervals import MISSING_ALLOWED, Interval
from dramaturg.evaluation.metrics.variance_components import variance_components
from dramaturg.evaluation.reports.chunk_usage import passage_lines
from dramaturg.evaluation.reports.differences import Difference
from dramaturg.evaluation.reports.document import Cell, Cells, Fold, Note, Part, Sections, table
from dramaturg.evaluation.reports.interviews import interview_parts
from dramaturg.evaluation.reports.judges import judge_lines
from dramaturg.evaluation.reports.lengths import lengths
from dramaturg.evaluation.reports.numbers import metric_parts
from dramaturg.evaluation.reports.summary import caveats, findings, summary_table, withheld_lines
from dramaturg.evaluation.reports.tables import (
    MINUS,
    WITHHELD,
    ReplyCosts,
    Row,
    Tables,
    bounds,
    comparison_cells,
    costs,
    signed,
    smallest_seen,
)
from dramaturg.evaluation.reports.talks import talk_lines
from dramaturg.evaluation.reports.values import SCOPES, by_reply, has_judges, value_of

DIFFERENCE_HEADS = (
    *("metric", "questions", "judge", "method", "minus it", "95 % interval", "pairs", "p", "p (corrected)", "test"),
    "smallest difference to be seen",
)
BRIEF = [one for one in DIFFERENCE_HEADS[:-1] if one != "pairs"]
SPREAD_HEADS = ("metric", "method", "questions", "judge", "roles", "questions of a role", "seeds", "variance", "n")


def sections(plan: Plan, records: Records, found: Tables) -> Sections:
    """The whole report but the replies, which the page alone has."""
    metrics = (Fold(one, [*metric_parts(plan, records, found, one)], f"m-{one}", 2) for one in plan.metrics)
    of: dict[str, Iterator[Part]] = {
        "": top_parts(plan, records, found),
        "What was done": about(plan, records, found),
        "Interviews": interview_parts(plan),
        "Metrics": metrics,
        "Differences": difference_parts(plan, found),
        "Talks": talk_lines(plan, records),
        "Judges": judge_lines(plan, records, found),
        "Length": length_lines(plan, records, found),
        "Spread": spread_lines(plan, records, found),
        "Passages": passage_lines(plan, records),
        "Cost": cost_table(plan, records),
        "Measures": judge_notes(plan, records),
    }
    return {name: written for name, parts in of.items() if (written := [*parts])}


def top_parts(plan: Plan, records: Records, found: Tables) -> Iterator[Part]:
    """What can be concluded, the table of all methods by all metrics, and what has to be known of both."""
    yield "# Evaluation"
    if plan.metrics:
        yield Note(findings(plan, found))
    yield from summary_table(plan, found, costs(plan, records))
    if plan.metrics and (told := " ".join(caveats(plan, found))):
        yield Note(told)
    yield from (Note(one, warns=True) for one in withheld_lines(found))


def about(plan: Plan, records: Records, found: Tables) -> Iterator[Part]:
    """What was done, and whether all of it is there."""
    if not found.valid:
        yield Note(
            f"**This run is incomplete**: what was planned is missing, or more than {MISSING_ALLOWED:.0%} of a number. "
            "The same command asks for it. Nothing is concluded from numbers that lack it.",
            warns=True,
        )
        yield Note("\n".join(f"- {one}" for one in found.missing), warns=True)
    asked = ""
    if plan.metrics:
        licence = f" ({plan.licence})" if plan.licence else ""
        number = sum(map(len, plan.questions.values()))
        what = f"Talks: {plan.talks} of {number} turns" if plan.talks else f"Questions: {number}"
        asked = f"{what}, from {plan.dataset}{licence}. "
    judges = f"Judges: {', '.join(plan.judges)}. " if has_judges(plan) else ""
    versions = " and ".join(plan.versions(records))
    yield (
        f"Methods: {', '.join(plan.methods)}. Roles: {', '.join(plan.roles)}. {asked}Seeds: "
        f"{', '.join(map(str, plan.seeds))}. Speaker: {plan.model}. {judges}Dramaturg {versions}."
    )
    if plan.methods[1:] and plan.metrics:
        metric, judge = plan.primary_metric
        by = "" if metric in UNJUDGED else " by the mean of all judges" if judge == OF_ALL else f" by {judge}"
        yield f"Each method is compared with {plan.compared_with}; the primary comparison is that of {metric}{by}."
    yield from left_out_lines(plan)
    for rules, whose in (("paper", "the papers' rules"), ("ours", "our rules where we deviate from the papers")):
        if names := [name for name in plan.methods if rules_of(name) == rules]:
            yield f"By {whose}: {', '.join(names)}."
    yield from emotion_lines(plan, records)
    if plan.anonymous:
        yield "The judges were shown neither the names of the roles nor those of who asks."
    if has_judges(plan) and plan.model in plan.judges:
        yield (
            f"{plan.model} spoke, and is a judge of what it has said: models like what they write. Name another one by "
            "`--judge`."
        )
    if plan.bounds:
        yield (
            f"Beside the methods stand two that need no model. {FLOOR}, the floor, says one sentence to everything: "
            "its score is that of a role that has nothing to say. If this score is high, a method's high score proves "
            f"little. {CEILING}, the ceiling, says the right answer where there is one: if it does not get the best "
            "score, the measure is the cause. The two are in no test and in no cost, and what is missing of them does "
            "not make a run incomplete."
        )
    if len(plan.roles) == 1:
        yield (
            f"There is one role: intervals and tests are over its {found.units}, and nothing is concluded beyond it, "
            "not even for a role that is like it."
        )


def emotion_lines(plan: Plan, records: Records) -> Iterator[str]:
    """Which methods had moods that the chat model did not score, as the paper of Emotional RAG has it (II.B.2)."""
    scored: dict[str, list[str]] = {}
    for name in plan.methods:
        replies = (records.replies[one.key] for one in plan.of(name) if one.key in records.replies)
        encoders = {str(dict(one.evidence.get("mood") or {}).get("encoder", "")) for one in replies}
        for encoder in sorted(encoders - {"", "model"}):
            scored.setdefault(encoder, []).append(name)
    for encoder, names in scored.items():
        yield (
            f"Emotions in {', '.join(names)} were scored by {encoder} and not, as in the paper, by the chat model: "
            "`emotion_encoder` has no value under `rules`."
        )


def left_out_lines(plan: Plan) -> Iterator[str]:
    """What was not asked, or is left out, and why."""
    for one in plan.excluded:
        yield f"Left out of this report, as no method has it: “{one.text}” of {one.role} ({one.why})."
    if plan.taken_from:
        yield (
            f"This run began with what was answered in {plan.taken_from}, under another plan: whoever has seen numbers "
            "before planning has looked more than once."
        )
    if plan.unplayed:
        yield f"Left out, since not all of these methods can play them: {'; '.join(plan.unplayed)}."
    if plan.repeated:
        number = sum(plan.repeated.values())
        yield f"{number} question{'s' * (number > 1)} stood there more than once: each is asked once."
    if plan.left_out:
        gone = Counter[str]()
        for of in plan.left_out.values():
            gone.update(of)
        yield f"A limit left out: {'; '.join(f'{kind} {number}' for kind, number in gone.items())}."


def difference_parts(plan: Plan, found: Tables) -> Iterator[Part]:
    """Each method against the baseline, with its test, role by role; and all other pairs."""
    if not found.planned:
        return
    title = f"Differences from {plan.compared_with}"
    yield f"## {title}"
    yield table(DIFFERENCE_HEADS, *map(difference_cells, found.planned), brief=BRIEF, title=title)
    yield test_note(plan, found)
    yield from role_table(plan, found.planned)
    if others := [one for one in found.differences if not one.planned]:
        yield Fold(
            "Other pairs",
            [
                "Exploratory: nobody planned to compare these, and there are many. Their intervals are not corrected, "
                "and there is no test: what stands out is a question for another run.",
                table(
                    ("metric", "questions", "judge", "difference", "mean", "95 % interval", "pairs"),
                    *([*difference_cells(one)][:7] for one in others),
                ),
            ],
            "other-pairs",
            3,
        )


def test_note(plan: Plan, found: Tables) -> str:
    """How the planned comparisons are tested."""
    minus = f"Planned: each method minus {plan.compared_with}, the baseline"
    families = {
        name: [one for one in found.planned if one.corrected and one.primary == primary]
        for name, primary in (("primary", True), ("other", False))
    }
    if not any(families.values()):
        return f"{minus}. There is no test."
    counts = " and ".join(
        f"the {len(of)} {name} comparison{'s' * (len(of) > 1)}" for name, of in families.items() if of
    )
    how = sorted({one.corrected.method for of in families.values() for one in of if one.corrected})
    return (
        f"{minus}. p is corrected within {counts} ({'; '.join(how)}). * a corrected p of 0.05 or less, which stays so "
        f"if all that is missing were the worst for the difference. Intervals are over {found.units}. The smallest "
        f"difference to be seen is found in 80 of 100 such runs by this test, where {found.units} differ as they do "
        "here; — where none would be."
    )


def role_table(plan: Plan, planned: Sequence[Difference]) -> Iterator[Part]:
    """The differences role by role: one role that is far from the others makes a test of few roles unsafe."""
    shown = sorted((one for one in planned if one.by_role), key=lambda one: not one.primary)
    if shown:
        yield "Role by role:"
        heads = [", ".join(difference_name(one)) for one in shown]
        rows = (
            (role, *(signed(one.by_role[role]) if role in one.by_role else "" for one in shown)) for role in plan.roles
        )
        primary = heads[: sum(one.primary for one in shown)]
        brief = ("role", *primary) if primary else ()
        yield table(("role", *heads), *rows, brief=brief, title="Role by role")


def difference_name(one: Difference) -> tuple[str, str, str, str]:
    """What a difference is of."""
    mark = f" {WITHHELD}" if one.withheld else " (primary)" if one.primary else ""
    pair = one.first if one.planned else f"{one.first} {MINUS} {one.second}"
    return one.metric, SCOPES[one.scope], f"{one.judge}{mark}", pair


def difference_cells(one: Difference) -> Cells:
    """The cells of a difference."""
    yield from difference_name(one)
    mean, *others = comparison_cells(one.interval, one.p, one.corrected, one.test, starred=one.found)
    yield Cell(f"{mean}{WITHHELD * bool(one.withheld)}", grey=bool(one.withheld))
    yield from others
    yield smallest_seen(one.detectable) if one.p is not None else ""


def length_lines(plan: Plan, records: Records, found: Tables) -> Iterator[Part]:
    """How long the replies are, and what is left of differences at equal length."""
    told = [*lengths(plan, records)]
    if not told or not found.rows:
        return
    yield "## Length of replies"
    yield table(
        ("method", "characters", "95 % interval", "n"),
        *((name, f"{one.mean:,.0f}", length_ends(one), str(one.n_values)) for name, one in told),
    )
    if rows := [one for one in found.planned if one.equal_length]:
        yield (
            "At equal length: the difference less what length explains, which is how scores change with the logarithm "
            "of length among the replies of one method to one role. A reply that says more may deserve more: where a "
            "difference is not left at equal length, ask which of the two it is."
        )
        yield table(
            (*DIFFERENCE_HEADS[:5], "at equal length", "95 % interval"),
            *(length_cells(one) for one in rows),
        )


def length_ends(one: Interval) -> str:
    """An interval of characters."""
    return "none" if one.low is None or one.high is None else f"[{one.low:,.0f}, {one.high:,.0f}]"


def length_cells(one: Difference) -> Iterator[str]:
    """A difference beside what is left of it at equal length."""
    yield from difference_name(one)
    yield signed(one.interval.mean)
    if one.equal_length:
        yield from (signed(one.equal_length.mean), bounds(one.equal_length))


def cost_table(plan: Plan, records: Records) -> Iterator[Part]:
    """What replies have cost, and the index before them and the judgements after."""
    if found := costs(plan, records):
        first = ("method", "replies", "failed", "calls", "tokens", "seconds", "calls a reply")
        yield "## Cost"
        yield (
            "Seconds are the sum by the clock on the wall, also of replies at once. An index that was there before "
            "this run, or that a server made, has cost nothing here."
        )
        yield table((*first, "index: calls", "tokens", "judges: calls", "tokens"), *map(cost_cells, found))


def cost_cells(one: ReplyCosts) -> Cells:
    """What one method has cost."""
    yield from (one.contestant, *map("{:,}".format, one[1:6]))
    yield f"{one.calls / one.replies:.1f}" if one.replies else ""
    yield from map("{:,}".format, one[6:])


def judge_notes(plan: Plan, records: Records) -> Iterator[str]:
    """Where each metric is from, which version of its prompt was used, and what its paper leaves open."""
    lines = []
    for metric in plan.metrics:
        if judge := JUDGES.get(metric):
            versions = sorted({one.prompt for one in records.judged.values() if one.metric == metric})
            lines.append(f"- {metric}: {judge.source}. Prompt {', '.join(versions) or 'not used yet'}. {judge.note}")
        elif metric == RECALL:
            lines.append(f"- {metric}: whether the reply holds a fact that the user told before; no judge.")
        elif metric in OF_SCENES:
            lines.append(f"- {metric}: {ASKS[metric]} Words are looked for; no judge.")
        else:
            lines.append(
                f"- {metric}: the cosine of the reply with the right answer, or the nearest of several. It rewards the "
                "words and the length of the right answer, and sees neither a wrong fact nor an invented one. It has "
                "no check above, because the ceiling is the right answer itself."
            )
    if lines:
        yield "## Measures\n\n" + "\n".join(lines)


def spread_lines(plan: Plan, records: Records, found: Tables) -> Iterator[Part]:
    """What share of the spread is roles, questions and seeds; nothing where there is one seed, or no number."""
    rows = [one for one in found.rows if not one.bound]
    if len(plan.seeds) < 2 or not rows:
        return
    yield "## Where the spread is from"
    yield (
        "The variance of the values, parted into that of roles, of the questions of a role, and of the answers to a "
        "question with another seed, as shares; random effects, one within the other, by the method of moments. More "
        "seeds narrow the last part alone. n: roles, questions, values. 0 (< 0): estimated below 0, too small to be "
        "seen here."
    )
    yield table(SPREAD_HEADS, *(spread_cells(plan, records, one) for one in rows))


def spread_cells(plan: Plan, records: Records, row: Row) -> tuple[str, ...]:
    """The parts of one number's spread, or why there are none."""
    about = (row.metric, row.named, SCOPES[row.scope], row.judge)
    found, keys = by_reply(records, row.metric, row.judge), set(row.replies)
    values: dict[str, dict[str, list[float]]] = {}
    for one in plan.of(row.contestant):
        if one.key in keys and (value := value_of(one, found)) is not None:
            values.setdefault(one.role, {}).setdefault(one.question, []).append(value)
    try:
        parts = variance_components(values)
    except ValueError as error:
        return (*about, str(error), "", "", "", "")
    shares = {name: f"{one:.3f}" for name, one in parts.shares.items()} | dict.fromkeys(parts.negative, "0 (< 0)")
    shown = (shares.get(name, "not known of one role") for name in ("role", "question", "seed"))
    n = f"{parts.n_roles}, {parts.n_questions}, {parts.n_values}"
    return (*about, *shown, f"{parts.question + parts.seed + (parts.role or 0):.4f}", n)
