"""A persona that changes every day: learned, forgotten, edited and taken back, by several at once."""

import asyncio
import hashlib
import random
import threading
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime
from pydantic import JsonValue

from dramaturg.nodes import index_steps as draft_work
from dramaturg.nodes.passages.retrieval import retrieve
from dramaturg.stores.errors import (
    DamagedIndex,
    EmbeddingMismatch,
    MissingIndex,
    RoleBusy,
    RoleError,
    RoleFileError,
    StaleDraft,
)
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.index.kinds import kind_named
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.learning import document_from, document_name, forget, learn
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back, versions
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph
from dramaturg.workflows.drmr_index import DrmrIndexContext
from dramaturg.workflows.drmr_index import graph as drmr_index
from dramaturg.workflows.naive_rag import NaiveRagContext

from passage_samples import names_in, quick
from roles import LIFE, WordEmbeddings, small_role

pytestmark = pytest.mark.sample_of_file(8)

DOG = "# The dog\n\nKit is a grey dog and sleeps under the lamp.\n"


class CountedEmbeddings(WordEmbeddings):
    """Counts the texts that are embedded."""

    texts = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        CountedEmbeddings.texts += len(texts)
        return super().embed_documents(texts)


def context(library: Path, **given: Any) -> AmadeusIndexContext:
    return AmadeusIndexContext(
        **{"role": "ada", "library": str(library), "embedding_model": CountedEmbeddings(), **given}
    )


def index(library: Path, *, rebuild: bool = False, **given: Any) -> dict[str, Any]:
    """Index the role and say what that cost."""
    report: dict[str, Any] = asyncio.run(graph.ainvoke({"rebuild": rebuild}, context=context(library, **given)))
    return dict(report["index"])


def taught(role: Role, **documents: str) -> None:
    learn(role, [(f"{name}.md", text.encode()) for name, text in documents.items()])


def served(role: Role, kind: str = "acts") -> set[str]:
    return {passage.source for passage in Role(role.root).index(kind_named(kind)).open().passages}


def text_of(role: Role) -> str:
    return "\n".join(passage.text for passage in Role(role.root).index(passage_kind("acts")).open().passages)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    small_role(tmp_path)
    index(tmp_path)
    return Role(tmp_path / "ada")


# What is learned


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("photo.md", b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8"),
        ("zero.md", b"a\0b", "zero character"),
        ("old.txt", "Grüße".encode("latin-1"), "not UTF-8"),
        ("wide.txt", "Hello".encode("utf-16"), "UTF-16"),
        ("empty.md", b"", "holds no text"),
        ("blank.md", b"\xef\xbb\xbf \n\t\n", "holds no text"),
        ("sheet.xlsx", b"PK", "no Markdown or plain text by its name"),
        ("CON.md", b"text", "can't be the name"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RoleError, match=says):
        document_from(tmp_path / name)


def test_what_is_not_there_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match="is a folder"):
        document_from(tmp_path)
    with pytest.raises(RoleFileError, match="cannot be read"):
        document_from(tmp_path / "nothing.md")
    for name in ("a\0.md", "x" * 300, "\ud800"):
        with pytest.raises(RoleFileError, match="cannot be read"):
            document_from(tmp_path / name)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a:b", "nul", "com1.txt", "a\0", "a\n", "x" * 300, " a", "a."],
)
def test_names_that_no_system_takes(name: str) -> None:
    with pytest.raises(RoleError, match="can't be the name of a document"):
        document_name(name)


