"""A wish for one reply, such as "shorter" or "she should be angry": it travels with the message that is answered.

It holds for the turn of that message alone. Drafts and replies are asked for with it; what is looked up, judged and
remembered knows nothing of it.
"""

from contextlib import suppress
from typing import TypeVar

from langchain_core.messages import AnyMessage, BaseMessage

from dramaturg.models.reading import encodable

__all__ = ["WISH", "as_wish", "wish_in", "wished"]

WISH = "dramaturg_wish"
"""The key among a message's `additional_kwargs` of how the reply to it is to be."""
LONGEST_WISH = 500  # characters

M = TypeVar("M", bound=BaseMessage)


def as_wish(given: object) -> str:
    """A wish as it is kept: on one line; empty: there is none.

    Raises:
        ValueError: it is no text, or has more than `LONGEST_WISH` characters.
    """
    if not isinstance(given, str):
        raise ValueError(f"A wish for a reply is a text, such as 'shorter', not of the type {type(given).__name__}.")
    wish = " ".join(encodable(given).split())
    if len(wish) > LONGEST_WISH:
        raise ValueError(
            f"The wish for a reply has {len(wish):,} characters, and {LONGEST_WISH} are the most: say it shorter, or "
            "put what is to hold for all replies into the scene or the role's files."
        )
    return wish


def wish_in(message: AnyMessage) -> str:
    """The wish that came with a message; empty: none did, or none that can be used, which a turn refuses."""
    with suppress(ValueError):
        return as_wish(message.additional_kwargs.get(WISH, ""))
    return ""


def wished(message: M, wish: str) -> M:
    """A message with a wish in the place of the one that came with it; empty: with none."""
    kept = {name: value for name, value in message.additional_kwargs.items() if name != WISH}
    return message.model_copy(update={"additional_kwargs": kept | ({WISH: wish} if wish else {})})
