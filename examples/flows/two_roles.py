"""Two roles talk: each by a method of its own, with a memory of its own, and hears the other as a user."""

from typing import Literal

from langgraph.graph import END, START
from pydantic import Field

from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.part import PartState, part
from dramaturg.nodes.run import RoleContext
from dramaturg.nodes.turn import TurnInput, TurnOutput
from dramaturg.nodes.workflow import Workflow
from dramaturg.workflows import amadeus, emotional_rag

LINES = 4  # that the two say before it is your turn again


class SceneContext(RoleContext):
    other: Open[str] = Field(default="silver", pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The role that answers.")


class SceneState(TurnOutput, PartState):
    pass


def next_speaker(state: SceneState) -> Literal["one", "other", "over"]:
    said = next(at for at, message in enumerate(reversed(state["messages"])) if message.type == "human")
    return "over" if said >= LINES else "one" if said % 2 == 0 else "other"


def build() -> Workflow[SceneState, SceneContext, TurnInput, TurnOutput]:
    builder = Workflow(SceneState, SceneContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.add_node("one", part(amadeus.graph, {"slots": 1}))
    builder.add_node("other", part(emotional_rag.graph, lambda scene: {"role": scene.other}))
    for before in (START, "one", "other"):
        builder.add_conditional_edges(before, next_speaker, {"one": "one", "other": "other", "over": END})
    return builder


graph = build().compile(name="two_roles")