def test_names(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("text")
    assert document_from(tmp_path / "notes.txt") == ("notes.md", b"text")
    assert document_from(tmp_path / "notes.txt", "日記") == ("日記.md", b"text")
    assert document_name("Life 2.MD") == "Life 2.MD"


def test_learning_says_what_changes(role: Role) -> None:
    edited = LIFE.replace("Storms make her cheerful", "Storms make her sing") + "\nShe is fifty.\n"
    changes = learn(role, [("dog.md", DOG.encode()), ("life.md", edited.encode())])
    assert [(one.document, one.change, one.added, one.removed) for one in changes] == [
        ("dog.md", "new", 2, 0),
        ("life.md", "replaced", 2, 1),
    ]
    assert learn(role, [("dog.md", DOG.encode())])[0].change == "unchanged"
    assert role.persona.names() == ["dog.md", "life.md"]
    assert role.documents()[1].text == edited


def test_documents_whose_names_clash(role: Role) -> None:
    with pytest.raises(RoleError, match=r"There is life\.md already"):
        taught(role, LIFE=DOG)
    with pytest.raises(RoleError, match="Two of the files"):
        learn(role, [("a.md", b"a"), ("A.md", b"b")])
    with pytest.raises(RoleError, match="Two of the files"):
        learn(role, [("é.md", b"a"), ("e\u0301.md", b"b")])
    with pytest.raises(RoleError, match=r"no document 'lfe\.md'; did you mean 'life\.md'"):
        forget(role, "lfe.md")
    assert role.persona.names() == ["life.md"]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("..", DOG.encode(), "can't be the name"),
        ("../role.md", DOG.encode(), "can't be the name"),
        ("dog", DOG.encode(), r"call it 'dog\.md'"),
        ("COM¹.md", DOG.encode(), "can't be the name"),
        ("dog.md", b"\xff", "not UTF-8"),
        ("dog.md", b" ", "holds no text"),
    ],
)
def test_what_could_not_be_read_again_is_not_learned(role: Role, name: str, data: bytes, says: str) -> None:
    with pytest.raises(RoleError, match=says):
        learn(role, [("cat.md", DOG.encode()), (name, data)])
    assert [one.name for one in role.documents()] == ["life.md"]


def test_a_document_that_someone_else_changed_is_not_written_over(role: Role) -> None:
    was = {"life.md": hashlib.sha256(b"other").hexdigest()}
    with pytest.raises(StaleDraft, match=r"life\.md of 'ada' was changed meanwhile"):
        learn(role, [("life.md", DOG.encode())], was=was)
    assert role.documents()[0].text == LIFE


# What is forgotten


def test_the_newest_version_does_not_hold_what_is_forgotten(role: Role) -> None:
    taught(role, dog=DOG)
    index(role.root.parent)
    assert "grey dog" in text_of(role)
    forget(role, "dog.md")
    assert index(role.root.parent)["embedded"] == 0
    assert "grey dog" not in text_of(role)
    assert take_back(role, passage_kind("acts")).documents == ("dog.md", "life.md")


def test_nothing_is_left_of_what_is_erased(role: Role) -> None:
    taught(role, dog=DOG)
    index(role.root.parent)
    index(role.root.parent, splitter="fixed")
    role.index(passage_kind("acts")).open()
    forget(role, "dog.md")
    assert index(role.root.parent)["embedded"] == 0
    erase_past(role)
    files = [path for path in role.root.rglob("*") if path.is_file()]
    assert not [path for path in files if b"grey dog" in path.read_bytes()]
    assert served(role) == {"life.md"}
    assert (
        role.index(passage_kind("fixed")).manifest() is None
    )  # it was made from what is erased, and is made again when it is asked for
    assert [one.served for one in versions(role, passage_kind("acts"))] == [True]
    with pytest.raises(MissingIndex, match="no version before this one"):
        take_back(role, passage_kind("acts"))
    assert index(role.root.parent)["embedded"] == 0


def test_what_documents_lose_dialogues_do_not(role: Role) -> None:
    before = index_dialogues(role)
    kept: dict[str, JsonValue] = {"0" * 64: {"score": 5, "reason": "said in a talk"}}
    taught(role, dog=DOG)
    index(role.root.parent)
    role.index(DIALOGUE_KIND).builder.keep(kept)
    take_back(role, passage_kind("acts"))
    assert role.index(DIALOGUE_KIND).open().version == before
    assert Role(role.root).index(DIALOGUE_KIND).builder.known() == kept
    erase_past(role)
    assert role.index(DIALOGUE_KIND).open().version == index_dialogues(role) == before
    assert [len(versions(role, kind)) for kind in (passage_kind("acts"), DIALOGUE_KIND)] == [1, 1]
    assert Role(role.root).index(DIALOGUE_KIND).builder.known() == {}


def test_dialogues_that_are_taken_out_are_erased_and_documents_stay(role: Role) -> None:
    index_dialogues(role)
    first = index_version(role)
    path = role.root / "dialogues" / "scenes.jsonl"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if "friday" not in line))
    erase_past(role)
    files = [path for path in role.root.rglob("*") if path.is_file()]
    assert not [path for path in files if b"a parcel from Leith" in path.read_bytes()]
    assert role.index(DIALOGUE_KIND).manifest() is None
    assert index_version(role) == first


