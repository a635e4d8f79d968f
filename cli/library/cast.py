"""`dramaturg cast`: who is in a text, and a role cast from it: drafts of the files of all methods, to be taken over."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from rich.table import Column, Table

from dramaturg.cli.library.cast_drafts import choices, decide, go_through, show_drafts
from dramaturg.cli.options import (
    JsonOption,
    LibraryOption,
    ModelOption,
    command_line,
    library_path,
    names_in,
    one_wish,
    shelf_of,
)
from dramaturg.cli.output import errors, note, one_line, print_json, screen, table_of
from dramaturg.cli.progress import bars, waiting
from dramaturg.cli.stopping import stopping
from dramaturg.models.clients import address_of, is_embedded, name_of
from dramaturg.stores.documents.forms import Language
from dramaturg.stores.library import find_role
from dramaturg.stores.library_folder import Library, check_id
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import KINDS, CastDraft, Kind
from dramaturg.stores.texts.form import SourceText
from dramaturg.stores.texts.reading import read_source

if TYPE_CHECKING:
    from dramaturg.nodes.casting.cost import CastCost
    from dramaturg.workflows.cast import CastContext

PEOPLE = 20
"""Rows of who is in a text."""
WORK = {
    "speakers": "Who says it",
    "drafts": "What it tells",
    "card": "Profile",
}
"""What is asked, by the `what` of its events."""


def cast_(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE …", help="Novels, scripts, chat exports, diaries, pages.", show_default=False),
    ] = None,
    who: Annotated[
        str, typer.Option("--who", metavar="NAME", help="The character to cast, by a name it has there.")
    ] = "",
    as_who: Annotated[
        str, typer.Option("--as", metavar="me", help="me: the role is who writes, in the first person.")
    ] = "",
    until: Annotated[
        str, typer.Option("--until", metavar="HEADING", help="Read no further than where this heading begins.")
    ] = "",
    role: Annotated[str, typer.Option("--role", metavar="ID", help="The id of the role. Default: from the name.")] = "",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="KIND", help=f"Draft only some of: {', '.join(KINDS)}.")
    ] = None,
    without_model: Annotated[
        bool, typer.Option("--without-model", help="Draft what rules find, and ask no model.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Ask again what was answered before.")] = False,
    take: Annotated[
        str,
        typer.Option("--accept", metavar="KINDS", help="Accept drafts: all, persona,dialogues or memories:1,3-5."),
    ] = "",
    drop: Annotated[str, typer.Option("--refuse", metavar="KINDS", help="Refuse drafts, in the same way.")] = "",
    review: Annotated[bool, typer.Option("--review", help="Review the drafts one by one.")] = False,
    language: Annotated[str, typer.Option(help="en, zh or ko. Default: detected from the text.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it would cost, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before texts are sent to a model elsewhere.")] = False,
    model: ModelOption = "auto",
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cast a role from novels, scripts, chats or diaries: drafts of its files, for you to accept."""
    wish = one_wish({"accept": bool(take), "refuse": bool(drop), "review": review})
    require_options(language, as_who)
    shelf = shelf_of(library)
    if not files:
        decide_or_show(shelf.open(waiting_role(shelf, role, who)), wish, take or drop, library, as_json=as_json)
        return
    choices(take or "all")  # refused before anything is asked
    if wish and wish != "accept":
        raise ValueError(f"--{wish} is about drafts that wait: name their role by --role ID, without files.")
    from dramaturg.workflows.cast import CastContext
    from dramaturg.workflows.casting import DEADLINE, WRITER, apart, language_in, role_of, spelled, texts_with, weighed

    texts = apart([read_in(path) for path in files], ())
    spoken = cast("Language", language or language_in(texts))
    if not (who or as_who):
        show_people(texts, spoken, files, as_json=as_json)
        return
    name = spelled(who, texts, spoken) if who else WRITER[spoken]
    context = CastContext(
        role=check_id(role) if role else role_of(name, shelf, texts),
        library=str(library_path(library)),
        chat_model=model,
        character=name,
        first_person=bool(as_who),
        until=until,
        drafts=kinds_in(only),
        asks=not without_model,
        deadline=DEADLINE,
    )
    there = shelf.role(context.role) if shelf.holds(context.role) else None
    read = texts_with(texts, there)
    with waiting("Counting …"):
        cost = weighed(read, there, context, spoken)
    if dry_run:
        show_cost(cost, context, as_json=as_json)
        return
    if context.asks:
        say_what_is_sent(read, cost, context, yes=yes)
    given = {"--who": who, "--as": as_who, "--until": until, "--only": ",".join(only or ()), "--language": language}
    given |= {"--role": context.role, "--model": "" if model == "auto" else model, "--accept": take}
    options = [word for name, value in given.items() if value for word in (name, value)]
    options += ["--without-model"] * without_model
    then = command_line("cast", *map(str, files), *options, library=library)
    stopping.promise(f"The drafts and answers so far are kept: `{then}` goes on.")
    report = cast_from(texts, context, shelf, spoken, again=again)
    opened = shelf.role(context.role)
    if take:
        decide(opened, "accept", take, library, as_json=as_json)
    elif as_json:
        print_json({"role": context.role, **report})
    else:
        say_what_lacks(report)
        show_drafts(opened, library, as_json=False)


def require_options(language: str, as_who: str) -> None:
    """Refuse values that options cannot have."""
    if language not in ("", *get_args(Language)):
        raise ValueError(f"--language is one of {', '.join(get_args(Language))}, not {language!r}.")
    if as_who.lower() not in ("", "me"):
        raise ValueError(f"--as can be me, not {as_who!r}: name a character by --who.")


