"""What every door to casting does: who is meant, what a model would be asked, and the run, told as it goes."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import PurePath
from typing import Any

from dramaturg.nodes.casting.characters import Character, everybody, the_character, until
from dramaturg.nodes.casting.cost import CastCost, cost_of_cast
from dramaturg.nodes.dialogues.cast import spelling
from dramaturg.stores.documents.forms import Language, RoleCard
from dramaturg.stores.errors import RoleError
from dramaturg.stores.formats.markdown import language_of
from dramaturg.stores.library import find_role
from dramaturg.stores.library_folder import Library, examples, new_id_of
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import FOLDER, CastDraft
from dramaturg.stores.texts.form import SourceText
from dramaturg.workflows.cast import CastContext, graph

LANGUAGE_IN = 20_000  # characters of each text by which its language is told
DEADLINE = 600  # seconds for one question, re-asks included, as where facts are extracted
WRITER = {"en": "Me", "zh": "我", "ko": "나"}
"""By language, the name of one who writes in the first person and is not named."""


def language_in(texts: Sequence[SourceText]) -> Language:
    """The language of texts."""
    return language_of("\n".join(one.text[:LANGUAGE_IN] for one in texts))


def role_cast_before(name: str, shelf: Library, texts: Sequence[SourceText]) -> str | None:
    """The id of a role of this name that was cast from one of these texts; None: no role of it was cast. It may block.

    Raises:
        RoleError: one was, from other texts: it may be somebody else of the name.
    """
    found = find_role(name, shelf.root)
    if not found or spelling(found[1].name) != spelling(name) or not (shelf.root / found[0] / FOLDER).is_dir():
        return None
    names = CastDraft(shelf.root / found[0]).names()
    if {*names} & {one.name for one in texts}:
        return found[0]
    raise RoleError(
        f"{found[1].name} was cast before, from {', '.join(names)}, as {found[0]!r}: name this role to add to it, or "
        "another id."
    )


def role_of(name: str, shelf: Library, texts: Sequence[SourceText]) -> str:
    """The id of a character's own role: of one that it was cast as before, or a new one after its name. It may block.

    Raises:
        RoleError: a role of the id is there that was not cast from these texts.
    """
    if before := role_cast_before(name, shelf, texts):
        return before
    role = new_id_of(name)
    if shelf.holds(role) or role in examples():
        raise RoleError(
            f"There is a role {role!r} already: name it as the role that is cast for (--role {role}) to add to it, or "
            "take another name."
        )
    return role


def spelled(name: str, texts: Sequence[SourceText], language: Language) -> str:
    """A name as texts spell it, where they have it in other capitals."""
    names = (said for one in everybody(texts, language) for said in (one.name, *one.aliases))
    return next((said for said in names if spelling(said) == spelling(name)), name)


def texts_with(texts: Sequence[SourceText], role: Role | None) -> list[SourceText]:
    """These texts, and those that a role was cast from before, which are read again with them. It may block."""
    there = CastDraft(role.root).texts() if role else []
    new = apart(texts, there)
    return [*new, *(one for one in there if one.name not in {text.name for text in new})]


def apart(texts: Sequence[SourceText], there: Sequence[SourceText]) -> list[SourceText]:
    """Texts with names of their own: phones call every export the same.

    One takes the place of a text that is there and has its name only if they have a line in common.
    """
    known, found = {one.name: one for one in there}, dict[str, SourceText]()
    for text in texts:
        for name in _names_like(text.name):
            if name not in found and (name not in known or _has_grown(known[name], text)):
                found[name] = text._replace(name=name)
                break
    return [*found.values()]


def _names_like(name: str) -> Iterator[str]:
    path = PurePath(name)
    yield name
    yield from (f"{path.stem} ({number}){path.suffix}" for number in count(2))


def _has_grown(one: SourceText, other: SourceText) -> bool:
    """Whether two texts are one at two times: they have a line that says something in common."""
    lines, others = ({*filter(str.strip, text.text.split("\n"))} for text in (one, other))
    return any(not line.startswith("#") for line in lines & others)


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
    read, who = until(texts, context.until), Character(context.character, ())
    if not context.first_person:
        aliases = role.card.aliases if role else ()
        who = the_character(context.character, aliases, everybody(read, language), read)
    return cost_of_cast(read, who, context, language)


def put_beside(texts: Sequence[SourceText], context: CastContext, shelf: Library, language: Language) -> None:
    """Put texts beside the role that they are cast for, which is made where it is not there. It may block.

    They are put there as far as they are to be read: who adds a text later does not learn the end of these.
    """
    read = until(texts, context.until)
    if shelf.holds(context.role):
        role = shelf.role(context.role)
    else:
        sources = tuple(one.name for one in texts)
        role = shelf.create(context.role, RoleCard(name=context.character, language=language, sources=sources))
    draft = CastDraft(role.root)
    draft.add_texts(apart(read, draft.texts()))


async def casted(context: CastContext, asked: Callable[[str, int, int], None], *, again: bool = False) -> Any:
    """Draft the files of a role from the texts beside it.

    Args:
        context: of the run; its texts are cut already.
        asked: is told of which kind a question was answered, how many of these are, and how many there are.
        again: whether to ask again what was answered before.

    Returns:
        The report; see `CastReport`.
    """
    report, context = None, context.model_copy(update={"until": ""})
    stream = graph.astream({"again": again}, context=context, stream_mode=["custom", "values"], version="v2")
    async for part in stream:
        event: Any = part["data"]
        if part["type"] == "values":
            report = event.get("cast", report)
        elif event["event"] == "asked" and event["total"]:
            asked(event["what"], event["done"], event["total"])
    return report
