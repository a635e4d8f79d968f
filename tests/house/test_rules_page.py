"""docs/reference/rules.md lists every setting in which we deviate from a paper."""

from rules_page import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `make docs`."
