"""A sentence-transformers model as LangChain embeddings."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from langchain_core.embeddings import Embeddings

from dramaturg.models.encodable import encodable
from dramaturg.models.errors import WeightsError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


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
    """Load a model; one in a folder is loaded without asking the hub anything.

    Args:
        model: a folder, or a name on the model hub.
        threads: for torch, in the whole process; None: as torch chooses.

    Raises:
        WeightsError: sentence-transformers is not installed, or the model cannot be loaded.
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
