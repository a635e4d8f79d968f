"""An endpoint on loopback that behaves as the servers and models that people have: in one of many ways, or in several.

Each of `WAYS` says who behaves so, what the server refuses and in which words, what becomes of the text, and in what
form it is sent. Ways are put together by naming several. What is said is the script of `all_methods.whole_cast`, whose
parts are found by how the package's prompts end, wherever in the messages that stands.

Bodies of errors are those that servers send; `source` names where one is quoted. A way without a source is known from
a server's documentation, or only by hearsay.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from all_methods import whole_cast
from langchain_core.messages import HumanMessage

from dramaturg.prompts import PARTICLE, load

from fault_server import SECRET, Exchange, FaultServer, served
from stub_endpoint import vectors

CONTEXT = 1024
"""Tokens of the window; every prompt of a turn of `whole_role` fits, and none with 4096 tokens of an answer."""
THOUGHT = "Someone speaks to me. What do I know of it? I had better look at the notes, and then say it."
LOST = "I cannot tell what is asked."
"""What is said where the prompt is of no known part, as when its front was cut off."""


def tokens(text: str) -> int:
    return -(-len(text) // 4)


def text_of(content: Any) -> str:
    """The text of a message, which may be a list of parts."""
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text") if isinstance(part, dict) else part) for part in content)
    return content or ""


# What is asked.


@dataclass(frozen=True)
class Asked:
    """A request, as the server reads it; `context` is its window in tokens."""

    body: Mapping[str, Any]
    context: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages") or ())

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.messages]

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n\n".join(text_of(message.get("content")) for message in self.messages)

    @property
    def limit(self) -> int | None:
        """The most tokens that may be written."""
        limits = [self.body.get(name) for name in ("max_tokens", "max_completion_tokens")]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def texts(self) -> int:
        """How many texts are to be embedded."""
        given = self.body.get("input")
        return len(given) if isinstance(given, list) else 1

    @property
    def format(self) -> str:
        return str((self.body.get("response_format") or {}).get("type", "text"))


class Ends(NamedTuple):
    """A prompt of the package: how its last section ends, and how the one before does."""

    name: str
    last: re.Pattern[str]
    before: re.Pattern[str]


def line_like(section: str) -> re.Pattern[str]:
    """What the last line of a section looks like when its values are filled in."""
    line = PARTICLE.sub(lambda match: f"${{{match['name']}}}", section.splitlines()[-1])
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\$\{?[a-z_]+\}?", line)))


@cache
def prompt_ends() -> tuple[Ends, ...]:
    """All prompts that are asked of a model as they are: others are sentences in them."""
    names = sorted(one.name.rsplit(".", 2) for one in files("dramaturg.prompts").iterdir() if one.name.endswith(".md"))
    sections = {(name, language): [text for _, text in load(name, language).sections] for name, language, _ in names}
    return tuple(
        Ends(name, line_like(texts[-1]), line_like(texts[-2]))
        for (name, _), texts in sections.items()
        if len(texts) > 1
    )


def part_of(prompt: str) -> tuple[str, str]:
    """The name of the last of the package's prompts in a text, and what it asks: its last section, filled in.

    What was put in front of it, or behind it, is left out.
    """
    lines = prompt.split("\n")
    for end in range(len(lines) - 1, -1, -1):
        found = [one for one in prompt_ends() if one.last.fullmatch(lines[end])]
        begins = [
            (next((at + 1 for at in range(end - 1, -1, -1) if one.before.fullmatch(lines[at])), 0), one.name)
            for one in found
        ]
        if begins:
            begin, name = max(begins, key=lambda pair: pair[0])
            return name, "\n".join(lines[begin : end + 1])
    return "", prompt


# What is answered.


@dataclass
class Answer:
    """What is said, and the form in which it is sent."""

    asked: Asked
    prompt: str
    """The name of the prompt."""
    text: str
    reasoning: str = ""
    ended: str | None = "stop"
    streams: bool = False
    reasoning_field: str = "reasoning_content"
    content: Callable[[str], Any] = str
    """The content, made of a text or a piece of it."""
    tool: bool = False
    logprobs: Any = None
    opening: tuple[bytes, ...] = ()
    """What comes in a stream before its first part."""
    choices: bool = True
    ids: bool = True
    role: bool = True
    usage: bool = True
    done: bool = True
    pieces: bool = True
    nothing_first: Any = ""

    def parsed(self) -> Any:
        """The JSON that is said; None where it is something else."""
        try:
            value = json.loads(self.text)
        except ValueError:
            return None
        return value if isinstance(value, dict | list) else None

    def cut(self) -> None:
        """Stop at the words and at the limit of the request, as all servers do."""
        stop = self.asked.body.get("stop") or []
        for word in [stop] if isinstance(stop, str) else stop:
            self.text = self.text.split(word)[0]
        if (limit := self.asked.limit) is not None and len(self.reasoning + self.text) > limit * 4:
            self.reasoning = self.reasoning[: limit * 4]
            self.text = self.text[: limit * 4 - len(self.reasoning)]
            self.ended = "length"

    @property
    def used(self) -> dict[str, Any]:
        read, thought = tokens(self.asked.prompt), tokens(self.reasoning)
        written = thought + tokens(self.text)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "completion_tokens_details": {"reasoning_tokens": thought},
        }

    def body(self, kind: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        ids = {"id": "chatcmpl-1", "created": int(time.time()), "model": "m", "system_fingerprint": "fp"}
        return {**(ids if self.ids else {}), "object": kind, "choices": choices, **more}

    def whole(self) -> bytes:
        """The answer in one piece."""
        message: dict[str, Any] = {"role": "assistant", **self.said(self.text)}
        if self.reasoning:
            message[self.reasoning_field] = self.reasoning
        choice = {"index": 0, "message": message, "logprobs": self.logprobs, "finish_reason": self.ended}
        choices = [choice] if self.choices else []
        return json.dumps(
            self.body("chat.completion", choices, **({"usage": self.used} if self.usage else {}))
        ).encode()

    def said(self, text: str) -> dict[str, Any]:
        """What a message says, or a part of one."""
        if not self.tool:
            return {"content": self.content(text)}
        call = {"name": "answer", "arguments": text}
        return {"content": None, "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": call}]}

    def events(self) -> Iterator[bytes]:
        """The answer as a stream."""
        yield from self.opening
        for delta in self.deltas():
            yield self.event([{"index": 0, "delta": delta, "finish_reason": None}] if self.choices else [])
        if self.choices:
            yield self.event([{"index": 0, "delta": {}, "finish_reason": self.ended}])
        if self.usage and (self.asked.body.get("stream_options") or {}).get("include_usage"):
            yield self.event([], usage=self.used)
        if self.done:
            yield b"data: [DONE]\n\n"

    def deltas(self) -> Iterator[dict[str, Any]]:
        role = {"role": "assistant"} if self.role else {}
        if self.pieces:
            yield {**role, "content": self.nothing_first}
        for piece in self.split(self.reasoning):
            yield {self.reasoning_field: piece, "content": None}
        for piece in self.split(self.text):
            yield {**({} if self.pieces else role), **self.said(piece)}

    def split(self, text: str) -> list[str]:
        return re.findall(r"\s*\S+\s*", text) if self.pieces and not self.tool else [text] * bool(text)

    def event(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        return b"data: " + json.dumps(self.body("chat.completion.chunk", choices, **more)).encode() + b"\n\n"


class Refusal(NamedTuple):
    """An answer that is an error: what the body is, as JSON or as text."""

    status: int
    body: Any
    kind: str = "application/json"

    @property
    def sent(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False).encode()


Check = Callable[[Asked], Refusal | None]
Expect = Literal["answers", "fails"]


@dataclass(frozen=True)
class Way:
    """A behaviour.

    `check` may refuse a chat completion, `embed` embeddings; `read` changes a request before it is answered, `write`
    what is said, before it is cut at the limit, `send` the form after that; `models` is what models are listed with.
    """

    who: str
    expect: Expect = "answers"
    source: str = ""
    check: Check | None = None
    embed: Check | None = None
    read: Callable[[Asked], Asked] | None = None
    write: Callable[[Answer], None] | None = None
    send: Callable[[Answer], None] | None = None
    models: Callable[[int], dict[str, Any]] | None = None
    name: str = field(default="", compare=False)
    """Its key in `WAYS`."""

    @property
    def of_chat(self) -> bool:
        """Whether chat completions are other than good; else only embeddings or the list of models are."""
        return any((self.check, self.read, self.write, self.send))


# How errors are written: OpenAI and those who copy it closely, vLLM, Mistral, FastAPI, xAI, Google, Alibaba.


def openai_error(message: str, param: str | None = None, code: str | None = None, status: int = 400) -> Refusal:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Refusal(status, {"error": error})


def unsupported(param: str, what: str = "") -> Refusal:
    message = f"Unsupported parameter: '{param}' is not supported with this model.{what}"
    return openai_error(message, param, "unsupported_parameter")


def unsupported_value(param: str, value: Any, default: Any) -> Refusal:
    only = f"Only the default ({json.dumps(default)}) value is supported."
    message = f"Unsupported value: '{param}' does not support {json.dumps(value)} with this model. {only}"
    return openai_error(message, param, "unsupported_value")


def vllm_error(message: str, *, wrapped: bool = True, status: int = 400) -> Refusal:
    """Releases since 2025 wrap the error; those before do not."""
    error = {"message": message, "type": "BadRequestError", "param": None, "code": status}
    return Refusal(status, {"error": error} if wrapped else {"object": "error", **error})


def extra(loc: Sequence[Any], value: Any) -> dict[str, Any]:
    return {"type": "extra_forbidden", "loc": list(loc), "msg": "Extra inputs are not permitted", "input": value}


def mistral_extra(*found: dict[str, Any]) -> Refusal:
    error = {"object": "error", "message": {"detail": list(found)}, "type": "invalid_request_error"}
    return Refusal(422, {**error, "param": None, "code": None})


def vllm_extra(param: str, value: Any) -> Refusal:
    """Before FastAPI's list became JSON: as Python writes it."""
    return vllm_error(str([{**extra((), value), "loc": ("body", param)}]), wrapped=False)


