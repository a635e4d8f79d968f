"""What is sent to a LangGraph server and what comes back, in the forms of both sides: settings, messages, errors."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, messages_to_dict

from dramaturg.models import errors as model_errors
from dramaturg.nodes.open_settings import SettingRefused
from dramaturg.nodes.run import RunContext
from dramaturg.stores import errors as store_errors
from dramaturg.stores.library_folder import UnknownRole


class ServerError(RuntimeError):
    """A LangGraph server cannot be reached, refuses, or has failed; the message says what to do."""


def sent(context: Any, kind: Any) -> dict[str, Any]:
    """The settings of a run that a server is told: what differs there, without the library, which is its own.

    Args:
        context: of the run here.
        kind: the settings that the graph has there; a part's preparation runs by the context of the part.

    Raises:
        ValueError: one of them is an object or a folder here.
    """
    told = dict[str, Any]()
    # What the rules imply is implied there too: some of it only an operator may set by name.
    implied = kind.model_validate({"rules": context.rules} if "rules" in kind.model_fields else {})
    for name in sorted(type(context).model_fields.keys() & kind.model_fields.keys() - {"library"}):
        value = getattr(context, name)
        if value == getattr(implied, name) and name not in ("role", "rules"):
            continue
        if isinstance(value, os.PathLike) or not plain(value):
            raise ValueError(
                f"The setting {name} is {'a folder' if isinstance(value, os.PathLike) else 'an object'} of this "
                "side, which a server cannot be sent"
                + (": put the prompts into the role's own prompts/." if name == "prompts" else ": name it.")
            )
        told[name] = value.model_dump(mode="json", exclude_unset=True) if isinstance(value, RunContext) else value
    return told


def plain(value: Any) -> bool:
    """Whether a value can be written as JSON."""
    if isinstance(value, Mapping):
        return all(map(plain, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(plain, value))
    return value is None or isinstance(value, str | int | float | bool | RunContext)


def as_sent(messages: list[BaseMessage], *, new: bool) -> list[dict[str, Any]]:
    """The messages that a thread lacks: all of a new one, else what follows the last reply."""
    last = max((at for at, one in enumerate(messages, start=1) if one.type == "ai"), default=0)
    return [{"type": one["type"], **one["data"]} for one in messages_to_dict(messages[0 if new else last :])]


def changes(here: list[BaseMessage], there: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What makes the window here that of the server; plain values, which no stream takes for words of a model."""
    kept, known = {one["id"] for one in there}, {one.id for one in here}
    gone = [{"type": "remove", "id": one.id, "content": ""} for one in here if one.id not in kept]
    return [*gone, *(one for one in there if one["id"] not in known)]


def shown(part: Any) -> Iterator[dict[str, Any]]:
    """What is shown of a part of a stream: an event as at home, and the words of a reply as events too."""
    kind = part.event.partition("|")[0]
    if kind == "custom":
        yield part.data
    elif kind == "messages":
        chunk, about = part.data
        if chunk["type"] in ("ai", "AIMessageChunk"):
            inner, _, deeper = str(about.get("langgraph_checkpoint_ns", "")).partition("|")
            text, who = AIMessage(chunk["content"]).text, inner.partition(":")[0] if deeper else ""
            yield {"event": "words", "text": str(text), "message": str(chunk["id"]), "who": who}


def as_at_home(error: Mapping[str, Any], url: str) -> Exception:
    """The error of a run as it would be raised at home; of others, that the run has failed."""
    name, said = str(error.get("error", "")), str(error.get("message", ""))
    known = {"SettingRefused": SettingRefused, "UnknownRole": UnknownRole}
    kind = known.get(name) or getattr(model_errors, name, None) or getattr(store_errors, name, None)
    if isinstance(kind, type) and issubclass(kind, ValueError | RuntimeError):
        return kind(said)
    if name == "ValueError":
        return ValueError(said)
    return ServerError(f"The server at {url} has failed in a run ({name}: {said}): look into its log.")


def advice(status: int, graph: str) -> str:
    """What to do about the status of an answer."""
    if status in (401, 403):
        return "The server at {url} asks who you are ({status}): set DRAMATURG_SERVER_KEY to a key that it takes."
    if status == 404 and graph:
        return "The server at {url} serves no graph {graph!r} (404): its langgraph.json must name it, as ours does."
    if status >= 500:
        return "The server at {url} fails ({status}): try again later, and look into its log."
    return "The server at {url} refuses the request ({status}): see that it is a LangGraph server of this version."


def unreachable(url: str, error: Exception) -> ServerError:
    """That a server is not there."""
    what = type(error).__name__
    return ServerError(f"The server at {url} cannot be reached ({what}): see that it runs, and that --server names it.")
