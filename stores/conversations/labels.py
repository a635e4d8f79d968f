"""What a person has set about a whole talk, beside what was said in it: its title, and whether it is pinned."""

import unicodedata
from typing import Any

from langgraph.store.base import BaseStore, Op, PutOp
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dramaturg.stores.conversations.items import items_under
from dramaturg.stores.conversations.talk import digest_of, key_of

LABELS = "dramaturg_labels"
LONGEST_TITLE = 200  # characters


class Label(BaseModel):
    """What a person has set about a talk."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = Field(default="", max_length=LONGEST_TITLE)
    """Empty: nobody has given it one."""
    pinned: bool = False


class Labels:
    """The labels of the talks with a role, in any LangGraph store.

    Args:
        store: where they are kept.
        role: the id of the role.
    """

    def __init__(self, store: BaseStore, role: str) -> None:
        self.store = store
        self.namespace = (LABELS, digest_of(role, ""))

    async def all(self) -> dict[str, Label]:
        """The labels of all talks that have one, each by `key_of` the talk."""
        return {item.key: label async for item in items_under(self.store, self.namespace) if (label := _read(item))}

    async def of(self, thread: str) -> Label:
        """The label of a talk; an empty one where nobody has set anything."""
        return _read(await self.store.aget(self.namespace, key_of(thread))) or Label()

    async def save(self, thread: str, label: Label) -> None:
        """Keep the label of a talk in the place of the one before; an empty one is not kept."""
        value = None if label == Label() else label.model_dump(exclude_defaults=True)
        writes: list[Op] = [PutOp(self.namespace, key_of(thread), value, index=False)]
        await self.store.abatch(writes)


def as_title(text: str) -> str:
    """A title as it is kept: on one line, without what cannot be shown.

    Raises:
        ValueError: it is too long.
    """
    shown = "".join(one for one in " ".join(text.split()) if unicodedata.category(one) not in ("Cc", "Cs", "Cn"))
    if len(shown) > LONGEST_TITLE:
        raise ValueError(f"A title has up to {LONGEST_TITLE} characters: this one has {len(shown):,}.")
    return shown.strip()


def _read(item: Any) -> Label | None:
    """The label that an item holds; None: there is none, or it is not as it was written."""
    try:
        return Label.model_validate(item.value) if item else None
    except ValidationError:
        return None
