"""The graphs that langgraph.json serves, and what each of their settings must have."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from dramaturg.nodes.run import RoleContext
from dramaturg.nodes.workflow import CompiledWorkflow

ENTRIES: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "langgraph.json").read_text(encoding="utf-8")
)["graphs"]


def graph_at(path: str) -> CompiledWorkflow[Any, Any, Any, Any]:
    """The graph that stands in a module, by `module:name`."""
    module, _, name = path.partition(":")
    graph: CompiledWorkflow[Any, Any, Any, Any] = getattr(import_module(module), name)
    return graph


SERVED = {name: graph_at(entry["path"]) for name, entry in ENTRIES.items()}
GRAPHS = {
    name: graph
    for name, graph in SERVED.items()
    if issubclass(graph.context_schema or object, RoleContext) and name != "cast"
}
"""Those of a role, which take messages or documents; a simulation takes nothing, and casting texts of its own."""


def bounded(field: dict[str, Any]) -> bool:
    """Whether a value is one of a few, or has limits; of an object each setting, which is described, too."""
    if "anyOf" in field:
        return all(bounded(kind) for kind in field["anyOf"])
    if field.get("type") == "object":
        settings = field["properties"].values()
        return field["additionalProperties"] is False and all(one["description"] and bounded(one) for one in settings)
    if field.get("type") == "array":
        return bounded(field["items"]) and bool({"maxItems", "uniqueItems"} & set(field))
    return (
        "enum" in field
        or "const" in field
        or field["type"] in {"boolean", "null"}
        or {"maxLength", "pattern"} & set(field)
        or bool({"maximum", "exclusiveMaximum"} & set(field) and {"minimum", "exclusiveMinimum"} & set(field))
    )
