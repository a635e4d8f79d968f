"""What `dramaturg evaluate` and `report` show: for a person, and for a program."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pydantic import BaseModel
from rich.table import Column, Table

from dramaturg.cli.output import table_of
from dramaturg.evaluation.comparison.contestants import rules_of
from dramaturg.evaluation.comparison.estimates import Estimate
from dramaturg.evaluation.comparison.interviews import Inventory
from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.reports.interviews import InterviewTables, Portrait, agreement_cells
from dramaturg.evaluation.reports.labels import LabelAgreement
from dramaturg.evaluation.reports.markdown import difference_cells, difference_name
from dramaturg.evaluation.reports.tables import WITHHELD, Row, Tables, bounds, signed
from dramaturg.evaluation.reports.values import SCOPES, has_judges


def estimate_table(found: Sequence[Estimate]) -> Table:
    """What is still to be asked, and what that costs as far as it is known; below it, what the numbers rest on."""
    notes = dict.fromkeys(one.basis for one in found if ": " in one.basis)
    numbers = (Column(name, justify="right") for name in ("to do", "done", "calls", "tokens", "minutes"))
    what = Column("", overflow="fold")
    table = Table(what, *numbers, "by", title="Still to be asked", title_justify="left", caption_justify="left")
    table.caption = "\n".join(note[:1].upper() + note[1:] for note in notes)
    for one in found:
        table.add_row(
            one.what,
            f"{one.left:,}",
            f"{one.done:,}",
            *priced(one.calls, one.tokens, one.seconds),
            one.basis.partition(": ")[0],
        )
    table.add_section()
    whole = [sum(column) for column in zip(*((one.calls, one.tokens, one.seconds) for one in found), strict=True)]
    table.add_row("in all", "", "", *priced(*whole), "")
    return table


def priced(calls: float, tokens: float, seconds: float) -> Iterator[str]:
    """Calls, tokens and minutes in a table."""
    yield from (f"{calls:,.0f}", f"{tokens:,.0f}", f"{seconds / 60:,.1f}")


def number_tables(found: Tables) -> Iterator[Table]:
    """For each metric and judge a table, grey where nothing is concluded; questions are told apart where needed."""
    for (metric, judge), of in groupby(found.rows, key=lambda one: (one.metric, one.judge)):
        rows = list(of)
        scoped = any(one.scope for one in rows)
        heads = (*(["questions"] * scoped), "mean", "95 % interval", "n", "missing")
        mark = f" {WITHHELD}: nothing is concluded from it" if rows[0].withheld else ""
        table = table_of(f"{metric}, by {judge}{mark}", Column("method", overflow="fold"), *heads)
        for one in rows:
            cells = (one.named, *([SCOPES[one.scope]] * scoped), *numbers(one))
            table.add_row(*cells, style="dim" if one.withheld else None)
        yield table


def numbers(one: Row) -> Iterator[str]:
    """A number with its interval, its n, and how many are missing."""
    interval = one.interval
    mark = WITHHELD if one.withheld else ""
    told = (f"{signed(interval.mean)}{mark}", bounds(interval), str(interval.n_values)) if interval else ()
    yield from told or ("none", "", "0")
    yield f"{one.missing.missing} of {one.missing.n}" if one.missing else "0"


def difference_tables(plan: Plan, found: Tables) -> Iterator[Table]:
    """Each method against the baseline, with its test, and the primary ones by role; the rest is in the report."""
    if not found.planned:
        return
    heads = ("metric", "judge", Column("method", overflow="fold"), "minus it", "95 % interval", "p", "p (corrected)")
    table = table_of(f"Differences from {plan.compared_with}", *heads)
    for one in found.planned:
        metric, scope, judge, _ = difference_name(one)
        mean, interval, _, p, corrected, *_ = [*difference_cells(one)][4:]
        style = "dim" if one.withheld else None
        metric = f"{metric}, {scope}" if one.scope else metric
        table.add_row(metric, judge, one.first, mean, interval, p, corrected, style=style)
    for test in dict.fromkeys(one.test for one in found.planned if one.test):
        table.caption = f"{table.caption or ''}{test[:1].upper()}{test[1:]}. "
    yield table
    first = [one for one in found.planned if one.primary and one.by_role]
    if first:
        names = (f"{one.first} {SCOPES[one.scope]}" if one.scope else one.first for one in first)
        table = table_of(f"{first[0].metric}, minus {plan.compared_with}, role by role", "role", *names)
        for role in plan.roles:
            table.add_row(role, *(signed(one.by_role[role]) if role in one.by_role else "" for one in first))
        yield table


def interview_screens(plan: Plan, heard: InterviewTables) -> Iterator[Table]:
    """For each inventory a table of types and scores, and one of how far they agree with labels."""
    for inventory in plan.inventories:
        yield type_table(inventory, [one for one in heard.portraits if one.inventory == inventory.metric])
        found = [one for one in heard.agreements if one.inventory == inventory.metric]
        for labels in dict.fromkeys(one.labels for one in found):
            title = f"{inventory.name}, by labels ({labels})"
            yield agreement_table(title, [one for one in found if one.labels == labels])


def type_table(inventory: Inventory, found: Sequence[Portrait]) -> Table:
    """The type and the scores of each role by one inventory, as each method plays it; spreads are in the report."""
    names = [one.name for one in inventory.dimensions]
    table = Table(title=inventory.name, title_justify="left")
    for head in ("method", "role", "seeds", "type", *names, "missing", "complete"):
        table.add_column(head, overflow="fold", no_wrap=head in ("method", "role", "type", "missing", "complete"))
    for one in found:
        scores = ("none" if of.score is None else f"{of.score:.1f}" for of in one.scores.values())
        gone = f"{one.missing} of {one.wanted}"
        seeds = ", ".join(map(str, one.seeds)) or "none"
        table.add_row(one.contestant, one.role, seeds, one.type, *scores, gone, "yes" if one.valid else "no")
    return table


def agreement_table(title: str, found: Sequence[LabelAgreement]) -> Table:
    """How far interviews agree with labels."""
    heads = (Column("method", overflow="fold"), "measure", "value", "95 % interval", "right", "floor", "ceiling")
    table = table_of(title, *heads)
    for one in found:
        _, *cells, _ = agreement_cells(one)  # what is left out is in the report
        table.add_row(*cells)
    return table


def provenance(plan: Plan, records: Records) -> dict[str, Any]:
    """What a run's numbers are of: what was asked, of whom, by which rules, and with which models."""
    of_plan = ("roles", "seeds", "metrics", "model", "dataset", "licence", "dramaturg", "turns", "user", "anonymous")
    return {
        "methods": {name: {"rules": rules_of(name) or None} for name in plan.methods},
        "compared_with": plan.compared_with,
        **{name: plain(getattr(plan, name)) for name in of_plan},
        "versions": [*plan.versions(records)],
        "judges": [*plan.judges] if has_judges(plan) else [],
        "embedding_models": dict(plan.embedders),
        "inventories": [one.metric for one in plan.inventories],
        "questions": {role: len(of) for role, of in plan.questions.items()},
        "left_out": plain(plan.left_out),
        "begun_from": plan.taken_from or None,
        "primary": dict(zip(("metric", "judge"), plan.primary_metric, strict=True)) if plan.metrics else None,
        "excluded": plain(plan.excluded),
    }


def as_record(found: Tables, spent: list[dict[str, Any]]) -> dict[str, Any]:
    """The same for a program; where nothing is concluded, `withheld` says why, and there is no p."""
    return {
        "rows": plain(found.rows),
        "differences": plain(found.differences),
        "units": found.units,
        "valid": found.valid,
        "problems": list(found.problems),
        "judges": [
            {
                "metric": one.metric,
                "judge": one.judge,
                "stands": one.stands,
                "why_not": one.why,
                "checks": plain(one.checks),
            }
            for one in found.credits
        ],
        "not_asked": [{"metric": metric, "scope": scope} for metric, scope in found.unasked],
        "costs": spent,
    }


def plain(value: Any) -> Any:
    """A table with all that it holds, as JSON has it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
