"""Files of a model from the hub repository of its authors, resumed where a transfer broke off."""

from collections.abc import Callable
from pathlib import Path

import httpx

from dramaturg.models.catalogue import WeightFile, Weights
from dramaturg.models.errors import WeightsError

HUB = "https://huggingface.co"
ATTEMPTS = 4
BLOCK = 1 << 20
# An unreachable hub is noticed in seconds; a slow one may pause for half a minute.
TIMEOUT = httpx.Timeout(30, connect=5)


def download(weights: Weights, folder: Path, *, hub: str, progress: Callable[[int], None]) -> None:
    """Bring every file of a model into a folder; bytes are not verified here.

    Args:
        weights: the model; nothing is asked of the hub when it has no revision there.
        folder: what a broken transfer left in it is continued.
        hub: base URL of the hub.
        progress: told the bytes that are there, of all files.

    Raises:
        WeightsError: the hub cannot be reached, or does not give the files.
    """
    if weights.revision is None:
        raise WeightsError("the hub has no copy of it")
    done = 0
    with httpx.Client(timeout=TIMEOUT, follow_redirects=True) as client:
        for file in weights.files:
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            url = f"{hub}/{weights.upstream}/resolve/{weights.revision}/{file.path}"
            _download(client, url, file, target, lambda there, before=done: progress(before + there))  # type: ignore[misc]
            done += file.size


def _download(client: httpx.Client, url: str, file: WeightFile, target: Path, progress: Callable[[int], None]) -> None:
    for _ in range(ATTEMPTS):
        try:
            _resume(client, url, file, target, progress)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise WeightsError("the hub cannot be reached") from error
        except httpx.HTTPStatusError as error:
            raise WeightsError(f"the hub answered {error.response.status_code} for {file.path}") from error
        except httpx.TransportError:
            continue
        if target.stat().st_size >= file.size:
            return
    raise WeightsError(f"the transfer of {file.path} from the hub broke off {ATTEMPTS} times")


def _resume(client: httpx.Client, url: str, file: WeightFile, target: Path, progress: Callable[[int], None]) -> None:
    """Append what is missing; start anew when the server does not continue where the file ends."""
    there = target.stat().st_size if target.exists() else 0
    if there == file.size:
        return
    # identity: with a compressed body, `Range` would count compressed bytes.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={there}-"} if 0 < there < file.size else {})
    with client.stream("GET", url, headers=headers) as response:
        response.raise_for_status()
        continued = response.headers.get("Content-Range", "").startswith(f"bytes {there}-")
        with target.open("ab" if continued else "wb") as out:
            for block in response.iter_bytes(BLOCK):
                out.write(block[: file.size - out.tell()])
                progress(out.tell())
