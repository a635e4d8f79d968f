"""What questions cost: calls, tokens and seconds, counted where a model is called."""

from dataclasses import asdict, dataclass
from typing import cast

from langchain_core.messages.ai import UsageMetadata
from typing_extensions import TypedDict


class Usage(TypedDict):
    """The cost of the questions of one node, as plain numbers that fit into a checkpoint.

    `calls` were sent to the model, `failures` of them gave no usable answer; `cached` questions were answered from
    disk; `seconds` is the sum over calls, also of those that ran at once. Tokens are those that the server reported.
    """

    calls: int
    cached: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float


@dataclass
class Account:
    """Counts the calls of one node run."""

    calls: int = 0
    cached: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def record(self, seconds: float, *, usable: bool, tokens: UsageMetadata | None = None) -> None:
        """Count one call, answered or not."""
        self.calls += 1
        self.failures += not usable
        self.seconds += seconds
        if tokens:
            self.prompt_tokens += token_count(tokens["input_tokens"])
            self.completion_tokens += token_count(tokens["output_tokens"])

    def record_cached(self) -> None:
        """Count one question that was answered from disk."""
        self.cached += 1

    def usage(self) -> Usage:
        """What was counted so far."""
        return cast("Usage", asdict(self))


def token_count(reported: object) -> int:
    """A count that a server reported, or 0 where it is none."""
    return reported if isinstance(reported, int) and reported > 0 else 0


def add_usage(left: dict[str, Usage], right: dict[str, Usage]) -> dict[str, Usage]:
    """Sum usage per node: a reducer for LangGraph state, pure and (up to rounding of seconds) associative."""
    return left | {node: total(left[node], used) if node in left else used for node, used in right.items()}


def total(one: Usage, other: Usage) -> Usage:
    """Sum two usages field by field."""
    return Usage(
        calls=one["calls"] + other["calls"],
        cached=one["cached"] + other["cached"],
        failures=one["failures"] + other["failures"],
        prompt_tokens=one["prompt_tokens"] + other["prompt_tokens"],
        completion_tokens=one["completion_tokens"] + other["completion_tokens"],
        seconds=one["seconds"] + other["seconds"],
    )
