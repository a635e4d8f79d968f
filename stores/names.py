"""Names as they are compared: one spelling for a name, whatever its case, spaces and quotation marks."""

import unicodedata

_AROUND = " \t\r\n\"'`*_.,:;!?()[]{}<>«»“”‘’„。，：；、！？「」『』《》"


def normal_name(name: str) -> str:
    """Return the one spelling of a name: compatibility forms, case, spaces and punctuation around it do not count."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(folded.split()).strip(_AROUND) or folded.strip()
