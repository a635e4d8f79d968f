"""A branch of a talk has what was said on it, and nothing of any other branch, user or role."""

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from dramaturg.nodes.talk.memory import index_of
from dramaturg.stores.conversations.talk import TalkRecords

TREES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 3), st.booleans()), min_size=1, max_size=12)
"""Each step goes on from an earlier one, with some exchanges, and forgets what the process has read or not."""


def exchange(number: int) -> list[AnyMessage]:
    said = f"The canary {number} is called word{number}, they say."
    return [HumanMessage(said, id=f"q{number}"), AIMessage(f"So be it, reply{number}.", id=f"a{number}")]


async def grown(steps: Sequence[tuple[int, int, bool]]) -> None:
    store = InMemoryStore()
    talks = {who: TalkRecords(store, *who) for who in (("ada", "t"), ("ada", "u"), ("bob", "t"))}
    branches: list[tuple[tuple[str, str], str, list[int]]] = [(who, "", []) for who in talks]
    said = 0
    for at, count, forgets in steps:
        who, head, numbers = branches[at % len(branches)]
        window, new = [], list(range(said, said + count))
        said += count
        for number in [*numbers[-2:], *new]:  # as a window shows the end of the talk, and its last exchanges again
            window += exchange(number)
        kept = talks[who]
        branches.append((who, await kept.extended(head, window), [*numbers, *new]))
        if forgets:
            kept._known().records.clear()
    for who, head, numbers in branches:
        index = await index_of(talks[who], head)
        assert [line.id for one in index.records for line in one.said] == [
            f"{kind}{number}" for number in numbers for kind in "qa"
        ]
        for number in range(said):
            found = index.nearest(f"word{number} reply{number}", None, len(index), 5)
            assert any(index.records[one.at].said[0].id == f"q{number}" for one in found) == (number in numbers)


@given(TREES)
@settings(deadline=None)
def test_a_branch_finds_what_was_said_on_it_and_nothing_else(steps: list[tuple[int, int, bool]]) -> None:
    asyncio.run(grown(steps))
