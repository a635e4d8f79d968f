"""Questions to a role of a scene after its written course; the lines go through the graph of a scene that is played."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from dramaturg.evaluation.comparison.contestants import ToAsk
from dramaturg.evaluation.comparison.external import MethodReply
from dramaturg.evaluation.comparison.threads import said_in, scened
from dramaturg.evaluation.datasets.dataset import Played
from dramaturg.evaluation.judging.presence import words_in
from dramaturg.nodes.run import RoleContext, Run, RunContext, run_of
from dramaturg.nodes.scene.presence import (
    Member,
    Stage,
    called,
    cue_in,
    first_stage,
    marked,
    members_of,
    names_at,
    told_by_user,
    told_of,
)
from dramaturg.workflows.names import METHODS
from dramaturg.workflows.scene import SceneContext, beginning, build, line_of


class Prompts(AsyncCallbackHandler):
    """Keeps what chat models are asked in a turn."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **told: Any
    ) -> None:
        """Keep the prompt."""
        self.texts += [one.text for batch in messages for one in batch]


async def asked_after(played: Played, asked: ToAsk, shared: RunContext) -> MethodReply:
    """Ask a role alone, after all that was played: it has heard what `heard_by` gives it, or everything.

    Raises:
        ValueError: a line of the course cannot be used.
    """
    context = scene_context(played, asked, shared)
    run: Any = await run_of(context)
    course, stage = await course_of(run, played.lines)
    if asked.contestant.hears_all:
        course = [heard_by_all(one, context.playing) for one in course]
    question = HumanMessage(scened(asked.question), id="question")
    question = called(question, {"present": [asked.role.id], "next": [asked.role.id]})
    silent = tuple(one.model_copy(update={"told": ""}) for one in context.cast)
    context = context.model_copy(update={"opening": "", "cast": silent})  # it stands in the course
    builder: Any = copy.copy(build())
    builder.input_schema = builder.state_schema  # who is there is given, too
    graph, prompts = builder.compile(store=InMemoryStore()), Prompts()
    config: Any = {"configurable": {"thread_id": asked.key}, "callbacks": [prompts]}
    output = await graph.ainvoke({"messages": [*course, question], "stage": stage}, config, context=context)
    said = said_in(output)
    return said._replace(
        evidence=said.evidence.get(asked.role.id, said.evidence), in_prompts=words_in(prompts.texts, played)
    )


def scene_context(played: Played, asked: ToAsk, shared: RunContext) -> SceneContext:
    """The settings of the scene, in which everybody plays by the method that is asked."""
    one = asked.contestant
    own = one.context(shared, asked.role.id, asked.seed)
    settings = {name: getattr(own, name) for name in own.model_fields_set - {*RoleContext.model_fields}}
    how = {"method": one.method} if one.method in METHODS else {"flow": one.method}
    cast = [{**player, **how, "settings": settings} for player in played.scene["cast"]]
    models = {name: getattr(own, name) for name in RoleContext.model_fields if name != "role"}
    return SceneContext(**{**models, **played.scene, "cast": cast})


async def course_of(run: Run[SceneContext], lines: Sequence[str]) -> tuple[list[AnyMessage], Stage]:
    """The lines of a course as a played scene has them, with who hears each, and who is there after them.

    Raises:
        ValueError: a line names nobody of the cast, or whispers to who is not there.
    """
    members, stage = await members_of(run), first_stage(run.settings)
    names, by_name = {one.role: one.name for one in members}, [*members]
    found: list[AnyMessage] = [*beginning(run.settings, stage, "course")]
    for number, text in enumerate(lines):
        line_id = str(uuid5(NAMESPACE_OID, f"course {number} {text}"))
        if text.startswith("/"):
            after, told = told_by_user(run, cue_in(text, by_name), stage, names)
            found.append(marked(HumanMessage(text, id=line_id), told))
            stage = after
        else:
            role, words = speaker_of(text, by_name, stage, number + 1)
            shown, told = line_of(run, role, words, stage, by_name)
            found.append(marked(AIMessage(shown, id=line_id, name=role), {**told, "when": run.settings.as_of}))
    return found, stage


def speaker_of(text: str, members: Sequence[Member], stage: Stage, number: int) -> tuple[str, str]:
    """Who says a line of a course, and what."""
    name, colon, _ = text.partition(":")
    to, words = names_at(text, members)
    if len(to) != 1 or not colon or not words:
        raise ValueError(f"Line {number} of the scene, {text[:40]!r}, begins with nobody's name and a colon.")
    if to[0] not in stage["present"]:
        raise ValueError(f"Line {number} of the scene: {name.strip()} is not there to say it: /enter {name.strip()}.")
    return to[0], words


def heard_by_all(message: AnyMessage, playing: Sequence[str]) -> AnyMessage:
    """A line as all would hear it in a scene without presence; what each is told alone, and cues, too."""
    told = told_of(message)
    if told is None:
        return message
    everybody: Mapping[str, Any] = {**told, "witnesses": [*playing]}
    return marked(message, everybody)  # type: ignore[arg-type]