def xai_error(message: str) -> Refusal:
    return Refusal(400, {"code": "Client specified an invalid argument", "error": message})


def google_error(message: str) -> Refusal:
    error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
    details = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"description": message}]}
    return Refusal(400, [{"error": {**error, "details": [details]}}])


def alibaba_error(message: str, code: str = "InvalidParameter") -> Refusal:
    kind = "invalid_request_error" if code == "invalid_parameter_error" else code
    error = {"message": message, "type": kind, "param": None, "code": code}
    return Refusal(400, {"error": error, "id": "chatcmpl-1", "request_id": "1"})


def openrouter_error(code: int, raw: str) -> Refusal:
    metadata = {"raw": raw, "provider_name": "BaseTen"}
    return Refusal(200, {"error": {"message": "Provider returned error", "code": code, "metadata": metadata}})


def always(refusal: Refusal) -> Check:
    return lambda asked: refusal


def having(param: str, refusal: Callable[[Any], Refusal]) -> Check:
    """Refuse a request that has the parameter, whatever its value; null does not count."""
    return lambda asked: None if (value := asked.body.get(param)) is None else refusal(value)


def other_than(param: str, default: Any, refusal: Callable[[Any], Refusal]) -> Check:
    """Refuse a request where the parameter has another value."""
    return lambda asked: None if asked.body.get(param) in (None, default) else refusal(asked.body[param])


# Messages.


def no_system(refusal: Callable[[int], Refusal]) -> Check:
    def check(asked: Asked) -> Refusal | None:
        return refusal(asked.roles.index("system")) if "system" in asked.roles else None

    return check


