"""A server that sends a client elsewhere does not get the key there; a kept answer belongs to who asked (S11)."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from dramaturg.models.chat import chat_model
from dramaturg.models.embeddings import embedder
from dramaturg.models.errors import ModelRefused
from dramaturg.models.questions import decide, write

ANSWER = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}]}
VECTORS = {"data": [{"index": 0, "embedding": [1.0, 0.0], "object": "embedding"}], "model": "m", "object": "list"}


@contextmanager
def server(target: str = "") -> Iterator[tuple[str, list[str]]]:
    """A server that answers, or sends whoever asks to a target; and the keys that it was shown."""
    keys: list[str] = []

    class Exchange(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            keys.append(str(self.headers.get("authorization")))
            away = target and "/there" not in self.path
            body = b"" if away else json.dumps(VECTORS if "embeddings" in self.path else ANSWER).encode()
            self.send_response(307 if away else 200)
            if away:
                self.send_header("location", target + self.path)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    running.daemon_threads = True
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", keys
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


def at(monkeypatch: pytest.MonkeyPatch, url: str, key: str = "secret") -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", key)


async def test_a_redirect_to_another_origin_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with server() as (there, keys), server(there) as (here, _):
        at(monkeypatch, here)
        for ask in (decide, write):
            with pytest.raises(ModelRefused, match=r"sends us to http://127\.0\.0\.1:\d+.*OPENAI_BASE_URL"):
                await ask(chat_model("m"), [HumanMessage("Is it so?")])
        embeddings = embedder("openai:e", "en").embeddings
        with pytest.raises(ModelRefused, match="sends us to"):
            embeddings.embed_query("a")
        with pytest.raises(ModelRefused, match="sends us to"):
            await embeddings.aembed_query("a")
        assert keys == []


async def test_a_redirect_within_a_server_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    with server("/there") as (here, keys):
        at(monkeypatch, here)
        assert (await decide(chat_model("m"), [HumanMessage("Is it so?")])).answer
        assert set(keys) == {"Bearer secret"}


async def test_a_kept_answer_is_for_who_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with server() as (here, keys):
        for key in ("one", "two", "one"):
            at(monkeypatch, here, key)
            await decide(chat_model("m", cache=tmp_path / "answers.sqlite"), [HumanMessage("Is it so?")])
        assert {*keys} == {"Bearer one", "Bearer two"}
        assert keys[-1] == "Bearer two"
    kept = (tmp_path / "answers.sqlite").read_bytes() + (tmp_path / "answers.sqlite-wal").read_bytes()
    assert b"one" not in kept
