"""Text files in the encodings that people have, most of them short."""

import pytest
from babel import Locale

from dramaturg.stores.texts.decoding import decoded
from dramaturg.stores.texts.form import Unreadable

TEXTS = {
    "gb18030": ("2023年12月31日 21:41 - 米拉: 你好,今天晚上一起吃饭吗?\n", "好的,我马上来。", "明天见,路上小心"),
    "big5": ("2023/12/31 下午9:41 - 小美: 你好,今天晚上要一起吃飯嗎?\n", "好的,我馬上到。", "謝謝你,明天見"),
    "cp932": (
        "21:41\t花子\tこんにちは、今日は元気ですか?\n21:42\t太郎\tはい、元気です。\n",
        "お疲れ様です",
        "そうだね",
    ),
    "euc_jp": ("21:41\t花子\tこんにちは、今日は元気ですか?\n", "お疲れ様です。"),
    "cp949": ("2023년 12월 31일 오후 9:41, 홍길동 : 안녕 오늘 뭐해?\n", "집에 있어 ㅋㅋㅋ", "그래 내일 보자"),
    "cp1252": (
        "31.12.23, 21:41 - Jürgen: Schöne Grüße aus Köln – „bis später“\n",
        "Ça va très bien, à bientôt…",
        "¿Qué tal, señor?",
    ),
    "cp1250": ("31.12.23, 21:41 - Łukasz: Cześć, co słychać? Źle się czuję\n", "Žluťoučký kůň úpěl ďábelské ódy"),
    "cp1251": ("31.12.2023, 21:41 - Мира: Привет, как дела?\n", "Всё хорошо, спасибо!", "да"),
    "koi8_r": ("31.12.2023, 21:41 - Мира: Привет, как дела?\n", "Всё хорошо, спасибо!"),
    "cp1253": ("31/12/23, 9:41 μ.μ. - Μίρα: Γεια σου, τι κάνεις;\n",),
    "cp1254": ("31.12.2023 21:41 - Ayşe: Merhaba, nasılsın? Çok iyiyim, teşekkürler\n",),
    "cp1255": ("31.12.2023, 21:41 - מירה: שלום, מה שלומך?\n",),
    "cp1256": ("31/12/2023، 9:41 م - ميرا: مرحبا كيف حالك اليوم؟\n",),
    "cp874": ("31/12/2566 21:41 - มีรา: สวัสดีครับ วันนี้เป็นอย่างไรบ้าง\n",),
    "utf-16-le": ("[31.12.23, 21:41:05] Mira: hello\n", "2023년 12월 31일 오후 9:41, 홍길동 : 안녕\n"),
    "utf-16-be": ("[31.12.23, 21:41:05] Mira: hello\n", "2023年12月31日 21:41 - 米拉: 你好\n"),
    "utf-32-le": ("[31.12.23, 21:41:05] Mira: hello 👋\n",),
    "utf-32-be": ("[31.12.23, 21:41:05] Mira: hello 👋\n",),
    "utf-16": ("with a mark of byte order: Grüße\n",),
    "utf-32": ("with a mark of byte order: Grüße\n",),
    "utf-8-sig": ("with a mark of byte order: Grüße 👋\n",),
    "utf-8": ("Grüße, 你好, привет 👋\n", "", "a\n"),
}


@pytest.mark.parametrize(
    ("encoding", "text"), [(encoding, text) for encoding, texts in TEXTS.items() for text in texts]
)
def test_a_text_is_read_in_the_encoding_that_it_was_saved_in(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("encoding", "language"),
    [
        ("gb18030", "zh"), ("big5", "zh_Hant"), ("cp932", "ja"), ("cp949", "ko"), ("cp1252", "de"), ("cp1252", "fr"),
        ("cp1252", "es"), ("cp1252", "pt"), ("cp1250", "pl"), ("cp1250", "cs"), ("cp1251", "ru"), ("koi8_r", "ru"),
        ("cp1253", "el"), ("cp1254", "tr"), ("cp1255", "he"), ("cp1256", "ar"), ("cp874", "th"),
    ],
)  # fmt: skip
def test_lines_that_no_table_was_made_from_are_read(encoding: str, language: str) -> None:
    places = list(Locale.parse(language).territories.values())
    texts = ["\n".join(places[at : at + 20]) + "\n" for at in range(0, len(places) - 20, 20)]
    texts = [text for text in texts if text.encode(encoding, "ignore").decode(encoding) == text]
    assert len(texts) >= 3
    assert sum(decoded(text.encode(encoding))[0] == text for text in texts) >= len(texts) * 0.9


def test_the_encoding_has_its_name() -> None:
    assert decoded("그래 내일 보자".encode("cp949")) == ("그래 내일 보자", "cp949")


def test_few_foreign_letters_in_a_long_file_are_found() -> None:
    text = "21:41 nothing but ASCII here\n" * 20_000 + "Grüße aus Köln\n"
    assert decoded(text.encode("cp1252"))[0] == text


def test_lines_end_with_a_line_feed() -> None:
    assert decoded(b"a\r\nb\rc\n")[0] == "a\nb\nc\n"


def test_a_file_that_was_cut_in_a_letter_is_read_and_the_name_says_so() -> None:
    text, encoding = decoded(("Привет, как дела" * 20).encode()[:-1])
    assert text.startswith("Привет, как делаПривет")
    assert encoding == "utf-8 (1 damaged)"


def test_a_file_with_one_letter_that_was_cut_at_its_end_is_still_utf_8() -> None:
    assert decoded("Grüße aus Köln, grüß".encode()[:-1])[0] == "Grüße aus Köln, grü\ufffd"


def test_a_line_in_another_encoding_does_not_spoil_the_file() -> None:
    text, encoding = decoded("Grüße aus Köln\n".encode() * 20 + "Grüße\n".encode("cp1252"))
    assert (text.startswith("Grüße aus Köln"), encoding) == (True, "utf-8 (2 damaged)")


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0",
        b"PK\x03\x04\x14\0\x08\0\x08\0" + bytes(range(256)) * 4,
        bytes(range(256)) * 20,
        b"text\0and zeros\0in it",
        "text\0".encode("utf-16"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        decoded(data)
