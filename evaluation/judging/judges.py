"""The papers' judges: each a prompt and a scale, asked for a sentence first and then for a value that rests on it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, Literal

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from dramaturg.evaluation.datasets.dataset import DatasetTurn
from dramaturg.evaluation.metrics.acting import acting_score
from dramaturg.evaluation.metrics.reliability import Agreement, Kappa, cohen_kappa, krippendorff_alpha
from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import REFUSED, UNANSWERED
from dramaturg.models.extracted import Extracted, cut_text
from dramaturg.models.loose import Scale
from dramaturg.models.questions import decide, extract, rate, write
from dramaturg.prompts import load
from dramaturg.stores.files import canonical, sha256

GradeScale = Literal["yes/no", "1-5", "1-10", "flaws"]
"""flaws: 0 to 100, computed of the flaws that a judge lists."""
BOUNDS: Mapping[GradeScale, tuple[int, int]] = {
    "yes/no": (0, 1),
    "1-5": (1, 5),
    "1-10": (1, 10),
    "flaws": (0, 100),
}
Part = Literal[
    "profile",
    "gold",
    "passages",
    "events",
    "dialogue",
    "user_role",
    "relation",
    "pressed",
    "talk",
    "scene",
    "reference",
    "fact",
    "task",
]
REASON_TOKENS = 120
"""The longest sentence of a judge."""
VERDICT = 2
"""Messages at the end of a prompt: the judge's sentence, and what is asked then."""
DIGITS = 12


@dataclass(frozen=True)
class Judge:
    """A judge as data. The papers show some of their prompts; all of these are this project's own."""

    name: str
    prompt: str
    scale: GradeScale
    better: Literal["higher", "lower", "by_scope"]
    """by_scope: higher out of scope, lower in scope."""
    needs: tuple[Part, ...]
    """What a case must hold beside question and reply: else the judge is not applicable."""
    source: str
    may: tuple[Part, ...] = ()
    """What is shown too where a case holds it."""
    note: str = ""
    """What the paper leaves open, and what is done here."""
    of_talks: bool = False
    """Whether it judges talks of several turns, and nothing else."""
    printed: str = ""
    """The digest of the letters of its prompt, where that is a paper's own, which a user brings: see `printed`."""


