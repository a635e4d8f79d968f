"""What a look-up in the memory of talks costs in a store of a million turns, beside the same in a small one.

Somebody has 20 talks of 100 turns with a role. Where that is all, the store is small; in the large one 500 others have
10,000 talks of 100 turns, whose rows are copied by SQL from one talk. In both, and in our file as in Postgres, the same
is asked in turns: a look-up as a turn does it, in this talk and the user's 19 others, with everything in memory, after
one of the others has gone on, and by a process that has read nothing yet; keeping one more turn; and who else has had
this talk, which forgetting asks.

A turn has 600 characters and a vector of 384 numbers. Given are the least of the processor of this process and of the
wall, to both of which others on the machine only add: a database works in a process of its own. Then one talk grows
and is looked up in, and Postgres's own searches, by words and by vectors, are asked the same.

Run: python benchmarks/talk_memory.py [--talks 10000] [--longest 10000] [--rounds 9] [--write]
"""

import argparse
import asyncio
import gc
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import page
import psycopg
from capacity import server
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from rich.console import Console
from rich.table import Table

from dramaturg.conversations.opening import kept_in
from dramaturg.nodes.talk.index import passages_in
from dramaturg.nodes.talk.memory import Told, looked_up, told_before
from dramaturg.stores.conversations.item_store import ItemStore, connect
from dramaturg.stores.conversations.talk import HEADS, ROOT, USERS, TalkRecords, TalksOf
from dramaturg.stores.files import sha256
from dramaturg.stores.index.vectors import unit_rows

ROLE, USER, OTHERS = "ada", "mira", 500
TALKS, TURNS = 20, 100  # of the user
HALF = 300  # characters of a question, and of a reply
ENDS = [f"{one}{two}{three}" for one in "nprst" for two in "aeiou" for three in ("", "l", "n", "r")]
WORDS = [f"{one}{two}{end}" for one in "bdfgklm" for two in "aeiou" for end in ENDS]
ODDS = [1 / place for place in range(1, len(WORDS) + 1)]
EMBEDDING, DIMENSION = "random", 384
AT = [100, 1_000, 10_000]
console = Console(width=160)
made = random.Random(7)
vectors = np.random.default_rng(7)


class Spent(NamedTuple):
    """Milliseconds of a call."""

    processor: float
    wall: float


