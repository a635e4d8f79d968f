"""What is asked of whom in an evaluation: each method, role, seed and question, in a conversation of its own."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.bounds import BOUNDS, bound_reply
from dramaturg.evaluation.comparison.contestants import WEB, Contestant
from dramaturg.evaluation.datasets.dataset import Question
from dramaturg.models.client import name_of
from dramaturg.models.embeddings import name_of as embeddings_name
from dramaturg.nodes.context import RunContext
from dramaturg.stores.files import canonical
from dramaturg.stores.role import Role

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
    """All questions of an evaluation: role by role, and all methods on one question one after the other.

    Floor and ceiling say the same whatever the seed: they are asked once, and only what they have something to say to.
    """
    for role, questions in roles:
        knowledge = fingerprint(role.root)
        for seed in seeds:
            for question in questions:
                for one in contestants:
                    if one.name not in BOUNDS:
                        yield Asked(one, role, seed, question, key_of(one, role, knowledge, seed, question, shared))
                    elif seed == seeds[0] and (text := bound_reply(one.name, question, language_in(shared, role))):
                        yield Asked(one, role, seed, question, key_of_bound(one, role, question, text))


def language_in(shared: RunContext, role: Role) -> str:
    """The language that a role speaks in an evaluation."""
    return role.card.language if shared.language == "auto" else shared.language


def key_of_bound(contestant: Contestant, role: Role, question: Question, text: str) -> str:
    """Digest what the reply of a floor or ceiling depends on: no model, and nothing that the role knows."""
    return digest([contestant.name, role.id, question.id, question.text, text])


def key_of(
    contestant: Contestant, role: Role, knowledge: str, seed: int, question: Question, shared: RunContext
) -> str:
    """Digest what a reply depends on."""
    embedding = shared.embedding_model
    embedded = embedding if isinstance(embedding, str) else embeddings_name(embedding)
    models = [name_of(shared.chat_model), embedded, shared.language]
    asked = question.model_dump(include={"id", "text", "user_role", "context", "turns"}, mode="json")
    told: Any = [contestant.name, dict(contestant.settings), role.id, knowledge, seed, asked, *models]
    return digest([*told, *searched_by(contestant, shared)])


def searched_by(contestant: Contestant, shared: RunContext) -> list[str]:
    """The name of the tool by which a contestant searches the web; nothing where it does not."""
    tool: Any = getattr(shared, WEB, "off")
    if not contestant.searches or tool == "off":
        return []
    return [str(getattr(tool, "name", None) or f"{tool.__module__}:{tool.__qualname__}")]


def digest(told: Any) -> str:
    """A key of all that a reply depends on."""
    return hashlib.sha256(canonical(told)).hexdigest()[:32]


def fingerprint(folder: Path) -> str:
    """Digest what a role knows: all its files but those that are made from others."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and inner.parts[0] != DERIVED and not any(part.startswith(".") for part in inner.parts):
            digest.update(canonical([inner.as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]))
    return digest.hexdigest()
