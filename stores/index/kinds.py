"""The kinds of index that there are; each is described in the file of what it holds."""

from typing import Any

from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.graph import GRAPH_KIND, UNMERGED_GRAPH_KIND
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.index.passages import passage_kind

KINDS: tuple[IndexKind[Any, Any], ...] = (
    *map(passage_kind, ("acts", "acts-document", "ats", "fixed")),
    GRAPH_KIND,
    UNMERGED_GRAPH_KIND,
    MEMORY_KIND,
    DIALOGUE_KIND,
)


def kind_named(name: str) -> IndexKind[Any, Any]:
    """Return the kind of index that lies in a folder of this name; one of another name holds passages.

    Raises:
        RoleError: the name cannot be that of a kind.
    """
    return next((kind for kind in KINDS if kind.name == name), None) or passage_kind(name)
