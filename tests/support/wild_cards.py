"""Ten characters, written for the tests as people write them in the wild, and what compares two cards."""

import base64
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.png import blank, with_texts

BOOK_OF_HUNDRED = {
    "name": "Harbour",
    "scan_depth": 4,
    "extensions": {"risu_fullWordMatching": False},
    "entries": [
        {
            "id": number,
            "keys": [f"berth {number}", f"B{number}"],
            "secondary_keys": [],
            "content": f"At berth {number} lies the Swift-{number}, whose captain is called Captain {number}.",
            "extensions": {"position": 4, "probability": 100, "foreign": {"kept": [number, None, True]}},
            "enabled": number % 10 != 9,
            "constant": number == 0,
            "insertion_order": 100 - number,
            "comment": f"berth {number}",
        }
        for number in range(100)
    ],
}


def v2(**data: Any) -> dict[str, Any]:
    """A V2 card with what is given."""
    needed = dict.fromkeys(
        ("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt",
         "post_history_instructions", "creator", "character_version"), ""
    )  # fmt: skip
    whole = {**needed, "alternate_greetings": [], "tags": [], "extensions": {}, **data}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": whole}


def v3(**data: Any) -> dict[str, Any]:
    """A V3 card with what is given."""
    whole = {**v2(**data)["data"], "group_only_greetings": data.get("group_only_greetings", [])}
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": whole}


def book(*entries: dict[str, Any]) -> dict[str, Any]:
    """A card's lorebook."""
    return {"entries": list(entries)}


def entry(content: str, *keys: str, **more: Any) -> dict[str, Any]:
    """An entry of one."""
    return {"keys": list(keys), "content": content, "extensions": {}, "enabled": True, "insertion_order": 1, **more}


WILD: Mapping[str, dict[str, Any]] = {
    "w++": v2(
        name="Mira",
        description='[Character("Mira")\n{\nAge("27")\nMind("Curious" + "Blunt")\nJob("{{user}}\'s keeper")\n}]',
        first_mes="*Mira looks up.* You are late, {{user}}.",
        mes_example="<START>\n{{user}}: Who are you?\n{{char}}: Mira. I keep papers.\nAll.\n<START>\n{{char}}: Again?",
        character_book=book(entry("The archive burned in 1902.", "archive")),
    ),
    "plain list": v2(
        name="Old Tom",
        description="Name: Old Tom\nAge: 61\nLikes: gin, quiet\nDislikes: {{random:gulls,geese}}, <USER>'s boots\n",
        personality="gruff; loyal",
        scenario="{{char}} mends nets on the quay.",
        first_mes="Mind the nets.",
        alternate_greetings=["", "Back again?"],
        character_book=book({"keys": "nets, twine", "content": "Nets are tarred in May.", "enabled": True}),
    ),
    "json in a field": v2(
        name="Unit 7",
        description=json.dumps({"name": "Unit 7", "traits": ["precise", "{{char}} never sleeps"]}, indent=2),
        extensions={"depth_prompt": {"prompt": "{{char}} speaks in numbers.", "depth": 4, "role": "system"}},
        first_mes="Unit {{roll:1}} is awake.",
        system_prompt="{{original}}\nWrite as {{char}}. {{getvar::mood}}",
        character_book=book(entry("The core was lit in 2190.", "/unit\\s+7/i", "core", use_regex=True)),
    ),
    "chinese": v3(
        name="林清",
        nickname="阿清",
        description="{{char}}是灯塔的守夜人，住在北岸。\n\n# 往事\n{{char}}曾在海上漂了三年。",
        personality="沉默，温和",
        first_mes="*{{char}}点亮了灯。*你好，{{user}}。",
        mes_example="<START>\n{{user}}：你是谁？\n{{char}}：守灯的人。",
        character_book=book(entry("灯塔建于1871年。", "灯", "灯塔", use_regex=False)),
    ),
    "korean": v3(
        name="한별",
        description="한별은 등대를 지키는 사람이다. 바다를 좋아하고 말이 적다.",
        first_mes="어서 와요, {{user}}.",
        source=["https://example.invalid/han"],
        creation_date=1700000000,
        character_book=book(entry("등대는 1871년에 세워졌다.", "등대", use_regex=False)),
    ),
    "a hundred entries": v2(
        name="Harbour master",
        description="She knows every ship.",
        first_mes="Name your berth.",
        character_book=BOOK_OF_HUNDRED,
    ),
    "markdown": v2(
        name="Edda",
        description="# Edda\n## Life\nBorn in a storm.\n\n## Description\nTall.\n\n```\n# code\n```\r\nEnd.  ",
        first_mes="Come in from the storm.",
        scenario="## Personality\nThat heading is the scenario's.",
        creator_notes="<div style='color:red'>For people.</div>",
        tags=["test", "storm"],
        character_book=book(entry("# Storm\nIt raged for nine days.\n", "storm", name="The storm")),
    ),
    "v1": {
        "name": "Bo",
        "description": "Bo bakes.",
        "personality": "warm",
        "scenario": "A bakery.",
        "first_mes": "Bread?",
        "mes_example": "Bo hums while the oven warms.",
    },
    "pygmalion": {
        "char_name": "Sable",
        "char_persona": "Sable hunts ghosts.",
        "world_scenario": "A foggy town.",
        "char_greeting": "Hush.",
        "example_dialogue": "<START>\nYou: hi\n<BOT>: Hush, I said.",
    },
    "boostyle": v2(
        name="Juno",
        description="Juno = pilot + calm + 34 years; ship = [Kestrel]; {{// not for the role }}fear = silence",
        first_mes="Strap in.",
        post_history_instructions="Stay terse. {{roll:d6}}",
        extensions={"talkativeness": "0.5", "fav": True, "world": None, "x": {"y": {"z": [1, 2.5, -0.0, 1e20, {}]}}},
        character_book=book(
            {"keys": ["Kestrel"], "content": "@@depth 2\n@@@role system\nThe Kestrel was built on Titan."},
            entry("", "Titan"),
            entry("The crew is three.", "crew", enabled=False),
            entry("Juno outranks everybody.", constant=True),
        ),
    ),
}


def png_of(value: Any, word: str = "chara") -> bytes:
    """A PNG that carries a card."""
    return with_texts(blank(), {word: base64.b64encode(dumped(value))})


def chunk(kind: bytes, data: bytes, crc: int | None = None) -> bytes:
    """A part of a PNG, with its checksum or another."""
    right = zlib.crc32(kind + data) if crc is None else crc
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", right)


def lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Each field that is not as it was: what is new is left aside."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name, one in before.items():
            if name not in after:
                yield f"{path}/{name} is gone: {one!r:.80}"
            else:
                yield from lost(one, after[name], f"{path}/{name}")
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple) and len(before) == len(after):
        for at, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from lost(one, other, f"{path}/{at}")
    elif before != after or type(before) is not type(after):
        yield f"{path}: {before!r:.80} → {after!r:.80}"
