"""The graphs that are served, and what each of their settings must have."""

from typing import Any

from dramaturg.workflows import (
    amadeus,
    amadeus_index,
    crag,
    drmr,
    drmr_index,
    emotional_rag,
    emotional_rag_index,
    ensemble,
    graph_rag_local,
    id_rag,
    naive_rag,
    profile,
    riverbend,
    role_gpt,
    role_rag,
    role_rag_index,
    vanilla,
)

GRAPHS: dict[str, Any] = {
    "amadeus": amadeus,
    "amadeus_index": amadeus_index,
    "emotional_rag": emotional_rag,
    "emotional_rag_index": emotional_rag_index,
    "drmr": drmr,
    "drmr_index": drmr_index,
    "id_rag": id_rag,
    "naive_rag": naive_rag,
    "crag": crag,
    "role_rag": role_rag,
    "role_rag_index": role_rag_index,
    "graph_rag_local": graph_rag_local,
    "role_gpt": role_gpt,
    "profile": profile,
    "vanilla": vanilla,
    "ensemble": ensemble,
}
SERVED: dict[str, Any] = {**GRAPHS, "riverbend": riverbend}
"""Those that take messages or documents, and the simulation, which takes nothing."""


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
