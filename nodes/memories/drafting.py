"""Formative memories drafted from who a role is, for a person to accept one by one (ID-RAG 5.3, step 2)."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import NumberOf, Scale
from dramaturg.models.questions import extract
from dramaturg.nodes.dialogues.cast import letters_of
from dramaturg.prompts import load, one_line
from dramaturg.stores.documents.forms import Memory

MEMORIES = 12  # that are asked for
STATEMENTS = 120  # that are shown: about 3,000 tokens


class Ground(NamedTuple):
    """A statement of who a role is, and the file that it stands in."""

    source: str
    text: str


class DraftedMemory(BaseModel):
    """A memory as a model gives it: one that a person reads before it counts needs nothing but its text."""

    model_config = ConfigDict(extra="forbid")

    sentence: int | None = None
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
    when: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)] = ""
    importance: Annotated[int, Scale(1, 10)] | None = None


class DraftedMemories(Extracted):
    """What formed a role."""

    memories: list[DraftedMemory]


class MemoryDraft(NamedTuple):
    """Memories in the order of the answer, and what was left out of it."""

    memories: list[Memory]
    dropped: list[str]


async def draft_memories(
    chat: ChatModel, grounds: Sequence[Ground], *, role: str, language: str, known: Iterable[str] = ()
) -> MemoryDraft:
    """Have memories made up from who a role is, in one question; what is known already is left out.

    Each says in `source` which model has drafted it, and from what; an importance is kept beside it.

    Args:
        chat: the chat model.
        grounds: statements; of more than 120, the first.
        role: the name of whom they are about.
        language: "en", "zh" or "ko", of the statements and of what is drafted.
        known: the texts of the memories that there are.

    Raises:
        ModelError: there is no usable answer.
    """
    shown = grounds[:STATEMENTS]
    numbered = "\n".join(f"[{number}] {one_line(one.text)}" for number, one in enumerate(shown, start=1))
    messages = load("draft_memories", language).messages(role=role, most=MEMORIES, data={"statements": numbered})
    answer = await extract(chat, messages, drafted_among(len(shown)))
    said, found = {letters_of(one) for one in known}, list[Memory]()
    for one in answer.memories:
        text = " ".join(one.text.split())
        if letters_of(text) not in said:
            said.add(letters_of(text))
            ground = shown[one.sentence - 1] if one.sentence else None
            of = f"{ground.source}: {' '.join(ground.text.split())}" if ground else shown[0].source
            more: dict[str, Any] = {"importance": one.importance} if one.importance else {}
            more["source"] = f"drafted by {chat.name} from {of}"
            found.append(Memory(text=text, when=one.when or None, **more))
    return MemoryDraft(found, list(answer.dropped))


@lru_cache(maxsize=128)
def drafted_among(statements: int) -> type[DraftedMemories]:
    """The form of an answer on so many statements."""
    number: Any = (Annotated[int, NumberOf(statements)] | None, None)
    memory = create_model("DraftedMemory", __base__=DraftedMemory, sentence=number)
    memories: Any = (list[memory], Field(max_length=MEMORIES))  # type: ignore[valid-type]
    return create_model("DraftedMemories", __base__=DraftedMemories, memories=memories)
