"""The report of a run, as Markdown and as one page that needs nothing else: each number leads to its replies."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import count
from pathlib import Path
from string import Template

from dramaturg.evaluation.comparison.exclusions import reported_plan
from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, RecordFile, Records, Reply
from dramaturg.evaluation.judging.measures import shown_texts
from dramaturg.evaluation.reports.document import Drawn, as_html, as_markdown
from dramaturg.evaluation.reports.numbers import places
from dramaturg.evaluation.reports.sections import sections
from dramaturg.evaluation.reports.tables import Tables, signed, tables
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


def markdown(plan: Plan, records: Records, found: Tables) -> str:
    """The report as Markdown."""
    return "\n\n".join(one for of in sections(plan, records, found).values() for one in as_markdown(of)) + "\n"


def page(plan: Plan, records: Records, found: Tables) -> str:
    """The report as a page, with its pictures and all replies in it."""
    there = dict(sections(plan, records, found))
    top = as_html(there.pop(""))
    if plan.entries:
        there["Replies"] = ["## Replies", Drawn(lambda: "".join(reply_sections(plan, records)))]
    links = " ".join(f'<a href="#s-{name.split()[-1].lower()}">{name}</a>' for name in there)
    body = [f"<section id=s-{name.split()[-1].lower()}>{''.join(as_html(of))}</section>" for name, of in there.items()]
    template, style = (
        (files("dramaturg.evaluation.reports") / name).read_text("utf-8") for name in ("page.html", "page.css")
    )
    own = b64encode(sha256(style.encode()).digest()).decode()  # by its checksum the style holds, and no other
    policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-{own}'"
    return scrolling(
        Template(template).substitute(
            policy=policy, style=style, top="\n".join(top), contents=links, body="\n".join(body)
        )
    )


def scrolling(html: str) -> str:
    """The same, with each table in a region that scrolls and can be reached by keys."""
    number = count(1)

    def opened(_: re.Match[str]) -> str:
        return f'<div class=scroll tabindex=0 role=region aria-label="Table {next(number)}"><table>'

    return re.sub("<table>", opened, html).replace("</table>", "</table></div>")


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
