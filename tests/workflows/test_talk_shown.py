"""What was said before: whoever looks something up or weighs a line is shown it, and takes the question in full."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from wild_endpoint import part_of

from dramaturg.workflows.methods import chat_graph, context_type

from roles import fenced, run_settings, said

PEACE = "Tom gives the boat back to you. Will you forgive him?"
FORGIVEN = "Yes, Tom, my friend."
WHY = "And why is that?"
IN_FULL = "And why will you forgive Tom?"
FULL = {"understood": IN_FULL, "reply": FORGIVEN, "choice": FORGIVEN}

LOOK_UPS = {
    "amadeus": ("judge",),
    "role-rag": ("hypothetical_context",),
    "id-rag": ("query_identity", "weigh_action"),
}
"""Prompts by method that hold the question as it is understood."""
CHECKS = {
    "amadeus": ("verify_line",),
    "drmr": ("verify_line",),
    "id-rag": ("query_identity", "weigh_action", "reflect_identity"),
    "ensemble": ("verify_line", "weigh_action", "query_identity"),
}
"""Prompts by method that hold what was said before the question."""


class Asked:
    """A talk of a method with a scripted model, and the prompts of its last turn by their names."""

    def __init__(self, method: str, library: Path, **settings: Any) -> None:
        whole_role(library)
        self.model = whole_cast(**FULL)
        own = {"appraisal": "together", "verify": True, "update": True}
        fields = context_type(method).model_fields
        given = {name: value for name, value in own.items() if name in fields} | settings
        self.context = context_type(method)(**run_settings(library, self.model, **given))
        self.graph = chat_graph(method).compile(InMemorySaver(), store=InMemoryStore())
        self.output: Any = None

    async def say(self, text: str, **given: Any) -> dict[str, list[str]]:
        """Take a turn; all prompts of it, whole, by their names."""
        self.model.calls.clear()
        self.output = await self.graph.ainvoke(
            {"messages": [HumanMessage(text)], **given}, {"configurable": {"thread_id": "talk"}}, context=self.context
        )
        found = defaultdict[str, list[str]](list)
        for call in self.model.calls:
            found[part_of(said(call.messages))[0]].append(said(call.messages))
        return found


@pytest.mark.parametrize("method", CHECKS)
async def test_who_weighs_a_line_is_shown_what_was_said_before_it(tmp_path: Path, method: str) -> None:
    talk = Asked(method, tmp_path)
    first = await talk.say(PEACE)
    second = await talk.say(WHY)
    for name in CHECKS[method]:
        assert not any("<conversation>" in one for one in first[name]), name
        assert second[name], (name, list(second))
        for one in second[name]:
            assert f"user: {PEACE}\nAda Quill: {FORGIVEN}" in fenced("conversation", one).replace(
                "this stranger", "user"
            )


@pytest.mark.parametrize("method", LOOK_UPS)
async def test_a_question_is_looked_up_and_weighed_in_full(tmp_path: Path, method: str) -> None:
    talk = Asked(method, tmp_path)
    await talk.say(PEACE)
    second = await talk.say(WHY)
    for name in LOOK_UPS[method]:
        assert second[name], (name, list(second))
        assert all(fenced("question", one) == IN_FULL for one in second[name])
    assert talk.output["evidence"]["question"] == IN_FULL


@pytest.mark.parametrize("method", CHECKS)
async def test_by_the_papers_rules_nobody_is_shown_more_than_the_paper_says(tmp_path: Path, method: str) -> None:
    talk = Asked(method, tmp_path, recent=0)
    await talk.say(PEACE)
    second = await talk.say(WHY)
    assert "self_contained" not in second
    assert not any("<conversation>" in one for name in CHECKS[method] for one in second[name])


async def test_memories_are_recalled_by_the_question_in_full_while_their_mood_is_asked(
    tmp_path: Path,
) -> None:
    talk = Asked("emotional-rag", tmp_path, recalled=1, strategy="semantic")
    await talk.say(PEACE)
    lone = talk.model
    talk.model.reply = whole_cast(**(FULL | {"understood": "Did storms scare Tom?"})).reply
    await talk.say("And then?")
    assert lone is talk.model
    asked_alone = Asked("emotional-rag", tmp_path / "other", recalled=1, strategy="semantic")
    await asked_alone.say("Did storms scare Tom?")
    recalled = [[one["text"] for one in each.output["evidence"]["memories"][:1]] for each in (talk, asked_alone)]
    assert recalled[0] == recalled[1] != []
    assert talk.output["evidence"]["question"] == "Did storms scare Tom?"


async def test_the_ensemble_says_a_question_in_full_once_for_all_who_look_it_up(tmp_path: Path) -> None:
    talk = Asked("ensemble", tmp_path)
    await talk.say(PEACE)
    second = await talk.say(WHY)
    assert len(second["self_contained"]) == 1
    for name in ("judge", "hypothetical_context", "query_identity", "weigh_action"):
        assert {fenced("question", one) for one in second[name]} == {IN_FULL}, name


async def test_what_comes_back_of_the_conversation_is_of_what_the_verifier_knows(tmp_path: Path) -> None:
    talk = Asked("ensemble", tmp_path, window=2, recent=2, summary_tokens=0)
    await talk.say("My sister Wilhelmina keeps a tortoise.")
    await talk.say("Who are you?")
    await talk.say("Who are you?")
    third = await talk.say("What does Wilhelmina keep?")
    assert any("Wilhelmina keeps a tortoise" in fenced("notes", one) for one in third["verify_line"])


async def test_reflection_in_the_ensemble_is_given_what_is_remembered(tmp_path: Path) -> None:
    found = await Asked("ensemble", tmp_path, identity={"update": True}).say(PEACE)
    assert fenced("memories", found["reflect_identity"][0])


async def test_what_has_left_the_window_is_shown_as_its_summary(tmp_path: Path) -> None:
    talk = Asked("drmr", tmp_path, window=2)
    for _ in range(2):
        await talk.say(PEACE)
    third = await talk.say(WHY)
    assert all(fenced("conversation", one).startswith("They spoke of the light.\n") for one in third["verify_line"])


async def test_a_deed_is_weighed_without_what_was_said_before(tmp_path: Path) -> None:
    talk = Asked("id-rag", tmp_path)
    await talk.say(PEACE)
    deed = await talk.say("What do you do now?", observations=["The boat is at the quay."])
    assert deed["weigh_action"]
    assert not any("<conversation>" in one for several in deed.values() for one in several)
