"""AMADEUS, told the weather: gathered beside what it finds, and drafted from both."""

from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field

from dramaturg.nodes.drafts import GroundedDraftSettings, GroundedDraftState, draft_from_grounds
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.passages.attributes import ground_passages
from dramaturg.nodes.run import settings
from dramaturg.workflows import amadeus


class WeatherContext(amadeus.AmadeusContext, GroundedDraftSettings):
    weather: Open[str] = Field(default="", max_length=200, description="The weather outside.")


class WeatherState(amadeus.AmadeusState, GroundedDraftState):
    """AMADEUS's turn, with what the draft from gathered grounds reads."""


async def begin(state: WeatherState, runtime: Runtime[WeatherContext]) -> dict[str, Any]:
    return {"gathered": Overwrite({}), "checkers": ["verifier"] if settings(runtime, WeatherContext).verify else []}


async def look_outside(state: WeatherState, runtime: Runtime[WeatherContext]) -> dict[str, Any]:
    said = settings(runtime, WeatherContext).weather
    return {"gathered": {"weather": {"texts": {"weather": [said]}, "limits": {}, "asker": "", "evidence": {}}}}


def build() -> Any:
    return amadeus.build(
        replace={"draft": draft_from_grounds},
        after={"read_turn": begin, "extract_attributes": ground_passages, "ground_passages": look_outside},
        state=WeatherState,
        context=WeatherContext,
    )


graph = build().compile(name="weather")
