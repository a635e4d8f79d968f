"""Word, EPUB, HTML and PDF as Markdown with their headings, in a process of its own.

`originals` runs it (`python -m dramaturg.stores.documents.readers .pdf < book.pdf`): whatever a file does to its
reader, time and memory have an end there. Nothing is fetched, and pictures are left out, but for the cover of an EPUB.
"""

import base64
import json
import posixpath
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from dramaturg.stores.documents.pdf import CannotBeRead, Reading, named, read_pdf

UNPACKED = 300_000_000
"""Bytes of a packed file (Word, EPUB) once it is unpacked."""
FILES = 10_000
"""Files in a packed one."""
LETTERS = 10_000_000
"""Of the text that comes out."""
SECONDS = 300
"""Of processor time."""
MEMORY = 4 << 30
"""Bytes of address space."""
STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"
"""What mammoth does not know of itself; `heading 1` to 6 it does."""
COVER, COVER_DOTS = 1_024, 40_000_000
"""The most dots of a side of a cover as it is given, and of all of it as it lies in a book."""
LEFT_OUT = ("head", "iframe", "img", "nav", "noscript", "object", "script", "style", "svg", "template")


def read_html(data: bytes) -> Reading:
    """Return the text of a page, in the encoding that it names."""
    soup = _soup(data)
    pictures = len(soup.find_all("img"))
    return Reading(_markdown(soup), [f"{pictures} picture(s) are left out"] if pictures else [])


def read_word(data: bytes) -> Reading:
    """Return the text of a .docx."""
    import mammoth

    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise CannotBeRead("is protected by a password, or a .doc of long ago: save it as .docx without one")
    _unpacked(data)
    pictures = list[None]()

    @mammoth.images.img_element  # type: ignore[untyped-decorator]
    def no_picture(_: Any) -> dict[str, str]:
        pictures.append(None)
        return {"src": ""}

    made = mammoth.convert_to_html(BytesIO(data), style_map=STYLES, convert_image=no_picture)
    missing = [f"{len(pictures)} picture(s) are left out"] if pictures else []
    missing += sorted({f"a part is left out ({one.message})" for one in made.messages if "ignored" in one.message})
    return Reading(_markdown(_soup(made.value.encode())), missing)


def read_epub(data: bytes) -> Reading:
    """Return the text of a book's parts, in their order; a part without a heading takes that of the contents."""
    book = _unpacked(data)
    names = set(book.namelist())
    container = _soup(_file(book, "META-INF/container.xml"))
    package = container.find("rootfile")
    opf = str(package.get("full-path", "")) if package else ""
    index, folder = _soup(_file(book, opf)), posixpath.dirname(opf)

    def place(link: object, base: str = folder) -> str:
        return posixpath.normpath(posixpath.join(base, unquote(str(link).partition("#")[0])))

    items = {str(one.get("id")): one for one in index.find_all("item")}
    order = [items[key] for one in index.find_all("itemref") if (key := str(one.get("idref"))) in items]
    parts = [place(one.get("href")) for one in order]
    closed = _closed(book) if "META-INF/encryption.xml" in names else set()
    titles = dict(_titles(book, items.values(), place))
    texts, empty, lost, locked = [], list[int](), list[int](), list[int]()
    for number, name in enumerate(parts[:FILES], start=1):
        if name in closed:
            locked.append(number)
        elif name not in names:
            lost.append(number)
        elif text := _markdown(_soup(_file(book, name))):
            heading = titles.get(name) if "\n#" not in f"\n{text}" else None
            texts.append(f"# {heading}\n\n{text}" if heading else text)
        else:
            empty.append(number)
    if locked and not texts:
        raise CannotBeRead("is protected against copying: get it without protection")
    missing = [f"{named('part', empty)} no text"] if empty else []
    missing += [f"{named('part', locked)} been encrypted"] if locked else []
    missing += [f"{named('part', lost)} no file in it"] if lost else []
    cover = _cover(index)
    picture = _as_png(book, place(cover), missing) if cover else ""
    return Reading("\n".join(texts), missing, picture)


def _cover(index: Any) -> str:
    """Where the cover of a book lies, as its EPUB 3 or 2 says it; empty: it has none."""
    named_so = index.find("meta", attrs={"name": "cover"})
    marked = index.find("item", attrs={"properties": lambda one: one and "cover-image" in one.split()})
    one = marked or (index.find("item", id=named_so.get("content")) if named_so else None)
    return str(one.get("href", "")) if one else ""


