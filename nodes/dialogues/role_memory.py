"""The role memory M (DRMR 3.2): what a role remembers of how it stands to the user's role, record by record."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED, ModelError
from dramaturg.models.extracted import Extracted
from dramaturg.models.questions import extract, write
from dramaturg.nodes.dialogues.cast import Cast, cast_of, spelling
from dramaturg.nodes.dialogues.recall import (
    MemoryLimit,
    RankedDialogues,
    as_recalled,
    conversation_text,
    dialogue_evidence,
    dialogue_texts,
    known_in,
    ranked,
)
from dramaturg.nodes.dialogues.relations import TURN, RelationSettings, RelationState, earlier_in, is_talked
from dramaturg.nodes.drafts import DraftState, drafts_of
from dramaturg.nodes.edited import entries
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import ReplySettings
from dramaturg.nodes.run import Run, by_rules, needs, open_run
from dramaturg.nodes.turn import SummarySettings, leaving_window, notes_in, transcript, window_outcome

Step = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]
"""It is thought, and not kept: a record without it is one."""
A_TOKEN = 6  # bytes of UTF-8: a record that keeps to its tokens is never cut
MOST_SOURCES = 200  # dialogues that a record is said to come from


class RoleMemorySettings(RelationSettings, ReplySettings):
    """How much a role remembers."""

    memory_dialogues: Open[int] = Field(
        default=2, ge=1, le=50, description="Dialogues that a record of the role memory is made from (the paper's K)."
    )
    record_tokens: Open[int] = Field(
        default=160, ge=16, le=2000, description="The largest number of tokens of a record."
    )
    memory_length: Open[int] = Field(
        default=4000,
        ge=200,
        le=100_000,
        description="Characters of all records; where they are longer, the oldest become one.",
    )

    talk_records: Open[bool] = by_rules(
        paper=False,
        ours=True,
        description="Whether what leaves the window of a conversation becomes a record of the role memory, which comes "
        "later than the dialogues: a call whenever messages leave. So does what the same person (known_as) has said in "
        "earlier talks with the role: a call for each, when the next one begins. The paper's records come from "
        "dialogues alone: a role never makes peace.",
    )


class TalkRecordSettings(RoleMemorySettings, SummarySettings):
    """What becomes a record, and when it leaves the window."""


class WrittenRecord(Extracted):
    """The steps of a chain of thought and then the record, in the order in which a model is to think (MemBuild)."""

    wants: Step = ""
    scenes: Step = ""
    bond: Step = ""
    others: Step = ""
    record: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1200)]


class RoleRecord(TypedDict):
    """A record m of the role memory: whose it is and of whom, the turn that made it, and what it was made from."""

    role: str
    user_role: str
    turn: str
    text: str
    dialogues: list[str]


MemoryRecords = Annotated[
    list[RoleRecord], Field(description="The records of the role memory M; they live on from turn to turn.")
]


class RoleMemoryState(RelationState, DraftState):
    """What the role memory reads and writes."""

    memory_records: NotRequired[MemoryRecords]
    recorded: Annotated[bool, Field(description="Whether this turn has written a record.")]


@needs(dialogues="recall_dialogues", clique="find_clique")
async def build_memory(state: RoleMemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make a record, m = MemBuild(C', P_m, P_u), and append it to M (Equation 4).

    C' are the K dialogues on the clique's edges that are nearest to the conversation and in no record yet. Those of the
    relation graph come first; a revision reads on in all of D, which costs no further score. Where there are none,
    there is nothing to add. Where the model gives no record, M stays as it is, and the evidence says why.
    """
    run = await open_run(runtime, RoleMemorySettings)
    cast = await cast_of(run, state.get("dialogues_version"))
    records, limit = records_in(state), limit_of(run, cast)
    found, read_on = await events_of(run, state, cast)
    if not found:
        return {"recorded": False, "memory_limit": limit}
    events = [dialogue for dialogue, _ in found]
    texts = await dialogue_texts(run, cast, events, conversation_text(state["messages"], cast))
    met = bool(state["clique"]) or bool(earlier_in(state)) or any(map(is_talked, of_user(records, cast)))
    try:
        text, dropped = await built(run, cast, "\n\n".join(texts), met=met)
    except UNANSWERED as error:
        failed = {"recorded": False, "memory_limit": limit, "evidence": {"memory_error": str(error)}}
        return {**failed, "usage": {"build_memory": run.usage}}
    turn = str(state["messages"][-1].id)
    after = appended(records, new_record(cast, turn, text, [one.id for one in events]))
    runtime.stream_writer({"event": "record", "text": text})
    more = dict[str, Any]()
    evidence: dict[str, Any] = {"record_dropped": dropped} if dropped else {}
    if read_on:
        more = {"dialogues": [*state["dialogues"], *as_recalled(found, len(drafts_of(state)))]}
        evidence["dialogues"] = dialogue_evidence(more["dialogues"], cast.store)
        runtime.stream_writer({"event": "dialogues", "dialogues": evidence["dialogues"]})
    return {
        "recorded": True,
        "memory_limit": limit,
        "memory_records": after,
        **more,
        "evidence": {**evidence, "records": [one for one in of_user(after, cast) if one["turn"] == turn]},
        "usage": {"build_memory": run.usage},
    }