def index_dialogues(role: Role) -> str:
    """Index the role's dialogues; give their version."""
    settings = DrmrIndexContext(role="ada", library=str(role.root.parent), embedding_model=CountedEmbeddings())
    return str(asyncio.run(drmr_index.ainvoke({}, context=settings))["version"])


# What is taken back


def test_a_version_is_taken_back_with_its_documents(role: Role) -> None:
    library, first = role.root.parent, index_version(role)
    taught(role, dog=DOG)
    index(library)
    taught(role, life=LIFE.replace("Tom", "Tim"), cat="# The cat\n\nThere is no cat.\n")
    index(library)
    CountedEmbeddings.texts = 0
    assert take_back(role, passage_kind("acts")).documents == ("dog.md", "life.md")
    assert (role.persona.names(), served(role)) == (["dog.md", "life.md"], {"dog.md", "life.md"})
    assert role.documents()[1].text == LIFE
    assert take_back(role, passage_kind("acts")).version == first
    assert (role.persona.names(), served(role)) == (["life.md"], {"life.md"})
    assert take_back(role, passage_kind("acts")).documents == ("cat.md", "dog.md", "life.md")  # the ring is closed
    assert "Tim sails" in role.documents()[2].text
    assert index(library)["embedded"] == CountedEmbeddings.texts == 0


def test_a_version_is_taken_back_by_its_name(role: Role) -> None:
    first = versions(role, passage_kind("acts"))[0]
    for name in "abc":
        taught(role, **{name: DOG + name})
        index(role.root.parent)
    assert [one.counts["passages"] for one in versions(role, passage_kind("acts"))] == [10, 9, 8, 7]
    assert take_back(role, passage_kind("acts"), first.version[:6]).version == first.version
    assert role.persona.names() == ["life.md"]
    with pytest.raises(MissingIndex, match="no version 'zz'"):
        take_back(role, passage_kind("acts"), "zz")


def test_what_is_in_no_version_is_not_lost_by_going_back(role: Role) -> None:
    taught(role, dog=DOG)
    index(role.root.parent)
    (role.root / "persona" / "life.md").write_text(LIFE + "Not indexed yet.\n")
    with pytest.raises(RoleError, match=r"life\.md has changes that are in no version yet"):
        take_back(role, passage_kind("acts"))
    assert "Not indexed yet." in role.documents()[1].text
    index(role.root.parent)
    take_back(role, passage_kind("acts"))
    assert role.documents()[1].text == LIFE


def test_a_damaged_version_is_taken_back_by_its_documents(role: Role) -> None:
    damaged = next(role.root.glob("index/acts/versions/*/vectors.faiss"))
    taught(role, dog=DOG)
    index(role.root.parent)
    damaged.write_bytes(b"")
    take_back(role, passage_kind("acts"))
    assert role.persona.names() == ["life.md"]
    assert index(role.root.parent)["passages"] == 7
    assert served(role) == {"life.md"}


def test_documents_are_kept_as_long_as_versions(role: Role) -> None:
    for at in range(8):
        taught(role, dog=f"{DOG}{at}")
        index(role.root.parent)
    assert len(names_in(role.root / "index" / "documents")) == 1 + 5
    assert all(one.restorable for one in versions(role, passage_kind("acts")))


# Who reads


def test_the_last_good_version_stands_in_for_a_damaged_one(role: Role) -> None:
    library = role.root.parent
    before = {path.parent for path in role.root.glob("index/acts/versions/*/manifest.json")}
    taught(role, dog=DOG)
    index(library)
    newest = next(path for path in role.root.glob("index/acts/versions/*/vectors.faiss") if path.parent not in before)
    newest.write_bytes(b"\0" + newest.read_bytes()[1:])
    store = Role(role.root).index(passage_kind("acts")).open()
    assert {passage.source for passage in store.passages} == {"life.md"}
    assert "is damaged (vectors.faiss" in store.warning
    assert "dramaturg index ada" in store.warning
    with pytest.raises(DamagedIndex):
        Role(role.root).index(passage_kind("acts")).open(index_version(role))
    assert index(library)["embedded"] == 1  # only what the last good version lacks
    assert (served(role), Role(role.root).index(passage_kind("acts")).open().warning) == ({"life.md", "dog.md"}, "")


