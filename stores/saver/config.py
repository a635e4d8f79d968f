"""What of a run's configuration is stored: where it belongs, and nothing that could be a secret."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

# LangGraph's own keys. Anything else in `configurable` may be a key, a token or a password under any name.
_KEPT = frozenset({"run_id", "assistant_id", "graph_id", "run_attempt"})
_PREFIX = "langgraph_"
# Where a checkpoint is says its row; langgraph_step and the like are those of the node that ran last.
_ELSEWHERE = frozenset(
    {
        "thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map",
        "langgraph_step", "langgraph_node", "langgraph_triggers", "langgraph_path", "langgraph_checkpoint_ns",
    }
)  # fmt: skip
OWN_METADATA = frozenset({"source", "step", "parents", "run_id", "counters_since_delta_snapshot"})


@dataclass(frozen=True)
class Place:
    """Which checkpoint a configuration means; without an id, the newest."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str | None

    @classmethod
    def of(cls, config: RunnableConfig) -> "Place":
        """Read it from a configuration.

        Raises:
            ValueError: there is no thread id, or one that cannot be stored.
        """
        configurable = config.get("configurable") or {}
        checkpoint_id = configurable.get("checkpoint_id")
        return cls(
            thread(configurable.get("thread_id")),
            text(configurable.get("checkpoint_ns") or "", "checkpoint_ns"),
            text(checkpoint_id, "checkpoint_id") if checkpoint_id else None,
        )

    def config(self, checkpoint_id: str) -> RunnableConfig:
        """Return the configuration of a checkpoint in the same namespace."""
        return at(self.thread_id, self.checkpoint_ns, checkpoint_id)


def at(thread_id: str, checkpoint_ns: str, checkpoint_id: str) -> RunnableConfig:
    """Return the configuration that means one checkpoint."""
    return {
        "configurable": {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, "checkpoint_id": checkpoint_id},
    }


def thread(thread_id: object) -> str:
    """Return a thread id as text.

    Raises:
        ValueError: it is empty, or cannot be stored as it is.
    """
    if thread_id is None or thread_id == "":
        raise ValueError("A conversation needs a thread id: put `thread_id` into `configurable`.")
    return text(thread_id, "thread_id")


def text(value: object, name: str) -> str:
    """Return an id as text, if a file can hold it exactly.

    Raises:
        ValueError: it holds a NUL or half of a surrogate pair.
    """
    found = str(value)
    if "\0" in found or any("\ud800" <= letter <= "\udfff" for letter in found):
        raise ValueError(f"The {name} {found!a} holds a NUL or a lone surrogate: take other letters.")
    return found


def metadata_text(config: RunnableConfig, metadata: Mapping[str, Any]) -> str:
    """Return the metadata of a checkpoint as JSON, without anything from `configurable` but LangGraph's own keys."""
    configurable = config.get("configurable") or {}
    kept = {key: value for key, value in metadata.items() if key in OWN_METADATA or key not in configurable}
    for given in (config.get("metadata") or {}, configurable):
        for key, value in given.items():
            own = key not in _ELSEWHERE and (key in _KEPT or key.startswith(_PREFIX))
            if own and key not in kept and isinstance(value, str | int | float):
                kept[key] = value
    return json.dumps(kept, separators=(",", ":"))
