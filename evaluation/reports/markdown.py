"""The report of an evaluation in Markdown: no number without its n, its interval and what it can bear."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dramaturg.evaluation.comparison.contestants import CEILING, FLOOR, rules_of
from dramaturg.evaluation.comparison.plan import OF_ALL, Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.judges import JUDGES
from dramaturg.evaluation.judging.scales import ASKS, RECALL, UNJUDGED, scale_of
from dramaturg.evaluation.metrics.intervals import MISSING_ALLOWED, Interval
from dramaturg.evaluation.metrics.variance_components import variance_components
from dramaturg.evaluation.reports.chunk_usage import passage_lines
from dramaturg.evaluation.reports.differences import Difference
from dramaturg.evaluation.reports.interviews import interview_parts
from dramaturg.evaluation.reports.judges import judge_lines
from dramaturg.evaluation.reports.lengths import lengths
from dramaturg.evaluation.reports.summary import conclusion, summary_table, withheld_lines
from dramaturg.evaluation.reports.tables import (
    MINUS,
    WITHHELD,
    Row,
    Tables,
    bounds,
    comparison_cells,
    costs,
    overall_refusals,
    signed,
    smallest_seen,
    table,
    whole,
)
from dramaturg.evaluation.reports.talks import talk_lines
from dramaturg.evaluation.reports.values import REFUSAL, SCOPES, by_reply, has_judges, judges_of, value_of

DIFFERENCE_HEADS = (
    *("metric", "questions", "judge", "difference", "mean", "95 % interval", "pairs", "p", "p (corrected)", "test"),
    "smallest difference to be seen",
)
HEADS = ("method", "questions", "judge", "mean", "95 % interval", "n", "missing", "worst case", "not asked")
TEXTS = 3
"""The first columns, which hold text; the others hold numbers."""
BETTER = {"higher": "higher is better", "lower": "lower is better", "by_scope": "higher out of scope, lower in scope"}
SPREAD_HEADS = ("metric", "method", "questions", "judge", "roles", "questions of a role", "seeds", "variance", "n")


def markdown(plan: Plan, records: Records, found: Tables) -> str:
    """The report as Markdown."""
    parts = [
        "# Evaluation",
        *([conclusion(plan, found)] if plan.metrics else []),
        *withheld_lines(found),
        *summary_table(plan, found, costs(plan, records)),
        *about(plan, records, found),
        *interview_parts(plan),
        *metric_tables(plan, records, found),
        *difference_table(plan, found),
        *refusal_lines(plan, records),
        *judge_lines(plan, records, found),
        *length_lines(plan, records, found),
        *talk_lines(plan, records),
        *spread_lines(plan, records, found),
        *passage_lines(plan, records),
        *cost_table(plan, records),
        *judge_notes(plan, records),
    ]
    return "\n\n".join(parts) + "\n"


def about(plan: Plan, records: Records, found: Tables) -> Iterator[str]:
    """What was done, and whether all of it is there."""
    if not found.valid:
        yield (
            f"**This run is incomplete**: what was planned is missing, or more than {MISSING_ALLOWED:.0%} of a number. "
            "The same command asks for it. Nothing is concluded from numbers that lack it."
        )
        yield "\n".join(f"- {one}" for one in found.missing)
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


def metric_tables(plan: Plan, records: Records, found: Tables) -> Iterator[str]:
    """A table for each metric, and what its intervals are."""
    for metric in plan.metrics:
        yield f"## {metric}"
        yield from withheld_lines(found, metric)
        yield from metric_lines(metric, found)
        if of := [one for one in found.rows if one.metric == metric]:
            yield table(HEADS, *map(row_cells, of))
            if any(one.missing and one.missing.missing for one in of):
                yield "Worst case: the means between which the whole would lie, whatever the missing values were."
            yield from interval_lines(of)


def metric_lines(metric: str, found: Tables) -> Iterator[str]:
    """The scale of a metric, and of which questions it was not asked."""
    scale, rows = scale_of(metric), [one for one in found.rows if one.metric == metric]
    yield f"{ASKS[metric]} From {whole(scale.low)} to {whole(scale.high)}; {BETTER[scale.better]}."
    for scope in (scope for name, scope in found.unasked if name == metric):
        yield f"{SCOPES[scope].capitalize() if scope else 'It was'} not asked: the plan has no such question."
    if rows and not any(one.interval for one in rows):
        yield "Nothing was measured yet."


def interval_lines(rows: Sequence[Row]) -> Iterator[str]:
    """What the intervals of a table are, and where there is none or one that rests on little."""
    known = [one.interval for one in rows if one.interval]
    if methods := sorted({one.method for one in known if one.low is not None}):
        yield f"Intervals: {'; '.join(methods)}."
    yield from sorted(
        {
            f"{'There is no interval' if one.low is None else 'An interval rests on little'} where {one.reason}."
            for one in known
            if one.reason
        }
    )


def row_cells(row: Row) -> Iterator[str]:
    """The cells of a number; `worst case` says between which means the whole lies, whatever the missing were."""
    yield from (row.named, SCOPES[row.scope], row.judge)
    gone = row.missing
    if row.interval is None or gone is None:
        yield from ("none" if gone else "not asked", "", "0", str(gone.missing) if gone else "0", "")
        yield str(row.not_applicable)
        return
    yield f"{signed(row.interval.mean)}{WITHHELD * bool(row.withheld)}"
    yield from (bounds(row.interval), str(row.interval.n_values))
    yield f"{gone.missing} of {gone.n}"
    yield f"{signed(gone.lowest)} to {signed(gone.highest)}" if gone.missing else ""
    yield str(row.not_applicable)


def difference_table(plan: Plan, found: Tables, metric: str = "") -> Iterator[str]:
    """Each method against the baseline, with its test, role by role; and all other pairs. Of one metric, or of all."""
    of = [one for one in found.differences if metric in ("", one.metric)]
    if not (planned := [one for one in of if one.planned]):
        return
    yield f"### Differences from {plan.compared_with}"
    yield table(DIFFERENCE_HEADS, *map(difference_cells, planned))
    yield test_note(plan, found)
    yield from role_table(plan, planned)
    if others := [one for one in of if not one.planned]:
        yield "### Other pairs"
        yield (
            "Exploratory: nobody planned to compare these, and there are many. Their intervals are not corrected, and "
            "there is no test: what stands out is a question for another run."
        )
        yield table(DIFFERENCE_HEADS[:7], *([*difference_cells(one)][:7] for one in others))


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


def role_table(plan: Plan, planned: Sequence[Difference]) -> Iterator[str]:
    """The differences role by role: one role that is far from the others makes a test of few roles unsafe."""
    shown = [one for one in planned if one.by_role]
    if shown:
        yield "Role by role:"
        heads = ("metric", "questions", "judge", "difference", *plan.roles)
        yield table(
            heads,
            *(
                (
                    *difference_name(one),
                    *(signed(one.by_role[role]) if role in one.by_role else "" for role in plan.roles),
                )
                for one in shown
            ),
        )


def difference_name(one: Difference) -> tuple[str, str, str, str]:
    """What a difference is of."""
    mark = f" {WITHHELD}" if one.withheld else " (primary)" if one.primary else ""
    return one.metric, SCOPES[one.scope], f"{one.judge}{mark}", f"{one.first} {MINUS} {one.second}"


def difference_cells(one: Difference) -> Iterator[str]:
    """The cells of a difference."""
    yield from difference_name(one)
    mean, *others = comparison_cells(one.interval, one.p, one.corrected, one.test, starred=one.found)
    yield f"{mean}{WITHHELD * bool(one.withheld)}"
    yield from others
    yield smallest_seen(one.detectable) if one.p is not None else ""


def length_lines(plan: Plan, records: Records, found: Tables) -> Iterator[str]:
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
            ("metric", "questions", "judge", "difference", "mean", "at equal length", "95 % interval"),
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


def refusal_lines(plan: Plan, records: Records) -> Iterator[str]:
    """How often a role kept to what it can know, in and out of scope together; after RoleRAG's UQR."""
    names = [*plan.methods, *(one for one in plan.bounds if one == FLOOR)]
    judges = judges_of(plan, records, REFUSAL)
    rates = [(name, judge, overall_refusals(plan, records, name, judge)) for name in names for judge in judges]
    known = [f"{name} by {judge}: {rate:.3f}" for name, judge, rate in rates if rate is not None]
    if known:
        yield (
            "Kept to what the role can know, as a whole (refusals out of scope and answers in scope, of all; a role "
            f"that always refuses has the share of questions out of scope): {'; '.join(known)}."
        )


