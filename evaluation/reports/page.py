"""The report of a run, as Markdown and as one page that needs nothing else: each number leads to its replies."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from statistics import fmean
from string import Template

from markdown_it import MarkdownIt

from dramaturg.evaluation.comparison.plan import Entry, Plan, read_plan
from dramaturg.evaluation.comparison.records import Judged, RecordFile, Records, Reply
from dramaturg.evaluation.judging.measures import scale_of, shown_texts
from dramaturg.evaluation.metrics.figures import calibration_figure, image, interval_figure, radar
from dramaturg.evaluation.reports.interviews import interview_sections
from dramaturg.evaluation.reports.judges import calibrations, judge_lines
from dramaturg.evaluation.reports.markdown import (
    HEADS,
    TEXTS,
    about,
    cost_table,
    difference_table,
    judge_notes,
    markdown,
    refusal_lines,
    row_cells,
    spread_lines,
)
from dramaturg.evaluation.reports.tables import Row, Tables, by_reply, signed, tables, value_of
from dramaturg.stores.files import write_bytes

MARKDOWN, PAGE = "report.md", "report.html"


def written_report(folder: Path) -> list[Path]:
    """Write the report of a run anew, from its plan and its records alone; return its files."""
    plan, records = read_plan(folder), RecordFile(folder).read()
    found = tables(plan, records)
    for name, text in ((MARKDOWN, markdown(plan, records, found)), (PAGE, page(plan, records, found))):
        write_bytes(folder / name, text.encode(), within=folder)
    return [folder / MARKDOWN, folder / PAGE]


def page(plan: Plan, records: Records, found: Tables) -> str:
    """The report as a page, with its pictures and all replies in it."""
    parts = [
        "<h1>Evaluation</h1>",
        *map(as_html, about(plan, found)),
        *interview_sections(plan, as_html),
        *metric_sections(plan, records, found.rows),
        *map(as_html, difference_table(found)),
        *map(as_html, refusal_lines(plan, records)),
        *map(as_html, judge_lines(plan, records)),
        *calibration_pictures(plan, records),
        *map(as_html, spread_lines(plan, records, found)),
        *map(as_html, cost_table(plan, records)),
        *map(as_html, judge_notes(plan, records)),
        "<h2>Replies</h2>",
        *reply_sections(plan, records),
    ]
    template = (files("dramaturg.evaluation.reports") / "page.html").read_text(encoding="utf-8")
    return Template(template).substitute(body="\n".join(parts))


def as_html(text: str) -> str:
    """Render a part of the report that is Markdown; tags in it are text."""
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))


def metric_sections(plan: Plan, records: Records, rows: Sequence[Row]) -> Iterator[str]:
    """A section for each metric: its table, its pictures, and behind each number its replies."""
    for metric, of in groupby(rows, key=lambda one: one.metric):
        known = list(of)
        yield f"<h2>{escape(metric)}</h2>"
        head = "".join(f"<th>{name}</th>" for name in HEADS)
        yield f"<table><tr>{head}</tr>{''.join(map(table_row, known))}</table>"
        for judge in dict.fromkeys(one.judge for one in known):
            named = [
                (f"{one.named} (out of scope)" if one.scope == "out" else one.named, one.interval, one.bound)
                for one in known
                if one.judge == judge
            ]
            means = attribute_means(plan, records, metric, judge)
            low, high = scale_ends(metric, means)
            yield image(interval_figure(f"{metric}, by {judge}", named, low, high))
            attributes = radar(f"{metric} by attribute, by {judge}", means, low, high)
            yield image(attributes) if attributes else ""
        yield from (behind(plan, records, one) for one in known)


def table_row(row: Row) -> str:
    """One number, as in the table of the Markdown; its mean leads to what is behind it."""
    texts = [escape(one) for one in row_cells(row)]
    mean = f'<a href="#{anchor(row)}">{texts[TEXTS]}</a>' if row.interval else texts[TEXTS]
    numbers = "".join(f"<td class=number>{one}</td>" for one in (mean, *texts[TEXTS + 1 :]))
    return f"<tr>{''.join(f'<td>{one}</td>' for one in texts[:TEXTS])}{numbers}</tr>"


def anchor(row: Row) -> str:
    """The id of the list of replies behind a number."""
    name = "-".join(["n", row.metric, row.scope or "all", row.judge, row.contestant])
    return escape(name.replace(" ", "_"), quote=True)


def behind(plan: Plan, records: Records, row: Row) -> str:
    """The replies behind a number, each with its value."""
    found, asked = by_reply(records, row.metric, row.judge), {one.key: one for one in plan.entries}
    lines = []
    for key in row.replies:
        value = value_of(asked[key], found)
        shown = "missing" if value is None else signed(value)
        text = escape(plan.question(asked[key]).text)
        lines.append(
            f'<li>{shown}: <a href="#r-{key}">{escape(asked[key].role)}, seed {asked[key].seed}</a> {text}</li>'
        )
    title = escape(f"{row.metric}, {row.contestant}, by {row.judge}: {len(lines)} replies")
    return f'<details id="{anchor(row)}"><summary>{title}</summary><ul>{"".join(lines)}</ul></details>'


def calibration_pictures(plan: Plan, records: Records) -> Iterator[str]:
    """A picture for each judge that gives probabilities."""
    for one in calibrations(plan, records):
        caption = (
            f"{one.metric}, by {one.judge}: P(yes) of {one.brier.n} replies that are known to be yes or no. "
            f"Brier score {one.brier.score:.3f}; of always saying the share that is yes, {one.brier.reference:.3f}."
        )
        drawn = image(calibration_figure(one.bins, "P(yes)", "share that is yes"))
        yield f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def scale_ends(metric: str, means: Mapping[str, Mapping[str, float]]) -> tuple[float, float]:
    """The ends of a metric's scale; of one that goes below 0, 0 and what lies below it."""
    scale, known = scale_of(metric), [one for of in means.values() for one in of.values()]
    return (min([0.0, *known]) if scale.low < 0 else scale.low), scale.high


