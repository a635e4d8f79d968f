"""AMADEUS (Park et al. 2025): adaptive splitter, guided selection, attribute extractor, reply."""

from typing import Any

from langgraph.graph import END, START
from typing_extensions import TypedDict

from dramaturg.nodes.drafts import speak
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.passages.attributes import (
    AttributedDraftState,
    AttributeMemory,
    AttributeState,
    VerifiedReplySettings,
    draft_with_attributes,
    extract_attributes,
    ground_passages,
)
from dramaturg.nodes.passages.index import IndexingSettings, PassagesCheckState, check_index, passages_outcome
from dramaturg.nodes.passages.retrieval import RetrievalState, retrieve
from dramaturg.nodes.passages.selection import (
    SelectionSettings,
    SelectionState,
    begin_selection,
    fall_back,
    judge,
    selection_outcome,
)
from dramaturg.nodes.reply import GroundsInput, GroundsOutput
from dramaturg.nodes.run import by_rules
from dramaturg.nodes.self_contained import SelfContainedState, make_self_contained
from dramaturg.nodes.turn import SummarySettings, SummaryState, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.amadeus_index import graph as amadeus_index
from dramaturg.workflows.wiring import wire_beginning, wire_drafts, wire_end, wire_index


class AmadeusContext(SelectionSettings, VerifiedReplySettings, IndexingSettings, SummarySettings):
    """Everything that AMADEUS may be told."""

    longest: Closed[int] = by_rules(
        paper=100_000,
        ours=2000,
        ge=50,
        le=100_000,
        description="The most that l_max may be. The paper's is as long as the longest paragraph, whatever that is "
        "(Equation 3): one paragraph that was never broken makes passages of which an embedding model reads the "
        "beginning only.",
    )


class AmadeusState(
    TurnState,
    PassagesCheckState,
    SelfContainedState,
    RetrievalState,
    SelectionState,
    AttributeState,
    AttributedDraftState,
    SummaryState,
):
    """A turn, and what lives on: the window and its summary, and the role memory of attributes that were found."""


class PassagesMemory(TypedDict, total=False):
    """What AMADEUS remembers from turn to turn."""

    role_memory: AttributeMemory


class PassagesInput(GroundsInput, PassagesMemory):
    """What the part that gathers grounds takes."""


class PassagesOutput(GroundsOutput, PassagesMemory):
    """What it gives."""


class PassagesState(AmadeusState, GroundsOutput):
    """Grounds under way."""


def wire_grounds(builder: Workflow[Any, Any, Any, Any]) -> None:
    """Wire what a reply rests on (Figure 2): from the index to the attributes."""
    wire_index(builder, check_index, passages_outcome, amadeus_index, "make_self_contained")
    builder.add_node(make_self_contained)
    builder.add_node(retrieve)
    builder.add_node(begin_selection)
    builder.add_node(judge)
    builder.add_node(fall_back)
    builder.add_node(extract_attributes)
    builder.add_edge("make_self_contained", "retrieve")
    builder.add_edge("retrieve", "begin_selection")
    builder.add_edge("begin_selection", "judge")
    builder.add_conditional_edges(
        "judge", selection_outcome, {"more": "judge", "enough": "extract_attributes", "none": "fall_back"}
    )
    builder.add_edge("fall_back", "extract_attributes")


@changeable
def build() -> Workflow[AmadeusState, AmadeusContext, TurnInput, TurnOutput]:
    """Wire the graph (Figure 2)."""
    builder = Workflow(AmadeusState, AmadeusContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {"version": "passages_version", "stale": "passages_stale", "note": ""}
    builder.former_nodes = {"respond": "draft"}
    wire_beginning(builder, "check_index")
    wire_grounds(builder)
    builder.add_edge("extract_attributes", "draft")
    wire_drafts(builder, draft_with_attributes)
    builder.add_node(speak)
    wire_end(builder, "speak")
    return builder


@changeable
def build_grounds() -> Workflow[PassagesState, AmadeusContext, PassagesInput, PassagesOutput]:
    """Wire what a reply rests on, without the reply: a part of other graphs."""
    builder = Workflow(PassagesState, AmadeusContext, input_schema=PassagesInput, output_schema=PassagesOutput)
    wire_grounds(builder)
    builder.add_node(ground_passages)
    builder.add_edge(START, "check_index")
    builder.add_edge("extract_attributes", "ground_passages")
    builder.add_edge("ground_passages", END)
    return builder


graph = build().compile(name="amadeus")
