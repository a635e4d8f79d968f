"""Where the spread of scores is from: roles, their questions, or another answer to the same question."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import NamedTuple

Repeats = Mapping[str, Mapping[str, Sequence[float]]]
"""By role and question, a value a seed."""


class VarianceComponents(NamedTuple):
    """Variances of nested random effects. A component that the data estimate below 0 is 0, and is named."""

    role: float | None
    """Of the roles' means; None where there is one role, which says nothing of it."""
    question: float
    """Of the questions of a role."""
    seed: float
    """Of the answers to a question."""
    negative: tuple[str, ...]
    """Which of them were estimated below 0: there is too little, or too much other spread, to see them."""
    n_roles: int
    n_questions: int
    n_values: int
    method: str

    @property
    def shares(self) -> dict[str, float]:
        """What part of all three together each known component is."""
        known = {"role": self.role, "question": self.question, "seed": self.seed}
        there = {name: one for name, one in known.items() if one is not None}
        whole = sum(there.values())
        return {name: one / whole for name, one in there.items()}


class _Squares(NamedTuple):
    """The sums of squares between and within, and what they expect to be, in units of the components."""

    roles: float
    questions: float
    seeds: float
    question_in_questions: float
    question_in_roles: float
    role_in_roles: float


def variance_components(values: Repeats) -> VarianceComponents:
    """Part the spread of values into that of roles, of questions in a role, and of seeds in a question.

    Random effects, one within the other, by the method of moments: the three sums of squares of the analysis of
    variance are set equal to what they would be on average (Henderson's first method, for groups of any size).

    Args:
        values: by role and question, a value a seed; leave out and count what is missing.

    Raises:
        ValueError: a role or question is empty, a value is no number, no question has two values, no role has two
            questions, or all values are the same.
    """
    sizes = {role: [len(one) for one in of.values()] for role, of in values.items()}
    n, questions, roles = sum(map(sum, sizes.values())), sum(map(len, sizes.values())), len(sizes)
    _check(values, n, questions, roles)
    found = _squares(values, sizes, n)
    seed = found.seeds / (n - questions)
    question = (found.questions - (questions - roles) * seed) / found.question_in_questions
    left = found.roles - (roles - 1) * seed - found.question_in_roles * question
    role = left / found.role_in_roles if roles > 1 else None
    below = [name for name, one in (("role", role), ("question", question)) if one is not None and one < 0]
    return VarianceComponents(
        None if role is None else max(role, 0.0),
        max(question, 0.0),
        seed,
        tuple(below),
        roles,
        questions,
        n,
        "nested random effects by the method of moments",
    )


def _check(values: Repeats, n: int, questions: int, roles: int) -> None:
    """Refuse what has no components."""
    every = list(_values(values))
    if not (roles and all(values.values()) and all(len(one) for of in values.values() for one in of.values())):
        raise ValueError("Give one role or more, each with questions that have values: leave out what is missing.")
    if not all(one is not None and isfinite(one) for one in every):
        raise ValueError("A value is no number: leave it out, and count it as missing.")
    if n == questions:
        raise ValueError("No question has two values: ask with two seeds or more.")
    if questions == roles:
        raise ValueError("No role has two questions: nothing tells questions and roles apart.")
    if min(every) == max(every):
        raise ValueError("All values are the same: there is no spread to be parted.")


def _squares(values: Repeats, sizes: Mapping[str, Sequence[int]], n: int) -> _Squares:
    """What the values spread, and what of each component is expected in it."""
    mean = fmean(_values(values))
    by_role = {role: fmean(one for of in mine.values() for one in of) for role, mine in values.items()}
    by_question = {(role, name): fmean(of) for role, mine in values.items() for name, of in mine.items()}
    per_role = sum(sum(one * one for one in of) / sum(of) for of in sizes.values())
    return _Squares(
        roles=sum(sum(sizes[role]) * (one - mean) ** 2 for role, one in by_role.items()),
        questions=sum(
            len(values[role][name]) * (one - by_role[role]) ** 2 for (role, name), one in by_question.items()
        ),
        seeds=sum((one - by_question[key]) ** 2 for key in by_question for one in values[key[0]][key[1]]),
        question_in_questions=n - per_role,
        question_in_roles=per_role - sum(one * one for of in sizes.values() for one in of) / n,
        role_in_roles=n - sum(sum(of) ** 2 for of in sizes.values()) / n,
    )


def _values(values: Repeats) -> Iterator[float]:
    """All of them."""
    return (one for of in values.values() for mine in of.values() for one in mine)
