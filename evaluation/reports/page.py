"""The report of a run, as Markdown and as one page that needs nothing else: each number leads to its replies."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import count
from pathlib import Path
from statistics import fmean
from string import Template

from markdown_it import MarkdownIt

from dramaturg.evaluation.comparison.exclusions import reported_plan
from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, RecordFile, Records, Reply
from dramaturg.evaluation.judging.measures import shown_texts
from dramaturg.evaluation.judging.scales import scale_of
from dramaturg.evaluation.metrics.figures import calibration_figure, cost_figure, image, interval_figure
from dramaturg.evaluation.metrics.intervals import Interval
from dramaturg.evaluation.reports.chunk_usage import passage_lines
from dramaturg.evaluation.reports.interviews import interview_sections
from dramaturg.evaluation.reports.judges import calibrations, judge_lines
from dramaturg.evaluation.reports.markdown import (
    HEADS,
    TEXTS,
    about,
    cost_table,
    difference_table,
    interval_lines,
    judge_notes,
    length_lines,
    markdown,
    metric_lines,
    refusal_lines,
    row_cells,
    spread_lines,
)
from dramaturg.evaluation.reports.summary import (
    Column,
    MethodSummary,
    caveats,
    columns,
    findings,
    heads,
    method_summaries,
    summary_cells,
    summary_heads,
    table_note,
    withheld_lines,
)
from dramaturg.evaluation.reports.tables import (
    WITHHELD,
    ReplyCosts,
    Row,
    Tables,
    costs,
    signed,
    table,
    tables,
    whole,
)
from dramaturg.evaluation.reports.talks import talk_lines
from dramaturg.evaluation.reports.values import REFUSAL, SCOPES, by_reply, value_of
from dramaturg.stores.files import write_bytes

MARKDOWN, PAGE = "report.md", "report.html"


def written_report(folder: Path) -> list[Path]:
    """Write the report of a run anew, from its plan and its records alone; return its files."""
    return report_files(folder, reported_plan(folder), RecordFile(folder).read())


def report_files(folder: Path, plan: Plan, records: Records) -> list[Path]:
    """Write a report into a folder; return its files."""
    found = tables(plan, records)
    for name, text in ((MARKDOWN, markdown(plan, records, found)), (PAGE, page(plan, records, found))):
        write_bytes(folder / name, text.encode(), within=folder)
    return [folder / MARKDOWN, folder / PAGE]


def page(plan: Plan, records: Records, found: Tables) -> str:
    """The report as a page, with its pictures and all replies in it."""
    spent = costs(plan, records)
    top = [
        "<h1>Evaluation</h1>",
        *([as_html(findings(plan, found))] if plan.metrics else []),
        *summary_section(plan, found, spent),
        *([as_html(" ".join(told))] if plan.metrics and (told := [*caveats(plan, found)]) else []),
        *map(as_html, withheld_lines(found)),
    ]
    sections = {
        "What was done": map(as_html, about(plan, records, found)),
        "Interviews": interview_sections(plan, as_html),
        "Metrics": metric_sections(plan, records, found),
        "Talks": map(as_html, talk_lines(plan, records)),
        "Judges": [*map(as_html, judge_lines(plan, records, found)), *calibration_pictures(plan, records)],
        "Length": map(as_html, length_lines(plan, records, found)),
        "Spread": map(as_html, spread_lines(plan, records, found)),
        "Passages": map(as_html, passage_lines(plan, records)),
        "Cost": map(as_html, cost_table(plan, records)),
        "Measures": map(as_html, judge_notes(plan, records)),
        "Replies": ["<h2>Replies</h2>", *reply_sections(plan, records)] if plan.entries else [],
    }
    written = {title: "\n".join(parts) for title, parts in sections.items()}
    there = {title: text for title, text in written.items() if text}
    links = " ".join(f'<a href="#s-{title.split()[-1].lower()}">{title}</a>' for title in there)
    body = [f"<section id=s-{title.split()[-1].lower()}>{text}</section>" for title, text in there.items()]
    template, style = (
        (files("dramaturg.evaluation.reports") / name).read_text("utf-8") for name in ("page.html", "page.css")
    )
    own = b64encode(sha256(style.encode()).digest()).decode()  # by its checksum the style holds, and no other
    policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-{own}'"
    return Template(template).substitute(
        policy=policy, style=style, top=greyed("\n".join(top)), contents=links, body=scrolling(greyed("\n".join(body)))
    )


def scrolling(html: str) -> str:
    """The same, with each table in a region that scrolls and can be reached by keys."""
    number = count(1)

    def opened(_: re.Match[str]) -> str:
        return f'<div class=scroll tabindex=0 role=region aria-label="Table {next(number)}"><table>'

    return re.sub("<table>", opened, html).replace("</table>", "</table></div>")


def greyed(html: str) -> str:
    """The same, with cells of numbers from which nothing is concluded in grey."""
    return re.sub(rf"<td( class=number)?>(?=(?:(?!</td>).)*{WITHHELD})", r"<td class='number withheld'>", html)


def summary_section(plan: Plan, found: Tables, spent: Sequence[ReplyCosts]) -> Iterator[str]:
    """The table of all methods, and beside it what quality costs."""
    if not found.rows:
        return
    chosen, summaries = columns(plan, found), method_summaries(plan, found, spent)
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in summary_heads(plan, found))
    lines = []
    for one in summaries:
        named, rank, *texts, tokens = map(escape, summary_cells(plan, found, one))
        cells = []
        for column, text in zip(chosen, texts, strict=True):
            row = one.rows.get(column)
            mean, _, interval = text.partition(" [")
            shown = f"{mean} <small>[{interval}</small>" if interval else mean
            cells.append(f'<a href="#{anchor(row)}">{shown}</a>' if row and row.interval else shown)
        numbers = "".join(f"<td class=number>{text}</td>" for text in (rank, *cells, tokens))
        lines.append(f"<tr><th scope=row>{named}</th>{numbers}</tr>")
    drawn = cost_picture(plan, summaries, chosen[0]) if chosen else ""
    yield (
        f"<div class=first><div class=scroll tabindex=0 role=region aria-label='All methods by all metrics'>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>{drawn}</div>"
        f"<p class=dim>{escape(table_note(plan, found))}</p>"
    )


def cost_picture(plan: Plan, summaries: Sequence[MethodSummary], column: Column) -> str:
    """What the first metric has for its tokens; nothing where none were counted."""
    points = [
        (one.contestant, one.tokens, row.interval)
        for one in summaries
        if one.tokens and (row := one.rows.get(column)) and row.interval
    ]
    if not points:
        return ""
    (title,), scale = heads([column]), scale_of(column[0])
    low = min([0.0, *(of.low or 0.0 for *_, of in points)]) if scale.low < 0 else scale.low
    text = f"{title} by the tokens of a reply, index and judgements included: " + "; ".join(
        f"{name} {signed(of.mean)} for {tokens:,.0f}" for name, tokens, of in points
    )
    drawn = image(cost_figure(title, points, low, scale.high), text)
    caption = f"{title} by tokens a reply, index and judgements included"
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def as_html(text: str) -> str:
    """Render a part of the report that is Markdown; tags in it are text."""
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))


def metric_sections(plan: Plan, records: Records, found: Tables) -> Iterator[str]:
    """A fold for each metric: its table, its pictures, its differences, and behind each number its replies."""
    for metric in plan.metrics:
        yield f"<details class=metric id=m-{metric}><summary><h2>{escape(metric)}</h2></summary>"
        yield from map(as_html, withheld_lines(found, metric))
        yield from map(as_html, metric_lines(metric, found))
        known = [one for one in found.rows if one.metric == metric]
        if known:
            head = "".join(f"<th scope=col>{name}</th>" for name in HEADS)
            yield f"<table><tr>{head}</tr>{''.join(map(table_row, known))}</table>"
            yield from map(as_html, interval_lines(known))
        for judge in dict.fromkeys(one.judge for one in known):
            of = [one for one in known if one.judge == judge]
            named = [
                (f"{one.named} (out of scope)" if one.scope == "out" else one.named, one.interval, one.bound)
                for one in of
            ]
            low, high = scale_ends(metric, [one.interval for one in of if one.interval])
            title = f"{metric}, by {judge}"
            yield image(interval_figure(title, named, low, high), f"{title}: the means and intervals of the table")
            yield from map(as_html, attribute_table(plan, records, metric, judge))
        yield from map(as_html, difference_table(plan, found, metric))
        if metric == REFUSAL:
            yield from map(as_html, refusal_lines(plan, records))
        if known:
            yield "<details><summary>The replies behind each number</summary>"
            yield from (behind(plan, records, one) for one in known)
            yield "</details>"
        yield "</details>"


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
    """The replies behind a number: their values, role by role, each leading to its reply."""
    found, place = by_reply(records, row.metric, row.judge), places(plan)
    by_role: dict[str, list[str]] = {}
    for key in row.replies:
        at, one = place[key]
        value = value_of(one, found)
        shown = "missing" if value is None else whole(round(value, 3))
        by_role.setdefault(one.role, []).append(f"<a href=#r{at}>{shown}</a>")
    lines = "".join(f"<li>{escape(role)}: {' '.join(of)}</li>" for role, of in by_role.items())
    scope = f", {SCOPES[row.scope]}" if row.scope else ""
    title = escape(f"{row.metric}{scope}, {row.contestant}, by {row.judge}: {len(row.replies)} replies")
    return f'<details id="{anchor(row)}"><summary>{title}</summary><ul>{lines}</ul></details>'


def places(plan: Plan) -> dict[str, tuple[int, Entry]]:
    """Where each reply stands on the page."""
    return {one.key: (at, one) for at, one in enumerate(plan.entries)}


def calibration_pictures(plan: Plan, records: Records) -> Iterator[str]:
    """A picture for each judge that gives probabilities."""
    for one in calibrations(plan, records):
        caption = (
            f"{one.metric}, by {one.judge}: P(yes) of {one.brier.n} replies that are known to be yes or no. "
            f"Brier score {one.brier.score:.3f}; of always saying the share that is yes, {one.brier.reference:.3f}."
        )
        drawn = image(calibration_figure(one.bins, "P(yes)", "share that is yes"), caption)
        yield f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def scale_ends(metric: str, intervals: Iterable[Interval]) -> tuple[float, float]:
    """The ends of a metric's scale; of one that goes below 0, 0 and what lies below it."""
    scale = scale_of(metric)
    ends = [end for one in intervals for end in (one.mean, one.low) if end is not None]
    return (min([0.0, *ends]) if scale.low < 0 else scale.low), scale.high


