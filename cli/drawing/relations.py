"""`dramaturg relations`: who speaks with whom in a role's dialogues and how much it matters, as tables or a page."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import networkx as nx
import typer
from rich.console import RenderableType
from rich.table import Column
from rich.text import Text

from dramaturg.cli.drawing.graph import named_file, write_out
from dramaturg.cli.drawing.page import page
from dramaturg.cli.evidence.relations import clique_title, pairs_table, strangers
from dramaturg.cli.options import (
    DRMR,
    JsonOption,
    LibraryOption,
    RoleArgument,
    SettingsOption,
    UserRoleOption,
    context_for,
)
from dramaturg.cli.output import note, one_line, print_json, screen, table_of
from dramaturg.nodes.dialogues.cast import UserRole, cast_of, unheard
from dramaturg.nodes.dialogues.index import edges_of, score_of
from dramaturg.nodes.dialogues.relations import (
    RelationSettings,
    RoleRelation,
    clique_of,
    relation,
    shown,
)
from dramaturg.nodes.judgement import HIGH, LOW
from dramaturg.nodes.run import run_of
from dramaturg.server.layout import positions, radius
from dramaturg.stores.errors import did_you_mean
from dramaturg.stores.index.dialogues import DIALOGUE_KIND, DialogueStore, Graph
from dramaturg.stores.role import Role

STRONGEST = 15


def relations(
    role: RoleArgument,
    user_role: UserRoleOption = "",
    open_file: Annotated[Path | None, typer.Option(help="Write a page into this file, and open it.")] = None,
    file: Annotated[Path | None, typer.Option(help="Write a page into this file.")] = None,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who speaks with whom in a role's dialogues, as tables or a page; --user-role shows that person's clique."""
    path = named_file(open_file, file)
    if path is not None and path.suffix.lower() not in {"", ".html"}:
        raise ValueError(f"Relations are not written as {path.suffix}: they are a page, name a file in .html.")
    context = cast("RelationSettings", context_for(DRMR, role, library, settings, user_role=user_role))
    known = known_relations(context)
    if known.store.warning:
        note(known.store.warning, "yellow")
    lines = (line.speaker for one in known.store.dialogues for line in one.lines)
    if warning := unheard(known.role.card, lines):
        note(warning, "yellow")
    if path is not None:
        write_out(path, html(known), open_it=open_file is not None)
    if as_json:
        print_json(as_record(known))
    elif path is None:
        screen.print(*tables(known), sep="\n")


class KnownRelations(NamedTuple):
    """All dialogues of a role, who speaks with whom in them, and the clique of the user's role."""

    role: Role
    store: DialogueStore
    user: UserRole
    pairs: Sequence[RoleRelation]
    """Two roles once, the highest score first; those without one last."""
    clique: Sequence[str]

    @property
    def name(self) -> str:
        """The name of the role that answers."""
        return self.role.card.name

    @property
    def unscored(self) -> int:
        """How many edges have no score."""
        return sum(one["score"] is None for one in self.pairs)

    def within(self) -> list[RoleRelation]:
        """The pairs of the clique."""
        return [pair for pair in self.pairs if {*pair["roles"]} <= {*self.clique}]

    def counts(self) -> list[tuple[str, int, int]]:
        """Each role with the number of its dialogues and of those it speaks with; who speaks most comes first."""
        graph, speakers = self.store.graph, [one.speakers for one in self.store.dialogues]
        rows = [(name, sum(name in one for one in speakers), graph.degree(name)) for name in graph]
        return sorted(rows, key=lambda row: (-row[1], -row[2], row[0]))


COLOURS = {"the user's role": "#E69F00", "in the clique": "#009E73", "speaker": "#56B4E9"}
APART = 3.2
"""How much farther roles stand apart than the entities of a knowledge graph: they are fewer, and their names matter."""
WORDS = {"statements": "Dialogues", "strength": f"{{n}} of {HIGH}"}


class Weight(NamedTuple):
    """What `positions` asks of a relation: how close its ends are drawn."""

    strength: float


def tables(known: KnownRelations) -> Iterable[RenderableType]:
    """Who speaks in the dialogues, the strongest relations, and how the role stands to the user's."""
    numbers = (Column("dialogues", justify="right"), Column("speaks with", justify="right"))
    table = table_of(f"{len(known.store.dialogues)} dialogues, {len(known.pairs)} relations", "role", *numbers)
    for name, dialogues, partners in known.counts():
        table.add_row(Text(one_line(name)), str(dialogues), str(partners))
    yield table
    if known.pairs:
        title = f"The strongest relations of {len(known.pairs)}" if known.pairs[STRONGEST:] else "Relations"
        yield pairs_table(title, known.pairs[:STRONGEST])
    if known.clique:
        yield pairs_table(clique_title(known.clique, known.within()), known.within())
    elif not known.user.stranger:
        yield Text(no_clique(known), style="yellow")
    if known.unscored:
        of = f"{known.unscored} of {len(known.pairs)} relations have no score yet"
        how = f"dramaturg index {known.role.id} --method {DRMR} --scores"
        yield Text(f"{of}, which weighs nothing: {how}", style="dim")


def no_clique(known: KnownRelations) -> str:
    """That the user's role and the role never spoke with each other; a name that is nobody's may be misspelt."""
    apart = strangers(one_line(known.user.name), one_line(known.name))
    if known.user.speaker is not None:
        return apart
    near = did_you_mean(known.user.name, [name for name in known.store.graph if name != known.name])
    return one_line(f"{apart} No line of the dialogues is by {known.user.name}{near}")


