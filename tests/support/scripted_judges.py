"""Judges whose worth is known: a perfect one, a coin, one that always says yes, lovers of length and of a place."""

import hashlib
import re
from collections.abc import Callable
from statistics import median

from dramaturg.evaluation.judging.anchors import anchors
from dramaturg.evaluation.judging.lines import HiddenSpeaker
from dramaturg.testing import Call, FirstToken, ScriptedChatModel

LETTERS = {"ko": re.compile("[가-힣]"), "zh": re.compile("[一-鿿]"), "en": re.compile("[a-z]")}
FENCED = re.compile(r"<(\w+)>\n(.*?)\n</\1>", re.DOTALL)


class NamedJudge(ScriptedChatModel):
    """A scripted model with a name of its own."""

    model_name: str = "scripted"


def shown(call: Call) -> dict[str, str]:
    """What a prompt has between tags."""
    return dict(FENCED.findall(call.text))


def options(call: Call) -> list[str]:
    """The options of a choice."""
    return re.findall(r"^\d\. (.*)$", call.messages[-1].text, re.MULTILINE) or re.findall(
        r"^\d\. (.*)$", call.text, re.MULTILINE
    )


def is_refusal(call: Call) -> bool:
    """Whether it is asked whether a reply declines, and not what of a right answer it holds."""
    return "gold" not in shown(call)


def coin(call: Call, sides: int = 2) -> int:
    """Falls by the text, so that it falls the same way in every run."""
    return hashlib.sha256(call.text.encode()).digest()[0] % sides


def judge_that(
    decides: Callable[[Call], bool], chooses: Callable[[Call], int], name: str, *, probabilities: bool = False
) -> NamedJudge:
    """A judge that says yes or no, and 1 and up, by functions of the call."""

    def decide(call: Call) -> FirstToken | bool:
        yes = decides(call)
        return FirstToken({"yes": 0.9 if yes else 0.2, "no": 0.1 if yes else 0.8}) if probabilities else yes

    return NamedJudge(
        decide=decide,
        rate=lambda call: 9 if decides(call) else 2,
        choose=chooses,
        log_probabilities=probabilities,
        model_name=name,
    )


def perfect(lines: list[HiddenSpeaker]) -> NamedJudge:
    """Knows all."""
    worth = {(one.case.question, one.case.reply): one.worth for one in anchors()}
    better = {one.case.reply for one in anchors() if one.kind in ("right", "declined")}
    speakers = {one.line: one.names[one.speaker] for one in lines}

    def decides(call: Call) -> bool:
        told = shown(call)
        return bool(worth[told["question"], told["reply"]]["refusal" if is_refusal(call) else "accuracy"])

    def chooses(call: Call) -> int:
        there, line = options(call), shown(call).get("line", "")
        return 1 + (there.index(speakers[line]) if line else next(at for at, one in enumerate(there) if one in better))

    return judge_that(decides, chooses, "perfect", probabilities=True)


def a_coin() -> NamedJudge:
    """Knows nothing, and says one or the other."""
    return judge_that(lambda call: bool(coin(call)), lambda call: 1 + coin(call, len(options(call))), "coin")


def always_yes() -> NamedJudge:
    """Says yes, and where it is to choose, falls on any."""
    return judge_that(lambda _: True, lambda call: 1 + coin(call, len(options(call))), "always-yes")


def length_lover() -> NamedJudge:
    """Says yes to what is long."""
    sizes: dict[str, list[int]] = {}
    for one in anchors():
        sizes.setdefault(one.language, []).append(len(one.case.reply))
    middle = {language: median(of) for language, of in sizes.items()}

    def decides(call: Call) -> bool:
        told = shown(call)
        language = next(name for name, of in LETTERS.items() if of.search(told["question"]))
        return len(told["reply"]) > middle[language]

    def chooses(call: Call) -> int:
        there = options(call)
        return 1 + max(range(len(there)), key=lambda at: len(there[at]))

    return judge_that(decides, chooses, "length-lover")


def place_lover() -> NamedJudge:
    """Chooses what is shown first; says yes or no like a coin."""
    return judge_that(lambda call: bool(coin(call)), lambda _: 1, "place-lover")