def decide_or_show(role: Role, wish: str, said: str, library: str | None, *, as_json: bool) -> None:
    """Do what is wanted with the drafts of a role."""
    if wish in ("accept", "refuse"):
        decide(role, wish, said, library, as_json=as_json)
    elif wish == "review":
        go_through(role, library)
    else:
        show_drafts(role, library, as_json=as_json)


def cast_from(
    texts: Sequence[SourceText], context: "CastContext", shelf: Library, language: Language, *, again: bool
) -> dict[str, Any]:
    """Put texts beside a role, and draft its files under progress bars; return what came of it."""
    from dramaturg.workflows.casting import casted, put_beside

    put_beside(texts, context, shelf, language)
    with bars("Reading") as show:
        report: dict[str, Any] = asyncio.run(
            casted(context, lambda what, done, total: show(WORK[what], done, total), again=again)
        )
    return report


def say_what_lacks(report: Mapping[str, Any]) -> None:
    """Say what has no answer, and of which quotes nobody knows who says them."""
    for one in report["failed"]:
        where = ", ".join(filter(None, (one["document"], one["place"])))
        note(f"No {one['kind']} of {one_line(where) or 'the role'}: {one_line(one['error'])}", "yellow")
    if report["unattributed"]:
        note(f"{report['unattributed']:,} quotes have no known speaker: they are in no dialogue.")


def kinds_in(only: Sequence[str] | None) -> list[Kind]:
    """The kinds that are wanted.

    Raises:
        ValueError: one is no kind.
    """
    names = names_in("--only", only) if only else KINDS
    if strange := next((one for one in names if one not in KINDS), None):
        raise ValueError(f"--only is some of {', '.join(KINDS)}, not {strange!r}.")
    return [kind for kind in KINDS if kind in names]


def waiting_role(shelf: Library, role: str, who: str) -> str:
    """The role that is meant where no file is named: by its id, its name, or because drafts of it alone wait."""
    if role:
        return role
    if who and (found := find_role(who, shelf.root)):
        return found[0]
    waits = [one for one in shelf.roles() if CastDraft(shelf.root / one).counts()]
    if len(waits) == 1:
        return waits[0]
    which = f"drafts of {', '.join(waits)} wait: name one by --role ID." if waits else "no drafts wait."
    raise ValueError(f"Name a file to cast from, or the role whose drafts are meant: {which}")


def read_in(path: Path) -> SourceText:
    """Read a file, and say what of it was not read."""
    with waiting(f"Reading {path.name} …"):
        found = read_source(path.expanduser())
    if found.missing:
        note(f"{one_line(found.name)}: {'; '.join(map(one_line, found.missing))}.")
    return found


def show_people(texts: Sequence[SourceText], language: Language, files: Sequence[Path], *, as_json: bool) -> None:
    """Print who is in texts, how much each says, and what each method would have."""
    from dramaturg.nodes.casting.characters import everybody

    with waiting("Looking who is there …"):
        people = everybody(texts, language)
    forms = {one.name: one.form for one in texts}
    if as_json:
        print_json({"texts": forms, "language": language, "people": [one._asdict() for one in people]})
        return
    if not people:
        screen.print(
            f"Nobody is found to speak in {', '.join(forms)}. If it is told in the first person, add --as me; "
            "if it is about somebody, name them by --who.",
            soft_wrap=True,
        )
        return
    title = ", ".join(f"{one_line(name)} ({form})" for name, form in forms.items())
    table = table_of(title, "who", "also", Column("says", justify="right"), Column("is named", justify="right"))
    for one in people[:PEOPLE]:
        also = ", ".join(map(one_line, one.aliases[:4])) + ", …" * (len(one.aliases) > 4)
        table.add_row(one_line(one.name), also, f"{one.lines:,}", f"{one.mentions:,}" if one.mentions else "")
    if len(people) > PEOPLE:
        table.add_row(f"and {len(people) - PEOPLE:,} more", "", "", "")
    screen.print(table)
    then = command_line("cast", *map(str, files), "--who", people[0].name, "--dry-run")
    screen.print(f"Cast one: {then}", soft_wrap=True)


def show_cost(cost: "CastCost", context: "CastContext", *, as_json: bool) -> None:
    """Print what casting would ask."""
    questions, characters, tokens = cost
    if as_json:
        print_json({"role": context.role, "questions": questions, "characters": characters, "tokens": tokens})
        return
    if not questions:
        screen.print("No question to a model.")
        return
    table = Table("", Column("questions", justify="right"), title=f"{context.role}: at most", title_justify="left")
    for kind, count in questions.items():
        table.add_row(WORK[kind], f"{count:,}")
    screen.print(table)
    screen.print(
        f"{sum(questions.values()):,} questions about {characters:,} characters of the texts, about {tokens:,} tokens, "
        f"to {model_named(str(context.chat_model))}.",
        soft_wrap=True,
    )


def model_named(model: str) -> str:
    """A model, and where it is."""
    if is_embedded(model):
        return "the embedded model, on this machine"
    return f"{name_of(model)} at {address_of(model) or 'its provider'}"


def say_what_is_sent(texts: Sequence[SourceText], cost: "CastCost", context: "CastContext", *, yes: bool) -> None:
    """Say before the first question which parts of the texts leave this machine; on a terminal, ask."""
    if is_embedded(context.chat_model):
        note("The embedded model misses much and makes things up: read its drafts before you accept them.")
        return
    names = ", ".join(one_line(one.name) for one in texts)
    note(
        f"Up to {cost.characters:,} characters of {names} are sent to {model_named(str(context.chat_model))}, in "
        f"{sum(cost.questions.values()):,} questions. With --without-model nothing is."
    )
    if errors.is_terminal and not yes:
        typer.confirm("Go on?", abort=True, err=True)
