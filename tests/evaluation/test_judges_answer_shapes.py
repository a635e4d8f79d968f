"""Answers of judges in the shapes in which models write them."""

import json
from typing import Any

import pytest
from answer_shapes import ABSENT, AGAIN, Form, Shape, changed, first_answer, form, listed, numbers, reading, unused

from dramaturg.evaluation.interviews.judging import choices, scale, shares
from dramaturg.evaluation.judging.judges import JUDGES, Case, Flaws, judged
from dramaturg.models.chat import chat_model

from fakes import scripted

RATED = {"analysis": "He agrees.", "result": 4}
STEP = form(
    "a step",
    reading(choices(1, 5), lambda found: found.result),
    RATED,
    4,
    unused(RATED, 4, ("analysis",)),
    numbers(RATED, 4, ("result",), 1, 5),
    [Shape(f"refused as {one!r}", changed(RATED, ("result",), one), "x") for one in ("x", "X", "“x”", " x. ")],
)
ON_SCALE = form(
    "a rating",
    reading(scale(1, 5), lambda found: found.result),
    RATED,
    4.0,
    unused(RATED, 4.0, ("analysis",)),
    numbers(RATED, 4.0, ("result",), 1, 5, halves=4.5),
)
SPLIT = {"analysis": "He agrees.", "result": {"E": 60, "I": 40}}


def split(result: Any, wanted: Any = 60.0) -> Shape:
    return Shape(f"result {result!r}", changed(SPLIT, ("result",), result), wanted)


SHARED = form(
    "shares",
    reading(shares("E", "I"), lambda found: found.result.high),
    SPLIT,
    60.0,
    unused(SPLIT, 60.0, ("analysis",)),
    [
        split({"E": "60%", "I": "40%"}),
        split({"E": "60 %", "I": "40 %"}),
        split({"E": "６０％", "I": "４０％"}),
        split({"E": "60", "I": "40"}),
        split({"E": "60/100", "I": "40/100"}),
        split({"e": 60, "i": 40}),
        split({"E": 60}),
        split({"I": 40}),
        split({"E": 60, "I": None}),
        split({"E": 60.5, "I": 39.5}, 60.5),
        split([{"E": 60, "I": 40}]),
        split({"E": 60, "I": 40, "N": 3}),
        split({"E": 61, "I": 40}, AGAIN),
        split({"E": 160, "I": -60}, AGAIN),
        split({"E": True, "I": 99}, AGAIN),
        split({"E": "most", "I": 40}, AGAIN),
        split({"E": "most", "I": "little"}, AGAIN),
        split({}, AGAIN),
        split(None, AGAIN),
        split(60, AGAIN),
        split(ABSENT, AGAIN),
    ],
)
FAULTY: dict[str, Any] = {"flaws": [{"flaw": "He explains too much.", "severity": 2}]}
SEVERE = form(
    "flaws",
    reading(
        Flaws, lambda found: [one.severity for one in found.flaws] if not found.dropped else "something is left out"
    ),
    FAULTY,
    [2],
    unused(FAULTY, [2], ("flaws", 0, "flaw")),
    numbers(FAULTY, [2], ("flaws", 0, "severity"), 1, 5, halves=[2.5]),
    [one for one in listed(FAULTY, [2], "flaws") if not one.name.startswith("flaws with")],
    [
        Shape("bare numbers", '{"flaws": [2, 3]}', [2, 3]),
        Shape("none", '{"flaws": []}', []),
        Shape("null", '{"flaws": null}', []),
        Shape("nothing", "{}", AGAIN),
        Shape("one that is none", json.dumps({"flaws": [*FAULTY["flaws"], {"flaw": "?"}]}), "something is left out"),
    ],
)


@pytest.mark.parametrize(
    ("asked", "shape"),
    [(one, shape) for one in (STEP, ON_SCALE, SHARED, SEVERE) for shape in one.shapes],
    ids=lambda one: one.name,
)
async def test_a_verdict_in_a_usual_shape_counts(asked: Form, shape: Shape) -> None:
    assert await first_answer(asked, shape.text) == shape.wanted


async def test_a_long_flaw_costs_no_score() -> None:
    case = Case(role="Ada", question="Who?", reply="I.", language="en", profile="A keeper.", scene="A room.", talk=())
    judge = next(one for one in JUDGES.values() if one.scale == "flaws" and one.name == "acting_anthropomorphism")
    talk = {"talk": [{"speaker": "Ada", "text": "I."}]}
    model = scripted("The actor is stiff.", json.dumps({"flaws": [{"flaw": "He explains. " * 90, "severity": 2}]}))
    found = await judged(judge, chat_model(model), Case.model_validate({**case.model_dump(), **talk}))
    assert (found.state, found.error) == ("judged", "")
