"""What is asked of whom in an evaluation: each method, role, seed and question, in a conversation of its own."""

import asyncio
import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.evaluation.contestants import Contestant
from dramaturg.evaluation.dataset_model import Question
from dramaturg.evaluation.records import Reply
from dramaturg.models.client import name_of
from dramaturg.models.embeddings import name_of as embeddings_name
from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.context import RunContext
from dramaturg.stores.files import canonical
from dramaturg.stores.role import Role
from dramaturg.workflows.methods import METHODS, chat_graph, index_graph

DERIVED = "index"


class Asked(NamedTuple):
    """A question to a role by one method; `key` is a digest of all that the reply depends on."""

    contestant: Contestant
    role: Role
    seed: int
    question: Question
    key: str


def asked_of(
    contestants: Sequence[Contestant],
    roles: Iterable[tuple[Role, Sequence[Question]]],
    seeds: Sequence[int],
    shared: RunContext,
) -> Iterator[Asked]:
    """All questions of an evaluation: role by role, and all methods on one question one after the other."""
    for role, questions in roles:
        knowledge = fingerprint(role.root)
        for seed in seeds:
            for question in questions:
                for one in contestants:
                    yield Asked(one, role, seed, question, key_of(one, role, knowledge, seed, question, shared))


def key_of(
    contestant: Contestant, role: Role, knowledge: str, seed: int, question: Question, shared: RunContext
) -> str:
    """Digest what a reply depends on."""
    embedding = shared.embedding_model
    embedded = embedding if isinstance(embedding, str) else embeddings_name(embedding)
    models = [name_of(shared.chat_model), embedded, shared.language]
    asked = question.model_dump(include={"id", "text", "user_role", "context", "turns"}, mode="json")
    told: Any = [contestant.name, dict(contestant.settings), role.id, knowledge, seed, asked, *models]
    return hashlib.sha256(canonical(told)).hexdigest()[:32]


def fingerprint(folder: Path) -> str:
    """Digest what a role knows: all its files but those that are made from others."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and inner.parts[0] != DERIVED and not any(part.startswith(".") for part in inner.parts):
            digest.update(canonical([inner.as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]))
    return digest.hexdigest()


async def prepare(contestant: Contestant, role: Role, shared: RunContext) -> None:
    """Index a role for a method, which is work that no question should be charged with.

    Raises:
        RoleError: the role lacks what the method needs.
        ModelError: the model gave no answer.
    """
    if METHODS[contestant.method].prepare:
        context = contestant.context(shared, role.id, seed=0)
        await index_graph(contestant.method).compile().ainvoke({}, context=context)


async def replied(asked: Asked, shared: RunContext) -> Reply:
    """Have a question answered in a conversation of its own; an answer that does not come is missing, and says why.

    Raises:
        RoleError: the role lacks what the method needs.
        ModelError: the model cannot be reached or refuses every question.
    """
    question, began = asked.question, time.perf_counter()
    about: dict[str, Any] = {
        "key": asked.key,
        "contestant": asked.contestant.name,
        "role": asked.role.id,
        "seed": asked.seed,
        "question": question.id,
        "asked": question.text,
        "model": name_of(shared.chat_model),
    }
    try:
        output = await conversed(asked, shared)
    except UNANSWERED as error:
        return Reply(**about, text="", error=str(error), seconds=time.perf_counter() - began)
    used = output["usage"].values()
    return Reply(
        **about,
        text=output["messages"][-1].text,
        evidence=output["evidence"],
        calls=sum(one["calls"] for one in used),
        tokens=sum(one["prompt_tokens"] + one["completion_tokens"] for one in used),
        seconds=round(time.perf_counter() - began, 3),
    )


async def conversed(asked: Asked, shared: RunContext) -> dict[str, Any]:
    """Run a turn of the method's graph."""
    graph = chat_graph(asked.contestant.method).compile(InMemorySaver(), store=InMemoryStore())
    context = asked.contestant.context(shared, asked.role.id, asked.seed, user_role=asked.question.user_role)
    messages = await asyncio.to_thread(messages_of, asked.question, asked.role)
    config: Any = {"configurable": {"thread_id": asked.key}}
    output: dict[str, Any] = await graph.ainvoke({"messages": messages}, config, context=context, durability="exit")
    return output


def messages_of(question: Question, role: Role) -> list[BaseMessage]:
    """The conversation as the role finds it: what was said before, and the question with where it is asked."""
    names = {name.casefold() for name in (role.id, role.card.name, *role.card.aliases)}
    before: list[BaseMessage] = [
        AIMessage(turn.text, id=f"{number}")
        if turn.speaker.casefold() in names
        else HumanMessage(turn.text, id=f"{number}")
        for number, turn in enumerate(question.turns)
    ]
    asked = f"({question.context})\n{question.text}" if question.context else question.text
    return [*before, HumanMessage(asked, id="question")]
