"""How much of what is recalled a prompt shows: a budget of tokens, and of a long text its passages that match."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import BYTES
from dramaturg.nodes.run import RoleContext, by_rules
from dramaturg.nodes.text.similarity import text_vectors
from dramaturg.nodes.text.splitter import split_document
from dramaturg.stores.index.vectors import Vectors

LONG = 1600  # bytes: a longer text, one of more than about 400 tokens, is shown by its passages
PASSAGE = 400  # characters
OPENING = 60  # characters that are shown of where a text begins: who speaks, and of what
GAP = " … "


class RecalledSettings(RoleContext):
    """How much of what was recalled is shown."""

    recalled_tokens: Open[int] = by_rules(
        paper=100_000,
        ours=3000,
        ge=500,
        le=100_000,
        description="The largest number of tokens of the memories that a turn recalls: what is least important is left "
        "out. A memory of more than 400 tokens is shown by its passages nearest to the question. The papers have no "
        "such limit; theirs is as good as none.",
    )


@lru_cache(maxsize=512)  # of a conversation the same texts are looked at turn after turn
def passages_of(text: str) -> tuple[str, ...]:
    """The passages of a long text that have a word in them; a short one is its own."""
    if size_of(text) <= LONG:
        return (text,)
    found = (one.text for one in split_document(text, method="fixed", fixed_length=PASSAGE, fixed_overlap=0))
    return tuple(one for one in found if any(map(str.isalnum, one))) or (text,)


async def passages_near(model: Embedder, vector: Vectors, texts: Sequence[str]) -> dict[str, float]:
    """The cosine of a vector of length 1, of shape (d,), with each passage of texts; each is embedded once a process.

    Raises:
        ModelError, ValueError: as `text_vectors` does.
    """
    passages = list(dict.fromkeys(one for text in texts for one in passages_of(text)))
    if not passages:
        return {}
    rows = await text_vectors(model, passages, len(vector))
    return dict(zip(passages, (rows @ vector).tolist(), strict=True))


def within_recalled(texts: Sequence[str], near: Mapping[str, float], tokens: int) -> list[str | None]:
    """What is shown of texts: a short one as it is, a long one by its passages; None: there is no room for it.

    Args:
        texts: the most important first; after one that finds no room, a shorter one may.
        near: how near each of their passages is, see `passages_near`.
        tokens: the most of all together.
    """
    left, shown = tokens * BYTES, list[str | None]()
    for text in texts:
        part = text if size_of(text) <= LONG else excerpt(text, near)
        fits = size_of(part) <= left
        shown.append(part if fits else None)
        left -= size_of(part) if fits else 0
    return shown


def excerpt(text: str, near: Mapping[str, float]) -> str:
    """The passages of a long text that are nearest, in their order; where it begins is shown in any case.

    They stand on one line, as far as each is on one: nothing in them can look like the begin of another memory.
    """
    passages, chosen = passages_of(text), set[int]()
    opening = text[:OPENING].rsplit(" ", 1)[0]
    left = LONG - size_of(opening) - size_of(GAP)
    for at in sorted(range(len(passages)), key=lambda one: -near.get(passages[one], 0.0)):
        if (size := size_of(passages[at]) + size_of(GAP)) <= left:
            chosen.add(at)
            left -= size
    shown, last = "" if 0 in chosen else opening, -1
    for at in sorted(chosen):
        shown += ("" if at == 0 else " " if at == last + 1 else GAP) + passages[at]
        last = at
    return shown if last == len(passages) - 1 else shown + GAP.rstrip()


def size_of(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text.encode(errors="replace"))
