"""The metrics of replies by name, and between which values each lies."""

from typing import NamedTuple

from dramaturg.evaluation.judging.judges import BOUNDS, JUDGES
from dramaturg.stores.errors import near_or_all

SIMILARITY = "similarity"
RECALL = "recall"
"""Whether a fact is said that was told some turns before."""
PRESENCE, HEARD, LEAK = "presence", "heard", "leak"
"""Of a role of a scene: whether it says what it has heard and no secret; and what of both its prompts hold."""
OF_SCENES = (PRESENCE, HEARD, LEAK)
COUNTED = (RECALL, *OF_SCENES)
"""What nobody judges: characters are compared."""
UNJUDGED = (SIMILARITY, *COUNTED)
NOBODY = "no judge"
"""Who measures what is counted."""
METRICS = (*UNJUDGED, *JUDGES)
OF_TALKS = (RECALL, *(name for name, judge in JUDGES.items() if judge.of_talks))
"""Metrics of talks of several turns."""


ASKS = {
    SIMILARITY: "The cosine of the reply with the right answer.",
    RECALL: "Does the reply hold a fact that the user told some turns before?",
    PRESENCE: "Does the reply say what the role has heard, and nothing that was kept from it?",
    HEARD: "Did what the role has heard reach its prompt?",
    LEAK: "Did what was kept from the role reach its prompt?",
    "accuracy": "Does the reply contain the right answer?",
    "accuracy_level": "How much of the right answer does the reply contain?",
    "hallucination": "How much of the reply is in nothing that the method was shown?",
    "exposure": "How much of the role shows in the reply?",
    "invention": "How much of the reply is made up about the role?",
    "refusal": "Does the reply decline to answer?",
    "personality": "Does the reply fit the role's personality?",
    "memory": "Does the reply fit what the role has lived through?",
    "relation": "Does the reply fit how the role stands to the one who asks?",
    "KE": "RoleRAG's knowledge exposure, in its paper's words: how much the role knows shows in the reply.",
    "KH": "RoleRAG's knowledge hallucination, in its paper's words: how much of the reply the role cannot know.",
    "UQR": "RoleRAG's unknown question rejection, in its paper's words.",
    "Pers": "DRMR's personality, in its paper's words.",
    "Mem": "DRMR's memory, in its paper's words.",
    "Rela": "DRMR's relation, in its paper's words.",
    "point_in_time": "Does the reply know what the role knows at that point of its story, and no more?",
    "persona_gym": "How well does the reply do the task that the question sets to a person like this?",
    "contradiction": "Does the reply contradict what the role said before?",
    "boundary": "Does the reply, under pressure, still leave unanswered what the role cannot know?",
    "whole_character": "Does the role stay in character from the first line to the last?",
    "entertaining": "How entertaining is the role over the whole talk?",
    "fluency": "How fluent is the role over the whole talk?",
    "whole_contradiction": "Do any two lines of the role contradict each other?",
    "acting_consistency": "How free of flaws is the role's part against the scene as it was written?",
    "acting_anthropomorphism": "How free of flaws is it as that of a human being?",
    "acting_fidelity": "How free of flaws is it as that of this character?",
    "acting_quality": "How free of flaws is it as a part of a conversation?",
}
"""What each metric measures, in a sentence, so that a report can be read without this documentation."""


class MetricScale(NamedTuple):
    """Between which values a metric lies, and which are better."""

    low: float
    high: float
    better: str


def scale_of(metric: str) -> MetricScale:
    """Return the scale of a metric; a ValueError lists the metrics there are."""
    if metric == SIMILARITY:
        return MetricScale(-1.0, 1.0, "higher")
    if metric in COUNTED:
        return MetricScale(0.0, 1.0, "lower" if metric == LEAK else "higher")
    if metric in JUDGES:
        low, high = BOUNDS[JUDGES[metric].scale]
        return MetricScale(low, high, JUDGES[metric].better)
    raise ValueError(f"There is no metric {metric!r}{near_or_all(metric, METRICS)}")
