"""An object that fits a JSON schema, so that an extraction needs no script."""

from collections.abc import Mapping
from typing import Any

TEXT = "so it seems"


def fitting(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """What fits a schema as pydantic writes them: lists of one item, the lowest numbers, a short text.

    What a pattern or a validator asks for on top is not known to it.
    """
    root = schema if root is None else root
    if name := schema.get("$ref", "").removeprefix("#/$defs/"):
        return fitting(root["$defs"][name], root)
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return fitting(choices[0], root)
    for value in ("const", "default"):
        if value in schema:
            return schema[value]
    return schema["enum"][0] if "enum" in schema else of_type(schema, root)


def of_type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """What fits a schema that names a type."""
    match schema.get("type"):
        case "object":
            return {key: fitting(schema["properties"][key], root) for key in schema.get("required", [])}
        case "array":
            return [fitting(schema.get("items", {}), root) for _ in range(items(schema))]
        case "integer" | "number":
            return max(schema.get("minimum", 0), schema.get("exclusiveMinimum", -1) + 1)
        case "boolean" | "null" as plain:
            return None if plain == "null" else False
    return TEXT.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]


def items(schema: Mapping[str, Any]) -> int:
    """One item, or as many as there must be: with none, a method would have found nothing."""
    few = max(schema.get("minItems", 0), 1)
    return int(min(few, schema.get("maxItems", few)))