def alternate(refusal: Refusal) -> Check:
    """Refuse what is not user, assistant, user and so on, behind one system message or none."""

    def check(asked: Asked) -> Refusal | None:
        roles = asked.roles[1:] if asked.roles[:1] == ["system"] else asked.roles
        usual = ["user", "assistant"] * len(roles)
        return None if roles == usual[: len(roles)] else refusal

    return check


def system_first(asked: Asked) -> Refusal | None:
    late = "system" in asked.roles[1:]
    return vllm_error("System message must be at the beginning.") if late else None


def last_of_user(asked: Asked) -> Refusal | None:
    if asked.roles[-1:] != ["assistant"]:
        return None
    message = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
    error = {"object": "error", "message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Refusal(400, error)


def not_empty(asked: Asked) -> Refusal | None:
    for number, message in enumerate(asked.messages):
        if not text_of(message.get("content")).strip():
            text = f"messages.{number}: all messages must have non-empty content"
            return openai_error(text, code="invalid_request_error")
    return None


def nameless(asked: Asked) -> Refusal | None:
    found = [
        extra(("body", "messages", number, message["role"], "name"), message["name"])
        for number, message in enumerate(asked.messages)
        if "name" in message
    ]
    return mistral_extra(*found) if found else None


def named_user_only(asked: Asked) -> Refusal | None:
    named = any("name" in message and message["role"] != "user" for message in asked.messages)
    return xai_error("Only messages of role 'user' can have a name.") if named else None


SMALL = {"model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop"}


def only_known(asked: Asked) -> Refusal | None:
    found = [extra(("body", name), value) for name, value in asked.body.items() if name not in SMALL]
    return Refusal(422, {"detail": found}) if found else None


# Formats, limits and the window.


def no_schema(asked: Asked) -> Refusal | None:
    if asked.format != "json_schema":
        return None
    return openai_error("This response_format type is unavailable now", code="invalid_request_error")


def schema_only(asked: Asked) -> Refusal | None:
    if asked.format != "json_object":
        return None
    return Refusal(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})


def says_json(asked: Asked) -> Refusal | None:
    if asked.format != "json_object" or "json" in asked.prompt.lower():
        return None
    message = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    return openai_error(message, "messages")


def fewer_alternatives(asked: Asked) -> Refusal | None:
    asks = asked.body.get("top_logprobs") or 0
    return alibaba_error(f"Invalid 'top_logprobs': {asks}. Expected an integer in range [0, 5]") if asks > 5 else None


def not_zero(asked: Asked) -> Refusal | None:
    message = "Input validation error: `temperature` must be strictly positive"
    zero = asked.body.get("temperature") == 0
    return Refusal(422, {"error": message, "error_type": "validation"}) if zero else None


def at_most(limit: int) -> Check:
    def check(asked: Asked) -> Refusal | None:
        asks = asked.limit or 0
        message = f"max_tokens is too large: {asks}. This model supports at most {limit} completion tokens, whereas"
        return openai_error(f"{message} you provided {asks}.", "max_tokens") if asks > limit else None

    return check


def in_range(limit: int) -> Check:
    def check(asked: Asked) -> Refusal | None:
        message = f"<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, {limit}]"
        return alibaba_error(message, "invalid_parameter_error") if (asked.limit or 0) > limit else None

    return check


def window_of_openai(asked: Asked) -> Refusal | None:
    """The prompt and what may be written have to fit together."""
    read, written, most = tokens(asked.prompt), asked.limit or 0, asked.context
    if read + written <= most:
        return None
    if read > most or not written:
        more = f"your messages resulted in {read} tokens. Please reduce the length of the messages."
    else:
        sizes = f"{read + written} tokens ({read} in the messages, {written} in the completion)"
        more = f"you requested {sizes}. Please reduce the length of the messages or completion."
    message = f"This model's maximum context length is {most} tokens. However, {more}"
    return openai_error(message, "messages", "context_length_exceeded")


def window_of_vllm(asked: Asked) -> Refusal | None:
    read, written, most = tokens(asked.prompt), asked.limit or 0, asked.context
    if read + written <= most:
        return None
    if read > most:
        return vllm_error(
            f"This model's maximum context length is {most} tokens. However, your request has {read} input tokens. "
            f"Please reduce the length of the input messages. (parameter=input_tokens, value={read})"
        )
    name = "max_tokens" if asked.body.get("max_tokens") else "max_completion_tokens"
    return vllm_error(
        f"'{name}' is too large: {written}. This model's maximum context length is {most} tokens and your request "
        f"has {read} input tokens ({written} > {most} - {read})."
    )


def window_of_llama(asked: Asked) -> Refusal | None:
    """What may be written does not count."""
    read = tokens(asked.prompt)
    if read < asked.context:
        return None
    error = {
        "code": 400,
        "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": read,
        "n_ctx": asked.context,
    }
    return Refusal(400, {"error": error})


def front_cut_off(asked: Asked) -> Asked:
    """Drop the front of the prompt until the rest fits, and say nothing of it."""
    left, kept = asked.context * 4, list[dict[str, Any]]()
    for message in reversed(asked.messages):
        text = text_of(message.get("content"))
        kept.insert(0, {**message, "content": text[-left:] if left else ""})
        left = max(left - len(text), 0)
    return replace(asked, body={**asked.body, "messages": kept})


# Texts.


def around(before: str, after: str = "") -> Callable[[Answer], None]:
    """Put a text before what is said."""

    def write(answer: Answer) -> None:
        answer.text = f"{before}{answer.text}{after}"

    return write


