"""What a dataset is, whatever form it came in: questions, whom they are for, and what was left out."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from dramaturg.stores.names import normal_name

Form = Literal[
    "jsonl",
    "characterrag",
    "incharacter",
    "charactereval",
    "rolebench",
    "character_llm",
    "coser",
    "coser_test",
    "timechara",
    "persona_gym",
    "ping_pong",
    "scene",
]
FORMS: tuple[Form, ...] = get_args(Form)

AIM = "aim"
"""The label of a question that is no question, but says what a simulated user is after in a talk."""
ATTRIBUTES = (
    "activity",
    "belief_and_value",
    "demographic_information",
    "psychological_traits",
    "skill_and_expertise",
    "social_relationships",
)
"""The six attributes of CharacterRAG (AMADEUS, section Dataset)."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DatasetTurn(_Frozen):
    """What somebody said before the question."""

    speaker: str
    text: str


class TalkTurn(_Frozen):
    """The place of a question in a talk of several turns, and what it is there for."""

    id: str
    """Of the talk."""
    turn: int
    """From 1."""
    turns: int
    """How many the talk has."""
    kind: Literal["question", "doubt", "press", "recall", "line", "user"]
    """question: the role's, or the dataset's. doubt: one in scope again, as the user was told otherwise. press: one
    out of scope again. recall: for a fact that the user has told. line: of a script. user: what a simulated user says,
    which is not known before."""
    plants: str = ""
    """The sentence with which the user tells a fact in this turn."""
    fact: str = ""
    """In a recall, the fact that is to be remembered."""
    distance: int = 0
    """In a recall, how many turns ago it was told."""
    pressed: str = ""
    """In a press, the question that is asked again."""
    scene: str = ""
    """Where and why the talk takes place, as the opening says."""
    reference: str = ""
    """How the scene goes on in the dataset, if it is there."""
    after: str = ""
    """A digest of all that the user says before in this talk."""


class Played(_Frozen):
    """A written course of a scene, after which a question is asked, and the words by which its answer is known.

    Words that mean the same stand in one text with `|` between them.
    """

    scene: Mapping[str, Any]
    """Settings of the scene: who plays, where, and what is told as it begins."""
    lines: tuple[str, ...]
    """In their order, as a user of `dramaturg scene` writes them; a line of a role begins with its name and a colon."""
    says: tuple[str, ...] = ()
    """What a right answer says, each of them."""
    secrets: tuple[str, ...] = ()
    """What was kept from the role: it is in no prompt of it, and in no answer."""
    claims: tuple[str, ...] = ()
    """What else nobody says that does not know."""


class DatasetQuestion(_Frozen):
    """A question of a dataset; what the dataset does not say is empty."""

    id: str
    """No other question of the dataset has it; it is the same each time that the same files are read."""
    text: str
    role: str = ""
    """The name or id of the role that is asked; empty: the role under evaluation."""
    answer: str = ""
    """What a good answer says."""
    more_answers: tuple[str, ...] = ()
    """Other good answers, where a dataset has several."""
    attribute: str = ""
    """One of `ATTRIBUTES`, where the dataset knows them; plain lines may have others."""
    scope: Literal["in", "out", ""] = ""
    """`out`: the role can't know."""
    user_role: str = ""
    """Who asks."""
    context: str = ""
    """Where and why the talk takes place."""
    turns: tuple[DatasetTurn, ...] = ()
    """What was said before, the oldest first."""
    said: str = ""
    """What the agent of the dataset's authors answered: something to judge, never a right answer."""
    metrics: tuple[str, ...] = ()
    """By which metrics of the dataset the answer is scored."""
    labels: Mapping[str, str] = {}
    """What else the dataset says of it, such as its topic."""
    talk: TalkTurn | None = None
    """Where it is a turn of a talk; None: it is asked in a conversation of its own."""

    played: Played | None = None
    """What was played before it, where it is asked of a role of a scene."""

    def told(self, *only: str) -> dict[str, Any]:
        """What it says, of these fields or of all, as plain values; of no talk or scene as before there were any."""
        places = {"talk": self.talk, "played": self.played}
        names = (set(only or type(self).model_fields) | {*places}) - {name for name, one in places.items() if not one}
        return self.model_dump(mode="json", include=names)

    @property
    def turn(self) -> int:
        """Which turn of a talk it is, from 1; 0: of none."""
        return self.talk.turn if self.talk else 0

    @property
    def right_answers(self) -> list[str]:
        """All that a good answer may say; the dataset's first choice stands first."""
        return [one for one in (self.answer, *self.more_answers) if one]


class Label(_Frozen):
    """Where a character stands on a dimension, and whether that is high, low or contested."""

    score: float | None
    """None where nobody could tell; its type is X."""
    type: Literal["H", "L", "X"]


class Character(_Frozen):
    """A character of a dataset; what the dataset does not say is empty."""

    persona: str = ""
    aliases: tuple[str, ...] = ()
    language: str = ""
    experimenter: str = ""
    """Who of the character's world asks in an interview."""
    types: Mapping[str, str] = {}
    """By questionnaire, a type such as ENFP."""
    labels: Mapping[str, Mapping[str, Mapping[str, Label]]] = {}
    """By who judged (`pdb`: votes, `annotation`: annotators), questionnaire and dimension."""


class Dataset(_Frozen):
    """Questions and what belongs to them.

    An entry that does not have its form is an error that names file and entry. An entry that has it but holds nothing
    to ask is left out, and `left_out` counts it by the reason.
    """

    name: str
    form: Form
    questions: tuple[DatasetQuestion, ...]
    characters: Mapping[str, Character] = {}
    """By role, as in the questions."""
    licence: str = ""
    """What is known of the licence of the data that are released in this form."""
    left_out: Mapping[str, int] = {}

    def of_role(self, *names: str) -> tuple[DatasetQuestion, ...]:
        """Return the questions for a role that has these names: its own, and those for whoever is evaluated.

        Case, spaces and the form in which Unicode has them do not count: macOS names folders in another one.
        """
        wanted = {"", *map(normal_name, names)}
        if found := tuple(one for one in self.questions if normal_name(one.role) in wanted):
            return found
        if not self.questions:
            labels = ": its labels are for interviews (--labels)" if self.characters else ""
            raise ValueError(f"{self.name} has no questions to ask{labels}.")
        roles = ", ".join(sorted({one.role for one in self.questions}))
        raise ValueError(f"{self.name} has no questions for {' or '.join(names)}: it has some for {roles}.")
