"""Whether a reply holds a fact that was told before: a comparison of characters, and no judge's opinion."""

import re
import unicodedata

THOUSANDS = re.compile(r"(?<=\d)[,.'’\u00a0\u202f ](?=\d{3}(?!\d))")


def recalled(reply: str, fact: str) -> bool:
    """Whether a fact stands in a reply, whatever its case, width, spaces and punctuation.

    A number must stand alone, as 4172 does not in 24172; 4,172 is the same number, and one in words is not found.
    """
    if fact.isdecimal():
        text = THOUSANDS.sub("", unicodedata.normalize("NFKC", reply))
        return re.search(rf"(?<!\d){int(fact)}(?!\d)", text) is not None
    wanted = plain(fact)
    return bool(wanted) and wanted in plain(reply)


def plain(text: str) -> str:
    """Letters and digits alone, in one case and width."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
