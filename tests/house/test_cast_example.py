"""The cast of Treasure Island: Silver, whom he speaks with and how, and the cards of those whom a user may play."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import networkx as nx
import pytest

from dramaturg.nodes.dialogues.cast import spelling
from dramaturg.nodes.dialogues.index import dialogues_of
from dramaturg.nodes.dialogues.relations import best_clique
from dramaturg.nodes.text.splitter import longest_paragraph, split_document
from dramaturg.stores.documents.memories import read_dialogue_files
from dramaturg.stores.index.dialogues import StoredDialogue, dialogue_graph
from dramaturg.stores.library import Library, find_card
from dramaturg.stores.role import Role

EXAMPLES = Path(__file__).parents[2] / "examples"
LIBRARY = Library(EXAMPLES)
SILVER = "Long John Silver"
CREW = {"hands": "Israel Hands", "merry": "George Merry", "morgan": "Tom Morgan", "dick": "Dick Johnson"}
GENTRY = {
    "jim": "Jim Hawkins",
    "livesey": "Doctor Livesey",
    "smollett": "Captain Smollett",
    "trelawney": "Squire Trelawney",
}
CAST: Mapping[str, str] = CREW | GENTRY | {"gunn": "Ben Gunn"}
STRANGER = "mother"

every_card = pytest.mark.parametrize("role", [*CAST, STRANGER])


@pytest.fixture(scope="module")
def silver() -> Role:
    return LIBRARY.role("silver")


@pytest.fixture(scope="module")
def dialogues(silver: Role) -> list[StoredDialogue]:
    return dialogues_of(read_dialogue_files(silver.dialogue_files), silver.card, 1000)


@pytest.fixture(scope="module")
def graph(dialogues: list[StoredDialogue]) -> "nx.Graph[str]":
    return dialogue_graph(dialogues)


def test_silver_has_scenes_enough_and_speaks_in_each(silver: Role) -> None:
    lines = silver.dialogues()
    scenes = {line.scene: {one.speaker for one in lines if one.scene == line.scene} for line in lines}
    assert len(lines) >= 150
    assert len(scenes) >= 30
    assert all(SILVER in speakers and len(speakers) >= 2 for speakers in scenes.values())
    assert all(line.place and line.date for line in lines)


def test_lines_are_short_and_none_is_there_twice(silver: Role) -> None:
    texts = [line.text for line in silver.dialogues()]
    assert max(map(len, texts)) <= 300
    assert all(text == " ".join(text.split()) for text in texts)
    assert [text for text, times in Counter(texts).items() if times > 1] == []


def test_a_scene_is_written_in_one_piece_and_a_few_lines_long(silver: Role) -> None:
    scenes = [line.scene for line in silver.dialogues()]
    begun = [scene for at, scene in enumerate(scenes) if at == 0 or scenes[at - 1] != scene]
    assert len(begun) == len({*begun})
    assert {*Counter(scenes).values()} <= {*range(4, 10)}


def test_every_line_is_in_a_dialogue(silver: Role, dialogues: list[StoredDialogue]) -> None:
    assert sum(len(one.lines) for one in dialogues) == len(silver.dialogues())


@pytest.mark.parametrize("role", CAST)
def test_who_has_a_card_speaks_with_silver(graph: "nx.Graph[str]", role: str) -> None:
    name = LIBRARY.role(role).card.name
    assert name == CAST[role]
    assert graph.has_edge(SILVER, name)
    assert len(graph.edges[SILVER, name]["dialogues"]) >= 3


def test_the_mother_is_a_stranger(graph: "nx.Graph[str]") -> None:
    card = LIBRARY.role(STRANGER).card
    assert {spelling(name) for name in (card.name, *card.aliases)}.isdisjoint(map(spelling, graph))
    assert LIBRARY.role(STRANGER).dialogues() == []
    assert "never" in card.profile


@every_card
def test_a_card_says_who_it_is(role: str) -> None:
    card = LIBRARY.role(role).card
    assert card.language == "en"
    assert 200 < len(card.profile) < 1000
    assert card.aliases
    assert card.sources
    for name in (role, card.name, *card.aliases):
        assert find_card(name, EXAMPLES) == card


def test_no_two_of_the_cast_go_by_one_name() -> None:
    cards = [LIBRARY.role(role).card for role in ("silver", *CAST, STRANGER)]
    names = Counter(spelling(name) for card in cards for name in {card.name, *card.aliases})
    assert [name for name, times in names.items() if times > 1] == []


def test_a_speaker_has_one_name(silver: Role, graph: "nx.Graph[str]") -> None:
    """Else a role would be two in the graph."""
    aliases = {spelling(name) for role in ("silver", *CAST, STRANGER) for name in LIBRARY.role(role).card.aliases}
    assert aliases.isdisjoint(map(spelling, graph))
    assert {*graph} == {line.speaker for line in silver.dialogues()}


@pytest.mark.parametrize("side", [CREW, GENTRY], ids=["crew", "gentry"])
def test_each_side_has_a_clique_with_silver(graph: "nx.Graph[str]", side: Mapping[str, str]) -> None:
    cliques = [{*clique} for clique in nx.find_cliques(graph) if SILVER in clique]
    assert any(len(clique & {*side.values()}) >= 3 for clique in cliques)
    edges = [(one, other, 3.0) for one, other in graph.edges]
    assert all(len(best_clique(edges, name, SILVER)) >= 4 for name in side.values())


def test_friends_enemies_and_strangers_are_among_them(graph: "nx.Graph[str]", dialogues: list[StoredDialogue]) -> None:
    known = {*graph[SILVER]}
    assert {*CREW.values(), *GENTRY.values(), "Ben Gunn"} <= known
    assert len(known) >= 12  # also others who have no card
    strangers = {(one, other) for one in CAST.values() for other in CAST.values() if not graph.has_edge(one, other)}
    assert len(strangers) > 10  # two of the cast who never speak with each other
    sides = [{*one.speakers} - {SILVER} for one in dialogues]
    assert any(one <= {*CREW.values()} for one in sides)
    assert any(one <= {*GENTRY.values()} for one in sides)
    assert any(one & {*CREW.values()} and one & {*GENTRY.values()} for one in sides)


def test_the_persona_has_passages_for_a_small_model(silver: Role) -> None:
    (document,) = silver.documents()
    assert 1500 <= len(document.text.split()) <= 2500
    assert longest_paragraph(document.text) <= 520
    assert all(passage.headings for passage in split_document(document.text))
    assert {len(level) for level in re.findall(r"^(#+) ", document.text, re.MULTILINE)} == {1, 2, 3}


def test_questions_cover_the_six_attributes_and_what_silver_cannot_know(silver: Role) -> None:
    questions = silver.questions()
    inside = [one for one in questions if one.scope == "in"]
    outside = [one for one in questions if one.scope == "out"]
    assert len({one.attribute for one in inside}) == 6
    assert all(one.answer for one in inside)
    assert outside
    assert all(one.answer is None and one.reason for one in outside)
    assert len({one.question for one in questions}) == len(questions)
