"""The date of a conversation: what holds only before or after it is no part of who a role is."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from dramaturg.workflows.id_rag import IdRagContext

from identity_roles import (
    CALM,
    KEEPER,
    LIGHT,
    SILENCE,
    STORMS,
    ada,
    decider,
    finding,
    found,
    run,
    shown,
    sought,
    state_of,
    take,
    weighed,
)
from roles import fenced

ALL = [KEEPER, LIGHT, SILENCE, STORMS, CALM]
GIN, RUM, ALE = (f"Ada Quill likes {one}." for one in ("gin", "rum", "ale"))
FULL: dict[str, Any] = {"identity": "full", "gate": False}


@pytest.fixture
def role(tmp_path: Path) -> Path:
    """Ada, who liked gin until 1850, likes rum from May 1850 on and ale from the year 9000 on."""
    role = ada(tmp_path)
    likes = "- {{subject: Ada Quill, relation: likes, object: {}, kind: preference, core: true, {}}}\n"
    periods = {"gin": "until: 1850-04", "rum": "since: 1850-05, until: 8999", "ale": "since: 9000"}
    with (role / "chronicle.yaml").open("a", encoding="utf-8") as file:
        file.writelines(likes.format(thing, period) for thing, period in periods.items())
    return role


async def known(role: Path, saver: InMemorySaver | None = None, /, **given: Any) -> list[str]:
    """Who she is, as the prompt of her reply shows it."""
    await take(role, model := decider(), saver=saver, **(FULL | given))
    return fenced("identity", shown(model, "reply")[0]).splitlines()


async def test_a_conversation_is_held_today(role: Path) -> None:
    output = await take(role, model := decider(), **FULL)
    assert fenced("identity", shown(model, "reply")[0]).splitlines() == [*ALL, RUM]
    left = output["evidence"]["identity"]["not_held"]
    assert (left["count"], [one["sentence"] for one in left["triples"]]) == (2, [GIN, ALE])


@pytest.mark.parametrize(
    ("as_of", "holds"),
    [("1850-04-30", GIN), ("1850-05-01", RUM), ("1850-04", GIN), ("1850", RUM), (1849, GIN), ("9000-01", ALE)],
)
async def test_or_at_a_date_of_its_own_of_a_month_or_a_year_the_last_day(
    role: Path, as_of: str | int, holds: str
) -> None:
    assert await known(role, as_of=as_of) == [*ALL, holds]


async def test_what_a_program_brings_as_now_comes_first(role: Path) -> None:
    assert await known(role, as_of="1849", now="1900-01-01T09:00") == [*ALL, RUM]


@pytest.mark.parametrize("wrong", ["1850-13", "1850-02-30", "1850-5"])
def test_what_is_no_date_is_refused_in_a_sentence(wrong: str) -> None:
    with pytest.raises(ValueError, match=f"'{wrong}' is no date: write a year, a month or a day"):
        IdRagContext(as_of=wrong)


async def test_neither_query_nor_gate_nor_update_sees_what_does_not_hold(role: Path) -> None:
    model = decider(query=sought("likes"), reflected=found(finding("tea")))
    await take(role, model, update=True, as_of="1849")
    for part in ("weighed", "reflected"):
        told = fenced("statements", shown(model, part)[0])
        assert GIN[:-1] in told
        assert "rum" not in told
        assert "ale" not in told
    assert fenced("identity", shown(model, "reply")[0]).splitlines() == [STORMS, GIN]


async def test_a_turn_that_waits_goes_on_at_the_date_of_its_beginning(role: Path) -> None:
    saver, on = InMemorySaver(), {**FULL, "update": True}
    model = decider(reflected=found(finding("tea", 6)))
    waiting = await take(role, model, "Tea?", saver, **on, as_of="1849")
    assert waiting["__interrupt__"][0].value["changes"][0]["replaces"]["sentence"] == GIN
    await run(role, decider(), saver, Command(resume={"approved": [1]}), **on, as_of="9001")
    (change,) = (await state_of(saver))["identity_changes"]
    assert (change["triple"]["since"], change["replaces"]["object"]) == ("1849", "gin")
    assert await known(role, saver, as_of="1849-12-31") == [*ALL, "Ada Quill likes tea."]


async def test_a_change_does_not_hold_before_it_was_made(role: Path) -> None:
    saver = InMemorySaver()
    model = decider(reflected=found(finding("tea", 4)), weighed=weighed(0))
    await take(role, model, HumanMessage("Tea?"), saver, **FULL, update=True, as_of="1830")
    tea = "Ada Quill likes tea."
    assert await known(role, saver, as_of="1830") == [KEEPER, LIGHT, SILENCE, tea, CALM, GIN]
    assert await known(role, saver, as_of="1829") == [*ALL, GIN]


async def test_what_the_chronicle_has_taken_over_and_ended_is_over_in_its_conversation_too(role: Path) -> None:
    saver = InMemorySaver()
    await take(role, decider(reflected=found(finding("tea"))), "Tea?", saver, **FULL, update=True, as_of="1830")
    line = "- {subject: Ada Quill, relation: likes, object: tea, kind: preference, since: 1830, until: 1831}\n"
    with (role / "chronicle.yaml").open("a", encoding="utf-8") as file:
        file.write(line)
    assert "Ada Quill likes tea." in await known(role, saver, as_of="1831")
    assert "Ada Quill likes tea." not in await known(role, saver, as_of="1832")
