"""Names as they are compared: one spelling for a name, whatever its case, spaces and quotation marks."""

import unicodedata

_AROUND = " \t\r\n\"'`*_.,:;!?()[]{}<>«»“”‘’„。，：；、！？「」『』《》"


def normal_name(name: str) -> str:
    """Return the one spelling of a name: compatibility forms, case, spaces and punctuation around it do not count."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(folded.split()).strip(_AROUND) or folded.strip()


def relation_name(said: str) -> str:
    """Return the name of a relation as a chronicle writes it: "isFriendOf", "is friend-of" are is_friend_of.

    What stands between words of any script is one underscore; empty where there are no words.
    """
    text = unicodedata.normalize("NFKC", said)
    words = "".join(f" {one}" if begins_word(text, at) else one for at, one in enumerate(text)).casefold()
    apart = "".join(one if unicodedata.category(one)[0] in "LMN" else " " for one in words)
    return "_".join(apart.split())


def begins_word(text: str, at: int) -> bool:
    """Whether a capital begins a word in camel case, as F, O, H and B do in "isFriendOfHMSBeagle"."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return text[at].isupper() and (before.islower() or (before.isupper() and after.islower()))
