"""A build may stop anywhere: the old version is served until the new one is whole, and nothing is embedded twice."""

import importlib
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from dramaturg.stores import locks
from dramaturg.stores.errors import EmbeddingMismatch, MissingIndex, RoleBusy, RoleError, StorageError
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.role import Role

from crash_points import forkserver
from passage_samples import (
    DIMENSION,
    EMBEDDING,
    SOURCES,
    build,
    embed,
    names_in,
    new_role,
    passages_of,
    quick,
    reopened,
    texts_of,
)

OLD, NEW = ["a", "b", "c"], ["a", "x", "y", "z"]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


class Killed(BaseException):
    """The process is gone: nothing that catches errors sees this."""


def stop_at(number: int, error: Callable[[], BaseException], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the n-th flush or rename fail; return the count of those begun."""
    calls = [0]

    def counted(step: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: object) -> None:
            calls[0] += 1
            if calls[0] == number:
                raise error()
            step(*arguments)

        return run

    monkeypatch.setattr(os, "replace", counted(os.replace))
    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    return calls


@pytest.mark.crash
@pytest.mark.parametrize(
    ("error", "raised"),
    [(Killed, Killed), (lambda: OSError(28, "No space left on device"), StorageError)],
    ids=["killed", "no space"],
)
def test_a_build_that_stops_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Callable[[], BaseException], raised: type[BaseException]
) -> None:
    number, finished = 0, False
    while not finished:
        number += 1
        role = new_role(tmp_path, f"ada{number}")
        build(role, OLD)
        with monkeypatch.context() as patch:
            calls = stop_at(number, error, patch)
            try:
                build(role, NEW)
                finished = calls[0] < number
            except raised:
                pass
        after = reopened(role)
        assert texts_of(after) in ([NEW] if finished else [OLD, NEW])
        before = len(list(role.root.glob("index/acts/drafts/*/vectors/*.npz")))
        _, embedded = build(after, NEW)
        assert embedded <= 3 - min(before * 2, 3)  # x, y, z in batches of two; what was saved is not embedded again
        assert texts_of(reopened(role)) == texts_of(role) == NEW
        assert leftovers(role) == []
    assert number > 20


def leftovers(role: Role) -> list[str]:
    folder = role.root / "index" / "acts"
    return [path.name for path in folder.rglob("*") if path.name.endswith((".tmp", ".npz"))]


def test_what_killed_builds_wrote_aside_in_a_kept_draft_goes_with_the_next_version(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    builder = role.index(passage_kind("acts")).builder
    version = builder.draft(passages_of(OLD), embedding=EMBEDDING, settings={}, sources=SOURCES)
    builder.add_vectors(version, OLD[:2], embed(OLD[:2]))
    draft = role.root / "index" / "acts" / "drafts" / version
    its_own = sorted(draft.rglob("*"))
    for folder in (draft, draft / "vectors"):
        (folder / f".x.{'0' * 32}.tmp").write_bytes(b"half a file")
    build(role, NEW)
    assert sorted(draft.rglob("*")) == its_own
    assert reopened(role).index(passage_kind("acts")).builder.unembedded(version) == ["c"]


def test_only_what_changed_is_embedded(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    texts = [f"text {at}" for at in range(50)]
    assert build(role, texts)[1] == 50
    assert build(reopened(role), [*texts[:20], "new", *texts[21:]])[1] == 1
    assert build(reopened(role), ["first", *texts])[1] == 2  # text 20 is not in the last published version
    assert build(role, texts, embedding="other")[1] == 50
    store = role.index(passage_kind("acts")).open()
    assert store.vectors() == pytest.approx(embed(texts) / np.linalg.norm(embed(texts), axis=1, keepdims=True))


def test_what_a_killed_build_embedded_serves_an_edited_text(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    builder = role.index(passage_kind("acts")).builder
    version = builder.draft(passages_of(NEW), embedding=EMBEDDING, settings={}, sources=SOURCES)
    builder.add_vectors(version, NEW[:2], embed(NEW[:2]))
    assert build(reopened(role), [*NEW, "edited"])[1] == 3


def test_the_same_content_is_the_same_version(tmp_path: Path) -> None:
    first, second = new_role(tmp_path, "ada"), new_role(tmp_path, "tom")
    version = build(first, OLD)[0].version
    assert build(second, OLD)[0].version == version
    assert build(first, NEW)[0].version != version
    assert build(first, OLD) == (first.index(passage_kind("acts")).manifest(), 0)  # back to what is still there
    assert build(first, OLD, embedding="other")[0].version != version


def test_the_manifest_says_what_was_made_from_what(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    manifest, _ = build(role, OLD)
    assert (
        manifest
        == reopened(role).index(passage_kind("acts")).manifest()
        == role.index(passage_kind("acts")).open().manifest
    )
    assert (manifest.kind, manifest.counts, manifest.settings) == ("acts", {"passages": 3}, {"longest": 3})
    assert (manifest.embedding.name, manifest.embedding.dimension) == (EMBEDDING, DIMENSION)
    assert manifest.sources == SOURCES
    assert set(manifest.files) == {"passages.jsonl", "vectors.faiss"}
    assert manifest.created.utcoffset() is not None


def test_four_versions_are_kept_beside_the_current_one(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    versions = [build(role, [text])[0].version for text in "ABabcde"]
    assert [name[:24] for name in names_in(role.root / "index" / "acts" / "versions")] == sorted(versions[2:])
    versions = versions[2:]
    assert [texts.text for texts in reopened(role).index(passage_kind("acts")).open(versions[2]).passages] == ["c"]
    assert names_in(role.root / "index" / "acts" / "drafts") == []


def test_a_fresh_draft_embeds_everything_again_and_the_old_version_is_served_until_then(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    first, _ = build(role, OLD)
    fresh = role.index(passage_kind("acts")).builder

    def begun() -> str:
        return fresh.draft(passages_of(OLD), embedding=EMBEDDING, settings={"longest": 3}, sources=SOURCES, fresh=True)

    assert begun() == first.version
    assert len(fresh.unembedded(first.version)) == 3
    fresh.add_vectors(first.version, OLD[:1], embed(OLD[:1]))
    assert texts_of(reopened(role)) == OLD
    assert begun() == first.version  # after it was killed, say: it goes on
    assert reopened(role).index(passage_kind("acts")).builder.unembedded(first.version) == ["b", "c"]
    with pytest.raises(MissingIndex, match="2 texts have no vector yet"):
        fresh.publish(first.version, {})
    fresh.add_vectors(first.version, OLD[1:], embed(OLD[1:]))
    fresh.publish(first.version, {})
    assert texts_of(reopened(role)) == OLD
    assert len(names_in(role.root / "index" / "acts" / "versions")) == 1
    assert build(reopened(role), OLD)[1] == 0


def test_a_fresh_draft_that_was_overtaken_hands_its_vectors_on(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, OLD)
    builder, given = (
        role.index(passage_kind("acts")).builder,
        {"embedding": EMBEDDING, "settings": {}, "sources": SOURCES, "fresh": True},
    )
    first = builder.draft(passages_of(OLD), **given)
    builder.add_vectors(first, OLD[:2], embed(OLD[:2]))
    second = builder.draft(passages_of([*OLD, "d"]), **given, after=first)
    assert builder.unembedded(second) == ["c", "d"]


def test_a_plain_draft_ends_a_fresh_one(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, OLD)
    builder = role.index(passage_kind("acts")).builder
    version = builder.draft(passages_of(OLD), embedding=EMBEDDING, settings={"longest": 3}, sources=SOURCES, fresh=True)
    assert len(builder.unembedded(version)) == 3
    assert build(role, OLD)[1] == 0


@pytest.mark.parametrize(
    ("texts", "vectors", "says"),
    [
        (["a"], np.full((1, DIMENSION), np.nan), "not finite"),
        (["a"], np.zeros((1, DIMENSION)), "zero"),
        (["a"], np.ones(DIMENSION), "shape"),
        (["a", "b"], np.ones((1, DIMENSION)), "2 texts but 1 vectors"),
    ],
)
def test_vectors_that_cannot_be_used(tmp_path: Path, texts: list[str], vectors: np.ndarray, says: str) -> None:
    builder = new_role(tmp_path).index(passage_kind("acts")).builder
    version = builder.draft(passages_of(OLD), embedding=EMBEDDING, settings={}, sources=SOURCES)
    with pytest.raises(ValueError, match=says):
        builder.add_vectors(version, texts, vectors)
    assert len(builder.unembedded(version)) == 3


def test_a_model_that_changed_its_dimension(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, OLD)
    builder = role.index(passage_kind("acts")).builder
    version = builder.draft(passages_of(NEW), embedding=EMBEDDING, settings={}, sources=SOURCES)
    with pytest.raises(EmbeddingMismatch, match="8 dimensions before and 9 now"):
        builder.add_vectors(version, ["x"], np.ones((1, 9)))


def test_nothing_is_published_before_all_is_there(tmp_path: Path) -> None:
    builder = new_role(tmp_path).index(passage_kind("acts")).builder
    version = builder.draft(passages_of(OLD), embedding=EMBEDDING, settings={}, sources=SOURCES)
    builder.add_vectors(version, [], [])
    builder.add_vectors(version, ["a"], embed(["a"]))
    with pytest.raises(MissingIndex, match="2 texts have no vector yet"):
        builder.publish(version, {})
    for unknown in ("0" * 24, "../../..", ""):
        with pytest.raises(MissingIndex, match="no draft"):
            builder.publish(unknown, {})


def test_drafts_that_make_no_sense(tmp_path: Path) -> None:
    builder = new_role(tmp_path).index(passage_kind("acts")).builder
    with pytest.raises(RoleError, match="nothing to index"):
        builder.draft([], embedding=EMBEDDING, settings={}, sources=SOURCES)
    with pytest.raises(RoleError, match="the same id"):
        builder.draft(passages_of(["a"]) * 2, embedding=EMBEDDING, settings={}, sources=SOURCES)
    with pytest.raises(ValueError, match="not JSON compliant"):
        builder.draft(passages_of(["a"]), embedding=EMBEDDING, settings={"x": float("nan")}, sources=SOURCES)


def test_one_builder_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    role = new_role(tmp_path)
    build(role, OLD)
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    with FileLock(role.root / "index" / ".lock"), pytest.raises(RoleBusy, match="try again"):
        build(role, NEW)
    assert texts_of(role) == OLD


def _publish(root: Path, texts: list[str]) -> None:
    build(Role(root), texts)


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    processes = [
        forkserver().Process(target=_publish, args=(role.root, [f"{name}{at}" for at in range(9)])) for name in "ab"
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(240)
    assert [process.exitcode for process in processes] == [0, 0]
    current = texts_of(role)
    assert current in ([f"{name}{at}" for at in range(9)] for name in "ab")
    assert len(names_in(role.root / "index" / "acts" / "versions")) == 2  # the other one can be had by its name


def test_vectors_are_in_memory_twice_at_most_while_they_are_published(tmp_path: Path) -> None:
    texts, dimension = [f"t{at}" for at in range(200)], 2048
    builder = new_role(tmp_path).index(passage_kind("acts")).builder
    version = builder.draft(passages_of(texts), embedding=EMBEDDING, settings={}, sources=SOURCES)
    for at in range(0, len(texts), 20):
        builder.add_vectors(version, texts[at : at + 20], np.random.default_rng(at).normal(size=(20, dimension)))
    builder.forget()
    importlib.import_module("faiss")  # which is no part of what is measured
    tracemalloc.start()
    builder.publish(version, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * 4 * len(texts) * dimension  # as they were had, and as the file
