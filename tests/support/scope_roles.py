"""A role with a small knowledge graph, and a chat model that plays all parts of RoleRAG by a script."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import BaseMessage

from dramaturg.models.embeddings import embedder
from dramaturg.nodes.graph.build import graph_kind
from dramaturg.nodes.graph.index import recipe
from dramaturg.nodes.graph.merging import NormalizationSettings
from dramaturg.nodes.passages.index import split_documents
from dramaturg.stores.documents.forms import Document
from dramaturg.stores.index.folder import Manifest
from dramaturg.stores.index.graph import GRAPH_FILE, Entity, EntityType, Relation, Statement, encode_graph, graph_of
from dramaturg.stores.library import open_role

from fakes import ScriptedChatModel
from roles import FINDINGS, LIFE, WordEmbeddings, mood, small_role

Answer = str | Exception | Callable[[str], str | Exception]

ADA = ("Ada Quill", "character", "She keeps the lighthouse.", ("Ada Quill", "the keeper"))
OTHERS: Sequence[tuple[str, EntityType, str, tuple[str, ...], int]] = (
    ("Tom Quill", "character", "He sails the mail boat.", ("Tom Quill", "Tom", "her brother"), 9),
    ("the harbour master", "character", "He sold the old lamp.", ("the harbour master",), 3),
    ("the lamp", "object", "It has never gone out.", ("the lamp",), 10),
    ("the log", "object", "All ships are in it.", ("the log",), 6),
    ("Gull Rock", "location", "A rock in the sea.", ("Gull Rock",), 8),
    ("Leith", "location", "Flour comes from there.", ("Leith",), 0),
)
QUOTES = {"the lamp": "She trims the lamp at dusk and at midnight, and never once has it gone out."}
OF = "Her brother Tom sails the mail boat and brings flour and letters on Fridays."


def reasoned(score: int, reason: str = "so it seems") -> str:
    """A model's answer to a question for a score."""
    return json.dumps({"reason": reason, "score": score})


def remembered(text: str) -> str:
    """A model's answer to a question for a record of the role memory; one that is JSON, or empty, stays as it is."""
    steps = dict.fromkeys(("wants", "scenes", "bond", "others"), "So it seems.")
    return json.dumps({**steps, "record": text}) if text and not text.startswith("{") else text


# What a prompt fences says which part it is for.
PARTS: dict[frozenset[str], str] = {
    frozenset(tags.split()): part
    for tags, part in {
        "conversation question": "standalone",
        "profile question": "hypothetical",
        "profile question context": "scope",
        "profile question context notes": "scope",
        "question context": "names",
        "profile entity notes": "relevant",
        "entity": "level",
        "profile entity": "why",
        "conversation entity": "told",
        "knowledge question": "reply",
        "memories question": "reply",
        "memories question was_said": "reply",
        "memories identity question": "reply",
        "statements question line": "weighed",
        "memory": "mood",
        "said": "mood",
        "before said": "mood",
        "knowledge attributes question": "reply",
        "question": "reply",
        "dialogue pair": "edge",
        "notes question line": "line",
        "profile other events": "record",
        "records": "merged",
        "other memory question": "reply",
        "other dialogues question": "reply",
        "summary conversation": "summary",
        "text": "facts",
        "one other": "same",
        "name facts": "description",
        "question passage": "verdict",
        "question passages": "findings",
    }.items()
}
GROUNDS = {"identity", "profile", "knowledge", "attributes", "memories", "memory", "records", "other", "dialogues"}
FACTS = {
    "entities": [
        {"name": "Ada Quill", "type": "character", "sentence": 1, "description": "She keeps the lighthouse."},
        {"name": "Tom", "type": "character", "sentence": 1, "description": "He sails the mail boat."},
    ],
    "relations": [
        {"source": "Ada Quill", "target": "Tom", "sentence": 1, "description": "Tom is her brother.", "strength": 9}
    ],
}
USUAL: dict[str, Answer] = {
    "standalone": lambda text: re.findall(r"<question>\n(.*?)\n</question>", text, re.DOTALL)[-1],
    "hypothetical": "The lamp was trimmed at dusk.",
    "scope": '{"entities": []}',
    "names": '{"entities": []}',
    "relevant": "yes",
    "level": "yes",
    "why": "It is of a later time.",
    "told": "no",
    "reply": "I keep the light.",
    "mood": mood(joy=7),
    "edge": reasoned(3),
    "line": reasoned(5),
    "weighed": json.dumps({"reason": "so it seems", "statement": 0}),
    "record": "I have known them for long.",
    "merged": "All in all I know them.",
    "summary": "They spoke of the light.",
    "facts": json.dumps(FACTS),
    "same": "no",
    "description": "Put together.",
    "verdict": '{"answer": "yes"}',
    "findings": FINDINGS,
}