LONG_THOUGHT = " ".join([THOUGHT] * (900 * 4 // (len(THOUGHT) + 1)))
"""Nine hundred tokens: there is room for what is said behind it where the limit is 1024 and more."""


def reasoning(field_name: str, thought: str = THOUGHT) -> Callable[[Answer], None]:
    """Think in a field of its own; that counts to the limit."""

    def write(answer: Answer) -> None:
        answer.reasoning, answer.reasoning_field = thought, field_name

    return write


def rewritten(form: Callable[[Any], str]) -> Callable[[Answer], None]:
    """Write JSON in another form; what is not JSON stays."""

    def write(answer: Answer) -> None:
        if (value := answer.parsed()) is not None:
            answer.text = form(value)

    return write


def loosely(quote: str = '"', words: Mapping[Any, str] | None = None, comma: str = "") -> Callable[[Any], str]:
    """How a small model writes JSON: with other quotes, words or commas."""
    known = words or {True: "true", False: "false", None: "null"}

    def text(value: str) -> str:
        inner = json.dumps(value, ensure_ascii=False)[1:-1]
        return f"{quote}{inner}{quote}" if quote == '"' else f"{quote}{inner.replace(quote, chr(92) + quote)}{quote}"

    def form(value: Any) -> str:
        if isinstance(value, dict):
            inner = ", ".join(f"{text(key)}: {form(one)}" for key, one in value.items())
            return f"{{{inner}{comma if inner else ''}}}"
        if isinstance(value, list):
            inner = ", ".join(form(one) for one in value)
            return f"[{inner}{comma if inner else ''}]"
        if isinstance(value, str):
            return text(value)
        return known[value] if value is None or isinstance(value, bool) else json.dumps(value)

    return form


PROSE = "Certainly! Here is what you asked for:\n\n{}\n\nI hope this helps."


def for_others(*, named: bool) -> Callable[[Answer], None]:
    """Go on speaking for the user and for the role, in replies."""

    def write(answer: Answer) -> None:
        if answer.prompt.startswith("respond"):
            found = re.search(r"You are (.+?)\. You speak", answer.asked.prompt)
            name = found[1] if found else "Ada Quill"
            begin = f"{name}: " if named else ""
            answer.text = f"{begin}{answer.text}\nUser: And then?\n{name}: Then I went up the stairs."

    return write


# Forms.


def sent(**changes: Any) -> Callable[[Answer], None]:
    def send(answer: Answer) -> None:
        for name, value in changes.items():
            setattr(answer, name, value)

    return send


def opened(*events: bytes) -> Callable[[Answer], None]:
    """Send something before the first part of a stream."""

    def send(answer: Answer) -> None:
        answer.opening = (*answer.opening, *events)

    return send


def filtered(answer: Answer) -> None:
    answer.text, answer.reasoning, answer.ended = "", "", "content_filter"


def cut_though_whole(answer: Answer) -> None:
    answer.ended = "length"


def as_tool_call(answer: Answer) -> None:
    if answer.parsed() is not None:
        answer.tool, answer.ended = True, "tool_calls"


def as_parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def with_thinking_parts(answer: Answer) -> None:
    """In one piece a list with the thought and the text; in a stream lists of thoughts, then text."""
    thought = answer.reasoning
    if not answer.streams:
        thinking = {"type": "thinking", "thinking": as_parts(thought)}
        answer.content = lambda text: [thinking, *as_parts(text)]
        answer.reasoning = ""
    else:
        parts = [{"content": [{"type": "thinking", "thinking": as_parts(one)}]} for one in answer.split(thought)]
        opening = [answer.event([{"index": 0, "delta": part, "finish_reason": None}]) for part in parts]
        answer.opening, answer.reasoning = (*answer.opening, *opening), ""


def streaming_unasked(answer: Answer) -> None:
    answer.streams = answer.streams or "stream" not in answer.asked.body


NUMBERS = [str(number) for number in range(1, 11)]


def with_probabilities(answer: Answer) -> None:
    """The probabilities of the first token and of what could stand in its place."""
    if not answer.asked.body.get("logprobs"):
        return
    found = re.match(r"\s*(?:<\w+>|\w+|\W)", answer.text)
    token = found[0] if found else ""
    others = {"yes": ["no"], "no": ["yes"]}.get(token.lower(), NUMBERS if token.isdigit() else ["The", "I"])
    likely = {token: 0.9, **dict.fromkeys([one for one in others if one != token], 0.05 / len(others))}
    top = [{"token": one, "logprob": math.log(p), "bytes": list(one.encode())} for one, p in likely.items()]
    most = answer.asked.body.get("top_logprobs") or 0
    answer.logprobs = {"content": [{**top[0], "top_logprobs": top[:most]}]}


# Lists.

HTML = """<!doctype html>
<html lang="en"><head><title>Log in</title></head>
<body><form action="/login" method="post"><input name="password" type="password"></form></body></html>
"""
SAFE = {
    "hate": {"filtered": False, "severity": "safe"},
    "self_harm": {"filtered": False, "severity": "safe"},
    "sexual": {"filtered": False, "severity": "safe"},
    "violence": {"filtered": False, "severity": "safe"},
}
AZURE_FIRST = {
    "id": "",
    "choices": [],
    "created": 0,
    "model": "",
    "object": "",
    "system_fingerprint": None,
    "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": SAFE}],
}
AZURE_FILTER = {
    "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
    "Please modify your prompt and retry. To learn more about our content filtering policies please read our "
    "documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
    "type": None,
    "param": "prompt",
    "code": "content_filter",
    "status": 400,
    "innererror": {
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {
            **SAFE,
            "jailbreak": {"filtered": False, "detected": False},
            "violence": {"filtered": True, "severity": "medium"},
        },
    },
}
WRONG_KEY = openai_error(
    "Incorrect API key provided: sk-plant****************cdef. You can find your API key at "
    "https://platform.openai.com/account/api-keys.",
    code="invalid_api_key",
    status=401,
)
NO_MODEL = {"message": 'model "m" not found, try pulling it first', "type": "api_error", "param": None, "code": None}
NO_EMBEDDINGS = {
    "message": "Unknown request URL: POST /openai/v1/embeddings. Please check the URL for typos, or see the docs at "
    "https://console.groq.com/docs/",
    "type": "invalid_request_error",
    "code": "unknown_url",
}
NO_LOGPROBS = {"message": "`logprobs` is not supported with this model", "type": "invalid_request_error"}
ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
JINJA = (
    "\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n"
    '...% 2 == 0) -%}↵        {{ raise_exception("Conversation roles must alternate user...\n'
    f"                                           ^\nError: Jinja Exception: {ALTERNATE}"
)
ONLY_STREAM = "This model only support stream mode, please enable the stream parameter to access the model. "
NOT_THINKING = "parameter.enable_thinking must be set to false for non-streaming calls"
WITHOUT_SCHEMA = "The response_format parameter is unsupported at the moment. Leave it unset."
KEPT_ALIVE = b": OPENROUTER PROCESSING\n\n"
UNRECOGNIZED = {
    "code": "unrecognized_keys",
    "keys": ["stream_options"],
    "path": [],
    "message": "Unrecognized key(s) in object: 'stream_options'",
}


