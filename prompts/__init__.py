"""Prompts are files, one a prompt and language: a chat of sections, filled in by name, with data fenced.

A file `judge.en.md` is a comment with the source, then sections headed `# system` and `# user`. `$name` stands for a
plain value, `$$` for a dollar sign; a value named in `data` is fenced: what came from a document or a user is put
between tags that its own text cannot close, and any other value is one line. A Korean particle behind a value is
written with both its forms, `$role은(는)`, `$role(으)로`, and follows the value's last sound.
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
# What nobody sees (Unicode's Default_Ignorable_Code_Point, and controls), and what may stand within a tag beside it.
UNSEEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
GAP = rf"[\s\u0300-\u036f{UNSEEN}]*"
TAG = re.compile(rf"(?:[<＜﹤]|&(?:lt|#0*60|#x0*3c);?)(?={GAP}(?:[/／⁄∕⧸\\]{GAP})?[^\W\d])", re.IGNORECASE)
"""What looks like the beginning of a tag, also with full-width or invisible characters and as an HTML entity."""
LONGEST_VALUE = 5000  # characters of a plain value
MADE = frozenset(
    {"limits", "bond", "situation", "self_image", "answers", "grounds", "before", "relations", "tasks", "example"}
)
"""Values that are put together from prompts, fences and plain lines; all others that are not fenced are one line."""
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
    return f"<{name}>\n{untagged(text)}\n</{name}>"


def untagged(text: str) -> str:
    """The text with another sign where something in it looks like the beginning of a tag."""
    return TAG.sub("‹", text)


def one_line(value: object, most: int = LONGEST_VALUE) -> str:
    """A value that stands in a line of a prompt, such as a name: nothing unseen, no line break, no tag, and bounded."""
    text = untagged(" ".join(re.sub(f"[{UNSEEN}]", "", str(value)[: 2 * most]).split()))
    return text if len(text) <= most else f"{text[:most]}…"


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
        """Fill in the values: those in `data` are fenced under their names, the others are one line, but for `MADE`.

        Raises:
            KeyError: the prompt names a value that is not given.
        """
        shown = {name: value if name in MADE else one_line(value) for name, value in values.items()}
        shown |= {name: fence(name, text) for name, text in (data or {}).items()}
        return [MESSAGES[kind](content=filled(text, shown)) for kind, text in self.sections]

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