def cost_table(plan: Plan, records: Records) -> Iterator[str]:
    """What replies have cost, and the index before them and the judgements after."""
    if found := costs(plan, records):
        rows = (
            (
                one.contestant,
                str(one.replies),
                str(one.failed),
                f"{one.calls:,}",
                f"{one.tokens:,}",
                f"{one.seconds:,.1f}",
                f"{one.calls / one.replies:.1f}" if one.replies else "",
                f"{one.index_calls:,}",
                f"{one.index_tokens:,}",
                f"{one.judge_calls:,}",
                f"{one.judge_tokens:,}",
            )
            for one in found
        )
        first = ("method", "replies", "failed", "calls", "tokens", "seconds", "calls a reply")
        heads = (*first, "index: calls", "tokens", "judges: calls", "tokens")
        note = (
            "Seconds are the sum by the clock on the wall, also of replies at once. An index that was there before "
            "this run, or that a server made, has cost nothing here."
        )
        yield f"## Cost\n\n{note}\n\n{table(heads, *rows)}"


def judge_notes(plan: Plan, records: Records) -> Iterator[str]:
    """Where each metric is from, which version of its prompt was used, and what its paper leaves open."""
    lines = []
    for metric in plan.metrics:
        if judge := JUDGES.get(metric):
            versions = sorted({one.prompt for one in records.judged.values() if one.metric == metric})
            lines.append(f"- {metric}: {judge.source}. Prompt {', '.join(versions) or 'not used yet'}. {judge.note}")
        elif metric == RECALL:
            lines.append(f"- {metric}: whether the reply holds a fact that the user told before; no judge.")
        else:
            lines.append(
                f"- {metric}: the cosine of the reply with the right answer, or the nearest of several. It rewards the "
                "words and the length of the right answer, and sees neither a wrong fact nor an invented one. It has "
                "no check above, because the ceiling is the right answer itself."
            )
    if lines:
        yield "## Measures\n\n" + "\n".join(lines)


def spread_lines(plan: Plan, records: Records, found: Tables) -> Iterator[str]:
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
