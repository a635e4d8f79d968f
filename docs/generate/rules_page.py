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

Where a paper's own rule makes a talk worse, you can choose between the paper's rule and ours. `rules` sets all such
settings of a method together:

- `ours` is the default of a talk: `dramaturg chat silver --method amadeus`.
- `paper` gives the method as it was published: `--set rules=paper`.

You can also set each of them alone: `--set rules=paper --set {example}`. Commands with `--set`, such as `chat`, `ask`
and `index`, take both. In Python they are fields of the context, `Context(rules="paper", {example})`. In Studio and on
a server they are fields of the context, too: `rules` is open to every caller, and some of the others are closed
([who may set what](../how-to/studio.md#who-may-set-what)).

`dramaturg evaluate` has no `--set`: the name of a method says which rules it follows, and the report repeats it. The
published methods and the baselines follow the papers' rules. `amadeus-ours`, `role-rag-ours`, `emotional-rag-ours`,
`id-rag-ours` and `drmr-ours` follow ours, and so does `ensemble`. To compare a method with one setting changed,
evaluate [a flow of your own](../how-to/composing.md) whose context has another default.

`rules` does not set everything: see [the papers' values](papers_values.md). With the embedded chat model, emotions are
scored by the embedding model, under both rules.

[Studies](../research/studies.md) compare the two in measurements. `make docs` writes this page from the code.
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
