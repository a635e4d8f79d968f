"""What a server says of a request that it does not take: what it is about, and which numbers it tells.

There is no common form of it. Some name a parameter in a field of the answer, others in a sentence, and some say
nothing; how they call things was collected from their sources and from what people report.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from dramaturg.models.errors import FILTERED, TOO_LONG
from dramaturg.models.server_words import LOOKED_AT, words_of
from dramaturg.models.servers.forms import PARAMETERS

DEEPEST = 5  # brackets in the body of an answer
REFUSALS = (400, 422)  # the statuses of requests that may pass without something
REFUSALS_BY_NAME = (*REFUSALS, 404, 405, 415, 500, 501)  # the same where it is said without what
SAID = (
    ("stream_options", r"stream_options|include_usage"),
    ("max_completion_tokens", r"max_completion_tokens"),
    ("max_tokens", r"max_tokens"),
    ("json_schema", r"response_format|json_schema|structured output|guided_json|grammar"),
    ("top_logprobs", r"top_logprobs"),
    ("logprobs", r"logprobs|log probabilities"),
    ("base64", r"encoding_format|base64"),
    ("system", r"system(?: role| message| prompt| instruction|['\"`])|developer (?:role|instruction)"),
    ("runs", r"alternat"),
    ("stream", r"\bstream(?:ing|ed)?\b"),
    ("whole", r"\bstream(?:ing)?\b"),
    *((name, rf"\b{name}\b") for name in PARAMETERS if name != "stream_options"),
    ("name", r"messages?\W+\d+\W+name\b|\bname\b[^.]{0,40}(?:not (?:supported|permitted|allowed)|extra)"),
)
"""How servers call it, for those that name nothing in a field."""


class Refusal(BaseModel):
    """What a server says of a request that it does not take."""

    status: int
    text: str
    fields: frozenset[str]
    """What it names in fields of its answer."""

    def about(self, features: Iterable[str]) -> set[str]:
        """Which features it names; empty: none, or so many that it repeats the request."""
        features = set(features)
        if self.status >= 500:  # a failure, unless it is that of a template
            return {name for name, said in SAID if name in features & {"system", "runs"} and re.search(said, self.text)}
        if in_fields := {name for name in features if self.fields & {name, *FIELDS.get(name, ())}}:
            return in_fields
        named = {name for name, said in SAID if name in features and re.search(said, self.text, re.IGNORECASE)}
        for name, more in MORE:
            if name in named:
                named.discard(more)
        return named if len(named) <= 2 else set()

    def is_of_all_formats(self) -> bool:
        """Whether it knows no format of an answer, and not only not this one."""
        if re.search("response_format(?!.{0,20}type)", self.text, re.DOTALL):
            return True
        return {"response_format", "type"} & self.fields == {"response_format"} and bool(UNKNOWN.search(self.text))


UNKNOWN = re.compile(r"extra|un(?:known|recogni[sz]ed|expected)|not permitted", re.IGNORECASE)
"""How servers say that they know no such field."""
MORE = (("stream_options", "stream"), ("max_completion_tokens", "max_tokens"), ("top_logprobs", "logprobs"))
"""Names that hold another's, or are to take its place."""
FIELDS = {
    "json_schema": ("response_format",),
    "json_object": ("response_format",),
    "system": ("role",),
    "base64": ("encoding_format",),
    "whole": ("stream",),
}
"""How features are called where a server names fields of the request."""


def refusal_in(error: Exception) -> Refusal | None:
    """What a client's error says of a request that is refused as it is put together; None: it is another error."""
    status, places = getattr(error, "status_code", None), str(places_in(getattr(error, "body", None)))
    if status not in REFUSALS_BY_NAME:
        return None
    fields = frozenset(re.findall(r"[^\W\d]\w*", places)) - {"body", "messages"}
    return Refusal(status=status, text=words_of(error)[:LOOKED_AT], fields=fields)


def places_in(body: Any, depth: int = 0) -> list[Any]:
    """The places of a request that an answer names in fields of its own, wherever a gateway has put them."""
    if depth > DEEPEST or not isinstance(body, Mapping | list):
        return []
    values = body.values() if isinstance(body, Mapping) else body
    named = [body[key] for key in ("param", "loc") if body.get(key)] if isinstance(body, Mapping) else []
    return [*named, *(one for value in values for one in places_in(value, depth + 1))]


MOST = (
    r"at most (\d+)",
    r"range of max\w{0,30}tokens[^.\d]{0,40}\[\d+, ?(\d+)\]",
    r"max\w{0,30}tokens[^.\d]{0,60}(?:<=|less than or equal to|no (?:more|larger|greater) than|up to) ?(\d+)",
    r"max\w{0,30}tokens[^.\d]{0,60}between \d+ and (\d+)",
    r"> ?(\d+), which is the maximum",
)
"""How servers say what the longest answer is that they give."""


def most_in(refusal: Refusal, asked: int) -> int | None:
    """The longest answer that a server gives, of a refusal that says so; None: it speaks of something else.

    Where it says no number, half of what was asked for is tried.
    """
    if not re.search(r"max\w{0,30}tokens", refusal.text) or re.search(r"inputs?\b.{0,40}\+", refusal.text):
        return None
    found = (one for pattern in MOST if (one := re.search(pattern, refusal.text, re.IGNORECASE)))
    numbers = [int(one.group(1)) for one in found if int(one.group(1)) < asked]
    if numbers:
        return numbers[0]
    return asked // 2 if re.search(r"max\w{0,30}tokens\W.{0,40}too (?:large|big|high)", refusal.text) else None


BATCH = re.compile(
    r"batch|too many (?:inputs|texts)|(?:input|array|list)[^.]{0,40}(?:length|size|items|larger|exceed)", re.I
)
"""How servers say that they are to embed too many texts at once."""
NUMBER = r"(\d{1,3}(?:[,.]\d{3})+|\d{3,8}|\d{1,4}k)\b"
WINDOW = tuple(
    before + NUMBER + after
    for before, after in (
        (r"context (?:length|window|size)(?: of| is|:)?(?: only| up to| limited to)? ?", ""),
        (r"(?:maximum|max) context (?:length|window|size)\D{0,20}?", ""),
        (r"n_ctx\D{0,5}", ""),
        (r"available context size \(", ""),
        (r"\d+ tokens? > ", " maximum"),
        (r"maximum number of (?:input )?tokens allowed \(", ""),
        (r"model supports (?:only |up to )?", ""),
    )
)


def context_in(text: str) -> int | None:
    """The tokens that a model's window has, as its server says where a prompt is too long; None: it does not."""
    found = next((found for one in WINDOW if (found := re.search(one, text, re.IGNORECASE))), None)
    if found is None:
        return None
    digits = re.sub("[,.]", "", found.group(1))
    return int(digits[:-1]) * 1000 if digits[-1] in "kK" else int(digits)


def is_about_the_prompt(refusal: Refusal) -> bool:
    """Whether a refusal is about what is said, and not about how it is asked."""
    return bool(TOO_LONG.search(refusal.text) or FILTERED.search(refusal.text))
