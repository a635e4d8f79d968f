"""`dramaturg chronicle`: who a role is, triple by triple; drafted from its documents, and taken over by a person."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Column, Table

from dramaturg.cli.library.indexing import failures_table, report_line
from dramaturg.cli.options import (
    JsonOption,
    LibraryOption,
    ModelOption,
    RoleArgument,
    one_wish,
    shelf_of,
)
from dramaturg.cli.output import errors, note, one_line, print_json, screen, table_of
from dramaturg.cli.progress import bars, counting
from dramaturg.cli.stopping import stopping
from dramaturg.models.chat import Usage
from dramaturg.nodes.identity.chronicle import templates, triple_sentence
from dramaturg.nodes.identity.drafting import ChronicleDraft, chunks_of, draft_chronicle
from dramaturg.nodes.run import RoleContext, run_of
from dramaturg.nodes.told import told_documents
from dramaturg.stores.documents.chronicle import DRAFT, accept, read_draft, refuse_second_draft, reject, write_draft
from dramaturg.stores.documents.forms import CHRONICLE, Triple
from dramaturg.stores.documents.originals import unread_sentence
from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.role import Role


class KnownChronicle(NamedTuple):
    """A role whose identity is looked at."""

    role: Role

    def triples(self) -> list[Triple]:
        """What its chronicle holds."""
        return list(self.role.chronicle().triples)

    def drafted(self) -> list[Triple]:
        """What is drafted and waits for a decision."""
        waiting = read_draft(self.role.root)
        return list(waiting.triples) if waiting else []

    def templates(self) -> dict[str, str]:
        """How relations are put into words: in the words of its own chronicle before ours."""
        return {**templates(self.role.card.language), **self.role.chronicle().sentences}

    def said(self, triples: Sequence[Triple]) -> list[str]:
        """The sentences of triples."""
        own = self.templates()
        return [triple_sentence(one, self.role.card.language, own) for one in triples]

    def rows(self, triples: Sequence[Triple]) -> list[dict[str, Any]]:
        """Triples for a program."""
        return [
            {"number": number, "sentence": said, **one.model_dump(mode="json")}
            for number, (one, said) in enumerate(zip(triples, self.said(triples), strict=True), start=1)
        ]


DEADLINE = 600  # seconds for one chunk, re-asks included, as where facts are extracted
NUMBERS = re.compile(r"(?P<first>[0-9]{1,6})(?:-(?P<last>[0-9]{1,6}))?")


def chronicle(
    role: RoleArgument,
    draft: Annotated[bool, typer.Option("--draft", help="Let a model draft triples from the persona.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --draft: print what it would cost.")] = False,
    again: Annotated[bool, typer.Option("--again", help="With --draft: replace the waiting draft.")] = False,
    model: ModelOption = "auto",
    take: Annotated[
        str,
        typer.Option(
            "--accept", metavar="NUMBERS", help="Accept these triples of the draft, or of --thread: 1,3-5, or all."
        ),
    ] = "",
    drop: Annotated[
        str, typer.Option("--reject", metavar="NUMBERS", help="Reject these triples of the draft: 1,3-5, or all.")
    ] = "",
    review: Annotated[bool, typer.Option("--review", help="Review the draft triple by triple.")] = False,
    thread: Annotated[
        str,
        typer.Option("--thread", help="Name of a conversation whose changes of the role are shown, or accepted."),
    ] = "",
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a role's identity as triples, or draft triples and decide which of them to accept."""
    wishes = {"draft": draft, "accept": bool(take), "reject": bool(drop), "review": review}
    wish = the_wish(wishes, {"dry-run": dry_run, "again": again, "model": model != "auto", "json": as_json})
    known = KnownChronicle(shelf_of(library).open(role))
    if thread:
        if wish not in {"", "accept"}:
            raise ValueError(f"--{wish} is about the draft: what a conversation has changed is taken with --accept.")
        from dramaturg.cli.library.chronicle_changes import take_over

        take_over(known, thread, take, library, as_json=as_json)
    elif wish == "draft":
        make_draft(known, model, dry_run=dry_run, again=again, as_json=as_json)
    elif wish == "review":
        go_through(known)
    elif wish:
        decide(known, wish, take or drop, as_json=as_json)
    else:
        show(known, as_json=as_json)