ACTING: tuple[tuple[str, str, tuple[Part, ...]], ...] = (
    ("consistency", "storyline consistency", ("reference",)),
    ("anthropomorphism", "anthropomorphism", ()),
    ("fidelity", "character fidelity", ()),
    ("quality", "storyline quality", ()),
)
"""The dimensions of given-circumstance acting, and what is shown of each beside the scene."""
ROLE_RAG: tuple[tuple[str, GradeScale, Literal["higher", "lower"], tuple[Part, ...], str], ...] = (
    ("KE", "1-10", "higher", ("profile",), "7a69d4a937d927710fd043251ec9b861816edea7d813b8c7e0aa7ba965bc549d"),
    ("KH", "1-10", "lower", ("profile",), "2be1f810492e4cb8d6645bba999de597df7a6c17b13fcf375cb5b59598339474"),
    ("UQR", "yes/no", "higher", ("profile",), "6627670ea9b98cd8d2fa3ba4a2c6ee35145f3bb9f32a03eefa7964ccb577aebd"),
)
DRMR: tuple[tuple[str, tuple[Part, ...], str], ...] = (
    ("Pers", ("profile",), "95165118cfca3fb5d06c8f9c41dfea158694a82dbe3e9d361684c479fcd6ea21"),
    ("Mem", ("profile", "events"), "cdd183ad536717b323cb2c566743d4188ce094b41950dd818b94e5cab84e313d"),
    ("Rela", ("user_role", "relation"), "7d11884a6b3c09020304cea4946014f1e974eb119bfe6eeb39e4456a93d953be"),
)
"""Judges in their papers' words, with the digests of the letters of these."""
_ALL = (
    Judge(
        "accuracy",
        "grade_accuracy",
        "yes/no",
        "higher",
        ("gold",),
        "AMADEUS, Evaluation Protocols, Table 6: ACC",
        note="The paper shows no prompt and names neither the judge nor its temperature.",
    ),
    Judge(
        "accuracy_level",
        "grade_accuracy_level",
        "1-10",
        "higher",
        ("gold",),
        "AMADEUS, Evaluation Protocols, Table 6: ACC_L",
        note="The paper gives no prompt and no meaning of the steps; those of 1, 5 and 10 are this project's.",
    ),
    Judge(
        "hallucination",
        "grade_hallucination",
        "1-10",
        "lower",
        ("passages",),
        "AMADEUS, Evaluation Protocols, Table 6: HS",
        may=("gold",),
        note="The paper says what 1 means and no more. It has no score for methods without passages: nor has this "
        "judge. Interviews have no right answer, and the paper does not say what its judge was shown instead: here the "
        "passages alone. A method is judged by its own passages, so that methods don't have the same test.",
    ),
    Judge(
        "exposure",
        "grade_exposure",
        "1-10",
        "higher",
        ("profile",),
        "After KE of RoleRAG, section 4.2 and appendix E",
        note="The paper gives the scale as [0, 10] and as 1 to 10. Its judge plays the role, at temperature 0.2, and "
        "people corrected the scores of two datasets of three; here the judge does not play, and nobody corrects. It "
        "knows a famous role better than the profile says, and not an unknown one.",
    ),
    Judge(
        "invention",
        "grade_invention",
        "1-10",
        "lower",
        ("profile",),
        "After KH of RoleRAG, section 4.2 and appendix E",
        note="As for exposure.",
    ),
    Judge(
        "refusal",
        "grade_refusal",
        "yes/no",
        "by_scope",
        (),
        "After UQR of RoleRAG, sections 4.2 and 5.6",
        note="The paper's judge says whether a reply keeps to what the role can know, and so has to know the scope "
        "itself. This one says whether the reply declines; the scope is the question's: see `refusal_rates`.",
    ),
    Judge(
        "personality",
        "grade_personality",
        "1-5",
        "higher",
        ("profile",),
        "After Pers. of DRMR, section 4.1 and appendix A",
        may=("dialogue",),
        note="The paper shows few of its steps and no meaning of the scores; those of 1, 3 and 5 are this project's.",
    ),
    Judge(
        "memory",
        "grade_memory",
        "1-5",
        "higher",
        ("profile", "events"),
        "After Mem. of DRMR, section 4.1 and appendix A",
        may=("dialogue",),
        note="As for personality. The paper retrieves past dialogues for the judge and does not say how many: here "
        "they are the `events` of the case, whoever found them.",
    ),
    Judge(
        "relation",
        "grade_relation",
        "1-5",
        "higher",
        ("user_role", "relation"),
        "After Rela. of DRMR, section 4.1 and appendix A",
        may=("dialogue",),
        note="As for personality. The paper does not say where its judge has the relation from.",
    ),
    Judge(
        "point_in_time",
        "grade_point_in_time",
        "yes/no",
        "higher",
        ("fact",),
        "TimeChara (2024): spatiotemporal consistency",
        note="The released code asks for time and for place by themselves, multiplies, and reads any digit up to 7 as "
        "yes or no; here one question holds both. A role that declines everything does well, as there: see the floor.",
    ),
    Judge(
        "persona_gym",
        "grade_persona_gym",
        "1-5",
        "higher",
        ("profile", "task"),
        "PersonaGym (2025): PersonaScore",
        note="The paper's rubrics show examples of each score that a model wrote for the question, and five answers at "
        "once; here a reply is marked alone and without examples. There a mark that cannot be read is left out of the "
        "mean unseen; here it is missing.",
    ),
    Judge(
        "contradiction",
        "grade_contradiction",
        "yes/no",
        "lower",
        ("dialogue",),
        "No paper's: talks of several turns, by turn",
        note="Not asked in the first turn, before which nothing was said. It is about the role's own words: whether "
        "they are true is not judged.",
        of_talks=True,
    ),
    Judge(
        "boundary",
        "grade_boundary",
        "yes/no",
        "higher",
        ("dialogue", "pressed"),
        "No paper's: talks of several turns, where a question out of scope is asked again",
        note="Asked only of turns that press. That the question is out of scope is the plan's to know, and the judge "
        "is told so.",
        of_talks=True,
    ),
    Judge(
        "whole_character",
        "grade_whole_character",
        "1-5",
        "higher",
        ("profile", "talk"),
        "No paper's: talks of several turns, as a whole",
        note="Asked once a talk, of its last turn.",
        of_talks=True,
    ),
    Judge(
        "whole_contradiction",
        "grade_whole_contradiction",
        "yes/no",
        "lower",
        ("talk",),
        "No paper's: talks of several turns, as a whole",
        note="Asked once a talk, of its last turn.",
        of_talks=True,
    ),
    *(
        Judge(
            name,
            f"grade_{name}",
            "1-5",
            "higher",
            ("talk",),
            f"PingPong (2024): {name}",
            note="There each turn is marked, and the turns of a talk are averaged; here the talk is, once. Its third "
            "mark, in character, is `whole_character` here.",
            of_talks=True,
        )
        for name in ("entertaining", "fluency")
    ),
    *(
        Judge(
            f"acting_{name}",
            f"grade_acting_{name}",
            "flaws",
            "higher",
            ("profile", "scene", *needs, "talk"),
            f"CoSER (2025), given-circumstance acting: {dimension}",
            note="The score is that of the released code: 100 less 5 points for each severity beyond 0.3 a round. "
            "There one model plays all characters and all rounds count; here one role is judged, and its own turns "
            "count. A list in which anything cannot be read is missing, where the code drops the flaw. The prompts are "
            "ours.",
            of_talks=True,
        )
        for name, dimension, needs in ACTING
    ),
    *(
        Judge(
            name,
            "",
            scale,
            better,
            needs,
            f"RoleRAG, Table 1 and appendix E, in its words: {name}",
            note="The judge plays the role, at temperature 0.2, as the paper has it. Nobody corrects it, as people did "
            "there, and values stand between tags.",
            printed=digest,
        )
        for name, scale, better, needs, digest in ROLE_RAG
    ),
    *(
        Judge(
            name,
            "",
            "1-5",
            "higher",
            needs,
            f"DRMR, Table 1 and appendix A, as far as that prints it: {name}",
            note="The paper prints dots for most of its evaluation steps, and the judge is shown the dots. Values are "
            "between tags. What was lived through is what bears most on the question; the paper does not say how much.",
            printed=digest,
        )
        for name, needs, digest in DRMR
    ),
)
JUDGES: Mapping[str, Judge] = MappingProxyType({judge.name: judge for judge in _ALL})
"""All judges of replies. Identity recall and action alignment are in `identity_quiz` and `action_alignment`."""
OneLine = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^[^\r\n<>]*$")]
"""Stands in the instructions: a single line, without a tag."""
NonBlank = Annotated[str, StringConstraints(pattern=r"\S")]
GradeState = Literal["judged", "missing", "not_applicable"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Case(_Frozen):
    """A reply and what a judge may need beside it; nothing in it says by which method or model the reply was made.

    What is not known is empty: a judge that needs it is not applicable then.
    """

    role: Annotated[OneLine, StringConstraints(min_length=1)]
    """The name of the role that replied."""
    question: NonBlank
    reply: NonBlank
    language: Literal["en", "zh", "ko"]
    """Of the prompts, and so of the judge's reasons."""
    profile: str = ""
    """Who the role is: the card's profile, or a persona document."""
    gold: str = ""
    """The right answer."""
    passages: tuple[NonBlank, ...] = ()
    """What whoever replied was shown for this question; nothing where a method shows nothing."""
    events: str = ""
    """What the role has lived through that bears on the question. The same for all methods, unlike the passages."""
    dialogue: tuple[DatasetTurn, ...] = ()
    """What was said before the question, the oldest first."""
    user_role: OneLine = ""
    """The name of the one who asks."""
    relation: str = ""
    """How the role stands to the one who asks."""
    pressed: str = ""
    """In a turn that presses, the question that the role cannot answer and is asked again."""
    talk: tuple[DatasetTurn, ...] = ()
    """At the end of a talk, all of it."""
    scene: str = ""
    """Where and why the talk takes place."""
    reference: str = ""
    """The scene as its author wrote it, line by line."""
    fact: str = ""
    """What the role can know at the point of the story that is asked about, and where it was."""
    task: str = ""
    """What alone of the reply is to be marked."""
    turns: int = 1
    """How many turns the role had."""
    scope: Literal["in", "out", ""] = ""
    """`out`: the role can't know. No judge is shown this."""

    def part(self, name: str) -> str:
        """A part as a judge reads it."""
        if name == "passages":
            return "\n\n".join(f"[{number}] {passage}" for number, passage in enumerate(self.passages, start=1))
        if name in ("dialogue", "talk"):
            said: tuple[DatasetTurn, ...] = getattr(self, name)
            return "\n".join(f"{turn.speaker}: {' '.join(turn.text.split())}" for turn in said)
        return str(getattr(self, name)).strip()


def prompt_version(judge: Judge, language: str) -> str:
    """Return a digest of the text of a judge's prompt; its comment does not count."""
    return judge.printed[:DIGITS] or text_version(judge.prompt, language)


def text_version(prompt: str, language: str) -> str:
    """Return a digest of the text of a prompt, by its name; its comment does not count."""
    sections = load(prompt, language).sections
    return sha256(canonical([text for section in sections for text in section]))[:DIGITS]


def cut_flaw(said: object) -> object:
    """The beginning of a text, and nothing of what is none: nothing hangs on it."""
    return cut_text(said, 300) if isinstance(said, str) else ""


class Flaw(BaseModel):
    """Something that an actor does badly."""

    flaw: Annotated[str, StringConstraints(max_length=300), BeforeValidator(cut_flaw)] = ""
    severity: Annotated[float, Scale(1, 5), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 5})]


