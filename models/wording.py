"""The few sentences that questions add to a prompt: files `<name>.<language>.md` beside this one."""

from functools import cache
from importlib.resources import files
from string import Template

from langchain_core.messages import HumanMessage

LANGUAGES = ("en", "zh", "ko")


@cache
def template(name: str, language: str) -> Template:
    """Read a sentence; a language that has none gets the English one."""
    known = language if language in LANGUAGES else "en"
    file = files("dramaturg.models") / f"{name}.{known}.md"
    return Template(file.read_text(encoding="utf-8").strip())


def say(name: str, language: str, **values: str) -> HumanMessage:
    """Fill in a sentence, as a message of the user."""
    return HumanMessage(template(name, language).substitute(values))