def the_wish(wishes: Mapping[str, bool], given: Mapping[str, bool]) -> str:
    """What is to be done; empty: show the chronicle."""
    wish = one_wish(wishes)
    if alone := [name for name in ("dry-run", "again", "model") if given[name] and wish != "draft"]:
        raise ValueError(f"--{alone[0]} is about a draft that is made: add --draft.")
    if wish == "review" and given["json"]:
        raise ValueError("--review asks you on the terminal: for a program, decide with --accept and --reject.")
    return wish


def show(known: KnownChronicle, *, as_json: bool) -> None:
    """Print the chronicle, and what is drafted for it."""
    triples, drafted = known.triples(), known.drafted()
    if as_json:
        print_json({"triples": known.rows(triples), "draft": known.rows(drafted)})
        return
    role = known.role.id
    if triples:
        screen.print(table(f"Chronicle of {role}: {len(triples)}", known, triples))
    elif not drafted:
        how = f"write {CHRONICLE}, or have one drafted from its documents: dramaturg chronicle {role} --draft"
        screen.print(f"{role} has no chronicle: {how}", soft_wrap=True)
    show_draft(known, drafted)


def show_draft(known: KnownChronicle, drafted: Sequence[Triple]) -> None:
    """Print a draft, if there is one, and how to decide on it."""
    if not drafted:
        return
    screen.print(table(f"Draft for {known.role.id}: {len(drafted)}", known, drafted))
    how = f"dramaturg chronicle {known.role.id} --review, or --accept 1,3-5 and --reject 2, or all"
    screen.print(f"Decide: {how}", soft_wrap=True)


def table(title: str, known: KnownChronicle, triples: Sequence[Triple]) -> Table:
    """Triples, one a row."""
    columns = (Column("", justify="right"), "", "kind", "says", Column("from", overflow="fold"), "since", "until")
    shown = table_of(title, *columns)
    for number, (one, said) in enumerate(zip(triples, known.said(triples), strict=True), start=1):
        cells = ("core" if one.core else "", one.kind, said, one.source, one.since or "", one.until or "")
        shown.add_row(str(number), *cells)
    return shown


def make_draft(known: KnownChronicle, model: str, *, dry_run: bool, again: bool, as_json: bool) -> None:
    """Draft triples from a role's documents, or say what that costs."""
    documents = told_documents(known.role)
    chunks = chunks_of(documents)
    if not chunks:
        lacks = f"{known.role.id!r} has no persona document with text that is told to it: write one into persona/."
        raise RoleError(f"{lacks} {unread_sentence(known.role.root)}".strip())
    if dry_run:
        cost = {"documents": len(documents), "chunks": len(chunks), "questions": len(chunks)}
        print_json(cost) if as_json else screen.print(report_line(cost))
        return
    if not again:
        refuse_second_draft(known.role.root)
    stopping.promise("Nothing of this draft is kept: the same command begins it again.")
    found, usage = asyncio.run(drafted(known, chunks, model))
    if found.triples:
        write_draft(known.role.root, found.triples, again=again)
    show_drafted(known, found, usage, as_json=as_json)


async def drafted(known: KnownChronicle, chunks: Sequence[StoredPassage], model: str) -> tuple[ChronicleDraft, Usage]:
    """Ask about all chunks under a progress bar; what that cost is returned too."""
    card, context = known.role.card, RoleContext(role=known.role.id, chat_model=model, deadline=DEADLINE)
    chat = (await run_of(context)).chat
    with bars() as show:
        found = await draft_chronicle(
            chat,
            chunks,
            role=card.name,
            language=card.language,
            relations=known.templates(),
            known=known.triples(),
            announce=counting(show, "Drafting", len(chunks)),
        )
    return found, chat.account.usage()