def _as_png(book: zipfile.ZipFile, name: str, missing: list[str]) -> str:
    """A picture as PNG in base64, of a size that cards have; empty, with a sentence: it cannot be read."""
    try:
        from PIL import Image

        with Image.open(BytesIO(book.read(name)), formats=("PNG", "JPEG", "GIF", "WEBP")) as picture:
            if picture.width * picture.height > COVER_DOTS:
                raise ValueError("too large")
            small = picture.convert("RGB")
        small.thumbnail((COVER, COVER))
        written = BytesIO()
        small.save(written, "PNG", optimize=True)
        return base64.b64encode(written.getvalue()).decode()
    except Exception:  # noqa: BLE001 (whatever a picture does to its reader, the text is read)
        missing.append("the cover cannot be read")
        return ""


READERS: Mapping[str, Callable[[bytes], Reading]] = {
    ".pdf": read_pdf,
    ".docx": read_word,
    ".epub": read_epub,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
}


def _titles(book: zipfile.ZipFile, items: Any, place: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """The titles that the contents of a book give to its files."""
    for one in items:
        if "nav" in str(one.get("properties")) or one.get("media-type") == "application/x-dtbncx+xml":
            name = place(one.get("href"))
            soup = _soup(_file(book, name)) if name in book.NameToInfo else None
            for link in soup.find_all(["a", "content"]) if soup else ():
                label = link if link.name == "a" else link.parent.find("navlabel") or link
                if title := " ".join(label.get_text(" ").split()):
                    yield place(link.get("href") or link.get("src"), posixpath.dirname(name)), title


def _closed(book: zipfile.ZipFile) -> set[str]:
    """The files of a book that are encrypted; fonts often are."""
    found = _soup(_file(book, "META-INF/encryption.xml")).find_all(lambda tag: "cipherreference" in tag.name)
    return {unquote(str(one.get("uri"))) for one in found}


def _unpacked(data: bytes) -> zipfile.ZipFile:
    """A packed file that is not larger inside than it may be."""
    archive = zipfile.ZipFile(BytesIO(data))
    entries = archive.infolist()
    if len(entries) > FILES or sum(one.file_size for one in entries) > UNPACKED:
        raise CannotBeRead(f"holds more than {FILES:,} files or {UNPACKED:,} bytes: split it")
    if any(one.flag_bits & 1 for one in entries):
        raise CannotBeRead("is protected by a password: save a copy without one")
    return archive


def _file(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except KeyError as error:
        raise CannotBeRead(f"lacks its part {name!r}: get it again") from error


def _soup(data: bytes) -> Any:
    """The tags of HTML or XML, by a reader that knows no entities but those of characters, and opens nothing."""
    import warnings

    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return BeautifulSoup(data, "html.parser")


def _markdown(soup: Any) -> str:
    from bs4.element import PreformattedString
    from markdownify import MarkdownConverter

    for tag in soup.find_all(LEFT_OUT):
        tag.decompose()
    for text in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):  # comments, declarations
        text.extract()
    plain = MarkdownConverter(
        heading_style="ATX", bullets="-", strip=["a"], escape_asterisks=False, escape_underscores=False
    )
    lines = [line.rstrip() for line in plain.convert_soup(soup).replace("\xa0", " ").split("\n")]
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    text = "\n".join(kept).strip()
    return f"{text}\n" if text else ""


def main() -> None:
    """Read a file from standard input, its suffix from the command; write JSON: `text` and `missing`, or `error`."""
    _bound()
    try:
        read = READERS[sys.argv[1]](sys.stdin.buffer.read())
        if not read.text.strip():
            raise CannotBeRead("has no text: if it is made of pictures, have their text recognised first")
        if len(read.text) > LETTERS:
            raise CannotBeRead(f"has more than {LETTERS:,} letters: split it")
        said: dict[str, Any] = read._asdict()
    except CannotBeRead as error:
        said = {"error": str(error)}
    except ImportError:
        said = {"error": "is read by an extra: pip install 'dramaturg[documents]'"}
    except MemoryError:
        said = {"error": "takes more memory than it may: split it"}
    except Exception as error:  # noqa: BLE001 (what a damaged file raises has no end)
        said = {"error": f"is not whole ({type(error).__name__}): open it elsewhere and save it again"}
    sys.stdout.write(json.dumps(said))


def _bound() -> None:
    """Bound the time and the memory of this process, where the system can."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
