"""Embeddings by words: the same everywhere, without weights."""

import hashlib
import re

import numpy as np
from langchain_core.embeddings import Embeddings

DIMENSION = 1024


class WordEmbeddings(Embeddings):
    """A bag of hashed words: texts that share words are near each other."""

    model = "words"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """A vector of length 1."""
        vector = np.full(DIMENSION, 0.001)  # no text is without a direction
        for word in re.findall(r"\w+", text.lower()):
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSION] += 1
        return [float(component) for component in vector / np.linalg.norm(vector)]