class Flaws(Extracted):
    """All that a judge finds."""

    # A score is computed of severities: a flaw without words counts as well.
    flaws: Annotated[list[Flaw], Field(max_length=30)]


class Grade(_Frozen):
    """What came of judging one reply by one judge."""

    judge: str
    state: GradeState
    """judged: there is a value. missing: the judge failed, which is counted and is no score. not_applicable: the case
    lacks what the judge needs, so that there is nothing to ask and nothing is missing."""
    value: float | None = None
    """On the judge's scale; yes is 1 and no 0. Between whole numbers where the model gives log-probabilities."""
    probability: float | None = None
    """P(yes), where the scale is yes or no and the model gives log-probabilities."""
    reason: str = ""
    """The sentence that the value rests on."""
    error: str = ""
    """Why there is no value."""
    refused: bool = False
    """Whether there is none because the judge's server did not take the question."""
    prompt_version: str
    """A digest of the prompt's text in the language of the case: values of other versions don't compare."""
    model: str
    """Who judged."""


Marking = Callable[[Judge, ChatModel, Case], Awaitable[tuple[float, str]]]
"""Another way to ask a judge: gives the value, and what it rests on."""


async def judged(judge: Judge, chat: ChatModel, case: Case, by: Marking | None = None) -> Grade:
    """Have a reply judged: a sentence, and then a value that rests on it, both at temperature 0; or as `by` asks.

    An answer that did not come is a grade without a value that names the error.
    """
    made = partial(Grade, judge=judge.name, prompt_version=prompt_version(judge, case.language), model=chat.name)
    if lacking := [part for part in judge.needs if not case.part(part)]:
        return made(state="not_applicable", error=f"The case has nothing for {', '.join(lacking)}.")
    reason = ""
    try:
        if by:
            value, reason = await by(judge, chat, case)
            return made(state="judged", value=value, reason=reason)
        reason = await reason_of(chat, _messages(judge, case)[:-VERDICT])
        asked = _messages(judge, case, reason)
        low, high = BOUNDS[judge.scale]
        if judge.scale == "flaws":
            found = await extract(chat, asked, Flaws)
            if found.dropped:  # a flaw that cannot be read would raise the score
                return made(state="missing", reason=reason, error=f"Flaws were left out: {'; '.join(found.dropped)}.")
            value, probability = acting_score([one.severity for one in found.flaws], case.turns), None
            reason = "; ".join([reason, *(f"{one.flaw} ({one.severity:g})" for one in found.flaws)])
        elif judge.scale == "yes/no":
            decision = await decide(chat, asked)
            value, probability = float(decision.answer), decision.probability
        else:
            value, probability = (await rate(chat, asked, low=low, high=high)).value, None
    except (*UNANSWERED, *REFUSED) as error:
        return made(state="missing", reason=reason, error=str(error), refused=isinstance(error, REFUSED))
    return made(state="judged", value=value, probability=probability, reason=reason)


