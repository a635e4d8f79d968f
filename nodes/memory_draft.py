"""Memories that are being encoded: what the nodes of indexing share, and what is reported."""

from typing import Annotated

from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage


class MemoryReport(TypedDict):
    """What an index of memories holds, and what it cost now.

    `copies`: lines that are joined with another; `failed`: memories without a mood, and why.
    """

    version: str
    encoder: str
    memories: int
    copies: int
    failed: list[dict[str, str]]
    calls: int
    tokens: int


class MemoryIndexInput(TypedDict, total=False):
    """What indexing may be told.

    `rebuild`: embed and encode all anew, the old is served until then. `retry`: ask again for moods that could not
    be had.
    """

    rebuild: bool
    retry: bool


class MemoryIndexOutput(TypedDict):
    """What indexing gives."""

    index: MemoryReport
    version: str


class MemoryDraftState(MemoryIndexInput, MemoryIndexOutput):
    """Indexing under way: the draft on disk, its encoder, what it cost, how often the files have changed meanwhile."""

    draft: str
    encoder: str
    overtaken: int
    usage: Annotated[dict[str, Usage], add_usage]
