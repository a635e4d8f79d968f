"""A knowledge graph as one HTML page, which asks nothing of the network and holds everything that it shows."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from dramaturg.server.graphs import graph_data
from dramaturg.stores.index.graph import KnowledgeGraph

MODULES = ("dom.js", "graph.js", "explore.js")
"""What draws a graph on the page of a server, in the order in which they need each other."""
BETWEEN_MODULES = re.compile(r"^import .*\n|^export (?=const|function)", re.MULTILINE)
WORDS = {
    "graph_hint": "The graph. Arrow keys move it, plus and minus zoom, 0 shows all of it. The list says the same.",
    "graph_search": "Search names and descriptions",
    "closer": "Closer",
    "farther": "Farther",
    "show_all": "Show all",
    "types": "Types",
    "role": "the role",
    "col_also": "also",
    "relations": "Relations",
    "statements": "Statements",
    "strength": "{n} of 10",
    "no_score": "no score yet",
    "retrieved": "{action} found",
    "more": "{n} more, which the search finds",
}
"""What the view says, by the names that its texts have on the page of a server."""


def html(graph: KnowledgeGraph, role_node: str | None) -> bytes:
    """Return the page of a graph; the same graph has the same page.

    Args:
        graph: what is shown.
        role_node: the canonical name of the role's own entity, which is marked; None where there is none.
    """
    title = f"Knowledge graph of {role_node}" if role_node else "Knowledge graph"
    counts = f"Entities: {len(graph.graph)}. Relations: {graph.graph.number_of_edges()}."
    return page(title, graph_data(graph, role_node), {"counts": counts})


def page(title: str, data: Mapping[str, Any], words: Mapping[str, str], **beside: Any) -> bytes:
    """Return a page that draws nodes and edges, and tells of each what `data` holds.

    Args:
        title: what stands above it.
        data: `types` with their colours; `nodes` and `edges` with their statements, an edge without a strength has
            none; `role`, the number of the node that is marked; perhaps `strongest` and `stroke`, the highest strength
            and how many pixels wider than others it is drawn.
        words: what is said otherwise than of a knowledge graph, and the `counts`.
        beside: `notes` on all of it, and `dialogues`, which statements quote by number.
    """
    style, own = (read("cli.drawing", name) for name in ("page.css", "page.js"))
    script = "\n".join((*(BETWEEN_MODULES.sub("", read("server", f"page/{one}")) for one in MODULES), own))
    shown = {**data, "words": {**WORDS, **words}, "notes": [], "dialogues": [], **beside}
    filled = Template(read("cli.drawing", "page.html")).substitute(
        policy=policy(style, script), title=escape(title), style=style, data=embedded(shown), script=script
    )
    return filled.encode()


def policy(style: str, script: str) -> str:
    """A policy by which this style and this script run, by their checksums, and nothing else does."""
    own, run = (f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, script))
    nobody = "default-src 'none'; base-uri 'none'; form-action 'none'; "
    trusted = "require-trusted-types-for 'script'; trusted-types 'none'"  # no text becomes an element or a script
    return f"{nobody}style-src {own}; script-src {run}; {trusted}"


def read(package: str, name: str) -> str:
    """A file that the page is put together from."""
    return (files(f"dramaturg.{package}") / name).read_text(encoding="utf-8").strip()


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: no `<` in it can end the element or begin a comment."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
