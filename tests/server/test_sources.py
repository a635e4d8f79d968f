"""What a reply rests on, opened where it stands: over HTTP, and on the page in Chromium."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from all_methods import whole_role
from chat_clients import missing
from page_house import page_house

from dramaturg.server.access import Access
from dramaturg.server.sources import A_PART
from dramaturg.stores.library import Library

from roles import LIFE
from served_roles import served

KEYS = {"alice": "a" * 20}
ALICE = {"Authorization": f"Bearer {KEYS['alice']}"}
SMALL: Any = {"settings": {"window": 4, "summary_tokens": 0, "redraws": 0}}
STORM = "The lamp burned all night in the great storm, and I sang to it."


async def source(http: httpx.AsyncClient, name: str, **asked: Any) -> dict[str, Any]:
    answer = await http.get("/v1/roles/ada/source", params={"name": name, **asked})
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_a_passage_is_marked_in_its_document_also_where_that_was_edited(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        begin = LIFE.index("lamp")
        told = await source(http, "life.md", quote="lamp", begin=begin, end=begin + 10)
        assert (told["before"], told["marked"]) == (LIFE[:begin], LIFE[begin : begin + 10])
        assert told["before"] + told["marked"] + told["after"] == LIFE
        (tmp_path / "library" / "ada" / "persona" / "life.md").write_text(f"# New 🐢\n\n{LIFE}")
        moved = await source(http, "life.md", quote=told["marked"], begin=begin, end=begin + 10)
        assert moved["marked"] == told["marked"]
        gone = await source(http, "life.md", quote="It was never there.", begin=begin, end=begin + 10)
        assert (gone["found"], gone["marked"], gone["start"]) == (False, "", 0)


async def test_of_a_book_a_part_is_sent_and_the_others_when_they_are_asked_for(tmp_path: Path) -> None:
    book = "".join(f"The ferry passes buoy {n} at dawn. 🐢\n" for n in range(60_000))
    async with served(tmp_path) as http:
        (tmp_path / "library" / "ada" / "persona" / "book.md").write_text(book)
        told = await source(http, "book.md", quote="The ferry passes buoy 30000 at dawn.")
        assert told["marked"] == "The ferry passes buoy 30000 at dawn."
        assert (told["end"] - told["start"], told["total"]) == (A_PART, len(book))
        before = await source(http, "book.md", to=told["start"])
        after = await source(http, "book.md", **{"from": told["end"]})
        parts = [one["before"] + one["marked"] + one["after"] for one in (before, told, after)]
        assert "".join(parts) == book[told["start"] - A_PART : told["end"] + A_PART]
        for strange in (
            {"from": 10**8 - 1},
            {"from": "x"},
            {"to": 0},
            {"to": "-3"},
            {"begin": 10**8 - 1, "quote": "x" * 9_000},
        ):
            assert len((await source(http, "book.md", **strange))["before"]) <= A_PART


async def test_lines_are_shown_as_people_read_them(tmp_path: Path) -> None:
    whole_role(tmp_path / "library")
    async with served(tmp_path) as http:
        told = await source(http, "dialogues/scenes.jsonl:3–4")
        assert told["marked"] == "Mr Pike: I sold the old lamp.\nAda Quill: You sold my lamp behind my back, thief."
        assert told["before"].endswith("\nold-lamp\n\n")
        memory = await source(http, "memories.jsonl:1")
        assert memory["marked"] == f"1841\n{STORM}"
        assert (await source(http, "memories.jsonl:99"))["found"] is False
        file = tmp_path / "library" / "ada" / "memories.jsonl"
        file.write_text("\n\n" + file.read_text("utf-8"), encoding="utf-8")
        places = [place for place, _ in Library(tmp_path / "library").role("ada").placed_memories()]
        memory = await source(http, places[0])  # as the evidence of a turn names it, whatever blank lines there are
        assert memory["marked"] == f"1841\n{STORM}"


@pytest.mark.parametrize(
    "name",
    ["", "none.md", "../role.yaml", "role.yaml", "/etc/passwd", "role.yaml:1", "../x.jsonl:1", "a\0.md", "turn-1"],
)
async def test_what_is_no_source_is_not_there(tmp_path: Path, name: str) -> None:
    async with served(tmp_path) as http:
        assert (await http.get("/v1/roles/ada/source", params={"name": name})).status_code == 404


async def test_who_may_not_change_roles_sees_what_is_quoted_alone(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(KEYS, changes_roles=False)) as http:
        answer = await http.get("/v1/roles/ada/source?name=life.md", headers=ALICE)
        assert (answer.status_code, "read_only" in answer.text) == (403, True)


@pytest.mark.slow
@pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright"))
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("size", [(390, 780), (1400, 900)])
async def test_a_click_on_a_source_opens_its_document_at_the_place(tmp_path: Path, size: tuple[int, int]) -> None:
    whole_role(tmp_path / "library")
    life = tmp_path / "library" / "ada" / "persona" / "life.md"
    life.write_text("".join(f"# Year {n}\n\nThe sea was grey.\n\n" for n in range(4_000)) + life.read_text())
    async with page_house(tmp_path, *size, **SMALL) as house:
        page = house.page
        await house.open()
        await house.say("Do you trust Tom?")
        await house.why()
        passage = page.locator("#why-body li", has=page.locator(".source")).first
        quoted = await passage.locator("blockquote").inner_text()
        await passage.locator(".source").click()
        await page.wait_for_selector("#dialog mark")
        marked = await page.inner_text("#dialog mark")
        assert quoted.split() == marked.split()
        assert await page.locator("#dialog mark").evaluate(
            "one => { const at = one.getBoundingClientRect(); return at.top > 0 && at.top < innerHeight; }"
        )
        while await page.get_by_role("button", name="Show what comes before").count():
            await page.get_by_role("button", name="Show what comes before").click()
            await house.until("!document.querySelector('#dialog .document button:disabled')")
        shown = await page.locator("#dialog .document").evaluate(
            "one => [...one.querySelectorAll('.part-of')].map((part) => part.textContent).join('')"
        )
        assert life.read_text().startswith(shown)
        await page.keyboard.press("Escape")
        assert await page.locator("#dialog[open]").count() == 0
