"""What is indexed now, and whether that is what a role's persona and the settings ask for."""

from dramaturg.nodes.document_splitting import LENGTHS, splitting
from dramaturg.nodes.retrieval import PassageSettings
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index.kinds import passage_kind
from dramaturg.stores.index.passages import PassageStore
from dramaturg.stores.role import Role


def current_version(role: Role, context: PassageSettings, embedding: str) -> str | None:
    """The version that is published, if it was made from the sources and settings of now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    store = served(role, context)
    sources = {document.name: document.sha256 for document in role.documents()}
    return store.version if store and store.made_from(embedding, sources) else None


def served(role: Role, context: PassageSettings) -> PassageStore | None:
    """The passages that are read now, if they were split with these settings.

    Raises:
        DamagedIndex: no version is what was written.
    """
    try:
        store = role.index(passage_kind(context.splitter)).open()
    except MissingIndex:
        return None
    same = {name: value for name, value in store.manifest.settings.items() if name != LENGTHS} == splitting(context)
    return store if same else None


def served_or_none(role: Role, context: PassageSettings) -> PassageStore | None:
    """The same for those who make a new version anyway: what is damaged counts as not there."""
    try:
        return served(role, context)
    except DamagedIndex:
        return None
