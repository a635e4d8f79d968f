"""Dialogues that are being indexed: what the nodes of indexing share, and what is reported."""

from typing import Annotated

from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage


class DialogueReport(TypedDict):
    """What an index of dialogues holds, and what it cost now.

    `relations`: pairs of roles who speak with each other; `edges`: the same in each dialogue by itself, which is what
    gets a score; `scored`: how many of those have one; `failed`: those that have none though it was asked for, and why.
    """

    version: str
    dialogues: int
    speakers: int
    relations: int
    edges: int
    scored: int
    failed: list[dict[str, str]]
    calls: int
    tokens: int


class DialogueIndexInput(TypedDict, total=False):
    """What indexing may be told.

    `rebuild`: embed all anew, the old is served until then. `scores`: score every edge now, and not when a conversation
    first needs it.
    """

    rebuild: bool
    scores: bool


class DialogueIndexOutput(TypedDict):
    """What indexing gives."""

    index: DialogueReport
    version: str


class DialogueDraftState(DialogueIndexInput, DialogueIndexOutput):
    """Indexing under way: the draft on disk, what it cost, how often the files have changed meanwhile."""

    draft: str
    failures: list[dict[str, str]]
    overtaken: int
    usage: Annotated[dict[str, Usage], add_usage]
