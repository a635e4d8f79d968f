"""Thresholds per model and judgement, as measured: see the pages of `docs/` on the methods that ask."""

from collections.abc import Mapping

MEASURED: Mapping[tuple[str, str], float] = {
    ("qwen2.5-coder-1.5b", "judge"): 0.4,
    ("qwen2.5-coder-1.5b", "correct"): 0.45,
    ("qwen2.5-coder-1.5b", "incorrect"): 0.3,
    ("qwen2.5-coder-1.5b", "strip"): 0.4,
    ("qwen2.5-coder-1.5b", "same"): 0.87,
    ("qwen2.5-coder-1.5b", "scope"): 0.4,
    ("qwen2.5-coder-1.5b", "level"): 0.75,
    ("qwen2.5-coder-1.5b", "consistency"): 2.5,
    ("qwen2.5-coder-1.5b", "contradiction"): 0.4,
    ("cross-encoder", "judge"): -8.0,
}


def threshold(model: str, question: str, setting: float | None = None, *, unmeasured: float = 0.5) -> float:
    """The threshold of a model for a kind of judgement: a setting, else what was measured, else `unmeasured`.

    For a yes or no, 0.5 is what the model's own words would say.
    """
    return MEASURED.get((model, question), unmeasured) if setting is None else setting
