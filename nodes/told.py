"""What a role has been told: a version of an index is cut to it when it is read, before anything is looked up in it.

Who knows a thing is written beside it (`known_to`). A version of whose sources none says so is read as it is.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from dramaturg.nodes.known import MadeFrom, keep_cut, verdicts
from dramaturg.nodes.text.splitter import plain, sections
from dramaturg.nodes.text.timed import SaidTexts, Span
from dramaturg.stores.documents.forms import Document, RoleCard
from dramaturg.stores.documents.memories import read_memory_files
from dramaturg.stores.documents.secrets import KNOWN_TO, Known, RoleNames, is_told, own_names
from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.graph import GRAPH_KIND, KnowledgeGraph
from dramaturg.stores.library import library_at
from dramaturg.stores.library_folder import every_card
from dramaturg.stores.names import normal_name

if TYPE_CHECKING:
    from dramaturg.stores.index.folder import S
    from dramaturg.stores.index.opened import Index
    from dramaturg.stores.role import Role

Knowers = tuple[RoleNames, ...]
"""Of a part of a document: who knows what it stands in, from the outside in; all of them must name a role."""


def told_cut(store: "S", own: Known) -> "S | None":
    """A version as it is cut to what a role has been told, if that is made; it waits for nothing."""
    return store.cuts.get(own)


def cut_to_told(index: "Index[Any, S]", store: "S", own: Known, card: RoleCard) -> "S":
    """A version of an index as a role of these names has been told it, the same one each time; it may block."""
    there = told_cut(store, own)
    return there if there is not None else keep_cut(store, own, _cut(index, store, own, card))


def _cut(index: "Index[Any, S]", store: "S", own: Known, card: RoleCard) -> "S":
    sources, some = MadeFrom(index, store), cast("Any", store)
    if not sources.mention(KNOWN_TO):
        return store
    told = by_names(own)
    if isinstance(store, KnowledgeGraph):
        texts = SaidTexts(sources.documents(), knowers_of)
        return cast("S", store.told(texts.verdicts(told), texts.known(told), (card.name, *card.aliases)))
    kind, told_of = verdicts(
        store,
        sources,
        lambda: SaidTexts(sources.documents(), knowers_of).verdicts(told),
        lambda lines, _: bool(lines) and all(is_told(one.known_to, own) for one in lines),
    )
    rows = [at for at, one in enumerate(told_of) if one]
    if len(rows) == len(told_of):
        return store
    some = some.cut(rows, {})
    some.not_told = {kind: len(told_of) - len(rows)}
    return cast("S", some)


def by_names(own: Known) -> Callable[[Iterable[Knowers]], bool]:
    """What says whether a role of these names has been told all of some parts of documents."""
    return lambda parts: all(is_told(names, own) for one in parts for names in one)


def knowers_of(one: Document) -> list[Span[Knowers]]:
    """The parts of a document, each with who knows it: what stands within a secret is a part of that secret.

    A line holds for the section that it stands in, with those below it; above the first heading, for all of them.
    """
    spans, above, whole = list[Span[Knowers]](), list[tuple[int, Knowers]](), Knowers()
    cut = sections(plain(one.text))
    for section in cut:
        begin = section.title if section.headings else 0
        own = tuple(names for at, names in one.known_to if begin <= at < section.end)
        if not section.headings:
            whole = own or tuple(names for at, names in one.known_to if at == 0)
            spans.append(Span(begin, section.end, whole or None))
            continue
        above = [(level, knowers) for level, knowers in above if level < section.level]
        knowers = (*(above[-1][1] if above else whole), *own)
        above.append((section.level, knowers))
        spans.append(Span(begin, section.end, knowers or None))
    return spans


def told_documents(role: "Role") -> list[Document]:
    """The documents of a role with spaces in the place of what it has not been told."""
    told, found = by_names(role.own_names), list[Document]()
    for one in role.documents():
        text = one.text
        for span in knowers_of(one) if one.known_to else ():
            if span.said is not None and not told([span.said]):
                blank = "".join(sign if sign == "\n" else " " for sign in text[span.start : span.end])
                text = text[: span.start] + blank + text[span.end :]
        found.append(one if text == one.text else one.model_copy(update={"text": text}))
    return found


def told_graph(role: "Role") -> KnowledgeGraph:
    """The graph of a role as it has been told it; it blocks."""
    index = role.index(GRAPH_KIND)
    return cut_to_told(index, index.open(), role.own_names, role.card)


def unknown_knowers(role: "Role") -> list[str]:
    """The names behind `known_to` in a role's files that are no role's, or several roles', by place.

    An example that the library lacks counts where no role of it is called so.
    """
    said = [(role.path_of(one), names) for one in role.documents() for _, names in one.known_to]
    for name, lines in read_memory_files(role.memory_files).items():
        said += [(f"{name}:{number}", line.known_to) for number, line in lines.items() if line.known_to is not None]
    said += [("chronicle.yaml", one.known_to) for one in role.chronicle().triples if one.known_to is not None]
    if not said:
        return []
    library = library_at(role.root.parent)
    there, called, strangers = {*library.roles()}, dict[str, set[str]](), dict[str, set[str]]()
    for other, read in every_card(library).items():
        meant = called if other in there else strangers
        with suppress(RoleError):  # a card that cannot be read says so where it is asked for
            card = read()
            for own in own_names(other, card.name, *card.aliases):
                meant.setdefault(own, set()).add(other)
    found = list[str]()
    for place, names in said:
        if not names:
            found.append(f"{place}: nobody is named, so nobody knows it")
        for one in names:
            roles = sorted(called.get(normal_name(one)) or strangers.get(normal_name(one), set()))
            if len(roles) != 1:
                what = f"several roles: {', '.join(roles)}" if roles else "no role here"
                found.append(f"{place}: {one} is {what}")
    return list(dict.fromkeys(found))
