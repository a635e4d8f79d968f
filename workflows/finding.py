"""One thing that was looked at, as `dramaturg doctor` and the page show it."""

from typing import NamedTuple


class Finding(NamedTuple):
    """What was found; `ok` is None for what may be missing."""

    what: str
    ok: bool | None
    found: str
