"""After how many answers without use a step stops asking: what a smaller number loses, and what a greater one costs.

The share of questions that stay without an answer is measured by kind, in turns of all methods with the embedded model,
which is the smallest that we know to do the tasks. From it follows how often a step of so many questions would stop
though the model can do the task. A model that cannot do it at all is asked that many questions of a kind in a step.

Run: python benchmarks/giving_up.py [--turns 4] [--questions 30]
"""

import argparse
import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

from embedded_turns import METHODS, SCRIPT
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console
from rich.table import Table

from dramaturg.models import asking
from dramaturg.models.errors import Filtered, UnusableAnswer
from dramaturg.workflows.methods import flow

QUESTIONS = {
    "beethoven": (
        "What did you think of Haydn as a teacher?",
        "And what do you do when you are angry?",
        "Do you like to be alone in the woods?",
        "How did your hearing change in Vienna?",
    ),
    "silver": (
        "Can I trust you now?",
        "And what became of the map?",
        "What do you want with the boy?",
        "Did you ever fear Flint?",
    ),
}
LIMITS = (1, 2, 3, 4, 5)
SHARES = (0.02, 0.05, 0.1, 0.2)


async def answered(turns: int) -> dict[str, list[bool]]:
    """Whether each question of these turns had an answer that can be used, by kind, with no step stopped."""
    found, whole = defaultdict[str, list[bool]](list), asking._asked

    async def noted(chat: Any, question: Any, answer: Callable[..., Awaitable[Any]]) -> Any:
        try:
            had = await whole(chat, question, answer)
        except UnusableAnswer as error:
            if not isinstance(error, Filtered):
                found[question.kind].append(False)
            raise
        if chat.name != SCRIPT._llm_type:
            found[question.kind].append(True)
        return had

    asking._asked, asking.UNREADABLE = noted, 10**9  # type: ignore[assignment]
    for method in METHODS:
        role = "silver" if method == "drmr" else "beethoven"
        with tempfile.TemporaryDirectory() as library:
            given = {"role": role, "library": library, "deadline": 3600, "turn_deadline": 36_000}
            given |= {"user_role": "jim"} if method == "drmr" else {}
            for one in flow(method).preparations(flow(method).context(**given, chat_model=SCRIPT)).values():
                await one.graph.ainvoke({}, context=one.context)
            found_before = {kind: len(had) for kind, had in found.items()}
            graph, context = flow(method).builder.compile(InMemorySaver()), flow(method).context(**given)
            for text in QUESTIONS[role][:turns]:
                await graph.ainvoke(
                    {"messages": [("user", text)]}, {"configurable": {"thread_id": "t"}}, context=context
                )
            asked = {kind: len(had) - found_before.get(kind, 0) for kind, had in found.items()}
            print(method, asked, flush=True)
    return found


def stops(share: float, limit: int, questions: int) -> float:
    """How probable so many answers without use in a row are among the first questions of a step but its last."""
    running = [1.0, *([0.0] * (limit - 1))]  # by how many in a row there are now
    for _ in range(questions - 1):
        running = [sum(running) * (1 - share), *(one * share for one in running[:-1])]
    return 1 - sum(running)


def main(turns: int, questions: int) -> None:
    """Print what was measured, and what follows."""
    found = asyncio.run(answered(turns))
    measured = Table("kind", "questions", "without an answer", "most in a row", title="The embedded model")
    shares = dict[str, float]()
    for kind, had in sorted(found.items()):
        row, most = 0, 0
        for one in had:
            row = 0 if one else row + 1
            most = max(most, row)
        shares[f"{kind}, as measured"] = had.count(False) / len(had)
        measured.add_row(kind, str(len(had)), str(had.count(False)), str(most))
    follows = Table(
        "share without an answer",
        *(f"stops at {limit}" for limit in LIMITS),
        title=f"How often a step of {questions} questions stops though the model can do it",
    )
    for name, share in {**shares, **{f"{share:.0%}": share for share in SHARES}}.items():
        follows.add_row(name, *(f"{stops(share, limit, questions):.2%}" for limit in LIMITS))
    for table in (measured, follows):
        Console(width=110).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--questions", type=int, default=30)
    arguments = parser.parse_args()
    main(arguments.turns, arguments.questions)
