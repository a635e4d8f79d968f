"""An OpenAI-compatible endpoint on loopback: plays AMADEUS by the script of `roles.actor`, embeds by hashed words."""

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from langchain_core.messages import HumanMessage, convert_to_messages

from roles import WordEmbeddings, actor

USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions, in one piece or streamed, and embeddings."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        assert isinstance(server, Endpoint)
        kind = "embeddings" if self.path.endswith("/embeddings") else "chat"
        server.asked.append(body)
        self.body = body
        if fault := server.faults.get(kind):
            fault(self)
        else:
            self.answer(body)

    def answer(self, body: dict[str, Any]) -> None:
        """Do what is asked."""
        server: Any = self.server
        if self.path.endswith("/embeddings"):
            return self.send({"object": "list", "model": "words", "data": vectors(body), "usage": USAGE})
        time.sleep(server.latency)
        messages = convert_to_messages(body["messages"])
        if server.joins:
            messages = [HumanMessage("\n".join(message.text for message in messages))]
        answer = server.model.reply(messages)
        return self.stream(str(answer)) if body.get("stream") else self.send(completion({"content": answer}))

    def send(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_one_request(self) -> None:
        """Read a request; clients of silent servers hang up."""
        with suppress(ConnectionError):
            super().handle_one_request()

    def stream(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        server: Any = self.server
        words = re.split(r"(?<= )", text)
        for word in words:
            if word is words[-1]:
                server.goes_on.wait()
            self.wfile.write(b"data: " + json.dumps(completion({"content": word}, "delta")).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def fail(self, status: int, **headers: str) -> None:
        """Answer with a status, and a text that repeats the key."""
        body = json.dumps({"error": {"message": f"of {self.headers['Authorization']}"}}).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def completion(message: dict[str, Any], key: str = "message") -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", key: {"role": "assistant", **message}}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}


def vectors(body: dict[str, Any]) -> list[dict[str, Any]]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    rows: list[Any] = WordEmbeddings().embed_documents(texts)
    if body.get("encoding_format") == "base64":
        rows = [base64.b64encode(np.array(row, "<f4").tobytes()).decode() for row in rows]
    return [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]


class Endpoint(ThreadingHTTPServer):
    """The server; `latency` is in seconds and may be changed while it runs.

    So may the `faults` of "chat" and "embeddings"; one may wait for `ended`, which the end of a test sets. While
    `goes_on` is not set, what is streamed stops before its last word.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model = actor()
        self.joins = True  # all messages into one, before its model is asked
        self.latency = 0.0
        self.faults: dict[str, Callable[[Handler], None]] = {}
        self.ended = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.asked: list[dict[str, Any]] = []

    def variables(self) -> dict[str, str]:
        """What makes a process use it."""
        return {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.server_port}/v1",
            "OPENAI_API_KEY": "stub",
            "DRAMATURG_CHAT_MODEL": "stub",
            "DRAMATURG_EMBEDDING_MODEL": "openai:words",
        }


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Run it, for a fixture."""
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.goes_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
