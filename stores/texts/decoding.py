"""The letters of a text file, in whatever encoding it was saved.

UTF-8 and marks of byte order leave no doubt. For the rest each encoding that people have is tried on the lines that are
not ASCII, and that is taken whose signs are most as a language has them: the common ones of thousands, its frequent
letters, Latin ones among those of ASCII and others apart. charset-normalizer was tried: of
short lines it knows fewer, and takes GBK and EUC-KR with some English among it for something else or for nothing.
"""

import codecs
from collections import Counter
from collections.abc import Mapping
from functools import cache

from dramaturg.stores.texts.form import Unreadable

SAMPLE = 20_000
"""Bytes by which an encoding is known."""
DAMAGE = 0.1
"""Of the letters that are not ASCII: so many may be broken before a file counts as being in another encoding."""
FREQUENT: Mapping[str, tuple[str, ...]] = {
    "gb18030": (
        "的一是了我不在有你他好吗这人们来到上大个说就去要会也那么没什么为吧今天明晚"
        "看想呢啊下时候可以再都还很知道和中得自己过家年月日小点早回行谢对，。？！：",
    ),
    "big5": (
        "的一是了我不在有你他好嗎這人們來到上大個說就去要會也那麼沒什麼為吧今天明晚"
        "看想呢啊下時候可以再都還很知道和中得自己過家年月日小點早回行謝對，。？！：",
    ),
    "cp932": (
        "あいうえおかがきくけげこごさしすせそただちつってでとどなにねのはば"
        "まみもやよらりるれろわをんアイオクコシスタトドラルロンー、。年月日",
    ),
    "cp949": (
        "이다는가고하지을에의은도기리한어를나로사들자아시그거니게라있해서인면대일보"
        "안만수여전제주오정우원부야요네응너뭐왜좋집과까더내많았었습럼년월일후ㅋㅎㅠ",
    ),
    "euc_jp": (
        "あいうえおかがきくけげこごさしすせそただちつってでとどなにねのはば"
        "まみもやよらりるれろわをんアイオクコシスタトドラルロンー、。年月日",
    ),
    "cp1252": (
        "äöüßÄÖÜ",
        "éèêëàâçùîïôûœæÉÀÇ",
        "ñóíáéúü¿¡ÁÉÑ",
        "ãõçáéíóúâêàôÉ",
        "àèéìòùÈ",
        "åäöæøéÅÖØ",
        "ïëéèöüáó",
    ),
    "cp1251": ("оеаинтсрвлкмдпуыья",),
    "cp1250": (
        "łąęśćżźńóŁŚŻ",
        "ěščřžýáíéúůťďňľôäóČŘŠŽÚ",
        "áéíóöőúüűÁÉÖ",
        "ăâîşţĂÎŞŢ",
        "čćšžđČŠŽĐ",
    ),
    "koi8_r": ("оеаинтсрвлкмдпуыья",),
    "cp1253": ("αοιετσνηυρπκμλςάίόέήύώ",),
    "cp1254": ("ığşçöüİŞÇÖÜâ",),
    "cp1255": ("יוהלאמרתבשנחםד",),
    "cp1256": ("البيمنورتدعهسكحفة",),
    "cp1257": (
        "āčēģīķļņšūžĀŠ",
        "ąčęėįšųūžŠŽ",
        "äõöüšžÕÄÜ",
    ),
    "cp1258": ("đơưăâêôàáảã",),
    "cp874": ("านรกเงมอยลวดทตสะปบคหแใไ่้ีิัุู",),
}
"""The encodings that people's files are in, the commonest first, and what is frequent in each of their languages."""
MARKS_OF_PRINT = "“”„‘’–—…«»、。「」，？！：€°"
LATIN = frozenset({"cp1252", "cp1250", "cp1254", "cp1257", "cp1258"})
"""In which letters that are not ASCII stand among those that are."""
BESIDE = {True: 1.0, False: 0.5}
"""What a letter counts where it stands as its language has it, and where it does not."""
ROWS = {
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
    "cp932": ("euc_jp", 0xA4, 0xCF),  # with both syllabaries
    "euc_jp": ("euc_jp", 0xA4, 0xCF),
    "cp949": ("euc_kr", 0xB0, 0xC8),
}
"""Where an encoding, or one with the same signs, has those in common use."""
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
NO_TEXT = "is no text: choose the text that your messenger or your word processor exports"
_CONTROLS = dict.fromkeys([*range(7), *range(14, 27), 28, 29, 30, 31, 127], "")


