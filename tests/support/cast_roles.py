"""A cast: Ada and those who speak with her or with each other, and how the turns of DRMR are taken with it."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.conversations.conversation import Conversation
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role
from dramaturg.workflows.drmr import DrmrContext, build

from fakes import ScriptedChatModel
from roles import fenced, run_settings, small_role, write_memories
from scope_roles import asked, player, reasoned

SCENES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "parcel": (("Tom Quill", "A parcel from Leith for you."), ("Ada Quill", "Give me the parcel, Tom.")),
    "old-lamp": (("Mr Pike", "I sold the old lamp."), ("Ada Quill", "You sold my lamp behind my back, thief.")),
    "quay": (("Tom Quill", "You owe my sister a lamp."), ("Mr Pike", "I owe her nothing on this quay.")),
    "supper": (
        ("Ada Quill", "Sit down to supper, both of you."),
        ("Tom Quill", "The soup is hot, Nell."),
        ("Nell", "Ada cooks the best soup."),
        ("Ada Quill", "Eat, Nell, and say nothing."),
    ),
    "net": (("Nell", "I mended the net."), ("Ada Quill", "A net is worth more than words.")),
    "calm": (("Ada Quill", "Not a breath of wind. I do not like it."),),
    "inn": (("Mr Pike", "Another beer at the inn."), ("Nell", "You drink too much beer.")),
}
"""Ada speaks with Tom, Nell and Mr Pike; Tom with Nell and Mr Pike; Nell with Mr Pike; in one scene Ada is alone."""


def cast_role(library: Path, scenes: Mapping[str, Iterable[tuple[str, str]]] = SCENES) -> Role:
    """Put Ada with these scenes into a library, and the cards of Tom and of a woman who is in no scene."""
    small_role(library)
    role = Role(library / "ada")
    write_memories(role.root, (), dialogue=lines_of(scenes))
    people = Library(library)
    people.create("tom", RoleCard(name="Tom Quill", aliases=("Tom",), profile="He sails the mail boat."))
    people.create("rose", RoleCard(name="Rose", profile="She teaches in Leith."))
    return role


def lines_of(scenes: Mapping[str, Iterable[tuple[str, str]]]) -> list[dict[str, str]]:
    """Scenes as lines of a file."""
    return [
        {"scene": scene, "speaker": speaker, "text": text} for scene, said in scenes.items() for speaker, text in said
    ]


def context(role: Role, model: Any, **given: Any) -> DrmrContext:
    """How a turn is done."""
    return DrmrContext(**run_settings(role.root.parent, model, **{"appraisal": "together"} | given))


async def take(role: Role, model: ScriptedChatModel, *questions: str, saver: Any = None, **given: Any) -> Any:
    """Take turns on one thread; give the state after the last."""
    graph, values = build().compile(saver or InMemorySaver()), None
    for question in questions:
        values = await graph.ainvoke(
            {"messages": [HumanMessage(question)]},
            {"configurable": {"thread_id": "talk"}},
            context=context(role, model, **given),
        )
    return values


class Talk(Conversation):
    """A conversation of DRMR whose records can be looked at; the text of a message is its id."""

    def __init__(self, role: Role, saver: BaseCheckpointSaver[Any] | None = None, **settings: Any) -> None:
        super().__init__(build(), saver or InMemorySaver(), context(role, player(), **settings), "tea")

    async def ask(self, text: str, model: ScriptedChatModel | None = None, **settings: Any) -> dict[str, Any]:
        """Take a turn, and give its evidence."""
        self.change(chat_model=model or player(), **settings)
        evidence: dict[str, Any] = (await self.take_turn(HumanMessage(text, id=text)))["evidence"]
        return evidence

    async def records(self) -> list[str]:
        """The texts of the role memory."""
        return [one["text"] for one in (await self.values()).get("memory_records", [])]


def counted(model: ScriptedChatModel) -> dict[str, int]:
    """How often a model was asked for each part."""
    return dict(Counter(asked(call.messages)[0] for call in model.calls))


def systems(model: ScriptedChatModel, part: str) -> list[str]:
    """What the first message said each time that a model was asked for a part."""
    return [call.messages[0].text for call in model.calls if asked(call.messages)[0] == part]


def scored(*scores: int) -> Callable[[str], str | Exception]:
    """What a verifier says of one draft after the other; the last score from then on."""
    return in_turn(*(reasoned(score, f"a {score}") for score in scores))


def numbered(what: str) -> Callable[[str], str]:
    """`what 1`, `what 2` and so on."""
    said = iter(range(1, 1000))
    return lambda text: f"{what} {next(said)}"


def in_turn(*answers: str | Exception) -> Callable[[str], str | Exception]:
    """Answers one after the other; the last one from then on."""
    left = list(answers)
    return lambda text: left.pop(0) if len(left) > 1 else left[0]


def edge(**scores: int) -> Callable[[str], str]:
    """Scores of edges by the first words of both names, as `Ada_Tom=5`; 2 for others."""

    def answer(text: str) -> str:
        one, other = (name.split()[-1 if name.startswith("Mr") else 0] for name in fenced("pair", text).split("\n"))
        return reasoned(scores.get(f"{one}_{other}", 2), f"{one} and {other}")

    return answer


def pairs_asked(texts: Iterable[str]) -> list[tuple[str, str]]:
    """The scene and the pair of each question for an edge."""
    return [(fenced("dialogue", text), fenced("pair", text)) for text in texts]


def as_json(value: Any) -> Any:
    """What is left of a value in a file of JSON."""
    return json.loads(json.dumps(value))
