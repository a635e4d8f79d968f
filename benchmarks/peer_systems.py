"""One system of `benchmarks/peers.py`, in a process of its own: it indexes the corpus, again, with one more, one less.

Run by `benchmarks/peers.py` with the Python of the environment that has the system. What is measured is printed as
JSON, a line a step: wall and processor seconds of this process, and what the endpoint counted meanwhile.
"""

import argparse
import asyncio
import json
import os
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from corpus import documents

DIMENSION = 384
Step = Callable[[], Awaitable[Any]]
Steps = dict[str, Step]


async def lightrag(texts: dict[str, str], folder: Path, at_once: int) -> Steps:
    """LightRAG with one client for all calls: as it is shipped, it builds one a call."""
    from lightrag import LightRAG
    from lightrag.utils import EmbeddingFunc
    from openai import AsyncOpenAI

    client, (*most, last) = AsyncOpenAI(), texts

    async def complete(prompt: str, system_prompt: str | None = None, history_messages: Any = (), **more: Any) -> str:
        messages = [{"role": "system", "content": system_prompt}] if system_prompt else []
        messages += [*history_messages, {"role": "user", "content": prompt}]
        answer = await client.chat.completions.create(model="stub", messages=messages)
        return answer.choices[0].message.content

    async def embed(batch: list[str]) -> Any:  # no partial: LightRAG copies its settings, and all that is in them
        return await vectors(client, batch)

    rag = LightRAG(
        working_dir=str(folder),
        llm_model_func=complete,
        embedding_func=EmbeddingFunc(DIMENSION, embed, max_token_size=8192),
        llm_model_max_async=at_once,
        max_parallel_insert=at_once,
        embedding_func_max_async=at_once,
    )
    await rag.initialize_storages()

    async def take(names: list[str]) -> None:
        await rag.ainsert([texts[one] for one in names], ids=names, file_paths=names)

    return {
        "index": lambda: take(most),
        "again": lambda: take(most),
        "added": lambda: take([last]),
        "removed": lambda: rag.adelete_by_doc_id(most[0]),
    }


async def nano_graphrag(texts: dict[str, str], folder: Path, at_once: int) -> Steps:
    """nano-graphrag, which keeps one client itself; it cannot take a document out."""
    import graspologic.partition
    import graspologic.utils  # noqa: F401 - it imports them when it first makes communities, which takes seconds
    from nano_graphrag import GraphRAG
    from nano_graphrag._llm import openai_complete_if_cache
    from nano_graphrag._utils import wrap_embedding_func_with_attrs
    from openai import AsyncOpenAI

    client, (*most, last) = AsyncOpenAI(), texts

    async def complete(prompt: str, system_prompt: str | None = None, history_messages: Any = (), **more: Any) -> Any:
        return await openai_complete_if_cache("stub", prompt, system_prompt, list(history_messages), **more)

    @wrap_embedding_func_with_attrs(embedding_dim=DIMENSION, max_token_size=8192)
    async def embed(batch: list[str]) -> Any:
        return await vectors(client, batch)

    rag = GraphRAG(
        working_dir=str(folder),
        best_model_func=complete,
        cheap_model_func=complete,
        best_model_max_async=at_once,
        cheap_model_max_async=at_once,
        embedding_func=embed,
        embedding_func_max_async=at_once,
    )

    async def take(names: list[str]) -> None:
        await rag.ainsert([texts[one] for one in names])

    return {"index": lambda: take(most), "again": lambda: take(most), "added": lambda: take([last])}


async def vectors(client: Any, batch: list[str]) -> Any:
    """The vectors of some texts, as an array."""
    import numpy as np

    found = await client.embeddings.create(model="stub", input=batch, encoding_format="float")
    return np.array([one.embedding for one in found.data], dtype=np.float32)


async def dramaturg(texts: dict[str, str], folder: Path, at_once: int, **settings: Any) -> Steps:
    """RoleRAG's index of this package."""
    from dramaturg.stores.documents.forms import RoleCard
    from dramaturg.stores.learning import forget, learn
    from dramaturg.stores.library import Library
    from dramaturg.workflows.role_rag_index import RoleRagIndexContext, graph

    role = Library(folder).create("coast", RoleCard(name="The coast", language="en"))
    *most, last = texts
    learn(role, [(name, texts[name].encode()) for name in most])
    context = RoleRagIndexContext(
        role=role.id,
        library=str(folder),
        chat_model="stub",
        embedding_model="openai:stub",
        concurrency=at_once,
        descriptions="written",
        **settings,
    )

    async def run(change: Callable[[], Any] = lambda: None) -> Any:
        change()
        return await graph.ainvoke({}, context=context)

    return {
        "index": run,
        "again": run,
        "added": lambda: run(lambda: learn(role, [(last, texts[last].encode())])),
        "removed": lambda: run(lambda: forget(role, most[0])),
    }


SYSTEMS: dict[str, Callable[[dict[str, str], Path, int], Awaitable[Steps]]] = {
    "LightRAG": lightrag,
    "nano-graphrag": nano_graphrag,
    "ours, as the paper": partial(dramaturg, rules="paper"),
    "ours, skip_joined, 20 pairs at once": partial(dramaturg, rules="paper", skip_joined=True, pairs_at_once=20),
}


def asked(url: str, what: str) -> dict[str, float]:
    """What the endpoint has counted; "reset" begins anew."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/{what}") as answer:
        return dict(json.load(answer))


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


@contextmanager
def own_output() -> Iterator[None]:
    """Send what a system prints to the errors: the output of this process is what is measured."""
    before, sys.stdout = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout = before


async def main(system: str, number: int, at_once: int, folder: Path) -> None:
    """Print a line a step."""
    url = os.environ["OPENAI_BASE_URL"]
    with own_output():
        steps = await SYSTEMS[system](dict(documents(number + 1)), folder, at_once)
    for name, step in steps.items():
        asked(url, "reset")
        began, used = time.perf_counter(), time.process_time()
        with own_output():
            await step()
        spent = {"wall": time.perf_counter() - began, "processor": time.process_time() - used}
        print(json.dumps({"step": name, **spent, "disk": size_of(folder), **asked(url, "counts")}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=16)
    given = parser.parse_args()
    asyncio.run(main(given.system, given.documents, given.at_once, given.folder))
