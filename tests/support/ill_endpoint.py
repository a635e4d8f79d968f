"""An endpoint on loopback that plays all parts of all methods, and is ill with a fault until it is healed."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from all_methods import whole_cast
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from fault_server import FAULTS, REST, SECRET, Exchange, FaultServer, chunk, completion, served
from stub_endpoint import USAGE, vectors

REPLIES = ("I keep the light.", "Good evening, my dear friend.", "Good evening, my\ufffd dear friend.")
"""What is said as a whole: by the cast, and by faults that can be borne."""
STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 422, 429, 500, 501, 502, 503, 504)
SPEAKERS: dict[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
LONG = 10_000_000
Fault = Callable[["IllExchange"], Any]


class IllExchange(Exchange):
    """A chat completion, or embeddings."""

    def do_POST(self) -> None:
        self.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        assert isinstance(server, IllEndpoint)
        self.ended, self.fault, self.kind, self.hit = server.ended, server.fault, "write", 0
        embeds = self.path.endswith("/embeddings")
        server.asked.append((self.path, self.asked))
        faults = EMBEDDING_FAULTS if embeds else CHAT_FAULTS
        if server.fault in faults:
            faults[server.fault](self)
        elif embeds:
            self.embed(vectors(self.asked))
        else:
            said = [SPEAKERS[one["role"]](one["content"]) for one in self.asked["messages"]]
            with server.lock:
                answer = server.model.reply(said)
            self.say(answer)

    def embed(self, data: Any) -> None:
        self.send(json.dumps({"object": "list", "model": "words", "data": data, "usage": USAGE}).encode())

    def event(self, *bodies: bytes) -> None:
        """Answer with this body, in one piece or as the only event of a stream."""
        streams = self.asked.get("stream")
        kind = "text/event-stream" if streams else "application/json"
        for body in bodies:
            self.send(b"data: " + body + b"\n\ndata: [DONE]\n\n" if streams else body, kind=kind)


def status(code: int, **headers: str) -> Fault:
    return lambda exchange: exchange.error(code, **headers)


def whole(body: Any) -> Fault:
    return lambda exchange: exchange.event(body if isinstance(body, bytes) else json.dumps(body).encode())


def embedded(change: Callable[[list[dict[str, Any]]], Any]) -> Fault:
    """Give what this makes of the right vectors, as lists of numbers."""
    return lambda exchange: exchange.embed(change(vectors({**exchange.asked, "encoding_format": "float"})))


def each(change: Callable[[list[float]], Any]) -> Fault:
    return embedded(lambda data: [{**one, "embedding": change(one["embedding"])} for one in data])


ANYWHERE: dict[str, Fault] = {
    **{str(code): status(code) for code in STATUSES},
    **{f"{code} later": status(code, Retry_After="3600") for code in STATUSES},
    **{f"{code} soon": status(code, Retry_After="0") for code in (429, 503)},
    "nothing": lambda exchange: exchange.send(b""),
    "html": FAULTS["html"],
    "truncated": FAULTS["truncated"],
    "a list": whole([]),
    "a number": whole(5),
    "not UTF-8": whole(b'{"id": "\xff\xfe", "choices": [{"index": 0, "message": {"content": "I kee\xff"}}]}'),
    "silent": FAULTS["hang"],
    "reset before": lambda exchange: exchange.reset(),
}
CHAT_FAULTS: dict[str, Fault] = {
    **ANYWHERE,
    **{name: FAULTS[name] for name in ("error in 200", "choices empty", "choices null", "choices of numbers")},
    **{name: FAULTS[name] for name in ("null", "empty", "list of numbers", "list", "content filter", "length")},
    **{name: FAULTS[name] for name in ("drop", "drip", "drip of tokens", "NUL and surrogate")},
    **{name: FAULTS[name] for name in ("no end", "no reason", "no [DONE]", "reset in the middle")},
    "choices missing": whole({"id": "x", "object": "chat.completion", "created": 1, "model": "m"}),
    "message missing": whole(completion([{"index": 0, "finish_reason": "stop"}])),
    "content of a number": whole(completion([{"index": 0, "message": {"content": 5}, "delta": {"content": 5}}])),
    "10 MB": lambda exchange: exchange.say("I kee" + "p" * LONG),
    "reset after": lambda exchange: (exchange.break_off(REST, chunk({}, "stop")), exchange.reset()),
}
EMBEDDING_FAULTS: dict[str, Fault] = {
    **{f"vectors: {name}": fault for name, fault in ANYWHERE.items()},
    "vectors: NaN": each(lambda vector: [float("nan")] * len(vector)),
    "vectors: infinite": each(lambda vector: [float("inf"), *vector[1:]]),
    "vectors: zeros": each(lambda vector: [0.0] * len(vector)),
    "vectors: shorter": each(lambda vector: vector[:-1]),
    "vectors: of words": each(lambda vector: ["long"] * len(vector)),
    "vectors: null": each(lambda _: None),
    "vectors: one too few": embedded(lambda data: data[:-1]),
    "vectors: one too many": embedded(lambda data: [*data, {**data[-1], "index": len(data)}]),
    "vectors: in another order": embedded(lambda data: data[::-1]),
    "vectors: numbered twice": embedded(lambda data: [{**one, "index": 1} for one in data]),
    "vectors: of other lengths": embedded(
        lambda data: [*data[:-1], {**data[-1], "embedding": data[-1]["embedding"] * 2}]
    ),
    "vectors: data null": embedded(lambda _: None),
}
ALL_FAULTS = (*CHAT_FAULTS, *EMBEDDING_FAULTS)
WITHOUT_END = ("silent", "drip", "drip of tokens", "vectors: silent")
"""What a deadline ends."""


class IllEndpoint(FaultServer):
    """The server; `fault` may be changed while it runs, and none of these is health."""

    exchange = IllExchange

    def __init__(self) -> None:
        super().__init__()
        self.fault = ""
        self.model = whole_cast()

    def variables(self) -> dict[str, str]:
        """What makes a process use it."""
        return {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.server_port}/v1",
            "OPENAI_API_KEY": SECRET,
            "DRAMATURG_CHAT_MODEL": "m",
            "DRAMATURG_EMBEDDING_MODEL": "openai:words",
        }


ill_endpoint: Callable[[], Any] = partial(served, IllEndpoint)
