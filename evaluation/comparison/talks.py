"""Talks of several turns: what the user of an evaluation says, turn by turn, and which facts the role is to remember.

A talk is begun by a question of the role. In scope, the user then doubts the answer and asks again; out of scope, the
user presses for one. Later turns ask the role's other questions in the same way. On the way the user tells facts, in a
sentence before what is asked anyway, and asks for each once, so many turns later: how far a method remembers is then
checked without a judge. A script has lines instead; a simulated user is a model that says what comes next.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import count
from pathlib import Path
from random import Random
from string import Template
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter
from yaml import safe_load

from dramaturg.evaluation.comparison.contestants import digest
from dramaturg.evaluation.datasets.dataset import AIM, DatasetQuestion, TalkTurn
from dramaturg.evaluation.datasets.files import FileEntry, Filled, Text, read_content
from dramaturg.evaluation.judging.recall import recalled
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role

T = TypeVar("T")
Language = Literal["en", "zh", "ko"]
Kind = Literal["question", "doubt", "press", "recall", "line", "user"]
FEWEST = 2
"""Turns of a talk."""
BLOCKS = {"in": 2, "out": 3, "": 1}
"""Turns that a question takes by its scope: asked and doubted, asked and pressed twice, or just asked."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FactKind(_Frozen):
    """Facts of one form; where there are no values, they are numbers of four digits."""

    tells: str
    asks: str
    whats: tuple[str, ...]
    values: tuple[str, ...]


class Lines(_Frozen):
    """What a user says beside the questions, in one language."""

    stranger: str
    """Who speaks with the role where nobody is named."""
    doubts: tuple[str, ...]
    presses: tuple[str, ...]
    kinds: tuple[FactKind, ...]


class Fact(NamedTuple):
    """What the user tells, and asks for later."""

    tells: str
    asks: str
    value: str


class Said(NamedTuple):
    """One turn of the user, as it is planned."""

    text: str
    kind: Kind
    about: DatasetQuestion | None = None
    """The question that it asks, once more or for the first time."""
    plants: str = ""
    fact: str = ""
    distance: int = 0


class ScriptLine(FileEntry, extra="forbid"):
    """A line of a script; `plants` and `recalls` hold the word that is told, or to be said again."""

    text: Filled
    plants: Text = ""
    recalls: Text = ""
    scope: Literal["in", "out", ""] = ""
    answer: Text = ""


class ScriptTalk(FileEntry, extra="forbid"):
    """A talk of a script: its lines, and whom they are said to; nobody: to every role."""

    id: str = ""
    role: Text = ""
    user_role: Text = ""
    lines: list[Filled | ScriptLine]


@cache
def lines_in(language: str) -> Lines:
    """What a user says in a language."""
    text = (files("dramaturg.evaluation.comparison") / "lines" / f"{language}.yaml").read_text(encoding="utf-8")
    return TypeAdapter(Lines).validate_python(safe_load(text))


def talks_of(
    role: Role,
    openings: Sequence[DatasetQuestion],
    questions: Sequence[DatasetQuestion],
    turns: int,
    language: str,
    user: str = "",
) -> Iterator[DatasetQuestion]:
    """Yield the turns of the talks with a role, talk by talk.

    Args:
        role: who is spoken to.
        openings: the questions that begin a talk each.
        questions: all there are, from which later turns are taken: those that follow the opening.
        turns: how many each talk has.
        language: of the role in the evaluation.
        user: who speaks where a model does; empty: the questions are asked as they are.
    """
    later = [one for one in questions if not one.turns and not one.context]
    for opening in openings:
        talk = f"talk-{opening.id}"
        at = next((number for number, one in enumerate(later) if one.id == opening.id), -1) + 1
        following = [one for one in [*later[at:], *later[:at]] if one.id != opening.id]
        said = planned_talk(role, talk, [opening, *following], turns, language, simulated=bool(user))
        scene = {"scene": opening.context, "reference": reference_of(opening, questions) if opening.context else ""}
        yield from numbered(talk, said, opening.user_role or user, **scene)


def scenes_opened(questions: Iterable[DatasetQuestion]) -> list[DatasetQuestion]:
    """The questions that a talk can begin with: of those from one scene the first alone, the others go on with it."""
    found: dict[object, DatasetQuestion] = {}
    for one in questions:
        first = (one.turns[0].speaker, one.turns[0].text) if one.turns else (one.user_role, one.text)
        found.setdefault((one.context, first) if one.context else one.id, one)
    return [*found.values()]


