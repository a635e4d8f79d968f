"""A role with memories, models that are asked for moods and count it, and how the memories come out."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from dramaturg.stores.documents.memories import read_memory_files
from dramaturg.stores.files import sha256
from dramaturg.stores.index.memories import MEMORY_KIND, MemoryStore
from dramaturg.stores.role import Role
from dramaturg.workflows.emotional_rag_index import EmotionalRagIndexContext, graph

from fakes import ScriptedChatModel
from roles import MEMORIES, WordEmbeddings, fenced, mood, run_settings, small_role, write_memories
from scope_roles import player, shown

Rule = Callable[[str], str | Exception | None]

STORM, DROWNED = str(MEMORIES[0]["text"]), str(MEMORIES[1]["text"])
HATED = "Do you trust the harbour master?\nAda Quill: He sold my old lamp. I spit on his name."
PARCEL = "Tom: Flour, letters, and a parcel from Leith.\nAda Quill: A parcel! Give it here, I have waited a month."
CALM = "Ada Quill: Not a breath of wind. I do not like it."
ALL = {STORM, DROWNED, HATED, PARCEL, CALM}


class CountedEmbeddings(WordEmbeddings):
    """Notes the texts that are embedded; another name is another model, of another dimension."""

    def __init__(self, model: str = "words", width: int = 1024) -> None:
        self.model = model
        self.width = width
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [self.embed_query(text)[: self.width] for text in texts]


def feeling(rule: Rule = lambda memory: None) -> ScriptedChatModel:
    """Feel something in each memory that depends on its words; where `rule` gives an answer to one, it is that."""

    def felt(text: str) -> str | Exception:
        memory = fenced("memory", text)
        given = rule(memory)
        return feels(memory) if given is None else given

    return player(mood=felt)


def feels(memory: str) -> str:
    """The usual answer about a memory."""
    return mood(joy=scored(memory), fear=scored(memory[::-1]))


def scored(text: str) -> int:
    """A score that depends on a text."""
    return int(sha256(text.encode())[:8], 16) % 10 + 1


def memories_asked(model: ScriptedChatModel) -> list[str]:
    """The memories whose mood a model was asked for, call by call."""
    return [fenced("memory", text) for text in shown(model, "mood")]


def memory_role(library: Path) -> Role:
    """Ada, as another process would see her: nothing in memory."""
    small_role(library)
    return Role(library / "ada")


def put_memories(role: Role, *memories: Mapping[str, Any] | str) -> None:
    """Give a role these memories, and no dialogue."""
    lines = [{"text": one} if isinstance(one, str) else one for one in memories]
    write_memories(role.root, lines, dialogue=())


def add_line(role: Role, name: str = "memories.jsonl", **line: Any) -> None:
    """Write one more line into a file."""
    with (role.root / name).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def with_card(role: Role, **changes: Any) -> None:
    """Change the role's card."""
    card = role.card.model_copy(update=changes)
    aside = role.root / "role.yaml.new"
    aside.write_text(yaml.safe_dump(card.model_dump(mode="json")), encoding="utf-8")
    aside.replace(role.root / "role.yaml")


def context(role: Role, model: Any = None, **given: Any) -> EmotionalRagIndexContext:
    return EmotionalRagIndexContext(**run_settings(role.root.parent, model or feeling(), **{"role": role.id} | given))


async def index(role: Role, model: Any = None, wishes: Mapping[str, bool] | None = None, **given: Any) -> Any:
    """Index the role's memories; give the report."""
    return (await graph.ainvoke(dict(wishes or {}), context=context(role, model, **given)))["index"]


def indexed(role: Role, model: Any = None, wishes: Mapping[str, bool] | None = None, **given: Any) -> Any:
    """Do the same where no loop runs."""
    return asyncio.run(index(role, model, wishes, **given))


def served(role: Role) -> MemoryStore:
    """The memories that are read now, as another process would see them."""
    return Role(role.root).index(MEMORY_KIND).open()


def moods(role: Role) -> dict[str, dict[str, int] | None]:
    """The scores of each memory that is served, by its text."""
    store = served(role)
    return {one.text: felt.scores for one, felt in zip(store.memories, store.moods, strict=True)}


def place_of(role: Role, text: str) -> tuple[str, ...]:
    """Where a memory is written."""
    return next(one.places for one in served(role).memories if one.text == text)


def files_of(role: Role) -> dict[str, bytes]:
    """What a role's memories are made from."""
    return {name: role.memory_files.read(name) for name in role.memory_files.names()}


def lines_of(role: Role) -> list[tuple[str, int, str]]:
    """All lines of all files: the file, the number, the role's own words."""
    return [
        (name, number, line.text or getattr(line, "answer", "") or "")
        for name, lines in read_memory_files(role.memory_files).items()
        for number, line in lines.items()
    ]


def everything(folder: Path) -> bytes:
    """All that lies on the disk."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def leftovers(folder: Path) -> list[str]:
    """What a killed run leaves behind and a whole one does not."""
    names = [path.name for path in folder.rglob("*")]
    return [name for name in names if name.endswith((".tmp", ".npz")) or name in ("change.json", "draft.json", "fresh")]
