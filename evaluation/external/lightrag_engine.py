"""LightRAG (Guo et al. 2024) by its public API: its own index, retrieval and prompt, with models that are brought."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

MOST = 2048  # tokens of one answer of the model
PATIENCE = 3600  # seconds: who is asked has deadlines of their own
PIECE = re.compile(r"\s?\w{1,4}|\s?[^\w\s]|\s")
LANGUAGES = {"en": "English", "zh": "Chinese", "ko": "Korean"}


class Pieces:
    """A tokenizer that needs no file: a token is a piece of at most four letters, or one Chinese or Korean letter's.

    The package's own downloads its vocabulary when first used.
    """

    def encode(self, content: str) -> list[int]:
        """Each piece as a number."""
        return [int.from_bytes(piece.encode(errors="replace"), "big") for piece in PIECE.findall(content)]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text again."""
        return b"".join(token.to_bytes((token.bit_length() + 7) // 8, "big") for token in tokens).decode()


class Engine:
    """An index of texts and the answers from it."""

    def __init__(self, rag: Any, param: Any, instruction: str) -> None:
        self._rag = rag
        self._param = param
        escaped = instruction.replace("{", "{{").replace("}", "}}")
        self._system = f"{escaped}\n\n<knowledge>\n{{context_data}}\n</knowledge>"
        self.version = version("lightrag-hku")

    async def index(self, texts: Mapping[str, str]) -> dict[str, int]:
        """Extract the graph of texts by their names; an index that was begun is completed."""
        known = await self._rag.aget_docs_by_ids(list(texts))
        new = [name for name in texts if name not in known]
        if new:
            await self._rag.ainsert([texts[name] for name in new], ids=new, file_paths=new)
        else:
            await self._rag.apipeline_process_enqueue_documents()
        states = await self._rag.aget_docs_by_ids(list(texts))
        failed = [name for name in texts if not finished(states.get(name))]
        if failed:
            msg = f"{len(failed)} texts could not be indexed, {failed[0]} first; the log says why."
            raise RuntimeError(msg)
        return {"entities": len(await self._rag.get_graph_labels())}

    async def answer(self, question: str) -> dict[str, Any]:
        """Answer as its mode `hybrid` does, the paper's."""
        found = await self._rag.aquery_llm(question, param=self._param, system_prompt=self._system)
        nothing = {} if found["status"] == "success" else {"nothing": found["message"]}  # its reply then is a fixed one
        return {"reply": found["llm_response"]["content"], "evidence": {**evidence(found["data"]), **nothing}}


def finished(state: Any) -> bool:
    """Whether a text is in the index; the package gives its state as an object or as a mapping."""
    status = state.get("status") if isinstance(state, Mapping) else getattr(state, "status", "")
    return str(getattr(status, "value", status)).lower() == "processed"


def evidence(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the answer was given: entities, relations and chunks."""
    kinds = {
        "entities": ("entity_name", "entity_type", "description"),
        "relationships": ("src_id", "tgt_id", "description"),
        "chunks": ("content", "file_path"),
    }
    return {kind: [{key: one.get(key) for key in keys} for one in data.get(kind, [])] for kind, keys in kinds.items()}


async def open_engine(
    calls: Any,
    *,
    folder: str,
    dimension: int,
    embedding: str,
    language: str,
    instruction: str,
    tokens: int,
    concurrency: int,
) -> Engine:
    """Open the index in a folder.

    Args:
        calls: how models are asked.
        folder: where the package keeps what it makes.
        dimension: of the vectors.
        embedding: the name of the embedding model: another one has an index of its own.
        language: of the texts ("en", "zh", "ko"), in which entities are described.
        instruction: stands in the place of its prompt for answers.
        tokens: the most that the model may be shown of the index.
        concurrency: questions asked at once.
    """
    package, tools = import_module("lightrag"), import_module("lightrag.utils")
    numpy = import_module("numpy")

    async def chat(prompt: str, system_prompt: str | None = None, history_messages: Any = (), **_: Any) -> str:
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        asked = [*system, *history_messages, {"role": "user", "content": prompt}]
        return await asyncio.wrap_future(calls.chat(asked, MOST))

    async def embed(texts: list[str], context: str = "document") -> Any:
        vectors = await asyncio.wrap_future(calls.embed(texts, query=context == "query"))
        return numpy.array(vectors, dtype=numpy.float32)

    rag = package.LightRAG(
        working_dir=folder,
        llm_model_func=chat,
        llm_model_name="dramaturg",
        llm_model_max_async=concurrency,
        default_llm_timeout=PATIENCE,
        default_embedding_timeout=PATIENCE,
        embedding_func=tools.EmbeddingFunc(
            embedding_dim=dimension, func=embed, model_name=embedding, supports_asymmetric=True
        ),
        tokenizer=tools.Tokenizer("pieces", Pieces()),
        addon_params={"language": LANGUAGES[language]},
    )
    await rag.initialize_storages()
    param = package.QueryParam(mode="hybrid", enable_rerank=False, max_total_tokens=tokens)
    return Engine(rag, param, instruction)
