"""What is wrong with a value that a person wrote, in one clause."""

from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dramaturg.stores.errors import did_you_mean


def worst(error: ValidationError) -> ErrorDetails:
    """Return the slip to name: an unknown key, which explains the missing one, or else the first."""
    slips = error.errors(include_url=False)
    return next((slip for slip in slips if slip["type"] == "extra_forbidden"), slips[0])


def clause(slip: ErrorDetails, model: type[BaseModel]) -> str:
    """Return what is wrong, and what to do about it."""
    where = ".".join(str(step + 1 if isinstance(step, int) else step) for step in slip["loc"])
    keys = _keys(model, slip)
    match slip["type"]:
        case "extra_forbidden":
            near = did_you_mean(str(slip["loc"][-1]), keys).rstrip("?")
            return f"there is no key `{where}`{near or '; the keys are ' + ', '.join(keys)}"
        case "missing":
            return f"`{where}` is missing: add it"
        case "string_type":
            return f"`{where}` must be text: put it in quotes"
        case "string_too_short":
            return f"`{where}` must not be empty"
        case "tuple_type":
            return f"`{where}` must be a list: put each item on a line of its own, after `- `"
        case "model_type" | "model_attributes_type":
            return f"{where or 'this'} must hold keys and values; the keys are {', '.join(keys)}"
        case "json_invalid":
            what = slip["msg"].removeprefix("Invalid JSON: ").replace(" at line 1 column ", " at column ")
            return f"no JSON, {what}"
    message = slip["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"`{where}` {message}" if where else message


def _keys(model: type[BaseModel], slip: ErrorDetails) -> list[str]:
    """Return the keys of the innermost model on the way to a slip."""
    for step in slip["loc"][:-1]:
        inner = model.model_fields.get(str(step))
        models = [one for one in get_args(inner.annotation) if _is_model(one)] if inner else []
        model = models[0] if models else model
    return list(model.model_fields)


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
