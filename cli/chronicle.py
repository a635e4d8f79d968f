"""`dramaturg chronicle`: who a role is, triple by triple; drafted from its documents, and taken over by a person."""

from collections.abc import Mapping
from typing import Annotated

import typer

from dramaturg.cli.chronicle_decisions import decide, go_through
from dramaturg.cli.chronicle_drafting import make_draft
from dramaturg.cli.known_chronicle import Known, show_draft, table
from dramaturg.cli.options import JsonOption, LibraryOption, ModelOption, RoleArgument, library_path
from dramaturg.cli.screen import print_json, screen
from dramaturg.stores.library import open_role
from dramaturg.stores.role_files import CHRONICLE


def chronicle(
    role: RoleArgument,
    draft: Annotated[bool, typer.Option("--draft", help="Have a model draft triples from the persona.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --draft: say what it would cost.")] = False,
    again: Annotated[bool, typer.Option("--again", help="With --draft: in the place of the draft that waits.")] = False,
    model: ModelOption = "auto",
    take: Annotated[
        str, typer.Option("--accept", metavar="NUMBERS", help="Take these of the draft over: 1,3-5, or all.")
    ] = "",
    drop: Annotated[
        str, typer.Option("--reject", metavar="NUMBERS", help="Take these out of the draft: 1,3-5, or all.")
    ] = "",
    review: Annotated[bool, typer.Option("--review", help="Go through the draft, triple by triple.")] = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who a role is, triple by triple; or draft triples, and decide which of them are taken over."""
    wishes = {"draft": draft, "accept": bool(take), "reject": bool(drop), "review": review}
    wish = the_wish(wishes, {"dry-run": dry_run, "again": again, "model": model != "auto", "json": as_json})
    known = Known(open_role(role, library_path(library)))
    if wish == "draft":
        make_draft(known, model, dry_run=dry_run, again=again, as_json=as_json)
    elif wish == "review":
        go_through(known)
    elif wish:
        decide(known, wish, take or drop, as_json=as_json)
    else:
        show(known, as_json=as_json)


def the_wish(wishes: Mapping[str, bool], given: Mapping[str, bool]) -> str:
    """What is to be done; empty: show the chronicle.

    Raises:
        ValueError: more than one thing is asked for, or an option is given that goes with another one.
    """
    wanted = [wish for wish, asked in wishes.items() if asked]
    if len(wanted) > 1:
        raise ValueError(f"One thing at a time: {' or '.join(f'--{wish}' for wish in wanted)}.")
    alone = [name for name in ("dry-run", "again", "model") if given[name] and "draft" not in wanted]
    if alone:
        raise ValueError(f"--{alone[0]} is about a draft that is made: add --draft.")
    if "review" in wanted and given["json"]:
        raise ValueError("--review asks you on the terminal: for a program, decide with --accept and --reject.")
    return wanted[0] if wanted else ""


def show(known: Known, *, as_json: bool) -> None:
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
