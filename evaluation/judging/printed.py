"""The judges of RoleRAG and DRMR in their papers' own words, which are no part of this package: a user's copy has them.

What is known of each is where it stands and the digest of its letters, so that a prompt is the printed one or is
refused. Values stand between tags, which the papers' do not. A judge answers in prose, as the papers ask it to; an
answer without a mark in the printed form is missing.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from langchain_core.messages import HumanMessage

from dramaturg.evaluation.datasets.files import text_of
from dramaturg.evaluation.judging.judges import BOUNDS, JUDGES, Case, Judge
from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.questions import write
from dramaturg.prompts import fence
from dramaturg.stores.errors import RoleFileError, near_or_all
from dramaturg.stores.files import sha256

ANSWER_TOKENS = 600


class Printed(NamedTuple):
    """A prompt in a paper: what stands before it, what ends it, and how its answer tells the mark."""

    metric: str
    begins: str
    ends: str
    mark: re.Pattern[str]


class Protocol(NamedTuple):
    """A paper's judges; `where` says what a user brings."""

    where: str
    temperature: float
    prompts: tuple[Printed, ...]


RATING = re.compile(r"Rating\W{0,4}(\d+)", re.IGNORECASE)
FINAL = re.compile(r"final score is\W{0,4}(\d+)|^\W*(\d+)\W*$", re.IGNORECASE | re.MULTILINE)
PROTOCOLS: Mapping[str, Protocol] = {
    "role-rag": Protocol(
        "the text of RoleRAG's paper, appendix E",
        0.2,
        (
            Printed("KE", "Prompt for Generating Knowledge Exposure Scores", "Figure", RATING),
            Printed("KH", "Prompt for Generating Knowledge Hallucination Scores", "Figure", RATING),
            Printed("UQR", "Prompt for Generating Unknown Question Rejection Scores", "Figure", RATING),
        ),
    ),
    "drmr": Protocol(
        "the text of DRMR's paper, appendix A",
        0.0,
        (
            Printed("Pers", "Prompt for personality evaluation", "Prompt for memorization", FINAL),
            Printed("Mem", "Prompt for memorization evaluation", "Prompt for relation", FINAL),
            Printed("Rela", "Prompt for relation evaluation", "B Descriptions of baselines", FINAL),
        ),
    ),
}
"""By the names that `--protocol` takes."""
BY_METRIC = {one.metric: (protocol, one) for protocol in PROTOCOLS.values() for one in protocol.prompts}
PLACES = {
    "character": "role",
    "model_role": "role",
    "user_role": "user_role",
    "description": "profile",
    "role_profile": "profile",
    "question": "question",
    "response": "reply",
    "model_output": "reply",
    "history dialogues": "events",
    "role_relation": "relation",
}
"""What of a case stands in a prompt's places; `context` is what was said, with the question as its last line."""
PLAIN = ("character", "model_role", "user_role")
PLACE = re.compile(r"\{\s*([a-z_ ]+?)\s*\}")


def printed_in(wishes: Iterable[str]) -> dict[str, str]:
    """Read the prompts of protocols from a user's copies of their papers, by metric.

    Args:
        wishes: NAME=FILE each; the file is the paper's text.

    Raises:
        ValueError: there is no such protocol, or no file is named.
        RoleFileError: the file cannot be read, or a prompt in it is not the printed one.
    """
    found = dict[str, str]()
    for wish in wishes:
        name, _, file = wish.partition("=")
        if name not in PROTOCOLS:
            raise ValueError(f"There is no protocol {name!r}{near_or_all(name, PROTOCOLS)}")
        if not file:
            raise ValueError(f"The words of {name} are its authors': --protocol {name}=FILE, {PROTOCOLS[name].where}.")
        text = re.sub(r"\s+", " ", re.sub(r"(\w)-\s*\n\s*(\w)", r"\1\2", text_of(Path(file).expanduser())))
        found |= {one.metric: prompt_of(one, text, file) for one in PROTOCOLS[name].prompts}
    return found


def prompt_of(one: Printed, text: str, file: str) -> str:
    """Cut a prompt out of a paper's text, in which white space is one space."""
    _, begins, rest = text.partition(one.begins)
    prompt, ends, _ = rest.partition(one.ends)
    if begins and ends and letters_of(prompt) == JUDGES[one.metric].printed:
        return prompt.strip()
    raise RoleFileError(
        f"{file} does not hold the prompt of {one.metric} as it is printed, after {one.begins!r}: take page numbers "
        "and headers out of it, and change nothing else."
    )


def letters_of(text: str) -> str:
    """The digest of the letters and digits of a text: line ends, hyphens and quotation marks differ by the copy."""
    return sha256(re.sub(r"[\W_]", "", text.casefold()).encode())


def require_printed(metrics: Iterable[str], printed: Mapping[str, str]) -> None:
    """Refuse a metric of a paper whose words are not there."""
    for name, protocol in PROTOCOLS.items():
        if lacking := [one.metric for one in protocol.prompts if one.metric in metrics and one.metric not in printed]:
            raise ValueError(f"{lacking[0]} is asked in its paper's words: --protocol {name}=FILE, {protocol.where}.")


async def marked(prompt: str, judge: Judge, chat: ChatModel, case: Case) -> tuple[float, str]:
    """Ask a printed prompt of a case; the mark, and the answer on one line.

    Raises:
        ModelError: there is no answer, or none with a mark on the scale in the form that the prompt asks for.
    """
    protocol, printed = BY_METRIC[judge.name]
    message = HumanMessage(PLACE.sub(lambda place: value_in(case, place[1]), prompt))
    answer = await write(chat, [message], temperature=protocol.temperature, max_tokens=ANSWER_TOKENS, quiet=True)
    marks = [int(next(filter(None, one.groups()))) for one in printed.mark.finditer(answer)]
    low, high = BOUNDS[judge.scale]
    if not marks or not low <= marks[-1] <= high:
        raise UnusableAnswer(f"{chat.name} gives no mark from {low} to {high} in the form that {judge.name} asks for.")
    return float(marks[-1]), " ".join(answer.split())


def value_in(case: Case, place: str) -> str:
    """What stands in a place of a printed prompt; one that no paper has stays as it is."""
    if place in PLAIN:
        return case.part(PLACES[place])
    if place == "context":
        said = filter(None, (case.part("dialogue"), f"{case.user_role or 'User'}: {case.question}"))
        return fence("context", "\n".join(said))
    return fence(place.replace(" ", "_"), case.part(PLACES[place])) if place in PLACES else f"{{{place}}}"