def attribute_means(plan: Plan, records: Records, metric: str, judge: str) -> dict[str, dict[str, float]]:
    """The mean of each contestant by the attribute of questions."""
    found, means = by_reply(records, metric, judge), dict[str, dict[str, float]]()
    for name in plan.methods:
        values: dict[str, list[float]] = {}
        for one in plan.of(name):
            attribute, value = plan.question(one).attribute, value_of(one, found)
            if attribute and value is not None:
                values.setdefault(attribute, []).append(value)
        means[name] = {attribute: fmean(of) for attribute, of in values.items()}
    return means


def reply_sections(plan: Plan, records: Records) -> Iterator[str]:
    """All replies."""
    judged: dict[str, list[Judged]] = {}
    for one in records.judged.values():
        judged.setdefault(one.reply, []).append(one)
    yield from (reply_section(plan, one, records.replies.get(one.key), judged.get(one.key, [])) for one in plan.entries)


def reply_section(plan: Plan, entry: Entry, reply: Reply | None, judged: Sequence[Judged]) -> str:
    """A reply with what it was made from, and what was said of it."""
    question = plan.question(entry)
    title = f"{entry.contestant}, {entry.role}, seed {entry.seed}: {question.text}"
    inner = reply_parts(reply, judged) if reply else ["<p class=dim>Not asked yet.</p>"]
    gold = f"<p>Right answer: {escape(question.answer)}</p>" if question.answer else ""
    return f'<details id="r-{entry.key}"><summary>{escape(title)}</summary>{gold}{"".join(inner)}</details>'


def reply_parts(reply: Reply, judged: Sequence[Judged]) -> Iterator[str]:
    """What was said, what it was made from, and what judges said of it."""
    if reply.error:
        yield f"<p class=warning>No reply: {escape(reply.error)}</p>"
        return
    yield f"<blockquote>{escape(reply.text)}</blockquote>"
    yield f"<p class=dim>{reply.calls} calls, {reply.tokens:,} tokens, {reply.seconds:.1f} s</p>"
    yield from (judged_line(one) for one in judged if one.applicable)
    if texts := shown_texts(reply.evidence):
        yield f"<p>Made from:</p>{''.join(f'<pre>{escape(one)}</pre>' for one in texts)}"


def judged_line(one: Judged) -> str:
    """What a judge said."""
    value = f"missing ({one.error})" if one.value is None else signed(one.value)
    return f"<p>{escape(one.metric)}: {escape(value)}, by {escape(one.model)}. {escape(one.reason)}</p>"
