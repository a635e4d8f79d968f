"""What a person has told a role comes back in that person's next chat, and in nobody else's."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dramaturg.server.access import Access
from dramaturg.server.rooms import known_as

from fakes import ScriptedChatModel
from roles import said
from served_roles import served

TOLD = "My sister Wilhelmina keeps a one-eyed tortoise called Zebulon in the cellar."
KEYS = {"alice": "a" * 20, "bob": "b" * 20}
ALICE, BOB = ({"Authorization": f"Bearer {KEYS[name]}"} for name in ("alice", "bob"))
MIRA, TOM = {"X-OpenWebUI-User-Name": "Mira"}, {"X-OpenWebUI-User-Name": "Tom"}


@pytest.mark.parametrize(
    ("who", "same", "others"),
    [
        (ALICE, ALICE, [BOB, ALICE | MIRA]),
        (ALICE | MIRA, ALICE | MIRA, [ALICE | TOM, BOB | MIRA, ALICE]),
    ],
)
async def test_what_one_has_told_comes_back_to_nobody_else(
    tmp_path: Path, who: dict[str, str], same: dict[str, str], others: list[dict[str, str]]
) -> None:
    model = ScriptedChatModel(reply=lambda _: "I see.")
    how: Any = {"method": "vanilla", "model": model, "access": Access(KEYS)}
    async with served(tmp_path, **how) as http:

        async def says(text: str, headers: dict[str, str]) -> str:
            model.calls.clear()
            body = {"model": "ada", "messages": [{"role": "user", "content": text}]}
            (await http.post("/v1/chat/completions", json=body, headers=headers)).raise_for_status()
            return said(model.calls[-1].messages)

        await says(TOLD, who)
        for _ in range(100):  # a reply is heard before its turn is kept
            if TOLD in (shown := await says("What does Wilhelmina keep?", same)):
                break
            await asyncio.sleep(0.05)
        assert TOLD in shown
        for other in others:
            assert "Zebulon" not in await says("What does Wilhelmina keep?", other)


def test_no_name_that_is_given_is_a_key() -> None:
    names = [("alice", ""), ("", "alice"), ("alice", "mira"), ("", "alice/mira"), ("", "alice/")]
    names += [("alice", "m" * 300), ("alice", f"{'m' * 300}i"), ("", "")]
    known = [known_as(*one) for one in names]
    assert len(set(known)) == len(names)
    assert known[-1] == ""
    assert max(map(len, known)) <= 200