def graph_role(library: Path, text: str = LIFE, *, named: bool = True, **settings: Any) -> Manifest:
    """Put Ada into a library, with a graph that is current for these settings; not `named`: it does not name her."""
    small_role(library, text)
    return publish(library, named=named, **settings)


def publish(library: Path, *, named: bool = True, remark: str = "", **settings: Any) -> Manifest:
    """Publish a graph of the documents as they are; a remark makes it another version."""
    role, context, model = (
        open_role("ada", library),
        NormalizationSettings(**settings),
        embedder(WordEmbeddings(), "en"),
    )
    (document,) = role.documents()
    chunks, lengths = split_documents([document], context)
    entities, relations = facts_of(document, chunks[0].id, named=named, remark=remark)
    builder = role.index(graph_kind(context)).builder
    draft = builder.draft(
        chunks,
        embedding=model.name,
        settings={**recipe(context, role), **lengths},
        sources={document.name: document.sha256},
    )
    texts = [entity.embedding_text for entity in entities]
    builder.add_vectors(draft, texts, model.embeddings.embed_documents(texts))
    return builder.publish(
        draft,
        {"entities": len(entities)},
        files={GRAPH_FILE: encode_graph(graph_of(entities, relations))},
        texts=texts,
        used={},
        sources=role.persona,
    )


def facts_of(document: Document, chunk: str, *, named: bool, remark: str) -> tuple[list[Entity], list[Relation]]:
    """Ada, whom and what she knows, and a town that only Tom knows."""

    def said(text: str, quote: str) -> tuple[Statement, ...]:
        start = max(document.text.find(quote), 0)
        return (Statement(text=text, passage=chunk, source=document.name, start=start, end=start + len(quote)),)

    def entity(name: str, kind: str, text: str, names: tuple[str, ...]) -> Entity:
        statements = said(text, QUOTES.get(name, OF))
        return Entity(
            name=name, type=cast("EntityType", kind), description=text + remark, names=names, statements=statements
        )

    def relation(source: str, target: str, strength: int) -> Relation:
        text = f"How {source} and {target} are connected."
        return Relation(source=source, target=target, description=text, strength=strength, statements=said(text, OF))

    entities = [entity(*ADA)] * named + [entity(*one[:4]) for one in OTHERS]
    around = [relation("Ada Quill", name, strength) for name, *_, strength in OTHERS if named and strength]
    return entities, [*around, relation("Tom Quill", "Leith", 4)]


def scoped(name: str, kind: str = "character", *, relevant: bool = True, level: str = "specific") -> dict[str, Any]:
    """An entity as a model names and judges it."""
    reason = f"{name} is near her." if relevant else f"{name} is of a later time."
    return {"name": name, "type": kind, "reason": reason, "relevant": relevant, "level": level}


def judged(*entities: dict[str, Any]) -> str:
    """An answer that names these entities."""
    return json.dumps({"entities": list(entities)})


MOON = scoped("Apollo 11", "event", relevant=False)


def player(*entities: dict[str, Any], **parts: Answer) -> ScriptedChatModel:
    """Play all parts: name these entities, say what is given for a part, and else the usual."""
    script = {**USUAL, "scope": judged(*entities), **parts}

    def answer(messages: list[BaseMessage]) -> str | Exception:
        part, text = asked(messages)
        said = script[part](text) if callable(script[part]) else script[part]
        return remembered(said) if part == "record" and isinstance(said, str) else said

    return ScriptedChatModel(reply=answer)


def asked(messages: Sequence[BaseMessage]) -> tuple[str, str]:
    """Which part a prompt is for, and what it asks."""
    for message in reversed(messages):
        tags = frozenset(re.findall(r"^<(\w+)>$", message.text, re.MULTILINE)) if message.type == "human" else None
        if tags:
            # The summary of a conversation, and the boundaries of this turn, stand before what a reply rests on.
            before = {"summary", "recalled", "silent", "told", "unknown", "directed", "was_said", "directions", "scene"}
            asks = tags - before - {"wish"}
            if asks > {"question"} and asks - {"question"} <= GROUNDS and not PARTS.get(asks):
                return "reply", message.text
            # So does the talk so far before what is looked up or weighed.
            return PARTS.get(tags) or PARTS.get(asks) or PARTS[asks - {"conversation"}], message.text
    raise AssertionError(messages)


def shown(model: ScriptedChatModel, part: str) -> list[str]:
    """What a model was asked for a part, call by call."""
    return [text for kind, text in (asked(call.messages) for call in model.calls) if kind == part]
