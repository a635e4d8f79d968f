"""Unit vectors and exact search over them: the only place that knows FAISS."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vectors = NDArray[np.float32]
_CHUNK = 1 << 20  # bytes that FAISS reads at once
# Of a flat index: its kind, dimension and number of vectors, two numbers that mean nothing, whether it is trained, its
# metric (0: inner product), and how many numbers follow.
_HEAD = Struct("<4siqqq?iQ")


def unit_rows(vectors: ArrayLike) -> Vectors:
    """Scale each row of an array of shape (n, d) to length 1, so that an inner product is a cosine.

    Raises:
        ValueError: not two-dimensional, no columns, a number that is not finite, or a row of zeros.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"Vectors must have the shape (number, dimension), not {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("A vector holds a number that is not finite: the embedding model failed on this text.")
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if (largest == 0.0).any():
        raise ValueError("A vector is zero and has no direction: the embedding model failed on this text.")
    rows = rows / largest  # squares of very large or small numbers would leave the range of a float
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def with_direction(vectors: ArrayLike) -> NDArray[np.bool_]:
    """Return which rows of an array of shape (n, d) can be scaled to length 1: finite, and not all zeros."""
    rows = np.asarray(vectors, dtype=np.float64)
    return np.asarray(np.isfinite(rows).all(axis=1) & rows.any(axis=1), np.bool_)


def pack(vectors: Sequence[Vectors]) -> bytes:
    """Return the FAISS file of unit vectors of shape (d,) each, at least one.

    It is what `faiss.write_index` writes of them, without the two copies of all vectors that this takes.
    """
    number, dimension = len(vectors), len(vectors[0])
    head = _HEAD.pack(b"IxFI", dimension, number, 1 << 20, 1 << 20, True, 0, number * dimension)
    return b"".join([head, *(np.ascontiguousarray(row, "<f4").data for row in vectors)])


def rows_in(data: bytes) -> bytes:
    """Return the vectors of such a file as they lie in it: rows of little-endian float32."""
    return data[_HEAD.size :]


def rows_of(data: bytes, number: int, dimension: int) -> Vectors:
    """Return the vectors of such a file, of shape (number, dimension), where they lie in it.

    Raises:
        ValueError: the file has others.
    """
    made = _HEAD.unpack_from(data) if len(data) >= _HEAD.size else ()
    if made[:3] != (b"IxFI", dimension, number) or made[-1] != number * dimension:
        raise ValueError(f"These are not {number:,} vectors of {dimension:,} numbers.")
    return np.frombuffer(data, "<f4", number * dimension, _HEAD.size).reshape(number, dimension)


def packed_again(rows: bytes, dimension: int) -> bytes:
    """Return the FAISS file of vectors as `rows_in` gives them, from wherever they come.

    Raises:
        ValueError: they are no unit vectors of this dimension, or none at all.
    """
    if not rows or len(rows) % (4 * dimension):
        raise ValueError(f"{len(rows):,} bytes are no vectors of {dimension:,} numbers.")
    vectors = np.frombuffer(rows, "<f4").reshape(-1, dimension)
    with np.errstate(invalid="ignore", over="ignore"):  # numbers that are none are of no length
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not np.allclose(lengths, 1.0, atol=1e-3):
        raise ValueError("A vector is not of length 1.")
    return pack(list(vectors))


def unpack(data: bytes) -> Any:
    """Return the FAISS index of a file whose checksum was compared: FAISS itself notices almost no damage.

    Raises:
        ValueError: this is no flat index of inner products.
    """
    import faiss

    try:
        index = faiss.read_index(faiss.PyCallbackIOReader(BytesIO(data).read, _CHUNK))  # type: ignore[attr-defined]
    except RuntimeError as error:
        raise ValueError("The file is no FAISS index.") from error
    if not isinstance(index, faiss.IndexFlat) or index.metric_type != faiss.METRIC_INNER_PRODUCT:
        raise ValueError("The file is no flat FAISS index of inner products.")
    return index


def rows_only(index: Any, rows: Sequence[int]) -> Any:
    """Return an index of some of the vectors of another one, in the order of their places."""
    import faiss

    some = faiss.IndexFlatIP(index.d)
    if rows:
        some.add(np.ascontiguousarray(index.reconstruct_batch(np.asarray(rows, np.int64))))
    return some


def query_row(vector: Sequence[float] | NDArray[np.floating[Any]], dimension: int, k: int) -> Vectors:
    """Return a question's vector of shape (d,) as the row, of shape (1, d), that k neighbours are looked up for.

    Raises:
        ValueError: k is below 1, or the vector is zero, not finite or of another dimension than the index.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more, not {k}.")
    query = np.asarray(vector, dtype=np.float64)
    if query.shape != (dimension,):
        raise ValueError(f"The index has vectors of shape ({dimension},), the question one of {query.shape}.")
    return unit_rows(query[None])


def nearest(index: Any, query: Vectors, k: int, rows: range | None = None) -> list[tuple[int, float]]:
    """Return (position, score) of the k best rows for a query of shape (1, d); ties by position.

    FAISS leaves open which of several equal rows it returns: it is asked for more until the tie at k is complete.

    Args:
        index: flat, of inner products.
        query: a unit vector.
        k: how many; more than there are gives all.
        rows: which are looked at, without a step; default: all.
    """
    rows = range(index.ntotal) if rows is None else rows
    k = min(k, len(rows))
    wanted = min(k + 1, len(rows))
    if not k:
        return []
    scores, positions = _search(index, query, wanted, rows)
    while wanted < len(rows) and scores[-1] == scores[k - 1]:
        wanted = min(2 * wanted, len(rows))
        scores, positions = _search(index, query, wanted, rows)
    order = np.lexsort((positions, -scores))[:k]
    return [(int(positions[i]), float(scores[i])) for i in order]


def nearest_before(vectors: Vectors, k: int) -> Iterator[list[tuple[int, float]]]:
    """For each row of unit vectors of shape (n, d), (position, score) of the k best of the rows before it."""
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    for at in range(len(vectors)):
        row = np.ascontiguousarray(vectors[at : at + 1])
        yield nearest(index, row, k) if at else []
        index.add(row)


def _search(index: Any, query: Vectors, k: int, rows: range) -> tuple[Vectors, NDArray[np.int64]]:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # of this thread only; several threads make a single query slower under load
    try:
        if len(rows) == index.ntotal:
            scores, positions = index.search(query, k)
        else:
            some = faiss.SearchParameters(sel=faiss.IDSelectorRange(rows.start, rows.stop))  # type: ignore[call-arg]
            scores, positions = index.search(query, k, params=some)
    finally:
        faiss.omp_set_num_threads(threads)
    return scores[0], positions[0]
