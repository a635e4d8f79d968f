"""A run can be edited after each of its nodes, as in Studio, and goes on by the branch that its state asks for."""

import json
from collections.abc import Callable, Mapping
from itertools import count, pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Overwrite, StateSnapshot
from lone_nodes import trouble

from dramaturg.stores.documents.merges import PLAN
from dramaturg.stores.texts.draft import CastDraft
from dramaturg.stores.texts.reading import read_sent
from dramaturg.workflows.ensemble import PARTS

from identity_roles import finding, found, weighed
from roles import run_settings
from scope_roles import MOON, judged, reasoned, scoped
from townspeople import townspeople, world_settings

pytestmark = pytest.mark.sample_of_file(2)

SERVED = json.loads((Path(__file__).parents[2] / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
TALK = (HumanMessage("Who are you?", id="1"), AIMessage("Ada.", id="2"), HumanMessage("Do storms scare Tom?", id="3"))
THREAD: Any = {"configurable": {"thread_id": "talk"}, "recursion_limit": 200}


class Played(NamedTuple):
    """A run: what is set, what the model says other than the usual, what an index is told, and how many turns."""

    settings: Mapping[str, Any] = {}
    parts: Mapping[str, Any] = {}
    wishes: Mapping[str, Any] = {}
    turns: int = 1


def web(query: str) -> str:
    """Find one page."""
    return f"{query}: the mail boat sails on Fridays."


def numbered() -> Callable[[str], str]:
    """Write long records of which no two are the same."""
    numbers = count(1)
    return lambda text: json.dumps({"record": f"{next(numbers)}: {' '.join(map(str, range(80)))}"})


# Settings and scripts under which every node of a graph runs.
SHORT = {"window": 2}
POOR = {"line": reasoned(2)}
TOM = {"user_role": "Tom Quill"}
TWO = [{"role": "ada", "method": "vanilla"}, {"role": "jim"}]
BECOMES = {"reflected": found(finding("the sea", 1), finding("brandy"))}
RUNS: Mapping[str, tuple[Played, ...]] = {
    "amadeus": (
        Played(),
        Played({**SHORT, "search_limit": 1, "slots": 1, "verify": True, "revisions": 1}, {"verdict": "no", **POOR}),
    ),
    "amadeus_index": (Played({"embedding_batch": 2}), Played(wishes={"rebuild": True})),
    "role_rag": (
        Played(),
        Played(SHORT, {"scope": judged(MOON, scoped("Tom"), scoped("friends", level="general"))}),
        Played({"normalization": False}, {"scope": judged()}),
        Played({"retrieval": "local"}),
    ),
    "role_rag_index": (
        Played(),
        Played({"normalization": False}),
        Played(wishes={"plan": True}),
        Played(wishes={"apply": True}),
    ),
    "emotional_rag": (Played(), Played({**SHORT, "strategy": "semantic"})),
    "emotional_rag_index": (Played(),),
    "drmr": (
        Played(TOM),
        Played({**SHORT, **TOM}),
        Played({**SHORT, **TOM, "role_memory": False, "recalled_dialogues": 1, "revisions": 1}, POOR),
        Played({**TOM, "memory_length": 200, "memory_dialogues": 1, "notes": True}, {**POOR, "record": numbered()}),
        Played({**TOM, "revisions": 4}, POOR),
    ),
    "drmr_index": (Played(wishes={"scores": True}),),
    "id_rag": (
        Played(),
        Played({**SHORT, "update": True, "feeling": True}, BECOMES),
        Played({"identity": "baseline", "gate": False}),
        Played({"planning": True}, wishes={"observations": ["A boat is in sight."]}),
        Played({"changes_of_mind": 1}, {"weighed": weighed(1), "contradicts": "no"}),
    ),
    "riverbend": (Played({"steps": 3}),),
    "ensemble": (
        Played(),
        Played({**SHORT, "identity": {"update": True}}, {**BECOMES, **POOR}),
        Played({"identity": {"changes_of_mind": 0}}, {"weighed": weighed(1)}),
        Played({**TOM, "relations": {"memory_length": 200, "memory_dialogues": 1}}, {"record": numbered()}, turns=2),
    ),
    "naive_rag": (Played(), Played(SHORT)),
    "crag": (
        Played(),
        Played({**SHORT, "web_search": web}, {"verdict": '{"answer": "no"}'}),
    ),
    "graph_rag_local": (Played(), Played(SHORT)),
    "role_gpt": (Played(), Played(SHORT)),
    "profile": (Played(), Played(SHORT)),
    "vanilla": (Played(), Played(SHORT)),
    "scene": (Played({"cast": TWO}), Played({"cast": TWO, **SHORT, "user_role": "Tom", "next": "round"}, turns=2)),
    "cast": (Played({"asks": False, "review": True}),),
}


class Run(NamedTuple):
    """A graph with a saver and a store, and the context of its run."""

    graph: CompiledStateGraph[Any, Any, Any, Any]
    context: Any

    async def go(self, given: Any, config: Any = THREAD) -> dict[str, Any]:
        """Run it to its end; what waits for a person is declined."""
        output = await self.graph.ainvoke(given, config, context=self.context)
        thread: Any = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
        while any(task.interrupts for task in (await self.graph.aget_state(thread)).tasks):
            output = await self.graph.ainvoke(Command(resume={"approved": []}), thread, context=self.context)
        return dict(output)


def begun(name: str, played: Played, library: Path) -> Run:
    """A graph that is about to run."""
    builder = resolve_name(SERVED[name]["path"]).builder
    if name == "cast":
        story = '# The lamp\n\n"It burns," said Ada Quill.\n\n"So it does," said Tom.\n'
        CastDraft(library / "ada").add_texts([read_sent("lamp.md", story.encode())])
    if name == "riverbend":
        context = builder.context_schema(**world_settings("", townspeople(**played.parts), **played.settings))
    else:
        context = builder.context_schema(**run_settings(library, whole_cast(**played.parts), **played.settings))
    return Run(builder.compile(checkpointer=InMemorySaver(), store=InMemoryStore()), context)


def input_of(name: str, played: Played) -> dict[str, Any]:
    """What the run takes."""
    return ({"messages": list(TALK)} if "messages" in SERVED_INPUTS[name] else {}) | dict(played.wishes)


SERVED_INPUTS = {
    name: resolve_name(one["path"]).get_input_jsonschema().get("properties", {}) for name, one in SERVED.items()
}


class Step(NamedTuple):
    """What is there before and right after a node.

    After several at once, or one that was sent for, LangGraph must be told which of them writes.
    """

    node: str
    before: StateSnapshot
    after: StateSnapshot
    wrote: Mapping[str, Any]
    sequential: bool


async def steps_of(run: Run) -> list[Step]:
    """Each node that has run, in their order, and the checkpoint right after it."""
    history = [one async for one in run.graph.aget_state_history(THREAD)][::-1]
    return [
        Step(task.name, before, after, task.result or {}, sequential=alone and task.path[0] == "__pregel_pull")
        for before, after in pairwise(history)
        for alone in [len(before.tasks) == 1]
        for task in before.tasks
        if task.name != "__start__"
    ]


def plain(run: Run, wrote: Mapping[str, Any]) -> dict[str, Any]:
    """What can be written again as it is: values of channels without a reducer."""
    channels = run.graph.builder.channels
    return {name: value for name, value in wrote.items() if isinstance(channels.get(name), LastValue)}


def require_end(output: Mapping[str, Any]) -> None:
    """A run has ended with a reply, an index, a plan, drafts, or a log."""
    if "messages" in output:
        assert output["messages"][-1].type == "ai"
        assert output["messages"][-1].text
    elif "index" in output:
        assert output["version"] or output["index"]["plan"]
    elif "cast" in output:
        assert output["cast"]["waiting"]["dialogues"]
    else:
        assert output["log"][-1]["kind"] == "cost"


async def taken(name: str, played: Played, library: Path) -> Run:
    """A run that has come to its end."""
    run = begun(name, played, library)
    require_end(await run.go(input_of(name, played)))
    for turn in range(1, played.turns):
        require_end(await run.go({"messages": [HumanMessage("And who else?", id=f"more-{turn}")]}))
    return run


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one in ("amadeus", "drmr_index") else [pytest.mark.crash]) for one in SERVED]
)
async def test_a_run_goes_on_from_an_edit_after_each_node(name: str, tmp_path: Path) -> None:
    whole_role(tmp_path)
    left = set(resolve_name(SERVED[name]["path"]).builder.nodes)
    for played in RUNS[name]:
        run = await taken(name, played, tmp_path)
        for step in {one.node: one for one in await steps_of(run)}.values():
            for as_node in (step.node, None) if step.sequential else (step.node,):
                edited = await run.graph.aupdate_state(step.after.config, plain(run, step.wrote), as_node)
                if step.sequential:
                    assert (await run.graph.aget_state(edited)).next == step.after.next, (step.node, as_node)
            if "chunk_persona" in step.after.next and played.wishes.get("plan"):
                (tmp_path / "ada" / PLAN).unlink()  # one that waits is not written over: a person removes it
            require_end(await run.go(None, {**THREAD, **edited}))
            left.discard(step.node)
    assert not left


