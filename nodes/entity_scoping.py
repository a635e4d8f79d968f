"""Entity scoping: which entities a question is about, and whether the role can know them (RoleRAG 3.4)."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

from langgraph.runtime import Runtime

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.context import respondent_of, settings
from dramaturg.nodes.graph_profile import graph_of_turn, own_node, profile_of
from dramaturg.nodes.scope_judges import ScopedEntity, ScopeSettings, judged_apart, judged_together
from dramaturg.nodes.turn import StandaloneState
from dramaturg.stores.knowledge_graph import KnowledgeGraph
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role

WORD = re.compile(r"\w+")


class ScopeState(StandaloneState):
    """What scoping reads and writes."""

    hypothetical: str
    version: str
    entities: list[ScopedEntity]


S = TypeVar("S", bound=ScopeSettings)


async def scope_entities(state: ScopeState, runtime: Runtime[S]) -> dict[str, Any]:
    """Name the entities in question and hypothetical context, and say of each what the role can know (3.4).

    Where the model gives no usable answer there are none: what is nearest to the question is recalled instead, and the
    evidence says so.

    Raises:
        MissingIndex: the role has no graph.
    """
    context = settings(runtime, ScopeSettings)
    role, graph = await graph_of_turn(context, state["version"])
    chat = await respondent_of(context, role)
    data = {
        "profile": profile_of(role, graph),
        "question": state["standalone"],
        "context": state["hypothetical"],
    }
    judge = judged_apart if context.apart(chat) else judged_together
    try:
        entities, evidence = each_once(await judge(data, context, role, graph, chat), role, graph), {}
    except UNANSWERED as error:
        entities, evidence = [], {"entities_error": str(error)}
    warned = {"warning": graph.warning} if graph.warning else {}
    return {
        "version": graph.version,
        "entities": entities,
        "specific": [],
        "general": [],
        "missing": [],
        "evidence": {"entities": entities, **evidence, **warned},
        "usage": {"scope_entities": chat.account.usage()},
    }


def each_once(entities: Iterable[ScopedEntity], role: Role, graph: KnowledgeGraph) -> list[ScopedEntity]:
    """Keep one judgement an entity, out of scope if one of them is; the role itself is known by its profile."""
    own = {normal_name(name) for name in (role.card.name, *role.card.aliases)}
    node = own_node(role, graph)
    found: dict[str, ScopedEntity] = {}
    for one in entities:
        name = graph.find(one["name"])
        key = normal_name(name or one["name"])
        if normal_name(one["name"]) in own or (node is not None and name == node):
            found[key] = {**one, "relevant": True, "strategy": "profile"}
        elif key not in found or not one["relevant"]:
            found[key] = one
    return list(found.values())


def scope_outcomes(state: ScopeState) -> list[Literal["out of scope", "specific", "general", "none"]]:
    """The strategies that the entities ask for; none if there is nothing to look up."""
    wanted = {entity["strategy"] for entity in state["entities"]}
    outcomes: Sequence[Literal["out of scope", "specific", "general"]] = ("out of scope", "specific", "general")
    return [one for one in outcomes if one in wanted] or ["none"]


def named_in(question: str, name: str) -> bool:
    """Whether a question itself names an entity, at least by one of its words."""
    text, key = normal_name(question), normal_name(name)
    words = WORD.findall(key)
    plain = [word for word in words if word.isascii() and (len(word) > 2 or word.isdecimal())]
    # Chinese and Korean have no spaces around a name, and call 孙悟空 悟空.
    pairs = [word[at : at + 2] for word in words if not word.isascii() for at in range(len(word) - 1)]
    return key in text or not set(plain).isdisjoint(WORD.findall(text)) or any(pair in text for pair in pairs)