def show_drafted(known: KnownChronicle, found: ChronicleDraft, usage: Usage, *, as_json: bool) -> None:
    """Say what was drafted, what nothing could be had of, and what it cost."""
    failed = [one._asdict() for one in found.failed]
    if as_json:
        left = {"failed": failed, "dropped": found.dropped, "held": found.held}
        print_json({"draft": known.rows(found.triples), **left, "usage": usage})
        return
    if not found.triples:
        screen.print(why_nothing(known, found), soft_wrap=True)
    show_draft(known, found.triples)
    if found.failed:
        screen.print(failures_table(failed))
    for what in found.dropped:
        note(f"Left out: {one_line(what)}", "yellow")


def why_nothing(known: KnownChronicle, found: ChronicleDraft) -> str:
    """Why a draft is empty."""
    if found.held:
        but = f", and {len(found.failed)} parts of the documents have no usable answer" if found.failed else ""
        return f"Nothing was drafted that the chronicle does not hold already{but}."
    if found.failed or found.dropped:
        return "Nothing was drafted: of what the model answered, nothing could be used."
    return f"Nothing was drafted: the model found nothing in the documents that says who {known.role.card.name} is."


def decide(known: KnownChronicle, wish: str, numbers: str, *, as_json: bool) -> None:
    """Take triples of the draft over, or out of it."""
    waiting = the_draft(known)
    chosen = [waiting[number - 1] for number in chosen_numbers(numbers, len(waiting))]
    new = carry_out(known, wish, chosen)
    left = known.drafted()
    if as_json:
        print_json({wish: known.rows(chosen), "new": len(new), "left": known.rows(left)})
        return
    rest = f"{len(left)} left in the draft." if left else "nothing is left in the draft."
    there = f" ({len(chosen) - len(new)} it held already)" if len(chosen) > len(new) else ""
    took = f"{len(new)} over into {CHRONICLE}{there}" if wish == "accept" else f"{len(chosen)} out of the draft"
    screen.print(f"Took {took}; {rest}", soft_wrap=True)
    show_draft(known, left)


def go_through(known: KnownChronicle) -> None:
    """Ask about one triple after the other; each decision is kept at once."""
    waiting = the_draft(known)
    for number, (one, said) in enumerate(zip(waiting, known.said(waiting), strict=True), start=1):
        screen.print(f"{number} of {len(waiting)}: {said}", style="bold", soft_wrap=True)
        marks = " · ".join(part for part in ("core" if one.core else "", one.kind, one.source) if part)
        screen.print(marks, style="dim", soft_wrap=True)
        answer = asked()
        if answer == "q":
            break
        carry_out(known, "accept" if answer == "y" else "reject", [one])
    screen.print(f"{len(known.triples())} in {CHRONICLE}, {len(known.drafted())} left in the draft.")


def asked() -> str:
    """What a person says to a triple."""
    question = "Accept it? y, n, or q to decide later"
    while (said := str(typer.prompt(question, err=True)).strip().lower()) not in {"y", "n", "q"}:
        errors.print("Answer y to accept it, n to reject it, q to decide later.")
    return said


def carry_out(known: KnownChronicle, wish: str, chosen: Sequence[Triple]) -> list[Triple]:
    """Take triples over, or out of the draft; return those that are new to the chronicle."""
    if wish == "accept":
        return accept(known.role.root, chosen)
    reject(known.role.root, chosen)
    return []


def the_draft(known: KnownChronicle) -> list[Triple]:
    """Return what is drafted."""
    waiting = known.drafted()
    if not waiting:
        raise RoleError(f"There is no {DRAFT}: make one with `dramaturg chronicle {known.role.id} --draft`.")
    return waiting


def chosen_numbers(text: str, count: int, of: str = "triple") -> list[int]:
    """Read numbers such as 1,3-5, or all; each once, in order."""
    if text.strip().lower() == "all":
        return list(range(1, count + 1))
    found = set[int]()
    for part in text.split(","):
        match = NUMBERS.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part.strip()!r} is no number of a {of}: give numbers as 1,3-5, or all.")
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if not 1 <= first <= last <= count:
            raise ValueError(f"{part.strip()} is not among them: they have the numbers 1 to {count}.")
        found.update(range(first, last + 1))
    return sorted(found)
