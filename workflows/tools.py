"""Roles as tools of LangChain's: for `create_agent`, supervisors, deep agents, and whatever else calls tools."""

import re
from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from dramaturg.nodes.reply import joined
from dramaturg.nodes.run import RoleContext, library_of
from dramaturg.nodes.turn import LONGEST_MESSAGE
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import open_role
from dramaturg.workflows.methods import flow, grounds_graph

__all__ = ["lookup_tool", "role_tool"]

ABOUT = 500  # characters of a role's profile in what a tool says of itself


class Said(BaseModel):
    """What an agent says to a role."""

    message: str = Field(min_length=1, max_length=LONGEST_MESSAGE, description="What you say to them.")


class LookedUp(BaseModel):
    """What an agent wants to know of a role."""

    question: str = Field(min_length=1, max_length=LONGEST_MESSAGE, description="What they would be asked.")


def role_tool(
    role: str,
    *,
    method: str = "amadeus",
    name: str = "",
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    **settings: Any,
) -> StructuredTool:
    """A tool by which an agent says something to a role, and hears its reply in character.

    The talk is remembered by the thread of the agent's run: in another thread the role has heard nothing, and a run
    without a thread has one talk. What the tool gives is the reply; its artifact has the evidence and the usage.

    Args:
        role: the id of the role.
        method: by which it answers, or a flow of one's own as `dramaturg --method` takes it.
        name: of the tool; "ask_<role>" if it has none.
        checkpointer: keeps the talks, by the names "<thread>/<name of the tool>"; None: this tool does, in memory.
        settings: of the method, such as `chat_model` or `library`.

    Raises:
        RoleError: there is no such role.
        ValueError: the method, or a setting of it, cannot be.
    """
    found = flow(method)
    context = found.context(role=role, **settings)
    card = open_role(role, library_of(context)).card
    graph = found.builder.compile(InMemorySaver() if checkpointer is None else checkpointer)
    named = name or tool_name("ask", role)

    def begin(message: str, config: RunnableConfig) -> tuple[dict[str, Any], RunnableConfig]:
        thread = config.get("configurable", {}).get("thread_id", "")
        own = RunnableConfig(configurable={"thread_id": f"{thread}/{named}"}, callbacks=config.get("callbacks"))
        return {"messages": [HumanMessage(message)]}, own

    def told(output: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return output["messages"][-1].text, {"evidence": output["evidence"], "usage": output["usage"]}

    says = f"Say something to {card.name} and hear the reply, in character. {about(card)}"
    return tool(named, says, Said, graph, context, begin, told)


def lookup_tool(role: str, *, method: str = "amadeus", name: str = "", **settings: Any) -> StructuredTool:
    """A tool by which an agent looks up what a role knows, believes or remembers of something, without a reply.

    What it gives are the texts that a reply of this method would rest on; its artifact has them by kind, what limits a
    reply, the evidence and the usage.

    Args:
        role: the id of the role.
        method: one that looks things up, as most do.
        name: of the tool; "look_up_<role>" if it has none.
        settings: of the method.

    Raises:
        RoleError: there is no such role.
        ValueError: the method looks nothing up without a reply, or a setting cannot be.
    """
    context = flow(method).context(role=role, **settings)
    card, graph = open_role(role, library_of(context)).card, grounds_graph(method).compile(checkpointer=False)

    def told(output: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        grounds = joined(output["gathered"].values())
        texts = [f"{kind}:\n" + "\n\n".join(found) for kind, found in grounds["texts"].items()]
        limits = [f"{kind}: {text}" for kind, text in grounds["limits"].items()]
        artifact = {name: output[name] for name in ("evidence", "usage")}
        return "\n\n".join([*texts, *limits]) or "Nothing was found.", {
            **artifact,
            "texts": grounds["texts"],
            "limits": grounds["limits"],
        }

    def begin(question: str, config: RunnableConfig) -> tuple[dict[str, Any], RunnableConfig]:
        own = RunnableConfig(callbacks=config.get("callbacks"))
        return {"messages": [HumanMessage(question)], "question": question}, own

    says = f"Look up what {card.name} knows or remembers, without asking: passages, memories, facts. {about(card)}"
    named = name or tool_name("look_up", role)
    return tool(named, says, LookedUp, graph, context, begin, told)


def tool(
    name: str,
    says: str,
    form: type[BaseModel],
    graph: Any,
    context: RoleContext,
    begin: Callable[[str, RunnableConfig], tuple[dict[str, Any], RunnableConfig]],
    told: Callable[[dict[str, Any]], tuple[str, dict[str, Any]]],
) -> StructuredTool:
    """A tool that runs a graph on threads of its own, and not on those of the graph that its caller stands in.

    Args:
        name: of the tool.
        says: what it says of itself.
        form: what it takes: one text.
        graph: what it runs.
        context: of the run.
        begin: makes the graph's input and config of the text and the caller's config.
        told: makes what the tool gives of the graph's output: the content and the artifact.
    """

    async def run(config: RunnableConfig, **taken: str) -> tuple[str, dict[str, Any]]:
        (text,) = taken.values()
        given, own = begin(text, config)
        return told(await graph.ainvoke(given, own, context=context))

    def run_blocking(config: RunnableConfig, **taken: str) -> tuple[str, dict[str, Any]]:
        (text,) = taken.values()
        given, own = begin(text, config)
        return told(graph.invoke(given, own, context=context))

    return StructuredTool.from_function(
        run_blocking, run, name, says, args_schema=form, response_format="content_and_artifact"
    )


def about(card: RoleCard) -> str:
    """The beginning of a role's profile, in one line."""
    line = " ".join(card.profile.split())
    return line if len(line) <= ABOUT else f"{line[:ABOUT].rpartition(' ')[0]} …"


def tool_name(what: str, role: str) -> str:
    """A name that models may be given: letters of ASCII, digits, and no spaces."""
    return f"{what}_{re.sub('[^a-zA-Z0-9_-]+', '_', role)}"[:64]
