"""Two replicas of the graphs (docs/how-to/deploy.md): what one began the other goes on with, also after a kill -9."""

import asyncio
import json
import os
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from httpx import HTTPStatusError
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client
from langgraph_sdk.errors import ConflictError, NotFoundError

from dramaturg.cli.library.indexing import made
from dramaturg.conversations.opening import open_conversation
from dramaturg.evaluation.comparison.plan import Wanted, planned
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.comparison.run import Evaluation, EvaluationSettings, evaluate
from dramaturg.nodes.open_settings import SettingRefused
from dramaturg.stores.index.graph import GRAPH_KIND
from dramaturg.stores.learning import learn
from dramaturg.stores.library_folder import UnknownRole
from dramaturg.testing import WordEmbeddings
from dramaturg.workflows.amadeus import AmadeusContext
from dramaturg.workflows.drmr import DrmrContext
from dramaturg.workflows.methods import METHODS, preparations
from dramaturg.workflows.server import open_server
from dramaturg.workflows.server_forms import ServerError

from changing_roles import CORE, changing
from node_client import check, tour
from replicas import Replicas, two_replicas
from served_graphs import SERVED

pytestmark = pytest.mark.slow

ADA: dict[str, Any] = {"role": "ada"}
HELLO = {"messages": [{"role": "user", "content": "Do storms make you afraid?"}]}
ROUNDS = int(os.environ.get("DRAMATURG_KILL_ROUNDS", "3"))
TALKS = ("amadeus", "role_rag", "emotional_rag", "drmr", "id_rag", "ensemble")
WITHIN = 300.0  # seconds, after which a run has been lost
STORED = 2.0  # seconds by which an answer is part of what is kept