def known_relations(context: RelationSettings) -> KnownRelations:
    """Read the dialogues that are indexed, and the scores that are kept."""
    cast = asyncio.run(cast_of(asyncio.run(run_of(context)), ""))
    scores, edges = cast.role.index(DIALOGUE_KIND).builder.known(), edges_of(cast.store.dialogues)
    pairs = sorted((relation(edge, score_of(scores, edge, cast.card)) for edge in edges), key=strongest_first)
    return KnownRelations(cast.role, cast.store, cast.user, pairs, clique_of(pairs, cast))


def strongest_first(pair: RoleRelation) -> tuple[bool, float, int, list[str]]:
    """How pairs are sorted: by score, then by the number of their dialogues."""
    return pair["score"] is None, -(pair["score"] or 0.0), -len(pair["dialogues"]), pair["roles"]


def as_record(known: KnownRelations) -> dict[str, Any]:
    """Relations for a program."""
    return {
        "role": known.role.id,
        "version": known.store.version,
        "user_role": known.user.known_as,
        "speaker": known.user.speaker,
        "clique": list(known.clique),
        "unscored": known.unscored,
        "roles": [dict(zip(("role", "dialogues", "partners"), row, strict=True)) for row in known.counts()],
        "relations": [{**shown(pair), "dialogues": dialogues_of(known, pair)} for pair in known.pairs],
    }


def dialogues_of(known: KnownRelations, pair: RoleRelation) -> list[dict[str, Any]]:
    """The dialogues in which two roles speak with each other."""
    found = map(known.store.get, pair["dialogues"])
    return [{"dialogue": one.id, "scene": one.scene, "source": one.source} for one in found]


def html(known: KnownRelations) -> bytes:
    """Return the page of a role's relations; the same dialogues and scores have the same page."""
    with_user = "" if known.user.stranger else f" with {known.user.name}"
    number = {name: at for at, name in enumerate(known.store.graph)}
    order = {one.id: at for at, one in enumerate(known.store.dialogues)}
    counts = f"Roles: {len(number)}. Relations: {len(known.pairs)}. Dialogues: {len(order)}."
    data = {
        "types": COLOURS if known.clique else {name: COLOURS[name] for name in COLOURS if name != "in the clique"},
        "role": number.get(known.name),
        "strongest": HIGH,
        "stroke": 3,
        "nodes": roles_data(known, order),
        "edges": [pair_data(known, pair, number, order) for pair in known.pairs],
    }
    texts = [one.text for one in known.store.dialogues]
    return page(
        f"Relations of {known.name}{with_user}", data, WORDS | {"counts": counts}, notes=notes(known), dialogues=texts
    )


def notes(known: KnownRelations) -> list[str]:
    """What is to be said of the whole: the clique, and what has no score."""
    clique = clique_title(known.clique, known.within()) if known.clique else strangers(known.user.name, known.name)
    found = [] if known.user.stranger else [clique]
    if known.unscored:
        number = f"{known.unscored} of {len(known.pairs)} relations"
        command = f"dramaturg index {known.role.id} --method drmr --scores"
        found.append(f"Without a score: {number}. A relation that has none is dashed; {command} scores them.")
    return found


def roles_data(known: KnownRelations, order: Mapping[str, int]) -> list[dict[str, Any]]:
    """The roles in the order of the graph."""
    graph = known.store.graph
    weighted: Graph = nx.Graph()
    weighted.add_nodes_from(graph)  # with what `positions` asks for: roles who matter to each other stand together
    for pair in known.pairs:
        weighted.add_edge(*pair["roles"], relation=Weight(pair["score"] or LOW))
    places = positions(weighted)
    profiles = {known.user.speaker: known.user.profile, known.name: known.role.card.profile.strip()}
    return [
        {
            "name": name,
            "names": [name, *(known.role.card.aliases if name == known.name else ())],
            "type": type_of(name, known),
            "description": profiles.get(name, ""),
            "statements": [
                {"text": one.scene, "source": one.source, "dialogue": order[one.id]}
                for one in known.store.dialogues
                if name in one.speakers
            ],
            "r": round(radius(graph, name) * 1.4, 1),
            "x": round(places[name][0] * APART, 1),
            "y": round(places[name][1] * APART, 1),
        }
        for name in graph
    ]


def type_of(name: str, known: KnownRelations) -> str:
    """What a role is drawn as."""
    if name == known.user.speaker:
        return "the user's role"
    return "in the clique" if name in known.clique else "speaker"


def pair_data(
    known: KnownRelations, pair: RoleRelation, number: Mapping[str, int], order: Mapping[str, int]
) -> dict[str, Any]:
    """Two roles, their ends as numbers, with the dialogues in which they speak with each other."""
    first, second = pair["roles"]
    within = {first, second} <= {*known.clique}
    return {
        "a": number[first],
        "b": number[second],
        "strength": None if pair["score"] is None else round(pair["score"], 2),
        "description": pair["reason"],
        "kind": " ".join(["clique"] * within + ["unscored"] * (pair["score"] is None)),
        "statements": [
            {
                "text": one["scene"],
                "source": one["source"],
                "dialogue": order[one["dialogue"]],
            }
            for one in dialogues_of(known, pair)
        ],
    }
