"""An endpoint of the benchmarks, in a process of its own: OpenAI's protocol, answers by a rule after a fixed time.

    with running() as stub:            # or: python benchmarks/stub_server.py --port 8000
        os.environ["OPENAI_BASE_URL"] = stub.url
        … ; stub.counts()

Of what `benchmarks/corpus.py` writes it finds the names, joins those of which one is in the other, and answers in the
form that was asked for: JSON by a schema, a first token with its probabilities, a text. Another form is a rule in
`RULES`.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

ENTITIES, RELATIONS, DIMENSION = 15, 20, 384
NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
BEGINNINGS = {"In", "At", "What", "The", "A"}  # of sentences
TITLES = {"Captain", "Doctor", "Mrs", "Master", "Judge"}
Request = Mapping[str, Any]


def names_in(text: str) -> list[str]:
    """The names in a text, as they are written, each once."""
    found = (" ".join(word for word in one.split() if word not in BEGINNINGS) for one in NAME.findall(text))
    return list(dict.fromkeys(one for one in found if one))


def kind_of(name: str) -> str:
    """The type of what a name means, by its last word."""
    last = name.rsplit(maxsplit=1)[-1]
    if last in {"Harbour", "Street", "Mill", "House", "Island", "Bridge"}:
        return "location"
    return "organization" if last in {"Company", "Guild", "Society", "Council", "Brotherhood"} else "character"


def facts(request: Request) -> str | None:
    """Entities and relations of numbered sentences (`prompts/extract_facts`)."""
    if "entities" not in properties(request):
        return None
    entities, relations = told_in(re.findall(r"^\[?(\d+)\]?[.:)]? (.+)$", said(request), re.MULTILINE))
    return json.dumps({"entities": entities, "relations": relations})


def told_in(sentences: Sequence[tuple[str, str]]) -> tuple[list[Any], list[Any]]:
    """Entities and relations of sentences with their numbers."""
    entities, relations = dict[str, Any](), dict[tuple[str, str], Any]()
    for number, text in sentences:
        names, told = names_in(text), text[:300].strip()
        for name in names:
            if len(entities) < ENTITIES or name in entities:
                about = {"name": name, "type": kind_of(name), "sentence": int(number), "description": told}
                entities.setdefault(name, about)
        for one, other in pairwise(names):
            if one in entities and other in entities and len(relations) < RELATIONS:
                ends = {"source": one, "target": other, "sentence": int(number)}
                relations.setdefault((one, other), {**ends, "description": told, "strength": 5})
    return [*entities.values()], [*relations.values()]


def rows(request: Request) -> str | None:
    """Entities and relations as LightRAG and nano-graphrag have them written, a row each; none was missed.

    LightRAG names its mark of a column and shows the text between fences; nano-graphrag shows it behind examples.
    """
    prompt, mark = "\n".join(str(one["content"]) for one in request["messages"]), "<|#|>"
    light, last = mark in prompt, said(request)
    if not light and '("entity"<|>' not in prompt:
        return None
    if "Answer YES | NO" in last:
        return "NO"
    text = re.search(
        r"---Input Text---\n```\n(.*)\n```" if light else r"-Real Data-.*?\nText: (.*)\n###", last, re.DOTALL
    )
    if not text:  # asked for what was missed
        return "<|COMPLETE|>"
    entities, relations = told_in([("1", one) for one in re.split(r"(?<=\.)\s+", text[1])])
    found = [["entity", one["name"], one["type"], one["description"]] for one in entities]
    for one in relations:
        ends = one["source"], one["target"]
        found.append(
            ["relation", *ends, "acquaintance", one["description"]]
            if light
            else ["relationship", *ends, one["description"], str(one["strength"])]
        )
    if light:
        return "\n".join([*map(mark.join, found), "<|COMPLETE|>"])
    return "##\n".join("(" + "<|>".join(f'"{column}"' for column in row) + ")" for row in found) + "<|COMPLETE|>"


def report(request: Request) -> str | None:
    """The report on a community, as nano-graphrag has it written."""
    if "# Goal\nWrite a comprehensive report of a community" not in said(request):
        return None
    told = [{"summary": "They know each other.", "explanation": summary(request)}]
    about = {"title": "A circle", "summary": "People of a coast.", "rating": 5.0, "rating_explanation": "As any."}
    return json.dumps({**about, "findings": told})


def verdicts(request: Request) -> str | None:
    """Several pairs in one question (`prompts/same_entities`)."""
    if "pair_1" not in properties(request):
        return None
    found = re.findall(r"^\[(\d+)\] ([^:\n]*)", said(request), re.MULTILINE)
    pairs = zip(found[::2], found[1::2], strict=True)
    answers = {f"pair_{one[0]}": {"reason": "By their names.", "same": same(one[1], other[1])} for one, other in pairs}
    return json.dumps(answers)


def short(request: Request) -> str | None:
    """One word or number, where the first token counts: yes, no, or the first of some options."""
    if not one_token(request) and "answer" not in properties(request):
        return None
    last = said(request)
    if re.search(r"^1\. ", last, re.MULTILINE):
        answer: Any = 1
    else:
        pair = re.findall(r"<(?:one|other)>\n([^:\n]*)", last)
        answer = "yes" if len(pair) == 2 and same(*pair) else "no"
    return str(answer) if one_token(request) else json.dumps({"answer": answer})


def summary(request: Request) -> str:
    """Some sixty words of what was asked."""
    words = re.sub(r"<[^>]*>", " ", said(request)).split()
    return " ".join(words[:60]).rstrip(".,:") + "."


RULES: list[Callable[[Request], str | None]] = [facts, verdicts, rows, report, short, summary]
"""Each has the answer to a request that it knows; the first that has one is asked."""


def same(one: str, other: str) -> bool:
    """Whether two names mean one: the words of one are among those of the other."""
    words, others = ({word for word in name.split() if word not in TITLES} for name in (one, other))
    return bool(words and others) and (words <= others or others <= words)


def said(request: Request) -> str:
    """The last message that is no answer."""
    contents = [one["content"] for one in request["messages"] if one["role"] == "user"]
    return contents[-1] if isinstance(contents[-1], str) else " ".join(part["text"] for part in contents[-1])


def one_token(request: Request) -> bool:
    """Whether only the first token is wanted."""
    return 1 in (request.get("max_tokens"), request.get("max_completion_tokens"))


def properties(request: Request) -> Mapping[str, Any]:
    """The keys of the object that was asked for."""
    schema = (request.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    found: Mapping[str, Any] = schema.get("properties", {})
    return found


@lru_cache(maxsize=200_000)
def word_vector(word: str) -> np.ndarray:
    """The direction of a word."""
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)


def vector(text: str) -> np.ndarray:
    """The direction of a text: that of its words, of which the first count most."""
    words = re.findall(r"\w+", text.casefold())[:200] or ["nothing"]
    total = sum((word_vector(word) / (1 + at) for at, word in enumerate(words)), np.zeros(DIMENSION, np.float32))
    return np.asarray(total / np.linalg.norm(total), np.float32)


class Endpoint:
    """The ASGI application; `chat` and `embedding` are seconds an answer takes, however many are asked for at once."""

    def __init__(self, chat: float, embedding: float) -> None:
        self.seconds = {"chat": chat, "embedding": embedding}
        self.reset()

    def reset(self) -> None:
        """Begin to count anew."""
        self.counted = {"chat": 0, "streamed": 0, "embedding": 0, "texts": 0, "prompt_characters": 0, "most_at_once": 0}
        self.open, self.began, self.busy = 0, 0.0, 0.0
        self.requests: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        path = scope["path"].rstrip("/")
        if path == "/counts":
            await respond(send, json.dumps({**self.counted, "busy_seconds": round(self.busy, 3)}).encode())
        elif path == "/requests":
            await respond(send, b"[" + b",".join(self.requests) + b"]")
        elif path == "/reset":
            self.reset()
            await respond(send, b"{}")
        elif path.endswith("/models"):
            await respond(send, b'{"object": "list", "data": [{"id": "stub", "object": "model"}]}')
        else:
            self.requests.append(body)
            with self.counting():
                await (self.embed if path.endswith("/embeddings") else self.chat)(json.loads(body), send)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count for how long any request is open."""
        if not self.open:
            self.began = time.monotonic()
        self.open += 1
        self.counted["most_at_once"] = max(self.counted["most_at_once"], self.open)
        try:
            yield
        finally:
            self.open -= 1
            if not self.open:
                self.busy += time.monotonic() - self.began

    async def embed(self, request: Request, send: Any) -> None:
        """Answer a request for vectors."""
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        self.counted["embedding"] += 1
        self.counted["texts"] += len(texts)
        rows = [vector(str(text)) for text in texts]
        if request.get("encoding_format") == "base64":
            given: list[Any] = [base64.b64encode(row.tobytes()).decode() for row in rows]
        else:
            given = [row.tolist() for row in rows]
        data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(given)]
        await asyncio.sleep(self.seconds["embedding"])
        usage = {"prompt_tokens": sum(map(len, map(str, texts))) // 4, "total_tokens": 0}
        answer = {"object": "list", "model": request.get("model", "stub"), "data": data, "usage": usage}
        await respond(send, json.dumps(answer).encode())

    async def chat(self, request: Request, send: Any) -> None:
        """Answer a question, at once or as a stream of a part a word."""
        self.counted["chat"] += 1
        characters = sum(len(str(one["content"])) for one in request["messages"])
        self.counted["prompt_characters"] += characters
        text = next(answer for rule in RULES if (answer := rule(request)) is not None)
        usage = {"prompt_tokens": characters // 4, "completion_tokens": max(1, len(text) // 4)}
        usage["total_tokens"] = sum(usage.values())
        await asyncio.sleep(self.seconds["chat"])
        made = {"id": "chatcmpl-stub", "created": 1, "model": request.get("model", "stub")}
        if request.get("stream"):
            self.counted["streamed"] += 1
            await respond(send, streamed(made, text, usage), "text/event-stream")
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        if request.get("logprobs"):
            other = {"yes": "no", "no": "yes"}.get(text, "2")
            top = [{"token": token, "logprob": p, "bytes": None} for token, p in ((text, -0.05), (other, -3.0))]
            choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}], "refusal": None}
        answer = {**made, "object": "chat.completion", "choices": [choice], "usage": usage}
        await respond(send, json.dumps(answer).encode())


