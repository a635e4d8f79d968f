"""Action generation A = Π(WM'): a reply, an action or a choice, and its end (ID-RAG, Algorithm 1, step 7)."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from dramaturg.models.questions import choose, write, write_message
from dramaturg.nodes.identity.gate import DecisionState, GateSettings, Proposal, proposals_of, turn_of
from dramaturg.nodes.identity.retrieval import SelfImageSettings
from dramaturg.nodes.reply import ReplySettings, section, spoken
from dramaturg.nodes.run import open_run
from dramaturg.prompts import load


class DecisionSettings(SelfImageSettings, GateSettings, ReplySettings):
    """How a decision is made."""


async def act(state: DecisionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Propose what the role says, does, or chooses of the options (5.2: a choice is made without chance).

    It is streamed only without a gate: nobody is to read a line that is then taken back.

    Raises:
        ModelError: the model gave no answer.
    """
    run = await open_run(runtime, DecisionSettings)
    name, percept, proposals = run.role.card.name, state["percept"], proposals_of(state)
    known = {"situation": state["situation"], "self_image": state["self_image"]}
    question = {"question": state["question"]}
    note = state.get("note", "") if proposals else ""  # why the proposal before this one did not pass
    if percept["options"]:
        messages = load("choose_option", run.language).messages(role=name, data=question, **known)
        said = AIMessage(await choose(run.chat, messages, percept["options"]))
    elif percept["observations"] is not None:
        limits = section("directed", note, name, run.language) if note else ""
        messages = load("take_action", run.language).messages(role=name, limits=limits, data=question, **known)
        own = run.settings
        text = await write(run.chat, messages, temperature=own.temperature, max_tokens=own.reply_tokens, quiet=True)
        said = AIMessage(" ".join(text.split()))
    else:
        limited, quiet = {"directed": note}, run.settings.gate
        said = await spoken(run, state, "respond_from_identity", {}, limited, quiet=quiet, **known)
    new: Proposal = {"turn": turn_of(state), "id": said.id, "text": said.text, "verdict": None}
    return {"proposals": [*proposals, new], "usage": {"act": run.usage}}


async def speak_up(state: DecisionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say or do the proposal that passed, the last one."""
    run = await open_run(runtime, DecisionSettings)
    proposals = proposals_of(state)
    return ended(proposals, AIMessage(proposals[-1]["text"], id=proposals[-1]["id"], name=run.role.id))


async def decline(state: DecisionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say in place of what was blocked that the role will not do such a thing; in a simulation, do nothing.

    Raises:
        ModelError: the model gave no answer.
    """
    run = await open_run(runtime, DecisionSettings)
    name, proposals = run.role.card.name, proposals_of(state)
    if state["percept"]["observations"] is not None:
        (only,) = load("hold_back", run.language).messages(role=name)
        return ended(proposals, AIMessage(only.text, name=run.role.id))
    verdict = proposals[-1]["verdict"]
    triple = verdict["triple"] if verdict else None
    data = {"question": state["question"], "statement": triple["sentence"] if triple else ""}
    said = await write_message(
        run.chat,
        load("decline", run.language).messages(role=name, data=data),
        temperature=run.settings.temperature,
        max_tokens=run.settings.reply_tokens,
    )
    return {**ended(proposals, said.model_copy(update={"name": run.role.id})), "usage": {"decline": run.usage}}


def ended(proposals: list[Proposal], said: AIMessage) -> dict[str, Any]:
    """What a decision leaves: the message, and as evidence each proposal with its verdict, where there was a gate."""
    attempts = [{"text": one["text"], **one["verdict"]} for one in proposals if one["verdict"]]
    over = {"messages": [said], "proposals": [], "note": "", "recalled": []}
    if not attempts:
        return over
    return {**over, "evidence": {"gate": {"attempts": attempts, "outcome": attempts[-1]["verdict"]}}}
