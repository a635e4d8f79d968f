"""What mkdocs is told beside mkdocs.yml: files of the repository that pages link to are pages of the site, too.

The Markdown is read in the repository as well, where a link leads from a page to the code. On the site such a file is
a page of its own under `source/`, so that no link leaves the site. The changelog is taken from CHANGELOG.md.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml", ".js": "js"}
TAKEN = {"CHANGELOG.md": "changelog.md", "README.md": "index.md"}


@event_priority(100)
def on_config(config: Any) -> Any:
    """The folders of the repository as the package that they make, where mkdocstrings looks for it.

    It comes first, because mkdocstrings forgets a path that is not there yet.
    """
    package = ROOT / "build" / "api" / "dramaturg"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    for folder in ("conversations", "models", "nodes", "prompts", "stores", "testing", "workflows"):
        if not (package / folder).exists():
            (package / folder).symlink_to(ROOT / folder)
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the changelog, and a page for each file outside of docs/ that a page links to."""
    log = LINK.sub(_of_root, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    wanted = set(_outside(log, ROOT / "docs"))
    for page in files.documentation_pages():
        wanted |= set(_outside(page.content_string, DOCS / page.src_uri))
    for path in sorted(wanted - TAKEN.keys()):
        text = (ROOT / path).read_text(encoding="utf-8")
        fence = f"````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n````"
        body = f"---\nsearch: {{exclude: true}}\n---\n# {path}\n\n{fence}\n"
        files.append(File.generated(config, f"source/{path}.md", content=body))
    files.append(File.generated(config, "changelog.md", content=log))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of docs/ lead to those pages."""
    place = page.file.src_uri
    if place == "changelog.md":
        return markdown
    here = DOCS / place

    def inside(match: re.Match[str]) -> str:
        path = _relative(match[1], here)
        if path is None:
            return match[0]
        target = TAKEN.get(path, f"source/{path}.md")
        section = (match[2] or "") if path == "CHANGELOG.md" else ""
        return f"]({os.path.relpath(target, os.path.dirname(place) or '.')}{section})"  # noqa: PTH120

    return LINK.sub(inside, markdown)


def _outside(text: str, here: Path) -> list[str]:
    found = (_relative(match[1], here) for match in LINK.finditer(text))
    return [path for path in found if path is not None]


def _relative(link: str, here: Path) -> str | None:
    """The path from the root of the repository of a file that lies outside of docs/."""
    target = Path(os.path.normpath(here.parent / link))
    if target.is_relative_to(DOCS) or not target.is_file() or not target.is_relative_to(ROOT):
        return None
    return target.relative_to(ROOT).as_posix()


def _of_root(match: re.Match[str]) -> str:
    """A link of CHANGELOG.md, which lies beside docs/."""
    return f"]({match[1].removeprefix('docs/')}{match[2] or ''})"
