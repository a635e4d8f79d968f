"""The report of an evaluation in Markdown: no number without its n, its interval and what it can bear."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dramaturg.evaluation.comparison.contestants import CEILING, FLOOR, rules_of
from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.judges import JUDGES
from dramaturg.evaluation.judging.scales import RECALL, scale_of
from dramaturg.evaluation.metrics.intervals import MISSING_ALLOWED
from dramaturg.evaluation.metrics.variance_components import variance_components
from dramaturg.evaluation.reports.chunk_usage import passage_lines
from dramaturg.evaluation.reports.interviews import interview_parts
from dramaturg.evaluation.reports.judges import judge_lines
from dramaturg.evaluation.reports.standings import mark_lines
from dramaturg.evaluation.reports.summary import conclusion, summary_table
from dramaturg.evaluation.reports.tables import (
    MINUS,
    REFUSAL,
    SCOPES,
    Difference,
    Row,
    Tables,
    bounds,
    by_reply,
    comparison_cells,
    costs,
    has_judges,
    judges_of,
    overall_refusals,
    signed,
    smallest_seen,
    table,
    value_of,
    whole,
)
from dramaturg.evaluation.reports.talks import talk_lines

DIFFERENCE_HEADS = (
    *("metric", "questions", "judge", "difference", "mean", "95 % interval", "pairs", "p", "p (Holm)", "test"),
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
        *mark_lines(plan, records, *plan.metrics),
        *summary_table(plan, found, costs(plan, records)),
        *about(plan, records, found),
        *interview_parts(plan),
        *metric_tables(plan, records, found),
        *difference_table(plan, found),
        *refusal_lines(plan, records),
        *judge_lines(plan, records),
        *talk_lines(plan, records),
        *spread_lines(plan, records, found),
        *passage_lines(plan, records),
        *cost_table(plan, records),
        *judge_notes(plan, records),
    ]
    return "\n\n".join(parts) + "\n"


def about(plan: Plan, records: Records, found: Tables) -> Iterator[str]:
    """What was done, and whether it counts."""
    if not found.valid:
        yield (
            f"**This run is invalid**: what was planned is missing, or more than {MISSING_ALLOWED:.0%} of a number. "
            "The same command asks for it."
        )
        yield "\n".join(f"- {one}" for one in found.problems)
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
    yield f"Each method is compared with {plan.compared_with}."
    yield from left_out_lines(plan)
    for rules, whose in (("paper", "the papers' rules"), ("ours", "our rules where we deviate from the papers")):
        if names := [name for name in plan.methods if rules_of(name) == rules]:
            yield f"By {whose}: {', '.join(names)}."
    yield from emotion_lines(plan, records)
    if plan.anonymous:
        yield "The judges were shown neither the names of the roles nor those of who asks."
    if has_judges(plan) and set(plan.judges) == {plan.model}:
        yield "The judge is the model that spoke: models like what they write. Name another one by `--judge`."
    if plan.bounds:
        yield (
            f"Beside the methods stand two that need no model. {FLOOR}, the floor, says one sentence to everything: "
            "its score is that of a role that has nothing to say. If this score is high, a method's high score proves "
            f"little. {CEILING}, the ceiling, says the right answer where there is one: if it does not get the best "
            "score, the measure is the cause. The two are in no test and in no cost, and what is missing of them does "
            "not make a run invalid."
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
    """What was not asked, and why."""
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
        yield from mark_lines(plan, records, metric)
        yield from metric_lines(metric, found)
        if of := [one for one in found.rows if one.metric == metric]:
            yield table(HEADS, *map(row_cells, of))
            if any(one.missing and one.missing.missing for one in of):
                yield "Worst case: the means between which the whole would lie, whatever the missing values were."
            yield from interval_lines(of)


def metric_lines(metric: str, found: Tables) -> Iterator[str]:
    """The scale of a metric, and of which questions it was not asked."""
    scale, rows = scale_of(metric), [one for one in found.rows if one.metric == metric]
    yield f"From {whole(scale.low)} to {whole(scale.high)}; {BETTER[scale.better]}."
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
        {f"{'No interval where' if one.low is None else 'Where'} {one.reason}." for one in known if one.reason}
    )


def row_cells(row: Row) -> Iterator[str]:
    """The cells of a number; `worst case` says between which means the whole lies, whatever the missing were."""
    yield from (row.named, SCOPES[row.scope], row.judge)
    gone = row.missing
    if row.interval is None or gone is None:
        yield from ("none" if gone else "not asked", "", "0", str(gone.missing) if gone else "0", "")
        yield str(row.not_applicable)
        return
    yield from (signed(row.interval.mean), bounds(row.interval), str(row.interval.n_values))
    yield f"{gone.missing} of {gone.n}"
    yield f"{signed(gone.lowest)} to {signed(gone.highest)}" if gone.missing else ""
    yield str(row.not_applicable)


def difference_table(plan: Plan, found: Tables, tests: int | None = None) -> Iterator[str]:
    """Each method against the baseline, with tests that are corrected together; and all other pairs.

    Args:
        plan: the plan.
        found: what is shown.
        tests: over how many tests the correction is; None: those that are shown.
    """
    if not found.planned:
        return
    yield f"### Differences from {plan.compared_with}"
    yield table(DIFFERENCE_HEADS, *map(difference_cells, found.planned))
    number = tests or sum(one.p is not None for one in found.planned)
    minus = f"Planned: each method minus {plan.compared_with}, the baseline"
    yield (
        f"{minus}. Holm's correction is over "
        f"{f'all {number} tests' if number > 1 else 'this one test'}; a p (Holm) below 0.05 is marked by *. Intervals "
        f"are over {found.units}. The smallest difference to be seen is found in 80 of 100 such runs, where "
        f"{found.units} differ as they do here and p has to come below 0.05 / {number}; — where none would be."
        if number
        else f"{minus}. There is no test."
    )
    if others := [one for one in found.differences if not one.planned]:
        yield "### Other pairs"
        yield (
            "Exploratory: nobody planned to compare these, and there are many. Their intervals are not corrected, and "
            "there is no test: what stands out is a question for another run."
        )
        yield table(DIFFERENCE_HEADS[:7], *([*difference_cells(one)][:7] for one in others))


def difference_cells(one: Difference) -> Iterator[str]:
    """The cells of a difference."""
    yield from (one.metric, SCOPES[one.scope], one.judge, f"{one.first} {MINUS} {one.second}")
    yield from comparison_cells(one.interval, one.p, one.corrected, one.test)
    yield smallest_seen(one.detectable)


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
