"""What was said before the window comes back, in every method, to who said it and to nobody else."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from blockbuster import blockbuster_ctx
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.talk import memory
from dramaturg.stores.conversations import talk as records
from dramaturg.workflows.methods import chat_graph, context_type
from dramaturg.workflows.names import METHODS

from roles import fenced, run_settings, said

TOLD = "My sister Wilhelmina keeps a one-eyed tortoise called Zebulon in the cellar."
ASKED = "What do you know of Wilhelmina and her tortoise?"
OWN = ("emotional-rag", "id-rag", "ensemble")  # have memories of their own, which come first
FILLER = ["Do you like rain?", "What is for supper?", "Is the ferry late?", "Who mends your nets?", "Are you tired?"]


class Broken(Embeddings):
    """A model that cannot be reached."""

    def embed_query(self, text: str) -> list[float]:
        raise ModelUnavailable("The embedding model is down.")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ModelUnavailable("The embedding model is down.")


class Talk:
    """A talk of a method with a scripted model, and the prompts of its last turn."""

    def __init__(self, method: str, library: Path, *, store: bool = True, **settings: Any) -> None:
        whole_role(library)
        self.model = whole_cast()
        given = {"window": 4, "summary_tokens": 0} | settings
        self.context = context_type(method)(**run_settings(library, self.model, **given))
        self.store = InMemoryStore()
        self.graph = chat_graph(method).compile(InMemorySaver(), store=self.store if store else None)
        self.output: Any = None

    async def say(self, text: str, thread: str = "talk") -> list[str]:
        """Take a turn; all prompts of it, whole."""
        self.model.calls.clear()
        self.output = await self.graph.ainvoke(
            {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}}, context=self.context
        )
        return [said(call.messages) for call in self.model.calls]


@pytest.mark.parametrize("method", METHODS)
async def test_what_was_said_before_the_window_comes_back_in_every_method(tmp_path: Path, method: str) -> None:
    talk = Talk(method, tmp_path)
    await talk.say(TOLD)
    for line in FILLER:
        await talk.say(line)
    prompts = [one for one in await talk.say(ASKED) if TOLD in one]
    assert prompts
    replies = [one for one in prompts if "<recalled>" in one]
    assert all(one.count(TOLD) == 1 for one in replies)
    if method not in OWN:
        assert replies
        assert all(f"user: {TOLD}" in fenced("recalled", one).replace("this stranger", "user") for one in replies)
    state = await talk.graph.aget_state({"configurable": {"thread_id": "talk"}})
    assert state.values["recalled_talk"] == []
    (found,) = [one for one in talk.output["evidence"]["talk"] if TOLD in one["text"]]
    assert found["by_words"]
    assert found["by_meaning"]


def recalled(talk: Talk) -> str:
    return "\n".join(one["text"] for one in talk.output["evidence"].get("talk", []))


async def test_what_was_said_in_another_talk_comes_back_to_who_said_it(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, known_as="mira")
    await talk.say(TOLD, "monday")
    await talk.say(ASKED, "tuesday")
    assert TOLD in recalled(talk)
    (prompt,) = [said(call.messages) for call in talk.model.calls]
    assert "[in another talk]" in fenced("recalled", prompt)
    assert talk.output["evidence"]["talk"][0]["talk"] == "monday"
    for other in ("tom", ""):
        talk.context = talk.context.model_copy(update={"known_as": other})
        await talk.say(ASKED, f"of {other}")
        assert recalled(talk) == ""


async def test_other_talks_are_looked_up_as_they_are_by_now_and_their_meanings_are_kept_with_them(
    tmp_path: Path,
) -> None:
    talk = Talk("vanilla", tmp_path, known_as="mira")
    await talk.say("Good morning.", "sunday")
    await talk.say("Good evening.", "monday")
    await talk.say(ASKED, "tuesday")
    assert "Zebulon" not in recalled(talk)
    await talk.say(TOLD, "monday")
    await talk.say(ASKED, "tuesday")
    assert TOLD in recalled(talk)
    for thread, count in (("sunday", 1), ("monday", 2)):
        kept = await records.TalkRecords(talk.store, "ada", thread).all()
        assert [bool(one.vectors) for one in kept] == [True] * count


async def test_what_was_said_in_other_talks_stands_before_what_was_said_in_this_one(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, window=2, known_as="mira")
    await talk.say("My brother Bartholomew keeps a tortoise, too.")
    await talk.say("Good morning.")
    await talk.say(TOLD, "monday")
    await talk.say(ASKED)
    assert -1 < recalled(talk).find("Zebulon") < recalled(talk).find("Bartholomew")


async def test_of_many_other_talks_the_latest_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OTHER_TALKS", 1)
    talk = Talk("vanilla", tmp_path, known_as="mira")
    await talk.say(TOLD, "sunday")
    await talk.say("Good morning.", "monday")
    await talk.say(ASKED, "tuesday")
    assert "Good morning." in recalled(talk)
    assert TOLD not in recalled(talk)
    await talk.say("Good evening.", "sunday")
    await talk.say(ASKED, "tuesday")
    assert TOLD in recalled(talk)


async def test_pictures_tools_and_empty_messages_are_no_part_of_what_comes_back(tmp_path: Path) -> None:
    """In a store that has an index of its own, which is left alone."""
    talk = Talk("vanilla", tmp_path, known_as="mira")
    store = InMemoryStore(index={"dims": 3, "embed": Broken()})
    talk.graph = chat_graph("vanilla").compile(InMemorySaver(), store=store)
    picture: Any = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    call: Any = [{"name": "look", "args": {}, "id": "1", "type": "tool_call"}]
    history = [
        HumanMessage(picture),
        AIMessage("A lamp."),
        HumanMessage(TOLD),
        AIMessage("", tool_calls=call),
        ToolMessage("The tortoise of Wilhelmina is in the register.", tool_call_id="1"),
        AIMessage("I see."),
        HumanMessage(picture),
        *[one for line in FILLER for one in (HumanMessage(line), AIMessage(""), AIMessage("So."))],
    ]
    config: Any = {"configurable": {"thread_id": "talk"}}
    asked = {"messages": [*history, HumanMessage(ASKED)]}
    talk.output = await talk.graph.ainvoke(asked, config, context=talk.context)
    assert f"{TOLD}\nAda Quill: I see." in recalled(talk)
    assert "register" not in recalled(talk)
    said = [[line.text for line in one.said] for one in await records.TalkRecords(store, "ada", "talk").all()]
    assert said[0] == ["A lamp."]
    assert said[2] == [FILLER[0], "So."]
    assert len(said) == 3 + len(FILLER)  # no question without its reply


async def test_who_a_langgraph_server_has_let_in_is_known_in_all_talks(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path)

    async def say(text: str, user: str, thread: str) -> str:
        config: Any = {"configurable": {"thread_id": thread, "langgraph_auth_user_id": user}}
        talk.output = await talk.graph.ainvoke({"messages": [HumanMessage(text)]}, config, context=talk.context)
        return recalled(talk)

    await say(TOLD, "mira", "monday")
    assert TOLD in await say(ASKED, "mira", "tuesday")
    assert await say(ASKED, "tom", "wednesday") == ""
    talk.context = talk.context.model_copy(update={"known_as": "mira"})  # the context goes before
    assert TOLD in await say(ASKED, "tom", "thursday")


async def test_a_branch_has_what_was_said_on_it_and_nothing_else(tmp_path: Path) -> None:
    talk = Talk("profile", tmp_path)
    await talk.say("Good morning, Ada.")
    config: Any = {"configurable": {"thread_id": "talk"}}
    fork = (await talk.graph.aget_state(config)).config
    await talk.say(TOLD)
    for line in FILLER:
        await talk.say(line)
    await talk.say(ASKED)
    assert TOLD in recalled(talk)
    other = await talk.graph.aupdate_state(fork, None, as_node="__copy__")
    for line in [*FILLER, ASKED]:
        talk.output = await talk.graph.ainvoke({"messages": [HumanMessage(line)]}, other, context=talk.context)
        other = (await talk.graph.aget_state({"configurable": {"thread_id": "talk"}})).config
    assert "Good morning" in recalled(talk)
    assert "Zebulon" not in recalled(talk)


@pytest.mark.parametrize("since", [[], ["Good morning."]])
async def test_a_line_that_was_changed_in_the_window_is_remembered_as_it_is_now(
    tmp_path: Path, since: list[str]
) -> None:
    talk = Talk("vanilla", tmp_path)
    for line in [TOLD, *since]:
        await talk.say(line)
    config: Any = {"configurable": {"thread_id": "talk"}}
    asked = (await talk.graph.aget_state(config)).values["messages"][0]
    changed = asked.model_copy(update={"content": TOLD.replace("Zebulon", "Bonaparte")})
    await talk.graph.aupdate_state(config, {"messages": [changed]}, as_node="respond_by_name")
    for line in [*FILLER, ASKED]:
        await talk.say(line)
    assert "Bonaparte" in recalled(talk)
    assert "Zebulon" not in recalled(talk)


async def test_what_has_left_the_window_last_comes_back(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, window=2)
    await talk.say(TOLD)
    await talk.say("Good morning.")
    assert recalled(talk) == ""
    await talk.say(ASKED)
    assert TOLD in recalled(talk)
    assert "Good morning." not in recalled(talk)


async def test_without_a_store_it_lasts_as_long_as_the_checkpointer(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, store=False)
    for line in [TOLD, *FILLER, ASKED]:
        await talk.say(line)
    assert TOLD in recalled(talk)


async def test_a_history_that_comes_at_once_comes_back_without_a_thread(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path)
    history = [one for line in [TOLD, *FILLER] for one in (HumanMessage(line), AIMessage("I see."))]
    graph = chat_graph("vanilla").compile()
    talk.output = await graph.ainvoke({"messages": [*history, HumanMessage(ASKED)]}, context=talk.context)
    assert TOLD in recalled(talk)
    assert len(talk.output["messages"]) <= 6


async def test_what_is_said_again_and_again_leaves_room_for_what_is_not(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, talk_tokens=20_000)
    history = [one for line in [TOLD, *[ASKED] * 60] for one in (HumanMessage(line), AIMessage("I see."))]
    graph = chat_graph("vanilla").compile()
    talk.output = await graph.ainvoke({"messages": [*history, HumanMessage(ASKED)]}, context=talk.context)
    assert TOLD in recalled(talk)


async def test_the_same_branch_has_the_same_memory_in_another_process(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path)
    for line in [TOLD, *FILLER, *FILLER]:
        await talk.say(line)
    config: Any = {"configurable": {"thread_id": "talk"}}
    before = (await talk.graph.aget_state(config)).config
    await talk.say(ASKED)
    first = talk.output["evidence"]["talk"]
    memory._indexes.clear()
    records._talks.clear()
    talk.output = await talk.graph.ainvoke({"messages": [HumanMessage(ASKED)]}, before, context=talk.context)
    assert talk.output["evidence"]["talk"] == first


async def test_words_alone_find_it_where_the_embedding_model_is_gone(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, embedding_model=Broken())
    for line in [TOLD, *FILLER, ASKED]:
        await talk.say(line)
    assert TOLD in recalled(talk)
    assert "down" in talk.output["evidence"]["talk_error"]


async def test_a_question_that_goes_on_is_looked_up_with_what_it_goes_on_from(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, embedding_model=Broken(), talk_tokens=60)
    for line in [TOLD, *FILLER, *FILLER, "Wilhelmina!"]:
        await talk.say(line)
    await talk.say("And where did she go?")
    assert TOLD in recalled(talk)


async def test_what_comes_back_keeps_to_its_tokens(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, talk_tokens=60)
    long = "The tortoise Zebulon. " + "It is a long story about the sea and the sand. " * 60
    for line in [long, TOLD, *FILLER, ASKED]:
        await talk.say(line)
    assert len(recalled(talk).encode()) <= 240
    assert TOLD in recalled(talk)
    talk.context = talk.context.model_copy(update={"talk_tokens": 600})
    await talk.say(ASKED)
    (shown,) = [one["text"] for one in talk.output["evidence"]["talk"] if "long story" in one["text"]]
    assert "tortoise Zebulon" in shown
    assert len(shown.encode()) < 800


STORY, SEA = "It is a long story of the sea, and of the sand. ", "今天的海很蓝，风也很大。"


@pytest.mark.parametrize(
    ("story", "told", "asked"),
    [
        (STORY * 2000, TOLD, ASKED),
        (STORY * 25, TOLD, ASKED),
        (SEA * 30, "我妹妹养了一只乌龟。", "我妹妹的乌龟叫什么？"),
        (SEA * 4000, "我妹妹养了一只乌龟。", "我妹妹的乌龟叫什么？"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
async def test_of_a_long_line_what_is_asked_for_comes_back(
    tmp_path: Path, story: str, told: str, asked: str, first: bool
) -> None:
    talk = Talk("vanilla", tmp_path)
    for line in [f"{told}{story}" if first else f"{story}{told}", *FILLER, asked]:
        await talk.say(line)
    (shown,) = [one["text"] for one in talk.output["evidence"]["talk"] if story[:12] in one["text"]]
    assert told in shown
    assert len(shown.encode()) < 700


async def test_of_what_was_said_around_it_the_beginning_is_shown_and_no_more(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, embedding_model=Broken())
    long = "All day long he counts crates with salted herring. " * 12
    for line in ["Good morning.", long, TOLD, *FILLER, "Wilhelmina, Zebulon, cellar?"]:
        await talk.say(line)
    (around,) = [one for one in talk.output["evidence"]["talk"] if "herring" in one["text"]]
    assert (around["by_words"], around["by_meaning"]) == (None, None)
    assert long[:150] in around["text"]
    assert len(around["text"].encode()) < 300
    assert "Good morning." not in recalled(talk)


async def test_by_the_papers_rules_nothing_is_kept(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, rules="paper")
    for line in [TOLD, *FILLER, ASKED]:
        await talk.say(line)
    assert "talk" not in talk.output["evidence"]
    assert not talk.output.get("talk_head")


async def test_a_question_that_goes_on_is_looked_up_by_itself_before_what_was_said_before_it(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, talk_tokens=35)
    for line in [TOLD, *FILLER, *FILLER]:
        await talk.say(line)
    await talk.say("And who keeps that tortoise called Zebulon?")
    assert TOLD in recalled(talk)


async def test_nothing_of_it_blocks_the_event_loop(tmp_path: Path) -> None:
    talk = Talk("vanilla", tmp_path, known_as="mira")
    await talk.say(TOLD, "monday")
    kept = records.TalkRecords(talk.store, "ada", "monday")
    ago = datetime.now(UTC) - timedelta(days=9)
    await kept.save([one.model_copy(update={"at": ago}) for one in await kept.all()])
    with blockbuster_ctx():
        await talk.say(ASKED, "tuesday")
    assert talk.output["evidence"]["talk"][0]["when"] == "in another talk, 1 week ago"