async def built(run: Run[RoleMemorySettings], cast: Cast, events: str, *, met: bool) -> tuple[str, list[str]]:
    """The text of a record, MemBuild(C', P_m, P_u), and what was left out of the answer.

    Args:
        run: of the node that asks.
        cast: who speaks.
        events: what has happened between the two, C'.
        met: whether they have spoken with each other.

    Raises:
        ModelError: the model gives none.
    """
    card, user = cast.card, cast.user
    (bond,) = run.prompt("met" if met else "never_met").messages(role=card.name, user=user.name)
    data = {"profile": card.profile, "other": user.profile, "events": events}
    messages = run.prompt("build_record").messages(role=card.name, user=user.name, bond=bond.text, data=data)
    written = await extract(run.chat, messages, WrittenRecord, temperature=run.settings.temperature)
    return notes_in(written.record, run.settings.record_tokens * A_TOKEN), list(written.dropped)


def limit_of(run: Run[RoleMemorySettings], cast: Cast) -> MemoryLimit:
    """Whose role memory a turn adds to, and how long it may be."""
    return {"role": cast.role.id, "user_role": cast.user.known_as, "length": run.settings.memory_length}


async def events_of(run: Run[RoleMemorySettings], state: RoleMemoryState, cast: Cast) -> tuple[RankedDialogues, bool]:
    """C', the dialogues of a record, and whether they are none of the relation graph's: a revision reads on in D.

    For two who never spoke with each other they are of those in which the role itself speaks: there is nothing else to
    tell of.
    """
    clique, role = {*state["clique"]}, cast.card.name
    told = {dialogue for record in of_user(records_in(state), cast) for dialogue in record["dialogues"]}

    def unread(near: RankedDialogues) -> RankedDialogues:
        found = [one for one in near if one[0].id not in told]
        if clique:
            found = [one for one in found if any({*pair} <= clique for pair in one[0].pairs)]
        else:
            found = [one for one in found if role in one[0].speakers]
        return found[: run.settings.memory_dialogues]

    known = sorted(known_in(state), key=lambda one: -one["similarity"])
    events = unread([(cast.store.get(one["dialogue"]), one["similarity"]) for one in known])
    if events or not drafts_of(state):
        return events, False
    said = conversation_text(state["messages"], cast)
    return unread(await ranked(cast, await run.embedder(), said)), True


