"""PersonaEval's questions (Zhou et al. 2025): who of four is speaking, asked of a judge in the dataset's own prompts.

Each prompt asks for a share of each name; the largest is the judge's choice, as in the released code.
"""

from math import isclose
from pathlib import Path

from langchain_core.messages import HumanMessage

from dramaturg.evaluation.judging.lines import AMONG, HiddenSpeaker
from dramaturg.evaluation.judging.people import lines_of, refusal
from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.questions import write
from dramaturg.models.reading import object_in
from dramaturg.stores.formats.markdown import language_of

LICENCE = "PersonaEval's code is under the MIT licence; its dialogues are of novels and screenplays under copyright"
OPTIONS = tuple(f"option{number}" for number in range(1, AMONG + 1))
ANSWER_TOKENS = 2000
"""The prompts ask to think first."""
SUM = 1e-5
"""By how much shares may miss 1, as in the released code."""


def persona_eval(path: Path, limit: int) -> list[HiddenSpeaker]:
    """Read the questions of a track, Literary.csv or Drama.csv; in Expertise.csv there are five names.

    Args:
        path: a CSV file with the columns prompt, option1 to option4 and gt, the right one.
        limit: the most questions; 0: all.

    Raises:
        RoleFileError: the file cannot be read, a column is not there, or a line's value is not as it must be.
    """
    found = list[HiddenSpeaker]()
    for number, row in lines_of(path, ("prompt", *OPTIONS, "gt")):
        if limit and len(found) == limit:
            break
        names = tuple(row[one] for one in OPTIONS)
        if row.get("option5"):
            raise refusal(path, number, "option5", "is a fifth name, and chance is that of four: take another track")
        if len({*names}) < AMONG or row["gt"] not in names:
            raise refusal(path, number, "gt", "must be one of four names that differ")
        name = f"{path.stem}/{len(found) + 1}"
        about = (name, f"PersonaEval {path.stem}", name, language_of(row["prompt"]))
        found.append(HiddenSpeaker(*about, "", (), names, (), names.index(row["gt"]), row["prompt"]))
    return found


async def shared(chat: ChatModel, one: HiddenSpeaker) -> int:
    """Ask who is speaking; the place of the name with the largest share, from 0.

    Raises:
        ModelError: there is no answer, or none that gives each name a share, 1 in all, and one more than the others.
    """
    answer = await write(chat, [HumanMessage(one.prompt)], temperature=0, max_tokens=ANSWER_TOKENS, quiet=True)
    try:
        told = object_in(answer)
        shares = [float(told[name]) for name in one.names]
    except (ValueError, TypeError, KeyError) as error:
        raise UnusableAnswer(f"{chat.name} does not give a share of each of {', '.join(one.names)}.") from error
    if not isclose(sum(shares), 1, abs_tol=SUM) or shares.count(max(shares)) > 1:
        raise UnusableAnswer(f"{chat.name} gives shares of {sum(shares):g} in all, or the largest to two names.")
    return shares.index(max(shares))
