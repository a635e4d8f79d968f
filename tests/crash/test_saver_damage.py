"""A file of conversations that is not what was written is refused, and never crashes, misleads or runs anything."""

import asyncio
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint

from dramaturg.stores.errors import DamagedConversations
from dramaturg.stores.saver import file as saver_file
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.rows import checksum
from dramaturg.stores.saver.serde import LARGEST

THREADS = ("evening", "morning")
TURNS = 12


def at(thread: str, checkpoint_id: str | None = None) -> Any:
    place = {"thread_id": thread, "checkpoint_ns": ""}
    return {"configurable": place if checkpoint_id is None else {**place, "checkpoint_id": checkpoint_id}}


async def talk(file: Path) -> None:
    """Write two conversations of twelve turns, with a window of four messages, the second with memories at its end."""
    rng = random.Random(5)
    async with ConversationSaver.open(file) as saver:
        for thread in THREADS:
            place, window = at(thread), []
            for turn in range(TURNS):
                question = HumanMessage(rng.randbytes(30).hex(), id=f"{thread} q{turn}")
                window = [*window, question, AIMessage(rng.randbytes(30).hex(), id=f"{thread} a{turn}")][-4:]
                values = {"messages": window, "summary": rng.randbytes(40).hex(), "turn": turn}
                if thread == THREADS[1] and turn > 6:
                    values["episodes"] = [{"id": f"{at}", "text": f"{at} " * 600} for at in range(turn - 4, turn)]
                put: Checkpoint = {**empty_checkpoint(), "channel_values": values}
                place = await saver.aput(place, put, {"source": "loop", "step": turn}, {})
                await saver.aput_writes(place, [("turn", turn)], "task")


