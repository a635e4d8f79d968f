"""Prompts are files, one a prompt and language: a chat of sections, filled in by name, with data fenced.

A file `judge.en.md` is a comment with the source, then sections headed `# system` and `# user`. `$name` stands for a
plain value, `$$` for a dollar sign; a value named in `data` is fenced: what came from a document or a user is put
between tags that its own text cannot close. A Korean particle behind a value is written with both its forms,
`$role은(는)`, `$role(으)로`, and follows the value's last sound.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from string import Template

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

LANGUAGES = ("en", "zh", "ko")
LARGEST = 65_536  # bytes of a prompt of a user's own
SECTION = re.compile(r"^# (system|user|assistant)[ \t]*\n", re.MULTILINE)
COMMENT = re.compile(r"\A(?:\s*<!--.*?-->)*", re.DOTALL)
TAG = re.compile(r"<(?=\s*+(?:/\s*+)?[A-Za-z_])")  # possessive: a run of spaces is read once
PARTICLES: Mapping[str, tuple[str, str]] = {
    "은(는)": ("은", "는"),
    "이(가)": ("이", "가"),
    "을(를)": ("을", "를"),
    "과(와)": ("과", "와"),
    "와(과)": ("과", "와"),
    "(으)로": ("으로", "로"),
    "(이)": ("이", ""),
}
"""Korean particles, such as `$role(이)라고`: behind a consonant, and behind a vowel."""
PARTICLE = re.compile(
    r"(?<!\$)\$\{?(?P<name>[a-z_]+)\}?(?P<marks>[\"'”’)]*)" + f"(?P<both>{'|'.join(map(re.escape, PARTICLES))})"
)
# How names in Latin letters are mostly spoken in Korean: Tom and Jack end in a consonant, Robert and Alice in a vowel.
SPOKEN_CONSONANT = re.compile(r"(?:[lmn]e?|ng|(?<![aeiouy])[aeiou](?:ck|[bkp]|tt?))$")
MESSAGES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


def fence(name: str, text: str) -> str:
    """Put data between tags, and take the force from anything in it that looks like such a tag."""
    return f"<{name}>\n{TAG.sub('‹', text)}\n</{name}>"


def filled(text: str, values: Mapping[str, object]) -> str:
    """Put values in their places, with the form of a Korean particle that is spoken behind them.

    Raises:
        KeyError: a value is not given.
    """

    def chosen(match: re.Match[str]) -> str:
        name, both = match["name"], match["both"]
        return f"${{{name}}}{match['marks']}{particle(str(values.get(name, '')), both)}"

    return Template(PARTICLE.sub(chosen, text)).substitute(values)


def particle(word: str, both: str) -> str:
    """The form of a Korean particle behind a word; both forms, where its letters do not tell how it is spoken."""
    last = "".join(filter(str.isalnum, unicodedata.normalize("NFC", word)))[-1:]
    latin = "".join(filter(str.isascii, unicodedata.normalize("NFKD", word))).rstrip(" \"').]").lower()
    if "가" <= last <= "힣":
        final = (ord(last) - ord("가")) % 28
        consonant, is_l = final > 0, final == 8
    elif last.isdecimal():
        consonant, is_l = int(last) in {0, 1, 3, 6, 7, 8}, int(last) in {1, 7, 8}
    elif latin[-1:].isalpha() and unicodedata.name(last, "").startswith("LATIN"):
        consonant, is_l = bool(SPOKEN_CONSONANT.search(latin)), latin.endswith(("l", "le"))
    else:
        return both
    behind_consonant, behind_vowel = PARTICLES[both]
    return behind_consonant if consonant and not (is_l and both == "(으)로") else behind_vowel


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
        return [MESSAGES[kind](content=filled(text, {**values, **fenced})) for kind, text in self.sections]

    @property
    def places(self) -> set[str]:
        """The names of the values that it shows."""
        return {name for _, text in self.sections for name in Template(text).get_identifiers()}


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
    """Read the package's prompt `name` in `language` ("en", "zh" or "ko").

    Raises:
        ValueError: there is no such prompt in that language.
    """
    file = files("dramaturg.prompts") / f"{name}.{language}.md"
    if not file.is_file():
        msg = f"There is no prompt {name!r} in the language {language!r}."
        raise ValueError(msg)
    return parse(f"{name}.{language}", file.read_text(encoding="utf-8"))


def prompts_in(folder: Path) -> dict[str, Prompt]:
    """Read the prompts of a folder by name and language, such as "judge.en"; none if there is no such folder.

    One that stands in the place of a prompt of the package has its sections and shows its values, in words of its own.

    Raises:
        ValueError: one of them cannot be used, and why.
    """
    return {file.stem: _own(file, file.stat().st_mtime_ns) for file in sorted(folder.glob("*.md"))}


def digest_of(folder: Path) -> str:
    """What the prompts of a folder say, as a digest: with other words of one of them it is another.

    Raises:
        ValueError: one of them cannot be used, and why.
    """
    said = sorted((name, prompt.sections) for name, prompt in prompts_in(folder).items())
    return hashlib.sha256(repr(said).encode()).hexdigest()


@lru_cache(maxsize=1024)
def _own(file: Path, changed: int) -> Prompt:
    """A prompt of a user's, as it was when it was last changed."""
    name, _, language = file.stem.rpartition(".")
    if language not in LANGUAGES:
        raise ValueError(f"The prompt {file} has no language: call it {file.stem}.en.md, .zh.md or .ko.md.")
    if file.stat().st_size > LARGEST:
        raise ValueError(f"The prompt {file} is larger than {LARGEST} bytes.")
    try:
        prompt = parse(str(file), file.read_text(encoding="utf-8"))
        prompt.messages(data=dict.fromkeys(prompt.places, ""))
    except ValueError as error:  # no text in UTF-8, no sections, or a dollar sign that names nothing
        raise ValueError(f"The prompt {file} cannot be read: {error}") from error
    if not (files("dramaturg.prompts") / f"{file.stem}.md").is_file():
        return prompt
    packaged = load(name, language)
    if [kind for kind, _ in prompt.sections] != [kind for kind, _ in packaged.sections]:
        wanted = ", ".join(f"# {kind}" for kind, _ in packaged.sections)
        raise ValueError(f"The prompt {file} must have the sections of the package's: {wanted}.")
    lacks, unknown = sorted(packaged.places - prompt.places), sorted(prompt.places - packaged.places)
    if lacks or unknown:
        wrong = [f"lacks ${one}" for one in lacks] + [f"asks for ${one}, which nobody gives" for one in unknown]
        raise ValueError(f"The prompt {file} {' and '.join(wrong)}: show each value that the package's prompt shows.")
    return prompt
