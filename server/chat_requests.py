"""What a chat client asks: a turn, the rest of a reply, or something that is no turn; and what it has on its screen.

A client sends one list of messages with everything in it: its own prompts, the card of a character, examples, lore, and
the chat. SillyTavern and Open WebUI are read as they were observed; any other client by the form of its messages.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from dramaturg.conversations.alignment import Exchange
from dramaturg.nodes.turn import LONGEST_MESSAGE
from dramaturg.nodes.wish import as_wish

Kind = Literal["turn", "continue", "quiet", "opening"]
LONGEST_NAME = 200
MOST_MESSAGES = 4_000
MOST_STOPS = 4  # as OpenAI has it

# What SillyTavern puts between the parts of its prompt, as it comes; people may write their own, and then name the kind
# of request in a header.
EXAMPLES = re.compile(r"\[Example Chat\]|example_(?:user|assistant)")
NEW_CHAT = re.compile(r"\[Start a new (?:group )?[Cc]hat(?:\.?\s*Group members:\s*(?P<members>[^\]]*))?\]")
TASK_OF_CARD = re.compile(r"Write .{1,200}'s next reply in a fictional chat between")
NEXT_SPEAKER = re.compile(r"\[Write the next reply only as (?P<name>.{1,200}?)\.\]")
GO_ON = re.compile(r"\[Continue (?:your last message|the following message)")
AS_USER = re.compile(r"\[Write your next reply from the point of view of ")
# A task of Open WebUI: a title, tags, what to ask next, a query for a search.
TASK = re.compile(r"\s*### Task:")
# What SillyTavern has shown as thinking comes back in front of a reply that is to be gone on with, or of every one.
THOUGHT = re.compile(r"\s*<think>.*?(?:</think>|\Z)\s*", re.DOTALL)
NOTHING_SAID = "…"
"""What a role hears where it is to speak and nobody has said anything since its last line."""


class ClientMessage(BaseModel):
    """A message as OpenAI's API has it; of parts that are no text, nothing is read."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Any] | None = None
    name: str | None = Field(default=None, max_length=LONGEST_NAME)

    @property
    def text(self) -> str:
        """All text in it, less what was thought before it was said."""
        text = self.content or ""
        if isinstance(text, list):
            parts = (part.get("text") for part in text if isinstance(part, Mapping))
            text = "\n".join(part for part in parts if isinstance(part, str))
        thought = THOUGHT.match(text) if self.role == "assistant" else None
        return text[thought.end() :] if thought else text


