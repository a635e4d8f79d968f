"""What mem0 finds of talks that are given with the vectors of all texts and questions; run by `memory_peers.py`.

Runs with the Python of an environment that has mem0, and prints for each question the exchanges that it finds, best
first, as JSON, a line a talk.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}  # it asks nobody, and wants a key
DIMENSION = 384


class Given:
    """The embedding model of mem0: what was embedded already."""

    config = None

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.vectors[" ".join(text.split())]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def found_by_mem0(talk: dict[str, Any], folder: Path, most: int) -> list[list[int]]:
    """Each exchange kept as it was said (`infer=False`), and the places of those that are found for each question."""
    from mem0 import Memory

    own = {"path": str(folder), "embedding_model_dims": DIMENSION, "on_disk": False, "collection_name": "talk"}
    memory = Memory.from_config({"vector_store": {"provider": "qdrant", "config": own}})
    memory.embedding_model = Given(talk["vectors"])
    places = dict[str, int]()
    for place, text in enumerate(talk["texts"]):
        kept = memory.add([{"role": "user", "content": text}], user_id="user", infer=False)
        places |= {one["id"]: place for one in kept["results"]}
    asked = [memory.search(one, filters={"user_id": "user"}, top_k=most) for one in talk["questions"]]
    return [[places[one["id"]] for one in found["results"]] for found in asked]


if __name__ == "__main__":
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["MEM0_DIR"] = folder
            given = json.loads(line)
            print(json.dumps(found_by_mem0(given, Path(folder) / "vectors", given["most"])), flush=True)
