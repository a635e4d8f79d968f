"""Files of a model from the hub repository of its authors, continued where a transfer broke off."""

from collections.abc import Callable
from pathlib import Path

import httpx

from dramaturg.models.errors import WeightsError
from dramaturg.models.local.catalogue import WeightFile, Weights

HUB = "https://huggingface.co"
FRUITLESS = 3  # attempts in a row that bring nothing new
# An unreachable hub is noticed in seconds; one that sends may pause for half a minute.
TIMEOUT = httpx.Timeout(30, connect=5)

Report = Callable[[int], None]


def download(weights: Weights, folder: Path, *, hub: str, progress: Report) -> None:
    """Bring every file of a model into a folder; bytes are not verified here.

    Args:
        weights: the model; one without a revision is not on the hub.
        folder: what a broken transfer left in it is continued.
        hub: base URL of the hub.
        progress: told how many bytes of the model are there.
    """
    if weights.revision is None:
        raise WeightsError("the model hub has no copy of it")
    before = 0
    with httpx.Client(timeout=TIMEOUT, follow_redirects=True) as client:
        for file in weights.files:
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            url = f"{hub}/{weights.upstream}/resolve/{weights.revision}/{file.path}"
            _download(client, url, file, target, _from(before, progress))
            before += file.size


def _from(before: int, progress: Report) -> Report:
    return lambda there: progress(before + there)


def _download(client: httpx.Client, url: str, file: WeightFile, target: Path, progress: Report) -> None:
    fruitless, most = 0, _size(target)
    while _size(target) != file.size:
        if fruitless == FRUITLESS:
            raise WeightsError(f"the model hub broke off the transfer of {file.path}")
        try:
            _transfer(client, url, file, target, progress)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise WeightsError("the model hub cannot be reached") from error
        except httpx.HTTPStatusError as error:
            raise WeightsError(f"the model hub answered {error.response.status_code} for {file.path}") from error
        except httpx.TransportError:
            pass  # broken off: continued with what is there
        except httpx.HTTPError as error:
            raise WeightsError(f"the model hub sent no file for {file.path}") from error
        fruitless = 0 if _size(target) > most else fruitless + 1
        most = max(most, _size(target))


def _transfer(client: httpx.Client, url: str, file: WeightFile, target: Path, progress: Report) -> None:
    """Append what is missing, or start anew when the server does not continue where the file ends."""
    there = _size(target)
    # identity: `Range` would count the bytes of a compressed body.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={there}-"} if 0 < there < file.size else {})
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            target.unlink()
            return
        response.raise_for_status()
        continued = response.headers.get("Content-Range", "").startswith(f"bytes {there}-")
        with target.open("ab" if continued else "wb") as out:
            # As blocks come: one that is gathered to a certain size is lost when the transfer breaks off.
            for block in response.iter_raw():
                out.write(block[: file.size - out.tell()])
                progress(out.tell())
                if out.tell() == file.size:
                    return


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
