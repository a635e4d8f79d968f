"""What a reader of an export gathers: what somebody wrote, in its order, and how much of what else is left out."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from dramaturg.stores.formats.bounds import LARGEST_FILE, Refused, parse_json
from dramaturg.stores.texts.form import Message, Messages, Unreadable

VALUES = 5_000_000
"""In the JSON of an export: some 150,000 messages of Discord, which says most of each."""
OWNER = "Me"
"""Who exported, where an export does not name that person."""
OWNER_IS = f'the owner of the export is called "{OWNER}"'
IN_UTC = "times are read in UTC"
Left: TypeAlias = Literal[
    "system line", "media", "deleted message", "forwarded message", "poll", "place", "contact", "call", "empty message"
]
"""What is left out: nobody's own words."""


class Gathered:
    """What was read so far."""

    def __init__(self) -> None:
        self.said = list[Message]()
        self.left = Counter[str]()

    def say(self, speaker: str, text: str, at: str, when: datetime | None = None, chat: str = "") -> None:
        """Add what somebody wrote; without a letter it counts as empty."""
        if text.strip():
            self.said.append(Message(speaker, text, at, when, chat))
        else:
            self.leave("empty message")

    def leave(self, what: Left, times: int = 1) -> None:
        """Count what is left out."""
        self.left[what] += times

    def messages(self, *remarks: str, otherwise: str) -> Messages:
        """Return what was gathered, with remarks on how it was read.

        Raises:
            Unreadable: nobody wrote anything; `otherwise` says what to do.
        """
        if not self.said:
            raise Unreadable(f"has no message: {otherwise}")
        counts = [f"{count:,} {_named(what, count)}" for what, count in sorted(self.left.items()) if count]
        return Messages(self.said, [*counts, *filter(None, remarks)])


def _named(what: str, count: int) -> str:
    return what if count == 1 or what == "media" else f"{what}s"


def json_of(text: str) -> Any:
    """Return the JSON value of an export.

    Raises:
        Unreadable: it is none, or larger than it may be.
    """
    try:
        return parse_json(text.encode(), largest=LARGEST_FILE, values=VALUES)
    except Refused as error:
        raise Unreadable(str(error)) from error


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list of an export; whatever else stands there is none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def within(value: Any, *names: str) -> Any:
    """What stands under names in one another; None where an object on the way is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def words(value: Any) -> str:
    """A text of an export; whatever else stands in its place is none."""
    return value if isinstance(value, str) else ""


def moment(value: Any, *, a_second: int = 1000) -> datetime | None:
    """The time of a number of milliseconds (or of other parts of a second) since 1970, in UTC."""
    try:
        return datetime.fromtimestamp(float(value) / a_second, UTC).replace(tzinfo=None)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def written_time(value: Any) -> datetime | None:
    """The time that a text gives as ISO 8601 writes it, as the clock showed it there."""
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None)
    except (TypeError, ValueError):
        return None


def last_names(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """The name that each id had last: people change theirs, and stay one person."""
    return {key: name for key, name in pairs if key and name}
