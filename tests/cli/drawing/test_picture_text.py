"""Texts in a picture: broken into lines where a reader expects it, and nothing of them lost but the end."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dramaturg.cli.drawing.lettering import wrapped

from property_settings import property_settings


@given(st.text(st.sampled_from("ab ,.我听，。등$")), st.integers(2, 12), st.integers(1, 4))
@property_settings(50)
def test_lines_hold_the_text_from_its_beginning(text: str, width: int, most: int) -> None:
    text = " ".join(text.split())
    lines = wrapped(text, lambda line: cell_len(line) <= width, most)
    assert len(lines) <= most
    assert all(line == line.strip() and cell_len(line) <= width + 2 for line in lines)
    told = "".join(lines).replace(" ", "")
    whole = text.replace(" ", "")
    assert told == whole or (told.endswith("…") and whole.startswith(told[:-1]) and len(lines) == most)


def test_lines_end_between_words() -> None:
    def fits(line: str) -> bool:
        return cell_len(line) <= 10

    assert wrapped("the old lamp of Leith", fits, 3) == ["the old", "lamp of", "Leith"]
    assert wrapped("the old lamp of Leith", fits, 2) == ["the old", "lamp of…"]
    assert wrapped("我听不见掌，声音。", fits, 2) == ["我听不见", "掌，声音。"]
    assert wrapped("unbelievably", fits, 2) == ["unbelievab", "ly"]
