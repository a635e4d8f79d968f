"""A vector store that is killed while it saves, or meets a full disk, or whose files change: old or new, or refused."""

import errno
from pathlib import Path

import pytest

from dramaturg.stores.errors import DamagedIndex, StorageError

from crash_points import SOME_OR_ALL, failures, few_or_many, kills, mutations
from stores_in_processes import NEW, OLD, save, save_new, saved


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    save(folder, OLD)
    return folder


@SOME_OR_ALL
def test_a_save_that_is_killed_at_any_write_leaves_the_old_store_or_the_new(
    before: Path, tmp_path: Path, most: int | None
) -> None:
    seen = []
    for crash in kills(save_new, before, tmp_path, most):
        seen.append(saved(crash.folder))
        save_new(crash.folder)
        assert saved(crash.folder) == NEW
        assert len(list(crash.folder.iterdir())) == 4  # the three files and the lock: nothing is left lying about
    assert len(seen) >= (most or 6)
    assert seen == [OLD] * seen.count(OLD) + [NEW] * seen.count(NEW)


@SOME_OR_ALL
def test_a_disk_that_is_full_at_any_write_leaves_the_old_store_or_the_new(
    before: Path, tmp_path: Path, most: int | None
) -> None:
    for crash in failures(save_new, before, tmp_path, errno.ENOSPC, most):
        assert crash.error is None or isinstance(crash.error, StorageError)
        assert saved(crash.folder) in ([NEW] if crash.error is None else [OLD, NEW])
        save_new(crash.folder)
        assert saved(crash.folder) == NEW


@few_or_many(30, 1000)
def test_no_mutation_is_loaded(count: int, tmp_path: Path) -> None:
    save(tmp_path, OLD)
    seen = dict.fromkeys([path.name for path in tmp_path.iterdir() if path.name != ".lock"], 0)
    for path, how in mutations(tmp_path, seed=count, count=count, only=lambda path: path.name != ".lock"):
        seen[path.name] += 1
        with pytest.raises(DamagedIndex, match="is damaged"):
            pytest.fail(f"{path.name} was {how} and loaded: {saved(tmp_path)}")
    assert list(seen.values()) == [count] * 3
    assert saved(tmp_path) == OLD