def decoded(data: bytes) -> tuple[str, str]:
    """Return the text of a file, its lines ended by a line feed, and the name of its encoding.

    Where bytes of a damaged file are no letters there is U+FFFD, and the name says how often: "utf-8 (1 damaged)".

    Raises:
        Unreadable: it is no text.
    """
    text, encoding = _decoded(data)
    if "\0" in text or len(text) - len(text.translate(_CONTROLS)) > len(text) // 100 + 5:
        raise Unreadable(NO_TEXT)
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _decoded(data: bytes) -> tuple[str, str]:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _repaired(data[len(mark) :], encoding)
    if b"\0" in data:
        return _wide(data), _wide_encoding(data)
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError as error:
        cut_off = error.end == len(data) and error.start > len(data) - 4 and not data[: error.start].isascii()
        if cut_off or _damage(data, "utf-8") <= DAMAGE:
            return _repaired(data, "utf-8")
    for encoding in (guesses := _guessed(data)):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            continue  # the sample had none of what is no letter
    if guesses and _damage(data, guesses[0]) <= DAMAGE:
        return _repaired(data, guesses[0])
    raise Unreadable("is in an encoding that is not known, or in several: save it as UTF-8")


def _repaired(data: bytes, encoding: str) -> tuple[str, str]:
    text = data.decode(encoding, "replace")
    lost = text.count("\ufffd") - data.decode(encoding, "ignore").count("\ufffd")
    return text, f"{encoding} ({lost} damaged)" if lost else encoding


def _damage(data: bytes, encoding: str) -> float:
    """Which part of the letters that are not ASCII is broken in an encoding."""
    kept = data.decode(encoding, "ignore")
    whole = len(kept) - len(kept.encode("ascii", "ignore"))
    broken = len(data.decode(encoding, "replace")) - len(kept)
    return broken / (whole + broken)


def _wide_encoding(data: bytes) -> str:
    """UTF-16 or UTF-32 without a mark: by where the zeros stand of letters whose number is small, as a line end's."""
    width = 4 if len(data) % 4 == 0 and max(data[0::4].count(0), data[3::4].count(0)) * 4 == len(data) else 2
    first, last = data[0::width].count(0), data[width - 1 :: width].count(0)
    return f"utf-{width * 8}-{'be' if first > last else 'le'}"


def _wide(data: bytes) -> str:
    try:
        text = data.decode(_wide_encoding(data))
    except UnicodeDecodeError as error:
        raise Unreadable(NO_TEXT) from error
    stray = data.count(0) * 4 < len(data) and data.isascii()  # zeros in a text of single bytes
    if stray or sum(letter.isprintable() or letter.isspace() for letter in text) < len(text) * 0.98:
        raise Unreadable(NO_TEXT)
    return text


def _guessed(data: bytes) -> list[str]:
    """The encodings that a text may be in, the likeliest first."""
    lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())
    sample = lines[:SAMPLE]
    if len(lines) > SAMPLE and b"\n" in sample:
        sample = sample[: sample.rindex(b"\n")]  # and no letter cut in two
    scores = dict[str, float]()
    for encoding in FREQUENT:
        try:
            scores[encoding] = _likeness(sample.decode(encoding), encoding)
        except UnicodeDecodeError:
            if _damage(sample, encoding) <= DAMAGE:
                scores[encoding] = _likeness(sample.decode(encoding, "replace"), encoding)
    return sorted((one for one in scores if scores[one] > 0.3), key=lambda one: -scores[one])


def _likeness(text: str, encoding: str) -> float:
    """How much of what is not ASCII is as one language of an encoding has it, from 0 to 1."""
    common = _common(encoding)
    letters = Counter[tuple[str, bool]]()
    for at, letter in enumerate(text):
        if letter > "\x7f":
            around = text[max(0, at - 1) : at] + text[at + 1 : at + 2]
            beside = any("a" <= one <= "z" or "A" <= one <= "Z" for one in around)
            letters[letter, beside or not letter.isalpha()] += 1

    def weight(letter: str, beside: bool, frequent: str) -> float:
        if not letter.isalpha():
            return float(letter in frequent or letter in MARKS_OF_PRINT)
        usual = BESIDE[(encoding in LATIN) == beside]
        return usual * (1.0 if letter in frequent else 0.8 * (letter in common) if common else 0.4)

    whole = letters.total() or 1
    return max(
        sum(count * weight(letter, beside, frequent) for (letter, beside), count in letters.items()) / whole
        for frequent in FREQUENT[encoding]
    )


@cache
def _common(encoding: str) -> frozenset[str]:
    """The signs in common use, which the standard of a language in thousands of signs has in its first rows."""
    if encoding not in ROWS:
        return frozenset()
    codec, first, last = ROWS[encoding]
    return frozenset(
        bytes([row, cell]).decode(codec, "ignore") for row in range(first, last + 1) for cell in range(0x40, 0xFF)
    ) - {""}
