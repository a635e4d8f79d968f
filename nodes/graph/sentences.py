"""The sentences of chunks: numbered for who reads them for facts, and each once, to be kept beside the graph."""

from collections.abc import Iterable, Sequence

from dramaturg.nodes.text.boundaries import sentences
from dramaturg.stores.index.graph import Statement
from dramaturg.stores.index.passages import StoredPassage


def sentences_of(chunk: StoredPassage) -> list[tuple[int, int]]:
    """Start and end of each sentence of a chunk; a heading is none, unless there is nothing else."""
    spans = list(sentences(chunk.text))
    return [span for span in spans if not chunk.text.startswith("#", span[0])] or spans


def on_a_line(text: str) -> str:
    """A text with one space between its words."""
    return " ".join(text.split())


def numbered(chunk: StoredPassage, spans: Sequence[tuple[int, int]]) -> str:
    """The sentences of a chunk, numbered, under its headings; those in its text stand between them."""
    numbers = {span: f"[{number}] " for number, span in enumerate(spans, start=1)}
    lines = [
        f"{numbers.get((begin, end), '')}{on_a_line(chunk.text[begin:end])}" for begin, end in sentences(chunk.text)
    ]
    return "\n".join([" > ".join(chunk.headings), *lines]).strip()


def source_sentences(chunks: Iterable[StoredPassage]) -> list[Statement]:
    """The sentences of all chunks in their order, each once; of one that a chunk cuts, the longer part."""
    found = []
    for chunk in chunks:
        for begin, end in sentences_of(chunk):
            text, start, stop = on_a_line(chunk.text[begin:end]), chunk.start + begin, chunk.start + end
            found.append(Statement(text=text, passage=chunk.id, source=chunk.source, start=start, end=stop))
    kept: list[Statement] = []
    for one in sorted(found, key=lambda one: (one.source, one.start, -one.end)):
        if not kept or kept[-1].source != one.source or one.end > kept[-1].end:
            kept.append(one)
    return kept
