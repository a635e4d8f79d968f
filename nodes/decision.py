"""Action generation A = Π(WM'): a reply, a deed or a choice, and that it is done (ID-RAG, Algorithm 1, step 7)."""

from collections.abc import Mapping
from typing import Any, TypeVar

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from dramaturg.models.account import Usage
from dramaturg.models.questions import choose, write, write_message
from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.identity_context import ContextSettings
from dramaturg.nodes.identity_gate import GateSettings
from dramaturg.nodes.proposals import DecisionState, Proposal, proposals_of, turn_of
from dramaturg.nodes.respond import ReplySettings, section, spoken
from dramaturg.prompts import load


class DecisionSettings(ContextSettings, GateSettings, ReplySettings):
    """How a decision is made."""


D = TypeVar("D", bound=DecisionSettings)


async def act(state: DecisionState, runtime: Runtime[D]) -> dict[str, Any]:
    """Propose what the role says, does or chooses.

    It is streamed only where no gate stands before it: nobody shall read a line that is then taken back.

    Raises:
        ModelError: the model gave no answer.
    """
    context = settings(runtime, DecisionSettings)
    if state["percept"]["options"]:
        text, usage = await chosen(state, context)
        message = AIMessage(text)
    elif state["percept"]["observations"] is not None:
        text, usage = await deed(state, context)
        message = AIMessage(text)
    else:
        message, usage = await reply(state, context)
    new: Proposal = {"turn": turn_of(state), "id": message.id, "text": message.text, "verdict": None}
    return {"proposals": [*proposals_of(state), new], "usage": {"act": usage}}


async def speak_up(state: DecisionState, runtime: Runtime[D]) -> dict[str, Any]:
    """Do what passed: the last proposal is what the role says or does."""
    context = settings(runtime, DecisionSettings)
    role = await role_of(context)
    proposals = proposals_of(state)
    said = AIMessage(proposals[-1]["text"], id=proposals[-1]["id"], name=role.id)
    return {"messages": [said], **over(proposals)}


async def decline(state: DecisionState, runtime: Runtime[D]) -> dict[str, Any]:
    """Say in place of what was blocked that the role will not do such a thing; in a simulation, do nothing.

    Raises:
        ModelError: the model gave no answer.
    """
    context = settings(runtime, DecisionSettings)
    role = await role_of(context)
    *before, last = proposals_of(state)
    chat, language = await respondent_of(context, role), language_of(context, role)
    if state["percept"]["observations"] is not None:
        (only,) = load("hold_back", language).messages(role=role.card.name)
        return {"messages": [AIMessage(only.text, name=role.id)], **over([*before, last])}
    ground = last["verdict"]["triple"] if last["verdict"] else None
    data = {"question": state["question"], "statement": ground["sentence"] if ground else ""}
    said = await write_message(
        chat,
        load("decline", language).messages(role=role.card.name, data=data),
        temperature=context.temperature,
        max_tokens=context.reply_tokens,
    )
    usage = {"decline": chat.account.usage()}
    return {"messages": [said.model_copy(update={"name": role.id})], "usage": usage, **over([*before, last])}


async def reply(state: DecisionState, context: DecisionSettings) -> tuple[AIMessage, Usage]:
    """What the role says in a conversation."""
    return await spoken(
        context,
        state,
        "respond_from_identity",
        {},
        told(state),
        quiet=context.gate,
        situation=state["situation"],
        self_image=state["self_image"],
    )


async def deed(state: DecisionState, context: DecisionSettings) -> tuple[str, Usage]:
    """What the role does in a simulation."""
    role = await role_of(context)
    chat, language = await respondent_of(context, role), language_of(context, role)
    limits = "".join(section(name, text, role.card.name, language) for name, text in told(state).items() if text)
    messages = load("take_action", language).messages(
        role=role.card.name, limits=limits, data={"question": state["question"]}, **what_is_known(state)
    )
    text = await write(chat, messages, temperature=context.temperature, max_tokens=context.reply_tokens, quiet=True)
    return " ".join(text.split()), chat.account.usage()


async def chosen(state: DecisionState, context: DecisionSettings) -> tuple[str, Usage]:
    """What the role chooses, exactly one of the options (5.2: a choice is made without chance)."""
    role = await role_of(context)
    chat, language = await respondent_of(context, role), language_of(context, role)
    messages = load("choose_option", language).messages(
        role=role.card.name, data={"question": state["question"]}, **what_is_known(state)
    )
    return await choose(chat, messages, state["percept"]["options"]), chat.account.usage()


def what_is_known(state: DecisionState) -> dict[str, str]:
    """WM', as prompts show it."""
    return {"situation": state["situation"], "self_image": state["self_image"]}


def told(state: DecisionState) -> Mapping[str, str]:
    """Why the proposal before this one did not pass."""
    return {"directed": state.get("note", "")} if proposals_of(state) else {}


def over(proposals: list[Proposal]) -> dict[str, Any]:
    """What a decision leaves: nothing of its making but the evidence of the gate, where it went through one."""
    gone = {"proposals": [], "note": "", "recalled": []}
    return {**gone, "evidence": {"gate": gate_evidence(proposals)}} if proposals[0]["verdict"] else gone


def gate_evidence(proposals: list[Proposal]) -> dict[str, Any]:
    """Each proposal with the verdict on it, and how it ended."""
    attempts = [{"text": one["text"], **one["verdict"]} for one in proposals if one["verdict"]]
    return {"attempts": attempts, "outcome": attempts[-1]["verdict"]}
