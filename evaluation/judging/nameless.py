"""What a judge is shown without the names of the role and of who asks: models know famous people, not only the card."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from dramaturg.evaluation.datasets.dataset import DatasetTurn
from dramaturg.evaluation.interviews.cleaning import anonymous
from dramaturg.evaluation.judging.judges import Case

MARKS = ("[the participant]", "[the user]")
"""Without angle brackets, which prompts take the force from."""
KEPT = ("language", "scope", "turns")


def nameless(case: Case, names: Iterable[str]) -> Case:
    """Put marks in the place of names, in all that a judge is shown; see `anonymous` for what counts as a name.

    Args:
        case: of a reply.
        names: the role's name and aliases.
    """
    hide = partial(anonymous, names=tuple(names), experimenter=case.user_role, marks=MARKS)

    def hidden(value: Any) -> Any:
        if isinstance(value, str):
            return hide(value)
        if isinstance(value, DatasetTurn):
            return DatasetTurn(speaker=hide(value.speaker), text=hide(value.text))
        return tuple(map(hidden, value))

    shown = {name: hidden(getattr(case, name)) for name in type(case).model_fields if name not in KEPT}
    return case.model_copy(update=shown)
