"""Indexing as a knowledge graph where answers fail, the model goes away, and others are at work meanwhile."""

import asyncio
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.asking import answer_all
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role
from dramaturg.workflows.role_rag_index import graph

from graph_roles import (
    DOG,
    JORY,
    LIFE,
    TOM,
    WORK,
    asked,
    compared,
    graph_actor,
    graph_role,
    groups,
    index,
    only,
    part,
    put,
    served,
    settings,
)
from passage_samples import quick
from roles import fenced

pytestmark = pytest.mark.sample_of_file(2)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return graph_role(tmp_path)


async def test_a_chunk_that_fails_is_listed_and_asked_again_alone(role: Role) -> None:
    put(role, "work", WORK)
    nonsense = graph_actor(only("facts", "I cannot say.", "trims"))
    report = await index(role, nonsense, attempts=3)
    assert (len(asked(nonsense, "facts")), [one["passage"].split(":")[0] for one in report["failed"]]) == (
        4,
        ["work.md"],
    )
    assert "no usable answer" in report["failed"][0]["error"]
    assert served(role).find("The keeper") is None
    assert served(role).manifest.counts["failed"] == 1
    report = await index(role, model := graph_actor())
    assert (model.calls, len(report["failed"])) == ([], 1)
    report = await index(role, model := graph_actor(), {"retry": True})
    assert (len(asked(model, "facts")), report["failed"]) == (1, [])
    assert "trims" in asked(model, "facts")[0]
    assert served(role).find("The keeper") is not None


@pytest.mark.parametrize("kind", ["facts", "same", "pairs", "name"])
async def test_an_answer_that_cannot_be_used_is_asked_for_again(role: Role, kind: str) -> None:
    left = ["nonsense"]
    model = graph_actor(lambda text: left.pop() if left and part(text) == kind else None)
    await index(role, model, pairs_at_once=5 if kind == "pairs" else 1)
    assert not left
    assert {TOM, JORY} <= groups(role)


