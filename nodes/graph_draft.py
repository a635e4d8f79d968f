"""A knowledge graph that is being built: what its nodes share, and what is reported of it."""

from typing import Annotated

from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage


class GraphReport(TypedDict):
    """What a knowledge graph holds, and what it cost now.

    `failed`: chunks without facts, and why; `undescribed`: what could not be summed up; `plan`: the file of a plan.
    """

    version: str
    documents: int
    chunks: int
    failed: list[dict[str, str]]
    entities: int
    relations: int
    merges: int
    undescribed: int
    calls: int
    tokens: int
    plan: str


class GraphIndexInput(TypedDict, total=False):
    """What indexing may be told.

    `rebuild`: ask and embed all anew, the old is served until then. `retry`: ask failed chunks again. `plan`: end with
    the merge plan and publish nothing. `apply`: merge by the plan that was read and edited.
    """

    rebuild: bool
    retry: bool
    plan: bool
    apply: bool


class GraphIndexOutput(TypedDict):
    """What indexing gives; nothing was published where the version is empty."""

    index: GraphReport
    version: str


class GraphDraftState(GraphIndexInput, GraphIndexOutput):
    """Indexing under way: the draft on disk, what it cost, how often the persona has changed meanwhile."""

    draft: str
    overtaken: int
    usage: Annotated[dict[str, Usage], add_usage]
