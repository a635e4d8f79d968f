"""Whatever happens to a stored file, it is refused or was harmless; nothing wrong is ever loaded."""

import random
import shutil
from pathlib import Path

import pytest

from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index.passages import StoredPassage, passage_kind
from dramaturg.stores.role import Role

from crash_points import few_or_many
from passage_samples import build, embed, new_role, passages_of, quick, reopened, texts_of

TEXTS = ["a", "b", "c", "d"]
VERSION, POINTERS = ("passages.jsonl", "vectors.faiss", "manifest.json"), ("current.json", "current.copy.json")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Change one byte, flip one bit, cut, lengthen, double or empty."""
    at = chance.randrange(len(data))
    changed = bytes([chance.choice([one for one in range(256) if one != data[at]])])
    flipped = bytes([data[at] ^ (1 << chance.randrange(8))])
    return chance.choice(
        [
            data[:at] + changed + data[at + 1 :],
            data[:at] + flipped + data[at + 1 :],
            data[:at],
            data[at + 1 :],
            data + changed,
            data[:at] + changed + data[at:],
            data + data,
            b"",
        ]
    )


def artefacts(role: Role) -> dict[str, Path]:
    paths = [path for path in (role.root / "index").rglob("*") if path.is_file() and not path.name.endswith(".lock")]
    return {path.name: path for path in paths}


@few_or_many(20, 200)
@pytest.mark.parametrize("name", ["passages.jsonl", "vectors.faiss", "manifest.json", "current.json"])
def test_no_mutation_is_loaded(tmp_path: Path, name: str, count: int) -> None:
    role = new_role(tmp_path)
    build(role, TEXTS)
    assert set(artefacts(role)) == {*VERSION, *POINTERS}
    if name == POINTERS[0]:
        artefacts(role)[POINTERS[1]].unlink()
    path, chance = artefacts(role)[name], random.Random(name)
    whole = path.read_bytes()
    for _ in range(count):
        path.write_bytes(mutated(whole, chance))
        with pytest.raises(DamagedIndex, match="run `dramaturg index ada`, which makes it again"):
            reopened(role).index(passage_kind("acts")).open()
    path.write_bytes(whole)
    assert texts_of(reopened(role)) == TEXTS


@pytest.mark.parametrize("name", ["passages.jsonl", "vectors.faiss", "manifest.json", "current.json"])
def test_the_same_content_built_again_heals(tmp_path: Path, name: str) -> None:
    role = new_role(tmp_path)
    build(role, TEXTS)
    for damaged in POINTERS if name == POINTERS[0] else [name]:
        artefacts(role)[damaged].write_bytes(b"")
    _, embedded = build(reopened(role), TEXTS)
    assert embedded == len(TEXTS)  # vectors of a damaged version are not trusted
    assert texts_of(reopened(role)) == TEXTS


def test_a_missing_file_or_version(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, TEXTS)
    artefacts(role)["vectors.faiss"].unlink()
    with pytest.raises(DamagedIndex, match=r"vectors\.faiss"):
        reopened(role).index(passage_kind("acts")).open()
    shutil.rmtree(role.root / "index" / "acts" / "versions")
    with pytest.raises(MissingIndex, match="run `dramaturg index ada`"):
        reopened(role).index(passage_kind("acts")).open()
    shutil.rmtree(role.root / "index")
    assert reopened(role).index(passage_kind("acts")).manifest() is None
    assert build(role, TEXTS)[1] == 4


def test_an_index_of_an_earlier_layout_is_made_anew(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, TEXTS)
    folder = next((role.root / "index" / "acts" / "versions").iterdir())
    folder.rename(folder.with_name(folder.name.split("-")[0]))
    artefacts(role)[POINTERS[1]].unlink()
    with pytest.raises(MissingIndex, match="run `dramaturg index ada`"):
        reopened(role).index(passage_kind("acts")).open()
    assert build(reopened(role), TEXTS)[1] == len(TEXTS)
    assert texts_of(reopened(role)) == TEXTS


def test_a_pointer_from_elsewhere(tmp_path: Path) -> None:
    role, other = new_role(tmp_path), new_role(tmp_path, "tom")
    build(role, TEXTS)
    build(other, ["x"])
    for name in POINTERS:
        shutil.copy(artefacts(other)[name], artefacts(role)[name])
    with pytest.raises(MissingIndex):
        reopened(role).index(passage_kind("acts")).open()
    shutil.copytree(other.root / "index" / "acts", other.root / "index" / "ats")
    with pytest.raises(DamagedIndex):
        other.index(passage_kind("ats")).open()


@few_or_many(5, 40)
@pytest.mark.parametrize("name", ["passages.jsonl", "draft.json", "npz"])
def test_no_damaged_draft_is_published(tmp_path: Path, name: str, count: int) -> None:
    role, chance = new_role(tmp_path), random.Random(name)
    build(role, TEXTS)
    for _ in range(count):
        builder = reopened(role).index(passage_kind("acts")).builder
        version = builder.draft(passages := _edited(), embedding="hash-8", settings={}, sources={})
        builder.add_vectors(version, ["edited"], embed(["edited"]))
        path = next(path for path in role.root.glob(f"index/acts/drafts/{version}/**/*{name}"))
        path.write_bytes(mutated(path.read_bytes(), chance))
        later = reopened(role).index(passage_kind("acts")).builder
        assert later.draft(passages, embedding="hash-8", settings={}, sources={}) == version
        assert later.unembedded(version) == (["edited"] if name == "npz" else [])
        assert texts_of(reopened(role)) == TEXTS
        shutil.rmtree(role.root / "index" / "acts" / "drafts")


def _edited() -> list[StoredPassage]:
    passages = passages_of(["a", "edited"])
    return [passage.model_copy(update={"id": f"e{at}"}) for at, passage in enumerate(passages)]
