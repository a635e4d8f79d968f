"""The linter of phrases that `make lint` runs over the pages and the texts of the code."""

from pathlib import Path

import prose


def test_a_phrase_is_found_across_a_line_break_with_its_line_and_what_to_write_instead(tmp_path: Path) -> None:
    page, module = tmp_path / "page.md", tmp_path / "module.py"
    page.write_text("# Page\n\nA reply is held\nagainst it. `made anew`\n\n```\nanew\n```\n", encoding="utf-8")
    module.write_text('anew = 1\nhelp = "Make all of it anew."\n', encoding="utf-8")
    phrases = prose.vocabulary(prose.VOCABULARY)
    assert {(line, phrase) for line, phrase, _ in prose.findings(page, phrases)} == {
        (3, "is held against"),
        (3, "held against"),
    }
    assert list(prose.findings(module, phrases)) == [(2, "anew", "“again”")]
