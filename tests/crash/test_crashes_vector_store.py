"""A vector store that is killed while it saves, or meets a full disk, or whose files change: old or new, or refused."""

import errno
from pathlib import Path

import pytest

from dramaturg.stores.errors import DamagedIndex, StorageError

from crash_points import failures, kills, mutations
from stores_in_processes import NEW, OLD, save, save_new, saved


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    save(folder, OLD)
    return folder


def test_a_save_that_is_killed_at_any_write_leaves_the_old_store_or_the_new(before: Path, tmp_path: Path) -> None:
    seen = []
    for crash in kills(save_new, before, tmp_path):
        seen.append(saved(crash.folder))
        save_new(crash.folder)
        assert saved(crash.folder) == NEW
        assert len(list(crash.folder.iterdir())) == 4  # the three files and the lock: nothing is left lying about
    assert len(seen) > 10
    assert seen == [OLD] * seen.count(OLD) + [NEW] * seen.count(NEW)
    assert {len(texts) for texts in seen} == {len(OLD), len(NEW)}


def test_a_disk_that_is_full_at_any_write_leaves_the_old_store_or_the_new(before: Path, tmp_path: Path) -> None:
    for crash in failures(save_new, before, tmp_path, errno.ENOSPC):
        assert crash.error is None or isinstance(crash.error, StorageError)
        assert saved(crash.folder) in ([NEW] if crash.error is None else [OLD, NEW])
        save_new(crash.folder)
        assert saved(crash.folder) == NEW


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_mutation_is_loaded(count: int, tmp_path: Path) -> None:
    save(tmp_path, OLD)
    seen = dict.fromkeys([path.name for path in tmp_path.iterdir() if path.name != ".lock"], 0)
    for path, how in mutations(tmp_path, seed=count, count=count, only=lambda path: path.name != ".lock"):
        seen[path.name] += 1
        with pytest.raises(DamagedIndex, match="is damaged"):
            pytest.fail(f"{path.name} was {how} and loaded: {saved(tmp_path)}")
    assert list(seen.values()) == [count] * 3
    assert saved(tmp_path) == OLD
