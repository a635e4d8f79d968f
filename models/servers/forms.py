"""What is in a request that a server may not take, and how the same is said without it.

Instructions are said by the user where there is no system role, two messages of a speaker as one, a text in one piece
or in many; what is optional is left out.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from dramaturg.models.server_words import texts_of

Request = Mapping[str, Any]

FEW_LOGPROBS = 5  # what all servers take that give any
LIMITS = ("max_completion_tokens", "max_tokens")  # two names of one thing; a server takes one of them
FORMS = ("logprobs", "json_schema", "json_object")
"""What a question is put by: without it another question must be asked. The best way of a question is the first."""
PARAMETERS = (
    "stream_options",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "presence_penalty",
    "frequency_penalty",
    "top_k",
    "chat_template_kwargs",
)
"""What is optional, and is left out whole."""
REBUILT = ("system", "stream", "whole", "runs", "name", "top_logprobs", "base64")
"""What can be said otherwise: instructions by the user, a text in one piece, two messages of a speaker as one, …"""


def features_of(request: Request) -> set[str]:
    """What is in a request that a server may not take."""
    found = {name for name in (*PARAMETERS, *LIMITS) if request.get(name) is not None}
    found |= {name for name in PARAMETERS if name in (request.get("extra_body") or {})}
    found |= {name for name in ("stream", "logprobs") if request.get(name)}
    form = request.get("response_format")
    if isinstance(form, Mapping) and form.get("type") in FORMS:
        found.add(form["type"])
    messages = request.get("messages") or ()
    if messages and not request.get("stream"):
        found.add("whole")
    if any(one.get("role") == "system" for one in messages):
        found.add("system")
    if any(one.get("name") for one in messages):
        found.add("name")
    if any(one.get("role") == other.get("role") == "user" for one, other in pairwise(messages)):
        found.add("runs")
    if "input" in request and not request.get("encoding_format"):  # OpenAI's client asks for it then
        found.add("base64")
    if (request.get("top_logprobs") or 0) > FEW_LOGPROBS:
        found.add("top_logprobs")
    return found


def without(request: Request, left_out: Iterable[str]) -> dict[str, Any]:
    """A request without some of its features, said otherwise where it can be."""
    left_out = set(left_out)
    gone = left_out.intersection(PARAMETERS)
    changed = {name: value for name, value in request.items() if name not in gone}
    if gone and (extra := changed.get("extra_body")):
        changed["extra_body"] = {name: value for name, value in extra.items() if name not in gone}
    for name, other in (LIMITS, LIMITS[::-1]):
        if name in left_out and name in changed:
            limit = changed.pop(name)
            changed |= {} if other in left_out else {other: limit}
    if "stream" in left_out and changed.pop("stream", False):
        changed.pop("stream_options", None)
    if "whole" in left_out and "stream" not in left_out:
        changed["stream"] = True
    if "base64" in left_out:
        changed["encoding_format"] = "float"
    if "top_logprobs" in left_out and changed.get("top_logprobs"):
        changed["top_logprobs"] = min(FEW_LOGPROBS, changed["top_logprobs"])
    messages = changed.get("messages")
    if messages and "name" in left_out:
        messages = [{key: part for key, part in one.items() if key != "name"} for one in messages]
    if messages and left_out & {"system", "runs"}:
        messages = in_turns(messages, system="system" not in left_out)
    return changed | ({"messages": messages} if messages else {})


def in_turns(messages: Iterable[Mapping[str, Any]], *, system: bool) -> list[dict[str, Any]]:
    """The messages with those of a speaker who goes on as one; without a system its texts stand before the user's."""
    others = [dict(one) for one in messages if system or one.get("role") != "system"]
    instructions = [] if system else [{**one, "role": "user"} for one in messages if one.get("role") == "system"]
    turns = list[dict[str, Any]]()
    for one in [*instructions, *others]:
        if (
            turns
            and turns[-1].get("role") == one.get("role") in ("user", "assistant")
            and not (one.get("tool_calls") or turns[-1].get("tool_calls"))
        ):
            turns[-1] = {**turns[-1], "content": joined(turns[-1].get("content"), one.get("content"))}
        else:
            turns.append(one)
    return turns


def joined(one: Any, other: Any) -> Any:
    """Two contents as one."""
    if isinstance(one, str) and isinstance(other, str):
        return "\n\n".join(filter(None, (one, other)))
    parts = [[{"type": "text", "text": part}] if isinstance(part, str) else part or [] for part in (one, other)]
    return [*parts[0], *parts[1]]


def about_tokens(text: str) -> int:
    """About how many tokens a text has: four letters of ASCII are one, and each other letter is."""
    ascii_letters = len(text.encode("ascii", "ignore"))
    return ascii_letters // 4 + len(text) - ascii_letters


def tokens_of(request: Request) -> int:
    """About how many tokens a request says."""
    texts = (text for one in request.get("messages") or () for text in texts_of(one.get("content")))
    return sum(map(about_tokens, texts))
