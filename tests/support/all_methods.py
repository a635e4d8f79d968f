"""A role with files for every method, and a chat model that plays all parts of all methods by a script."""

from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

import identity_roles
import scope_roles
from cast_roles import SCENES, lines_of
from fakes import ScriptedChatModel
from roles import small_role, write_memories
from scope_roles import judged, scoped


def whole_role(library: Path) -> None:
    """Put Ada into a library, with files for every method and people to talk with."""
    small_role(library)
    write_memories(library / "ada", dialogue=lines_of(SCENES))


def whole_cast(**parts: Any) -> ScriptedChatModel:
    """Play all parts of all methods: say what is given for a part, and else the usual."""
    script = {**scope_roles.USUAL, **identity_roles.USUAL, "scope": judged(scoped("Tom")), **parts}

    def answer(messages: list[BaseMessage]) -> str | Exception:
        try:
            part, text = identity_roles.asked(messages)
        except AssertionError:
            part, text = scope_roles.asked(messages)
        said = script[part]
        answered: str | Exception = said(text) if callable(said) else said
        return answered

    return ScriptedChatModel(reply=answer)
