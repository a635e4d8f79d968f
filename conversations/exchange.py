"""What files of other programs become in a library: roles, documents of a role, and conversations with it."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from dramaturg.stores.documents.forms import Language
from dramaturg.stores.errors import RoleError
from dramaturg.stores.formats.books import with_book
from dramaturg.stores.formats.bundles import Bundle
from dramaturg.stores.formats.cards import Card
from dramaturg.stores.formats.characters import Became, Made, role_of
from dramaturg.stores.formats.lorebooks import Book
from dramaturg.stores.formats.personas import People, Persona
from dramaturg.stores.formats.told import Told
from dramaturg.stores.library_folder import Library, check_id, examples, id_of
from dramaturg.stores.role import Role

if TYPE_CHECKING:
    from dramaturg.conversations.conversation import Conversation

Opened = Callable[[str], Awaitable["Conversation"]]
"""Gives the conversation with the new role that has a name."""


class Taken(NamedTuple):
    """What became of a file."""

    kind: str
    role: str
    name: str
    """What the role is called."""
    became: Sequence[Became]
    macros: Sequence[str] = ()
    """Those that stand as they are."""
    lacks: str = ""
    """The story that the role is of, which the library has not; empty: it lacks none."""


def made_of(one: Told, file: str, language: Language | None = None) -> list[Made | Told]:
    """The roles that characters become, and everything else as it is.

    Args:
        one: what was read.
        file: its name.
        language: of the roles; None: that of their texts.
    """
    match one:
        case Card():
            return [role_of(one, file, language)]
        case Persona():
            return [role_of(one.card, file, language, one.scenes)]
        case People():
            return [role_of(card, file, language) for card in one.cards]
    return [one]


def id_for(one: Made | Bundle, file: str, role: str = "") -> str:
    """The id that a role will have: one that was chosen, that of its bundle, or one by its name, or its file's.

    Raises:
        RoleError: it may be none, or there is nothing to make one of.
    """
    if role:
        return check_id(role)
    return check_id(one.role) if isinstance(one, Bundle) else id_of(one.card.name, PurePath(file).stem)


def require_new(shelf: Library, roles: Sequence[str], *, replace: bool = False) -> None:
    """Refuse roles that have the id of one that is there, or of another one that comes with them.

    Raises:
        RoleError: there is such a role.
    """
    there = {one.lower(): one for one in shelf.roles()}
    for role in roles:
        if (known := there.get(role.lower())) and not (replace and known == role):
            raise RoleError(
                f"There is {known!r} in {shelf.name} already: name another id by --role, or take this one by --replace."
            )
    if twice := next((role for role, count in Counter(map(str.lower, roles)).items() if count > 1), None):
        raise RoleError(f"Two of these would be {twice!r}: import one alone, by --only, with another id by --role.")


def take_role(shelf: Library, made: Made, role: str, *, replace: bool = False, dry_run: bool = False) -> Taken:
    """Make a role of a card."""
    if not dry_run:
        shelf.replace({role: made.files}, new=not replace)
    return Taken("card", role, made.card.name, made.became, made.stand)


async def take_bundle(
    shelf: Library, bundle: Bundle, role: str, opened: Opened, *, replace: bool = False, dry_run: bool = False
) -> Taken:
    """Put a bundled role into the library, with what it brings; a conversation that cannot be used says why."""
    from dramaturg.conversations.json_lines import imported, parsed

    if not dry_run:
        shelf.replace({role: {**bundle.files, **bundle.ready}}, new=not replace)
    became = [Became(path, path, f"{len(data):,} bytes") for path, data in bundle.files.items()]
    became += [Became(f"index {kind}", f"index/{kind}", "ready") for kind in bundle.indexed]
    story = bundle.card.story
    lacks = "" if not story or shelf.holds(story) or story in examples() else story
    if lacks:
        became.append(Became("story", lacks, "is not here: import it, too"))
    for name, text in bundle.talks.items():
        try:
            lines = text.split("\n")
            head, turns = parsed(lines)
            if not dry_run:
                lines[0] = head.model_copy(update={"role": role}).line
                await imported(await opened(name), lines)
            said = f"{len(turns):,} turns"
        except ValueError as error:
            said = f"not taken in: {error}"
        became.append(Became(f"conversation {name}", f"--thread {name}", said))
    return Taken("bundle", role, bundle.card.name, became, lacks=lacks)


def take_book(book: Book, role: Role, *, dry_run: bool = False) -> Taken:
    """Give a role a lorebook."""
    documents, beside, kept = with_book(role, book)
    if not dry_run:
        role.persona.change(documents, beside=beside)
    became = [Became(part, where, f"{number:,}") for part, where, number in kept.counted() if number]
    return Taken("lorebook", role.id, role.card.name, became)
