"""Episodic memory M and working memory WM (ID-RAG, Algorithm 1, steps 2 and 3)."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from itertools import count
from math import nan
from typing import Any, NotRequired

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.identity.embedded_texts import likeness
from dramaturg.nodes.identity.perception import DecisionInput, PerceptionState, about, speaks, when
from dramaturg.nodes.run import RoleContext, embedder_of, language_of, role_of, settings
from dramaturg.nodes.turn import stranger_name
from dramaturg.prompts import fence
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import Memory

DECAY = 0.995  # of recency, an hour


class EpisodeSettings(RoleContext):
    """Which memories come back, and how many are kept."""

    recalled_episodes: int = Field(default=25, ge=1, le=200, description="Memories that come back (the paper's k).")
    decay: float = Field(default=DECAY, gt=0, le=1, description="What is left of recency after an hour.")
    kept_episodes: int = Field(
        default=200, ge=0, le=5000, description="The most memories that a conversation adds; older ones fade. 0: none."
    )


class Episode(TypedDict):
    """A memory of what has happened: when (a date of ISO 8601, or empty), and how important it is, from 1 to 10."""

    id: str
    at: str
    text: str
    importance: float | None


class EpisodeInput(DecisionInput):
    """What a decision takes, with memories that a program brings."""

    episodes: NotRequired[list[Episode]]


class EpisodeState(PerceptionState):
    """What recalling reads and writes: `episodes` M lives on, `situation` is WM."""

    episodes: NotRequired[list[Episode]]
    recalled: list[Episode]
    situation: str


Floats = NDArray[np.float64]


async def recall_episodes(state: EpisodeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Bring the most salient memories back, R = σ(M, o), and put them in the order in which they happened.

    Raises:
        RoleError: the role's memories cannot be read.
    """
    context = settings(runtime, EpisodeSettings)
    role = await role_of(context)
    stream = [*await asyncio.to_thread(formative, role), *not_in_window(state)]
    texts = [one["text"] for one in stream]
    near = await likeness(await embedder_of(context, role), about(state), texts)
    importance = [nan if one["importance"] is None else one["importance"] for one in stream]
    ages = ages_of(stream, when(state["percept"]["now"]))
    ranked = rank_episodes(near, ages, importance, k=context.recalled_episodes, decay=context.decay)
    shown = [{**stream[at], "salience": round(score, 4), "similarity": round(near[at], 4)} for at, score in ranked]
    runtime.stream_writer({"event": "recalled"})
    return {"recalled": [stream[at] for at, _ in sorted(ranked)], "evidence": {"episodes": shown}}


