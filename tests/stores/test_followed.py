"""What is read of a role once, and that each change of its folder and files is seen by who opens it next."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dramaturg.stores import followed, library_folder, role
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import RoleError
from dramaturg.stores.followed import Stamp
from dramaturg.stores.library import Library, open_role
from dramaturg.stores.library_folder import UnknownRole

STEP = 20_000_000  # nanoseconds; more than a step of this machine's file system


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a role that was read when its last change was long enough ago."""
    monkeypatch.setattr(followed, "SETTLED", STEP)
    folder = Library(tmp_path / "library").create("ada", RoleCard(name="Ada")).root
    (folder / "role.yaml").write_text("name: Ada\n")
    (folder / "memories.jsonl").write_text('{"text": "A storm"}\n')
    time.sleep(2 * STEP / 1e9)
    known(folder)
    return folder


def known(folder: Path) -> tuple[str, list[str]]:
    """What a turn learns of the role in its card, and its memories."""
    opened = open_role(folder.name, folder.parent)
    return opened.with_card_of_now().card.name, [one.text for one in opened.memories()]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The files and folders that are read."""
    found = list[str]()

    def counting(owner: object, name: str) -> None:
        call: Callable[..., object] = getattr(owner, name)

        def counted(*given: object) -> object:
            found.append(Path(str(given[0])).name)
            return call(*given)

        monkeypatch.setattr(owner, name, counted)

    counting(role, "read_bytes")
    counting(library_folder.os, "listdir")
    return found


def test_what_has_not_changed_is_read_once(ada: Path, reads: list[str]) -> None:
    assert [known(ada) for _ in range(5)] == [("Ada", ["A storm"])] * 5
    assert reads == []
    (ada / "role.yaml").write_text("name: Ida\n")
    time.sleep(2 * STEP / 1e9)
    assert [known(ada)[0] for _ in range(5)] == ["Ida"] * 5
    assert reads == ["role.yaml"]


def in_place(ada: Path) -> None:
    """Write into the file: of the same size, and with its time set back."""
    times = (ada / "role.yaml").stat()
    with (ada / "role.yaml").open("r+") as file:
        file.write("name: Ida")
    os.utime(ada / "role.yaml", ns=(times.st_atime_ns, times.st_mtime_ns))


def renamed_over(ada: Path) -> None:
    """Put another file of the same size and time in its place."""
    new = ada / "new"
    new.write_text("name: Ida\n")
    shutil.copystat(ada / "role.yaml", new)
    new.replace(ada / "role.yaml")


def another_folder(ada: Path) -> None:
    """Put another role in the place of this one, with the same times."""
    shutil.copytree(ada, ada.with_name("other"))
    (ada.with_name("other") / "role.yaml").write_text("name: Ida\n")
    shutil.copystat(ada / "role.yaml", ada.with_name("other") / "role.yaml")
    shutil.rmtree(ada)
    ada.with_name("other").rename(ada)


@pytest.mark.parametrize("change", [in_place, renamed_over, another_folder])
def test_a_changed_card_is_that_of_the_next_turn(ada: Path, change: Callable[[Path], None]) -> None:
    change(ada)
    assert known(ada) == ("Ida", ["A storm"])


def test_a_file_that_is_gone_says_nothing_more(ada: Path) -> None:
    (ada / "memories.jsonl").unlink()
    assert known(ada) == ("Ada", [])
    (ada / "memories.jsonl").write_text('{"text": "A calm"}\n')
    assert known(ada) == ("Ada", ["A calm"])


def to_a_link(folder: Path) -> None:
    """Move it out of the library, and leave a link to it."""
    folder.rename(folder.parents[1] / "elsewhere")
    folder.symlink_to(folder.parents[1] / "elsewhere")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (shutil.rmtree, "There is no role"),
        (lambda ada: ada.rename(ada.with_name("bea")), "There is no role"),
        (lambda ada: (ada / "role.yaml").unlink(), "has no role.yaml"),
        (to_a_link, "is a link"),
        (lambda ada: to_a_link(ada / "role.yaml"), "leads out of"),
    ],
)
def test_a_role_that_is_gone_or_leads_out_is_refused(ada: Path, change: Callable[[Path], object], says: str) -> None:
    change(ada)
    with pytest.raises(RoleError, match=says):
        known(ada)


def test_a_library_that_has_become_a_link_is_refused(ada: Path) -> None:
    library = Library(ada.parent)
    shutil.copytree(library.root, library.root.with_name("copied"))
    library.root.rename(library.root.with_name("before"))
    library.root.symlink_to(library.root.with_name("copied"))
    with pytest.raises(RoleError, match="is a link"):
        library.role("ada")


def test_a_deleted_role_that_comes_again_is_read_anew(ada: Path) -> None:
    shutil.rmtree(ada)
    with pytest.raises(UnknownRole):
        known(ada)
    Library(ada.parent).create("ada", RoleCard(name="Ida"))
    assert known(ada) == ("Ida", [])


def test_two_changes_within_a_step_of_the_clock_are_both_seen(ada: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(followed, "stamp_of", lambda path: Stamp(1, 1, 10, now, now))
    monkeypatch.setattr(followed, "SETTLED", 60_000_000_000)
    for name in ("Eda", "Ida"):
        (ada / "role.yaml").write_text(f"name: {name}\n")
        assert open_role("ada", ada.parent).card.name == name