def batches_of_ten(asked: Asked) -> Refusal | None:
    message = "<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be larger"
    return alibaba_error(f"{message} than 10.: input.contents") if asked.texts > 10 else None


def batches_of_four(asked: Asked) -> Refusal | None:
    """It is 64 there, or 32: more than a small role has."""
    message = f"input batch size {asked.texts} > maximum allowed batch size 4"
    return Refusal(413, {"code": 20042, "message": message, "data": None}) if asked.texts > 4 else None


def one_at_a_time(asked: Asked) -> Refusal | None:
    message = f"Unable to submit request because batchSize must be 1 but the entered value was {asked.texts}."
    return google_error(message) if asked.texts > 1 else None


def no_base64(asked: Asked) -> Refusal | None:
    refused = asked.body.get("encoding_format") == "base64"
    return vllm_error("base64 encoding is not currently supported", wrapped=False) if refused else None


def as_floats(asked: Asked) -> Asked:
    """Heed no encoding: give numbers."""
    return asked if "input" not in asked.body else replace(asked, body={**asked.body, "encoding_format": "float"})


def stream_only(asked: Asked) -> Refusal | None:
    return None if asked.body.get("stream") else alibaba_error(ONLY_STREAM, "invalid_parameter_error")


def thinking_streams(asked: Asked) -> Refusal | None:
    if asked.body.get("stream") or asked.body.get("enable_thinking") is False:
        return None
    return alibaba_error(NOT_THINKING, "invalid_parameter_error")


