"""Chronicles that have grown: triples about other matters, so that a lookup in a long one has something to miss.

They are made by a rule, the same ones each time, and say nothing of the role: neither its quiz nor a judge rests on
them. Three kinds are among them. Two lead away from each object of the role's own triples, one hop and two. One in
eight of the others has a relation that the role's own triples have, and is about somebody else. The rest are about
houses.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from dramaturg.stores.documents.forms import Triple

MOST_FILLER = 3000
"""There are no more people and houses."""
SEED = 0
"""Of the places of a role's own triples."""
FIRST = (
    *("Ada", "Bram", "Clara", "Dirk", "Edith", "Frank", "Greta", "Hugo", "Ines", "Jonas", "Klara", "Leo", "Mina"),
    *("Nils", "Olga", "Piet", "Rosa", "Sven", "Tilda", "Ulrich"),
)
LAST = (
    *("Alder", "Birch", "Cobb", "Dunn", "Elder", "Fenn", "Gale", "Hawke", "Ives", "Jarvis", "Kemp", "Lock", "Marsh"),
    *("Nook", "Orme", "Pike", "Quarles", "Reed", "Stone", "Thorn"),
)
OTHERS: Mapping[str, Sequence[str]] = {
    "values": ("a short way to work", "quiet on Sundays", "bread that is still warm"),
    "believes": ("the winter will be mild", "the ferry was cheaper once", "barley does best on the south field"),
    "supports": ("the brass band", "the swimming club", "a longer opening time of the library"),
    "opposes": ("dogs on the meadow", "the new price of milk", "fireworks near the stables"),
    "wants": ("a larger boat", "a place at the music school", "two more beehives"),
    "worked_on": ("the roof of the dairy", "the catalogue of the library", "the fence of the school"),
    "led_project": ("the repair of the ferry", "the choir's journey", "a count of the herons"),
    "profession": ("a cooper", "a shepherd", "a teacher of music"),
}
"""What others are said to do by relations that chronicles of candidates have, too."""
STREETS = ("Mill Row", "Plum Lane", "Weir Street", "Orchard Way", "Bell Yard")
HOUSES = 100
"""In each street."""
HOUSE: Mapping[str, tuple[str, Sequence[str]]] = {
    "roofed_with": ("$house is roofed with $thing", ("slate", "red tiles", "thatch", "zinc")),
    "painted": ("The door of $house is painted $thing", ("green", "blue", "ochre", "white", "grey")),
    "built_by": ("$house was built by $thing", ("the mill company", "the dairy", "two brothers from the coast")),
    "heated_with": ("$house is heated with $thing", ("wood", "coal", "a stove of tiles", "gas")),
    "has_in_garden": ("In the garden of $house there is $thing", ("a pear tree", "a well", "a goat", "a swing")),
    "insured_with": ("$house is insured with $thing", ("the farmers' union", "a bank of the county", "nobody")),
}


def grown(own: Sequence[Triple], number: int) -> list[Triple]:
    """Return a role's own triples in their order, strewn among so many about other matters.

    What stands first in a chronicle is found first: were its own triples the first, nothing could come before them.

    Args:
        own: the role's own triples.
        number: how many others, up to `MOST_FILLER`.
    """
    others, mine = islice(_in_order(own), number), iter(own)
    places = {*random.Random(SEED).sample(range(len(own) + number), len(own))}  # noqa: S311
    return [next(mine) if at in places else next(others) for at in range(len(own) + number)]


def _in_order(own: Sequence[Triple]) -> Iterator[Triple]:
    for at, thing in enumerate(dict.fromkeys(one.object for one in own), start=1):
        yield from away_from(thing, at)
    people, houses = _of_people({one.relation for one in own}), _of_houses()
    while True:
        yield next(people)
        yield from islice(houses, 7)


def away_from(thing: str, at: int) -> tuple[Triple, Triple]:
    """What is one hop away from an object of the role's own, and what is two."""
    note, place = f"note {at} of the town archive", f"box {at} in the cellar of the school"
    return (
        _said(thing, "noted_in", note, f"Somebody wrote {note} about this: “{thing}”"),
        _said(note, "kept_in", place, f"{note.capitalize()} is kept in {place}"),
    )


def _of_people(relations: set[str]) -> Iterator[Triple]:
    shared = [name for name in OTHERS if name in relations] or [*OTHERS]
    for at, (first, last) in enumerate(product(FIRST, LAST)):
        relation, around = shared[at % len(shared)], at // len(shared)
        yield _said(f"{first} {last}", relation, OTHERS[relation][around % len(OTHERS[relation])])


def _of_houses() -> Iterator[Triple]:
    for number, street, (at, (relation, (words, things))) in product(
        range(1, HOUSES + 1), STREETS, enumerate(HOUSE.items())
    ):
        house, thing = f"house {number} in {street}", things[(number + at) % len(things)]
        said = words.replace("$house", house).replace("$thing", thing)
        # Things have the name of the house, or every house would be two hops from every other.
        yield _said(house, relation, f"{thing} (house {number}, {street})", said[0].upper() + said[1:])


def _said(subject: str, relation: str, thing: str, text: str = "") -> Triple:
    return Triple(subject=subject, relation=relation, object=thing, kind="experience", text=f"{text}." if text else "")