def reference_of(opening: DatasetQuestion, questions: Sequence[DatasetQuestion]) -> str:
    """The scene as its author wrote it: of the questions that come from the same conversation the longest one."""

    def lines(one: DatasetQuestion) -> list[tuple[str, str]]:
        said = [*((turn.speaker, turn.text) for turn in one.turns), (one.user_role, one.text), (one.role, one.answer)]
        return [(speaker, " ".join(text.split())) for speaker, text in said if text]

    own = lines(opening) if opening.answer else []
    same = [lines(one) for one in questions if one.answer]
    longest = max((one for one in same if own and one[: len(own)] == own), key=len, default=own)
    return "\n".join(f"{speaker}: {text}" for speaker, text in longest)


def planned_talk(
    role: Role, talk: str, questions: Sequence[DatasetQuestion], turns: int, language: str, *, simulated: bool
) -> list[Said]:
    """What the user says in a talk: recalls in their places, but in no scene, and questions in the others."""
    lines, chance = lines_in(language), Random(digest([role.id, talk]))  # noqa: S311  # the same in each plan
    first = 1 if simulated else BLOCKS[questions[0].scope]
    placed = [] if questions[0].context or AIM in questions[0].labels else placed_facts(turns, first)
    told = dict(zip(placed, facts_in(lines, chance), strict=False))
    planted = {at: fact.tells for (at, _), fact in told.items()}
    recalls = {asked: (fact, asked - at) for (at, asked), fact in told.items()}
    others = simulated_turns(questions[0]) if simulated else asked_in_turn(questions, lines)
    said = []
    for number in range(1, turns + 1):
        if number in recalls:
            fact, distance = recalls[number]
            said.append(Said(fact.asks, "recall", fact=fact.value, distance=distance))
        else:
            one = next(others)
            told_now = planted.get(number, "")
            text = " ".join(filter(None, (told_now, one.text))) if one.text else ""
            said.append(one._replace(text=text, plants=told_now))
    return said


