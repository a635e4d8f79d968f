"""A chronicle and its draft as commands show them: for a person, and for a program."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.table import Column, Table

from dramaturg.cli.screen import printable, screen
from dramaturg.nodes.identity.chronicle import templates, triple_sentence
from dramaturg.stores.chronicle_files import read_draft
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import Triple


class Known(NamedTuple):
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


def show_draft(known: Known, drafted: Sequence[Triple]) -> None:
    """Print a draft, if there is one, and how to decide on it."""
    if not drafted:
        return
    screen.print(table(f"Draft for {known.role.id}: {len(drafted)}", known, drafted))
    how = f"dramaturg chronicle {known.role.id} --review, or --accept 1,3-5 and --reject 2, or all"
    screen.print(f"Decide: {how}", soft_wrap=True)


def table(title: str, known: Known, triples: Sequence[Triple]) -> Table:
    """Triples, one a row."""
    columns = (Column("", justify="right"), "", "kind", "says", Column("from", overflow="fold"), "since", "until")
    shown = Table(*columns, title=title, title_justify="left")
    for number, (one, said) in enumerate(zip(triples, known.said(triples), strict=True), start=1):
        cells = ("core" if one.core else "", one.kind, said, one.source, one.since or "", one.until or "")
        shown.add_row(str(number), *map(printable, cells))
    return shown
