"""How the two have come to stand in earlier talks: records of what the same person has said there to this role.

The paper's role memory knows dialogues alone (DRMR 3.2), and its talks know nothing of each other. A record is kept
with the last exchange that it is made of: it is of that one's branch, and is forgotten with any of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.asking import together
from dramaturg.nodes.dialogues.cast import Cast, cast_of, spelling
from dramaturg.nodes.dialogues.relations import TURN, EarlierRecord
from dramaturg.nodes.dialogues.role_memory import RoleMemoryState, TalkRecordSettings, built, said_with
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.talk.memory import known_as
from dramaturg.nodes.turn import talk_records, transcript
from dramaturg.stores.conversations.talk import Standing, TalkRecord, TalkRecords, TalksOf

TALKS = 12  # of the same person, that are looked at: the latest
ASKED = 3  # stretches that the model is asked about in one turn
LONGEST = 20  # exchanges of a stretch


class Stretch(NamedTuple):
    """Exchanges of an earlier talk that follow each other, and what a record says of them; empty: there is none yet."""

    kept: TalkRecords
    exchanges: Sequence[TalkRecord]
    text: str

    def said_by(self, user: str) -> list[AnyMessage]:
        """What a user's role has said in them, and what was answered."""
        lines = [line for one in self.exchanges for line in one.said if line.text]
        kinds = {"human": HumanMessage, "ai": AIMessage}
        return said_with([kinds[line.who](line.text, id=line.id, name=line.name) for line in lines], user)


@needs(dialogues="recall_dialogues")
async def recall_standing(state: RoleMemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Bring back how the two have come to stand in earlier talks of the same person, the latest that there is room for.

    What no record is made of yet, since it never left the window of its talk, becomes one now: a call, which the draft
    waits for, and which is made once. All take half of the characters of M at most. Where the model gives no record,
    the talk counts for nothing in this turn, and the evidence says why.

    Raises:
        StorageError: the store cannot be read.
    """
    run = await open_run(runtime, TalkRecordSettings)
    own, kept, person = run.settings, talk_records(runtime, run.settings), known_as(run.settings)
    if not (own.talk_records and own.role_memory and kept and person):
        return {"earlier_records": []}
    cast, of_person = await cast_of(run, state.get("dialogues_version")), TalksOf(kept.store, kept.role, person)
    await of_person.begin(kept.thread, "")  # who forgets what comes back looks here, too
    talks = [
        (TalkRecords(kept.store, kept.role, one.thread), one.head) for one in await of_person.others(kept.thread, TALKS)
    ]
    branches = await together(*(there.branch(head) for there, head in talks))
    told = zip(talks, branches, strict=True)
    found = [one for (there, _), branch in told for one in stretches(there, branch, cast.user.known_as)]
    found = with_room(found, own.memory_length // 2)
    lacking = [at for at, one in enumerate(found) if not one.text][-ASKED:]
    answers = await together(*(recorded(run, cast, found[at]) for at in lacking))
    for at, (text, _) in zip(lacking, answers, strict=True):
        found[at] = found[at]._replace(text=text)
    shown = [earlier_record(run, cast, one) for one in with_room(found, own.memory_length // 2) if one.text]
    evidence: dict[str, Any] = {"earlier_records": shown} if shown else {}
    if errors := [error for _, error in answers if error]:
        evidence["earlier_records_error"] = errors[-1]
    return {"earlier_records": shown, "evidence": evidence, "usage": {"recall_standing": run.usage}}


def stretches(kept: TalkRecords, branch: Sequence[TalkRecord], user: str) -> list[Stretch]:
    """A talk in the stretches that records are made of, and between them what none is made of yet."""
    found, until, at = list[Stretch](), len(branch), len(branch)

    def bare(first: int) -> Iterator[Stretch]:
        for begin in range(first, until, LONGEST):
            yield Stretch(kept, branch[begin : min(until, begin + LONGEST)], "")

    while at:
        standing = standing_in(branch[at - 1], user)
        if standing is None:
            at -= 1
            continue
        first = max(0, at - standing.exchanges)
        found[:0] = [Stretch(kept, branch[first:at], standing.text), *bare(at)]
        until = at = first
    return [one for one in (*bare(0), *found) if one.text or is_said_by(user, one.exchanges)]


def is_said_by(user: str, exchanges: Sequence[TalkRecord]) -> bool:
    """Whether a user's role has said something of this."""
    names = {line.name for one in exchanges for line in one.said if line.who == "human" and line.text}
    return any(spelling(name or "") == spelling(user) for name in names)


def standing_in(record: TalkRecord, user: str) -> Standing | None:
    """How the role stands to a user's role since an exchange, if that was written down with it."""
    return next((one for one in record.standings if spelling(one.user_role) == spelling(user)), None)


def with_room(found: Sequence[Stretch], most: int) -> list[Stretch]:
    """The latest, whose records have so many characters together; those without one are counted when they have it."""
    for number, one in enumerate(reversed(found)):
        if (most := most - len(one.text)) < 0:
            return list(found[len(found) - number :])
    return list(found)


async def recorded(run: Run[TalkRecordSettings], cast: Cast, stretch: Stretch) -> tuple[str, str]:
    """The record of a stretch, which is kept with it, and why there is none; another process may have made it."""
    size, said = len(stretch.exchanges), stretch.said_by(cast.user.known_as)
    for last in await stretch.kept.get([stretch.exchanges[-1].id]):
        if (known := standing_in(last, cast.user.known_as)) and known.exchanges == size:
            return known.text, ""
    try:
        text, _ = await built(run, cast, transcript(said, run.role, cast.user.name), met=True)
    except UNANSWERED as error:
        return "", str(error)
    made = Standing(user_role=cast.user.known_as, text=text, exchanges=size)
    await stretch.kept.save_standing(stretch.exchanges, made)
    return text, ""


def earlier_record(run: Run[TalkRecordSettings], cast: Cast, stretch: Stretch) -> EarlierRecord:
    """A record as M shows it, with the talk and the turns that it is from."""
    (since,) = run.prompt("since_then").messages(user=cast.user.name, text=stretch.text)
    turns = [f"{TURN}{one.id}" for one in stretch.said_by(cast.user.known_as) if one.type == "human"]
    return {"text": since.text, "talk": stretch.kept.thread, "dialogues": turns}
