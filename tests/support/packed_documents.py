"""Small PDF, Word and EPUB files, written by hand: what a reader meets, without a program that makes them."""

import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO

Row = tuple[int, str]
"""The size of letters, and a line."""


def packed(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def pdf(pages: Sequence[Sequence[Row]], bookmarks: Sequence[tuple[str, int]] = ()) -> bytes:
    """A PDF with these lines on its pages, and bookmarks to pages, from 0."""
    first = 5 + len(bookmarks)
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        f"<< /Type /Outlines /First 5 0 R /Last {first - 1} 0 R >>" if bookmarks else "<< /Type /Outlines >>",
    ]
    for number, (title, page) in enumerate(bookmarks):
        following = f"/Next {6 + number} 0 R" if number + 1 < len(bookmarks) else ""
        objects.append(f"<< /Title ({title}) /Parent 4 0 R {following} /Dest [{first + 2 * page} 0 R /Fit] >>")
    for number, rows in enumerate(pages):
        shown = " ".join(f"/F1 {size} Tf 0 -{size + 4} Td ({text}) Tj" for size, text in rows)
        content = f"BT 72 720 Td {shown} ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {first + 2 * number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    made, places = bytearray(b"%PDF-1.4\n"), []
    for number, one in enumerate(objects, start=1):
        places.append(len(made))
        made += f"{number} 0 obj\n{one}\nendobj\n".encode("cp1252")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(places) + 1} /Root 1 0 R >>\n"
    return bytes(made) + f"{end}startxref\n{len(made)}\n%%EOF\n".encode()


def word(paragraphs: Sequence[tuple[str, str]], before: str = "") -> bytes:
    """A .docx: the styles (or "") and texts of its paragraphs, and what stands before them in the file."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = f'<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{office}/%s" Target="%s"/></Relationships>'
    styles = sorted({style for style, _ in paragraphs if style})
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style.replace(" ", "")}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    names = "".join(
        f'<w:style w:type="paragraph" w:styleId="{style.replace(" ", "")}"><w:name w:val="{style}"/></w:style>'
        for style in styles
    )
    return packed(
        {
            "[Content_Types].xml": "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>",
            "_rels/.rels": link % ("officeDocument", "word/document.xml"),
            "word/_rels/document.xml.rels": link % ("styles", "styles.xml"),
            "word/document.xml": f"{before}<w:document {space}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {space}>{names}</w:styles>",
        }
    )


def epub(
    parts: Mapping[str, str], titles: Mapping[str, str] = {}, more: Mapping[str, str | bytes] = {}, about: str = ""
) -> bytes:
    """An EPUB: its parts by their names and in their order, titles of some, other files, and more of its list."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in parts)
    order = "".join(f'<itemref idref="{name}"/>' for name in parts)
    points = "".join(
        f'<navPoint><navLabel><text>{title}</text></navLabel><content src="{name}#top"/></navPoint>'
        for name, title in titles.items()
    )
    return packed(
        {
            "META-INF/container.xml": '<container><rootfile full-path="in/book.opf"/></container>',
            "in/book.opf": '<package><manifest><item id="toc" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
            f"{items}{about}</manifest><spine>{order}</spine></package>",
            "in/toc.ncx": f"<ncx><navMap>{points}</navMap></ncx>",
            **{
                f"in/{name}": f'<?xml version="1.0"?><html><body>{text}</body></html>'
                for name, text in parts.items()
                if text
            },
            **more,
        }
    )
