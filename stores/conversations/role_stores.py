"""One store for several roles that talk on one thread: what each remembers lies where its other talks are."""

from collections.abc import Callable, Iterable
from typing import Any

from langgraph.store.base import BaseStore, Op, Result


class RoleStores(BaseStore):
    """A store, and beside it that of each role; see `store_of`.

    Args:
        own: for all that is of no role.
        of: gives the store of a role by its id; the same one again for the same role.
    """

    def __init__(self, own: BaseStore, of: Callable[[str], BaseStore]) -> None:
        self.own = own
        self.of = of

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations on what is of no role."""
        return self.own.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same."""
        return await self.own.abatch(ops)


def store_of(store: Any, role: str) -> Any:
    """Where what a role remembers is kept, of a store that may be that of several roles."""
    return store.of(role) if isinstance(store, RoleStores) else store