async def everything(file: Path) -> list[Any]:
    """All that the file says, by every way of asking."""
    async with ConversationSaver.open(file) as saver:
        said = [await saver.athreads(), [one async for one in saver.alist(None)]]
        for thread in THREADS:
            steps = await saver.asteps(thread)
            spoken = [await saver.asaid(thread, message.id or "") for step in steps for message in step.said]
            one_by_one = [await saver.aget_tuple(at(thread, step.checkpoint_id)) for step in steps]
            said += [steps, spoken, one_by_one, await saver.aget_tuple(at(thread))]
        return said


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut is not tested here."""
    monkeypatch.setattr(saver_file, "SYNCHRONOUS", "OFF")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("whole") / "talk.sqlite"
    asyncio.run(talk(file))
    return file


@pytest.fixture
def file(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "talk.sqlite"))


def mutation(data: bytes, seed: int) -> bytes:
    """Flip a bit, cut the end off, empty, or write 20 bytes over what is there."""
    rng = random.Random(seed)
    place, kind = (
        rng.randrange(len(data)),
        rng.choice(["flip"] * 3 + ["cut", "over", "over", "over", "header"]),
    )
    if kind == "cut":
        return data[: rng.choice((0, place, place // 4096 * 4096))]
    if kind == "over":
        return (data[:place] + rng.randbytes(20) + data[place + 20 :])[: len(data)]
    place = rng.randrange(100) if kind == "header" else place
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def outcomes(whole: Path, folder: Path, seeds: Iterable[int]) -> Counter[str]:
    """Count what becomes of mutated copies: refused, the same as what was written, or anything else."""
    saver_file.SYNCHRONOUS = "OFF"
    expected, data, found = asyncio.run(everything(whole)), whole.read_bytes(), Counter[str]()
    for seed in seeds:
        file = folder / f"{seed}.sqlite"
        file.write_bytes(mutation(data, seed))
        try:
            found["same" if asyncio.run(everything(file)) == expected else f"WRONG {seed}"] += 1
        except DamagedConversations as error:
            found["refused" if str(file) in str(error) and "move it away" in str(error) else f"{seed} {error}"] += 1
        except Exception as error:  # noqa: BLE001 (that there is no other is what is tested)
            found[f"{seed} {error!r}"] += 1
        file.unlink(missing_ok=True)
    return found


def test_some_mutations_are_refused_or_change_nothing(whole: Path, tmp_path: Path) -> None:
    found = outcomes(whole, tmp_path, range(25))
    assert set(found) == {"refused", "same"}
    assert found["refused"] > 5


@pytest.mark.crash
@pytest.mark.parametrize("flags", [(), ("-O",)], ids=["plain", "optimized"])
def test_a_thousand_mutations_are_refused_or_change_nothing(whole: Path, tmp_path: Path, flags: tuple[str]) -> None:
    code = "import sys; from pathlib import Path; from test_saver_damage import outcomes\n"
    code += "print(sorted(outcomes(Path(sys.argv[1]), Path(sys.argv[2]), range(1000)).items()))"
    command = [sys.executable, *flags, "-c", code, str(whole), str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    found = dict(eval(done.stdout)) if done.returncode == 0 else {done.stderr: 1}
    assert set(found) == {"refused", "same"}
    assert sum(found.values()) == 1000


@pytest.mark.parametrize("content", [b"", b"hello, this is a letter " * 300, b"SQLite format 3\0"])
async def test_what_is_no_file_of_conversations_is_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "talk.sqlite"
    file.write_bytes(content)
    with pytest.raises(DamagedConversations, match=r"talk\.sqlite .*move it away"):
        await everything(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("PRAGMA application_id = 7", "belongs to another program"),
        ("PRAGMA application_id = 0", "belongs to another program"),
        ("PRAGMA user_version = 3", "newer version of dramaturg"),
        ("PRAGMA user_version = 0", "other tables"),
        ("DROP INDEX children", "other tables"),
        ("CREATE TRIGGER t AFTER INSERT ON lines BEGIN DELETE FROM messages; END", "other tables"),
        ("DELETE FROM checkpoints WHERE sequence = 24", "lacks rows"),
        ("DELETE FROM checkpoints WHERE sequence = 17", "lacks rows"),
        ("DELETE FROM said WHERE message = 3", "lacks rows"),
        ("UPDATE lines SET head = head - 1", "lacks rows"),
        ("DELETE FROM messages WHERE key = 30", "lacks messages"),
        ("DELETE FROM messages WHERE type LIKE 'mapping%'", "lacks messages"),
        ("UPDATE messages SET type = 'msgpack+zlib' WHERE type LIKE 'mapping%'", "not what was written"),
        ("UPDATE checkpoints SET metadata = '{\"step\":9}' WHERE sequence = 5", "not what was written"),
        ("UPDATE checkpoints SET checkpoint_id = 'x' WHERE sequence = 5", "not what was written"),
        ("UPDATE checkpoints SET parent = 2 WHERE sequence = 5", "not what was written"),
        ("UPDATE checkpoints SET message_keys = '[[1,2]]' WHERE sequence = 5", "not what was written"),
        ("UPDATE messages SET message = (SELECT message FROM messages WHERE key = 1) WHERE key = 5", "not what was"),
        ("UPDATE messages SET line = 2 WHERE key = 5", "not what was written"),
        ("UPDATE writes SET value = x'05'", "not what was written"),
        ("UPDATE lines SET thread_id = 'night' WHERE key = 1", "not what was written"),
    ],
)
async def test_a_lost_or_changed_row_is_found(file: Path, change: str, reason: str) -> None:
    with sqlite3.connect(file, isolation_level=None) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(DamagedConversations, match=reason):
        await everything(file)


async def test_a_row_that_is_lost_while_the_file_is_open_is_found(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        with sqlite3.connect(file) as connection:
            connection.execute("DELETE FROM checkpoints WHERE sequence IN (7, 24)")
        connection.close()
        with pytest.raises(DamagedConversations, match="lacks a checkpoint"):
            await saver.asteps("evening")
        with pytest.raises(DamagedConversations, match="lacks a checkpoint"):
            await saver.aget_tuple(at("morning"))


def forge(file: Path, kind: str, blob: bytes) -> None:
    """Put a value into the newest checkpoint of the evening, with a checksum that fits."""
    with sqlite3.connect(file) as connection:
        where = "WHERE sequence = 12"
        select = f"SELECT key, checkpoint_id, metadata FROM checkpoints {where}"
        seal = checksum(*connection.execute(select).fetchone(), kind, blob)
        connection.execute(f"UPDATE checkpoints SET type = ?, checkpoint = ?, checksum = ? {where}", (kind, blob, seal))
    connection.close()


def call(module: str, name: str, argument: Any, code: int = 0) -> ormsgpack.Ext:
    """What LangGraph's serializer turns into a call of the function."""
    return ormsgpack.Ext(code, ormsgpack.packb((module, name, argument, "model_validate_json")))


