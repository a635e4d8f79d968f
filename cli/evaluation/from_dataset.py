"""From a folder of a dataset to an evaluation: roles are made of it once its licence and its cost were said."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import typer

from dramaturg.cli.evaluation.datasets import roles_table
from dramaturg.cli.evaluation.tables import estimate_table
from dramaturg.cli.output import errors, note
from dramaturg.evaluation.comparison.contestants import contestants_of
from dramaturg.evaluation.comparison.estimates import Estimate
from dramaturg.evaluation.comparison.needs import lacking
from dramaturg.evaluation.datasets.cast import Cast, Placed, placed, put_into
from dramaturg.evaluation.datasets.casting import cast_of
from dramaturg.evaluation.datasets.catalogue import known
from dramaturg.evaluation.datasets.folders import Wish
from dramaturg.nodes.run import RunContext
from dramaturg.stores.library_folder import Library


class Production(NamedTuple):
    """The roles of a dataset that are compared, and what of them a library has."""

    wish: Wish
    cast: Cast
    found: Sequence[Placed]
    unplayed: Sequence[str] = ()
    """Who is left out, and for want of what."""

    @property
    def roles(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(one.role for one in self.found)

    @property
    def labels(self) -> str:
        """The folder of what is right by inventories, where the dataset is that."""
        return str(self.wish.folder) if self.wish.name == "incharacter" else ""


def production_of(wish: Wish, library: Library, *, replies: bool) -> Production:
    """Say who is compared: whom the user names, else everybody who is asked something.

    Args:
        wish: what the user says of the dataset.
        library: where the roles are, or will be.
        replies: whether questions are asked, and not inventories alone.

    Raises:
        ValueError: there is nobody to be asked.
    """
    cast = cast_of(wish)
    roles = cast.chosen(wish.only)
    if replies and not wish.only:
        roles = [one for one in roles if cast.questions(one)]
    if replies and not any(map(cast.questions, roles)):
        asked = f"{cast.title} has no questions for these roles (asked are: {known(wish.name).asked})"
        raise ValueError(f"{asked}: name an inventory among the metrics, or other roles.")
    return Production(wish, cast, placed(cast, roles, library))


def able(production: Production, methods: Sequence[str], shared: RunContext, library: Library) -> Production:
    """Leave out roles that a method of the comparison has no files for; whom the user names stays.

    Else all roles of a dataset would be refused for one of whom every line is held back.

    Raises:
        ValueError: nobody would be left.
    """
    if production.wish.only:
        return production
    contestants, gone = contestants_of(methods), dict[str, list[str]]()
    with rehearsed(production, library) as copy:
        for one in production.found:
            if lacks := lacking(contestants, copy.role(one.role), shared):
                gone.setdefault("; ".join(lacks), []).append(one.role)
    there = [one for one in production.found if not any(one.role in roles for roles in gone.values())]
    said = [f"{', '.join(roles)} for want of {lacks}" for lacks, roles in gone.items()]
    if not there:
        raise ValueError(f"Nobody of {production.cast.title} can be played by all of these methods: {'; '.join(said)}.")
    return production._replace(found=there, unplayed=said)


@contextmanager
def rehearsed(production: Production, library: Library) -> Iterator[Library]:
    """Give a library that has the roles as they will be, to count by; where one is lacking it is a copy, gone after."""
    if all(one.state != "new" for one in production.found):
        yield library
        return
    with TemporaryDirectory() as folder:
        copy, cast = Library(Path(folder)), production.cast
        for one in production.found:
            files = cast.files(one.role) if one.state == "new" else library.contents(one.role)
            copy.replace({one.role: files}, new=True)
        yield copy


def agreed(
    production: Production,
    costs: Sequence[Estimate],
    lines: Sequence[str],
    library: Library,
    *,
    yes: bool,
    dry_run: bool,
) -> None:
    """Say licence, roles and cost, ask whether to go on where something is to be asked, and make the roles.

    A dry run says licence and roles only, and makes nothing.

    Raises:
        typer.Abort: the answer is no; nothing was made.
    """
    cast, new = production.cast, [one for one in production.found if one.state == "new"]
    note(f"{cast.title}. {cast.licence}.")
    if new or dry_run:
        errors.print(roles_table(cast, production.found, made=False))
    if dry_run:
        return
    if any(one.left for one in costs):
        errors.print(estimate_table(costs))
        for line in lines:
            note(line)
        if not yes:
            typer.confirm(f"Make {len(new)} roles and ask all this?" if new else "Ask this?", abort=True, err=True)
    put_into(cast, production.found, library)