def attribute_table(plan: Plan, records: Records, metric: str, judge: str) -> Iterator[str]:
    """The mean of each method by the attribute of questions, with how many there are; nothing without attributes."""
    found, values = by_reply(records, metric, judge), dict[tuple[str, str], list[float]]()
    for name in plan.methods:
        for one in plan.of(name):
            attribute, value = plan.question(one).attribute, value_of(one, found)
            if attribute and value is not None:
                values.setdefault((name, attribute), []).append(value)
    attributes = sorted({attribute for _, attribute in values})
    if len(attributes) > 1:
        yield f"By attribute, {judge}; means of n replies, which say little where n is small."
        rows = (
            (name, *(f"{fmean(of):.3f} ({len(of)})" if (of := values.get((name, one))) else "" for one in attributes))
            for name in plan.methods
        )
        yield table(("method", *(one.replace("_", " ") for one in attributes)), *rows)


def reply_sections(plan: Plan, records: Records) -> Iterator[str]:
    """All replies."""
    judged: dict[str, list[Judged]] = {}
    for one in records.judged.values():
        judged.setdefault(one.reply, []).append(one)
    for at, entry in places(plan).values():
        yield reply_section(plan, at, entry, records.replies.get(entry.key), judged.get(entry.key, []))


def reply_section(plan: Plan, at: int, entry: Entry, reply: Reply | None, judged: Sequence[Judged]) -> str:
    """A reply with what it was made from, and what was said of it."""
    question = plan.question(entry)
    asked = reply.asked if reply else question.text
    turn = f", {question.talk.id} turn {question.talk.turn}" if question.talk else ""
    title = f"{entry.contestant}, {entry.role}, seed {entry.seed}{turn}: {asked}"
    inner = reply_parts(reply, judged) if reply else ["<p class=dim>Not asked yet.</p>"]
    gold = f"<p>Right answer: {escape(question.answer)}</p>" if question.answer else ""
    return f"<details id=r{at}><summary>{escape(title)}</summary>{gold}{''.join(inner)}</details>"


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
