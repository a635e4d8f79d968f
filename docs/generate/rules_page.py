"""Writes docs/reference/rules.md: the settings in which we deviate from a method's paper, read off the contexts.

`tests/house/test_rules_page.py` holds the page against the code.
"""

from pathlib import Path
from typing import Any

from dramaturg.nodes.run import deviations
from dramaturg.workflows.methods import context_type
from dramaturg.workflows.names import METHODS

PAGE = Path(__file__).parents[1] / "reference" / "rules.md"
HEADER = """# The papers' rules, and ours

Where a paper's own rule hurts whoever talks with a role, both rules can be had. `rules` sets all such settings of a
method together, and each can be set alone:

- `ours` is the default of a talk: `dramaturg chat silver --method amadeus`.
- `paper` gives the method as it was published: `--set rules=paper`. In an evaluation it is what a row with a paper's
  name has; `amadeus-ours`, `role-rag-ours`, `emotional-rag-ours`, `id-rag-ours` and `drmr-ours` are rows by our rules,
  and the report says which rows went by which.
- One alone: `--set rules=paper --set {example}`, in Python `Context(rules="paper", {example})`.

What was measured of the two stands in [studies](../research/studies.md). `make docs` writes this page from the code.
"""


def page() -> str:
    """The page: a table for each method."""
    parts = []
    example = ""
    for method in METHODS:
        kind = context_type(method)
        rows = []
        for name, (paper, ours) in deviations(kind).items():
            description = (kind.model_fields[name].description or "").replace("|", "\\|")
            rows.append(f"| `{name}` | `{shown(paper)}` | `{shown(ours)}` | {description} |")
            example = example or f"{name}={shown(ours)}"
        if rows:
            head = "| setting | paper | ours | what it is, and what it costs |\n| --- | --- | --- | --- |"
            parts.append("\n".join([f"## {method}\n", head, *rows]))
    return "\n\n".join([HEADER.replace("{example}", example).strip(), *parts]) + "\n"


def shown(value: Any) -> str:
    """A value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool | None) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