def forgeries(marker: Path) -> dict[str, tuple[str, bytes]]:
    command = f"touch '{marker}'"
    lc = json.dumps({"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [command]})
    nested = ormsgpack.packb({"id": "x", "channel_values": {"a": [call("os", "system", command)]}})
    return {
        "a call": ("msgpack", ormsgpack.packb(call("os", "system", command))),
        "a nested call": ("msgpack", nested),
        "a call of a method": ("msgpack", ormsgpack.packb(call("os", "system", command, code=3))),
        "JSON that constructs": ("json", lc.encode()),
        "a pickle": ("pickle", b"cos\nsystem\n(V" + command.encode() + b"\ntR."),
        "no kind": ("", b""),
        "no value": ("msgpack", b"\xc1"),
        "deep nesting": ("msgpack", b"\x91" * 100_000 + b"\x01"),
        "not a checkpoint": ("msgpack", ormsgpack.packb([1, 2])),
    }


@pytest.mark.parametrize("forgery", sorted(forgeries(Path("marker"))))
async def test_a_forged_row_runs_nothing(file: Path, tmp_path: Path, forgery: str) -> None:
    marker = tmp_path / "ran"
    forge(file, *forgeries(marker)[forgery])
    with pytest.raises(DamagedConversations, match=r"talk\.sqlite holds a"):
        await everything(file)
    assert not marker.exists()


@pytest.mark.parametrize("forgery", ["a call", "no value", "deep nesting", "not a checkpoint"])
async def test_a_forged_entry_runs_nothing(file: Path, tmp_path: Path, forgery: str) -> None:
    marker = tmp_path / "ran"
    blob = forgeries(marker)[forgery][1]
    with sqlite3.connect(file) as connection:
        where = "WHERE key = (SELECT max(key) FROM messages WHERE type LIKE 'mapping%')"
        row = connection.execute(f"SELECT key, line, message_id, hash FROM messages {where}").fetchone()
        change = f"UPDATE messages SET type = 'mapping', message = ?, checksum = ? {where}"
        connection.execute(change, (blob, checksum(*row, "mapping", blob)))
    connection.close()
    with pytest.raises(DamagedConversations, match=r"talk\.sqlite holds a"):
        await everything(file)
    assert not marker.exists()


def test_a_forged_row_runs_nothing_without_the_variable_either(file: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    forge(file, *forgeries(marker)["a nested call"])
    code = """
        import asyncio, sys
        from pathlib import Path
        from langgraph.checkpoint.serde import _msgpack
        from dramaturg.stores.saver.conversation_saver import ConversationSaver
        async def main():
            async with ConversationSaver.open(Path(sys.argv[1])) as saver:
                await saver.aget_tuple({"configurable": {"thread_id": "evening"}})
        print(_msgpack.STRICT_MSGPACK_ENABLED, flush=True)
        asyncio.run(main())
    """
    environment = {name: value for name, value in os.environ.items() if name != "LANGGRAPH_STRICT_MSGPACK"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(file)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "False\n"
    assert "DamagedConversations" in done.stderr
    assert not marker.exists()


@pytest.mark.crash
async def test_a_row_that_expands_without_bound_is_refused(file: Path) -> None:
    press = zlib.compressobj(level=9)
    bomb = b"".join(press.compress(b"\0" * LARGEST) for _ in range(2)) + press.flush()
    assert len(bomb) < LARGEST / 500
    forge(file, "bytes+zlib", bomb)
    tracemalloc.start()
    with pytest.raises(DamagedConversations, match="cannot be loaded"):
        await everything(file)
    assert tracemalloc.get_traced_memory()[1] < 2.5 * LARGEST
    tracemalloc.stop()


def journal_of(file: Path) -> bytes:
    """Return the rollback journal of a program that is killed in the middle of a turn."""
    code = """
        import asyncio, os, sys
        from pathlib import Path
        from test_saver_damage import at, ConversationSaver
        from dramaturg.stores.saver import rows as saver_rows
        async def main():
            async with ConversationSaver.open(Path(sys.argv[1])) as saver:
                def killed(connection, line):
                    connection.execute("PRAGMA cache_spill = 1")
                    connection.execute("PRAGMA cache_size = 1")
                    for row in connection.execute("SELECT key FROM messages").fetchall():
                        connection.execute("UPDATE messages SET message = zeroblob(5000) WHERE key = ?", row)
                    os._exit(9)
                saver_rows.save_line = killed
                await saver.aput(at("evening"), {"id": "x", "channel_values": {}}, {}, {})
        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(file)]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
    return file.with_name(file.name + "-journal").read_bytes()


@pytest.mark.crash
def test_a_damaged_journal_of_a_killed_program_loses_no_turn_silently(whole: Path, file: Path) -> None:
    expected = asyncio.run(everything(whole))
    journal, half = journal_of(file), file.read_bytes()
    assert half != whole.read_bytes()
    assert asyncio.run(everything(file)) == expected
    found = Counter[str]()
    for seed in range(150):
        file.write_bytes(half)
        file.with_name(file.name + "-journal").write_bytes(mutation(journal, seed))
        try:
            found["same" if asyncio.run(everything(file)) == expected else f"WRONG {seed}"] += 1
        except DamagedConversations:
            found["refused"] += 1
    assert set(found) == {"refused", "same"}
