"""Ids, new roles, examples, and that nothing is written outside the library."""

import threading
from pathlib import Path

import pytest

from dramaturg.stores import library_folder
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import RoleError, StorageError
from dramaturg.stores.library import Library, examples, open_role
from dramaturg.stores.role import Role

from passage_samples import build, names_in, quick

CARD = RoleCard(name="Ada", aliases=("Miss Quill",), language="zh", profile="Keeps a light.\nSays little.")
BAD_IDS = [
    *("", " ", ".", "..", "../ada", "ada/..", "/ada", "//ada", "ada/tom", "ada\\tom", "C:\\ada", "C:ada", "~", "~root"),
    *(
        "ada\n",
        "\nada",
        "ada\0",
        "%2e%2e",
        "ada%2f",
        "a.b",
        ".ada",
        "ada.",
        "-ada",
        "_ada",
        "Ada Quill",
        "ada ",
        " ada",
    ),
    *(
        "a" * 65,
        "a" * 300,
        "äda",
        "a\u0308da",
        "孙悟空",
        "에이다",
        "🎭",
        "\u202eada",
        "ad\u200ba",
        "ａda",
        "a٣",
        "a\u2028b",
    ),
    *("CON", "con", "Nul", "PRN", "aux", "COM1", "com0", "lpt9", "ada*", "a?", "a:b", "a|b", "<a>", "$HOME", "`id`"),
    *("a;b", "a'b", 'a"b', "a\tb", "a&b", "a=b", "a+b", "a,b", "a@b", "a#b", "a!b", "{a}", "a٣", "(a)", "\ud800"),
]
GOOD_IDS = ["a", "A", "0", "ada", "Ada-Quill_2", "a" * 64, "com10", "console", "nul-1", "0000"]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.mark.parametrize("role", [*BAD_IDS, None, 5, b"ada", Path("ada")], ids=repr)
def test_bad_ids_are_refused_everywhere(tmp_path: Path, role: str) -> None:
    shelf = Library(tmp_path / "library")
    shelf.create("ada", CARD)
    before = everything(tmp_path)
    for call in (lambda: shelf.create(role, CARD), lambda: shelf.role(role), lambda: open_role(role, shelf.root)):
        with pytest.raises(RoleError, match="can't be the id of a role"):
            call()
    assert everything(tmp_path) == before


@pytest.mark.parametrize("role", GOOD_IDS)
def test_good_ids(tmp_path: Path, role: str) -> None:
    made = Library(tmp_path).create(role, CARD)
    assert (made.id, made.root, made.card) == (role, tmp_path / role, CARD)
    assert names_in(tmp_path) == [role]
    assert names_in(made.root) == ["persona", "role.yaml"]


def test_a_new_card_explains_itself(tmp_path: Path) -> None:
    text = (Library(tmp_path).create("ada", CARD).root / "role.yaml").read_text(encoding="utf-8")
    assert "# The language it answers in: en, zh or ko.\nlanguage: zh\n" in text
    assert "profile: |-\n  Keeps a light.\n  Says little.\n" in text


@pytest.mark.parametrize("taken", ["ada", "Ada", "ADA"])
def test_an_id_is_taken_in_any_case(tmp_path: Path, taken: str) -> None:
    shelf = Library(tmp_path)
    shelf.create("ada", CARD)
    with pytest.raises(RoleError, match="There is 'ada' in "):
        shelf.create(taken, CARD)
    (tmp_path / "Tom").mkdir()
    with pytest.raises(RoleError, match="There is 'Tom'"):
        shelf.create("tom", CARD)


def test_only_roles_are_listed(tmp_path: Path) -> None:
    shelf = Library(tmp_path / "library")
    assert shelf.roles() == []
    for role in ("tom", "ada", "Zoe"):
        shelf.create(role, CARD)
    for name in (".hidden", "no card", "empty", "nul"):
        (shelf.root / name).mkdir()
    (shelf.root / "file").write_text("x")
    (shelf.root / "link").symlink_to(tmp_path)
    assert shelf.roles() == ["Zoe", "ada", "tom"]
    assert Library(shelf.root / "file").roles() == []


