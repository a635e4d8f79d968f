"""Final Draft: a screenplay whose paragraphs say what they are."""

from collections.abc import Iterator
from html.parser import HTMLParser

from dramaturg.stores.texts.cues import cue
from dramaturg.stores.texts.form import Unreadable
from dramaturg.stores.texts.staging import Direction, Piece, Speech, slugline


def is_final_draft(text: str) -> bool:
    """Return whether a text is a screenplay of Final Draft."""
    return text[:100].lstrip("\ufeff \r\n\t").startswith("<") and "<FinalDraft" in text[:2_000]


def read_final_draft(text: str) -> Iterator[Piece]:
    """Go over a screenplay, a heading, a speech or a direction at a time.

    Raises:
        Unreadable: it has no paragraphs, or nobody speaks.
    """
    found = _Paragraphs()
    found.feed(text)
    found.close()
    if not found.said:
        raise Unreadable("has no paragraphs of a screenplay: open it in Final Draft and save it again")
    speaker, at, words = "", "", list[str]()
    speeches = 0
    for number, (kind, inner) in enumerate(found.said, start=1):
        if kind in ("Dialogue", "Parenthetical", "Singing", "Lyrics") and speaker:
            words.append(inner)
            continue
        if speaker:
            speeches += bool(words)
            yield Speech(speaker, " ".join(words), at) if words else Direction(speaker)
        speaker, at, words = "", "", []
        if kind == "Character":
            speaking = cue(f"{inner}:", followed=True)
            speaker, at = (speaking.name if speaking else inner), f"paragraph {number}"
            words = [speaking.rest] if speaking and speaking.rest else []
        elif kind == "Scene Heading" and (head := slugline(inner, forced=True)):
            yield head
        else:
            yield Direction(inner)
    if speaker and words:
        speeches += 1
        yield Speech(speaker, " ".join(words), at)
    if not speeches:
        raise Unreadable("has nobody who speaks: its paragraphs have no characters with dialogue")


class _Paragraphs(HTMLParser):
    """The paragraphs of a file with their types, in order; knows no entities but those of characters, opens nothing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.said = list[tuple[str, str]]()
        self._open = list[tuple[str, list[str]]]()
        self._depth = {"content": 0, "text": 0}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._depth:
            self._depth[tag] += 1
        if tag == "paragraph" and self._depth["content"]:
            self._open.append((dict(attrs).get("type") or "Action", []))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An empty element has no text."""

    def handle_endtag(self, tag: str) -> None:
        if tag in self._depth:
            self._depth[tag] = max(0, self._depth[tag] - 1)
        if tag == "paragraph" and self._open:
            kind, inner = self._open.pop()
            if text := " ".join("".join(inner).split()):
                self.said.append((kind, text))

    def handle_data(self, data: str) -> None:
        if self._open and self._depth["text"]:
            self._open[-1][1].append(data)
