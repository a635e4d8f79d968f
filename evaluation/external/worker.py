"""A process around another package's method: requests come in as JSON lines, and its own questions to models go out.

Run as `python worker.py lightrag` by `comparison.external_process`. Nothing of Dramaturg is imported here. What the
package prints goes to the log: standard output is for lines alone.
"""

import asyncio
import itertools
import json
import os
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from importlib import import_module
from queue import Queue
from typing import Any, TextIO


class Calls:
    """Questions to the models of whoever started this process; they may be asked from any thread."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._open: dict[int, Future[Any]] = {}

    def chat(self, messages: Sequence[Mapping[str, str]], most: int) -> "Future[str]":
        """Ask the chat model for a text of at most `most` tokens; messages have a `role` and `content`."""
        return self._ask(ask="chat", messages=list(messages), most=most)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> "Future[list[list[float]]]":
        """Ask the embedding model for vectors, in order."""
        return self._ask(ask="embed", texts=list(texts), query=query)

    def settle(self, message: Mapping[str, Any]) -> None:
        """Give an answer to whoever waits for it."""
        waiting = self._open.pop(message["number"])
        if "error" in message:
            waiting.set_exception(RuntimeError(message["error"]))
        else:
            waiting.set_result(message["answer"])

    def say(self, message: Mapping[str, Any]) -> None:
        """Write one line."""
        with self._lock:
            self._out.write(json.dumps(message, ensure_ascii=True) + "\n")
            self._out.flush()

    def _ask(self, **message: Any) -> "Future[Any]":
        waiting: Future[Any] = Future()
        number = next(self._numbers)
        self._open[number] = waiting
        self.say({"number": number, **message})
        return waiting


def listen(calls: Calls, requests: "Queue[Any]") -> None:
    """Sort what comes in: answers to those who wait, requests into the queue, None at the end."""
    for line in sys.stdin:
        message = json.loads(line)
        if "do" in message:
            requests.put(message)
        else:
            calls.settle(message)
    requests.put(None)


async def serve(name: str, calls: Calls, requests: "Queue[Any]") -> None:
    """Do one request after another: the first opens the engine, the others are its methods."""
    engine: Any = None
    while (request := await asyncio.to_thread(requests.get)) is not None:
        kind, number = request.pop("do"), request.pop("request")
        try:
            if kind == "open":
                engine = await import_module(f"{name}_engine").open_engine(calls, **request)
                done: Any = engine.version
            else:
                done = await getattr(engine, kind)(**request)
        except Exception as error:  # noqa: BLE001 (whatever another package raises is told)
            traceback.print_exc()
            missing = isinstance(error, ImportError)
            calls.say({"request": number, "failed": f"{type(error).__name__}: {error}", "missing": missing})
        else:
            calls.say({"request": number, "done": done})


def main() -> None:
    """Serve until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    calls, requests = Calls(out), Queue[Any]()
    threading.Thread(target=listen, args=(calls, requests), daemon=True).start()
    asyncio.run(serve(sys.argv[1], calls, requests))


if __name__ == "__main__":
    main()
