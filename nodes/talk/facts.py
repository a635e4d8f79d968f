"""What is noted of a talk, when asked for: short statements with their turn, of which a later one replaces an earlier.

As in Zep (Rasmussen et al. 2025, sections 2.2.2 and 2.2.3) both are kept: what was replaced is found with what replaced
it. What a role is does not change by it: its own files and its identity are never written.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, StringConstraints

from dramaturg.models.errors import ModelError
from dramaturg.models.extracted import Extracted
from dramaturg.models.questions import extract
from dramaturg.nodes.run import Run
from dramaturg.nodes.talk.index import TalkIndex
from dramaturg.stores.conversations.talk import Fact, TalkRecord

MOST_NOTES = 12  # of an exchange
MOST_KNOWN = 20  # earlier ones that may be replaced: those that are nearest
LOOKED_AT = 40  # records among which they are


class Note(BaseModel):
    """A statement, and which of those from before it makes untrue."""

    about: Literal["user", "role", "world"] = "world"
    note: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]
    replaces: Annotated[list[int], Field(max_length=MOST_KNOWN)] = []


class Notes(Extracted):
    """What is noted of an exchange."""

    notes: Annotated[list[Note], Field(max_length=MOST_NOTES)]


class Known(NamedTuple):
    """A fact that holds, and its id."""

    id: str
    fact: Fact


def replaced_in(records: Sequence[TalkRecord]) -> dict[str, TalkRecord]:
    """By the id of each fact that holds no more: the record that has replaced it."""
    return {one: record for record in records for fact in record.facts for one in fact.replaces}


def known_facts(index: TalkIndex, words: str) -> list[Known]:
    """The facts of a branch that hold and are nearest to what is said, by its words; it may block."""
    replaced = replaced_in(index.records)
    found = [index.records[one.at] for one in index.nearest(words, None, len(index), LOOKED_AT)]
    known = [Known(f"{record.id}:{at}", fact) for record in found for at, fact in enumerate(record.facts)]
    return [one for one in known if one.id not in replaced and one.fact.text][:MOST_KNOWN]


async def noted(run: Run[Any], exchange: str, known: Sequence[Known]) -> tuple[tuple[Fact, ...], dict[str, Any]]:
    """Ask what is to be noted of an exchange; give it, and the evidence of it. No failure of the model loses the turn.

    Args:
        run: of the node that asks.
        exchange: what was said, a line each with its speaker in front.
        known: facts that it may replace.
    """
    listed = "\n".join(f"{number}. {one.fact.text}" for number, one in enumerate(known, 1))
    data = {"known": listed, "exchange": exchange}
    messages = run.prompt("note_facts").messages(role=run.role.card.name, data=data)
    try:
        found = await extract(run.chat, messages, Notes)
    except ModelError as error:
        return (), {"facts_error": str(error)}
    said = {one.fact.text.casefold() for one in known}
    facts = tuple(
        Fact(
            about=one.about,
            text=one.note,
            replaces=tuple(known[at - 1].id for at in dict.fromkeys(one.replaces) if 0 < at <= len(known)),
        )
        for one in found.notes
        if one.note.casefold() not in said
    )
    by_id = {one.id: one.fact.text for one in known}
    shown = [
        {"about": one.about, "text": one.text, "replaces": [by_id[other] for other in one.replaces]} for one in facts
    ]
    return facts, {"facts": shown, **({"facts_dropped": list(found.dropped)} if found.dropped else {})}