class Unfit(ValueError):
    """A field of a request asks for something that is not to be had."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


def unless(wanted: bool, message: str) -> None:
    """Refuse a field that asks for what a role cannot give: who sent it would take the answer for what it is not."""
    if wanted:
        raise ValueError(message)


class ChatRequest(BaseModel):
    """The body of a request for a chat completion.

    What is not named here is left aside: tools, and what only tunes the model. What would change the form of the answer
    is refused where a role cannot give it.
    """

    model_config = ConfigDict(extra="ignore")

    model: str = Field(min_length=1, max_length=4 * LONGEST_NAME)
    messages: list[ClientMessage] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream: bool = False
    background: bool = False
    """Whether the turn goes on where nobody listens any more; it can be joined, and is stopped by its thread."""
    stream_options: dict[str, JsonValue] | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stop: str | list[str] | None = Field(default=None, max_length=10_000)
    seed: int | None = None
    n: int | None = None
    logprobs: bool | int | None = None
    modalities: list[str] | None = None
    tool_choice: str | dict[str, JsonValue] | None = None
    function_call: str | dict[str, JsonValue] | None = None
    response_format: dict[str, JsonValue] | None = None
    user: str | None = Field(default=None, max_length=LONGEST_NAME)
    metadata: dict[str, JsonValue] | None = None
    include_reasoning: bool = True
    reasoning_effort: str | None = Field(default=None, max_length=40)

    @field_validator("stream", "background", "include_reasoning", mode="before")
    @classmethod
    def _as_default(cls, given: Any, info: Any) -> Any:
        return cls.model_fields[info.field_name].default if given is None else given

    @field_validator("n")
    @classmethod
    def _one_reply(cls, given: int | None) -> int | None:
        unless(given not in (None, 1), "there is one reply per request: ask again for another")
        return given

    @field_validator("logprobs")
    @classmethod
    def _no_probabilities(cls, given: bool | int | None) -> bool | int | None:
        unless(bool(given), "log-probabilities are not available: leave it out")
        return given

    @field_validator("modalities")
    @classmethod
    def _text_alone(cls, given: list[str] | None) -> list[str] | None:
        unless(bool(set(given or ()) - {"text"}), "only text is supported")
        return given

    @field_validator("tool_choice", "function_call")
    @classmethod
    def _no_tool(cls, given: Any) -> Any:
        unless(given not in (None, "none", "auto"), "tools are not supported: only none and auto are accepted")
        return given

    @field_validator("stop")
    @classmethod
    def _at_most_four(cls, given: str | list[str] | None) -> str | list[str] | None:
        unless(isinstance(given, list) and len(given) > MOST_STOPS, f"{MOST_STOPS} are the most")
        return given

    @property
    def schema_wanted(self) -> dict[str, Any] | None:
        """The form in JSON that the answer is to have; None: it is a text."""
        wanted = self.response_format or {}
        if wanted.get("type", "text") == "text":
            return None
        named: Any = wanted.get("json_schema")
        schema = named.get("schema") if isinstance(named, Mapping) else None
        return schema if isinstance(schema, dict) else {"type": "object"}

    def stops_at(self, *names: str) -> list[str]:
        """Where the reply is to end: where the client says so, and before a line of somebody else, who has a name.

        Clients cut such a line off: it would be part of the reply here, and none on the screen.
        """
        own = [self.stop] if isinstance(self.stop, str) else self.stop or []
        lines = [f"\n{name}:" for name in names if name]
        return list(dict.fromkeys(one for one in [*own, *lines] if one))[:MOST_STOPS]

    @property
    def reasons(self) -> bool:
        """Whether the client is told why, before it is told what."""
        return self.include_reasoning and self.reasoning_effort != "none"


class Shown(NamedTuple):
    """A line of the chat that a client shows."""

    name: str
    """Of who says it; empty: the client does not say."""
    text: str
    by_user: bool


class Heard(NamedTuple):
    """What a request means."""

    kind: Kind
    history: list[Exchange]
    """What was said before the question, as the client shows it."""
    question: str
    begun: str
    """The reply that is to be gone on with."""
    scene: str
    """What the client says beside the chat: lore, a scenario, who the user is."""
    speaker: str
    """The name of the character that is to speak, where the client says one."""
    others: tuple[str, ...]
    """Who else is there."""
    asker: str
    """The name of the user, where the client says one."""
    whole: bool
    """Whether the client shows its history: what is not in it is not on the screen."""
    lines: tuple[Shown, ...]
    """The whole chat, line by line."""
    present: tuple[str, ...] | None
    """The names of those who hear what is new in it; None: the client does not say."""
    wish: str = ""
    """How the reply is to be."""


def spelled(header: str) -> str:
    """The text of a header, which may hold UTF-8 as it is or percent-encoded, since many clients send Latin-1 alone."""
    with suppress(UnicodeError):
        header = header.encode("latin-1").decode()
    with suppress(UnicodeError):
        header = unquote(header, errors="strict")
    return header


def told_in(request: ChatRequest, headers: Mapping[str, str], header: str, *others: str) -> str:
    """What a client says beside the chat: in a header, else in `metadata` under its name, less X- and with _ for -.

    Args:
        request: its body.
        headers: of the request.
        header: its name, in lower case.
        others: headers of the same meaning.
    """
    given = next((text for name in (header, *others) if (text := headers.get(name))), "")
    if given:
        return spelled(given).strip()
    kept = (request.metadata or {}).get(header.removeprefix("x-").replace("-", "_"), "")
    return kept.strip() if isinstance(kept, str) else ""


def heard_in(request: ChatRequest, headers: Mapping[str, str]) -> Heard:
    """Read a request.

    Args:
        request: its body.
        headers: X-Gen-Type, X-Role-Char, X-Role-User, X-Role-Group, X-Role-Present and X-Role-Wish as SillyTavern can
            be told to send them, and those of Open WebUI.

    Raises:
        Unfit: the last message holds no text, or the wish for the reply cannot be used.
    """
    generation = told_in(request, headers, "x-gen-type").lower()
    sent = request.messages
    said = [one for one in sent if one.role in ("user", "assistant") and one.text.strip()]
    asides = [one for one in sent if one.role in ("system", "developer")]
    last = max((at for at, one in enumerate(sent) if one in said), default=-1)
    trailing = "\n".join(one.text for one in sent[last + 1 :] if one.role in ("system", "developer"))
    everything = "\n".join(one.text for one in asides)
    nudge, chat = NEXT_SPEAKER.search(trailing), NEW_CHAT.search(everything)
    members = told_in(request, headers, "x-role-group") or (chat and chat["members"]) or ""
    present = names_of(told_in(request, headers, "x-role-present")) - {""}
    says_present = "x-role-present" in headers or "role_present" in (request.metadata or {})  # nobody may be there
    speaker = (nudge["name"] if nudge else told_in(request, headers, "x-role-char")).strip()[:LONGEST_NAME]
    asker = told_in(request, headers, "x-role-user", "x-openwebui-user-name") or request.user or ""
    others = names_of(members) - {"", speaker} if members or nudge else set()
    history, rest = exchanges(said, speaker, asker.strip(), others)

    heard = Heard(
        kind="turn",
        history=history,
        question=rest,
        begun="",
        scene=scene_of(asides),
        speaker=speaker,
        others=tuple(sorted(others)),
        asker=asker.strip()[:LONGEST_NAME],
        whole=bool(generation or headers.get("x-openwebui-chat-id")),
        lines=tuple(shown_lines(said, asker.strip(), {*others, *present, speaker} - {""})),
        present=tuple(sorted(present)) if says_present else None,
        wish=wish_for(request, headers),
    )
    if is_quiet(generation, said, trailing, stream=request.stream, has_question=bool(rest), in_group=bool(nudge)):
        return heard._replace(kind="quiet")
    if rest:
        return heard
    if sent[-1].role == "user" and isinstance(sent[-1].content, list) and sent[-1].content:
        raise Unfit(f"messages.{len(sent) - 1}.content", "there is no text in it.")
    if not history:
        return heard._replace(kind="opening")
    unsaid = not generation and not trailing.strip() and sent[-1].role == "assistant"
    if generation == "continue" or GO_ON.search(trailing) or unsaid:
        *before, (question, begun) = history
        return heard._replace(kind="continue", history=before, question=question or NOTHING_SAID, begun=begun)
    return heard._replace(question=NOTHING_SAID)


def wish_for(request: ChatRequest, headers: Mapping[str, str]) -> str:
    """How the reply to a request is to be; empty: nobody says it."""
    try:
        return as_wish(told_in(request, headers, "x-role-wish"))
    except ValueError as error:
        raise Unfit("X-Role-Wish" if headers.get("x-role-wish") else "metadata.role_wish", str(error)) from error


def names_of(listed: str) -> set[str]:
    """The names in a list with commas."""
    return {name.strip() for name in listed.split(",")}


def shown_lines(said: Sequence[ClientMessage], asker: str, names: set[str]) -> Iterator[Shown]:
    """The lines of a chat with who says each: the client names them beside the text, or in front of it."""
    for one in said:
        text = one.text.replace("\0", "").strip()[:LONGEST_MESSAGE]
        name, colon, rest = text.partition(": ")
        if one.role == "user":
            yield Shown(asker, rest if colon and asker and name == asker else text, by_user=True)
        elif colon and name in names:
            yield Shown(name, rest, by_user=False)
        else:
            yield Shown(one.name or "", text, by_user=False)


def is_quiet(
    generation: str, said: Sequence[ClientMessage], trailing: str, *, stream: bool, has_question: bool, in_group: bool
) -> bool:
    """Whether a request is no turn: a title, tags, a summary, a line in the user's place.

    Where the client does not say so, it is told by its form: a task, instructions without a chat, or a last word of the
    client itself behind the role's, which is not streamed.
    """
    if generation:
        return generation in ("quiet", "impersonate")
    if len(said) == 1 and said[0].role == "user" and TASK.match(said[0].text):
        return True
    if AS_USER.search(trailing):
        return True
    spoken = said and (stream or has_question or in_group or GO_ON.search(trailing))
    return bool(trailing.strip()) and not spoken


def exchanges(said: Sequence[ClientMessage], speaker: str, asker: str, others: set[str]) -> tuple[list[Exchange], str]:
    """The chat as the role that speaks has had it: what it heard each time, and what it said.

    In a group, what other characters say is heard, with the name of each in front; so is then what the user says.

    Returns:
        The exchanges, and what was heard since the last of them.
    """
    found: list[Exchange] = []
    heard: list[str] = []
    for one in said:
        text = one.text.replace("\0", "").strip()[:LONGEST_MESSAGE]
        name, colon, rest = text.partition(": ")
        if one.role == "user":
            text = rest if colon and asker and name == asker else text
            heard.append(f"{asker}: {text}" if others and asker else text)
        elif colon and name in others:
            heard.append(text)
        else:
            text = rest if colon and speaker and name == speaker else text
            if heard or not found:
                found.append(Exchange("\n\n".join(heard), text))
            else:  # a line of its own after the last: one reply to what was heard before both
                found[-1] = Exchange(found[-1].heard, f"{found[-1].said}\n\n{text}")
            heard = []
    return found, "\n\n".join(heard)


def scene_of(asides: Sequence[ClientMessage]) -> str:
    """What a client says beside the chat, without the marks between its parts, its examples and its instructions."""
    kept = []
    for one in asides:
        if one.name and EXAMPLES.fullmatch(one.name):
            continue
        text = one.text.replace("\0", "").strip()
        for form in (EXAMPLES, NEW_CHAT, NEXT_SPEAKER):
            text = "" if form.fullmatch(text) else text
        if text and not TASK_OF_CARD.search(text) and not GO_ON.match(text) and not AS_USER.match(text):
            kept.append(text)
    return "\n\n".join(kept)[:LONGEST_MESSAGE]


def without_known(scene: str, known: Callable[[str], bool]) -> str:
    """The parts of a scene that the role's own files do not say already; the client's copy of its card is none."""
    return "\n\n".join(part for part in scene.split("\n\n") if not known(part))
