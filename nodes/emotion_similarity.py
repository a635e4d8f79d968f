"""The similarity of texts to eight described emotions: emotional vectors without a chat model."""

import threading
import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dramaturg.models.embeddings import Embedder
from dramaturg.prompts import load
from dramaturg.stores.index.vectors import Vectors, unit_rows

FULL = 0.5  # of the distance of one description from all: a text that stands out so much is given a 10

_described: dict[tuple[int, str, tuple[str, ...]], Vectors] = {}
_lock = threading.Lock()


def similarities(texts: Sequence[str], described: Vectors, embedder: Embedder) -> NDArray[np.float64]:
    """Cosines, of shape (n, 8), of texts to the described emotions, of shape (8, d).

    Raises:
        ValueError: the embedding model gives no direction for one of them.
    """
    vectors = unit_rows(embedder.embeddings.embed_documents(list(texts)))
    return np.asarray(vectors, np.float64) @ np.asarray(described, np.float64).T


def intensities(cosines: NDArray[np.float64], described: Vectors) -> NDArray[np.int64]:
    """Scores from 1 to 10, of shape (n, 8): by how much each emotion stands out from the mean of the text's eight.

    How far cosines spread differs from model to model, and is measured by how far the descriptions are from each other.
    Where nothing stands out, as in texts without a feeling, all scores are low.
    """
    apart = 1 - float(np.mean(described @ described.T))
    outstanding = cosines - cosines.mean(axis=1, keepdims=True)
    shares = np.clip(outstanding / max(FULL * apart, np.finfo(np.float32).eps), 0, 1)
    return np.asarray(np.rint(1 + 9 * shares), np.int64)


def described_emotions(embedder: Embedder, language: str, emotions: Sequence[str]) -> Vectors:
    """Directions of emotions, of shape (8, d): the mean over the sentences of each. Embedded once a process and model.

    Raises:
        KeyError: an emotion is not described.
    """
    model = embedder.embeddings
    key = (id(model), language, tuple(emotions))
    with _lock:
        if key not in _described:
            sentences = descriptions(language)
            means = [
                unit_rows(model.embed_documents(sentences[emotion])).mean(axis=0, dtype=np.float64)
                for emotion in emotions
            ]
            _described[key] = unit_rows(means)
            weakref.finalize(model, _described.pop, key)
        return _described[key]


def descriptions(language: str) -> dict[str, list[str]]:
    """The sentences that describe each emotion: lines "joy: …" of the prompt `feelings`."""
    found: dict[str, list[str]] = {}
    for message in load("feelings", language).messages():
        for line in message.text.splitlines():
            emotion, _, sentence = line.partition(": ")
            found.setdefault(emotion, []).append(sentence)
    return found