@pytest.fixture(scope="module")
def replicas(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with two_replicas(postgres_server, tmp_path_factory.mktemp("replicas")) as running:
        yield running


@pytest.fixture
async def clients(replicas: Replicas) -> AsyncIterator[tuple[Any, Any]]:
    async with get_client(url=replicas.one.url) as one, get_client(url=replicas.other.url) as other:
        yield one, other


def asking(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def context_of(graph: str) -> dict[str, Any]:
    return {**ADA, "user_role": "Tom"} if graph == "drmr" else ADA


def said(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Who said what, in its order."""
    return [(message["type"], message["content"]) for message in values["messages"]]


@pytest.mark.parametrize("method", METHODS)
async def test_a_talk_begun_on_one_goes_on_on_the_other(method: str, clients: tuple[Any, Any]) -> None:
    graph = method.replace("-", "_")
    one, other = clients
    thread = (await one.threads.create())["thread_id"]
    questions = [f"Question {n}: do storms make you afraid?" for n in range(3)]
    for client, question in zip((one, other, one), questions, strict=True):
        last = await client.runs.wait(thread, graph, input=asking(question), context=context_of(graph))
    state = (await other.threads.get_state(thread))["values"]
    assert said(state) == said(last)
    assert [text for who, text in said(last) if who == "human"] == questions
    assert [who for who, _ in said(last)] == ["human", "ai"] * 3


async def test_a_new_version_of_one_is_served_by_the_other_in_its_next_turn(
    replicas: Replicas, clients: tuple[Any, Any]
) -> None:
    one, other = clients
    question = asking("What do you keep in the brass chest?")
    before = await other.runs.wait(None, "amadeus", input=question, context=ADA)
    learn(replicas.library.role("ada"), [("chest.md", b"In the brass chest Ada keeps a map of the reef.\n")])
    made = await one.runs.wait(None, "amadeus_index", input={"rebuild": False}, context=ADA)
    replicas.stub.forget()
    last = await other.runs.wait(None, "amadeus", input=question, context=ADA)
    assert made["index"]["embedded"] == 1
    found = [[one["source"] for one in turn["evidence"]["knowledge"]] for turn in (before, last)]
    assert [any("chest.md" in passage for passage in passages) for passages in found] == [False, True]
    assert not any("brass chest Ada" in text for text in replicas.stub.embedded())


# The tour of a client: what one replica was told, the other knows


async def test_assistants(clients: tuple[Any, Any]) -> None:
    one, other = clients
    known = {found["graph_id"]: found["assistant_id"] for found in await one.assistants.search(limit=100)}
    assert set(known) == set(SERVED)
    assert "amadeus_index" in await other.assistants.get_subgraphs(known["amadeus"])
    drawn = await one.assistants.get_graph("amadeus", xray=True)
    assert "amadeus_index:embed_passages" in {node["id"] for node in drawn["nodes"]}
    assert "amadeus_index:embed_passages" not in {
        node["id"] for node in (await one.assistants.get_graph("amadeus"))["nodes"]
    }
    schemas = await one.assistants.get_schemas(known["amadeus"])
    assert {"input_schema", "output_schema", "state_schema", "config_schema", "context_schema"} <= schemas.keys()
    made = (await one.assistants.create("amadeus", context={**ADA, "slots": 1}, name="ada"))["assistant_id"]
    assert (await other.assistants.update(made, context={**ADA, "slots": 2}))["version"] == 2
    assert [found["context"]["slots"] for found in await one.assistants.get_versions(made)] == [2, 1]
    for version, slots in ((2, 2), (1, 1)):
        await one.assistants.set_latest(made, version)
        last = await other.runs.wait(None, made, input=HELLO)
        assert len(last["evidence"]["selection"]["selected"]) == slots


async def test_settings_of_a_run(clients: tuple[Any, Any]) -> None:
    one, other = clients
    by_context = await one.runs.wait(None, "amadeus", input=HELLO, context={**ADA, "slots": 1})
    configured = {"configurable": {**ADA, "slots": 1}}
    by_configurable = await other.runs.wait(None, "amadeus", input=HELLO, config=configured)
    for last in (by_context, by_configurable):
        assert len(last["evidence"]["selection"]["selected"]) == 1
    with pytest.raises(HTTPStatusError, match="422"):
        await other.runs.wait(None, "amadeus", input=HELLO, context={**ADA, "chat_model": "mine"})


async def test_streams(clients: tuple[Any, Any]) -> None:
    one, other = clients
    thread = (await one.threads.create())["thread_id"]
    modes = ["values", "updates", "messages-tuple", "custom", "debug", "tasks", "checkpoints", "events"]
    seen, words = set[str](), ""
    async for part in other.runs.stream(
        thread, "amadeus", input=HELLO, context=ADA, stream_mode=modes, stream_subgraphs=True
    ):
        seen.add(part.event.split("|")[0])
        if part.event == "messages" and part.data[0]["type"] == "AIMessageChunk":
            words += part.data[0]["content"]
    assert seen >= {*modes, "messages"} - {"messages-tuple"}
    assert words == said((await one.threads.get_state(thread))["values"])[-1][1]
    partial = [part.event async for part in one.runs.stream(thread, "amadeus", input=HELLO, context=ADA)]
    assert "values" in partial
    whole = other.runs.stream(thread, "amadeus", input=HELLO, context=ADA, stream_mode=["messages"])
    assert "messages/partial" in [part.event async for part in whole]


async def test_history_and_forks(clients: tuple[Any, Any]) -> None:
    one, other = clients
    thread = (await one.threads.create(metadata={"of": "the tour"}))["thread_id"]
    await one.runs.wait(thread, "amadeus", input=HELLO, context=ADA)
    earlier = await other.threads.get_history(thread, limit=100)
    before = next(found for found in earlier if found["next"] == ["begin_selection"])
    fork = {**ADA, "slots": 1}
    last = await other.runs.wait(thread, "amadeus", input=None, checkpoint=before["checkpoint"], context=fork)
    assert len(last["evidence"]["selection"]["selected"]) == 1
    assert len(last["messages"]) == 2
    edited = await one.threads.update_state(thread, {"question": "Edited?"})
    assert edited["checkpoint"]
    assert (await other.threads.get_state(thread))["values"]["question"] == "Edited?"
    assert (await other.threads.get_state(thread, subgraphs=True))["checkpoint"]
    copy = (await one.threads.copy(thread))["thread_id"]
    assert len((await other.threads.get_state(copy))["values"]["messages"]) == 2
    assert thread in {found["thread_id"] for found in await other.threads.search(metadata={"of": "the tour"})}
    assert await one.threads.count() == await other.threads.count() > 1
    await other.threads.delete(copy)
    with pytest.raises(NotFoundError):
        await one.threads.get(copy)


async def test_approval(replicas: Replicas, clients: tuple[Any, Any]) -> None:
    one, other = clients
    thread, context = (await one.threads.create())["thread_id"], {**ADA, "update": True}
    usual, replicas.stub.reply = replicas.stub.reply, changing(CORE)
    try:
        asked_for = await one.runs.wait(thread, "id_rag", input=HELLO, context=context)
        assert "__interrupt__" in asked_for
        assert (await other.threads.get(thread))["status"] == "interrupted"
        assert thread in {found["thread_id"] for found in await other.threads.search(status="interrupted")}
        last = await other.runs.wait(thread, "id_rag", command={"resume": {"approved": [1]}}, context=context)
    finally:
        replicas.stub.reply = usual
    assert said(last)[-1] == ("ai", "I keep the light.")
    values = (await one.threads.get_state(thread))["values"]
    assert [change["triple"]["object"] for change in values["identity_changes"]] == ["a sailor"]


async def test_a_breakpoint(clients: tuple[Any, Any]) -> None:
    one, other = clients
    thread = (await one.threads.create())["thread_id"]
    await one.runs.wait(thread, "amadeus", input=HELLO, context=ADA, interrupt_before=["begin_selection"])
    assert (await other.threads.get_state(thread))["next"] == ["begin_selection"]
    assert said(await other.runs.wait(thread, "amadeus", input=None, context=ADA))[-1][0] == "ai"


@pytest.mark.parametrize("strategy", ["reject", "enqueue", "interrupt", "rollback"])
async def test_a_second_run_on_the_other(strategy: Any, replicas: Replicas, clients: tuple[Any, Any]) -> None:
    one, other = clients
    thread = (await one.threads.create())["thread_id"]
    with slow(replicas, 1.0):
        first = await one.runs.create(thread, "amadeus", input=asking("First?"), context=ADA)
        await asyncio.sleep(1)
        second = other.runs.create(thread, "amadeus", input=asking("Second?"), context=ADA, multitask_strategy=strategy)
        if strategy == "reject":
            with pytest.raises(ConflictError):
                await second
            await one.runs.join(thread, first["run_id"])
        else:
            await other.runs.join(thread, (await second)["run_id"])
    states = {run["run_id"]: run["status"] for run in await other.runs.list(thread)}
    expected = {"reject": {"success"}, "enqueue": {"success"}}.get(strategy, {"interrupted", None})
    assert states.get(first["run_id"]) in expected
    questions = [text for who, text in said((await one.threads.get_state(thread))["values"]) if who == "human"]
    # A run that is rolled back is forgotten; what it had written by then stays on langhost 0.11.1.
    assert questions in ([["First?"]] if strategy == "reject" else [["First?", "Second?"], ["Second?"]])


async def test_a_run_is_cancelled_by_the_other_and_followed_by_it(replicas: Replicas, clients: tuple[Any, Any]) -> None:
    one, other = clients
    thread = (await one.threads.create())["thread_id"]
    with slow(replicas, 1.0):
        run = await one.runs.create(thread, "amadeus", input=HELLO, context=ADA)
        await asyncio.sleep(1)
        await other.runs.cancel(thread, run["run_id"], wait=True)
        assert (await one.runs.get(thread, run["run_id"]))["status"] == "interrupted"
        run = await one.runs.create(
            thread, "amadeus", input=HELLO, context=ADA, stream_mode=["updates"], stream_resumable=True
        )
        followed = other.runs.join_stream(thread, run["run_id"], stream_mode=["updates"])
        assert "updates" in [part.event async for part in followed]
    batch = [{"assistant_id": "vanilla", "input": HELLO, "context": ADA} for _ in range(3)]
    assert len(await other.runs.create_batch(batch)) == 3


async def test_the_store_and_crons(clients: tuple[Any, Any]) -> None:
    one, other = clients
    await one.store.put_item(("lore", "ada"), "lamp", {"text": "It never went out.", "kind": "belief"})
    assert (await other.store.get_item(("lore", "ada"), "lamp"))["value"]["kind"] == "belief"
    assert len((await other.store.search_items(("lore",), filter={"kind": "belief"}))["items"]) == 1
    assert ["lore", "ada"] in (await other.store.list_namespaces())["namespaces"]
    await other.store.delete_item(("lore", "ada"), "lamp")
    assert (await one.store.search_items(("lore",)))["items"] == []
    cron = await one.crons.create("vanilla", schedule="0 0 1 1 *", input=HELLO, context=ADA)
    await other.crons.delete(cron["cron_id"])
    assert await one.crons.count() == 0


async def test_a_remote_graph(clients: tuple[Any, Any]) -> None:
    last = await RemoteGraph("vanilla", client=clients[1]).ainvoke(HELLO, context=ADA)
    assert last["messages"][-1]["content"] == "I keep the light."


async def test_commands_have_their_work_done_there(replicas: Replicas, tmp_path: Path) -> None:
    url, library = replicas.one.url, replicas.library.address
    context = AmadeusContext(role="ada", library=library)
    shown: list[Any] = []
    async with open_conversation("amadeus", context, "desk", server=url) as talk:
        for text in ("One?", "Two?"):
            await talk.take_turn(text, shown.append)
        first = (await talk.history())[0]
        await talk.fork(first.id)
        await talk.take_turn("Three?")
        assert [turn.question for turn in await talk.history()] == ["One?", "Three?"]
    events = [part["data"] for part in shown if part["type"] == "custom"]
    assert "".join(one["text"] for one in events if one["event"] == "words") == "I keep the light." * 2
    with pytest.raises(SettingRefused, match="DRAMATURG_OPEN_SETTINGS=chat_model"):
        async with open_conversation("amadeus", context.model_copy(update={"chat_model": "mine"}), server=url):
            pass
    with pytest.raises(UnknownRole, match="has no role 'eda' in its library"):
        async with open_server(url) as there:
            await there.require("eda", {})
    reports = await made(preparations("drmr", DrmrContext(role="ada", library=library)), {"rebuild": True}, url)
    assert reports["drmr_index"]["dialogues"] > 0


async def test_an_evaluation_goes_on_when_the_server_it_spoke_to_was_killed(replicas: Replicas, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"question": f"Number {n}?", "answer": "The light."}) + "\n" for n in range(12))
    role = replicas.library.role("ada")
    (tmp_path / "questions.jsonl").write_text(lines)
    wanted = Wanted(
        methods=("vanilla",),
        roles=("ada",),
        metrics=("similarity",),
        bounds=False,
        dataset=str(tmp_path / "questions.jsonl"),
    )

    def toward(url: str) -> Evaluation:
        settings = EvaluationSettings(library=replicas.library.address, embedding_model=WordEmbeddings(), server=url)
        plan, asked = planned(wanted, [role], settings, ["judge"])
        return Evaluation(plan, asked, settings, tmp_path / "run")

    evaluation = toward(replicas.one.url)
    replicas.stub.forget()
    with slow(replicas, 3.0):
        begun = asyncio.create_task(evaluate(evaluation, lambda *_: lambda _: None))
        while not any("Number" in str(body) for body in list(replicas.stub.endpoint.asked)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        replicas.one.end()
        try:
            with pytest.raises(ServerError, match=r"finds it again|cannot be reached"):
                await begun
        finally:
            replicas.one.begin()
            replicas.one.wait()
    await evaluate(evaluation, lambda *_: lambda _: None)
    records = RecordFile(evaluation.folder).read()
    assert [one.model for one in records.replies.values()] == [f"auto at {replicas.one.url}"] * 12
    with pytest.raises(ValueError, match=f"before, auto at {replicas.other.url} now"):  # who knows what model is there
        await evaluate(toward(replicas.other.url), lambda *_: lambda _: None)


@contextmanager
def slow(replicas: Replicas, seconds: float) -> Iterator[None]:
    """A model that takes its time."""
    replicas.stub.endpoint.latency = seconds
    try:
        yield
    finally:
        replicas.stub.endpoint.latency = 0.0


@pytest.mark.timeout(120 + 60 * ROUNDS)
async def test_what_one_was_killed_at_the_other_finishes(replicas: Replicas, clients: tuple[Any, Any]) -> None:
    await clients[0].runs.wait(None, "role_rag_index", **work("role_rag_index", ""))
    chance = random.Random(20)
    for number in range(ROUNDS):
        sides = [(replicas.one, *clients), (replicas.other, *clients[::-1])]
        victim, to, survivor = sides[number % 2]
        threads = {graph: (await to.threads.create())["thread_id"] for graph in (*TALKS, "role_rag_index")}
        for graph in TALKS:
            await to.runs.wait(threads[graph], graph, **work(graph, "Are you there?"))
        replicas.stub.forget()
        questions = {graph: f"Round {number} of {graph}: do storms make you afraid?" for graph in TALKS}
        with slow(replicas, 0.3):
            begun = [
                to.runs.create(thread, graph, **work(graph, questions.get(graph, "")))
                for graph, thread in threads.items()
            ]
            runs = await asyncio.gather(*begun)
            await asyncio.sleep(chance.uniform(0.3, 4.0))
            killed = time.monotonic()
            victim.end()
            try:
                await finish(survivor, runs, by=killed + WITHIN)
            finally:
                victim.begin()
                victim.wait()
        assert all(answered > killed - STORED for answered in again(replicas, killed))
        for graph in TALKS:
            texts = said((await survivor.threads.get_state(threads[graph]))["values"])
            assert [who for who, _ in texts] == ["human", "ai", "human", "ai"]
            assert texts[2] == ("human", questions[graph])
        report = (await survivor.threads.get_state(threads["role_rag_index"]))["values"]["index"]
        index = replicas.library.role("ada").index(GRAPH_KIND).open()
        assert (index.manifest.version, index.warning) == (report["version"], "")


def work(graph: str, question: str) -> dict[str, Any]:
    """A turn of a talk, or an index made anew."""
    sent = {"rebuild": True} if graph.endswith("_index") else asking(question)
    return {"input": sent, "context": context_of(graph)}


async def finish(client: Any, runs: list[dict[str, Any]], by: float) -> None:
    """Wait until all runs have succeeded."""
    states: list[str] = []
    while set(states) != {"success"}:
        assert set(states) <= {"success", "pending", "running"}, states
        assert time.monotonic() < by, states
        await asyncio.sleep(0.25)
        states = [(await client.runs.get(run["thread_id"], run["run_id"]))["status"] for run in runs]


def again(replicas: Replicas, killed: float) -> list[float]:
    """When that was answered which was answered before a kill and asked again after it."""
    after = {text for when, text in replicas.stub.answered if when > killed}
    return [when for when, text in replicas.stub.answered if when <= killed and text in after]


def test_the_client_in_javascript_begins_at_one_and_goes_on_at_the_other(replicas: Replicas) -> None:
    check(tour(replicas.one.url, replicas.other.url))
