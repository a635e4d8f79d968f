"""From which certainty an answer counts as yes, where it was measured; see docs/guided_selection.md."""

from collections.abc import Mapping

MEASURED: Mapping[tuple[str, str], float] = {
    ("qwen2.5-coder-1.5b", "judge"): 0.4,
    ("cross-encoder", "judge"): -8.0,
}


def threshold(model: str, question: str) -> float:
    """The threshold of a model for a kind of judgement; 0.5, what its own words would say, where none was measured."""
    return MEASURED.get((model, question), 0.5)
