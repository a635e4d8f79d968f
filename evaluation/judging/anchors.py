"""Anchors: replies for the example roles whose worth is known by how they were made, in three languages.

`replies/LANGUAGE.yaml` has by role the `name` that prompts use, the `third` person's name, a `profile` where the card's
is in another language, and two lists. A `known` question rests on words of the role's files (`rests_on`, word for word)
and has a right answer (`gold`), whose `fact` stands in the `right` reply. `wrong` is not written: it is the right reply
with `instead` in place of the fact. `refused` says that the role does not know; `voice` holds the fact, but somebody
else says it, of the role; `echo` says the question again. These replies to one question are of one length, and half of
the questions have short ones. `more` goes on in the role's voice for some sentences that say nothing to the question:
with it the right and the wrong reply are as long as replies of methods are, so that a judge that goes by length puts
the long wrong one above the short right one. A question `beyond` the role asks after something that none of its files
`names`: it is `accepted`, or `declined`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter
from yaml import safe_load

from dramaturg.evaluation.judging.judges import DIGITS, Case
from dramaturg.prompts import LANGUAGES
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.files import canonical, sha256

Kind = Literal[
    "right", "wrong", "refused", "voice", "echo", "accepted", "declined", "right at length", "wrong at length"
]
LONG = " at length"
"""What the names of kinds end in that are a right or a wrong reply with more behind it."""
KINDS: Mapping[str, str] = {
    "right": "right",
    "wrong": "wrong in one fact",
    "right at length": "right, at length",
    "wrong at length": "wrong in one fact, at length",
    "refused": "refused without reason",
    "voice": "another person's voice",
    "echo": "echo of the question",
    "accepted": "out of scope, accepted",
    "declined": "out of scope, declined",
}
RIGHT: Mapping[Kind, int] = {"right": 1, "right at length": 1}
WRONG: Mapping[Kind, int] = {"wrong": 0, "wrong at length": 0}
MADE_UP: Mapping[Kind, int] = {"wrong": 1, "wrong at length": 1, "right": 0, "right at length": 0}
WORTH: Mapping[str, Mapping[Kind, int]] = {
    "accuracy": {**RIGHT, "voice": 1, **WRONG, "refused": 0, "echo": 0},
    "accuracy_level": {**RIGHT, "voice": 1, **WRONG, "refused": 0, "echo": 0},
    "hallucination": MADE_UP,
    "exposure": {**RIGHT, "declined": 1, "refused": 0, "echo": 0, "accepted": 0},
    "invention": {**MADE_UP, "accepted": 1, "declined": 0},
    "refusal": {**WRONG, **dict.fromkeys(RIGHT, 0), "refused": 1, "declined": 1, "voice": 0, "accepted": 0},
    "personality": {**RIGHT, **dict.fromkeys(WRONG, 1), "voice": 0},
    "memory": {**RIGHT, **WRONG, "refused": 0, "echo": 0},
}
"""By metric, the kinds of replies that are to lie higher on its scale (1), and lower (0), than others to the same
question; of other kinds, and of the metric `relation`, the construction says nothing."""


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KnownQuestion(_Written):
    """A question that the role's files answer, with what may be said to it."""

    question: str
    gold: str
    fact: str
    instead: str
    rests_on: str
    right: str
    refused: str
    voice: str
    echo: str
    more: str

    def replies(self) -> dict[Kind, str]:
        """What is said, by kind."""
        wrong = self.right.replace(self.fact, self.instead)
        found: dict[Kind, str] = {"right": self.right, "wrong": wrong, "refused": self.refused}
        found |= {"voice": self.voice, "echo": self.echo}
        return found | {"right at length": self.at_length(self.right), "wrong at length": self.at_length(wrong)}

    def at_length(self, reply: str) -> str:
        """The same with more behind it."""
        return f"{reply}{'' if reply.endswith('。') else ' '}{self.more}"


class QuestionBeyond(_Written):
    """A question that the role cannot know the answer to."""

    question: str
    names: str
    accepted: str
    declined: str

    def replies(self) -> dict[Kind, str]:
        """What is said, by kind."""
        return {"accepted": self.accepted, "declined": self.declined}


class AnchorRole(_Written):
    """The anchors of a role in a language."""

    name: str
    third: str
    profile: str = ""
    known: tuple[KnownQuestion, ...]
    beyond: tuple[QuestionBeyond, ...]


class Known(NamedTuple):
    """A reply of which it is known what it is worth, by its construction or by people."""

    id: str
    question: str
    """Replies to one question go together."""
    language: str
    kind: str
    """Empty where people judged."""
    case: Case
    worth: Mapping[str, float]
    """By metric: 1 where the reply is to lie higher on its scale, 0 where lower; or what people said, on the scale."""


@cache
def written() -> Mapping[str, Mapping[str, AnchorRole]]:
    """The files, by language and role."""
    folder, form = files("dramaturg.evaluation.judging") / "replies", TypeAdapter(dict[str, AnchorRole])
    return {
        one: form.validate_python(safe_load((folder / f"{one}.yaml").read_text(encoding="utf-8"))) for one in LANGUAGES
    }


@cache
def version() -> str:
    """A digest of all anchors and of what they are worth: scores on others do not compare."""
    told: Any = [[one.model_dump() for roles in written().values() for one in roles.values()], WORTH]
    return sha256(canonical(told))[:DIGITS]


def anchors(limit: int = 0) -> list[Known]:
    """All anchors, question by question; with a limit, of so many questions in each language.

    A few are one known question and one beyond in turn, role by role.
    """
    return [one for language in LANGUAGES for one in of_language(language, limit)]


def of_language(language: str, limit: int) -> Iterator[Known]:
    """The anchors in one language."""
    roles = written()[language]
    order = [
        (role, number, question)
        for number in range(max(len(one.known) + len(one.beyond) for one in roles.values()))
        for role, one in roles.items()
        for question in in_turn(one)[number : number + 1]
    ]
    for role, number, question in order[: limit or None]:
        about = roles[role]
        gold = getattr(question, "gold", "")
        for kind, reply in question.replies().items():
            yield Known(
                id=f"{language}/{role}/{number}/{kind}",
                question=f"{language}/{role}/{number}",
                language=language,
                kind=kind,
                case=Case(
                    role=about.name,
                    question=question.question,
                    reply=reply,
                    language=language,  # type: ignore[arg-type]  # one of LANGUAGES
                    profile=about.profile or card_of(role).profile,
                    gold=gold,
                    passages=(gold,) if gold else (),
                    events=gold,
                ),
                worth={metric: by_kind[kind] for metric, by_kind in WORTH.items() if kind in by_kind},
            )


def in_turn(one: AnchorRole) -> list[KnownQuestion | QuestionBeyond]:
    """The questions of a role, known and beyond in turn, short and long in turn: so a few are of all kinds."""
    known, beyond = ([*of[::2], *of[1::2]] for of in (one.known, one.beyond))
    return [question for both in zip(known, [*beyond[1:], beyond[0]], strict=True) for question in both]


@cache
def card_of(role: str) -> RoleCard:
    """The card of an example role as it is in the package, whatever a library made of it."""
    text = (files("dramaturg.examples") / role / "role.yaml").read_text(encoding="utf-8")
    return RoleCard.model_validate(safe_load(text))