async def compose(state: EpisodeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Put together what is remembered and perceived: working memory WM (step 3)."""
    percept = state["percept"]
    # What changes least comes first: a server that keeps what it has read then reads the rest alone, hour after hour.
    parts = {
        "scene": percept["scene"],
        "memories": "\n".join(f"- {dated(one, percept['now'])}{one['text']}" for one in state["recalled"]),
        "now": percept["now"].replace("T", " "),
        "seen": "\n".join(f"- {one}" for one in percept["observations"] or []),
    }
    return {"situation": "\n\n".join(fence(name, text) for name, text in parts.items() if text)}


async def remember_episode(state: EpisodeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Add what was said to the memory stream, and let the oldest of this conversation fade."""
    context = settings(runtime, EpisodeSettings)
    role = await role_of(context)
    asked, reply = state["messages"][-2:]
    user = stranger_name(language_of(context, role))
    new: Episode = {
        "id": str(asked.id),
        "at": state["percept"]["now"],
        "text": f"{user}: {on_one_line(state['question'])}\n{role.card.name}: {on_one_line(reply.text)}",
        "importance": None,
    }
    kept = [*(one for one in state.get("episodes") or [] if one["id"] != new["id"]), new]
    return {"episodes": kept[-context.kept_episodes :] if context.kept_episodes else []}


def on_one_line(text: str) -> str:
    """A text that cannot look like two memories, or like words of the other one."""
    return " ".join(text.split())


def formative(role: Role) -> list[Episode]:
    """The memories that a role has before anything happens, M₀: its `memories.jsonl`."""
    return [
        {"id": f"memories.jsonl:{number}", "at": one.when or "", "text": text_of(one), "importance": weight_of(one)}
        for number, one in zip(count(1), role.memories())
    ]


def text_of(memory: Memory) -> str:
    """What a memory says."""
    return memory.text or f"{memory.question} {memory.answer}"


def weight_of(memory: Memory) -> float | None:
    """How important its line says that a memory is."""
    given = (memory.model_extra or {}).get("importance")
    return float(given) if isinstance(given, int | float) and 1 <= given <= 10 else None


def not_in_window(state: EpisodeState) -> list[Episode]:
    """The memories of this conversation whose words do not stand in the prompt anyway, as they do before a reply."""
    shown = {str(message.id) for message in (state["messages"] if speaks(state) else state["messages"][-1:])}
    return [one for one in state.get("episodes") or [] if one["id"] not in shown]


def ages_of(stream: Sequence[Episode], now: datetime | None) -> list[float]:
    """How old memories are: in hours, or, where one has no date or nobody says when it is, how many came after."""
    dates = [date_of(one["at"]) for one in stream] if now else []
    if now is None or None in dates:
        return [float(len(stream) - 1 - at) for at in range(len(stream))]
    return [max((now - date).total_seconds() / 3600, 0.0) for date in dates if date]


def date_of(text: str) -> datetime | None:
    """The date that a memory is from, if it is one: people write all kinds of things."""
    try:
        return when(text)
    except ValueError:
        return None


def dated(episode: Episode, now: str) -> str:
    """When it was, before a text: the year, or of this year the day, or of this day the time, as one remembers it."""
    at, today = date_of(episode["at"]), date_of(now)
    if at is None or today is None:
        return f"[{episode['at'].replace('T', ' ')}] " if episode["at"] else ""
    if at.year != today.year:
        return f"[{at.year}] "
    timed = at.date() == today.date() and len(episode["at"]) > len("2024-10-01")
    return f"[{at:%H:%M}] " if timed else f"[{at.date()}] "


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
        importance: shape (n,), in any unit; NaN where nobody has said it.
        k: how many are wanted, at least 1.
        decay: of recency, a unit of age; above 0 and at most 1.
        weights: of relevance, recency and importance; not negative, with a sum above 0.

    Raises:
        ValueError: shapes differ, a number is out of its range, or one that must be there is not finite.
    """
    terms = [np.asarray(one, dtype=np.float64) for one in (relevance, age, importance)]
    check(terms, k, decay, weights)
    scaled = np.stack([scaled_to_one(one) for one in (terms[0], decay ** terms[1], terms[2])])
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


def check(terms: Sequence[Floats], k: int, decay: float, weights: Sequence[float]) -> None:
    """Refuse what cannot be ranked."""
    relevance, age, importance = terms
    if relevance.ndim != 1 or not relevance.shape == age.shape == importance.shape:
        raise ValueError(f"All terms must have one shape (n,), not {[one.shape for one in terms]}.")
    if not np.isfinite(relevance).all() or not np.isfinite(age).all() or (age < 0).any():
        raise ValueError("Relevance and age must be finite, and age not negative.")
    if np.isinf(importance).any():
        raise ValueError("Importance must be finite, or NaN where it is not known.")
    if k < 1 or not 0 < decay <= 1:
        raise ValueError(f"k must be 1 or more and decay above 0 and at most 1, not {k} and {decay}.")
    if len(weights) != 3 or min(weights) < 0 or not 0 < sum(weights) < np.inf:
        raise ValueError(f"There are three weights, none negative and not all 0, not {tuple(weights)}.")
