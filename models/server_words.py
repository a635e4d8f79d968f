"""What a server says of a request that it does not answer, as far as it can be shown to whoever asked.

Servers repeat keys, and requests with all that was said in them: both are taken out, and the rest is one short line.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, Literal

MOST = 300  # characters of what is shown
LOOKED_AT = 2_000  # characters
RUN, WIDE_RUN = 16, 6  # characters in a row that only a repeated prompt has in common with it; letters beyond ASCII
OF_KEY = 8  # the same of a key
SHORT = 6  # characters of a message that is looked for as a whole
SECRET = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|org|proj|key|token)[-_=:]+[\w*./+-]{6,}|\b(?:bearer|basic) [\w*./+=-]{6,}"
    r"|\b(?=\w*\d)(?=\w*[^\W\d])\w{20,}|\S*\*{3,}\S*",
    re.IGNORECASE,
)
DEEPEST, MANY = 6, 20  # brackets, and items of a list
GONE = "…"


class SaidInAnswer(RuntimeError):
    """An answer, by its status, that is an error (`kind` "error"), a page ("page"), or has no choice ("nothing")."""

    def __init__(self, kind: Literal["error", "page", "nothing"], body: Any) -> None:
        super().__init__(f"The answer is an error ({kind}).")
        self.kind, self.body = kind, body
        code = re.fullmatch("[45][0-9]{2}", str(body.get("code", ""))) if isinstance(body, Mapping) else None
        self.status_code = int(code.group()) if code else 200


def words_of(error: Exception) -> str:
    """All that a server says in a client's error, as it is."""
    said = said_in(getattr(error, "body", None))
    return said if said or isinstance(error, SaidInAnswer) else str(getattr(error, "message", "") or error)


def said_in(body: Any, depth: int = 0) -> str:
    """What the body of an answer says that is an error; empty where it says nothing."""
    if depth > DEEPEST:
        return ""
    match body:
        case str():
            return re.sub(r"<[^<>]{1,500}>", " ", body)
        case list():
            return "; ".join(filter(None, (said_in(one, depth + 1) for one in body[:MANY])))
        case Mapping():
            said = next((body[key] for key in ("message", "detail", "msg", "error") if body.get(key)), None)
            more = body.get("metadata")
            raw = said_in(more.get("raw"), depth + 1) if isinstance(more, Mapping) else ""  # what a gateway was told
            return " ".join(filter(None, (said_in(said, depth + 1), raw)))
    return ""


def shown(words: str, messages: Iterable[Mapping[str, Any]] = (), *, key: str = "", model: str = "") -> str:
    """A server's words in one line, without keys and without what the request had said.

    Args:
        words: what it said.
        messages: of the request, or texts that were to be embedded as contents of messages.
        key: that it was sent.
        model: whose name stays, whatever it looks like.
    """
    line = plain(words[:LOOKED_AT])
    line = re.sub(r"//[^/\s@]+@", f"//{GONE}@", line)
    if key:
        line = without_runs(line.replace(key, GONE), key, lambda _: OF_KEY)
    line = without_prompt(line, [plain(text) for one in messages for text in texts_of(one.get("content"))])
    line = SECRET.sub(lambda found: found.group() if model and found.group() in model else GONE, line)
    line = re.sub(rf"[\s{GONE}]*{GONE}[\s{GONE}]*", f" {GONE} ", line).strip()
    return line if len(line) <= MOST else f"{line[:MOST].rpartition(' ')[0]} {GONE}".strip()


def plain(text: str) -> str:
    """A text in one line, as JSON and Python may have repeated it or not."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code.group(1), 16)), text)
    text = re.sub(r"\\+[nrt]", " ", text).replace("\\", "")
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def texts_of(content: Any) -> list[str]:
    """The texts of a message."""
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [one["text"] for one in parts if isinstance(one, Mapping) and isinstance(one.get("text"), str)]


def without_prompt(line: str, texts: Iterable[str]) -> str:
    """A line without what it has in common with texts."""
    texts = list(texts)
    kept = without_runs(line, "\n".join(texts), lambda one: RUN if one.isascii() else WIDE_RUN)
    for text in texts:
        if SHORT <= len(text) < RUN:
            kept = kept.replace(text, GONE)
    return kept


def without_runs(line: str, text: str, length: Callable[[str], int]) -> str:
    """A line without runs of letters that stand in a text: so many, by the first of them."""
    text, folded, repeated = text.casefold(), line.casefold(), [False] * len(line)
    if len(folded) != len(line):
        folded = line
    for at, letter in enumerate(folded):
        run = folded[at : at + length(letter)]
        if len(run) == length(letter) and run in text:
            repeated[at : at + len(run)] = [True] * len(run)
    return re.sub("\0+", GONE, "".join("\0" if gone else one for one, gone in zip(line, repeated, strict=True)))


def said_by(error: BaseException) -> str:
    """What can be shown of a server's words, where whoever sent the request has noted it; see `note`."""
    chained = chain((error,), (one for one in (error.__cause__, error.__context__) if one))
    return next((said for one in chained if (said := getattr(one, NOTE, ""))), "")


NOTE = "dramaturg_said"


def note(error: Exception, messages: Iterable[Mapping[str, Any]], *, key: str, model: str) -> None:
    """Note with a client's error what can be shown of the server's words: who reads it does not know the request."""
    if isinstance(getattr(error, "status_code", None), int):
        setattr(error, NOTE, shown(words_of(error), messages, key=key, model=model))
