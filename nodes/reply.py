"""The reply: what it rests on, gathered by one or several methods, and how the role speaks from it."""

import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Annotated, Any, NamedTuple, NotRequired, TypeVar, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, merge_message_runs
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import tokens_in
from dramaturg.models.errors import ModelError, PromptRefused
from dramaturg.models.questions import LEFT_OUT, THOUGHTS, write_message
from dramaturg.models.reading import encodable
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.own_voice import MOST_STOPS, OwnVoice, stop_words
from dramaturg.nodes.run import RoleContext, Run, by_rules, needs, open_run
from dramaturg.nodes.slips import WORSE, Slip, is_whole, opening, slip_in, without_announcement
from dramaturg.nodes.turn import (
    LONGEST_MESSAGE,
    EvidenceState,
    Question,
    RecalledTalk,
    SummaryState,
    TurnInput,
    Understood,
    WindowSettings,
    clipped,
    earlier_summary,
    recalled_talk,
    shown_name,
    stranger_name,
)
from dramaturg.nodes.wish import wish_in
from dramaturg.prompts import fence, untagged
from dramaturg.stores.names import normal_name

__all__ = ["Grounds", "GroundsInput", "GroundsOutput", "GroundsSettings", "ReplySettings", "in_role", "spoken"]

BESIDE = ("profile", "knowledge")
"""Kinds of grounds that stand in front of a prompt's last section where the prompt has no place for them."""
DIRECTIONS = 1500
"""The most tokens of how the author of a card wants its role to be played."""
LONGEST_STOP = 1_000  # characters
SHOWN = 300  # bytes of what is left out of a line
THOUGHTS_SHOWN = 8_000  # bytes of what was thought before it
BYTES = 4  # of UTF-8 are about a token, in every language


class GroundsSettings(RoleContext):
    """How much a reply may rest on."""

    grounds_tokens: Open[int] = Field(
        default=3000,
        ge=200,
        le=100_000,
        description="The largest number of tokens of everything that a reply is based on.",
    )


class Grounds(TypedDict):
    """What a reply rests on, whichever method gathered it; the grounds of several methods can be joined."""

    texts: dict[str, list[str]]
    """By kind, such as "knowledge", "attributes", "memories", "records", "identity": the most important first."""
    limits: dict[str, str]
    """What limits the reply, by the name of the prompt that says so: "unknown" (what the role cannot know), "silent"
    (what nobody wrote of), "told", "was_said"."""
    asker: str
    """The name of the user's role; empty for a stranger."""
    evidence: dict[str, Any]
    """What the evidence of the turn shows of it."""
    turns: NotRequired[list[str]]
    """The ids of questions of this talk whose exchange is among the texts: it does not come back a second time."""


class GatheredState(TypedDict):
    """What drafts are made from."""

    gathered: Annotated[
        dict[str, Grounds],
        Field(description="The grounds that were gathered in this turn, by who gathered them."),
        operator.or_,
    ]


class GroundsInput(TurnInput):
    """What a graph that gathers grounds takes: the conversation, and its question, said in full where that is known."""

    question: Question
    understood: NotRequired[Understood]


class GroundsOutput(GatheredState, EvidenceState):
    """What it gives, beside what it remembers."""


def grounds_of(
    state: Mapping[str, Any],
    texts: Mapping[str, Sequence[str]],
    *,
    limits: Mapping[str, str] | None = None,
    asker: str = "",
    shown: Sequence[str] = (),
) -> Grounds:
    """Grounds without what is empty in them.

    Args:
        state: of the turn, with its evidence.
        texts: by kind.
        limits: by the name of their prompt.
        asker: the name of the user's role.
        shown: the names under which the evidence of the turn shows this.
    """
    evidence = state.get("evidence") or {}
    return {
        "texts": {kind: kept for kind, all_of in texts.items() if (kept := [one for one in all_of if one.strip()])},
        "limits": {name: text for name, text in (limits or {}).items() if text},
        "asker": asker,
        "evidence": {name: evidence[name] for name in shown if name in evidence},
    }


NO_GROUNDS: Grounds = {"texts": {}, "limits": {}, "asker": "", "evidence": {}}


def ground_text(grounds: Grounds, profile: str) -> str:
    """What a line is to be consistent with: the profile of the role, and all that it rests on.

    What comes back of the conversation is of that, though a prompt shows it apart.
    """
    texts = (text for texts in grounds["texts"].values() for text in texts)
    return "\n\n".join(filter(None, [profile.strip(), *texts, grounds["limits"].get("was_said", "")]))


