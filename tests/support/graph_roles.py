"""A role whose people go by several names, and a chat model that plays all parts of RoleRAG by a script."""

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from langchain_core.messages import BaseMessage

from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.kinds import kind_named
from dramaturg.stores.role import Role
from dramaturg.workflows.role_rag_index import RoleRagIndexContext, graph

from fakes import ScriptedChatModel
from roles import fenced, run_settings, said, small_role

LIFE = """# Ada

Ada Quill keeps the lighthouse of Gull Rock. Her brother Tom Quill brings flour to Ada Quill. \
Tom sails the Petrel.

The harbour master sold the old lamp of Ada Quill. Jory Penrose has hated Ada Quill since.
"""
WORK = "# Work\n\nThe keeper trims the old lamp at Gull Rock. Her brother fears the harbour master.\n"
DOG = "# Dog\n\nKit sleeps beside the old lamp. Tom gave Kit to Ada Quill.\n"

# Who is meant by a name, and of what type that is.
NAMES = {
    "Ada Quill": ("ada", "character"),
    "The keeper": ("ada", "character"),
    "Tom Quill": ("tom", "character"),
    "Her brother": ("tom", "character"),
    "Tom": ("tom", "character"),
    "harbour master": ("jory", "character"),
    "Jory Penrose": ("jory", "character"),
    "Gull Rock": ("rock", "location"),
    "Petrel": ("petrel", "vessel"),  # no type that there is
    "Kit": ("kit", "character"),
}
TOM = frozenset({"Tom Quill", "Tom", "Her brother"})
JORY = frozenset({"Jory Penrose", "harbour master"})
UNLISTED = "old lamp"  # relations name it, no list of entities does
NAMED = re.compile("|".join([*NAMES, UNLISTED]))

# What a prompt asks for, by what it fences; the first that is there.
FENCED = {
    "pairs": "pairs",
    "names": "name",
    "facts": "summary",
    "conversation": "standalone",
    "context": "scope",
    "knowledge": "reply",
    "unknown": "reply",
    "question": "hypothetical",
}

Rule = Callable[[str], str | Exception | None]


def part(text: str) -> str:
    """The part that a prompt is for."""
    for tag, kind in FENCED.items():
        if f"<{tag}>" in text:
            return kind
    if "<one>" in text:
        return "why" if "They are the same because" in text else "same"
    return "facts"


def graph_actor(rule: Rule = lambda text: None) -> ScriptedChatModel:
    """Play all parts; where `rule` gives an answer to a prompt, it is that."""

    def answer(messages: list[BaseMessage]) -> str | Exception:
        text = said(messages)
        given = rule(text)
        return PARTS[part(text)](text) if given is None else given

    return ScriptedChatModel(reply=answer)


def only(kind: str, answer: str | Exception, holding: str = "") -> Rule:
    """Give this answer to the questions of one kind that hold some words."""
    return lambda text: answer if part(text) == kind and holding in text else None


def facts(text: str) -> str:
    """The names of each sentence as entities, each with the next of its sentence as a relation."""
    entities, relations = [], []
    for number, sentence in re.findall(r"^\[(\d+)\] (.*)$", fenced("text", text), re.MULTILINE):
        here = {"sentence": int(number)} | ({"description": f"Note: {sentence}"} if "description" in text else {})
        found = list(dict.fromkeys(NAMED.findall(sentence)))
        entities += [{"name": name, "type": NAMES[name][1], **here} for name in found if name != UNLISTED]
        relations += [
            {"source": one, "target": other, "strength": len(relations) % 10 + 1, **here}
            for one, other in pairwise(found)
        ]
    return json.dumps({"entities": entities, "relations": relations})


def means_same(one: str, other: str) -> bool:
    """Whether two entries, as prompts show them, are of names for one."""
    who = [next((NAMES[name][0] for name in NAMES if entry.startswith(name)), entry) for entry in (one, other)]
    return who[0] == who[1]


def same(text: str) -> str:
    """Yes or no on one pair."""
    return "yes" if means_same(fenced("one", text), fenced("other", text)) else "no"


def pairs(text: str) -> str:
    """A verdict on each of several pairs."""
    entries = re.findall(r"^\[(\d+)\] (.*)\n\[\1\] (.*)$", fenced("pairs", text), re.MULTILINE)
    return json.dumps({f"pair_{at}": {"same": means_same(a, b), "reason": "Both sail."} for at, a, b in entries})


def longest_name(text: str) -> str:
    """The longest of the names, by its number."""
    options = re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE)
    return max(options, key=lambda option: len(option[1]))[0]


def scope(text: str) -> str:
    """The names of a question: all can be known but what flies to the moon."""
    found = dict.fromkeys(re.findall(f"{NAMED.pattern}|Apollo", fenced("question", text)))
    told = {"type": "other", "level": "specific", "reason": "By its time."}
    return json.dumps({"entities": [{"name": name, "relevant": name != "Apollo", **told} for name in found]})


PARTS: dict[str, Callable[[str], str]] = {
    "facts": facts,
    "same": same,
    "pairs": pairs,
    "name": longest_name,
    "why": lambda text: "Both names stand for one person.",
    "summary": lambda text: "In short: " + " ".join(fenced("facts", text).removeprefix("- ").split("\n- ")),
    "standalone": lambda text: fenced("question", text),
    "hypothetical": lambda text: "She knew of " + fenced("question", text),
    "scope": scope,
    "reply": lambda text: "I keep the light.",
}


def graph_role(library: Path, **documents: str) -> Role:
    """Ada with these documents, or with her life."""
    small_role(library, LIFE)
    role = Role(library / "ada")
    for name, text in documents.items():
        put(role, name, text)
    return role


def put(role: Role, name: str, text: str) -> None:
    """Write a document of the persona."""
    (role.root / "persona" / f"{name}.md").write_text(text, encoding="utf-8")


def with_aliases(role: Role, *aliases: str) -> None:
    """Give the role's card other names."""
    card = role.card.model_copy(update={"aliases": aliases})
    (role.root / "role.yaml").write_text(yaml.safe_dump(card.model_dump(mode="json")), encoding="utf-8")


def settings(role: Role, model: Any, **given: Any) -> RoleRagIndexContext:
    """One chunk a document, and every entity compared with all before it, unless told otherwise."""
    usual = {"descriptions": "written", "neighbours": 50, "reasons": False}
    return RoleRagIndexContext(**{**run_settings(role.root.parent, model), **usual, **given})


async def index(role: Role, model: Any = None, wishes: dict[str, bool] | None = None, **given: Any) -> dict[str, Any]:
    """Index the role and give the report."""
    output = await graph.ainvoke(wishes or {}, context=settings(role, model or graph_actor(), **given))
    return dict(output["index"])


def asked(model: ScriptedChatModel, kind: str = "") -> list[str]:
    """The prompts of one kind that a model was shown, or of all."""
    return [call.text for call in model.calls if kind in ("", part(call.text))]


def compared(*models: ScriptedChatModel) -> Counter[frozenset[str]]:
    """How often each pair of entries was asked about."""
    return Counter(
        frozenset([fenced("one", text), fenced("other", text)]) for model in models for text in asked(model, "same")
    )


def served(role: Role, kind: str = "graph") -> KnowledgeGraph:
    """The graph that is read now, as another process would see it."""
    return Role(role.root).index(kind_named(kind)).open()


def groups(role: Role) -> set[frozenset[str]]:
    """Which names are one in the graph that is read now."""
    return {frozenset(entity.names) for entity in served(role).entities()}