async def record_talk(state: RoleMemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make a record of what leaves the window, so that M knows how the two have come to stand in this talk.

    The paper's M comes from dialogues alone (Equation 4). This record has the turns as its dialogues; it is of this
    branch, as all of M is, and stands last: what came later holds. The two are joined by an edge of G then, also if
    they never speak with each other in the dialogues. It comes after the reply, beside the summary; where the model
    gives no record, M stays as it is, and the evidence says why.
    """
    run = await open_run(runtime, TalkRecordSettings)
    cast = await cast_of(run, state.get("dialogues_version"))
    user = cast.user
    left = said_with(leaving_window(state["messages"], run.settings), user.known_as)
    if not (run.settings.talk_records and run.settings.role_memory and left):
        return {}
    try:
        text, dropped = await built(run, cast, transcript(left, run.role, user.name), met=True)
    except ModelError as error:  # also where the model cannot be reached: the turn has its reply
        return {"evidence": {"talk_record_error": str(error)}, "usage": {"record_talk": run.usage}}
    (since,) = run.prompt("since_then").messages(user=user.name, text=text)
    turns = sources([f"{TURN}{one.id}" for one in left if one.type == "human"])
    record = new_record(cast, str(state["messages"][-2].id), since.text, turns)
    edge = talked_edge(state, sorted((user.speaker or user.name, cast.card.name)), turns) if user.known_as else {}
    cut = {"record_dropped": dropped} if dropped else {}
    return {
        **edge,
        "memory_limit": limit_of(run, cast),
        "memory_records": appended(records_in(state), record),
        "evidence": {"talk_records": [record], **cut},
        "usage": {"record_talk": run.usage},
    }


def said_with(messages: Sequence[AnyMessage], user: str) -> list[AnyMessage]:
    """What a user has said, by the name that came with it, and what was answered."""
    found, theirs = list[AnyMessage](), False
    for one in messages:
        if one.type == "human":
            theirs = spelling(str(one.name or "")) == spelling(user)
        if theirs:
            found.append(one)
    return found


def talked_edge(state: RoleMemoryState, roles: list[str], turns: list[str]) -> dict[str, Any]:
    """The relations with the edge that the talk has made; of two who speak in the dialogues there is one already."""
    before: list[Any] = list(state.get("relations") or [])
    same = next((one for one in before if one["roles"] == roles), None)
    if same and not is_talked(same):
        return {}
    told = sources([*(same["dialogues"] if same else ()), *turns])
    edge = {"roles": roles, "score": None, "reason": "", "dialogues": told, "error": ""}
    return {"relations": [*(one for one in before if one is not same), edge]}


def sources(dialogues: Sequence[str]) -> list[str]:
    """What something is from, each once: the latest dialogues, and of turns the first and the last."""
    each = list(dict.fromkeys(dialogues))
    turns = [one for one in each if one.startswith(TURN)]
    return [*[one for one in each if one not in turns][-MOST_SOURCES:], *turns[:1], *turns[1:][-1:]]


def talk_outcome(state: RoleMemoryState) -> Literal["full", "room", "long"]:
    """Whether messages leave the window, of which a record is made; else whether the records are too long."""
    full = state.get("memory_limit") and window_outcome(state) == "full"  # without a limit there is no role memory
    return "full" if full else memory_outcome(state)


async def condense_memory(state: RoleMemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make one record of the oldest, so that all of them are about half as long as they may be.

    It comes after the reply, which does not wait for it. Where the model gives no record they stay as they are, and it
    is tried again after the next turn.
    """
    run = await open_run(runtime, RoleMemorySettings)
    cast = await cast_of(run, state.get("dialogues_version"))
    records = records_in(state)
    oldest = too_old(of_user(records, cast), run.settings.memory_length)
    if len(oldest) < 2:
        return {}
    most, temperature = run.settings.record_tokens, run.settings.temperature
    data = {"records": "\n\n".join(one["text"] for one in oldest)}
    messages = run.prompt("merge_records").messages(role=cast.card.name, user=cast.user.name, data=data)
    try:
        written = await write(run.chat, messages, temperature=temperature, max_tokens=most, quiet=True)
        text = notes_in(written, most * A_TOKEN)
    except ModelError as error:  # also where the model cannot be reached: the turn has its reply
        return {"evidence": {"condense_error": str(error)}, "usage": {"condense_memory": run.usage}}
    dialogues = sources([dialogue for one in oldest for dialogue in one["dialogues"]])
    after = [new_record(cast, oldest[-1]["turn"], text, dialogues)]
    for one in (one for one in records if one not in oldest):
        after = appended(after, one)
    condensed = {"records": len(oldest), "text": text}
    return {"memory_records": after, "evidence": {"condensed": condensed}, "usage": {"condense_memory": run.usage}}


def memory_outcome(state: RoleMemoryState) -> Literal["room", "long"]:
    """Whether the records are longer than they may be together; one alone cannot become fewer."""
    limit = state.get("memory_limit")
    if not limit:
        return "room"
    records = records_of(records_in(state), limit["role"], limit["user_role"])
    return "long" if len(records) > 1 and length_of(records) > limit["length"] else "room"


def records_in(state: Mapping[str, Any]) -> list[RoleRecord]:
    """The records of a state; one that somebody has written there may say nothing of where it is from."""
    return entries(state, "memory_records", RoleRecord, turn="", dialogues=[])


def of_user(records: Sequence[RoleRecord], cast: Cast) -> list[RoleRecord]:
    """The records that this role has of the user, of the time of the turn: another one may have spoken on this thread.

    A record that was made of a dialogue that is later than that, when it was not, waits until then.
    """
    found = records_of(records, cast.role.id, cast.user.known_as)
    return [one for one in found if cast.store.later.isdisjoint(one["dialogues"])]


def records_of(records: Sequence[RoleRecord], role: str, user_role: str) -> list[RoleRecord]:
    """The records that a role has of somebody, however that name is spelled."""
    wanted = role, spelling(user_role)
    return [one for one in records if (one["role"], spelling(one["user_role"])) == wanted]


def new_record(cast: Cast, turn: str, text: str, dialogues: list[str]) -> RoleRecord:
    """A record of what the role remembers of the user."""
    role, user = cast.role.id, cast.user.known_as
    return {"role": role, "user_role": user, "turn": turn, "text": text, "dialogues": dialogues}


def appended(records: Sequence[RoleRecord], new: RoleRecord) -> list[RoleRecord]:
    """Records with a new one; one that says the same is there once, with the dialogues of both."""

    def same(one: RoleRecord) -> bool:
        names = spelling(one["user_role"]) == spelling(new["user_role"])
        return names and (one["role"], one["text"]) == (new["role"], new["text"])

    before = [one for one in records if same(one)]
    dialogues = dict.fromkeys(dialogue for one in [*before, new] for dialogue in one["dialogues"])
    return [*(one for one in records if not same(one)), {**new, "dialogues": list(dialogues)}]


def too_old(records: Sequence[RoleRecord], most: int) -> list[RoleRecord]:
    """The oldest records, at least two, so that what is left is half of what may be, if it can be."""
    for number in range(2, len(records)):
        if length_of(records[number:]) <= most / 2:
            return list(records[:number])
    return list(records)


def length_of(records: Sequence[RoleRecord]) -> int:
    """Characters of records."""
    return sum(len(one["text"]) for one in records)
