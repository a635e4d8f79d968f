"""From which certainty an answer counts as yes, where it was measured: docs/guided_selection.md, docs/role_rag.md."""

from collections.abc import Mapping

MEASURED: Mapping[tuple[str, str], float] = {
    ("qwen2.5-coder-1.5b", "judge"): 0.4,
    ("qwen2.5-coder-1.5b", "same"): 0.87,
    ("qwen2.5-coder-1.5b", "scope"): 0.4,
    ("qwen2.5-coder-1.5b", "level"): 0.75,
    ("cross-encoder", "judge"): -8.0,
}


def threshold(model: str, question: str, setting: float | None = None) -> float:
    """The threshold of a model for a kind of judgement: a setting, else what was measured.

    Where nothing was it is 0.5, what the model's own words would say.
    """
    return MEASURED.get((model, question), 0.5) if setting is None else setting
