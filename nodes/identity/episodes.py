"""Episodic memory M and working memory WM (ID-RAG, Algorithm 1, steps 2 and 3).

What was said is in M as the records of the talk have it (`TalkRecords`): the state holds what they do not, such as what
a program brings. Where no talk is kept, as by the paper's rules or without a store, it holds all of M.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from math import nan
from typing import Annotated, Any, NotRequired

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from dramaturg.nodes.edited import entries
from dramaturg.nodes.identity.perception import DecisionInput, PerceptionState, is_reply, parse_time, search_text
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import Run, by_rules, needs, open_run, settings
from dramaturg.nodes.text.recalled import RecalledSettings, passages_near, passages_of, within_recalled
from dramaturg.nodes.turn import shown_name, stranger_name, talk_records
from dramaturg.prompts import fence
from dramaturg.stores.conversations.talk import TalkRecord, TalkRecords
from dramaturg.stores.documents.forms import Memory
from dramaturg.stores.documents.secrets import is_told
from dramaturg.stores.index.folder import left_out_of
from dramaturg.stores.index.vectors import unit_rows
from dramaturg.stores.role import Role

DECAY = 0.995  # of recency, an hour

Floats = NDArray[np.float64]


class EpisodeSettings(RecalledSettings):
    """Which memories come back, how many are kept, and what else a working memory holds."""

    recalled_episodes: Open[int] = Field(
        default=25, ge=1, le=200, description="The number of memories that are recalled (k in the paper)."
    )
    decay: Open[float] = Field(default=DECAY, gt=0, le=1, description="The factor by which recency decays per hour.")
    kept_episodes: Open[int] = Field(
        default=200,
        ge=0,
        le=5000,
        description="The largest number of memories that a conversation adds; the oldest are dropped. 0: none.",
    )
    planning: Open[bool] = by_rules(
        paper=True,
        ours=False,
        description="Whether what is ahead is planned before each deed, and the working memory holds the plan: a call "
        "a deed. The paper's agents perceive, plan and act; without, deeds follow from memories alone.",
    )


class Episode(TypedDict):
    """A memory of what has happened: when (an ISO date, or empty), and how important it is, from 1 to 10."""

    id: str
    at: str
    text: str
    """In the state: empty where the records of the talk have it, under the id of a message."""
    importance: float | None


Episodes = Annotated[
    list[Episode],
    Field(
        description="The memories of this conversation, the newest last, M, as far as the records of the talk do not "
        "have them; they live on."
    ),
]


Situation = Annotated[str, Field(description="What is remembered and perceived, as prompts show it: WM.")]


Updates = Annotated[bool, Field(description="Whether a turn may change the identity 𝒞.")]


class EpisodeInput(DecisionInput):
    """The input of a decision: messages, and beside them what a program brings, such as memories."""

    episodes: NotRequired[SkipJsonSchema[Episodes]]


class EpisodeState(PerceptionState):
    """What recalling reads and writes."""

    episodes: NotRequired[Episodes]
    recalled_episodes: Annotated[list[Episode], Field(description="The memories that came back, the oldest first, R.")]
    situation: Situation
    plans_ahead: Annotated[bool, Field(description="Whether a plan is made before this decision.")]
    updates: Updates


@needs(question="read_turn", percept="perceive")
async def recall_episodes(state: EpisodeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall the most salient memories, R = σ(M, o), in the order in which they happened, as many as there is room for.

    Memories of this conversation whose messages stand in the prompt anyway, as before a reply, are not recalled. A long
    one is as relevant as its nearest passage, and such passages are shown of it.
    """
    run = await open_run(runtime, EpisodeSettings)
    shown = {str(message.id) for message in (state["messages"] if is_reply(state) else state["messages"][-1:])}
    own = [one for one in await conversation_episodes(state, run, kept_talk(runtime, run)) if one["id"] not in shown]
    stream = [*await asyncio.to_thread(known_episodes, run), *own]
    near, model = dict[str, float](), await run.embedder()
    if stream:
        vector = unit_rows([await model.query(search_text(state))])[0]
        near = await passages_near(model, vector, [one["text"] for one in stream])
    relevance = [max(near[one] for one in passages_of(episode["text"])) for episode in stream]
    ranked = rank_episodes(
        relevance,
        ages(stream, parse_time(state["percept"]["now"])),
        [nan if one["importance"] is None else one["importance"] for one in stream],
        k=run.settings.recalled_episodes,
        decay=run.settings.decay,
    )
    texts = within_recalled([stream[at]["text"] for at, _ in ranked], near, run.settings.recalled_tokens)
    found = {at: text for (at, _), text in zip(ranked, texts, strict=True) if text is not None}
    runtime.stream_writer({"event": "recalled"})
    episodes = [
        {
            **stream[at],
            "text": found[at],
            **({"in_part": True} if found[at] != stream[at]["text"] else {}),
            "salience": round(salience, 4),
            "similarity": round(relevance[at], 4),
        }
        for at, salience in ranked
        if at in found
    ]
    left_out = {"episodes_left_out": len(ranked) - len(found)} if len(found) < len(ranked) else {}
    recalled = [{**stream[at], "text": found[at]} for at in sorted(found)]
    kept_back = run.kept_back(state.get("evidence"))
    return {"recalled_episodes": recalled, "evidence": {"episodes": episodes, **left_out, **kept_back}}


