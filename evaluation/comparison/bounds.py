"""A floor and a ceiling beside the methods that are compared: two who need no model, and whose replies are known.

What a judge gives them says what its numbers are worth: a method that gets no more than the floor has shown nothing,
and no method can be expected to get more than right answers do.
"""

from collections.abc import Mapping

from dramaturg.evaluation.comparison.contestants import Contestant
from dramaturg.evaluation.datasets.dataset import Question

FLOOR, CEILING = "always-declines", "right-answers"
BOUNDS: Mapping[str, Contestant] = {name: Contestant(name, name, {}) for name in (FLOOR, CEILING)}
"""Those who stand beside the methods."""
DECLINED: Mapping[str, str] = {
    "en": "That I do not know. I have never heard of it.",
    "zh": "这个我不知道，从来没有听说过。",
    "ko": "그건 모르겠습니다. 들어 본 적이 없습니다.",
}
"""What the floor says to every question, in the role's language."""


def bound_reply(name: str, question: Question, language: str) -> str:
    """What one of them says; empty where it has nothing to say, since the question has no right answer.

    Args:
        name: who.
        question: what is asked.
        language: of the role.
    """
    return DECLINED[language] if name == FLOOR else next(iter(question.right_answers), "")
