"""PDF, Word, EPUB and HTML as Markdown: headings stay, what cannot be read is said, and all of it has an end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dramaturg.stores.documents import originals, pdf, readers
from dramaturg.stores.documents.originals import as_markdown
from dramaturg.stores.documents.pdf import CannotBeRead, Reading, named, read_pdf
from dramaturg.stores.documents.readers import READERS, read_epub, read_html, read_word
from dramaturg.stores.errors import RoleFileError

from packed_documents import epub, packed, word
from packed_documents import pdf as pdf_of

pytest.importorskip("pypdf")
pytest.importorskip("mammoth")
pytest.importorskip("markdownify")
KEEPER = [(20, "The keeper"), (11, "Ada keeps the light and is a lonely per-"), (11, "son. Storms make her cheerful.")]
DOG = [(14, "Her dog"), (11, "Kit is grey.")]
LAUGHS = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))


def test_larger_letters_of_a_pdf_are_headings_and_a_page_without_text_is_named() -> None:
    read = read_pdf(pdf_of([KEEPER, [], DOG]))
    assert read.text == (
        "# The keeper\n\nAda keeps the light and is a lonely person. Storms make her cheerful.\n\n"
        "## Her dog\n\nKit is grey.\n"
    )
    assert read.missing == ["page 2 has no text"]


def test_bookmarks_of_a_pdf_are_headings_whatever_their_letters() -> None:
    pages = [[(11, "1 The keeper"), (11, "Ada keeps the light.")], [(11, "Kit is grey."), (30, "VERY LARGE")]]
    text = read_pdf(pdf_of(pages, [("The Keeper", 0)])).text
    assert text.startswith("# 1 The keeper\n\nAda")
    assert text.count("#") == 1


def test_numbers_of_pages_and_what_pages_begin_with_are_no_text_and_said() -> None:
    pages = [[(11, f"My life {n}"), (11, f"Story {chr(97 + n)} is told."), (11, f"- {n} -")] for n in range(8)]
    read = read_pdf(pdf_of(pages))
    assert "My life" not in read.text
    assert "- 3 -" not in read.text
    assert "Story c is told." in read.text
    assert read.missing == ["the line 'My life' at the edge of 8 pages is left out"]


def test_a_paragraph_ends_with_its_page_and_where_it_is_long_with_a_sentence() -> None:
    pages = [[(11, "Ada keeps the light, and it is the same each night.")] * 30 for _ in range(5)]
    found = read_pdf(pdf_of(pages)).text.split("\n\n")
    assert len(found) == 5
    found = read_pdf(pdf_of([pages[0] * 10])).text.split("\n\n")
    assert 2_000 < len(found[0]) < 2_200


def test_a_line_that_looks_like_a_heading_in_markdown_is_none() -> None:
    assert read_pdf(pdf_of([[(11, "# not a heading")]])).text == "\\# not a heading\n"


def test_a_pdf_of_pictures_or_damage_is_refused() -> None:
    with pytest.raises(CannotBeRead, match="no text on its 3 page"):
        read_pdf(pdf_of([[], [], []]))
    for data in (b"", b"%PDF-1.4 nothing", pdf_of([KEEPER])[:300]):
        with pytest.raises(CannotBeRead, match=r"no whole PDF|no text"):
            read_pdf(data)


def test_a_pdf_with_a_password_is_refused() -> None:
    from io import BytesIO

    from pypdf import PdfReader, PdfWriter

    writer, made = PdfWriter(clone_from=PdfReader(BytesIO(pdf_of([KEEPER])))), BytesIO()
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(made)
    with pytest.raises(CannotBeRead, match="password"):
        read_pdf(made.getvalue())


def test_more_pages_than_are_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "PAGES", 2)
    read = read_pdf(pdf_of([KEEPER, DOG, DOG, DOG]))
    assert read.missing == ["pages 3 to 4 are left out: split the file"]


@pytest.mark.parametrize(
    ("numbers", "says"), [([3], "page 3 has"), ([3, 5, 6, 7], "pages 3, 5–7 have"), ([1, 2], "pages 1–2 have")]
)
def test_pages_are_named_as_people_do(numbers: list[int], says: str) -> None:
    assert named("page", numbers) == says


def test_styles_of_word_are_headings() -> None:
    data = word([("Title", "My life"), ("heading 1", "The keeper"), ("", "Ada keeps the light."), ("heading 2", "Kit")])
    assert read_word(data) == Reading("# My life\n\n# The keeper\n\nAda keeps the light.\n\n## Kit\n", [])


def test_entities_of_word_neither_grow_nor_open_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("swordfish")
    with pytest.raises(Exception, match="amplification"):
        read_word(word([("", "Ada &j;")], before=f'<!DOCTYPE d [<!ENTITY a "ha">{LAUGHS}]>'))
    outside = f'<!DOCTYPE d [<!ENTITY x SYSTEM "{(tmp_path / "secret").as_uri()}">]>'
    assert "swordfish" not in read_word(word([("", "Ada &x;")], before=outside)).text


@pytest.mark.parametrize("read", [read_word, read_epub])
def test_a_packed_file_that_is_larger_inside_than_it_may_be_is_refused(
    read: Callable[[bytes], Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "UNPACKED", 100_000)
    with pytest.raises(CannotBeRead, match="split it"):
        read(packed({"word/document.xml": b"0" * 200_000}))


def test_a_protected_word_file_is_refused() -> None:
    with pytest.raises(CannotBeRead, match="password"):
        read_word(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))


def test_parts_of_a_book_come_in_their_order_with_headings_and_titles() -> None:
    parts = {
        "b.xhtml": "<img src='cover.jpg'/>",
        "a.xhtml": "<h2>Life</h2><p>Ada.</p>",
        "c.xhtml": "<p>Kit.</p>",
        "d.xhtml": "",
    }
    read = read_epub(epub(parts, {"c.xhtml": "Her dog", "a.xhtml": "not this"}))
    assert read.text == "## Life\n\nAda.\n\n# Her dog\n\nKit.\n"
    assert read.missing == ["part 1 has no text", "part 4 has no file in it"]


def test_a_book_that_is_protected_is_refused() -> None:
    closed = {
        "META-INF/encryption.xml": '<enc:EncryptedData><enc:CipherReference URI="in/a.xhtml"/></enc:EncryptedData>'
    }
    with pytest.raises(CannotBeRead, match="protected"):
        read_epub(epub({"a.xhtml": "<p>@#</p>"}, more=closed))


def test_a_page_is_its_text_with_headings_and_lists() -> None:
    page = """<html><head><meta charset="gb18030"><style>p{}</style></head><body><nav>menu</nav><!-- no -->
    <h1>灯塔</h1><p>Ada <a href="http://x.test/">keeps</a> it.</p><ul><li>one</li></ul><img src="http://x.test/a.png">
    <script>alert(1)</script></body></html>"""
    assert read_html(page.encode("gb18030")) == Reading(
        "# 灯塔\n\nAda keeps it.\n\n- one\n", ["1 picture(s) are left out"]
    )


def test_a_reader_is_a_process_that_says_what_it_could_not_read() -> None:
    text, missing = as_markdown(pdf_of([KEEPER, []]), "life.pdf")
    assert text.startswith(b"# The keeper\n")
    assert missing == ["life.pdf: page 2 has no text."]
    with pytest.raises(RoleFileError, match=r"life\.docx is not whole"):
        as_markdown(b"PK nothing", "life.docx")
    with pytest.raises(RoleFileError, match=r"page\.html has no text"):
        as_markdown(b"<html><p> </p></html>", "page.html")


def test_a_reader_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "WAIT", 0.01)
    with pytest.raises(RoleFileError, match="takes more time or memory than it may"):
        as_markdown(pdf_of([KEEPER]), "life.pdf")


@pytest.mark.crash
def test_nesting_without_an_end_is_refused() -> None:
    with pytest.raises(RoleFileError, match="is not whole"):
        as_markdown(b"<div>" * 100_000 + b"deep", "page.html")


def test_every_kind_has_its_reader() -> None:
    assert set(READERS) == set(originals.PACKED)