def test_unknown_roles_are_named_with_what_there_is(tmp_path: Path, small_examples: Path) -> None:
    Library(tmp_path).create("lighthouse", CARD)
    with pytest.raises(RoleError, match="did you mean 'lighthouse'") as error:
        open_role("lighthose", tmp_path)
    assert "There are: lighthouse, nell." in str(error.value)
    assert "`dramaturg new lighthose`" in str(error.value)
    with pytest.raises(RoleError, match="There is no role 'Lighthouse'"):  # also where the system ignores case
        open_role("Lighthouse", tmp_path)
    (tmp_path / "bare").mkdir()
    with pytest.raises(RoleError, match=r"has no role\.yaml"):
        open_role("bare", tmp_path)


def test_one_object_for_one_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Library(tmp_path).create("ada", CARD)
    (tmp_path / "alias").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    for library in (tmp_path, str(tmp_path), Library(tmp_path), tmp_path / "alias", ".", tmp_path / "x" / ".."):
        assert open_role("ada", library) is made
    found = list[Role]()
    threads = [threading.Thread(target=lambda: found.append(open_role("ada", tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [made] * 8


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shelf = Library(tmp_path / "library")
    Library(outside).create("ada", CARD)
    role = shelf.create("tom", CARD)
    before = everything(outside)
    (shelf.root / "ada").symlink_to(outside / "ada")
    with pytest.raises(RoleError, match="is a link"):
        shelf.role("ada")
    for name in ("index", "index/acts", "index/acts/drafts", "index/acts/versions"):
        link = role.root / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside)
        with pytest.raises(RoleError, match="leads out of"):
            build(role, ["a", "b"])
        assert everything(outside) == before
        link.unlink()
    build(role, ["a", "b"])


@pytest.fixture
def small_examples(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    (folder / "__init__.py").write_text("")
    made = Library(folder).create("nell", RoleCard(name="Nell"))
    (made.root / "persona" / "life.md").write_text("# Life")
    monkeypatch.setattr(library_folder, "_examples", lambda: folder)
    return folder


def test_an_example_is_one_role_whoever_asks_for_it_first(tmp_path: Path, small_examples: Path) -> None:
    found = list[Role]()
    threads = [threading.Thread(target=lambda: found.append(open_role("nell", tmp_path))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len({id(role) for role in found}) == 1
    assert names_in(tmp_path) == examples() == ["nell"]
    assert found[0].documents()[0].text == "# Life"


def test_the_copy_belongs_to_the_user(tmp_path: Path, small_examples: Path) -> None:
    role = open_role("nell", tmp_path)
    (role.root / "persona" / "life.md").write_text("# My Nell")
    assert open_role("nell", tmp_path).documents()[0].text == "# My Nell"
    assert (small_examples / "nell" / "persona" / "life.md").read_text() == "# Life"


def test_another_process_may_be_faster(tmp_path: Path, small_examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move = library_folder.move_folder

    def late(source: Path, target: Path, *, within: Path) -> None:
        (target / "persona").mkdir(parents=True)
        (target / "role.yaml").write_text("name: Theirs")
        move(source, target, within=within)

    monkeypatch.setattr(library_folder, "move_folder", late)
    assert open_role("nell", tmp_path).card.name == "Theirs"
    assert names_in(tmp_path) == ["nell"]


def test_a_copy_that_fails_leaves_nothing(
    tmp_path: Path, small_examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StorageError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(library_folder, "move_folder", full)
        with pytest.raises(StorageError):
            open_role("nell", tmp_path)
        with pytest.raises(StorageError):
            Library(tmp_path).create("ada", CARD)
    assert names_in(tmp_path) == []
    assert open_role("nell", tmp_path).card.name == "Nell"


def test_the_packaged_examples() -> None:
    assert {"beethoven", "wukong"} <= set(examples())
