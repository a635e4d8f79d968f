"""The mood of each memory: what it is kept by, who is still to be asked for it, and what an index holds of it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from dramaturg.nodes.asked_answers import Answers
from dramaturg.nodes.emotion_encoder import EMOTIONS, EmotionEncoder
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.memories import Mood, StoredMemory
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import RoleCard


class Encoding(NamedTuple):
    """Who encodes the moods of a role's memories."""

    encoder: EmotionEncoder
    role: Role
    card: RoleCard
    """Whose moods they are: as it was when the encoder was made, also where the role's is another by now."""

    async def moods(self, memories: Sequence[StoredMemory]) -> Answers:
        """Have the moods of some memories; each, or why there is none, under the key that it is kept by."""
        found = await self.encoder.of_memories(memories)
        return dict(self.answer(memory, mood) for memory, mood in zip(memories, found, strict=True))

    def answer(self, memory: StoredMemory, mood: Mood) -> tuple[str, JsonValue]:
        """A mood as it is kept."""
        if mood.emotions is None:
            return self.failure_key(memory), mood.error
        return self.key(memory), mood.model_dump(mode="json")["emotions"]

    def key(self, memory: StoredMemory) -> str:
        """What a mood is kept by: the encoder, the role whose mood it is, and the text."""
        return answer_key("mood", *self.asked(memory))

    def failure_key(self, memory: StoredMemory) -> str:
        """What is kept in the place of a mood that could not be had."""
        return answer_key("no mood", *self.asked(memory))

    def asked(self, memory: StoredMemory) -> list[JsonValue]:
        """All that a mood depends on, but the chat model: memories are not encoded again for another one."""
        return [self.encoder.name, self.card.name, self.card.language, memory.text]


def wanted(memory: StoredMemory, encoding: Encoding, answers: Mapping[str, JsonValue], *, retry: bool) -> bool:
    """Whether a mood is to be asked for."""
    return encoding.key(memory) not in answers and (retry or encoding.failure_key(memory) not in answers)


def mood_in(answers: Mapping[str, JsonValue], memory: StoredMemory, encoding: Encoding) -> Mood:
    """The mood of a memory, its emotions in the paper's order, or why there is none."""
    if (emotions := answers.get(encoding.key(memory))) is not None:
        felt = Mood.model_validate({"emotions": emotions}).emotions or {}
        return Mood(emotions={name: felt[name] for name in EMOTIONS})
    return Mood(emotions=None, error=str(answers.get(encoding.failure_key(memory)) or "It was not asked for."))
