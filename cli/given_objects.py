"""What only Python can give, named on the command line: an object of a module, as MODULE:NAME."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def given_object(option: str, text: str) -> Any:
    """Import what an option names; modules of the current folder are found, too.

    Args:
        option: that names it, for the message.
        text: MODULE:NAME.

    Raises:
        ValueError: there is no such module, or nothing of that name in it.
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"{option} takes MODULE:NAME, such as my_search:search, not {text!r}.")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{option} {text} cannot be imported: {error}.") from error
