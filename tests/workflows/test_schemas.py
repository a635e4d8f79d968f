"""What a person sees of the channels of every served graph: described fields, and a form without what programs send."""

from typing import Any, get_type_hints

import pytest
from langgraph.channels import LastValue
from langgraph.graph import StateGraph
from pydantic import TypeAdapter
from syrupy.assertion import SnapshotAssertion

from served_graphs import GRAPHS, SERVED


def kind_of(channel: Any) -> str:
    """How a channel takes values: its class, or its reducer."""
    reducer = getattr(channel, "operator", None)
    return reducer.__name__ if reducer else type(channel).__name__


def channels_of(builder: StateGraph[Any, Any, Any, Any]) -> dict[str, str]:
    """The channels of a graph that do not just hold the last value."""
    return {
        name: kind_of(one)
        for name, one in sorted(builder.channels.items())
        if not name.startswith("branch:") and not isinstance(one, LastValue)
    }


@pytest.mark.parametrize("name", SERVED)
def test_every_field_is_described(name: str) -> None:
    graph = SERVED[name]
    forms = {
        "input": graph.get_input_jsonschema(),
        "output": graph.get_output_jsonschema(),
        "state": TypeAdapter(graph.builder.state_schema).json_schema(),
    }
    for form, schema in forms.items():
        for field, said in schema.get("properties", {}).items():
            assert said.get("description"), (form, field)


@pytest.mark.parametrize("name", SERVED)
def test_no_channel_loses_its_reducer(name: str, snapshot: SnapshotAssertion) -> None:
    assert channels_of(SERVED[name].builder) == snapshot


@pytest.mark.parametrize("name", SERVED)
def test_a_channel_is_the_same_in_every_slice_of_a_state(name: str) -> None:
    builder = SERVED[name].builder
    for slice_ in builder.schemas:
        alone = StateGraph(slice_).channels
        for field in get_type_hints(slice_):
            assert kind_of(alone[field]) == kind_of(builder.channels[field]), (slice_.__name__, field)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_form_of_a_talk_asks_for_messages_alone(name: str) -> None:
    form = GRAPHS[name].get_input_jsonschema()["properties"].keys()
    assert form == {"messages"} or name.endswith("_index")


def test_the_form_of_a_simulation_asks_for_nothing() -> None:
    assert not SERVED["riverbend"].get_input_jsonschema().get("properties")
