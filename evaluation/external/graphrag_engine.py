"""Microsoft GraphRAG (Edge et al. 2024) by its public API: its index and local search, with models that are brought."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

MOST = 2048  # tokens of one answer of the model
LEVEL = 2  # of communities, its command line's
TABLES = ("entities", "communities", "community_reports", "text_units", "relationships")
WORDS = "cl100k_base"  # comes with the package; its other vocabularies are downloaded
PROMPT = "answer.txt"
BROUGHT = "brought"  # the kind of model that is registered


class Engine:
    """An index of texts and the answers from it."""

    def __init__(self, config: Any, folder: Path) -> None:
        self._config = config
        self._folder = folder
        self.version = version("graphrag")

    async def index(self, texts: Mapping[str, str]) -> dict[str, int]:
        """Extract the graph of texts by their names with its method `standard`; answers it has had are in its cache."""
        pandas = import_module("pandas")
        names = {name: hashlib.sha256(name.encode()).hexdigest() for name in texts}
        rows = [
            {
                "id": names[name],
                "title": name,
                "text": text,
                "creation_date": "",
                "raw_data": None,
                "human_readable_id": n,
            }
            for n, (name, text) in enumerate(texts.items())
        ]
        api = import_module("graphrag.api")
        results = await api.build_index(self._config, input_documents=pandas.DataFrame(rows))
        for result in results:
            if result.error is not None:
                msg = f"{result.workflow}: {result.error}"
                raise RuntimeError(msg)
        tables = self._tables()
        return {"entities": len(tables["entities"]), "relations": len(tables["relationships"])}

    async def answer(self, question: str) -> dict[str, Any]:
        """Answer by its local search."""
        api = import_module("graphrag.api")
        reply, context = await api.local_search(
            self._config,
            **self._tables(),
            covariates=None,
            community_level=LEVEL,
            response_type="multiple paragraphs",
            query=question,
        )
        return {"reply": reply, "evidence": {kind: records(table) for kind, table in context.items()}}

    def _tables(self) -> dict[str, Any]:
        pandas = import_module("pandas")
        return {name: pandas.read_parquet(self._folder / "output" / f"{name}.parquet") for name in TABLES}


def records(table: Any) -> list[dict[str, str]]:
    """The rows of a table as texts."""
    return [{str(key): str(value) for key, value in row.items()} for row in table.to_dict("records")]


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
        embedding: the name of the embedding model.
        language: of the texts; the package's prompts are in English and answer in what they read.
        instruction: stands in the place of its prompt for answers.
        tokens: the most that the model may be shown of the index.
        concurrency: questions asked at once.
    """
    register(calls)
    place = Path(folder)
    await asyncio.to_thread(write_prompt, place / PROMPT, instruction)
    config = import_module("graphrag.config.models.graph_rag_config").GraphRagConfig(
        **settings(place, dimension, embedding, tokens, concurrency)
    )
    return Engine(config, place)


def write_prompt(path: Path, instruction: str) -> None:
    """Put the prompt for answers where the package reads it: it takes the name of a file."""
    escaped = instruction.replace("{", "{{").replace("}", "}}")
    path.write_text(f"{escaped}\n\n<knowledge>\n{{context_data}}\n</knowledge>\n", encoding="utf-8")


def settings(place: Path, dimension: int, embedding: str, tokens: int, concurrency: int) -> dict[str, Any]:
    """What of its settings is not its default."""
    model = {"type": BROUGHT, "model_provider": "openai", "auth_method": "api_key", "api_key": "none"}
    kept = {name: {"base_dir": str(place / name)} for name in ("input", "output", "update_output")}
    return {
        "completion_models": {"default_completion_model": {**model, "model": "gpt-4"}},
        "embedding_models": {"default_embedding_model": {**model, "model": embedding}},
        "concurrent_requests": concurrency,
        "chunking": {"type": "tokens", "encoding_model": WORDS},
        "input_storage": {"type": "file", **kept["input"]},
        "output_storage": {"type": "file", **kept["output"]},
        "update_output_storage": {"type": "file", **kept["update_output"]},
        "cache": {"type": "json", "storage": {"type": "file", "base_dir": str(place / "cache")}},
        "reporting": {"type": "file", "base_dir": str(place / "logs")},
        "vector_store": {"type": "lancedb", "db_uri": str(place / "vectors"), "vector_size": dimension},
        "local_search": {"prompt": str(place / PROMPT), "max_context_tokens": tokens},
    }


def register(calls: Any) -> None:
    """Make the models that are brought known to the package."""
    llm, embeddings = import_module("graphrag_llm.completion"), import_module("graphrag_llm.embedding")
    types, tools = import_module("graphrag_llm.types"), import_module("graphrag_llm.utils")

    class Known:
        def __init__(self, *, tokenizer: Any, metrics_store: Any, **_: Any) -> None:
            self._known = (tokenizer, metrics_store)

        @property
        def tokenizer(self) -> Any:
            return self._known[0]

        @property
        def metrics_store(self) -> Any:
            return self._known[1]

    class Completion(Known, llm.LLMCompletion):  # type: ignore[misc, name-defined]
        def completion(self, /, **given: Any) -> Any:
            return answered(asked(calls, given).result(), given, tools)

        async def completion_async(self, /, **given: Any) -> Any:
            text = await asyncio.wrap_future(asked(calls, given))
            return streamed(text, types) if given.get("stream") else answered(text, given, tools)

    class Embedding(Known, embeddings.LLMEmbedding):  # type: ignore[misc, name-defined]
        def embedding(self, /, **given: Any) -> Any:
            return vectors(calls.embed(given["input"], query=True).result(), types)

        async def embedding_async(self, /, **given: Any) -> Any:
            return vectors(await asyncio.wrap_future(calls.embed(given["input"])), types)

    llm.register_completion(BROUGHT, Completion)
    embeddings.register_embedding(BROUGHT, Embedding)


def asked(calls: Any, given: Mapping[str, Any]) -> "Future[str]":
    """Ask for a text; the package gives a prompt or messages."""
    messages = given["messages"]
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    plain = [{"role": one["role"], "content": one["content"]} for one in messages]
    return calls.chat(plain, given.get("max_completion_tokens") or MOST)  # type: ignore[no-any-return]


def answered(text: str, given: Mapping[str, Any], tools: Any) -> Any:
    """A text as the package's kind of answer, with the object in it where one was asked for."""
    response, kind = tools.create_completion_response(text), given.get("response_format")
    if kind is not None:
        response.formatted_response = tools.structure_completion_response(
            text[text.find("{") : text.rfind("}") + 1], kind
        )
    return response


async def streamed(text: str, types: Any) -> AsyncIterator[Any]:
    """A text as a stream of one part."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    yield types.LLMCompletionChunk(id="1", object="chat.completion.chunk", created=0, model=BROUGHT, choices=[choice])


def vectors(found: list[list[float]], types: Any) -> Any:
    """Vectors as the package's kind of answer."""
    data = [types.LLMEmbedding(object="embedding", embedding=one, index=n) for n, one in enumerate(found)]
    usage = types.LLMEmbeddingUsage(prompt_tokens=0, total_tokens=0)
    return types.LLMEmbeddingResponse(object="list", data=data, model=BROUGHT, usage=usage)
