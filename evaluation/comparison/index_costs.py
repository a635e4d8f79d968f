"""What the indexes of an evaluation will cost, before they are made: a method that reads with a model asks for each."""

from collections.abc import AsyncIterator, Sequence

from dramaturg.evaluation.comparison.contestants import contestant
from dramaturg.evaluation.comparison.estimates import Cost, Estimate, priced
from dramaturg.evaluation.comparison.run import Evaluation
from dramaturg.nodes.indexing_costs import COSTS, IndexingCost
from dramaturg.workflows.methods import METHODS

ASKED = (300.0, 20.0)
"""Tokens of a prompt besides the text, and seconds of a question, while nothing is known."""
LETTERS = 3
"""Characters of a text to a token, rather too few."""


async def of_indexes(evaluation: Evaluation) -> list[Estimate]:
    """Return what is still to be asked for the index of each method; a method that only embeds has no line.

    Methods that share answers, such as `role-rag` and `graph-rag-local`, are each told as if the other were not there.

    Raises:
        RoleError: a role's files cannot be read.
    """
    found = []
    for name in evaluation.plan.methods:
        costs = [one async for one in costs_of(evaluation, name)] if asks(name) else []
        if left := sum(one.questions for one in costs):
            more = "; ".join(dict.fromkeys(one.later for one in costs if one.later))
            basis = f"a guess: in the index of {name} {more}" if more else "a guess"
            done = sum(one.there - one.questions for one in costs)
            found.append(priced(f"index of {name}", left, done, each(costs), basis))
    return found


def asks(name: str) -> bool:
    """Whether a method's index is made with a chat model."""
    method = contestant(name).method
    return method in METHODS and METHODS[method].prepare in COSTS


async def costs_of(evaluation: Evaluation, name: str) -> AsyncIterator[IndexingCost]:
    """The cost of each role's index."""
    one = contestant(name)
    for role in evaluation.plan.roles:
        count = COSTS[METHODS[one.method].prepare or ""]
        yield await count(one.context(evaluation.settings, role, seed=0), {})


def each(costs: Sequence[IndexingCost]) -> Cost:
    """What a question costs, in the mean."""
    prompt, seconds = ASKED
    questions, letters = sum(one.questions for one in costs), sum(one.characters for one in costs)
    return 1.0, prompt + letters / LETTERS / questions, seconds
