"""Connecting to an endpoint: an address as people type it, the models that are there, and whether one answers."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import openai
from langchain_core.messages import HumanMessage
from pydantic import SecretStr

from dramaturg.models.chat import chat_model
from dramaturg.models.clients import openai_compatible
from dramaturg.models.embeddings import Embedder, endpoint_embeddings
from dramaturg.models.environment import KEPT, Environment
from dramaturg.models.questions import write
from dramaturg.models.servers.connections import blocking_connections
from dramaturg.models.trial import learn_listed

LOCAL = ("localhost", "127.", "0.0.0.0", "[::1]", "192.168.", "10.")  # noqa: S104 (what people type)


def whole_address(typed: str) -> str:
    """An address as people type it, with its protocol and the /v1 that most servers want.

    Raises:
        ValueError: it is none.
    """
    typed = typed.strip().rstrip("/")
    if "://" not in typed:
        typed = f"{'http' if typed.startswith(LOCAL) else 'https'}://{typed}"
    place = urlsplit(typed)
    if place.scheme not in ("http", "https") or place.hostname in (None, "http", "https"):
        raise ValueError(f"{typed!r} is no address: write it as https://api.example.com/v1.")
    return typed if place.path else f"{typed}/v1"


def models_at(address: str, key: str) -> list[str]:
    """The models that a server lists; none where it does not."""
    client = openai.OpenAI(
        base_url=address, api_key=key or "none", timeout=10, max_retries=0, http_client=blocking_connections(0)
    )
    try:
        return sorted(str(one.id) for one in client.models.list())
    except (openai.OpenAIError, ValueError, TypeError, AttributeError):
        return []


async def failure(values: Mapping[str, str]) -> str:
    """Why a model does not answer; empty: it does."""
    address, key, model, embedding = (values[name] for name in KEPT)
    client = openai_compatible(model, address, key or "none", retries=0)
    try:
        chat = chat_model(client, deadline=60, attempts=1)
        await write(chat, [HumanMessage("Say hello in one word.")], max_tokens=64)
        await learn_listed(chat)
        if embedding.startswith("openai:"):
            there = Environment(base_url=address, api_key=SecretStr(key or "none"))
            await Embedder(embedding, endpoint_embeddings(embedding.removeprefix("openai:"), there)).query("hello")
    except (RuntimeError, ValueError) as error:
        return str(error)
    return ""