def index_version(role: Role) -> str:
    found = role.index(passage_kind("acts")).manifest()
    assert found is not None
    return found.version


def test_a_reply_says_when_its_knowledge_is_of_an_older_version(tmp_path: Path) -> None:
    small_role(tmp_path)
    index(tmp_path)
    whole = set(tmp_path.glob("ada/index/acts/versions/*/vectors.faiss"))
    taught(Role(tmp_path / "ada"), dog=DOG)
    index(tmp_path)
    for path in set(tmp_path.glob("ada/index/acts/versions/*/vectors.faiss")) - whole:
        path.write_bytes(b"")
    state: Any = {"question": "Storms?", "version": ""}
    evidence = asyncio.run(retrieve(state, Runtime(context=asking(tmp_path))))["evidence"]
    assert "damaged" in evidence["warning"]
    assert evidence["knowledge"]


def asking(library: Path) -> NaiveRagContext:
    return NaiveRagContext(role="ada", library=str(library), embedding_model=CountedEmbeddings(), splitter="acts")


def test_vectors_that_are_not_normalized_are_refused(role: Role) -> None:
    store = role.index(passage_kind("acts")).open()
    record = store.manifest.embedding.model_copy(update={"normalized": False})
    store.manifest = store.manifest.model_copy(update={"embedding": record})
    with pytest.raises(EmbeddingMismatch, match="not of length 1"):
        store.require(record.name)


def test_a_rebuild_serves_the_old_version_until_it_is_done(role: Role) -> None:
    served_meanwhile = []

    class Watching(CountedEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            served_meanwhile.append(len(Role(role.root).index(passage_kind("acts")).open().passages))
            return super().embed_documents(texts)

    assert index(role.root.parent, rebuild=True, embedding_model=Watching(), embedding_batch=2)["embedded"] == 7
    assert served_meanwhile == [7, 7, 7, 7]


# Who builds


class LearningMeanwhile(CountedEmbeddings):
    """While this embeds, somebody else teaches the role something."""

    def __init__(self, role: Role, times: int) -> None:
        self.role, self.times = role, times

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.times:
            self.times -= 1
            taught(self.role, **{f"meanwhile{self.times}": f"{DOG}{self.times}"})
        return super().embed_documents(texts)


def test_an_index_that_was_overtaken_is_made_again(role: Role) -> None:
    taught(role, dog=DOG)
    report = index(role.root.parent, embedding_model=LearningMeanwhile(role, 3))
    assert served(role) == {"life.md", "dog.md", "meanwhile0.md", "meanwhile1.md", "meanwhile2.md"}
    assert report["passages"] == 7 + 4


def test_an_index_that_is_always_overtaken_gives_up(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_work, "PATIENCE", 3)
    taught(role, dog=DOG)
    before = text_of(role)
    with pytest.raises(RoleBusy, match="were changed while they were indexed"):
        index(role.root.parent, embedding_model=LearningMeanwhile(role, 99))
    assert text_of(role) == before


def teach_twenty(library: Path, name: str, seed: int | None = None) -> None:
    """Learn twenty documents, one after the other, and index after each."""
    role, chance = Role(library / "ada"), random.Random(seed)
    for at in range(20 if seed is None else 5):
        taught(role, **{f"{name}{at}": f"# {name}\n\nThe number {at} of {name}.\n"})
        if seed is None or chance.random() < 0.7:
            index(library, embedding_model=WordEmbeddings())
    index(library, embedding_model=WordEmbeddings())


@pytest.mark.crash
def test_two_processes_that_learn_lose_nothing(role: Role) -> None:
    spawn = get_context("spawn")
    processes = [spawn.Process(target=teach_twenty, args=(role.root.parent, name)) for name in ("tom", "kit")]
    for process in processes:
        process.start()
    for process in processes:
        process.join(1200)
    assert [process.exitcode for process in processes] == [0, 0]
    assert served(role) == {"life.md", *(f"{name}{at}.md" for name in ("tom", "kit") for at in range(20))}


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(2))
def test_threads_that_learn_lose_nothing(role: Role, seed: int) -> None:
    names = ["a", "b", "c"]
    threads = [
        threading.Thread(target=teach_twenty, args=(role.root.parent, n, seed * 10 + at)) for at, n in enumerate(names)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert served(role) == {"life.md", *(f"{name}{at}.md" for name in names for at in range(5))}