def episodes_in(state: Mapping[str, Any]) -> list[Episode]:
    """What the state holds of M; what somebody has written into it may have an id and a text alone."""
    return entries(state, "episodes", Episode, at="", text="", importance=None)


def kept_talk(runtime: Runtime[Any], run: Run[EpisodeSettings]) -> TalkRecords | None:
    """Where what was said stays as long as the state does; None: the state holds it."""
    return talk_records(runtime, run.settings) if runtime.store is not None else None


async def said_of(kept: TalkRecords, state: EpisodeState, run: Run[EpisodeSettings]) -> list[TalkRecord]:
    """The latest records of this branch, as many as a conversation adds memories."""
    head = state.get("talk_head", "")
    return list(islice((await kept.read(head)).back(head), run.settings.kept_episodes))[::-1]


async def conversation_episodes(
    state: EpisodeState, run: Run[EpisodeSettings], kept: TalkRecords | None
) -> list[Episode]:
    """The memories of this conversation: those that the state holds, and of what was said since, the newest last.

    Raises:
        StorageError: the records cannot be read.
    """
    held = episodes_in(state)
    records = await said_of(kept, state, run) if kept else []
    said, dates = messages_in(records), {one["id"]: one["at"] for one in held}
    stranger = stranger_name(run)
    heard = [episode_of(record, dates, run.role, stranger) for record in records]
    return [*(one for one in held if one["text"] and one["id"] not in said), *(one for one in heard if one)]


def messages_in(records: Sequence[TalkRecord]) -> set[str]:
    """The ids of what was said in records."""
    return {line.id for record in records for line in record.said}


def episode_of(record: TalkRecord, dates: Mapping[str, str], role: Role, stranger: str) -> Episode | None:
    """The memory of an exchange: the last question and the last reply in it; None: one was never said, or forgotten."""
    asked = next((line for line in reversed(record.said) if line.who == "human" and line.text), None)
    reply = next((line for line in reversed(record.said) if line.who == "ai" and line.text), None)
    if asked is None or reply is None:
        return None
    name = role.card.name if reply.name in {None, "", role.id} else shown_name(str(reply.name))
    text = exchange_text(asked.name or stranger, asked.text, name, reply.text)
    return {"id": asked.id, "at": dates.get(asked.id, ""), "text": text, "importance": None}


@lru_cache(maxsize=5000)  # of a conversation the same is looked at turn after turn
def exchange_text(asker: str, question: str, role: str, reply: str) -> str:
    """What was said, each on one line: nothing of it can look like another memory, or like words of the other one."""
    return "\n".join(f"{name}: {' '.join(text.split())}" for name, text in ((asker, question), (role, reply)))


def known_episodes(run: Run[EpisodeSettings]) -> list[Episode]:
    """The memories that a role has before anything happens, as far as they are known at its time; blocks."""
    lines, as_of = run.role.placed_memories(), run.as_of
    told = [(place, one) for place, one in lines if is_told(one.known_to, run.role.own_names)]
    found = formative_episodes(told)
    run.keep_untold(memories=len(lines) - len(found))
    if as_of is None:
        return found
    known = [as_of.knows_text(one["at"]) for one in found]
    run.keep_back(memories=left_out_of(known))
    return [one for one, is_known in zip(found, known, strict=True) if is_known]


def formative_episodes(lines: Iterable[tuple[str, Memory]]) -> list[Episode]:
    """The memories that a role has before anything happens, M₀: its `memories.jsonl`, with their places."""
    episodes: list[Episode] = []
    for place, line in lines:
        given = (line.model_extra or {}).get("importance")
        episodes.append(
            {
                "id": place,
                "at": line.when or "",
                "text": line.text or f"{line.question} {line.answer}",
                "importance": float(given) if isinstance(given, int | float) and 1 <= given <= 10 else None,
            }
        )
    return episodes


def ages(stream: Sequence[Episode], now: datetime | None) -> list[float]:
    """Ages of memories in hours; where a date or the time is not known, how many memories came after."""
    dates = [date_of(one["at"]) for one in stream] if now else []
    if now is None or None in dates:
        return [float(len(stream) - 1 - at) for at in range(len(stream))]
    return [max((now - date).total_seconds() / 3600, 0.0) for date in dates if date]


