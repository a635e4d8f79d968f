"""The report of a large run in Chromium: what its first screen holds, and that nothing keeps anybody out."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_clients import CLIENTS, missing, page_at

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright"))]
SIZE = ["--methods", "14", "--metrics", "10", "--roles", "20", "--questions", "3"]
BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "reports.py"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a made-up run: 14 methods, 10 metrics, 20 roles."""
    folder = tmp_path_factory.mktemp("report")
    subprocess.run([sys.executable, BENCHMARK, *SIZE, "--keep", folder], check=True, capture_output=True)
    return folder / "report.html"


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (400, 800)])
async def test_the_first_screen_holds_the_table_the_conclusion_and_the_picture(
    report: Path, width: int, height: int
) -> None:
    async with page_at(report.as_uri(), width, height) as page:
        for place in ("header > p", "header table", "header figure img"):
            box = await page.locator(place).first.bounding_box()
            shown = await page.locator(place).first.evaluate(
                "(one) => { let box = one.getBoundingClientRect(); const around = one.closest('.scroll');"
                " if (around) box = around.getBoundingClientRect(); return box.bottom; }"
            )
            assert box is not None, place
            assert 0 <= box["x"] < width, place
            assert 0 <= box["y"] < shown <= height, place
        assert await page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_report_of_960_replies_is_less_than_three_megabytes(report: Path) -> None:
    assert report.stat().st_size < 3_000_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_in_a_report_keeps_anybody_out(report: Path, scheme: str) -> None:
    axe = (CLIENTS / "axe" / "node_modules" / "axe-core" / "axe.min.js").read_text()
    async with page_at(report.as_uri(), 400, 800) as page:
        await page.emulate_media(color_scheme=scheme)
        await look(page, axe, "folded")
        for one in ("#m-accuracy", "#m-accuracy > details", "#r0"):
            await page.locator(one).first.evaluate("(fold) => { fold.open = true; }")
        await look(page, axe, "unfolded")


async def look(page: Any, axe: str, state: str) -> None:
    """Fails by what axe finds."""
    await page.evaluate(axe)
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(state, one["id"], [n["html"][:90] for n in one["nodes"]][:3]) for one in found["violations"]] == []
