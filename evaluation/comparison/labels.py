"""What is right of each role by an inventory: types and scores in the form of InCharacter, by the names of roles."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from dramaturg.evaluation.comparison.interviews import Inventory
from dramaturg.evaluation.datasets.dataset import Character, Dataset, Label
from dramaturg.evaluation.instruments.files import NAMES
from dramaturg.stores.role import Role

NOBODY_COULD_TELL = "X"
CODE = re.compile(r"(.+)-[a-z]{2}")
"""A character's code in InCharacter's files: a name with its language."""


class KnownLabels(BaseModel):
    """What is right of a role by one inventory; either may be all there is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = ""
    """A letter for each dimension; X where nobody could tell."""
    scores: Mapping[str, Mapping[str, Label]] = {}
    """By who judged, and dimension."""


def labels_of(
    dataset: Dataset, roles: Sequence[Role], inventories: Sequence[Inventory]
) -> dict[str, dict[str, KnownLabels]]:
    """What is right of each role by each inventory, as far as a dataset knows it.

    A character is a role's if one of its names is one of the role's, whatever the case: its code, also without the
    language at its end, or an alias, and the role's id, name or alias. A type belongs to every inventory that it can be
    a type of; scores belong to the inventory that has their questionnaire's name and dimensions.

    Returns:
        By inventory, as it was asked for, and role; those of which nothing is known are left out.

    Raises:
        ValueError: there is nothing for any of the roles or inventories, two things that differ for one, or a score
            that is off the inventory's scale.
    """
    if not inventories:
        names = f"{', '.join(NAMES)}, or a path"
        raise ValueError(f"Labels say what is right of interviews: name an inventory among the metrics ({names}).")
    known = {role.id: one for role in roles if (one := character_of(dataset, role))}
    if not known:
        there = ", ".join(dataset.characters) or "nobody"
        wanted = ", ".join(role.id for role in roles)
        raise ValueError(f"{dataset.name} has labels for none of {wanted}: it has some for {there}.")
    found = {
        inventory.metric: {role: right for role, one in known.items() if (right := known_of(one, inventory))}
        for inventory in inventories
    }
    if not any(found.values()):
        raise ValueError(unlabelled(dataset.name, known.values(), inventories))
    return {metric: right for metric, right in found.items() if right}


def character_of(dataset: Dataset, role: Role) -> Character | None:
    """Return the character of a dataset that a role plays; of several, the one in its language."""
    names = {one.casefold() for one in (role.id, role.card.name, *role.card.aliases)}
    found = {code: one for code, one in dataset.characters.items() if names & names_in(code, one)}
    if len(found) > 1:
        found = {code: one for code, one in found.items() if one.language == role.card.language} or found
    if len(found) > 1:
        raise ValueError(f"{dataset.name} has {' and '.join(found)} for {role.id}: keep the one that is meant.")
    return next(iter(found.values()), None)


def names_in(code: str, one: Character) -> set[str]:
    """The names of a character, without regard to case."""
    short = CODE.fullmatch(code)
    return {name.casefold() for name in (code, *one.aliases, *([short[1]] if short else []))}


def known_of(one: Character, inventory: Inventory) -> KnownLabels | None:
    """Return what is right of a character by an inventory; None if nothing is known."""
    right = KnownLabels(type=type_of(one, inventory), scores=scores_of(one, inventory))
    return right if right.type or right.scores else None


def type_of(one: Character, inventory: Inventory) -> str:
    """Return the type of a character by an inventory; one under the inventory's own name comes before others."""
    fit = {name: letters for name, letters in one.types.items() if is_type(letters, inventory)}
    own = {letters for name, letters in fit.items() if name.casefold() == inventory.name.casefold()}
    found = sorted(own or {*fit.values()})
    if len(found) > 1:
        raise ValueError(f"Labels have {' and '.join(found)} as a type by {inventory.name}: keep one of them.")
    return found[0] if found else ""


def is_type(letters: str, inventory: Inventory) -> bool:
    """Whether a text can be a type by an inventory: a letter of each dimension in their order, or an X."""
    if len(letters) != len(inventory.dimensions) or not letters.strip(NOBODY_COULD_TELL):
        return False
    pairs = zip(letters, inventory.dimensions, strict=True)
    return all(letter in (one.high, one.low, NOBODY_COULD_TELL) for letter, one in pairs)


def scores_of(one: Character, inventory: Inventory) -> dict[str, Mapping[str, Label]]:
    """Return the scores of a character by an inventory, by who judged; each must lie on its scale."""
    names = {dimension.name for dimension in inventory.dimensions}
    found = {
        by: scores
        for by, of in one.labels.items()
        for name, scores in of.items()
        if name.casefold() == inventory.name.casefold() and scores.keys() == names
    }
    for label in (label for scores in found.values() for label in scores.values()):
        if label.score is not None and not inventory.low <= label.score <= inventory.high:
            span = f"from {inventory.low:g} to {inventory.high:g}"
            raise ValueError(f"Labels have a score of {label.score:g} by {inventory.name}, which goes {span}: mend it.")
    return found


def unlabelled(name: str, known: Iterable[Character], inventories: Iterable[Inventory]) -> str:
    """Say that labels fit no inventory, what they are for, and what would fit."""
    there = list(dict.fromkeys(told for one in known for told in told_in(one)))
    fit = [f"{one.name} ({', '.join(dimension.name for dimension in one.dimensions)})" for one in inventories]
    return (
        f"{name} has no labels for {' or '.join(fit)}: give a type with a letter for each dimension, or scores under "
        f"that name and these dimensions; there are: {', '.join(there) or 'none'}."
    )


def told_in(one: Character) -> Iterator[str]:
    """The labels of a character in words."""
    yield from (f"the type {letters} ({name})" for name, letters in one.types.items())
    yield from (
        f"scores by {name} ({', '.join(scores)}; {by})" for by, of in one.labels.items() for name, scores in of.items()
    )
