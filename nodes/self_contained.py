"""The question made self-contained: what "she" or "there" meant in the turns before is said in words."""

from typing import Any

from langgraph.runtime import Runtime

from dramaturg.models.errors import UNANSWERED, UnusableAnswer
from dramaturg.models.questions import write
from dramaturg.nodes.reply import AskedState, earlier
from dramaturg.nodes.run import by_rules, needs, open_run
from dramaturg.nodes.turn import StandaloneState, WindowSettings, clipped, transcript

LONGEST = 1000  # bytes of a rewritten question
QUESTION_MARKS = ("?", "？")


class SelfContainedSettings(WindowSettings):
    """How far back a question is understood."""

    recent: int = by_rules(
        paper=0,
        ours=6,
        ge=0,
        le=100,
        description="Messages before the question from which it is said in full before anything is looked up; 0: it is "
        "taken as it was asked (the papers, which have one turn). Costs one short question from the second turn on.",
    )


class SelfContainedState(AskedState, StandaloneState):
    """What is read and written: the question u, and what it means on its own."""


@needs(question="read_turn")
async def make_self_contained(state: SelfContainedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Rewrite the question so that it can be understood alone; the first of a conversation is left as it is.

    One that the graph around has said in full is taken from there. Where the model gives no usable answer the question
    stays as it was asked, and the evidence says so.
    """
    if understood := state.get("understood"):
        return {"standalone": understood}
    run = await open_run(runtime, SelfContainedSettings)
    question, most = state["question"], run.settings.recent
    recent = earlier(state["messages"])[-most:] if most else []
    if not recent:
        return {"standalone": question}
    data = {"conversation": transcript(state["messages"][:-1][-most:], run.role), "question": question}
    messages = run.prompt("self_contained").messages(role=run.role.card.name, data=data)
    try:
        written = await write(run.chat, messages, temperature=0, max_tokens=120, quiet=True)
        standalone = clipped(still_a_question(" ".join(written.split()), question), LONGEST)
        evidence = {"question": standalone} if standalone != question else {}
    except UNANSWERED as error:
        standalone, evidence = question, {"question_error": str(error)}
    return {"standalone": standalone, "evidence": evidence, "usage": {"make_self_contained": run.usage}}


def still_a_question(written: str, question: str) -> str:
    """The question in full; small models like to answer it instead.

    Raises:
        UnusableAnswer: what was asked is no question any more.
    """
    if question.endswith(QUESTION_MARKS) and not written.endswith(QUESTION_MARKS):
        msg = "The question could not be said in full: the model answered it."
        raise UnusableAnswer(msg)
    return written
