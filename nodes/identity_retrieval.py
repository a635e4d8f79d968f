"""Identity retrieval by a search strategy (ID-RAG 3.3.2, step 5, and the structured search of its implementation)."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

Triple: TypeAlias = tuple[str, str, str]
Rule: TypeAlias = Literal["paper", "released"]

FEW, FEWER, MOST = 3, 2, 6
"""Of the released rule: with fewer hits than these, relations of medium priority and keywords count; and its cap."""
PARTS = ("high_priority", "medium_priority", "keywords")


def search_chronicle(
    triples: Sequence[Triple], strategy: Mapping[str, Sequence[str]], *, wanted: int, rule: Rule = "paper"
) -> list[Triple]:
    """Return the triples K_ID that a strategy finds, those of high priority first, each once and in their own order.

    The paper's rule: all triples of a relation of high priority, then those of medium priority until there are enough;
    keywords only where nothing was found. The released code's, for comparison: all of medium priority where there are
    fewer than three of high, keywords where there are fewer than two, and never more than six, whatever is wanted.

    Args:
        triples: the chronicle, (subject, relation, object).
        strategy: `high_priority` and `medium_priority`, names of relations, and `keywords`, which are looked for in
            objects, whatever their case; each may be left out.
        wanted: how many triples are wanted; those of high priority are never cut.
        rule: "paper" or "released".

    Raises:
        ValueError: `wanted` is below 1, there is no such rule, or the strategy is not of this form.
    """
    high, medium, keywords = read_strategy(strategy)
    if wanted < 1:
        raise ValueError(f"At least one triple must be wanted, not {wanted}.")
    if rule not in ("paper", "released"):
        raise ValueError(f"There is no rule {rule!r}: take 'paper' or 'released'.")
    own = distinct(triples)
    first = [one for one in own if one[1] in high]
    second = [one for one in own if one[1] in medium and one[1] not in high]
    named = [one for one in own if any(word.casefold() in one[2].casefold() for word in keywords)]
    return by_released_rule(first, second, named) if rule == "released" else by_paper(first, second, named, wanted)


def by_paper(high: Sequence[Triple], medium: Sequence[Triple], named: Sequence[Triple], wanted: int) -> list[Triple]:
    """All of high priority, filled up to the wanted number; keywords only where there is nothing else."""
    found = [*high, *medium[: max(wanted - len(high), 0)]]
    return found or list(named[:wanted])


def by_released_rule(high: Sequence[Triple], medium: Sequence[Triple], named: Sequence[Triple]) -> list[Triple]:
    """What the released code gives for the same strategy."""
    found = [*high, *(medium if len(high) < FEW else [])]
    return distinct([*found, *(named if len(found) < FEWER else [])])[:MOST]


def distinct(triples: Sequence[Triple]) -> list[Triple]:
    """The triples, each once."""
    return list(dict.fromkeys((subject, relation, thing) for subject, relation, thing in triples))


def read_strategy(strategy: Mapping[str, Sequence[str]]) -> tuple[set[str], set[str], list[str]]:
    """The two sets of relations, and the keywords; an empty one is in every text and counts as none.

    Raises:
        ValueError: a part is unknown, or is no list of texts.
    """
    if unknown := sorted({*strategy} - {*PARTS}):
        raise ValueError(f"A search strategy has {', '.join(PARTS)}, and no {unknown[0]!r}.")
    for part, names in strategy.items():
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{part} of a search strategy must be a list of texts, not {names!r}.")
    high, medium, keywords = (strategy.get(part, ()) for part in PARTS)
    return set(high), set(medium), [word for word in keywords if word.strip()]
