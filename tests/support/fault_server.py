"""A loopback server that speaks OpenAI's protocol and does what servers and models do wrong: one fault a path."""

import json
import math
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import quote, unquote

SECRET = "sk-planted-0123456789abcdef"  # the key, which every error of the server repeats
GOOD = {
    "decide": '{"answer": "yes"}',
    "rate": '{"answer": 4}',
    "choose": '{"answer": 2}',
    "extract": '{"name": "Ludwig", "born": 1770}',
    "write": "Good evening, my dear friend.",
}
TOKENS = {
    "decide": {"Yes": 0.5, " yes": 0.2, "No": 0.2, "Maybe": 0.1},
    "rate": {"3": 0.2, "4": 0.4, "5": 0.2, "I": 0.2},
    "choose": {"1": 0.1, "2": 0.8, "3": 0.1},
}


class Exchange(BaseHTTPRequestHandler):
    """One request to `/<fault>/<kind of question>/v1/chat/completions`."""

    ended: threading.Event

    def do_POST(self) -> None:
        _, self.fault, self.kind, *_ = unquote(self.path).split("/")
        self.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        assert isinstance(server, FaultServer)
        self.ended = server.ended
        with server.lock:
            server.asked.append((self.fault, self.asked))
            server.hits[self.fault] += 1
            self.hit = server.hits[self.fault]
        FAULTS[self.fault](self)

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def send(self, body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        self.begin(status, kind, **{"Content_Length": str(len(body)), **headers})
        self.wfile.write(body)

    def begin(self, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "keep-alive" if self.fault == "kept alive" else "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def error(self, status: int, code: str = "fault", **headers: str) -> None:
        text = f"{code}: the key {SECRET} of this request"
        self.send(json.dumps({"error": {"message": text, "type": "fault", "code": code}}).encode(), status, **headers)

    def say(self, content: Any, ended: str | None = "stop", logprobs: Any = None, **message: Any) -> None:
        """Answer as asked: in one piece or as a stream."""
        said = {"role": "assistant", "content": content, **message}
        if self.asked.get("stream"):
            self.begin(kind="text/event-stream")
            for event in events(said, ended):
                self.wfile.write(event)
        else:
            choice = {"index": 0, "finish_reason": ended, "message": said, "logprobs": logprobs}
            self.send(json.dumps(completion([choice])).encode())

    def drip(self, *, body: bool) -> None:
        """Send a byte now and then; `body`: of a stream of tokens, which keeps a client's read timeout quiet."""
        self.begin(kind="text/event-stream" if self.asked.get("stream") else "application/json")
        while not self.ended.wait(0.05):
            word = chunk({"content": "la "}) if body and self.asked.get("stream") else b" "
            self.wfile.write(word)
            self.wfile.flush()

    def break_off(self, *ends: bytes) -> None:
        """Stream the beginning of an answer, then these marks of its end, and hang up as if all were well."""
        self.begin(kind="text/event-stream")
        self.wfile.write(chunk({"role": "assistant", "content": "Good eve"}))
        for end in ends:
            self.wfile.write(end)

    def reset(self) -> None:
        """Hang up without a farewell."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.rfile.close()
        self.connection.close()

    def drop(self) -> None:
        """Promise a body and hang up in the middle of it."""
        if self.asked.get("stream"):
            self.begin(kind="text/event-stream", Content_Length="100000")
            self.wfile.write(chunk({"content": "Good eve"}))
        else:
            self.send(b'{"id": "x", "choices": [', Content_Length="100000")

    def probable(self, tokens: dict[str, float]) -> None:
        """Answer with log-probabilities of the first token, if they are asked for."""
        if not self.asked.get("logprobs"):
            return self.say(GOOD[self.kind])
        top = [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in tokens.items()]
        return self.say(top[0]["token"], "length", {"content": [{**top[0], "top_logprobs": top}]})


def completion(choices: Any, **more: Any) -> dict[str, Any]:
    used = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": used,
        **more,
    }


def chunk(delta: dict[str, Any] | None, ended: str | None = None) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": ended}]
    whole = completion(choices, object="chat.completion.chunk")
    if delta is not None:
        del whole["usage"]
    return b"data: " + json.dumps(whole).encode() + b"\n\n"


def events(said: dict[str, Any], ended: str | None) -> Iterator[bytes]:
    content = said["content"]
    yield chunk({"role": "assistant", **said, "content": content[:5] if isinstance(content, str) else content})
    if isinstance(content, str) and content[5:]:
        yield chunk({"content": content[5:]})
    yield chunk({}, ended)
    yield chunk(None)
    yield b"data: [DONE]\n\n"


REST = chunk({"content": "ning, my dear friend."})


def says(make: Callable[[str], Any], **how: Any) -> Callable[[Exchange], None]:
    """Answer with something made of the good answer."""
    return lambda exchange: exchange.say(make(GOOD[exchange.kind]), **how)


def answers(value: str) -> Callable[[Exchange], None]:
    """Answer with this JSON for the value."""
    return lambda exchange: exchange.say(f'{{"{"name" if exchange.kind == "extract" else "answer"}": {value}}}')


def refusing(parameter: str) -> Callable[[Exchange], None]:
    """Refuse requests that have the parameter."""

    def exchange(self: Exchange) -> None:
        if parameter in self.asked:
            return self.error(400, f"unknown parameter {parameter}")
        return self.say(GOOD[self.kind])

    return exchange


def at_first(fault: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
    """Fail once."""
    return lambda exchange: fault(exchange) if exchange.hit == 1 else exchange.say(GOOD[exchange.kind])


ENDS: dict[str, Callable[[Exchange], Any]] = {
    "no end": lambda exchange: exchange.break_off(),
    "no end, but a cost": lambda exchange: exchange.break_off(chunk(None)),
    "no [DONE]": lambda exchange: exchange.break_off(REST, chunk({}, "stop")),
    "no reason": lambda exchange: exchange.break_off(REST, b"data: [DONE]\n\n"),
    "no reason, in parts": lambda exchange: exchange.break_off(REST, b"data: ", b"[DO", b"NE]\r", b"\n\r\n"),
    "[DONE] said": lambda exchange: exchange.break_off(chunk({"content": "data: [DONE]\n\ndata: [DONE]"})),
    "reset in the middle": lambda exchange: (exchange.break_off(), exchange.reset()),
}
"""How streams end."""
FAULTS: dict[str, Callable[[Exchange], Any]] = {
    "none": says(str),
    "kept alive": says(str),
    # Time and connections.
    "hang": lambda exchange: exchange.ended.wait(),
    "drip": lambda exchange: exchange.drip(body=False),
    "drip of tokens": lambda exchange: exchange.drip(body=True),
    "drop": lambda exchange: exchange.drop(),
    **ENDS,
    # Statuses.
    "429": lambda exchange: exchange.error(429),
    "429 retry later": lambda exchange: exchange.error(429, Retry_After="3600"),
    "429 retry soon": at_first(lambda exchange: exchange.error(429, Retry_After_Ms="20")),
    "500": lambda exchange: exchange.error(500),
    "503": lambda exchange: exchange.error(503),
    "400 context": lambda exchange: exchange.error(400, "context_length_exceeded"),
    "400 always": lambda exchange: exchange.error(400),
    "401": lambda exchange: exchange.error(401),
    "403": lambda exchange: exchange.error(403),
    "404": lambda exchange: exchange.error(404),
    # Bodies.
    "html": lambda exchange: exchange.send(f"<html>{SECRET}</html>".encode(), kind="text/html"),
    "truncated": lambda exchange: exchange.send(b'{"id": "x", "choices": [{"ind'),
    "error in 200": lambda exchange: exchange.send(json.dumps({"error": {"message": SECRET}}).encode()),
    "whole, no reason": says(str, ended=None),
    "choices empty": lambda exchange: exchange.send(json.dumps(completion([])).encode()),
    "choices null": lambda exchange: exchange.send(json.dumps(completion(None)).encode()),
    "choices of numbers": lambda exchange: exchange.send(json.dumps(completion([1, 2])).encode()),
    # Messages.
    "empty": says(lambda _: ""),
    "null": says(lambda _: None),
    "refusal": says(lambda _: None, refusal=f"I cannot say {SECRET}"),
    "content filter": says(lambda good: good[:6], ended="content_filter"),
    "length": says(str, ended="length"),
    "length, nothing said": says(lambda _: "", ended="length"),
    "huge": says(lambda _: "x" * 20_000_000),
    "list": says(lambda good: [{"type": "text", "text": good}]),
    "list of numbers": says(lambda _: [{"type": "text", "text": 5}]),
    # Texts that are to be JSON.
    "fenced": says(lambda good: f"```json\n{good}\n```"),
    "prose": says(lambda good: f"Certainly! {good}"),
    "extra text": says(lambda good: f"{good} I hope this helps."),
    "extra key": says(lambda good: f'{good[:-1]}, "more": {json.dumps(SECRET)}}}'),
    "duplicate key": says(lambda good: f"{good[:-1]}, {good[1:]}"),
    "NaN": answers("NaN"),
    "infinite": answers("1e999"),
    "number in words": answers('"four"'),
    "out of range": answers("99"),
    "deep": answers("[" * 90_000 + "]" * 90_000),
    "cut json": says(lambda good: good[:-3]),
    "bad at first": at_first(says(lambda _: f"I would say {SECRET}")),
    "NUL and surrogate": says(lambda good: good.replace("Ludwig", "L\0ud\ud800wig").replace("my", "m\0y\udfff")),
    "escaped NUL": says(lambda good: good.replace("Ludwig", "L\\u0000ud\\ud800wig")),
    # Log-probabilities.
    "logprobs": lambda exchange: exchange.probable(TOKENS[exchange.kind]),
    "logprobs of something else": lambda exchange: exchange.probable({"```": 0.98, "The": 0.01, "4": 0.001}),
    "logprobs without alternatives": lambda exchange: exchange.probable({"4": 0.5}),
    "logprobs malformed": says(str, logprobs={"content": [{"top_logprobs": [{"token": 4, "logprob": "often"}, None]}]}),
    "logprobs rejected": refusing("logprobs"),
    "schema rejected": refusing("response_format"),
    "temperature rejected": refusing("temperature"),
}


class FaultServer(ThreadingHTTPServer):
    """Serves every fault until it is closed; `asked` has the fault and the body of each request."""

    exchange = Exchange
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.exchange)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.hits: Counter[str] = Counter()
        self.ended = threading.Event()
        self.lock = threading.Lock()

    def url(self, fault: str, kind: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{quote(fault)}/{kind}/v1"

    def handle_error(self, *_: Any) -> None:
        """Clients hang up; that is what is tested."""


S = TypeVar("S", bound=FaultServer)


@contextmanager
def served(kind: type[S]) -> Iterator[S]:
    """Run a server, for a fixture."""
    server = kind()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


serving = partial(served, FaultServer)