@pytest.mark.parametrize("bad", ["perhaps", None, {"reason": "Both sail."}], ids=["words", "null", "no verdict"])
async def test_of_several_pairs_only_those_without_a_verdict_are_asked_again(role: Role, bad: Any) -> None:
    usual = graph_actor()

    def spoilt(text: str) -> str | None:
        if part(text) != "pairs" or "[2] " not in text:
            return None
        verdicts = json.loads(usual.reply([HumanMessage(text)]))  # type: ignore[arg-type]
        return json.dumps(verdicts | {"pair_2": bad})

    await index(role, model := graph_actor(spoilt), pairs_at_once=5)
    shown = [len(re.findall(r"^\[\d\] ", fenced("pairs", text), re.MULTILINE)) // 2 for text in asked(model, "pairs")]
    assert Counter(shown) == {5: 7, 1: 1 + 7}  # of 36 pairs, and the second of seven questions once more
    assert {TOM, JORY} <= groups(role)


async def test_verdicts_that_came_before_a_failure_are_kept(role: Role) -> None:
    def half(text: str) -> str | None:
        if part(text) != "pairs":
            return None
        return json.dumps({"pair_1": True} | {"pair_2": "perhaps"} if "[2] " in text else {"pair_1": "perhaps"})

    await index(role, graph_actor(half), pairs_at_once=2, attempts=1)
    await index(role, model := graph_actor(), pairs_at_once=2)
    assert len(asked(model, "pairs")) == 9  # for the 18 second ones of 18 questions


@pytest.mark.parametrize(("kind", "joined"), [("same", False), ("name", True), ("summary", True)])
async def test_what_has_no_answer_is_asked_in_the_next_run(role: Role, kind: str, joined: bool) -> None:
    silent = graph_actor(only(kind, "" if kind == "summary" else "Perhaps."))
    report = await index(role, silent, attempts=1)
    assert ({TOM, JORY} <= groups(role)) is joined
    assert report["undescribed"] == (3 if kind == "summary" else 0)
    report = await index(role, model := graph_actor())
    assert {TOM, JORY} <= groups(role)
    assert len(asked(model, kind)) == len(asked(silent, kind))
    assert (asked(model, "facts"), report["undescribed"]) == ([], 0)


@pytest.mark.parametrize("answered", [0, 12, 40])
async def test_a_run_that_loses_its_model_goes_on_where_it_was(role: Role, answered: int) -> None:
    broken = graph_actor()
    broken.reply = graph_actor(
        lambda _: ModelUnavailable("It is gone.") if len(broken.calls) > answered else None
    ).reply
    with pytest.raises(ModelUnavailable):
        await index(role, broken, concurrency=1)
    await index(role, model := graph_actor())
    assert answered + len(model.calls) == 42
    assert max(Counter([*asked(broken)[:answered], *asked(model)]).values()) == 1


async def test_pairs_that_were_compared_before_are_counted(role: Role) -> None:
    broken, usual = graph_actor(), graph_actor()
    broken.reply = lambda messages: (
        ModelUnavailable("It is gone.") if len(asked(broken, "same")) > 7 else usual.reply(messages)
    )
    with pytest.raises(ModelUnavailable):
        await index(role, broken, concurrency=1)
    context = settings(role, model := graph_actor())
    events = [one async for one in graph.astream({}, context=context, stream_mode="custom")]
    done = [(one["done"], one["total"]) for one in events if one.get("what") == "pairs"]
    assert done[0] == (7, 7 + len(asked(model, "same")))
    assert done[-1][0] == done[-1][1]


async def test_what_is_answered_beside_a_question_that_fails_is_kept() -> None:
    kept: dict[str, Any] = {}

    async def ask(question: int) -> dict[str, Any]:
        await asyncio.sleep(0)
        if question == 3:
            raise ModelUnavailable("It is gone.")
        return {str(question): question}

    async def keep(had: Any) -> None:
        kept.update(had)

    with pytest.raises(ModelUnavailable):
        await answer_all({str(at): at for at in range(9)}, ask, keep=keep, announce=lambda done: None)
    assert kept == {str(at): at for at in range(9) if at != 3}


@pytest.mark.parametrize("kind", ["facts", "same", "summary"])
async def test_a_persona_that_changes_meanwhile_is_indexed_as_it_became(role: Role, kind: str) -> None:
    def learning(text: str) -> None:
        if part(text) == kind:
            put(role, "dog", DOG)

    report = await index(role, model := graph_actor(learning))
    assert served(role).find("Kit") == "Kit"
    assert (report["documents"], report["calls"]) == (2, len(model.calls))
    assert max(compared(model).values()) == 1


@pytest.mark.parametrize(
    "slow", ["", "facts", *(pytest.param(one, marks=pytest.mark.crash) for one in ("same", "name", "summary"))]
)
async def test_two_that_index_at_once_make_one_version(role: Role, slow: str) -> None:
    waits = [0.4]
    waiting = graph_actor(lambda text: time.sleep(waits.pop()) if waits and part(text) == slow else None)
    reports = await asyncio.gather(index(role, graph_actor()), index(role, waiting, concurrency=64))
    assert reports[0]["version"] == reports[1]["version"] == served(role).version
    assert {TOM, JORY} <= groups(role)
    assert len(list(role.root.glob("index/graph/versions/*"))) == 1
    assert list(role.root.glob("index/graph/drafts/*")) == []
    assert normal_name(LIFE.split(".")[1]) in normal_name(served(role).passages[0].text)


def cut(text: str) -> AIMessage:
    """An answer that ends at its token limit."""
    return AIMessage(text, response_metadata={"finish_reason": "length"})


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("answers", "description"),
    [
        (
            [cut("Tom sails the Petrel for Mr. Penrose. He brings flour, and her brother who")],
            "Tom sails the Petrel for Mr. Penrose.",
        ),
        ([cut("Tom is “Her brother.” He was a pupil of Mr. Penrose and")], "Tom is “Her brother.”"),
        ([cut("汤姆驾驶海燕号。他是她的哥哥，每逢星期五")], "汤姆驾驶海燕号。"),
        ([cut("Tom, her brother, who sails the"), "Tom sails. He is her brother."], "Tom sails. He is her brother."),
        (
            [cut("He sails. And then there is all of this which"), cut("He sails. He brings flour. He")],
            "He sails. He brings flour.",
        ),
        ([cut("Tom, her brother, who sails the")] * 2, ""),
    ],
)
async def test_a_description_that_met_its_limit_ends_with_a_sentence(
    role: Role, answers: list[Any], description: str
) -> None:
    left = list(answers)
    model = graph_actor(
        lambda text: left.pop(0) if left and part(text) == "summary" and fenced("name", text) == "Her brother" else None
    )
    report = await index(role, model, concurrency=1)
    found = served(role).entity("Her brother").description
    if description:
        assert (found, report["undescribed"]) == (description, 0)
    else:  # what is told of him stands in its place as it is
        assert "who sails the" not in found
        assert "Note: Tom sails the Petrel." in found
        assert report["undescribed"] == 1
    assert not left
