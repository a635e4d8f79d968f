"""Items of any LangGraph store: many are read, listed and dropped some at a time."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, SearchItem

PAGE = 500  # that are asked for at once


def pages(ids: Iterable[str]) -> Iterator[Sequence[str]]:
    """Give each id once, in their order, some at a time."""
    each = iter(dict.fromkeys(ids))
    while page := list(islice(each, PAGE)):
        yield page


async def items_at(store: BaseStore, namespace: tuple[str, ...], ids: Iterable[str]) -> dict[str, Item]:
    """The items of a namespace with these ids that are there, in their order."""
    found: dict[str, Item] = {}
    for page in pages(ids):
        reads: list[Op] = [GetOp(namespace, one) for one in page]
        found |= {item.key: item for item in await store.abatch(reads) if isinstance(item, Item)}
    return found


async def items_under(store: BaseStore, prefix: tuple[str, ...]) -> AsyncIterator[SearchItem]:
    """All items whose namespace begins so, some at a time, then more: a database sorts all of them for each page."""
    begun, limit = 0, PAGE
    while page := await store.asearch(prefix, limit=limit, offset=begun):
        for item in page:
            yield item
        begun, limit = begun + len(page), 2 * limit


async def drop_at(store: BaseStore, namespace: tuple[str, ...], ids: Iterable[str]) -> None:
    """Remove the items of a namespace with these ids; those that are not there are gone already."""
    for page in pages(ids):
        writes: list[Op] = [PutOp(namespace, one, None) for one in page]
        await store.abatch(writes)
