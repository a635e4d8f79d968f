"""Rejection of unknown questions (UQR, RoleRAG 4.2 and 5.6): overall, in scope and out of scope."""

from collections.abc import Iterable
from typing import Literal, NamedTuple


class RefusalRates(NamedTuple):
    """Shares of judged replies; None where there is no reply of that kind."""

    overall: float | None
    """Replies that kept to what the role can know: refusals out of scope and answers in scope, of all. Higher is
    better, and a role that refuses everything or nothing reaches the share of one scope."""
    true_refusals: float | None
    """Refusals of the questions out of scope: higher is better."""
    false_refusals: float | None
    """Refusals of the questions in scope: lower is better."""
    n_in: int
    """Judged replies to questions in scope."""
    n_out: int
    missing: int
    """Replies that no judge could judge; they are in no share."""


def refusal_rates(judged: Iterable[tuple[Literal["in", "out"], float | None]]) -> RefusalRates:
    """Count refusals by the scope of the questions.

    The paper scores a reply 1 if it keeps to what the role can know, else 0, and averages over all questions of a
    dataset, in and out of scope together; its Figure 4 is on those out of scope alone. It leaves open what a refusal
    in scope costs: here it counts against the overall rate. Its judge also looks for lore that does not fit; here an
    answer in scope is kept, right or wrong, since other judges say that.

    Args:
        judged: of each reply, the scope of its question, and whether it declined: 1 (or True), 0, or None if missing.

    Raises:
        ValueError: a scope is unknown, or a judgement neither yes nor no.
    """
    refused: dict[str, list[bool]] = {"in": [], "out": []}
    missing = 0
    for scope, value in judged:
        if scope not in refused or value not in (0, 1, None):
            raise ValueError(
                f"Give the scope, in or out, and 1, 0 or None for yes, no or missing: not {scope!r}, {value}."
            )
        if value is None:
            missing += 1
        else:
            refused[scope].append(bool(value))
    kept = refused["out"] + [not one for one in refused["in"]]
    n_in, n_out = len(refused["in"]), len(refused["out"])
    return RefusalRates(_share(kept), _share(refused["out"]), _share(refused["in"]), n_in, n_out, missing)


def _share(of: list[bool]) -> float | None:
    return sum(of) / len(of) if of else None