def joined(parts: Iterable[Grounds]) -> Grounds:
    """The grounds of several methods as one: texts of one kind after each other, each once."""
    texts: dict[str, list[str]] = {}
    limits: dict[str, list[str]] = {}
    whole: Grounds = {"texts": {}, "limits": {}, "asker": "", "evidence": {}, "turns": []}
    for one in parts:
        whole["turns"] += one.get("turns", [])
        for kind, found in one["texts"].items():
            texts.setdefault(kind, []).extend(found)
        for name, text in one["limits"].items():
            limits.setdefault(name, []).append(text)
        whole["asker"] = whole["asker"] or one["asker"]
        whole["evidence"] |= one["evidence"]
    whole["texts"] = {kind: list(dict.fromkeys(found)) for kind, found in texts.items()}
    whole["limits"] = {name: "\n".join(dict.fromkeys(found)) for name, found in limits.items()}
    return whole


def within_budget(grounds: Grounds, tokens: int) -> tuple[Grounds, dict[str, Any]]:
    """The grounds that a prompt has room for: of each kind the most important text first, then the next of each.

    A text that is too long is left out, and shorter ones after it are not; the first of a kind is cut to its share.

    Returns:
        The grounds, and what the evidence says of it: {"tokens", "left_out": {kind: how many texts}}.
    """
    left, kinds = tokens * BYTES, grounds["texts"]
    share = left // max(1, len(kinds))
    kept: dict[str, list[str]] = {kind: [] for kind in kinds}
    for row in zip_longest(*kinds.values()):
        for kind, text in zip(kinds, row, strict=True):
            if text is None:
                continue
            shown = text if kept[kind] else clipped(text, min(share, left))
            if (size := len(shown.encode())) <= left:
                kept[kind].append(shown)
                left -= size
    left_out = {kind: gone for kind, found in kinds.items() if (gone := len(found) - len(kept[kind]))}
    return grounds | {"texts": kept}, {"tokens": tokens - left // BYTES, "left_out": left_out}


class ReplySettings(WindowSettings):
    """How freely and how long a role speaks."""

    temperature: Open[float] = Field(default=0.3, ge=0, le=2, description="Sampling temperature of the reply.")
    reply_tokens: Open[int] = Field(default=250, ge=16, le=8192, description="The largest number of tokens in a reply.")
    redraws: Open[int] = by_rules(
        paper=0,
        ours=2,
        ge=0,
        le=2,
        description="How often a reply that begins with a refusal of the model's maker, the question, or the name of "
        "who speaks is drawn again. The papers' are not. A redraw costs a call; a first sentence is shown when whole.",
    )
    stop: Open[tuple[Annotated[str, Field(min_length=1, max_length=LONGEST_STOP)], ...]] = Field(
        default=(), max_length=4, description="Words before which a reply ends, if the model's server supports it."
    )
    scene: Open[str] = Field(
        default="",
        max_length=LONGEST_MESSAGE,
        description="A description of the current scene; it is shown to the role and not remembered.",
    )


BEGUN = "dramaturg_begun"
"""The key among a message's `additional_kwargs` of a reply to it that was begun, and is to be continued."""


def begun_in(question: AnyMessage) -> str:
    """The reply that was begun to a message, and is to be continued; empty: the reply starts again."""
    begun = question.additional_kwargs.get(BEGUN, "")
    return encodable(begun[:LONGEST_MESSAGE]).rstrip() if isinstance(begun, str) else ""


class AskedState(SummaryState):
    """What every reply reads: the conversation, the summary of what has left its window, and its question."""

    question: Question


S = TypeVar("S", bound=ReplySettings)
T = TypeVar("T")


@needs(question="read_turn")
async def respond_by_name(state: AskedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer with nothing but the role's name and the task (Vanilla, a baseline of RoleRAG 4.1)."""
    run = await open_run(runtime, ReplySettings)
    runtime.stream_writer({"event": "responding", "knowledge": "none"})
    reply, slips = await spoken(run, state, "respond_by_name", NO_GROUNDS)
    return {"messages": [reply], "evidence": slips, "usage": {"respond_by_name": run.usage}}


@needs(question="read_turn")
async def respond_from_profile(state: AskedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the short profile of the role's card (Character profile, a baseline of RoleRAG 4.1)."""
    run = await open_run(runtime, ReplySettings)
    runtime.stream_writer({"event": "responding", "knowledge": "profile"})
    reply, slips = await spoken(run, state, "respond_from_profile", NO_GROUNDS)
    return {"messages": [reply], "evidence": slips, "usage": {"respond_from_profile": run.usage}}


async def spoken(
    run: Run[S],
    state: AskedState,
    name: str,
    grounds: Grounds,
    *,
    data: Mapping[str, str] | None = None,
    quiet: bool = False,
    **values: str,
) -> tuple[AIMessage, dict[str, Any]]:
    """Have the role speak: the conversation so far, then the prompt's last section with what the reply rests on.

    Given are the line and, as evidence, what of it was drawn again (see `in_role`), the wish of the turn ("wish"), and
    what the prompt had no room for ("fitted"): directions that are too long, and what is less important is left out
    until the prompt fits the model's window, or the server takes it.

    The summary and the scene stand in that section and not in messages of their own: there are servers that refuse two
    messages of the user in a row, or one of the model in front of all others. Limits stand where the prompt says
    `$limits`, after the question, or a small model forgets them; the wish of the turn stands there, too, in front of
    them, and beside the scene where a prompt has no such place. A reply that was begun (`BEGUN`) is continued: the
    model writes what comes after it, and the line that is given holds both.

    Args:
        run: of the node that speaks.
        state: the turn.
        name: of the prompt.
        grounds: what the reply rests on; the prompt shows each kind of text under its name, or all as `$grounds`.
        data: more that the prompt shows, fenced; a kind of text that may be missing stands here as "".
        quiet: whether the reply is not streamed.
        values: other values of the prompt.

    Raises:
        ModelError: the model gave no reply.
    """
    recalled = [one for one in state.get("recalled_talk") or [] if one["turn"] not in grounds.get("turns", ())]
    whole = Shown(grounds, state["messages"], recalled, state.get("summary", ""), run.role.card.profile)
    begun, most, tries = begun_in(state["messages"][-1]), math.inf, TRIES
    answer = min(run.settings.reply_tokens, (run.chat.window or math.inf) // 4)
    for shown, is_last in with_last(shorter(whole)):
        asked = prompt_of(run, state, name, shown, data or {}, values)
        fits = (tokens := tokens_in(asked)) <= most and run.chat.has_room(asked, int(answer))
        if not (fits or is_last):
            continue
        try:
            line, evidence = await in_role(run, state, asked, asker=grounds["asker"], quiet=quiet)
        except PromptRefused:
            most, tries = SHORTER * tokens, tries - 1
            if is_last or not tries:
                raise
            continue
        gone, played = left_out(whole, shown), directions_of(run, state, grounds)
        if cut := len(played.encode()) - len(clipped(played, DIRECTIONS * BYTES).encode()):
            gone["directions"] = cut
        fitted = {"fitted": gone} if gone or shown is not whole else {}
        wish = {"wish": text} if (text := wish_in(state["messages"][-1])) else {}
        shown_why = {**evidence, **fitted, **wish, **run.kept_back(cast("Mapping[str, Any]", state).get("evidence"))}
        return line.model_copy(update={"content": continued(begun, line.text)}), shown_why
    raise AssertionError("There is always a last prompt.")


class Shown(NamedTuple):
    """What a prompt shows that can be shortened."""

    grounds: Grounds
    messages: Sequence[AnyMessage]
    recalled: Sequence[RecalledTalk]
    summary: str
    profile: str


TRIES, SHORTER = 3, 0.7
"""How often a prompt that was too long is sent shorter, and by how much where the server does not say its window."""
KEPT_MESSAGES = 5  # the question, and two exchanges before it
LEAST_GROUNDS = 200  # tokens


def shorter(shown: Shown) -> Iterator[Shown]:
    """What a prompt shows, and less and less of it: the role and the question are cut last.

    First go the older messages, then what the reply rests on, down to a few texts, then all messages before the
    question, what comes back of the talk, the summary, and half of the profile, again and again.
    """
    yield shown
    while len(shown.messages) > KEPT_MESSAGES:
        shown = shown._replace(messages=shown.messages[2:])
        yield shown
    budget = sum(len(text.encode()) for texts in shown.grounds["texts"].values() for text in texts) // BYTES
    while budget > LEAST_GROUNDS:
        budget = max(LEAST_GROUNDS, budget * 2 // 3)
        yield shown._replace(grounds=within_budget(shown.grounds, budget)[0])
    shown = shown._replace(grounds=within_budget(shown.grounds, LEAST_GROUNDS)[0], messages=shown.messages[-1:])
    yield shown
    shown = shown._replace(recalled=())
    yield shown
    shown = shown._replace(summary="")
    yield shown
    while len(shown.profile.encode()) > LEAST_GROUNDS:
        shown = shown._replace(profile=clipped(shown.profile, len(shown.profile.encode()) // 2))
        yield shown


def with_last(several: Iterable[T]) -> Iterator[tuple[T, bool]]:
    """Each of some things, and whether it is the last."""
    before: list[T] = []
    for one in several:
        yield from ((earlier_one, False) for earlier_one in before)
        before = [one]
    yield from ((last, True) for last in before)


def left_out(whole: Shown, shown: Shown) -> dict[str, int]:
    """How much is not shown of each: messages, texts of a kind (or not whole), bytes of the summary and the profile."""
    texts, kept = whole.grounds["texts"], shown.grounds["texts"]
    counts = {
        "messages": len(whole.messages) - len(shown.messages),
        "talk": len(whole.recalled) - len(shown.recalled),
        **{kind: sum(text not in kept.get(kind, ()) for text in found) for kind, found in texts.items()},
        "summary": len(whole.summary.encode()) - len(shown.summary.encode()),
        "profile": len(whole.profile.encode()) - len(shown.profile.encode()),
    }
    return {kind: count for kind, count in counts.items() if count}


def prompt_of(
    run: Run[S], state: AskedState, name: str, shown: Shown, data: Mapping[str, str], values: Mapping[str, str]
) -> list[BaseMessage]:
    """The prompt that a reply is asked for with; see `spoken`."""
    role, grounds = run.role.card, shown.grounds
    texts = {kind: "\n\n".join(all_of) for kind, all_of in grounds["texts"].items()}
    values = {"grounds": "\n\n".join(fence(kind, text) for kind, text in texts.items() if text), **values}
    prompt, wish = run.prompt(name), wish_section(run, state)
    *system, last = prompt.messages(
        role=role.name,
        limits=wish + "".join(section(run, part, text) for part, text in grounds["limits"].items() if text),
        data={"profile": shown.profile, "question": state["question"], **data, **texts},
        **values,
    )
    scene = section(run, "scene", run.settings.scene) if run.settings.scene.strip() else ""
    played = directions_of(run, state, grounds)
    directions = section(run, "directions", clipped(played, DIRECTIONS * BYTES)) if played else ""
    beside = "".join(
        section(run, kind, texts[kind]) for kind in BESIDE if texts.get(kind) and not prompt.places & {kind, "grounds"}
    )
    before = earlier_summary(run, shown.summary) + recalled_talk(run, shown.recalled)
    unplaced = "" if "limits" in prompt.places else wish
    last = HumanMessage(before + beside + directions + scene + unplaced + last.text)
    said = [*earlier(shown.messages, run.role.id, stranger_name(run)), last]
    if said[0].type == "ai":
        said[:0] = run.prompt("speak_first").messages()
    if begun := begun_in(state["messages"][-1]):
        said += [AIMessage(untagged(begun)), *run.prompt("go_on").messages()]
    return [*system, *merge_message_runs(said, chunk_separator="\n\n")]


def directions_of(run: Run[S], state: AskedState, grounds: Grounds) -> str:
    """How the author of the role's card wants it to be played, to who asks; empty: nobody has said it."""
    card = run.role.card
    return card.directions(grounds["asker"] or stranger_name(run), state["question"]) if card.card else ""


def continued(begun: str, rest: str) -> str:
    """A reply that was begun, and what follows, without what the model has repeated; Chinese has no space between."""
    if not begun:
        return rest
    rest = rest.strip().removeprefix(begun).strip()
    return begun + ("" if not rest or CHINESE.match(begun[-1]) or CHINESE.match(rest) else " ") + rest


CHINESE = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]")


class Draw(NamedTuple):
    """What a model has written, what is wrong with how it begins, and what is left of it without that."""

    message: AIMessage
    slip: Slip | None
    left: str = ""

    @property
    def badness(self) -> tuple[int, bool]:
        """By which draws are compared."""
        return WORSE.index(self.slip), not self.left


async def in_role(
    run: Run[S], state: AskedState, messages: Sequence[BaseMessage], *, asker: str = "", quiet: bool = False
) -> tuple[AIMessage, dict[str, Any]]:
    """Have a model write what a role says or does, and draw that again where it begins with a slip.

    A user is shown it as it is written, but for its first sentence: that is held back until it is known to be no slip.
    Where all draws slip, the least slip is spoken, as a whole; a name that is announced is cut off if a sentence is
    left. A line ends where it goes on as somebody else of the talk; see `dramaturg.nodes.own_voice`.

    Args:
        run: of the node that speaks.
        state: the turn.
        messages: what the model is asked.
        asker: the name of the user's role, where one is known.
        quiet: whether it is not streamed.

    Returns:
        The line, and the evidence of the turn: "slips" has each draw that slipped, how it began, and whether it was
        dropped, spoken, or cut and spoken, and what was left out where the line had ended; those of drafts before this
        one come first. "thoughts" is what the model thought aloud before the line that is spoken.

    Raises:
        ModelError: the model gave no reply.
    """
    own, card, drawn, error = run.settings, run.role.card, list[Draw](), ""
    names, others = [card.name, *card.aliases], others_in(state["messages"], run.role.id, asker)

    def may_show(text: str, whole: bool) -> bool | None:
        return None if opening(text, whole=whole) is None else not slip_in(text, state["question"], card)

    while len(drawn) <= own.redraws and not (drawn and drawn[-1].slip is None):
        try:
            said = await write_message(
                replace(run.chat, replies=True),
                messages,
                temperature=own.temperature,
                max_tokens=own.reply_tokens,
                quiet=quiet,
                may_show=may_show if own.redraws else None,
                draw=len(drawn),
                stop=list(dict.fromkeys([*own.stop, *stop_words(others, names)]))[:MOST_STOPS],
                voice=partial(OwnVoice, names, others),
            )
        except ModelError as failed:
            if not drawn:
                raise
            error = str(failed)  # there is something that can be said
            break
        slip = slip_in(said.text, state["question"], card) if own.redraws else None
        left = without_announcement(said.text, card) if slip == "announcement" else ""
        drawn.append(Draw(said, slip, left if is_whole(left) else ""))
    best = min(drawn, key=lambda one: one.badness)
    slips = [
        {
            "slip": one.slip,
            "text": opening(one.message.text, whole=True),
            "outcome": "dropped" if one is not best else "cut" if one.left else "spoken",
        }
        for one in drawn
        if one.slip
    ]
    if error:
        slips[-1]["error"] = error
    ended = dict(best.message.response_metadata)
    if left_out := ended.pop(LEFT_OUT, ""):
        slips.append({"slip": "others", "text": clipped(left_out, SHOWN), "outcome": "ended"})
    thoughts = clipped(ended.pop(THOUGHTS, ""), THOUGHTS_SHOWN)
    spoken_text = best.left or best.message.text
    line = best.message.model_copy(update={"name": run.role.id, "content": spoken_text, "response_metadata": ended})
    before = cast("Mapping[str, Any]", state).get("evidence", {}).get("slips", [])
    return line, ({"slips": [*before, *slips]} if slips else {}) | ({"thoughts": thoughts} if thoughts else {})


def others_in(messages: Sequence[AnyMessage], role: str, asker: str) -> list[str]:
    """The names of all in a talk but the role: of whom it answers first, and then of who spoke last."""
    speakers = [shown_name(str(one.name)) for one in reversed(messages) if one.name and one.name != role]
    return list(dict.fromkeys(filter(None, [asker, *speakers])))


def section(run: Run[Any], name: str, text: str) -> str:
    """A text under what its prompt says of it, to stand in front of something."""
    (only,) = run.prompt(name).messages(role=run.role.card.name, data={name: text})
    return f"{only.text}\n\n"


def wish_section(run: Run[Any], state: AskedState) -> str:
    """What the prompt of this turn's reply says of the wish that came with its message; nothing where none did."""
    wish = wish_in(state["messages"][-1])
    return section(run, "wish", wish) if wish else ""


def earlier(messages: Sequence[AnyMessage], role: str = "", stranger: str = "") -> list[BaseMessage]:
    """The conversation before the question, as plain text without tags: clients send all kinds of content blocks.

    A line of somebody else than the role and who asks now has its speaker in front.

    Args:
        messages: the conversation; the last is the question.
        role: the id of the role that answers; empty: every reply is its own.
        stranger: what a user is called of whom nothing is known.
    """
    asks, lines = messages[-1].name, list[BaseMessage]()
    for message in messages[:-1]:
        if message.type not in {"human", "ai"} or not message.text.strip():
            continue
        text, name = untagged(encodable(message.text[:LONGEST_MESSAGE])), message.name
        if message.type == "ai":
            another = bool(role and name) and name != role
            lines.append(HumanMessage(f"{shown_name(str(name))}: {text}") if another else AIMessage(text))
        else:
            another = asks is not None and name is not None and normal_name(name) != normal_name(asks)
            lines.append(HumanMessage(f"{shown_name(str(name)) or stranger}: {text}" if another else text))
    return lines
