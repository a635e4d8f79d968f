"""A branch of a talk has what was said on it, and nothing of any other branch, user or role."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.talk import index as talk_index
from dramaturg.nodes.talk.index import TalkIndex
from dramaturg.nodes.talk.memory import Told, embed, index_of, index_of_all
from dramaturg.stores.conversations.talk import Fact, TalkRecords

from roles import WordEmbeddings

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


MODEL = Embedder("words", WordEmbeddings())
THREADS = ("monday", "tuesday", "sunday")
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["goes on", "is embedded", "goes back", "is noted", "is pinned", "is forgotten", "is erased"]),
        st.sampled_from(THREADS),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=12,
)
"""What happens to which talk; a number says to which of its records."""


class Several:
    """The talks of a user beside one, of which the one that was spoken on last comes last."""

    def __init__(self) -> None:
        self.store, self.said = InMemoryStore(), 0
        self.heads = dict[str, str]()

    def talk(self, thread: str) -> TalkRecords:
        return TalkRecords(self.store, "ada", thread)

    async def say(self, thread: str, after: str | None = None) -> None:
        """Say something more in a talk, from one of its records on."""
        head = self.heads.pop(thread, "") if after is None else after
        self.heads.pop(thread, None)
        self.heads[thread] = await self.talk(thread).extended(head, exchange(self.said))
        self.said += 1

    async def change(self, what: str, thread: str, number: int) -> None:
        kept, head = self.talk(thread), self.heads.get(thread, "")
        branch = await kept.branch(head)
        if not branch or what == "goes on":
            return await self.say(thread)
        one = branch[number % len(branch)]
        match what:
            case "is embedded" if number % 2:
                await embed(await self.looked_at(), MODEL)
            case "is embedded":  # as where somebody looks something up in that talk
                await embed(Told(await index_of(kept, head), len(branch), {"": kept}), MODEL)
            case "goes back":
                await self.say(thread, one.parent)
            case "is noted":
                await kept.save_facts(one, (Fact(about="user", text=f"The canary sings aria{number}."),))
            case "is pinned":
                await kept.pin([one.id], pinned=number % 2 > 0)
            case "is forgotten":
                await kept.forget([one.id])
            case "is erased":
                await kept.drop_all()
                del self.heads[thread]
        return None

    async def looked_at(self) -> Told:
        talks = [(self.talk(thread), head) for thread, head in self.heads.items()]
        return await index_of_all(self.store, ("mira", "here"), talks)

    async def made_anew(self) -> TalkIndex:
        index, branches = TalkIndex(), [await self.talk(thread).branch(head) for thread, head in self.heads.items()]
        index.embedding = MODEL.name
        index.extend([record for branch in branches for record in branch])
        return index


async def seen_to_change(changes: Sequence[tuple[str, str, int]]) -> None:
    several = Several()
    for change in changes:
        await several.change(*change)
        told = await several.looked_at()
        told.index.lacking(MODEL.name, told.until)
    await several.say("sunday")  # as what was noted is read when somebody has gone on
    told, anew = await several.looked_at(), await several.made_anew()
    assert told.index.records == anew.records
    assert told.index.pinned == anew.pinned
    assert told.index.lacking(MODEL.name, told.until) == anew.lacking(MODEL.name, told.until)
    asked = [f"canary reply{at}, word{at + 1}" for at in range(several.said)] + ["The canary sings, they say."]
    for words in asked:
        vector = np.asarray(MODEL.embeddings.embed_query(words), np.float32)
        assert told.index.nearest(words, vector, told.until, 5) == anew.nearest(words, vector, len(anew), 5)


@given(CHANGES)
@settings(deadline=None)
def test_several_talks_that_change_are_looked_up_as_if_they_were_read_anew(changes: list[tuple[str, str, int]]) -> None:
    asyncio.run(seen_to_change(changes))


async def test_of_several_talks_what_was_said_since_then_alone_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    several, read = Several(), list[str]()
    for thread in THREADS * 20:
        await several.say(thread)
    await several.looked_at()
    words_of = talk_index.words_of
    monkeypatch.setattr(talk_index, "words_of", lambda text: read.append(text) or words_of(text))
    await several.looked_at()
    assert read == []
    await several.say("monday")
    told = await several.looked_at()
    assert ["word60" in text for text in read] == [True]
    assert [line.id for line in told.index.records[-1].said] == ["q60", "a60"]
    await several.say("tuesday", (await several.talk("tuesday").branch(several.heads["tuesday"]))[-1].parent)
    await several.looked_at()
    assert ["word58" in read[1], "word61" in read[2], len(read)] == [True, True, 3]  # one went, one came


@pytest.mark.parametrize("how", ["forgotten", "erased"])
async def test_what_is_forgotten_in_one_of_several_talks_is_left_in_no_index(how: str) -> None:
    several = Several()
    for thread in THREADS * 3:
        await several.say(thread)
    assert b"word0" in held(await several.looked_at())
    if how == "forgotten":
        await several.talk("monday").forget([(await several.talk("monday").branch(several.heads["monday"]))[0].id])
    else:
        await several.talk("monday").drop_all()
        del several.heads["monday"]
    told = await several.looked_at()
    assert b"word0" not in held(told)
    assert b"word1" in held(told)


def held(told: Told) -> bytes:
    """All that an index holds of words."""
    words = told.index._words
    assert words is not None
    rows = words.execute("SELECT block FROM words_data").fetchall()
    return b"".join(block for (block,) in rows) + repr((told.index._count, told.index._texts)).encode()
