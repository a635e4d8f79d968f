"""`dramaturg cast`: who is in a text, and a role cast from it: drafts of the files of all methods, to be taken over."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from rich.table import Column, Table

from dramaturg.cli.exchange.taking_in import id_of
from dramaturg.cli.library.cast_drafts import decide, go_through, show_drafts
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
from dramaturg.models.clients import is_embedded
from dramaturg.models.environment import environment
from dramaturg.stores.documents.forms import Language, RoleCard
from dramaturg.stores.errors import RoleError
from dramaturg.stores.formats.markdown import language_of
from dramaturg.stores.library import find_role
from dramaturg.stores.library_folder import Library, check_id
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import KINDS, CastDraft, Kind
from dramaturg.stores.texts.form import SourceText
from dramaturg.stores.texts.reading import read_source

if TYPE_CHECKING:
    from dramaturg.workflows.cast import CastContext

DEADLINE = 600  # seconds for one question, re-asks included, as where facts are extracted
PEOPLE = 20
"""Rows of who is in a text."""
WRITER = {"en": "Me", "zh": "我", "ko": "나"}
"""By language, the name of one who writes in the first person and is not named."""
WORK = {
    "speakers": "Who says it",
    "persona": "Persona",
    "memories": "Memories",
    "chronicle": "Chronicle",
    "dialogues": "Dialogues",
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
    if wish and wish != "accept":
        raise ValueError(f"--{wish} is about drafts that wait: name their role by --role ID, without files.")
    texts = [read_in(path) for path in files]
    spoken = cast("Language", language or language_of("\n".join(one.text[:20_000] for one in texts)))
    if not (who or as_who):
        show_people(texts, spoken, files, as_json=as_json)
        return
    from dramaturg.workflows.cast import CastContext

    name = spelled(who, texts, spoken) if who else WRITER[spoken]
    context = CastContext(
        role=check_id(role) if role else role_of(shelf, name, files),
        library=str(library_path(library)),
        chat_model=model,
        character=name,
        first_person=bool(as_who),
        until=until,
        drafts=kinds_in(only),
        asks=not without_model,
        deadline=DEADLINE,
    )
    if dry_run:
        show_cost(texts, context, spoken, as_json=as_json)
        return
    if context.asks:
        say_what_is_sent(texts, context, spoken, yes=yes or as_json)
    then = command_line("cast", *map(str, files), *(("--who", who) if who else ("--as", as_who)), library=library)
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
    """Put texts beside a role, which is made where it is not there, and draft its files; return what came of it."""
    if shelf.holds(context.role):
        opened = shelf.role(context.role)
    else:
        sources = tuple(one.name for one in texts)
        opened = shelf.create(context.role, RoleCard(name=context.character, language=language, sources=sources))
    CastDraft(opened.root).add_texts(texts)
    return asyncio.run(casted(context, again=again))


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


def role_of(shelf: Library, name: str, files: Sequence[Path]) -> str:
    """The id of a role for a character: of one of this name that was cast before, or a new one."""
    found = find_role(name, shelf.root)
    if found and (shelf.root / found[0] / "cast.draft").is_dir():
        return found[0]
    role = id_of(name, files[0].stem)
    if shelf.holds(role):
        raise RoleError(f"There is {role!r} in {shelf.name} already: add to it by --role {role}, or name another id.")
    return role


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


def spelled(name: str, texts: Sequence[SourceText], language: Language) -> str:
    """A name as texts spell it, where they have it in other capitals."""
    from dramaturg.nodes.casting.characters import everybody
    from dramaturg.nodes.dialogues.cast import spelling

    people = (one.name for one in everybody(texts, language))
    return next((one for one in people if spelling(one) == spelling(name)), name)


def costs(texts: Sequence[SourceText], context: "CastContext", language: Language) -> tuple[dict[str, int], int]:
    """How many questions of each kind there are at most, and how many characters of the texts they send."""
    from dramaturg.nodes.casting.cast import cost_of_cast
    from dramaturg.nodes.casting.characters import everybody, the_character
    from dramaturg.nodes.casting.drafting import Character

    with waiting("Counting …"):
        who = Character(context.character, ())
        if not context.first_person:
            who = the_character(context.character, (), everybody(texts, language), texts)
        return cost_of_cast(texts, who, context, language)


def show_cost(texts: Sequence[SourceText], context: "CastContext", language: Language, *, as_json: bool) -> None:
    """Print what casting would ask."""
    questions, characters = costs(texts, context, language)
    if as_json:
        print_json({"role": context.role, "questions": questions, "characters": characters})
        return
    if not questions:
        screen.print("No question to a model.")
        return
    table = Table("", Column("questions", justify="right"), title=f"{context.role}: at most", title_justify="left")
    for kind, count in questions.items():
        table.add_row(WORK[kind], f"{count:,}")
    screen.print(table)
    screen.print(
        f"{sum(questions.values()):,} questions about {characters:,} characters of the texts, to "
        f"{model_named(str(context.chat_model))}.",
        soft_wrap=True,
    )


def model_named(model: str) -> str:
    """A model, and where it is."""
    if is_embedded(model):
        return "the embedded model, on this machine"
    address = environment().base_url or ("its provider" if ":" in model else "OpenAI")
    return f"{environment().chat_model or 'the model' if model == 'auto' else model} at {address}"


def say_what_is_sent(texts: Sequence[SourceText], context: "CastContext", language: Language, *, yes: bool) -> None:
    """Say before the first question which parts of the texts leave this machine; on a terminal, ask."""
    if is_embedded(context.chat_model):
        return
    questions, characters = costs(texts, context, language)
    names = ", ".join(one_line(one.name) for one in texts)
    note(
        f"Up to {characters:,} characters of {names} are sent to {model_named(str(context.chat_model))}, in "
        f"{sum(questions.values()):,} questions. With --without-model nothing is."
    )
    if errors.is_terminal and not yes:
        typer.confirm("Go on?", abort=True, err=True)


async def casted(context: "CastContext", *, again: bool) -> dict[str, Any]:
    """Run the graph under progress bars; return its report."""
    from dramaturg.workflows.cast import graph

    report = dict[str, Any]()
    with bars("Reading") as show:
        stream = graph.astream({"again": again}, context=context, stream_mode=["custom", "values"], version="v2")
        async for part in stream:
            event: Any = part["data"]
            if part["type"] == "values":
                report = event.get("cast", report)
            elif event["event"] == "asked" and event["total"]:
                show(WORK[event["what"]], event["done"], event["total"])
    return report
