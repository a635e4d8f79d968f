"""What a document says of itself above its text, between two lines of dashes, as note-taking programs write it."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from dramaturg.stores.documents.reading import read_yaml

_FRONT = re.compile(r"\A---[ \t]*\n(?P<yaml>(?:.*\n){0,200}?)---[ \t]*(?:\n|\Z)")


def front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """Return what stands above a text, and the text with spaces in its place: no place in the text moves.

    What is no mapping of words is text like all else, such as a line of dashes.
    """
    found = _FRONT.match(text)
    if not found:
        return {}, text
    try:
        _, values = read_yaml(found["yaml"])
    except yaml.YAMLError:
        return {}, text
    if not isinstance(values, dict):
        return {}, text
    return values, re.sub(r"[^\n]", " ", found[0]) + text[found.end() :]