async def reason_of(chat: ChatModel, messages: Sequence[BaseMessage]) -> str:
    """Ask for the sentence that a judgement will rest on, at temperature 0; it comes back as a single line."""
    return " ".join((await write(chat, messages, temperature=0, max_tokens=REASON_TOKENS, quiet=True)).split())


def agreement(one: Sequence[float | None], other: Sequence[float | None], scale: GradeScale) -> Agreement:
    """Return Krippendorff's alpha of two judges of the same replies: nominal for yes and no, else ordinal.

    Values stand in the same order, None where a judge gave none; a ValueError says what cannot be compared.
    """
    _check_pairs(one, other, scale)
    return krippendorff_alpha(list(zip(one, other, strict=True)), level="nominal" if scale == "yes/no" else "ordinal")


def judges_kappa(one: Sequence[float | None], other: Sequence[float | None], scale: GradeScale) -> Kappa:
    """Return Cohen's kappa of two judges of the same replies: plain for yes and no, else with quadratic weights."""
    _check_pairs(one, other, scale)
    return cohen_kappa(one, other, weights="none" if scale == "yes/no" else "quadratic")


def _check_pairs(one: Sequence[float | None], other: Sequence[float | None], scale: GradeScale) -> None:
    """Refuse values of two judges that do not pair up or are off their scale."""
    low, high = BOUNDS[scale]
    if len(one) != len(other):
        raise ValueError(f"Give both judges' values of the same replies: {len(one)} and {len(other)} do not pair up.")
    if not all(value is None or low <= value <= high for value in [*one, *other]):
        raise ValueError(f"Give values from {low} to {high}: one is off the scale {scale}.")


def _messages(judge: Judge, case: Case, reason: str = "") -> list[BaseMessage]:
    """A judge's prompt. The beginning of both questions is the same, so that a server reads it once."""
    shown = (*(() if "talk" in judge.needs else ("question", "reply")), *judge.needs, *judge.may)
    data = {part: case.part(part) for part in shown} | {"reason": reason}
    return load(judge.prompt, case.language).messages(data=data, role=case.role, user=case.user_role)
