"""What is wrong with a value that a person wrote, in one clause."""

import re
import types
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dramaturg.stores.errors import did_you_mean


def first_slip(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong first, with what to do about it."""
    slip = error.errors(include_url=False)[0]
    where = ".".join(str(step + 1 if isinstance(step, int) else step) for step in slip["loc"])
    return _clause(slip, where, _keys(model, slip))


def _clause(slip: ErrorDetails, where: str, keys: list[str]) -> str:
    match slip["type"]:
        case "extra_forbidden":
            near = did_you_mean(str(slip["loc"][-1]), keys).rstrip("?")
            return f"there is no key `{where}`{near or '; the keys are ' + ', '.join(keys)}"
        case "missing":
            return f"`{where}` is missing: add it"
        case "string_type":
            return f"`{where}` must be text: put it in quotes"
        case "json_invalid":
            return re.sub(r" at line 1 column (\d+)$", r" at column \1", slip["msg"]).replace(
                "Invalid JSON: ", "no JSON, "
            )
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
    return (
        isinstance(annotation, type)
        and not isinstance(annotation, types.GenericAlias)
        and issubclass(annotation, BaseModel)
    )
