"""What a reply rests on: texts by kind, what limits it, and whom it answers; the grounds of several methods join."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import RoleContext
from dramaturg.nodes.turn import EvidenceState, Question, TurnInput, Understood, clipped

BYTES = 4  # of UTF-8 are about a token, in every language


class GroundsSettings(RoleContext):
    """How much a reply may rest on."""

    grounds_tokens: Open[int] = Field(
        default=3000, ge=200, le=100_000, description="The most tokens of all that a reply rests on."
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
    """What a line is to be consistent with: the profile of the role, and all that it rests on."""
    return "\n\n".join(
        filter(None, [profile.strip(), *(text for texts in grounds["texts"].values() for text in texts)])
    )


def joined(parts: Iterable[Grounds]) -> Grounds:
    """The grounds of several methods as one: texts of one kind after each other, each once."""
    texts: dict[str, list[str]] = {}
    limits: dict[str, list[str]] = {}
    whole: Grounds = {"texts": {}, "limits": {}, "asker": "", "evidence": {}}
    for one in parts:
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
