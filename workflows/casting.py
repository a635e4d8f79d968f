"""What every door to casting does: who is meant, what a model would be asked, and the run, told as it goes."""

from collections.abc import Callable, Sequence
from typing import Any

from dramaturg.nodes.casting.cast import CastCost, cost_of_cast
from dramaturg.nodes.casting.characters import everybody, the_character, until
from dramaturg.nodes.casting.drafting import Character
from dramaturg.stores.documents.forms import Language, RoleCard
from dramaturg.stores.library import find_role
from dramaturg.stores.library_folder import Library
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import FOLDER, CastDraft
from dramaturg.stores.texts.form import SourceText
from dramaturg.workflows.cast import CastContext, graph

DEADLINE = 600  # seconds for one question, re-asks included, as where facts are extracted
WRITER = {"en": "Me", "zh": "我", "ko": "나"}
"""By language, the name of one who writes in the first person and is not named."""


def role_cast_before(name: str, shelf: Library) -> str | None:
    """The id of a role of this name that was cast from texts; None: there is none. It may block."""
    found = find_role(name, shelf.root)
    return found[0] if found and (shelf.root / found[0] / FOLDER).is_dir() else None


def texts_with(texts: Sequence[SourceText], role: Role | None) -> list[SourceText]:
    """These texts, and those that a role was cast from before, which are read again with them. It may block."""
    new = {one.name for one in texts}
    return [*texts, *(one for one in (CastDraft(role.root).texts() if role else ()) if one.name not in new)]


def weighed(texts: Sequence[SourceText], role: Role | None, context: CastContext, language: Language) -> CastCost:
    """Count what casting would ask at most; it blocks, and asks and changes nothing.

    Args:
        texts: all that are read.
        role: that they are cast for; None: it is not there yet.
        context: of the run.
        language: of the texts.

    Raises:
        RoleError: nobody in the texts has the name, or no heading ends them as wanted.
    """
    who = Character(context.character, ())
    if not context.first_person:
        aliases = role.card.aliases if role else ()
        who = the_character(context.character, aliases, everybody(texts, language), texts)
    for one in texts:
        until(one, context.until)
    return cost_of_cast(texts, who, context, language)


def put_beside(texts: Sequence[SourceText], context: CastContext, shelf: Library, language: Language) -> Role:
    """Put texts beside the role that they are cast for, which is made where it is not there. It may block."""
    if shelf.holds(context.role):
        role = shelf.role(context.role)
    else:
        sources = tuple(one.name for one in texts)
        role = shelf.create(context.role, RoleCard(name=context.character, language=language, sources=sources))
    CastDraft(role.root).add_texts(texts)
    return role


async def casted(context: CastContext, asked: Callable[[str, int, int], None], *, again: bool = False) -> Any:
    """Draft the files of a role from the texts beside it.

    Args:
        context: of the run.
        asked: is told of which kind a question was answered, how many of these are, and how many there are.
        again: whether to ask again what was answered before.

    Returns:
        The report; see `CastReport`.
    """
    report = None
    stream = graph.astream({"again": again}, context=context, stream_mode=["custom", "values"], version="v2")
    async for part in stream:
        event: Any = part["data"]
        if part["type"] == "values":
            report = event.get("cast", report)
        elif event["event"] == "asked" and event["total"]:
            asked(event["what"], event["done"], event["total"])
    return report
