"""What questions cost adds up, whatever the order in which nodes report it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata

from dramaturg.models.chat import Account, Usage, add_usage, chat_model
from dramaturg.models.questions import decide, write

from fakes import scripted

COUNTS = st.integers(0, 10**6)
SECONDS = st.integers(0, 10**6).map(float)  # whole: sums of others depend on their order in the last bit
USAGES = st.builds(
    Usage,
    calls=COUNTS,
    cached=COUNTS,
    failures=COUNTS,
    prompt_tokens=COUNTS,
    completion_tokens=COUNTS,
    seconds=SECONDS,
)
REPORTS = st.dictionaries(st.sampled_from(["judge", "respond", "verify"]), USAGES)


@given(REPORTS, REPORTS, REPORTS)
def test_usage_adds_up(one: dict[str, Usage], two: dict[str, Usage], three: dict[str, Usage]) -> None:
    before = json.dumps([one, two])
    assert add_usage(add_usage(one, two), three) == add_usage(one, add_usage(two, three))
    assert add_usage(one, two) == add_usage(two, one)
    assert add_usage(one, {}) == one == add_usage({}, one)
    assert json.dumps([one, two]) == before


def test_usage_fits_into_a_checkpoint() -> None:
    account = Account()
    account.record(0.5, usable=True, tokens={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5})
    account.record(0.25, usable=False)
    account.record_cached()
    used = account.usage()
    assert used == {
        "calls": 2,
        "cached": 1,
        "failures": 1,
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "seconds": 0.75,
    }
    assert json.loads(json.dumps(used)) == used
    account.record(1, usable=True)
    assert used["calls"] == 2


@pytest.mark.parametrize("reported", ["7", None, -3, 2.5])
def test_what_is_not_a_count_is_not_counted(reported: Any) -> None:
    account = Account()
    account.record(0, usable=True, tokens={"input_tokens": reported, "output_tokens": 2, "total_tokens": 5})
    assert (account.prompt_tokens, account.completion_tokens) == (0, 2)


async def test_questions_are_counted() -> None:
    asked = chat_model(scripted("perhaps", "yes", "Good evening, my friend."))
    messages = [HumanMessage("Is it so?")]
    await decide(asked, messages)
    judged = asked.account.usage()
    assert (judged["calls"], judged["failures"], judged["completion_tokens"]) == (2, 1, 2)
    await write(asked, messages)
    used = asked.account.usage()
    assert (used["calls"], used["failures"], used["completion_tokens"]) == (3, 1, 6)
    assert used["prompt_tokens"] == judged["prompt_tokens"] + 3
    assert used["seconds"] > 0


async def test_a_model_that_reports_nothing() -> None:
    model = scripted(AIMessage("yes"))
    asked = chat_model(model)
    await decide(asked, [HumanMessage("Is it so?")])
    assert chat_model(model).account.usage()["calls"] == 0


@pytest.mark.parametrize(("counted", "tokens"), [({"reasoning": 7}, 7), ({}, 3)])
def test_thoughts_are_counted_by_the_server_or_by_their_text(counted: Any, tokens: int) -> None:
    account, told = Account(), UsageMetadata(input_tokens=9, output_tokens=9, total_tokens=18)
    account.record(1.0, usable=True, tokens={**told, "output_token_details": counted}, thoughts="He lies, I say.")
    account.record(1.0, usable=True)
    assert account.usage()["thought_tokens"] == tokens
    assert add_usage({"node": account.usage()}, {"node": account.usage()})["node"]["thought_tokens"] == 2 * tokens