def rank_episodes(
    relevance: ArrayLike,
    age: ArrayLike,
    importance: ArrayLike,
    *,
    k: int = 25,
    decay: float = DECAY,
    weights: Sequence[float] = (1.0, 1.0, 1.0),
) -> list[tuple[int, float]]:
    """Return the k most salient memories as (index, salience), the most salient first; ties in the order of memories.

    Salience is the weighted mean of three terms that are scaled to 0 … 1 over all memories (0 where all are the same):
    relevance, recency `decay ** age`, and importance. A term that a memory lacks is left out of its mean.

    Args:
        relevance: cosines with what is perceived, shape (n,).
        age: hours, or any other steps, not negative, shape (n,).
        importance: shape (n,), in any unit; NaN where it is not known.
        k: how many are wanted, at least 1.
        decay: of recency, a unit of age; above 0 and at most 1.
        weights: of relevance, recency and importance; not negative, with a sum above 0.

    Raises:
        ValueError: shapes differ, a number is out of its range, or one that is required is not finite.
    """
    near, old, weight = (np.asarray(one, dtype=np.float64) for one in (relevance, age, importance))
    if near.ndim != 1 or not near.shape == old.shape == weight.shape:
        raise ValueError(f"All terms must have one shape (n,), not {[near.shape, old.shape, weight.shape]}.")
    if not np.isfinite(near).all() or not np.isfinite(old).all() or (old < 0).any():
        raise ValueError("Relevance and age must be finite, and age not negative.")
    if np.isinf(weight).any():
        raise ValueError("Importance must be finite, or NaN where it is not known.")
    if k < 1 or not 0 < decay <= 1:
        raise ValueError(f"k must be 1 or more and decay above 0 and at most 1, not {k} and {decay}.")
    if len(weights) != 3 or min(weights) < 0 or not 0 < sum(weights) < np.inf:
        raise ValueError(f"There are three weights, none negative and not all 0, not {tuple(weights)}.")
    scaled = np.stack([scaled_to_one(one) for one in (near, decay**old, weight)])
    known = ~np.isnan(scaled) * np.asarray(weights, dtype=np.float64)[:, None]
    mass = known.sum(axis=0)
    salience = np.divide((known * np.nan_to_num(scaled)).sum(axis=0), mass, out=np.zeros_like(mass), where=mass > 0)
    order = np.argsort(-salience, kind="stable")[:k]
    return [(int(at), float(salience[at])) for at in order]


def scaled_to_one(values: Floats) -> Floats:
    """Scale to 0 … 1 over all that are known; 0 where these are all the same."""
    known = values[~np.isnan(values)]
    if not known.size:
        return values
    low, high = known.min(), known.max()
    scaled: Floats = (values - low) / (high - low) if high > low else values * 0.0
    return scaled


@needs(percept="perceive", recalled_episodes="recall_episodes")
async def compose(state: EpisodeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Put together what is remembered and perceived: working memory WM (step 3)."""
    percept = state["percept"]
    # What changes least comes first: a server with a prompt cache then reads the rest alone, hour after hour.
    parts = {
        "scene": percept["scene"],
        "memories": "\n".join(f"- {dated(one, percept['now'])}{one['text']}" for one in state["recalled_episodes"]),
        "now": percept["now"].replace("T", " "),
        "seen": "\n".join(f"- {one}" for one in percept["observations"] or []),
    }
    situation = "\n\n".join(fence(name, text) for name, text in parts.items() if text)
    deed = percept["observations"] is not None and not percept["options"]
    return {"situation": situation, "plans_ahead": deed and settings(runtime, EpisodeSettings).planning}


def dated(episode: Episode, now: str) -> str:
    """The date to print before a memory: the year, within this year the day, within this day the time."""
    at, today = date_of(episode["at"]), date_of(now)
    if at is None or today is None:
        return f"[{episode['at'].replace('T', ' ')}] " if episode["at"] else ""
    if at.year != today.year:
        return f"[{at.year}] "
    timed = at.date() == today.date() and len(episode["at"]) > len("2024-10-01")
    return f"[{at:%H:%M}] " if timed else f"[{at.date()}] "


def date_of(text: str) -> datetime | None:
    """The date of a memory; None where people wrote something else."""
    try:
        return parse_time(text)
    except ValueError:
        return None


@needs(question="read_turn", percept="perceive")
async def remember_episode(state: EpisodeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Add what was said to the memory stream, and drop the oldest memories of this conversation.

    Where the talk is kept, its text is not kept twice: the state holds its date, if it has one. The working memory of a
    reply leaves the state where nothing reads it any more.

    Raises:
        StorageError: the records of the talk cannot be read.
    """
    run = await open_run(runtime, EpisodeSettings)
    (asked, reply), at, most = state["messages"][-2:], state["percept"]["now"], run.settings.kept_episodes
    new: Episode = {"id": str(asked.id), "at": at, "text": "", "importance": None}
    held = [one for one in episodes_in(state) if one["id"] != new["id"]]
    if (kept := kept_talk(runtime, run)) is None:
        asker, name = asked.name or stranger_name(run), run.role.card.name
        held.append({**new, "text": exchange_text(asker, state["question"], name, reply.text)})
    else:
        said = messages_in(await said_of(kept, state, run)) if held else set[str]()
        told: list[Episode] = [{**one, "text": ""} if one["id"] in said else one for one in held]
        held = [one for one in [*told, new] if one["text"] or (one["at"] and one["id"] in {*said, new["id"]})]
    done = {} if state.get("updates") or not is_reply(state) else {"situation": ""}
    return {"episodes": held[-most:] if most else [], "recalled_episodes": [], **done}
