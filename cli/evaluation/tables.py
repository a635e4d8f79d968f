"""What `dramaturg evaluate` and `report` show: for a person, and for a program."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from rich.table import Column, Table

from dramaturg.cli.output import table_of
from dramaturg.evaluation.comparison.contestants import rules_of
from dramaturg.evaluation.comparison.estimates import Estimate
from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.reports import document
from dramaturg.evaluation.reports.document import Note, Part
from dramaturg.evaluation.reports.tables import Tables
from dramaturg.evaluation.reports.values import SCOPES, has_judges

IN_TITLE = ("metric", "questions", "judge", "labels", "test")
"""The columns that a title stands for where all lines say the same, or nothing."""
ALL = SCOPES[""]


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


def screens(parts: Iterable[Part]) -> Iterator[Table]:
    """The tables of a report that a screen shows; what all lines of one say alike stands in its title."""
    for one in parts:
        if isinstance(one, document.Fold):
            yield from screens(one.parts)
        elif isinstance(one, document.Table) and one.brief:
            yield screen_of(one)


def screen_of(told: document.Table) -> Table:
    """A table, grey where nothing is concluded."""
    columns = {at: head for at, head in enumerate(told.heads) if head in told.brief}
    texts = {at: {document.text_of(row[at]) for row in told.rows} for at, head in columns.items() if head in IN_TITLE}
    alike = {at: "".join(of) for at, of in texts.items() if len(of - {""}) < 2}
    title = "; ".join([told.title, *(f"{columns[at]}: {text}" for at, text in alike.items() if text not in ("", ALL))])
    shown = [at for at in columns if at not in alike]
    table = table_of(title, *(Column(columns[at], overflow="fold") for at in shown))
    for row in told.rows:
        grey = any(one.grey for at in shown for one in document.several(row[at]))
        table.add_row(*(document.text_of(row[at]) for at in shown), style="dim" if grey else None)
    return table


def notes(parts: Iterable[Part]) -> Iterator[Note]:
    """The paragraphs of a report that a screen shows."""
    for one in parts:
        if isinstance(one, Note):
            yield one._replace(text=one.text.replace("**", ""))


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
