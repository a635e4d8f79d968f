"""Where the spread of an evaluation's scores is from, in Markdown: roles, questions, or one more answer."""

from collections.abc import Iterator

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.reports.cells import table
from dramaturg.evaluation.reports.tables import SCOPES, Row, Tables
from dramaturg.evaluation.reports.values import by_reply, value_of
from dramaturg.evaluation.variance_components import variance_components

HEADS = ("metric", "method", "questions", "judge", "roles", "questions of a role", "seeds", "variance", "n")


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
    yield table(HEADS, *(spread_cells(plan, records, one) for one in rows))


def spread_cells(plan: Plan, records: Records, row: Row) -> tuple[str, ...]:
    """The parts of one number's spread, or why there are none."""
    about = (row.metric, row.named, SCOPES[row.scope], row.judge)
    try:
        parts = variance_components(repeats(plan, records, row))
    except ValueError as error:
        return (*about, str(error), "", "", "", "")
    shares = {name: f"{one:.3f}" for name, one in parts.shares.items()} | dict.fromkeys(parts.negative, "0 (< 0)")
    shown = (shares.get(name, "not known of one role") for name in ("role", "question", "seed"))
    n = f"{parts.n_roles}, {parts.n_questions}, {parts.n_values}"
    return (*about, *shown, f"{parts.question + parts.seed + (parts.role or 0):.4f}", n)


def repeats(plan: Plan, records: Records, row: Row) -> dict[str, dict[str, list[float]]]:
    """The values behind a number, by role and question."""
    found, keys = by_reply(records, row.metric, row.judge), set(row.replies)
    values: dict[str, dict[str, list[float]]] = {}
    for one in plan.of(row.contestant):
        if one.key in keys and (value := value_of(one, found)) is not None:
            values.setdefault(one.role, {}).setdefault(one.question, []).append(value)
    return values