# What a server does not take; a way has the name of that.
SAMPLING = {
    "temperature": Way(
        "OpenAI GPT-5 and o-series",
        source="quelmap-inc/quelmap#4, QwenLM/qwen-code#921",
        check=other_than("temperature", 1, lambda value: unsupported_value("temperature", value, 1)),
    ),
    "temperature, as a parameter": Way(
        "OpenAI o1 and o3-mini, GPT-5-nano",
        source="npiv/chatblade#100, soberlemur/autopo#57",
        check=having("temperature", lambda _: unsupported("temperature")),
    ),
    "temperature, unnamed": Way(
        "gateways that hide what the server behind them said",
        source="the form: ChatGPTNextWeb/NextChat#6443",
        check=other_than("temperature", 1, lambda _: Refusal(400, "Bad Request", "text/plain")),
    ),
    "temperature, not zero": Way(
        "text-generation-inference, GigaChat",
        source="vibrantlabsai/ragas#264; cf. ai-forever/gigachain#237",
        check=not_zero,
    ),
    "top_p": Way(
        "OpenAI o-series, GPT-5",
        source="the form: BittnerPierre/AI-Agent-Casebook#133; cf. sigoden/aichat#1164",
        check=having("top_p", lambda _: unsupported("top_p")),
    ),
    "seed": Way(
        "Google's Gemini by OpenAI's protocol",
        source="Vali-98/ChatterUI#227",
        check=having(
            "seed", lambda _: google_error('Invalid JSON payload received. Unknown name "seed": Cannot find field.')
        ),
    ),
    "stop": Way(
        "OpenAI o-series, GPT-5",
        source="huggingface/smolagents#1671, langchain-ai/langchain#26433",
        check=having("stop", lambda _: unsupported("stop")),
    ),
    "presence_penalty": Way(
        "OpenAI GPT-5-mini",
        source="nextai-translator/nextai-translator#1781",
        check=having("presence_penalty", lambda _: unsupported("presence_penalty")),
    ),
    "presence_penalty, xAI": Way(
        "xAI Grok",
        source="neavo/LinguaGacha#159",
        check=having("presence_penalty", lambda _: xai_error("Argument not supported on this model: presencePenalty")),
    ),
}
LIMITS = {
    "max_completion_tokens": Way(
        "Mistral",
        source="editor-code-assistant/eca#231 and #315",
        check=having(
            "max_completion_tokens", lambda value: mistral_extra(extra(("body", "max_completion_tokens"), value))
        ),
    ),
    "max_completion_tokens, vLLM": Way(
        "older vLLM, and what is made of it",
        source="voideditor/void#128, 1Panel-dev/MaxKB#2912",
        check=having("max_completion_tokens", lambda value: vllm_extra("max_completion_tokens", value)),
    ),
    "max_tokens": Way(
        "OpenAI o-series, GPT-5",
        source="griptape-ai/ComfyUI-Griptape#312, ITSpecialist111/ai_automation_suggester#38",
        check=having("max_tokens", lambda _: unsupported("max_tokens", " Use 'max_completion_tokens' instead.")),
    ),
    "limit of 2048": Way(
        "OpenAI; there it is 4096 or 16384",
        source="ChatGPTNextWeb/NextChat#3195, enoch3712/ExtractThinker#346",
        check=at_most(2048),
    ),
    "limit of 2048, Alibaba": Way(
        "DashScope; there it is 8192",
        source="open-webui/open-webui#10507; cf. deepseek-ai/DeepSeek-V3#69",
        check=in_range(2048),
    ),
    "context": Way(
        "OpenAI, and those who copy its words",
        source="ChatGPTNextWeb/NextChat#3195, crewAIInc/crewAI-examples#121",
        check=window_of_openai,
    ),
    "context, vLLM": Way(
        "vLLM",
        source="vllm-project/vllm#20409; the words of other releases from code that reads them",
        check=window_of_vllm,
        models=lambda context: {"max_model_len": context},
    ),
    "context, llama.cpp": Way(
        "llama.cpp",
        source="ggml-org/llama.cpp#15780, oobabooga/textgen#7257",
        check=window_of_llama,
        models=lambda context: {"meta": {"n_ctx_train": 8 * context, "n_ctx": context}},
    ),
    "context, cut silently": Way(
        "Ollama", source="ollama/ollama#3839, #10368, RooCodeInc/Roo-Code#1372", read=front_cut_off
    ),
    "context, listed": Way(
        "OpenRouter",
        models=lambda context: {
            "context_length": 2 * context,
            "top_provider": {"context_length": context},
            "pricing": {"prompt": "0.00000025", "completion": "0.000002"},
        },
        check=window_of_openai,
    ),
}
MESSAGES = {
    "system": Way(
        "Gemma 1 and 2 in vLLM",
        source="vllm-project/vllm#2964, BerriAI/litellm#4377, huggingface/chat-ui#1386",
        check=no_system(lambda _: vllm_error("System role not supported", wrapped=False)),
    ),
    "system, named": Way(
        "OpenAI o1-mini",
        source="animalnots/BetterChatGPT-PLUS#90, coleam00/Archon#12",
        check=no_system(
            lambda at: openai_error(
                f"Unsupported value: 'messages[{at}].role' does not support 'system' with this model.",
                f"messages[{at}].role",
                "unsupported_value",
            )
        ),
    ),
    "system first": Way(
        "Qwen3.5 and later in vLLM and LM Studio",
        source="nashsu/llm_wiki#45, charmbracelet/crush#3050",
        check=system_first,
    ),
    "alternation": Way(
        "Gemma 3 and Mistral in vLLM",
        source="suitenumerique/conversations#197, weaviate/Verba#150",
        check=alternate(vllm_error(f"{ALTERNATE} {ALTERNATE}")),
    ),
    "alternation, llama.cpp": Way(
        "Gemma 3 and Mistral in llama.cpp, with the status of a fault of its own",
        source="idiap/sdialog#122, sipeed/picoclaw#207",
        check=alternate(Refusal(500, {"error": {"code": 500, "message": JINJA, "type": "server_error"}})),
    ),
    "assistant last": Way("Mistral", source="huggingface/smolagents#757, NEKOparapa/AiNiee#641", check=last_of_user),
    "empty content": Way(
        "DeepSeek, Hunyuan, gateways to Anthropic",
        source="XiaomiMiMo/MiMo-Code#1500; cf. MarkPDFdown/markpdfdown#14",
        check=not_empty,
    ),
    "name": Way("Mistral", source="microsoft/autogen#2457; the form: charmbracelet/crush#1590", check=nameless),
    "name, xAI": Way("xAI Grok", source="BerriAI/litellm#9720, SillyTavern/SillyTavern#2981", check=named_user_only),
    "unknown fields": Way(
        "services made with FastAPI", source="the form of an entry: partITech/php-mistral#76", check=only_known
    ),
}
FEATURES = {
    "stream": Way(
        "OpenAI o1 at first, and proxies to it",
        source="animalnots/BetterChatGPT-PLUS#62, langgenius/dify#8615",
        check=other_than("stream", False, lambda value: unsupported_value("stream", value, False)),
    ),
    "no stream": Way("DashScope: QwQ", source="infiniflow/ragflow#5912", check=stream_only),
    "no stream, thinking": Way(
        "DashScope: open Qwen3", source="infiniflow/ragflow#8972, OpenBMB/UltraRAG#287", check=thinking_streams
    ),
    "stream_options": Way(
        "vLLM before 0.5",
        source="modelscope/ms-agent#489",
        check=having("stream_options", lambda value: vllm_extra("stream_options", value)),
    ),
    "stream_options, Venice": Way(
        "Venice",
        source="ar-jan/llm-venice#3",
        check=having("stream_options", lambda _: Refusal(400, {"error": [UNRECOGNIZED]})),
    ),
    "logprobs": Way(
        "Groq", source="groq/groq-python#25", check=having("logprobs", lambda _: Refusal(400, {"error": NO_LOGPROBS}))
    ),
    "top_logprobs": Way("DashScope", source="huangdihd/programmer#14", check=fewer_alternatives),
    "json_schema": Way("DeepSeek", source="bytedance/deer-flow#545, ItzCrazyKns/Vane#969", check=no_schema),
    "json_object": Way(
        "LM Studio", source="LoadShine/tada#16, lmstudio-ai/lmstudio-bug-tracker#307", check=schema_only
    ),
    "json_object, unsaid": Way("OpenAI, DashScope", check=says_json),
    "response_format": Way(
        "xAI Grok at first, old gateways",
        source="BerriAI/litellm#6610",
        check=having("response_format", lambda _: xai_error(WITHOUT_SCHEMA)),
    ),
    "probabilities": Way("OpenAI, vLLM, llama.cpp: what the good server leaves out", send=with_probabilities),
}
# What it says, and in which form.
THOUGHTS = {
    "think": Way(
        "R1, QwQ, Qwen3, GLM without a parser",
        source="SillyTavern/SillyTavern#4932, vllm-project/vllm#34684",
        write=around(f"<think>\n{THOUGHT}\n</think>\n\n"),
    ),
    "think, unopened": Way(
        "QwQ and Qwen3-Thinking: the template opens it",
        source="vllm-project/vllm#17144, #31045",
        write=around(f"{THOUGHT}\n</think>\n\n"),
    ),
    "think, empty": Way("Qwen3 that is told not to think", write=around("<think>\n\n</think>\n\n")),
    "think, capitals": Way(
        "Magistral, Ministral",
        source="RooCodeInc/Roo-Code#8522, Pasta-Devs/Marinara-Engine#2544",
        write=around(f"[THINK]{THOUGHT}[/THINK]"),
    ),
    "think, channels": Way(
        "gpt-oss without a parser",
        source="kekzl/imp#768, scouzi1966/maclocal-api#121",
        write=around(f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>"),
    ),
    "think, long": Way(
        "R1 and the like: unclosed where the limit is lower than the thought is long",
        source="cf. koala73/worldmonitor#4983",
        write=around(f"<think>\n{LONG_THOUGHT}\n</think>\n\n"),
    ),
    "reasoning_content": Way(
        "DeepSeek, vLLM, llama.cpp, DashScope", source="Vali-98/ChatterUI#384", write=reasoning("reasoning_content")
    ),
    "reasoning": Way("OpenRouter, Groq, Ollama, later vLLM", write=reasoning("reasoning")),
    "reasoning_content, long": Way(
        "DeepSeek, GPT-5: empty where the limit is lower than the thought is long",
        source="OpenBMB/StaffDeck#28, koala73/worldmonitor#4983, langchain-ai/langchain#32477",
        write=reasoning("reasoning_content", LONG_THOUGHT),
    ),
    "thinking parts": Way(
        "Mistral's Magistral",
        source="microsoft/agent-framework#6978, simonw/llm-mistral#38",
        write=reasoning("reasoning_content"),
        send=with_thinking_parts,
    ),
}
# Where nobody could answer; without embeddings, that holds for those who need them.
FAILURES = {
    "429 in 200": Way(
        "OpenRouter",
        "fails",
        source="open-webui/computer#293, BerriAI/litellm#8448",
        check=always(openrouter_error(429, "m is temporarily rate-limited upstream. Please retry shortly.")),
    ),
    "400 in 200": Way(
        "OpenRouter",
        "fails",
        source="the form: open-webui/computer#293, BeehiveInnovations/pal-mcp-server#134",
        check=always(openrouter_error(400, '{"error": {"message": "Invalid request", "code": "invalid_request"}}')),
    ),
    "html": Way(
        "portals, and a base URL without /v1",
        "fails",
        source="QuantumNous/new-api#817",
        check=always(Refusal(200, HTML, "text/html")),
        embed=always(Refusal(200, HTML, "text/html")),
    ),
    "choices empty": Way("gateways", "fails", send=sent(choices=False)),
    "filtered": Way("Azure, DashScope", "fails", send=filtered),
    "filter": Way(
        "Azure",
        "fails",
        source="compl-ai/compl-ai#20, tatsu-lab/alpaca_eval#430",
        check=always(Refusal(400, {"error": AZURE_FILTER})),
    ),
    "no model": Way(
        "Ollama", "fails", source="netease-youdao/QAnything#555", check=always(Refusal(404, {"error": NO_MODEL}))
    ),
    "key": Way(
        "OpenAI", "fails", source="chatanywhere/GPT_API_free#62", check=always(WRONG_KEY), embed=always(WRONG_KEY)
    ),
    "no embeddings": Way(
        "Groq",
        "fails",
        source="crewAIInc/crewAI#522, ChatGPTNextWeb/NextChat#4599",
        embed=always(Refusal(404, {"error": NO_EMBEDDINGS})),
    ),
}
# What it does not take, or heed, of embeddings.
EMBEDDINGS = {
    "batches of 10": Way("DashScope", source="memodb-io/memobase#142, jjyaoao/HelloAgents#27", embed=batches_of_ten),
    "batches of 4": Way(
        "SiliconFlow, text-embeddings-inference",
        source="the words and the status: n4ze3m/page-assist#371, apecloud/ApeRAG#724",
        embed=batches_of_four,
    ),
    "batches of 1": Way(
        "Google Vertex",
        source="GoogleCloudPlatform/python-docs-samples#13388, langchain-ai/langchainjs#8490",
        embed=one_at_a_time,
    ),
    "no base64": Way("older vLLM", source="vllm-project/vllm#6174", embed=no_base64),
    "floats": Way(
        "LM Studio, Infinity, SGLang",
        source="lmstudio-ai/lmstudio-bug-tracker#756, runpod-workers/worker-infinity-embedding#30",
        read=as_floats,
    ),
}
TEXTS = {
    "single quotes": Way(
        "small models",
        source="HomericIntelligence/Mnemosyne#2725, edreisMD/plugnplai#57",
        write=rewritten(loosely("'")),
    ),
    "python": Way("small models", write=rewritten(loosely(words={True: "True", False: "False", None: "None"}))),
    "trailing commas": Way(
        "small models", source="ducroo/SICTIC-AI#37, bytedance/deer-flow#2373", write=rewritten(loosely(comma=","))
    ),
    "prose": Way("many models", write=rewritten(lambda value: PROSE.format(json.dumps(value, ensure_ascii=False)))),
    "fenced": Way(
        "many models", write=rewritten(lambda value: f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```")
    ),
    "cut though whole": Way("small local models", send=cut_though_whole),
    "tool call": Way("gateways that make a tool of the schema", send=as_tool_call),
    "for others": Way("base models, small models", source="agnaistic/agnai#759", write=for_others(named=False)),
    "for others, named": Way("base models, small models", source="agnaistic/agnai#759", write=for_others(named=True)),
}
FORMS = {
    "kept alive": Way(
        "OpenRouter", source="openai/openai-go#227, mnfst/llm-gateway#2053", send=opened(KEPT_ALIVE, KEPT_ALIVE)
    ),
    "first without choices": Way(
        "Azure",
        source="AbanteAI/archive-old-cli-mentat#429, run-llama/LlamaIndexTS#244",
        send=opened(b"data: " + json.dumps(AZURE_FIRST).encode() + b"\n\n"),
    ),
    "no usage": Way("KoboldCpp, old gateways", source="LostRuins/koboldcpp#2481", send=sent(usage=False)),
    "no [DONE]": Way("gateways", send=sent(done=False)),
    "no ids": Way("gateways", send=sent(ids=False)),
    "null first": Way("vLLM, SGLang, DashScope", source="sgl-project/sglang#19858", send=sent(nothing_first=None)),
    "one chunk": Way("KoboldCpp, proxies that only seem to stream", send=sent(pieces=False)),
    "eos": Way(
        "Together; text-generation-inference says eos_token",
        source="vibrantlabsai/ragas#1548, huggingface/text-generation-inference#2344",
        send=sent(ended="eos"),
    ),
    "no reason": Way("tabbyAPI", source="theroyallab/tabbyAPI#83", send=sent(ended=None)),
    "streaming unasked": Way(
        "new-api and one-api: they stream unless told not to", source="KroMiose/nekro-agent#271", send=streaming_unasked
    ),
    "no role": Way("gateways", send=sent(role=False)),
    "parts": Way("Databricks, Mistral", source="cf. vercel/ai#4820", send=sent(content=as_parts)),
}
WAYS: dict[str, Way] = {
    name: replace(way, name=name)
    for group in (
        {"good": Way("OpenAI's GPT-4o, and whoever keeps to the protocol")},
        SAMPLING,
        LIMITS,
        MESSAGES,
        FEATURES,
        THOUGHTS,
        FAILURES,
        EMBEDDINGS,
        TEXTS,
        FORMS,
    )
    for name, way in group.items()
}
"""All ways by their names."""


class WildExchange(Exchange):
    """A chat completion, embeddings, or the list of models."""

    server: "WildEndpoint"
    fault = ""

    def do_GET(self) -> None:
        self.server.asked.append((self.path, {}))
        if not self.path.endswith("/models"):
            return self.refuse(Refusal(404, {"detail": "Not Found"}))
        more = {
            name: value
            for way in self.server.active
            if way.models
            for name, value in way.models(self.server.context).items()
        }
        data = [{"id": name, "object": "model", "created": 1, "owned_by": "wild", **more} for name in ("m", "words")]
        return self.send(json.dumps({"object": "list", "data": data}).encode())

    def do_POST(self) -> None:
        self.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.asked))
        asked, embeds = Asked(self.asked, self.server.context), self.path.endswith("/embeddings")
        if not (embeds or self.path.endswith("/chat/completions")):
            return self.refuse(Refusal(404, {"detail": "Not Found"}))
        for way in self.server.active:
            check = way.embed if embeds else way.check
            if check and (refusal := check(asked)):
                return self.refuse(refusal)
        for way in self.server.active:
            asked = way.read(asked) if way.read else asked
        return self.embed(asked) if embeds else self.answer(self.server.answer(asked))

    def refuse(self, refusal: Refusal) -> None:
        """Send an error; one that comes with status 200 comes as a part of a stream, where that was asked for."""
        if refusal.status == 200 and isinstance(refusal.body, dict) and self.asked.get("stream"):
            ended = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "error"}
            body = {"id": "gen-1", "object": "chat.completion.chunk", **refusal.body, "choices": [ended]}
            return self.send(b"data: " + json.dumps(body).encode() + b"\n\n", kind="text/event-stream")
        return self.send(refusal.sent, refusal.status, refusal.kind)

    def embed(self, asked: Asked) -> None:
        used = {"prompt_tokens": asked.texts, "total_tokens": asked.texts}
        body = {"object": "list", "model": "words", "data": vectors(dict(asked.body)), "usage": used}
        self.send(json.dumps(body).encode())

    def answer(self, answer: Answer) -> None:
        if not answer.streams:
            return self.send(answer.whole())
        self.begin(kind="text/event-stream")
        for event in answer.events():
            self.wfile.write(event)
        return None


class WildEndpoint(FaultServer):
    """The server; its `ways`, one or several, may be changed while it runs, and so may `context`, its window in tokens.

    `asked` has the path and the body of each request, `lost` the prompts whose part was not found.
    """

    exchange = WildExchange

    def __init__(self, ways: str | Sequence[str] = "good") -> None:
        super().__init__()
        self.ways = ways
        self.context = CONTEXT
        self.model = whole_cast()
        self.lost: list[str] = []

    @property
    def ways(self) -> list[str]:
        return [way.name for way in self.active]

    @ways.setter
    def ways(self, ways: str | Sequence[str]) -> None:
        self.active = [WAYS[name] for name in ([ways] if isinstance(ways, str) else ways)]

    @property
    def expect(self) -> Expect:
        """Whether anybody could answer in these ways."""
        return "fails" if any(way.expect == "fails" for way in self.active) else "answers"

    def answer(self, asked: Asked) -> Answer:
        """Have the answer of the cast, in these ways."""
        name, part = part_of(asked.prompt)
        with self.lock:
            try:
                text = str(self.model.reply([HumanMessage(part)]))
            except (AssertionError, KeyError):
                self.lost.append(asked.prompt)
                text = LOST
        answer = Answer(asked, name, text, streams=bool(asked.body.get("stream")))
        for way in self.active:
            if way.write:
                way.write(answer)
        answer.cut()
        for way in self.active:
            if way.send:
                way.send(answer)
        return answer

    def variables(self) -> dict[str, str]:
        """What makes a process use it."""
        return {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.server_port}/v1",
            "OPENAI_API_KEY": SECRET,
            "DRAMATURG_CHAT_MODEL": "m",
            "DRAMATURG_EMBEDDING_MODEL": "openai:words",
        }


@contextmanager
def wild_endpoint(ways: str | Sequence[str] = "good") -> Iterator[WildEndpoint]:
    """Run it, for a fixture."""
    with served(WildEndpoint) as server:
        server.ways = ways
        yield server
