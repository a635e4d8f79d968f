"""What a turn and a list of talks read again: the role once, and of a long talk no more than of a short one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.nodes import run
from dramaturg.stores.saver import entries

from fakes import ScriptedChatModel
from roles import said
from served_roles import Screen, served

SHORT, LONG = 8, 20  # turns; the window of the first is full


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many messages are decoded, one number a reading."""
    found, revived = list[int](), entries._revived

    def counted(serializer: Any, line: int, rows: Any) -> dict[int, Any]:
        found.append(len(rows))
        return revived(serializer, line, rows)

    monkeypatch.setattr(entries, "_revived", counted)
    return found


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_late_turn_reads_no_more_messages_than_an_early_one(
    tmp_path: Path, decoded: list[int], keeps: bool
) -> None:
    how: Any = {"method": "vanilla", "settings": {"window": 4, "summary_tokens": 0}}
    async with served(tmp_path, **how) as http:
        screen = Screen(http, headers=False)  # it keeps the whole talk, and names no thread
        read = list[int]()
        for number in range(LONG):
            decoded.clear()
            if keeps:
                await screen.say(f"And {number}?")
            else:
                asked = [{"role": "user", "content": f"And {number}?"}]
                body = {"model": "ada", "messages": asked, "metadata": {"thread_id": "tea"}}
                (await http.post("/v1/chat/completions", json=body)).raise_for_status()
            read.append(sum(decoded))
    assert read[SHORT:] == read[SHORT:][:1] * (LONG - SHORT)


async def test_a_list_reads_of_a_long_talk_its_ends_and_a_search_what_it_finds(
    tmp_path: Path, decoded: list[int]
) -> None:
    async with served(tmp_path, method="vanilla") as http:
        for thread, turns in (("short", 2), ("long", LONG)):
            for number in range(turns):
                asked = [{"role": "user", "content": f"And {number}?"}]
                body = {"model": "ada", "messages": asked, "metadata": {"thread_id": thread}}
                (await http.post("/v1/chat/completions", json=body)).raise_for_status()
        read = dict[str, int]()
        for words in ("", "nothing", f"{LONG - 1}?"):
            decoded.clear()
            (await http.get("/v1/threads", params={"search": words})).raise_for_status()
            read[words] = sum(decoded)
    assert read[""] == read["nothing"] < LONG
    assert read[f"{LONG - 1}?"] == read[""] + 2 * LONG


async def test_a_request_opens_its_role_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, open_role = list[str](), run.open_role

    def counted(role: str, library: Any) -> Any:
        opened.append(role)
        return open_role(role, library)

    monkeypatch.setattr(run, "open_role", counted)
    async with served(tmp_path, method="vanilla") as http:
        screen = Screen(http, "tea", greeting="Hello.")
        for number in range(3):
            opened.clear()
            await screen.say(f"And {number}?")
            assert opened == ["ada"]


async def test_a_card_that_is_edited_is_that_of_the_next_request(tmp_path: Path) -> None:
    def named(messages: list[BaseMessage]) -> str:
        return "I am Ida." if "Ida" in said(messages) else "I am Ada."

    async with served(tmp_path, ScriptedChatModel(reply=named), method="vanilla") as http:
        screen, card = Screen(http, "tea"), tmp_path / "library" / "ada" / "role.yaml"
        assert await screen.say("Who are you?") == "I am Ada."
        card.write_text(card.read_text().replace("Ada", "Ida"))
        assert await screen.say("Who are you now?") == "I am Ida."