class Edit(NamedTuple):
    """What is written after a node of a run, and which nodes must come next."""

    graph: str
    node: str
    values: Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]
    next: tuple[str, ...]
    settings: Mapping[str, Any] = {}
    parts: Mapping[str, Any] = {}
    time: int = 1
    """After which time that the node ran."""


def scored(score: float, checker: str = "verifier") -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """Give the last draft another score."""
    return lambda state: {"drafts": [*state["drafts"][:-1], with_verdict(state, checker, score=score)]}


def gated(outcome: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """Have the gate say something else of the last draft."""
    return lambda state: {"drafts": [*state["drafts"][:-1], with_verdict(state, "gate", outcome=outcome)]}


def with_verdict(state: dict[str, Any], checker: str, **changes: Any) -> dict[str, Any]:
    """The last draft with another verdict."""
    last = state["drafts"][-1]
    return {**last, "verdicts": {**last["verdicts"], checker: {**last["verdicts"][checker], **changes}}}


def checked_by(*checkers: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """Have the last draft checked by others."""
    return lambda state: {"drafts": [*state["drafts"][:-1], {**state["drafts"][-1], "checkers": list(checkers)}]}


def selecting(number: int) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """Have so many passages selected."""
    return lambda state: {"selected": state["candidates"][:number]}


def asked_of(strategy: str) -> Mapping[str, Any]:
    """Have the question be of one entity that is answered from in a way."""
    return {"entities": [{**scoped("Tom"), "certainty": None, "strategy": strategy}]}


def records(state: dict[str, Any]) -> Mapping[str, Any]:
    """Have two long records, as of two turns."""
    one = {"role": "ada", "user_role": "Tom Quill", "turn": "1", "dialogues": []}
    return {"memory_records": [{**one, "text": f"{number} {'years ' * 500}"} for number in range(2)]}


def met(name: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """Have Alice talk with somebody, or with nobody."""

    def written(state: dict[str, Any]) -> Mapping[str, Any]:
        return {"log": Overwrite([{**one, "talks_with": name} if "talks_with" in one else one for one in state["log"]])}

    return written


NO, YES = {"verdict": '{"answer": "no"}'}, {"verdict": '{"answer": "yes"}'}
AGAINST = {"weighed": weighed(1)}
DAY = {"steps": 2}
EDITS = (
    Edit("amadeus", "check_index", {"passages_stale": True}, ("amadeus_index",)),
    Edit("amadeus", "judge", selecting(0), ("judge",), parts=YES),
    Edit("amadeus", "judge", selecting(0), ("fall_back",), {"search_limit": 1}, YES),
    Edit("amadeus", "judge", selecting(1), ("extract_attributes",), {"slots": 1}, NO),
    Edit("amadeus", "judge", selecting(2), ("extract_attributes",), parts=NO),
    Edit("amadeus", "judge", selecting(2), ("judge",), {"slots": 3}, NO),
    Edit("amadeus", "draft", checked_by(), ("speak",), {"verify": True}),
    Edit("amadeus", "draft", checked_by("verifier"), ("verify",)),
    Edit("amadeus", "verify", scored(2), ("revise",), {"verify": True, "revisions": 1}),
    Edit("amadeus", "verify", scored(2), ("speak",), {"verify": True, "revisions": 0}),
    Edit("amadeus", "verify", scored(2), ("speak",), {"verify": True, "alpha": 1}),
    Edit("amadeus", "verify", scored(5), ("speak",), {"verify": True}, POOR),
    Edit("amadeus", "verify", scored(2), ("speak",), {"verify": True, "revisions": 1}, POOR, time=2),
    Edit("amadeus", "keep_talk", {"window": 2}, ("summarize",)),
    Edit("amadeus", "keep_talk", {"window": 9}, (), SHORT),
    Edit("amadeus_index", "embed_passages", {"unembedded": 1}, ("embed_passages",)),
    Edit("amadeus_index", "embed_passages", {"unembedded": 0}, ("publish_index",), {"embedding_batch": 2}),
    Edit("amadeus_index", "publish_index", {"version": ""}, ("split_persona",)),
    Edit("role_rag", "check_graph", {"graph_stale": True}, ("role_rag_index",)),
    Edit("role_rag", "choose_retrieval", {"retrieval": "local"}, ("search_locally",)),
    Edit("role_rag", "choose_retrieval", {"retrieval": "scoped"}, ("hypothesize",), {"retrieval": "local"}),
    Edit("role_rag", "keep_boundaries", asked_of("out of scope"), ("note_out_of_scope",)),
    Edit("role_rag", "keep_boundaries", asked_of("general"), ("recall_general",)),
    Edit("role_rag", "keep_boundaries", asked_of("specific"), ("recall_specific",), {"normalization": False}),
    Edit("role_rag", "keep_boundaries", {"entities": []}, ("recall_nearest",)),
    Edit("role_rag", "keep_talk", {"window": 2}, ("summarize",), {"retrieval": "local"}),
    Edit("role_rag_index", "extract_facts", {"normalized": False}, ("summarize_facts",)),
    Edit("role_rag_index", "extract_facts", {"normalized": True}, ("compare_entities",), {"normalization": False}),
    Edit("role_rag_index", "name_groups", {"plan": True}, ("write_merge_plan",)),
    Edit("role_rag_index", "publish_graph", {"version": ""}, ("chunk_persona",)),
    Edit("emotional_rag", "check_memories", {"memories_stale": True}, ("emotional_rag_index",)),
    Edit("emotional_rag", "respond_from_memories", {"window": 2}, ("remember", "keep_talk")),
    Edit("emotional_rag", "keep_talk", {"window": 9}, (), SHORT),
    Edit("emotional_rag_index", "publish_memories", {"version": ""}, ("gather_memories",)),
    Edit("drmr", "check_dialogues", {"dialogues_stale": True}, ("drmr_index",)),
    Edit("drmr", "recall_dialogues", {"relating": False}, ("draft",), TOM),
    Edit("drmr", "recall_dialogues", {"relating": True}, ("recall_standing",), {"role_memory": False}),
    Edit("drmr", "build_memory", {"recorded": False}, ("draft",), TOM),
    Edit("drmr", "build_memory", {"recorded": False}, ("tell_why",), {**TOM, "recalled_dialogues": 1}, POOR, time=2),
    Edit("drmr", "build_memory", {"recorded": False}, ("draft",), {**TOM, "notes": True}, POOR, time=2),
    Edit("drmr", "recall_more", {"added": 0}, ("find_clique",), TOM, POOR),
    Edit("drmr", "recall_more", {"added": 0, "relating": False}, ("tell_why",), TOM, POOR),
    Edit("drmr", "recall_more", {"relating": False}, ("draft",), TOM, POOR),
    Edit("drmr", "verify", scored(1), ("revise",), TOM),
    Edit("drmr", "verify", scored(1), ("speak",), {"revisions": 0}),
    Edit("drmr", "speak", records, ("condense_memory", "keep_talk"), TOM),
    Edit("drmr", "speak", records, ("keep_talk",), {**TOM, "memory_length": 100_000}),
    Edit("drmr", "speak", records, ("keep_talk",), {"role_memory": False, **SHORT}),
    Edit("drmr_index", "publish_dialogues", {"version": ""}, ("gather_dialogues",)),
    Edit("id_rag", "query_identity", {"inferred": True}, ("infer_identity",)),
    Edit("id_rag", "query_identity", {"inferred": False}, ("retrieve_identity",), {"identity": "baseline"}),
    Edit("id_rag", "retrieve_identity", {"feels": True}, ("feel",)),
    Edit("id_rag", "infer_identity", {"feels": False}, ("augment",), {"identity": "baseline", "feeling": True}),
    Edit("id_rag", "act", checked_by(), ("speak",)),
    Edit("id_rag", "act", checked_by("gate"), ("validate",), {"gate": False}),
    Edit("id_rag", "validate", gated("revise"), ("act",)),
    Edit("id_rag", "validate", gated("revise"), ("decline",), {"changes_of_mind": 0}),
    Edit("id_rag", "validate", gated("block"), ("decline",)),
    Edit("id_rag", "validate", gated("allow"), ("speak",), {"on_contradiction": "block"}, AGAINST),
    Edit("id_rag", "remember_episode", {"updates": True}, ("reflect", "keep_talk")),
    Edit("id_rag", "remember_episode", {"updates": False, "window": 2}, ("keep_talk",), {"update": True}),
    Edit(
        "riverbend",
        "begin_step",
        lambda state: {"agent_news": {**state["agent_news"], "alice": []}},
        ("decide",) * 5,
        DAY,
    ),
    Edit("riverbend", "resolve", met("ellen"), ("talk",), {**DAY, "talks": 1}),
    Edit("riverbend", "resolve", met("ellen"), ("poll",), {**DAY, "talks": 0}),
    Edit("riverbend", "resolve", met(""), ("poll",), DAY),
    Edit("riverbend", "poll", {"polls": "open"}, ("vote",) * 5, DAY),
    Edit("riverbend", "poll", {"polls": "open", "votes": {"alice": "bob"}}, ("vote",) * 4, DAY),
    Edit("riverbend", "end_step", {"over": True}, (), DAY),
    Edit("riverbend", "end_step", {"over": False}, ("begin_step",), {"steps": 1}),
    Edit("ensemble", "understand", {"taking_part": ["memories", "identity"]}, ("memories", "identity")),
    Edit("ensemble", "choose_parts", {"taking_part": ["scope", "identity"]}, ("understand",)),
    Edit("ensemble", "understand", {"taking_part": ["scope", "identity"]}, ("scope", "identity")),
    Edit("ensemble", "draft", checked_by("verifier"), ("verify",)),
    Edit("ensemble", "draft", checked_by(), ("speak",)),
    Edit("ensemble", "draft", checked_by("gate"), ("validate",), {"verify": False, "identity": {"gate": False}}),
    Edit("ensemble", "validate", gated("block"), ("decline",)),
    Edit("ensemble", "validate", gated("revise"), ("revise",)),
    Edit("ensemble", "validate", gated("allow"), ("verify",), parts=AGAINST),
    Edit("ensemble", "validate", gated("revise"), ("decline",), {"identity": {"changes_of_mind": 0}}),
    Edit("ensemble", "verify", scored(1), ("revise",)),
    Edit("ensemble", "verify", scored(1), ("speak",), {"revisions": 0}),
    Edit("ensemble", "verify", scored(3), ("speak",), {"alpha": 2}, POOR),
    Edit("ensemble", "speak", records, ("remember", "remember_episode", "condense_memory", "keep_talk"), TOM),
    Edit("ensemble", "speak", {"taking_part": ["passages"]}, ("keep_talk",)),
    Edit("ensemble", "speak", {"taking_part": ["passages"]}, ("keep_talk", "summarize"), SHORT),
    Edit("ensemble", "remember_episode", {"updates": True}, ("reflect",)),
    Edit("scene", "choose_speaker", {"speaker": ""}, ("close",), {"cast": TWO}),
    Edit("scene", "choose_speaker", {"speaker": "jim"}, ("speak",), {"cast": TWO}),
    Edit("naive_rag", "check_index", {"passages_stale": True}, ("amadeus_index",)),
    Edit("naive_rag", "keep_talk", {"window": 2}, ("summarize",)),
    Edit("crag", "evaluate_passages", {"action": "incorrect"}, ("respond_from_strips",), parts=YES),
    Edit("crag", "evaluate_passages", {"action": "incorrect"}, ("rewrite_query",), {"web_search": web}, YES),
    Edit("crag", "evaluate_passages", {"action": "correct"}, ("refine_knowledge",), {"web_search": web}, NO),
    Edit("crag", "refine_knowledge", {"action": "ambiguous"}, ("respond_from_strips",), parts=YES),
    Edit("crag", "refine_knowledge", {"action": "ambiguous"}, ("rewrite_query",), {"web_search": web}, YES),
    Edit("graph_rag_local", "check_graph", {"graph_stale": True}, ("role_rag_index",)),
    Edit("graph_rag_local", "keep_talk", {"window": 9}, (), SHORT),
    Edit("role_gpt", "check_dialogues", {"dialogues_stale": True}, ("drmr_index",)),
    Edit("role_gpt", "keep_talk", {"window": 2}, ("summarize",)),
    Edit("profile", "keep_talk", {"window": 2}, ("summarize",)),
    Edit("vanilla", "keep_talk", {"window": 9}, (), SHORT),
)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "edit",
    [pytest.param(one, marks=[pytest.mark.crash] if number % 4 else []) for number, one in enumerate(EDITS)],
    ids=lambda edit: f"{edit.graph}-{edit.node}-{'+'.join(edit.next) or 'end'}",
)
async def test_an_edited_value_takes_its_branch_under_the_settings_of_the_run(edit: Edit, tmp_path: Path) -> None:
    whole_role(tmp_path)
    played = Played(edit.settings, edit.parts)
    run = begun(edit.graph, played, tmp_path)
    for given in [input_of(edit.graph, played), *[None] * (edit.time - 1)]:
        await run.graph.ainvoke(given, THREAD, context=run.context, interrupt_after=[edit.node])
    state = (await run.graph.aget_state(THREAD)).values
    values = edit.values(state) if callable(edit.values) else edit.values
    await run.graph.aupdate_state(THREAD, values, edit.node)
    assert sorted((await run.graph.aget_state(THREAD)).next) == sorted(edit.next)
    require_end(await run.go(None))


@pytest.mark.crash
@pytest.mark.parametrize("name", SERVED)
async def test_what_was_taken_out_of_a_state_is_missed_in_a_sentence(name: str, tmp_path: Path) -> None:
    """Each node, and each router behind it, without each of the channels that were there."""
    whole_role(tmp_path)
    builder, seen, wrong = resolve_name(SERVED[name]["path"]).builder, set[str](), {}
    for played in RUNS[name]:
        run = await taken(name, played, tmp_path)
        steps = [one for one in await steps_of(run) if one.before.tasks[0].path[0] == "__pregel_pull"]
        for step in (one for one in steps if one.node not in seen):
            seen.add(step.node)
            before, after = plain(run, step.before.values), plain(run, step.after.values)
            for lacks in before | after:
                rest = {channel: value for channel, value in step.before.values.items() if channel != lacks}
                done = {channel: value for channel, value in step.after.values.items() if channel != lacks}
                routers = [branch.path for branch in builder.branches[step.node].values()]
                for reads, state in [(builder.nodes[step.node].runnable, rest), *((one, done) for one in routers)]:
                    if error := await trouble(reads, state, run.context):
                        wrong[step.node, lacks] = error
    assert not wrong


@pytest.mark.sample(3)
@pytest.mark.parametrize("left_out", [None, *PARTS])
async def test_an_edit_after_a_part_of_the_ensemble_loses_no_other(left_out: str | None, tmp_path: Path) -> None:
    whole_role(tmp_path)
    parts = [part for part in PARTS if part != left_out]
    run = await taken("ensemble", Played({"parts": parts}), tmp_path)
    steps = [step for step in await steps_of(run) if step.node in PARTS]
    assert [step.node for step in steps] == parts
    for step in steps:
        mine = step.after.values["gathered"][step.node]
        written = {"gathered": {step.node: {**mine, "texts": {"knowledge": ["She can swim."]}}}}
        edited = await run.graph.aupdate_state(step.after.config, written, step.node)
        now = (await run.graph.aget_state(edited)).values["gathered"]
        assert now == step.after.values["gathered"] | written["gathered"]
        run.context.chat_model.calls.clear()
        output = await run.go(None, {**THREAD, **edited})
        assert output["messages"][-1].text
        assert output["evidence"]["parts"] == parts
        assert sum("<question>" in call.text for call in run.context.chat_model.calls if "She can swim." in call.text)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [name for name, taken in SERVED_INPUTS.items() if "messages" in taken])
async def test_a_finished_turn_can_be_edited_and_another_taken(name: str, tmp_path: Path) -> None:
    whole_role(tmp_path)
    run = await taken(name, Played({"lines": 1} if name == "scene" else {}), tmp_path)
    last = (await steps_of(run))[-1]
    await run.graph.aupdate_state(THREAD, {"question": "Edited?"}, None if last.sequential else last.node)
    state = await run.graph.aget_state(THREAD)
    assert (state.next, state.values["question"]) == ((), "Edited?")
    output = await run.go({"messages": [HumanMessage("And who else?", id="more")]})
    require_end(output)
    assert len(output["messages"]) == len(TALK) + 3
