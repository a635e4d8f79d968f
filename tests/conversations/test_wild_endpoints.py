"""Every method with the servers and models that people have, at all doors: an answer in the role's words, or why not.

A server that refuses something costs a turn two questions more at the most, and the next turn none; see
`tests/support/wild_endpoint.py` for the ways in which servers and models behave.
"""

import asyncio
import io
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest
from all_methods import whole_role
from wild_endpoint import THOUGHT, WAYS, WildEndpoint, wild_endpoint

from dramaturg.cli.app import main
from dramaturg.conversations.opening import open_conversation
from dramaturg.models.servers import connections
from dramaturg.stores.library import library_at
from dramaturg.workflows.methods import METHODS, flow

from fault_server import SECRET
from served_roles import served

QUESTION = "Do storms make you afraid, and what does Tom say of it?"
SETTINGS: dict[str, float] = {"deadline": 3600, "turn_deadline": 3600}
TWO = [
    ("temperature", "think"),
    ("max_completion_tokens", "system"),
    ("stream", "single quotes"),
    ("temperature", "stop"),
    ("response_format", "think, unopened"),
    ("stream_options", "for others"),
    ("no base64", "batches of 1"),
]
"""Of two ways at once."""
MORE = {"unknown fields": 1, "batches of 1": 4, "temperature, unnamed": 1, "choices empty": 2}
"""Requests more than two of methods that ask for several texts' vectors, or in more ways than AMADEUS; where nothing is
answered, an identity is looked up by its vectors instead."""
RECIPES = [
    tuple(re.findall("`([^`]+)`", line))
    for page in sorted((Path(__file__).parents[2] / "docs" / "how-to" / "models").glob("*.md"))
    for line in page.read_text(encoding="utf-8").splitlines()
    if line.startswith("Tested with: ")
]
"""What the pages of servers say that they are tested with."""
EVERY = list(dict.fromkeys([*((name,) for name in WAYS), *TWO, *RECIPES]))

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")


class House(NamedTuple):
    """A library whose role is indexed with a good server, which may behave otherwise after that."""

    library: Path
    endpoint: WildEndpoint
    good: dict[str, tuple[str, list[int]]]
    """By method: the reply of a good server, and how many questions its first two turns are."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    library = tmp_path_factory.mktemp("library")
    whole_role(library)
    with pytest.MonkeyPatch.context() as patch, wild_endpoint() as endpoint:
        patch.setattr(connections, "RETRIES", 0)
        yield House(library, endpoint, {})


@pytest.fixture(autouse=True)
def there(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**house.endpoint.variables(), "DRAMATURG_LIBRARY": str(house.library)}.items():
        monkeypatch.setenv(name, value)


def by_conversation(house: House, method: str, thread: str) -> str:
    """Take a turn in process; what is said, or the error."""

    async def turn() -> str:
        context = flow(method).context(role="ada", library=str(house.library), **SETTINGS)
        async with open_conversation(method, context, thread) as talk:
            return str((await talk.take_turn(QUESTION))["messages"][-1].text)

    try:
        return asyncio.run(turn())
    except (ValueError, RuntimeError) as error:
        return f"failed: {error}"


def by_command(house: House, method: str, thread: str) -> str:
    """Take a turn in a chat; the reply, or all that is printed of it."""
    lines, said = iter([QUESTION, "/quit"]), io.StringIO()
    options = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.setattr("rich.console.Console.input", lambda *_: next(lines))
        patch.setattr(sys, "argv", ["dramaturg", "chat", "ada", "--method", method, "--thread", thread, *options])
        with suppress(SystemExit):
            main()
    printed = " ".join(said.getvalue().split())
    reply = house.good[method][0]
    return reply if reply in printed and "/retry" not in printed else f"failed: {printed}"


def by_server(house: House, method: str, _: str) -> str:
    """Take a turn as a client of `dramaturg serve`; what is said, or the error."""

    async def turn() -> str:
        own = {"chat_model": "auto", "embedding_model": "auto", **SETTINGS}
        async with served(house.library.parent, library=library_at(house.library), method=method, settings=own) as http:
            said = {"model": "ada", "messages": [{"role": "user", "content": QUESTION}]}
            answer = (await http.post("/v1/chat/completions", json=said)).json()
        return str(answer["choices"][0]["message"]["content"]) if "choices" in answer else f"failed: {answer}"

    return asyncio.run(turn())


DOORS = {"api": by_conversation, "command": by_command, "server": by_server}


def two_turns(house: House, method: str, door: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[int]]:
    """Two turns of a new talk with a server that is not known: what is said, and how many questions they are."""
    monkeypatch.setenv("DRAMATURG_CACHE", str(house.library.parent / f"cache {uuid4()}"))
    thread, said, asked = f"{door} {uuid4()}", list[str](), list[int]()
    for _ in range(2):
        house.endpoint.asked.clear()
        said.append(DOORS[door](house, method, thread))
        asked.append(len(house.endpoint.asked))
        assert THOUGHT[:20] not in str(house.endpoint.asked)  # of a model's: never again in what it is asked
    return said, asked


def problem(house: House, method: str, ways: tuple[str, ...], door: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is wrong with two turns of a method with a server of these ways; empty: nothing."""
    if method not in house.good:
        house.endpoint.ways = "good"
        by_conversation(house, method, str(uuid4()))  # which indexes
        said, asked = two_turns(house, method, "api", monkeypatch)
        house.good[method] = said[0], asked
    good, usual = house.good[method]
    house.endpoint.ways = ways
    said, asked = two_turns(house, method, door, monkeypatch)
    if any(THOUGHT[:20] in one or SECRET in one or "Traceback" in one for one in said):
        return f"it tells {said}"
    others = sum(MORE.get(name, 0) for name in ways) if method != "amadeus" else 0
    more = max(2, len(ways)) + others, others
    if any(one.startswith("failed: ") for one in said):
        fails = house.endpoint.expect == "fails" or any("front of the prompt" in WAYS[name].who for name in ways)
        if not fails or "The" not in said[0]:
            return f"it says {said}"
        more = 2 + others, 2  # there is nothing to learn: a filter lets other prompts pass
    elif said != [good, good]:
        return f"it says {said}, and not {good!r}"
    if any(one > a_good_one + few for one, a_good_one, few in zip(asked, usual, more, strict=True)):
        return f"it asks {asked}, and a good server {usual}"
    return ""


@pytest.mark.sample(12)
@pytest.mark.parametrize("ways", EVERY, ids=" and ".join)
def test_amadeus_answers_in_the_words_of_the_role(
    house: House, ways: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert problem(house, "amadeus", ways, "api", monkeypatch) == ""


@pytest.mark.crash
@pytest.mark.parametrize("ways", EVERY, ids=" and ".join)
def test_every_method_at_one_of_the_doors(house: House, ways: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {}
    for number, method in enumerate(METHODS):
        door = [*DOORS][(number + EVERY.index(ways)) % len(DOORS)]
        if found := problem(house, method, ways, door, monkeypatch):
            wrong[method, door] = found
    assert wrong == {}
