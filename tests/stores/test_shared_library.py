"""A library in a database: what one machine changes another reads, a change is whole or not there."""

import asyncio
import itertools
from collections.abc import Iterator
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dramaturg.conversations.opening import open_conversation, threads_of
from dramaturg.nodes.run import library_of
from dramaturg.stores import shared_library
from dramaturg.stores.documents.forms import CARD, RoleCard
from dramaturg.stores.errors import MissingIndex, RoleBusy, RoleError, StorageError
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.library import Library, find_card, library_at
from dramaturg.stores.locks import role_lock
from dramaturg.stores.role import Role
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.stores.versions import erase_past
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph
from dramaturg.workflows.naive_rag import NaiveRagContext

from roles import actor, run_settings

pytestmark = pytest.mark.sample_of_file(6)

LIFE = b"# Life\n\nAda Quill keeps the lighthouse of Gull Rock.\n"
DOG = b"# The dog\n\nKit is a grey dog and sleeps under the lamp.\n"


@pytest.fixture
def machines(postgres: str, tmp_path: Path) -> Iterator[list[SharedLibrary]]:
    """The library of one database on two machines."""
    found = [SharedLibrary(postgres, tmp_path / name, patience=0.2) for name in ("one", "other")]
    yield found
    for one in found:
        one.close()


@pytest.fixture
def here(machines: list[SharedLibrary]) -> SharedLibrary:
    """A machine whose library has Ada."""
    machines[0].create("ada", RoleCard(name="Ada", language="en")).persona.change({"life.md": LIFE})
    return machines[0]


@pytest.fixture
def there(here: SharedLibrary, machines: list[SharedLibrary]) -> SharedLibrary:
    return machines[1]


def indexed(library: Library) -> str:
    """Index Ada, and return the version."""
    context = AmadeusIndexContext(**{**run_settings(library.root, actor()), "library": library})
    return str(asyncio.run(graph.ainvoke({}, context=context))["version"])


def texts(library: Library) -> list[str]:
    return [one.text for one in library.role("ada").documents()]


def test_what_one_machine_writes_another_reads(here: SharedLibrary, there: SharedLibrary) -> None:
    assert there.roles() == ["ada"]
    assert there.role("ada").card.name == "Ada"
    assert texts(there) == [LIFE.decode()]
    here.role("ada").persona.change({"dog.md": DOG, "life.md": None})
    assert texts(there) == [DOG.decode()]
    there.role("ada").persona.change({"dog.md": None, "life.md": LIFE})
    assert texts(here) == [LIFE.decode()]
    assert not list((here.root / "ada").rglob("dog.md"))


def test_a_story_is_read_on_every_machine(here: SharedLibrary, there: SharedLibrary) -> None:
    here.create("tom", RoleCard(name="Tom", language="en", story="ada"))
    (told,) = there.role("tom").documents()
    assert (told.name, told.text) == ("ada/life.md", LIFE.decode())
    here.role("ada").persona.change({"life.md": DOG})
    assert [one.text for one in there.role("tom").documents()] == [DOG.decode()]


