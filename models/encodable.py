"""Text as every tokenizer takes it."""


def encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which no tokenizer takes, and NUL, which ends a text in C.

    A client that cuts a message in the middle of an emoji sends such a half.
    """
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
