"""What a method needs of a role, so that a role that lacks it is named before anything is spent."""

from collections.abc import Iterator, Sequence

from dramaturg.evaluation.comparison.contestants import Contestant
from dramaturg.evaluation.comparison.external import PACKAGES
from dramaturg.nodes.run import RunContext
from dramaturg.nodes.told import told_documents
from dramaturg.stores.documents.secrets import told_among
from dramaturg.stores.role import Role
from dramaturg.workflows.methods import chat_graph, preparations

DOCUMENTS = "persona/*.md, a document with text in it"
MEMORIES = "memories.jsonl or dialogues/*.jsonl"
DIALOGUES = "dialogues/*.jsonl"
CHRONICLE = "chronicle.yaml with a triple or more"
OF_INDEX = {
    "amadeus_index": DOCUMENTS,
    "role_rag_index": DOCUMENTS,
    "emotional_rag_index": MEMORIES,
    "drmr_index": DIALOGUES,
}
"""What is indexed, by the graphs that do so."""


def require_all(methods: Sequence[Contestant], roles: Sequence[Role], shared: RunContext) -> None:
    """Refuse methods that a role has no files for; a ValueError names each role, method and what is missing."""
    if gone := [f"{role.id} lacks {one}" for role in roles for one in lacking(methods, role, shared)]:
        raise ValueError(
            f"{'; '.join(gone)}: write it, or leave the role or the method out. "
            "What others alone know (known_to) does not count."
        )


def lacking(methods: Sequence[Contestant], role: Role, shared: RunContext) -> list[str]:
    """Say what a role has no files for: each need once, with the methods that have it."""
    gone: dict[str, list[str]] = {}
    for method in methods:
        for need in needs_of(method, role, shared):
            if not has(role, need):
                gone.setdefault(need, []).append(method.name)
    return [f"{need} (for {', '.join(names)})" for need, names in gone.items()]


def needs_of(method: Contestant, role: Role, shared: RunContext) -> Iterator[str]:
    """What a method looks up of a role: what it has indexed, and the chronicle where an identity is looked up."""
    if method.method in PACKAGES:
        yield DOCUMENTS
        return
    context = method.context(shared, role.id, seed=0)
    graphs = {one.name for one in preparations(method.method, context).values() if one.context.role == role.id}
    yield from dict.fromkeys(OF_INDEX[name] for name in OF_INDEX if name in graphs)
    if "retrieve_identity" in chat_graph(method.method).nodes and getattr(context, "identity", "") != "baseline":
        yield CHRONICLE


def has(role: Role, need: str) -> bool:
    """Whether a role has files for a need."""
    own = role.own_names
    if need == DOCUMENTS:
        return any(one.text.strip() for one in told_documents(role))
    if need == CHRONICLE:
        return bool(told_among(role.chronicle().triples, own))
    return bool(told_among(role.dialogues(), own)) or (need == MEMORIES and bool(told_among(role.memories(), own)))
