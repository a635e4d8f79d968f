"""What is said in a scene reaches the prompts of those who were there, and of nobody else; no judge is needed."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from all_methods import whole_cast, whole_role
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations.conversation import Conversation
from dramaturg.testing import WordEmbeddings
from dramaturg.workflows import scene
from dramaturg.workflows.names import METHODS

from fakes import ScriptedChatModel
from roles import said

ROLES = ("ada", "ben", "tom")
NAMES = {"ada": "Ada", "ben": "Bennet", "tom": "Thomas"}
CANARY = re.compile(r"canary\d+x")
THERE = re.compile(r"Here with you: (.*?)\. Say aloud")
SCENE_TOLD = re.compile(r"<scene>.*?</scene>", re.DOTALL)
ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                *("say", "say", "say", "to", "to", "whisper", "whisper", "both", "leave", "enter", "hide"),
                *("next", "go", "fork", "again", "edit"),
            )
        ),
        st.integers(0, 10**6),
    ),
    min_size=3,
    max_size=14,
)


class Known(NamedTuple):
    """Who is there on a branch, what each has heard, and with whom a whisper was the last of it."""

    present: frozenset[str]
    hidden: frozenset[str]
    heard: Mapping[str, frozenset[str]]
    whispered: Mapping[str, frozenset[str]]

    def told(self, canaries: set[str], roles: Iterable[str], among: Iterable[str] = (), by: str = "") -> "Known":
        """What holds after a line that some roles hear, said `by` one of them; `among`: those who whisper."""
        heard = {role: one | canaries if role in roles else one for role, one in self.heard.items()}
        private = {role: frozenset(among) for role in roles} | ({by: frozenset()} if by else {})
        return self._replace(heard=heard, whispered={**self.whispered, **private})


class Scene:
    """A scene that is played by random acts, with what each role was given, and what it may have been given."""

    def __init__(self, library: Path, methods: Sequence[str], **settings: Any) -> None:
        self.numbers, self.prompts = count(), list[tuple[str, str]]()
        self.drafts = {role: set[str]() for role in ROLES}
        cast = [
            {"role": role, "method": method, "settings": {"chat_model": self.model(role), "window": settings["window"]}}
            for role, method in zip(ROLES, methods, strict=True)
        ]
        given = {"library": str(library), "chat_model": self.model(""), "embedding_model": WordEmbeddings()}
        context = scene.SceneContext(cast=cast, user_role="Visitor", **given, **settings)
        self.talk = Conversation(scene.build(), InMemorySaver(), context, "scene:test", store=InMemoryStore())
        self.now = Known(frozenset(ROLES), frozenset(), *[dict.fromkeys(ROLES, frozenset[str]())] * 2)
        self.turns = list[tuple[str, Known, Known, str]]()
        """By turn: its id, what was known before and after, and what was written."""

    def canary(self) -> str:
        return f"canary{next(self.numbers)}x"

    def model(self, role: str) -> ScriptedChatModel:
        """Plays one role: each draft of a line has a canary, and a summary repeats all that it sums up."""

        def line(_: str) -> str:
            drafted = self.canary()
            self.drafts[role].add(drafted)
            return f"I keep the {drafted}."

        usual = whole_cast(reply=line, summary=lambda text: " ".join(CANARY.findall(text)) or "Nothing.")

        def answer(messages: list[BaseMessage]) -> str | Exception:
            self.prompts.append((role, said(messages)))
            plain = [one.model_copy(update={"content": SCENE_TOLD.sub("", one.text)}) for one in messages]
            if role and usual.reply:
                return usual.reply(plain)
            return "1"

        return ScriptedChatModel(reply=answer)

    def written(self, act: str, number: int) -> str:
        """What the user writes."""
        role = ROLES[number % len(ROLES)]
        name, other = NAMES[role], NAMES[ROLES[(number + 1) % len(ROLES)]]
        return {
            "say": f"The {self.canary()} is here.",
            "to": f"{name}, the {self.canary()} is here.",
            "whisper": f"/whisper {name}: the {self.canary()} is here.",
            "both": f"/whisper {name}, {other}: the {self.canary()} is here.",
            "leave": f"/leave {name}",
            "enter": f"/enter {name}",
            "hide": f"/hide {name}",
            "next": f"/next {name}",
            "go": "/go",
        }[act]

    async def act(self, act: str, number: int) -> None:
        """Do one act, and look at every prompt that it has made."""
        if act == "fork" and self.turns:
            turn, _, after, _ = self.turns[number % len(self.turns)]
            await self.talk.fork(turn)
            self.now = after
        elif act in ("again", "edit") and (history := await self.talk.history()):
            last = history[-1].id
            _, before, _, text = next(one for one in self.turns if one[0] == last)
            again = text if act == "again" else self.written("say", number)
            self.now = before
            await self.take(again, self.talk.regenerate() if act == "again" else self.talk.edit(last, again))
        elif act not in ("fork", "again", "edit"):
            text = self.written(act, number)
            await self.take(text, self.talk.take_turn(HumanMessage(text)))

    async def take(self, text: str, turn: Any) -> None:
        self.prompts.clear()
        before = self.now
        try:
            output = await turn
        except ValueError as error:
            if "is not there to hear it" in str(error):
                return
            raise
        asked = max(at for at, one in enumerate(output["messages"]) if one.type == "human")
        begun = self.after(text, ())
        self.now = self.after(text, [(str(one.name), one.text) for one in output["messages"][asked + 1 :]])
        self.turns.append((str(output["messages"][asked].id), before, self.now, text))
        for role, prompt in self.prompts:
            may = (self.now.heard[role] | self.drafts[role]) if role else self.heard_by_all()
            assert {*CANARY.findall(prompt)} <= may, (role, text, prompt)
            for there in THERE.findall(prompt):  # who is hidden as the turn begins may be there when it ends
                known = {one for one in ROLES if f"{NAMES[one]} Quill" in there}
                shown = [who.present - who.hidden - {role} for who in (begun, self.now)]
                assert shown[0] <= known <= shown[1], (role, text, prompt)

    def heard_by_all(self) -> set[str]:
        return {one for heard in self.now.heard.values() for one in heard}

    def after(self, text: str, spoken: Sequence[tuple[str, str]]) -> Known:
        """What holds after a turn: written down apart from how the package decides it."""
        now, (command, _, rest) = self.now, text.partition(" ")
        named = [role for role in ROLES if NAMES[role] in rest.partition(":")[0]]
        moving, told = {*named}, {*CANARY.findall(text)}
        match command:
            case "/whisper":
                now = now.told(told, named, [*named, "user"])
            case "/leave":
                seen = moving if moving <= now.hidden else now.present | moving
                now = now._replace(present=now.present - moving, hidden=now.hidden - moving).told(told, seen)
            case "/enter":
                now = now._replace(present=now.present | moving, hidden=now.hidden - moving)
                now = now.told(told, now.present)
            case "/hide":
                now = now._replace(present=now.present | moving, hidden=now.hidden | moving).told(told, moving)
            case "/next" | "/go":
                pass
            case _:
                now = now.told(told, now.present)
        for role, line in spoken:
            if role in ROLES:
                among = now.whispered[role]
                hears = (now.present & among if among else now.present) | {role}
                now = now.told({*CANARY.findall(line)}, hears, [*(hears & among), role, "user"] if among else (), role)
                now = now if among else now._replace(hidden=now.hidden - {role})
        return now


@pytest.fixture(scope="module")
def library() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        whole_role(Path(folder))
        for role, name in NAMES.items():
            if role != "ada":
                shutil.copytree(Path(folder) / "ada", Path(folder) / role)
            card = (Path(folder) / role / "role.yaml").read_text(encoding="utf-8")
            card = re.sub(r"^name:.*$", f"name: {name} Quill", card, flags=re.MULTILINE)
            card = re.sub(r"^aliases:.*?(?=^\S)", f"aliases: [{name}]\n", card, flags=re.MULTILINE | re.DOTALL)
            (Path(folder) / role / "role.yaml").write_text(card, encoding="utf-8")
        yield Path(folder)


async def played(library: Path, methods: Sequence[str], acts: Sequence[tuple[str, int]], **settings: Any) -> Scene:
    found = Scene(library, methods, **settings)
    for act, number in acts:
        await found.act(act, number)
    return found


QUICK = ("vanilla", "profile")


@given(ACTS, st.sampled_from(("named", "round", "willing", "director", "user")), st.sampled_from((2, 4, 40)))
@settings(deadline=None)
def test_nothing_reaches_who_has_not_heard_it(
    library: Path, acts: list[tuple[str, int]], policy: str, window: int
) -> None:
    methods = ("vanilla", "profile", "vanilla")
    asyncio.run(played(library, methods, acts, next=policy, window=window, lines=2))


TELLING = [("whisper", 0), ("leave", 1), ("say", 0), ("to", 2), ("enter", 1), ("next", 1), ("hide", 2), ("say", 5)]
TELLING += [("to", 0), ("next", 2), ("again", 0), ("both", 1), ("fork", 2), ("to", 1), ("next", 1), ("next", 2)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("window", [2, 40])
async def test_by_every_method(library: Path, method: str, window: int) -> None:
    await played(library, (method, method, "vanilla"), TELLING, window=window, lines=2)


@pytest.mark.crash
@given(ACTS, st.tuples(*[st.sampled_from(list(METHODS))] * 3), st.sampled_from((2, 6, 40)))
@settings(deadline=None)
def test_nothing_reaches_who_has_not_heard_it_by_any_method(
    library: Path, acts: list[tuple[str, int]], methods: tuple[str, ...], window: int
) -> None:
    asyncio.run(played(library, methods, acts, window=window, lines=2))


async def test_without_the_filter_it_would(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.workflows.scene.heard_by", lambda message, role: True)
    with pytest.raises(AssertionError, match="canary"):
        await played(library, ("vanilla", "profile", "vanilla"), TELLING, window=40, lines=2)


@given(ACTS, st.sampled_from((4, 40)))
@settings(deadline=None)
def test_nothing_is_lost_to_who_has_heard_it(library: Path, acts: list[tuple[str, int]], window: int) -> None:
    async def asked() -> None:
        found = await played(library, ("vanilla", "profile", "vanilla"), acts, window=window, lines=2)
        for role in ROLES:
            heard = deepcopy(found.now.heard[role])
            for canary in sorted(heard)[: 3 if window == 4 else 1]:
                with suppress(ValueError):
                    await found.talk.take_turn(f"/enter {NAMES[role]}")
                found.prompts.clear()
                await found.talk.take_turn(f"/whisper {NAMES[role]}: Say, the {canary} is here?")
                shown = "\n".join(prompt for who, prompt in found.prompts if who == role)
                assert shown.count(canary) > 1, (role, canary, shown)
                if window == 40:  # more than was said
                    assert heard <= {*CANARY.findall(shown)}

    asyncio.run(asked())
