"""SillyTavern's chats (`.jsonl`): a line that heads the file, then a message a line, in which everything is kept."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from dramaturg.stores.formats.bounds import Refused, dumped, parse_json, text_of
from dramaturg.stores.formats.lorebooks import Flag, Text
from dramaturg.stores.macros import Names, filled

MESSAGES = 50_000
SWIPES = 200
"""The most of a message that become branches."""
OWN = "dramaturg"
"""Our name in `extra` and `chat_metadata`, which clients keep as they are."""


class Message(BaseModel):
    """A message as it is read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Text = ""
    is_user: Flag = False
    is_system: Flag = False
    mes: Text = ""


class Chat(NamedTuple):
    """A chat: the line that heads it, and its messages as they were written."""

    header: Mapping[str, Any]
    messages: Sequence[Mapping[str, Any]]

    def speakers(self) -> list[str]:
        """The names of who speaks in it and is not the user, those who speak most first."""
        counts: dict[str, int] = {}
        for one in map(Message.model_validate, self.messages):
            if not (one.is_user or one.is_system) and one.name:
                counts[one.name] = counts.get(one.name, 0) + 1
        return sorted(counts, key=lambda name: -counts[name])


def read_chat(data: bytes) -> Chat:
    """Read a chat.

    Raises:
        Refused: a line is none of a chat, or there are too many.
    """
    header: Mapping[str, Any] | None = None
    messages: list[Mapping[str, Any]] = []
    for number, line in enumerate(text_of(data).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse_json(line.encode())
        except Refused as error:
            raise Refused(f"has a line {number} that {error}") from error
        if header is None:
            if not is_header(value):
                raise Refused("is no chat of SillyTavern: its first line has neither chat_metadata nor user_name")
            header = value
        elif not isinstance(value, dict) or not isinstance(value.get("mes"), str):
            raise Refused(f"has a line {number} that is no message: take that out")
        else:
            messages.append(value)
        if len(messages) > MESSAGES:
            raise Refused(f"has more than {MESSAGES:,} messages: split it")
    if header is None or not messages:
        raise Refused("holds no message: there is nothing to go on from")
    return Chat(header, messages)


def is_header(value: Any) -> bool:
    """Whether a line heads a chat."""
    return isinstance(value, dict) and bool({"chat_metadata", "user_name"} & value.keys()) and "mes" not in value


def written_chat(chat: Chat) -> bytes:
    """Return a chat as SillyTavern writes it: a line a message, and none at the end."""
    return b"\n".join(dumped(dict(line)) for line in (chat.header, *chat.messages))


def swipes_of(message: Mapping[str, Any], names: Names) -> list[str]:
    """The other replies that stand beside a message, with their macros filled in, each once."""
    swipes = message.get("swipes")
    shown = str(message.get("mes", ""))
    texts = [filled(one, names) for one in swipes[:SWIPES] if isinstance(one, str)] if isinstance(swipes, list) else []
    return [one for one in dict.fromkeys(texts) if one.strip() and one != shown]


def new_message(name: str, text: str, *, user: bool, swipes: Iterable[str] = ()) -> dict[str, Any]:
    """A message that a client has not written."""
    date = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line: dict[str, Any] = {
        "name": name,
        "is_user": user,
        "is_system": False,
        "send_date": date,
        "mes": text,
        "extra": {},
    }
    return line if user else with_swipes(line, text, swipes)


def with_swipes(line: Mapping[str, Any], shown: str, others: Iterable[str]) -> dict[str, Any]:
    """A message with the reply that is shown, and others beside it; those that it has keep their places."""
    had = line.get("swipes")
    swipes = [one for one in had if isinstance(one, str)] if isinstance(had, list) else []
    info = line.get("swipe_info")
    infos = [one for one in info if isinstance(one, dict)] if isinstance(info, list) else []
    new = [one for one in dict.fromkeys([shown, *others]) if one not in swipes]
    infos = (infos + [{"send_date": line.get("send_date"), "extra": {}}] * len(swipes))[: len(swipes)]
    swipes += new
    infos += [{"send_date": line.get("send_date"), "extra": {}} for _ in new]
    return {**line, "mes": shown, "swipes": swipes, "swipe_id": swipes.index(shown), "swipe_info": infos}
