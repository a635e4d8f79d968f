"""An embedding model at an OpenAI-compatible endpoint."""

from langchain_core.embeddings import Embeddings
from pydantic import SecretStr

from dramaturg.models.connection import ConnectionsPerLoop
from dramaturg.models.environment import Environment
from dramaturg.models.errors import ModelRefused
from dramaturg.models.failures import failures, typed

TEXTS_A_REQUEST = 32  # what servers other than OpenAI's take
TIMEOUT = 120.0  # seconds
RETRIES = 2


class EndpointEmbeddings(Embeddings):
    """Embeddings whose errors are those of the package."""

    def __init__(self, name: str, client: Embeddings) -> None:
        self._name = name
        self._client = client

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Encode passages."""
        try:
            return self._client.embed_documents(texts)
        except failures() as error:
            raise typed(error, self._name) from None

    def embed_query(self, text: str) -> list[float]:
        """Encode a question."""
        try:
            return self._client.embed_query(text)
        except failures() as error:
            raise typed(error, self._name) from None

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Encode passages."""
        try:
            return await self._client.aembed_documents(texts)
        except failures() as error:
            raise typed(error, self._name) from None

    async def aembed_query(self, text: str) -> list[float]:
        """Encode a question."""
        try:
            return await self._client.aembed_query(text)
        except failures() as error:
            raise typed(error, self._name) from None


def endpoint_embeddings(name: str, surroundings: Environment) -> EndpointEmbeddings:
    """Build a client of the endpoint of the environment.

    Raises:
        ModelRefused: the environment names no endpoint.
    """
    from langchain_openai import OpenAIEmbeddings

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
        max_retries=RETRIES,
        http_async_client=ConnectionsPerLoop(),
    )
    return EndpointEmbeddings(name, client)
