"""What other programs read cards with takes what we write; `make clients` brings it."""

import base64
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from chat_clients import CLIENTS, missing
from wild_cards import WILD

from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.cards import Card, as_json, as_png
from dramaturg.stores.formats.characters import card_of, role_of
from dramaturg.stores.formats.png import texts_in
from dramaturg.stores.formats.told import told
from dramaturg.stores.library import Library

CHECK = Path(__file__).parents[2] / "support" / "check_cards.mjs"
READERS = CLIENTS / "card-readers" / "node_modules"


def written(folder: Path, cards: Iterable[Card]) -> list[Path]:
    """Each card as JSON, and as both texts of a PNG."""
    files = []
    for number, card in enumerate(cards):
        texts = texts_in(as_png(card))
        for form, data in (
            ("json", dumped(as_json(card))),
            *((word, base64.b64decode(one)) for word, one in texts.items()),
        ):
            files.append(folder / f"{number}.{form}")
            files[-1].write_bytes(data)
    return files


@pytest.mark.slow
@pytest.mark.skipif(bool(missing("card-readers")), reason=missing("card-readers"))
def test_other_programs_read_every_card_that_is_written(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    for number, value in enumerate(WILD.values()):
        card = told(dumped(value))
        assert isinstance(card, Card)
        library.replace({f"r{number}": role_of(card, "one.json").files})
    library.adopt("silver")  # which was never a card
    files = written(tmp_path, [card_of(library.role(name)) for name in library.roles()])
    command = ["node", str(CHECK), str(READERS), *map(str, files)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout.splitlines()
    versions = [json.loads(file.read_bytes())["spec"][-2:] for file in files]
    assert [json.loads(line) for line in said] == [{"kind": version, "error": None} for version in versions]
    assert len(files) == 3 * (len(WILD) + 1)