def speech(length: int) -> str:
    """Words of so many characters in all, some often and most seldom, as in any language."""
    return " ".join(made.choices(WORDS, ODDS, k=length // 5))[:length].strip()


def meaning() -> Any:
    """A direction, shape (d,)."""
    return unit_rows(vectors.normal(size=(1, DIMENSION)))[0].astype(np.float32)


def turns_of(begin: int, number: int) -> list[HumanMessage | AIMessage]:
    """The messages of so many turns."""
    return [
        message
        for at in range(begin, begin + number)
        for message in (HumanMessage(speech(HALF), id=f"q{at}"), AIMessage(speech(HALF), id=f"a{at}"))
    ]


async def talk_in(store: BaseStore, thread: str, turns: int) -> str:
    """Have a talk with its meanings, as a turn keeps them, and give its head."""
    kept, head = TalkRecords(store, ROLE, thread), ""
    for begin in range(0, turns, 1000):
        head = await kept.extended(head, turns_of(begin, min(1000, turns - begin)))
    records = await kept.branch(head)
    await kept.save(
        one.embedded(EMBEDDING, unit_rows(vectors.normal(size=(len(passages_in(one)), DIMENSION)))) for one in records
    )
    await TalksOf(store, ROLE, USER).note(thread, head)
    return head


class Place(NamedTuple):
    """Where a store is: how it is opened, as by a process of its own, and how it is filled and measured."""

    name: str
    opened: Callable[[], BaseStore]
    filled: Callable[[str, list[str], list[str]], None]
    bytes: Callable[[], int]


def file_at(path: Path) -> Place:
    """A file of ours."""

    def filled(source: str, talks: list[str], users: list[str]) -> None:
        connection = connect(path)
        connection.execute("BEGIN IMMEDIATE")
        copy = "INSERT INTO items (namespace, key, created, updated, value) SELECT ?, key, created, updated, value "
        for user, talk in zip(users, talks, strict=True):
            connection.execute(f"{copy} FROM items WHERE namespace = ?", (f"{ROOT}.{talk}.", f"{ROOT}.{source}."))
            for space, key in ((f"{HEADS}.{user}.", talk[:32]), (f"{USERS}.{talk}.", user)):
                connection.execute("INSERT INTO items VALUES (NULL, ?, ?, 0, 0, ?)", (space, key, b'{"thread":"one"}'))
        connection.execute("COMMIT")
        connection.close()

    return Place("our file", lambda: ItemStore(path), filled, lambda: path.stat().st_size)


def database_at(address: str, pool: Any) -> Place:
    """A database of Postgres."""

    def filled(source: str, talks: list[str], users: list[str]) -> None:
        with psycopg.connect(address, autocommit=True) as session:
            for at in range(0, len(talks), 1000):
                some, of = talks[at : at + 1000], users[at : at + 1000]
                session.execute(
                    "INSERT INTO store (prefix, key, value) SELECT %s || talk, key, value FROM store, "
                    "unnest(%s::text[]) AS talk WHERE prefix = %s",
                    [f"{ROOT}.", some, f"{ROOT}.{source}"],
                )
                for space, one, key in ((HEADS, of, [name[:32] for name in some]), (USERS, some, of)):
                    session.execute(
                        'INSERT INTO store (prefix, key, value) SELECT %s || name, key, \'{"thread":"one"}\' '
                        "FROM unnest(%s::text[], %s::text[]) AS given (name, key)",
                        [f"{space}.", one, key],
                    )
            session.execute("VACUUM ANALYZE store")

    def size() -> int:
        with psycopg.connect(address) as session:
            return int((session.execute("SELECT pg_total_relation_size('store')").fetchone() or (0,))[0])

    return Place("Postgres", lambda: AsyncPostgresStore(pool), filled, size)


async def spent(call: Callable[[], Awaitable[Any]]) -> Spent:
    """What one call costs."""
    processor, wall = time.process_time(), time.perf_counter()
    await call()
    return Spent(1000 * (time.process_time() - processor), 1000 * (time.perf_counter() - wall))


def least(several: Sequence[Spent]) -> Spent:
    """The least of each: others on the machine only add to it."""
    return Spent(*map(min, zip(*several, strict=True)))


class Talk:
    """What is asked of one store."""

    def __init__(self, place: Place, heads: list[str]) -> None:
        self.place, self.heads, self.store, self.kept_turns = place, heads, place.opened(), TURNS
        self.gone_on = 0

    async def look_up(self, store: BaseStore) -> None:
        """Find what a question speaks of, in this talk and the user's others."""
        kept, head = TalkRecords(store, ROLE, "0"), self.heads[0]
        own: Any = SimpleNamespace(known_as=USER)
        talk = await kept.read(head)
        parts = await told_before(kept, talk, {"talk_head": head, "messages": []}, own)
        assert [one.until for one in parts] == [TURNS, (TALKS - 1) * TURNS + self.gone_on]
        for one in parts:
            one.index.lacking(EMBEDDING, one.until)
            assert await asyncio.to_thread(looked_up, one, [speech(60)], [meaning()])

    async def keep(self) -> None:
        """Keep one more turn of another talk."""
        kept, new = TalkRecords(self.store, ROLE, "1"), turns_of(self.kept_turns, 1)
        self.heads[1], self.kept_turns = await kept.extended(self.heads[1], new), self.kept_turns + 1

    async def go_on(self) -> None:
        """Say something more in another talk."""
        kept, new = TalkRecords(self.store, ROLE, "2"), turns_of(TURNS + self.gone_on, 1)
        self.heads[2], self.gone_on = await kept.extended(self.heads[2], new), self.gone_on + 1
        await TalksOf(self.store, ROLE, USER).note("2", self.heads[2])

    async def asked(self) -> dict[str, Spent]:
        """Each thing once, in this store."""
        gc.collect()  # what was read before goes with its store
        first = await spent(lambda: self.look_up(self.place.opened()))
        same = await spent(lambda: self.look_up(self.store))
        await self.go_on()
        return {
            "look-up, first of a process": first,
            "look-up": same,
            "look-up, after another talk has gone on": await spent(lambda: self.look_up(self.store)),
            "a turn is kept": await spent(self.keep),
            "who else has had it": await spent(TalkRecords(self.store, ROLE, "0").beside),
        }


async def compare(small: Place, large: Place, talks: int, rounds: int) -> tuple[Table, float]:
    """A small store beside a large one; with the bytes that a turn takes."""
    both = list[Talk]()
    for place in (small, large):
        store = place.opened()
        both.append(Talk(place, [await talk_in(store, str(at), TURNS) for at in range(TALKS)]))
    before, began = large.bytes(), time.perf_counter()
    names = [sha256(f"{at}".encode()) for at in range(talks)]
    users = [sha256(f"user {at % OTHERS}".encode()) for at in range(talks)]
    large.filled(TalkRecords(both[1].store, ROLE, "0").namespace[1], names, users)
    a_turn = (large.bytes() - before) / (talks * TURNS)
    console.print(
        f"{large.name}: {talks * TURNS:,} turns in {time.perf_counter() - began:.0f} s, {a_turn:,.0f} bytes each"
    )
    found = list[tuple[dict[str, Spent], dict[str, Spent]]]()
    for _ in range(rounds + 1):
        found.append((await both[0].asked(), await both[1].asked()))
    table = Table(
        "", "processor ms, small", "large", "times", "wall ms, small", "large", "times", title=f"A store, {large.name}"
    )
    for what in found[0][0]:
        here, there = (least([one[side][what] for one in found[1:]]) for side in (0, 1))
        cells = [(f"{one:.2f}", f"{two:.2f}", f"{two / one:.2f}") for one, two in zip(here, there, strict=True)]
        table.add_row(what, *cells[0], *cells[1])
    return table, a_turn


class Long:
    """One talk of many turns, opened by a process of its own."""

    def __init__(self, store: BaseStore, turns: int, head: str) -> None:
        self.kept, self.head, self.parts = TalkRecords(store, ROLE, f"of {turns}"), head, list[Told]()

    async def read(self) -> None:
        """Have what there is to look at."""
        own: Any = SimpleNamespace(known_as="somebody")
        talk = await self.kept.read(self.head)
        self.parts = await told_before(self.kept, talk, {"talk_head": self.head, "messages": []}, own)
        self.parts[0].index.lacking(EMBEDDING, self.parts[0].until)

    async def look_up(self, words: str, vector: Any) -> None:
        """Find something again."""
        await self.read()
        assert await asyncio.to_thread(looked_up, self.parts[0], [words], [vector])


async def one_talk(place: Place, rounds: int, longest: int) -> Table:
    """One talk that grows."""
    table = Table(
        "turns",
        "processor ms",
        "by words alone",
        "wall ms",
        "processor ms, first of a process",
        title="One talk, in the large store of Postgres",
    )
    for turns in [*(one for one in AT if one < longest), longest]:
        talk = Long(place.opened(), turns, await talk_in(place.opened(), f"of {turns}", turns))
        read, both, alone = await spent(talk.read), list[Spent](), list[Spent]()
        for _ in range(rounds + 1):
            words, vector = speech(60), meaning()
            both.append(await spent(partial(talk.look_up, words, vector)))
            alone.append(await spent(partial(talk.look_up, words, None)))
        here, by_words = least(both[1:]), least(alone[1:])
        numbers = here.processor, by_words.processor, here.wall
        table.add_row(f"{turns:,}", *(f"{one:.2f}" for one in numbers), f"{read.processor:,.0f}")
    return table


def by_postgres(address: str, longest: int, rounds: int) -> Table:
    """Postgres's own searches in the longest talk: by words with an index of all talks, by meaning without one."""
    prefix = f"{ROOT}.{TalkRecords(InMemoryStore(), ROLE, f'of {longest}').namespace[1]}"
    said = "to_tsvector('simple', jsonb_path_query_array(value, '$.said[*].text'))"
    table = Table("search", "ms, wall", "bytes a turn", "built in s", title="By Postgres, in the longest talk")

    def timed(session: Any, query: str, given: Callable[[], list[Any]]) -> str:
        took = list[float]()
        for _ in range(rounds + 1):
            values, began = given(), time.perf_counter()
            session.execute(query.encode(), values).fetchall()
            took.append(1000 * (time.perf_counter() - began))
        return f"{min(took[1:]):,.1f}"

    def words() -> list[Any]:
        return [" | ".join(dict.fromkeys(speech(60).split())), prefix]

    with psycopg.connect(address, autocommit=True) as session:
        began = time.perf_counter()
        session.execute(f"CREATE INDEX said_words ON store USING gin ({said})".encode())
        built = time.perf_counter() - began
        session.execute("VACUUM ANALYZE store")
        (size,) = session.execute("SELECT pg_relation_size('said_words')").fetchone() or (0,)
        (rows,) = session.execute("SELECT count(*) FROM store").fetchone() or (1,)
        query = (
            f"SELECT key, ts_rank({said}, q) FROM store, to_tsquery('simple', %s) q WHERE prefix = %s AND {said} @@ q "
            "ORDER BY 2 DESC LIMIT 24"
        )
        table.add_row("full text", timed(session, query, words), f"{size / rows:,.0f}", f"{built:,.0f}")
        if not session.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
            table.add_row("pgvector is not part of this Postgres", "", "", "")
            return table
        session.execute("CREATE EXTENSION vector")
        session.execute(f"CREATE TABLE meanings (prefix text, key text, meant halfvec({DIMENSION}))".encode())
        began = time.perf_counter()
        with session.cursor().copy("COPY meanings FROM STDIN") as rows_of:
            for at in range(longest):
                rows_of.write_row((prefix, str(at), str(meaning().round(4).tolist())))
        session.execute("CREATE INDEX ON meanings (prefix)")
        session.execute("VACUUM ANALYZE meanings")
        built = time.perf_counter() - began
        (size,) = session.execute("SELECT pg_total_relation_size('meanings')").fetchone() or (0,)
        query = "SELECT key FROM meanings WHERE prefix = %s ORDER BY meant <=> %s::halfvec LIMIT 24"
        took = timed(session, query, lambda: [prefix, str(meaning().tolist())])
        table.add_row("pgvector, all of the talk", took, f"{size / longest:,.0f}", f"{built:,.0f}")
    return table


async def measure(given: argparse.Namespace) -> list[Table]:
    """Fill, compare, and print."""
    tables, sizes = list[Table](), Table("", "bytes a turn", title="On disk")
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dramaturg-talks-")))
        table, size = await compare(
            file_at(folder / "small.sqlite"), file_at(folder / "large.sqlite"), given.talks, given.rounds
        )
        console.print(table)
        tables.append(table)
        sizes.add_row("our file", f"{size:,.0f}")
        address = stack.enter_context(server())
        places = list[tuple[str, Place]]()
        for name in ("small", "large"):
            with psycopg.connect(address, autocommit=True) as admin:
                admin.execute(f"CREATE DATABASE {name}".encode())
            head, _, query = address.partition("?")
            own = f"{head.rpartition('/')[0]}/{name}?{query}"
            _, store = await stack.enter_async_context(kept_in(own))
            assert isinstance(store, AsyncPostgresStore)
            places.append((own, database_at(own, store.conn)))
        table, size = await compare(places[0][1], places[1][1], given.talks, given.rounds)
        console.print(table)
        tables.append(table)
        sizes.add_row("Postgres", f"{size:,.0f}")
        table = await one_talk(places[1][1], given.rounds, given.longest)
        console.print(table, sizes)
        tables += [table, sizes, await asyncio.to_thread(by_postgres, places[1][0], given.longest, given.rounds)]
        console.print(tables[-1])
    return tables


def main() -> None:
    """Measure, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--talks", type=int, default=10_000)
    parser.add_argument("--longest", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    tables = asyncio.run(measure(given))
    if given.write:
        how = (
            f"`python benchmarks/talk_memory.py --talks {given.talks} --longest {given.longest} "
            f"--rounds {given.rounds}`: {page.machine('langgraph', 'psycopg')}."
        )
        page.put("talk_memory", "\n\n".join([how, *map(page.markdown, tables)]))


if __name__ == "__main__":
    main()
