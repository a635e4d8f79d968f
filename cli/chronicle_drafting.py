"""`dramaturg chronicle --draft`: triples that a model draws up from a role's documents."""

import asyncio
from collections.abc import Sequence

from rich.table import Table

from dramaturg.cli.indexing import FAILED, report_line
from dramaturg.cli.known_chronicle import Known, show_draft
from dramaturg.cli.progress_bars import bars
from dramaturg.cli.screen import print_json, printable, screen
from dramaturg.models.chat import ChatModel
from dramaturg.nodes.identity.drafting import Draft, FailedChunk, chunks_of, draft_chronicle
from dramaturg.nodes.run import RoleContext, respondent_of
from dramaturg.stores.chronicle_files import refuse_second_draft, write_draft
from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.passages import StoredPassage

DEADLINE = 600  # seconds for one chunk, re-asks included, as where facts are extracted


def make_draft(known: Known, model: str, *, dry_run: bool, again: bool, as_json: bool) -> None:
    """Draft triples from a role's documents, or say what that costs.

    Raises:
        RoleError: there are no documents, or a draft that is not to be made again.
        ModelError: the model cannot be reached; nothing is written.
    """
    documents = known.role.documents()
    chunks = chunks_of(documents)
    if not chunks:
        raise RoleError(f"{known.role.id!r} has no persona document with text: write one into its folder persona/.")
    if dry_run:
        cost = {"documents": len(documents), "chunks": len(chunks), "questions": len(chunks)}
        print_json(cost) if as_json else screen.print(report_line(cost))
        return
    if not again:
        refuse_second_draft(known.role.root)
    found, chat = asyncio.run(drafted(known, chunks, model))
    if found.triples:
        write_draft(known.role.root, found.triples, again=again)
    tell_draft(known, found, chat, as_json=as_json)


async def drafted(known: Known, chunks: Sequence[StoredPassage], model: str) -> tuple[Draft, ChatModel]:
    """Ask about all chunks under a progress bar."""
    card, context = known.role.card, RoleContext(role=known.role.id, chat_model=model, deadline=DEADLINE)
    chat = await respondent_of(context, known.role)
    with bars() as progress:
        task = progress.add_task("Drafting", total=len(chunks))
        found = await draft_chronicle(
            chat,
            chunks,
            role=card.name,
            language=card.language,
            relations=known.templates(),
            known=known.triples(),
            announce=lambda done: progress.update(task, completed=done),
        )
    return found, chat


def tell_draft(known: Known, found: Draft, chat: ChatModel, *, as_json: bool) -> None:
    """Say what was drafted, what nothing could be had of, and what it cost."""
    failed, usage = [one._asdict() for one in found.failed], chat.account.usage()
    if as_json:
        print_json({"draft": known.rows(found.triples), "failed": failed, "usage": usage})
        return
    if not found.triples:
        screen.print("Nothing was drafted that the chronicle does not hold already.")
    show_draft(known, found.triples)
    if found.failed:
        screen.print(failures_table(found.failed))


def failures_table(failed: Sequence[FailedChunk]) -> Table:
    """The chunks that nothing could be had of, and why."""
    title = "Chunks without an answer that could be used; --draft --again asks about all of them anew"
    shown = Table("document", "heading", "why", title=title, title_justify="left")
    for one in failed[:FAILED]:
        shown.add_row(*map(printable, one))
    if len(failed) > FAILED:
        shown.add_row("…", "", f"and {len(failed) - FAILED} more")
    return shown