def test_nothing_is_read_twice(here: SharedLibrary, there: SharedLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    there.role("ada")
    statements, execute = list[Any](), psycopg.Cursor.execute

    def noted(cursor: psycopg.Cursor[Any], statement: Any, *given: Any, **more: Any) -> Any:
        statements.append(statement)
        return execute(cursor, statement, *given, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)
    assert there.open("ada").documents()[0].text == LIFE.decode()
    assert len(statements) == 1


def test_a_version_is_served_by_all_machines_as_soon_as_it_is_published(
    here: SharedLibrary, there: SharedLibrary
) -> None:
    first = indexed(here)
    assert there.role("ada").index(passage_kind("acts")).open().version == first
    there.role("ada").persona.change({"dog.md": DOG})
    second = indexed(there)
    assert here.role("ada").index(passage_kind("acts")).open().version == second != first
    assert indexed(here) == second


def test_who_reads_while_a_copy_is_brought_up_to_date_reads_a_whole_version(
    here: SharedLibrary, there: SharedLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What says which version is served is written after what that is made of."""
    versions = [indexed(here)]
    there.role("ada")
    here.role("ada").persona.change({"dog.md": DOG})
    versions.append(indexed(here))
    write, read = shared_library.write_bytes, list[str]()

    def written(path: Path, data: bytes, *, within: Path) -> None:
        write(path, data, within=within)
        if within == there.root / "ada":
            found = Role(within).index(passage_kind("acts")).open()
            assert not found.warning, path
            read.append(found.version)

    monkeypatch.setattr(shared_library, "write_bytes", written)
    there.role("ada")
    assert [*dict.fromkeys(read)] == versions


def test_a_version_that_a_conversation_goes_by_can_be_read_after_it_is_no_longer_kept(
    here: SharedLibrary, there: SharedLibrary
) -> None:
    versions = [indexed(here)]
    for number in range(7):
        here.role("ada").persona.change({"dog.md": DOG + b"%d years old.\n" % number})
        versions.append(indexed(here))
    index = there.role("ada").index(passage_kind("acts"))
    assert [index.open(version).version for version in versions] == versions
    assert index.open().version == versions[-1]


def test_and_no_longer_than_the_operator_says(
    postgres: str, here: SharedLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAMATURG_KEEP_VERSIONS", "0")
    monkeypatch.setenv("DRAMATURG_CACHE", str(tmp_path / "third"))
    brief = library_of(AmadeusIndexContext(library=postgres))
    first = indexed(brief)
    for number in range(7):
        brief.role("ada").persona.change({"dog.md": DOG + b"%d years old.\n" % number})
        indexed(brief)
    with pytest.raises(MissingIndex, match=r"has no version .* any more .*: begin the turn that goes by it anew"):
        here.role("ada").index(passage_kind("acts")).open(first)
    assert isinstance(brief, SharedLibrary)
    brief.close()


def test_a_list_of_roles_fetches_cards_alone(here: SharedLibrary, there: SharedLibrary) -> None:
    here.replace(
        {
            "bare": {CARD: b"name: Bare\n"},
            "broken": {CARD: b"name: [\n", "dialogues/tea.jsonl": b"", "chronicle.yaml": b""},
            "unread": {CARD: b"name: Unread\n", "persona/a.txt": b"a", "persona/letters/b.md": b"b"},
        }
    )
    listed = there.listed()
    assert [(role, one.written, one.unread) for role, one in listed.items()] == [
        ("ada", ("persona",), 0),
        ("bare", (), 0),
        ("broken", ("dialogues", "chronicle"), 0),
        ("unread", (), 2),
    ]
    assert [listed[role].card().name for role in ("ada", "bare", "unread")] == ["Ada", "Bare", "Unread"]
    with pytest.raises(RoleError, match=r"broken.*role\.yaml"):
        listed["broken"].card()
    assert not there.root.exists()
    for role in there.roles():
        there.role(role)
    as_a_folder = Library(there.root).listed()
    assert {role: one[1:] for role, one in as_a_folder.items()} == {role: one[1:] for role, one in listed.items()}


def test_who_is_named_in_a_list_is_found_without_the_others(here: SharedLibrary, there: SharedLibrary) -> None:
    here.replace({f"role{number}": {CARD: b"name: Number %d\n" % number} for number in range(5)})
    library_at(there.root)
    assert getattr(find_card("number 3", there.root), "name", None) == "Number 3"
    assert not there.root.exists()


def test_what_is_erased_for_good_is_in_the_database_no_longer(
    here: SharedLibrary, there: SharedLibrary, postgres: str
) -> None:
    here.role("ada").persona.change({"dog.md": DOG})
    indexed(here)
    here.role("ada").persona.change({"dog.md": None})
    first = indexed(here)
    erase_past(here.role("ada"))
    with psycopg.connect(postgres) as other:
        rows = other.execute("SELECT data FROM dramaturg_blobs").fetchall()
    assert not [data for (data,) in rows if b"grey dog" in data]
    assert there.role("ada").index(passage_kind("acts")).open().version == first


def test_a_role_is_held_on_all_machines(here: SharedLibrary, there: SharedLibrary) -> None:
    there.role("ada")
    with role_lock(here.root / "ada"):
        with pytest.raises(RoleBusy, match="Another program is changing 'ada'"):
            there.role("ada").persona.change({"dog.md": DOG})
        assert texts(there) == [LIFE.decode()]
    there.role("ada").persona.change({"dog.md": DOG})
    assert len(texts(here)) == 2


def test_a_change_by_somebody_who_holds_no_lock_is_not_written_over(
    here: SharedLibrary, there: SharedLibrary, postgres: str
) -> None:
    def beside() -> None:
        with role_lock(here.root / "ada"), psycopg.connect(postgres, autocommit=True) as other:
            (here.root / "ada" / "persona" / "dog.md").write_bytes(DOG)
            other.execute("UPDATE dramaturg_roles SET revision = revision + 1")

    with pytest.raises(RoleBusy, match=r"was changed in .* meanwhile"):
        beside()
    assert texts(there) == [LIFE.decode()]
    here.role("ada").persona.change({"cat.md": DOG})
    assert len(texts(there)) == 2


def test_what_a_killed_program_left_in_a_copy_is_not_taken_for_the_role(
    here: SharedLibrary, there: SharedLibrary
) -> None:
    folder = here.root / "ada"
    (folder / "persona" / "dog.md").write_bytes(DOG)
    (folder / "persona" / "life.md").write_bytes(DOG)
    (folder / CARD).unlink()
    here.role("ada").persona.change({"cat.md": DOG})
    assert texts(here) == texts(there) == [DOG.decode(), LIFE.decode()]
    assert here.role("ada").card.name == "Ada"


def test_a_copy_of_what_was_gone_back_from_is_not_taken_for_the_role(
    here: SharedLibrary, there: SharedLibrary, postgres: str, tmp_path: Path
) -> None:
    """A dump is restored: what is changed from then on is not what a copy has of as many changes before."""
    tables = ("roles", "blobs", "files")
    with psycopg.connect(postgres, autocommit=True) as admin:
        for one in tables:
            admin.execute(f"CREATE TABLE dump_{one} AS TABLE dramaturg_{one}".encode())
        here.role("ada").persona.change({"dog.md": DOG})
        assert len(texts(there)) == 2
        admin.execute("DELETE FROM dramaturg_roles")
        for one in tables:
            admin.execute(f"INSERT INTO dramaturg_{one} TABLE dump_{one}".encode())
    third = SharedLibrary(postgres, tmp_path / "third")
    third.role("ada").persona.change({"life.md": DOG})
    third.close()
    assert texts(there) == texts(here) == [DOG.decode()]


def test_a_role_is_made_by_one_of_two(here: SharedLibrary, there: SharedLibrary) -> None:
    with pytest.raises(RoleError, match=r"There is 'ada' in .* already"):
        there.create("Ada", RoleCard(name="Ada"))
    with pytest.raises(RoleError, match="already"):
        there.replace({"ada": {CARD: b"name: Eve\n"}}, new=True)
    with pytest.raises(RoleError, match=r"There is no role 'eve' in .*test_"):
        there.role("eve")
    assert there.role("ada").card.name == "Ada"


def test_an_example_is_copied_when_it_is_first_asked_for(here: SharedLibrary, there: SharedLibrary) -> None:
    assert here.open("beethoven").documents() == there.open("beethoven").documents() != []
    assert there.roles() == ["ada", "beethoven"]


def test_the_folder_of_the_copies_leads_to_the_same_library(here: SharedLibrary) -> None:
    assert library_at(here.root) is here
    assert library_at(here.role("ada").root.parent) is here


def test_a_damaged_file_is_not_read(here: SharedLibrary, there: SharedLibrary, postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as other:
        other.execute("UPDATE dramaturg_blobs SET data = 'x' WHERE data = %s", [LIFE])
    with pytest.raises(StorageError, match=r"of 'ada' is damaged in .*: push the role there again"):
        there.role("ada")


def test_a_database_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    library = SharedLibrary("postgresql://me:secret@127.0.0.1:1/roles", tmp_path)
    with pytest.raises(StorageError, match=r"127.0.0.1/roles cannot be reached") as refused:
        library.roles()
    assert "secret" not in str(refused.value)


def test_tables_of_a_later_version_are_refused(here: SharedLibrary, postgres: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres, autocommit=True) as other:
        other.execute("INSERT INTO dramaturg_schema VALUES (99)")
    with pytest.raises(StorageError, match=r"made by a later version of dramaturg .schema 99.*upgrade"):
        SharedLibrary(postgres, tmp_path / "new").roles()


def test_roles_are_replaced_together_or_not_at_all(here: SharedLibrary, there: SharedLibrary) -> None:
    here.replace({"ada": {CARD: b"name: Ada II\n"}, "eve": {CARD: b"name: Eve\n"}})
    assert [there.role(name).card.name for name in there.roles()] == ["Ada II", "Eve"]
    assert there.contents("ada") == {CARD: b"name: Ada II\n"}
    with pytest.raises(RoleError, match="already"):
        here.replace({"bob": {CARD: b"name: Bob\n"}, "eve": {CARD: b"name: Adam\n"}}, new=True)
    assert there.roles() == ["ada", "eve"]
    assert there.role("eve").card.name == "Eve"


def stopped_at(monkeypatch: pytest.MonkeyPatch, place: int, how: str, postgres: str) -> None:
    """Have a statement of many refused, or the connection cut before it."""
    count = itertools.count(1)

    def counted(execute: Any, cursor: psycopg.Cursor[Any], *given: Any, **more: Any) -> Any:
        if next(count) == place:
            if how == "refused":
                raise psycopg.errors.DiskFull("no space left")
            with psycopg.connect(postgres, autocommit=True) as admin:
                pid = cursor.connection.info.backend_pid
                psycopg.ClientCursor(admin).execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
        return execute(cursor, *given, **more)

    for name in ("execute", "executemany"):
        monkeypatch.setattr(psycopg.Cursor, name, partialmethod(partial(counted, getattr(psycopg.Cursor, name))))


@pytest.mark.parametrize("how", ["refused", "cut"])
def test_a_change_that_is_stopped_at_any_statement_is_whole_or_not_there(
    here: SharedLibrary, there: SharedLibrary, monkeypatch: pytest.MonkeyPatch, how: str, postgres: str
) -> None:
    for place in itertools.count(1):
        here.role("ada").persona.change({"dog.md": None, "life.md": LIFE})
        ada, error = here.role("ada"), None
        with monkeypatch.context() as patch:
            stopped_at(patch, place, how, postgres)
            try:
                ada.persona.change({"dog.md": DOG, "life.md": None})
            except StorageError as refused:
                error = refused
        found = texts(there)
        assert found == [DOG.decode()] or (error and found == [LIFE.decode()]), place
        assert texts(here) == found, place  # not what this machine has written and the database has not
        ada.persona.change({"cat.md": DOG})  # nothing is held, and what was not written back is not in the copy
        assert texts(there) == texts(here) == [DOG.decode(), *found]
        here.role("ada").persona.change({"cat.md": None})
        if error is None:
            assert place > 8
            break


@pytest.mark.parametrize("how", ["refused", "cut"])
def test_roles_that_are_stopped_at_any_statement_are_all_there_or_none(
    here: SharedLibrary, there: SharedLibrary, monkeypatch: pytest.MonkeyPatch, how: str, postgres: str
) -> None:
    for place in itertools.count(1):
        names = {f"role{place}": {CARD: b"name: One\n"}, f"also{place}": {CARD: b"name: Two\n", "persona/a.md": DOG}}
        error = None
        with monkeypatch.context() as patch:
            stopped_at(patch, place, how, postgres)
            try:
                here.replace(names)
            except StorageError as refused:
                error = refused
        new = {*names} & {*there.roles()}
        assert new == (set() if error else {*names})
        if error is None:
            assert place > 8
            break


async def test_a_conversation_of_the_library_is_in_its_database(here: SharedLibrary, there: SharedLibrary) -> None:
    for number, library in enumerate((here, there)):
        context = NaiveRagContext(**{**run_settings(here.root, actor()), "library": library})
        async with open_conversation("naive-rag", context, "tea") as talk:
            await talk.take_turn(f"Question {number}?")
            assert len(await talk.history()) == number + 1
        assert await threads_of(context) == ["tea"]
    assert not (here.root / ".conversations").exists()