def placed_facts(turns: int, first: int) -> list[tuple[int, int]]:
    """In which turn a fact is told, and in which it is asked for; one in four turns asks, and one at least.

    Distances are powers of 2, the longest first, each as often as the others; none is asked for before the first
    question is over.

    Args:
        turns: of the talk.
        first: how many turns the first question takes.
    """
    distances = [2**power for power in range(turns.bit_length()) if 2**power < turns][::-1]
    wanted = min(max(1, turns // 4), turns - first)
    found: list[tuple[int, int]] = []
    tells, asks = set[int](), set[int]()
    while len(found) < wanted:
        before = len(found)
        for distance in distances:
            place = next(
                (
                    at
                    for at in range(1, turns - distance + 1)
                    if at not in tells | asks and at + distance not in tells | asks and at + distance > first
                ),
                None,
            )
            if place is not None and len(found) < wanted:
                found.append((place, place + distance))
                tells.add(place)
                asks.add(place + distance)
        if len(found) == before:
            break
    return found


def facts_in(lines: Lines, chance: Random) -> Iterator[Fact]:
    """Facts of every kind in turn, each of another thing; they end where the things do."""
    left = [facts_of(kind, chance) for kind in chance.sample(lines.kinds, len(lines.kinds))]
    yield from (fact for group in zip(*left, strict=True) for fact in group)


def facts_of(kind: FactKind, chance: Random) -> list[Fact]:
    """The facts of a kind, one for each thing, in any order."""
    number = len(kind.whats)
    values = kind.values or tuple(map(str, chance.sample(range(1013, 9987), number)))
    pairs = zip(chance.sample(kind.whats, number), chance.sample(values, number), strict=True)
    return [
        Fact(Template(kind.tells).substitute(what=what, value=value), Template(kind.asks).substitute(what=what), value)
        for what, value in pairs
    ]


def asked_in_turn(questions: Sequence[DatasetQuestion], lines: Lines) -> Iterator[Said]:
    """The questions, each with its doubts or presses, and from the beginning again when all were asked."""
    again = {"in": ("doubt", in_turn(lines.doubts)), "out": ("press", in_turn(lines.presses))}
    for at in count():
        one = questions[at % len(questions)]
        yield Said(one.text, "question", one)
        for _ in range(BLOCKS[one.scope] - 1):
            kind, texts = again[one.scope]
            yield Said(Template(next(texts)).substitute(question=one.text), kind, one)  # type: ignore[arg-type]


def simulated_turns(opening: DatasetQuestion) -> Iterator[Said]:
    """The opening, and then what a model will say; where the opening is what the user is after, a model begins."""
    if AIM in opening.labels:
        while True:
            yield Said("", "user", opening)
    yield Said(opening.text, "question", opening)
    while True:
        yield Said("", "user")


def in_turn(texts: Sequence[T]) -> Iterator[T]:
    """One after the other, and from the beginning again."""
    left = deque(texts)
    while True:
        yield left[0]
        left.rotate(-1)


def numbered(
    talk: str, said: Sequence[Said], user: str, scene: str = "", reference: str = ""
) -> Iterator[DatasetQuestion]:
    """The turns of a talk as questions; each knows what the user has said before."""
    before: list[str] = []
    for number, one in enumerate(said, start=1):
        place = TalkTurn(
            id=talk,
            turn=number,
            turns=len(said),
            kind=one.kind,
            plants=one.plants,
            fact=one.fact,
            distance=one.distance,
            pressed=one.about.text if one.kind == "press" and one.about else "",
            scene=scene,
            reference=reference,
            after=digest([user, *before]),
        )
        about = one.about.model_dump(exclude={"turns", "context"} if number > 1 else set()) if one.about else {}
        yield DatasetQuestion(
            **{**about, "id": f"{talk}.{number}", "text": one.text, "user_role": user, "talk": place.model_dump()}
        )
        before.append(f"{one.kind}: {one.plants} {one.text}")


def scripted_talks(path: Path, role: Role, limit: int) -> list[DatasetQuestion]:
    """Read the talks of a script that are meant for a role, as turns.

    Args:
        path: JSON lines, a talk each: `{"lines": ["…", {"text": "…", "plants": "…"}, {"text": "…", "recalls": "…"}]}`.
        role: whose id, name or alias stands in `role`, if anything does.
        limit: the most talks; 0: all.

    Raises:
        RoleFileError: a line cannot be used, or there is no talk for the role.
    """
    names = {"", *map(normal_name, (role.id, role.card.name, *role.card.aliases))}
    found: list[DatasetQuestion] = []
    ids: set[str] = set()
    for record in read_content(path).records:
        talk = record.read_as(ScriptTalk)
        name = talk.id or f"talk-{record.number}"
        if name in ids:
            raise RoleFileError(f"{record.where}: the id {name!r} is there twice: give each talk its own.")
        if len(talk.lines) < FEWEST:
            raise RoleFileError(f"{record.where}: a talk has {FEWEST} lines or more: add some.")
        said = [*said_in(talk, record.where)]
        if normal_name(talk.role) in names and not (limit and len(ids) >= limit):
            ids.add(name)
            found += numbered(name, said, talk.user_role)
    if not found:
        raise RoleFileError(f"{path.name} has no talk for {role.id}: add one, or leave the role out.")
    return found


def said_in(talk: ScriptTalk, where: str) -> Iterator[Said]:
    """The lines of a script; a line out of scope that follows another is pressed."""
    planted: dict[str, int] = {}
    pressed: DatasetQuestion | None = None
    for number, given in enumerate(talk.lines, start=1):
        line = given if isinstance(given, ScriptLine) else ScriptLine(text=given)
        if line.plants and not recalled(line.text, line.plants):
            raise RoleFileError(f"{where}: line {number} plants {line.plants!r} and does not say it: write it in.")
        if line.recalls and line.recalls not in planted:
            raise RoleFileError(f"{where}: line {number} recalls {line.recalls!r}: plant it in an earlier line.")
        about = DatasetQuestion(id="", text=line.text, answer=line.answer, scope=line.scope)
        again = line.scope == "out" and pressed is not None
        pressed = (pressed or about) if line.scope == "out" else None
        yield Said(
            line.text,
            "recall" if line.recalls else "press" if again else "line",
            about.model_copy(update={"text": pressed.text}) if again and pressed else about,
            plants=line.text if line.plants else "",
            fact=line.recalls,
            distance=number - planted[line.recalls] if line.recalls else 0,
        )
        if line.plants:
            planted[line.plants] = number


def talks_in(questions: Iterable[DatasetQuestion]) -> int:
    """How many talks questions are the turns of."""
    return len({one.talk.id for one in questions if one.talk})
