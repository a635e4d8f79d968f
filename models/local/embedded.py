"""The embedded chat model: a llama.cpp server in this process, on loopback."""

import atexit
import os
import platform
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dramaturg.models.environment import environment
from dramaturg.models.errors import WeightsError
from dramaturg.models.local.weights import find

if TYPE_CHECKING:
    from xllamacpp import CommonParams, Server

EMBEDDED_MODEL = "qwen2.5-coder-1.5b"
FILE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
SLOTS = 2  # requests at once; with more, two cores decode fewer tokens in all
TOKENS_A_SLOT = 8192  # prompt and answer
# Left to itself the model says a sentence again and again, and takes up the third person of what it was shown.
WRITING = {"extra_body": {"repeat_penalty": 1.15, "repeat_last_n": 256}}
PROMPTS_KEPT_MIB = 512  # about 18,000 tokens: the agents of a simulation; llama.cpp's own bound is 8 GiB

_servers: list["Server"] = []
_lock = threading.Lock()


def serve() -> str:
    """Start the server if this process has none yet, which takes seconds and 1.6 GB of memory.

    It ends with the process. Blocks: an async caller uses `asyncio.to_thread`.

    Returns:
        The base URL for an OpenAI client: `http://127.0.0.1:<port>/v1`.
    """
    with _lock:
        if not _servers:
            _servers.append(_start())
            atexit.register(_stop)
        return f"{_servers[0].listening_address}/v1"


def _start() -> "Server":
    try:
        import xllamacpp
    except ImportError as error:
        msg = (
            "The embedded chat model needs xllamacpp: run `pip install 'dramaturg[local]'`, "
            "or set OPENAI_API_KEY or OPENAI_BASE_URL."
        )
        raise WeightsError(msg) from error
    surroundings = environment()
    weights = find(EMBEDDED_MODEL, *surroundings.weights_in) / FILE
    settings = _settings(xllamacpp.CommonParams(), weights, surroundings.threads or os.cpu_count() or 1)
    try:
        server = xllamacpp.Server(settings)
        # Its loop starts a moment later, and a server that is told to end before that never ends: see it answer.
        server.handle_completions({"prompt": "a", "n_predict": 1})
    except RuntimeError as error:
        msg = f"llama.cpp could not start with {weights}: see that about 3 GB of memory are free."
        raise WeightsError(msg) from error
    return server


def _settings(settings: "CommonParams", weights: Path, threads: int) -> "CommonParams":
    settings.model.path = str(weights)
    settings.model_alias = {EMBEDDED_MODEL}
    # Each slot has its own part of the context: in a shared one, two long prompts at once end each other.
    settings.n_parallel = SLOTS
    settings.kv_unified = False
    settings.n_ctx = SLOTS * TOKENS_A_SLOT
    settings.cache_ram_mib = PROMPTS_KEPT_MIB
    settings.warmup = False  # an empty run, which `_start` makes too: Python stands still while a server is made
    settings.fit_params = False  # looking for what fits into memory would read the model a second time
    # On x86 the weights as they are in the file read prompts as fast as repacked ones, and are there in a second.
    settings.no_extra_bufts = platform.machine() in {"x86_64", "AMD64"}
    settings.cpuparams.n_threads = threads
    settings.cpuparams_batch.n_threads = threads
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    # Nothing but this process is meant to ask it: no page of a browser, and no list of the prompts in work.
    settings.cors_origins = ""
    settings.endpoint_slots = False
    settings.ui = False
    settings.verbosity = 0
    return settings


def _stop() -> None:
    """End the server while the interpreter is whole."""
    _hang_up(urlsplit(_servers[0].listening_address).port)
    _servers.clear()


def _hang_up(port: int | None) -> None:
    """Close the connections of a port of this process.

    llama.cpp does not end before its clients have: with a request of a daemon thread it would wait for ever.
    """
    descriptors = Path("/dev/fd")  # Windows has none
    for name in os.listdir(descriptors) if descriptors.is_dir() else ():  # noqa: PTH208
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    if connection.family == socket.AF_INET and connection.getsockname()[1] == port:
                        connection.shutdown(socket.SHUT_RDWR)
