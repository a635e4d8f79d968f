"""Looks for phrases that a reader stumbles over, in the pages and in the texts of the code: `make lint` runs it.

`prose.yaml` beside this file holds the phrases and what to write instead. Code in Markdown is left out; in Python every
string with a space is read, which covers help texts, docstrings, descriptions of settings and messages. proselint was
tried: its checks are about American style, they cannot be given phrases from a file, and it does not read Python.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
VOCABULARY = Path(__file__).with_name("prose.yaml")
PAGES = ("*.md", "docs/**/*.md")
SOURCES = ("cli", "nodes", "workflows")
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def vocabulary(path: Path) -> dict[re.Pattern[str], str]:
    """What to write instead of each phrase: a regular expression, in which a space also matches a line break."""
    phrases: dict[str, str] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {re.compile(phrase.replace(" ", r"\s+"), re.IGNORECASE): instead for phrase, instead in phrases.items()}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a page or a module, each with the line on which it begins."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield 1, CODE.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), content)
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def findings(path: Path, phrases: dict[re.Pattern[str], str]) -> Iterator[tuple[int, str, str]]:
    """The line, the phrase and what to write instead, for each phrase that is found in a file."""
    for first, text in texts(path):
        for phrase, instead in phrases.items():
            for found in phrase.finditer(text):
                yield first + text.count("\n", 0, found.start()), " ".join(found[0].split()), instead


def main() -> int:
    """Print every finding; the exit status is 1 if there is one."""
    phrases, count = vocabulary(VOCABULARY), 0
    pages = [page for pattern in PAGES for page in ROOT.glob(pattern)]
    for path in sorted({*pages, *(module for folder in SOURCES for module in (ROOT / folder).rglob("*.py"))}):
        for line, phrase, instead in sorted(findings(path, phrases)):
            sys.stdout.write(f"{path.relative_to(ROOT)}:{line}: “{phrase}”: write {instead}\n")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
