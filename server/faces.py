"""The pictures of roles, and small ones of them: a list of characters would read gigabytes of cards otherwise."""

from functools import lru_cache
from io import BytesIO
from pathlib import Path

from dramaturg.stores.documents.forms import PICTURES
from dramaturg.stores.files import inside

LARGEST = 26_000_000  # bytes: what comes by an upload is shown
SIDE = 256  # dots: of a face as large as the page shows any, twice as dense as it is wide
MOST_DOTS = 50_000_000  # of a picture that is made smaller
KEPT = 1_000  # small pictures in memory, of some 10 kB each


def picture_of(folder: Path, *, small: bool = False) -> bytes | None:
    """The bytes of the picture in the folder of a role; None: there is none, or it is too large. It blocks.

    Args:
        folder: of the role.
        small: whether the face in it is enough; as it is where it cannot be made smaller.
    """
    file = next((folder / name for name in PICTURES if (folder / name).is_file()), None)
    about = (real := inside(file, folder)).stat() if file else None
    if file is None or about is None or about.st_size > LARGEST:
        return None
    return (_face(real, about.st_mtime_ns, about.st_size) if small else None) or real.read_bytes()


def kind_of(data: bytes) -> str:
    """What a picture is, by how it begins; empty: it is none that a page shows."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


@lru_cache(maxsize=KEPT)
def _face(file: Path, _changed: int, _size: int) -> bytes | None:
    """The upper square of a picture, in which cards have the face."""
    try:
        from PIL import Image

        with Image.open(BytesIO(file.read_bytes()), formats=("PNG", "JPEG", "WEBP")) as picture:
            if picture.width * picture.height > MOST_DOTS:
                return None
            picture.draft("RGB", (2 * SIDE, 2 * SIDE))  # a JPEG is read smaller; others are not
            side = min(picture.width, picture.height)
            left = (picture.width - side) // 2
            square = picture.convert("RGBA").resize((SIDE, SIDE), box=(left, 0, left + side, side), reducing_gap=2)
        written = BytesIO()
        square.save(written, "WEBP", quality=82)
        return written.getvalue()
    except Exception:  # noqa: BLE001 (whatever a picture does to its reader, and where Pillow is not installed)
        return None
