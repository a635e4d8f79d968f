"""Prompts are files, one a prompt and language: a chat of sections, filled in by name, with data fenced.

A file `judge.en.md` is a comment with the source, then sections headed `# system` and `# user`. `$name` stands for a
plain value, `$$` for a dollar sign; a value named in `data` is fenced: what came from a document or a user is put
between tags that its own text cannot close.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

SECTION = re.compile(r"^# (system|user|assistant)[ \t]*\n", re.MULTILINE)
COMMENT = re.compile(r"\A(?:\s*<!--.*?-->)*", re.DOTALL)
TAG = re.compile(r"<(?=\s*/?\s*[A-Za-z_])")
MESSAGES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


def fence(name: str, text: str) -> str:
    """Put data between tags, and take the force from anything in it that looks like such a tag."""
    return f"<{name}>\n{TAG.sub('‹', text)}\n</{name}>"


@dataclass(frozen=True)
class Prompt:
    """A chat with places for values."""

    name: str
    sections: tuple[tuple[str, str], ...]

    def messages(self, *, data: Mapping[str, str] | None = None, **values: object) -> list[BaseMessage]:
        """Fill in the values; those in `data` are fenced under their names.

        Raises:
            KeyError: the prompt names a value that is not given.
        """
        fenced = {name: fence(name, text) for name, text in (data or {}).items()}
        return [MESSAGES[kind](content=Template(text).substitute(values, **fenced)) for kind, text in self.sections]


def parse(name: str, text: str) -> Prompt:
    """Read the sections of a prompt file."""
    body = SECTION.split(COMMENT.sub("", text))
    sections = tuple((kind, part.strip()) for kind, part in zip(body[1::2], body[2::2], strict=True))
    if body[0].strip() or not sections:
        msg = f"The prompt {name!r} must begin with a section `# system`, `# user` or `# assistant`."
        raise ValueError(msg)
    return Prompt(name, sections)


@cache
def load(name: str, language: str) -> Prompt:
    """Read the prompt `name` in `language` ("en", "zh" or "ko").

    Raises:
        ValueError: there is no such prompt in that language.
    """
    file = files("dramaturg.prompts") / f"{name}.{language}.md"
    if not file.is_file():
        msg = f"There is no prompt {name!r} in the language {language!r}."
        raise ValueError(msg)
    return parse(f"{name}.{language}", file.read_text(encoding="utf-8"))
