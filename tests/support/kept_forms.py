"""What a long-lived process would run out of memory by: classes that are made again for each question."""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel


def forms() -> Counter[str]:
    """All classes of pydantic in memory, by name."""
    found, left = Counter[str](), [BaseModel]
    while left:
        one = left.pop()
        left += one.__subclasses__()
        found[f"{one.__module__}.{one.__qualname__}"] += 1
    return found


@contextmanager
def nothing_more_kept() -> Iterator[None]:
    """What is done here was done before, and makes no class again; that it might go some day is no excuse."""
    gc.disable()
    try:
        before = forms()
        yield
        assert forms() - before == Counter()
    finally:
        gc.enable()