async def streamed(made: Mapping[str, Any], text: str, usage: Mapping[str, int]) -> AsyncIterator[bytes]:
    """The events of a stream."""
    made = {**made, "object": "chat.completion.chunk"}
    words = re.findall(r"\S+\s*", text)
    deltas: list[tuple[Any, str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": word}, None) for word in words] + [({}, "stop")]
    for delta, reason in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield f"data: {json.dumps({**made, 'choices': [choice]})}\n\n".encode()
    yield f"data: {json.dumps({**made, 'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n".encode()


async def respond(send: Any, body: bytes | AsyncIterator[bytes], kind: str = "application/json") -> None:
    """Send an answer."""
    headers = [(b"content-type", kind.encode())]
    if isinstance(body, bytes):
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if not isinstance(body, bytes):
        async for part in body:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        body = b""
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True)
class Stub:
    """A running endpoint."""

    url: str
    """What OPENAI_BASE_URL is set to."""

    def counts(self) -> dict[str, float]:
        """Chat calls, how many streamed, embedding calls, texts, prompt characters, most at once, busy seconds."""
        return dict(json.loads(self._get("counts")))

    def requests(self) -> list[dict[str, Any]]:
        """What was asked, in the order in which it came; vectors are asked for by `input`."""
        return list(json.loads(self._get("requests")))

    def reset(self) -> None:
        """Begin to count anew."""
        self._get("reset")

    def _get(self, name: str) -> bytes:
        with urllib.request.urlopen(f"{self.url.removesuffix('/v1')}/{name}") as answer:
            return bytes(answer.read())


@contextmanager
def running(chat: float = 0.05, embedding: float = 0.01, script: str = __file__) -> Iterator[Stub]:
    """Run the endpoint in a process of its own, on a free port of this machine.

    Args:
        chat: seconds an answer takes.
        embedding: seconds a call for vectors takes.
        script: what is run, where a benchmark has rules of its own: it calls `main`.
    """
    command = [sys.executable, script, "--chat", str(chat), "--embedding", str(embedding), "--until-input-ends"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield Stub(process.stdout.readline().strip())
        finally:
            process.terminate()


async def serve(port: int, endpoint: Endpoint) -> None:
    """Serve until the process is ended; the first line that is printed is the address."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", port), backlog=256)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)
    await uvicorn.Server(uvicorn.Config(endpoint, log_level="error", access_log=False)).serve([listening])


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--chat", type=float, default=0.05, help="seconds an answer takes")
    parser.add_argument("--embedding", type=float, default=0.01, help="seconds a call for vectors takes")
    parser.add_argument("--until-input-ends", action="store_true", help="end with the process that started it")
    given = parser.parse_args()
    if given.until_input_ends:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    asyncio.run(serve(given.port, Endpoint(given.chat, given.embedding)))


if __name__ == "__main__":
    main()
