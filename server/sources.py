"""What a reply rests on, where it stands: a document of a role, or a file of its lines, with the place marked."""

import asyncio
import re
from collections.abc import Mapping
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.server.rooms import Rooms
from dramaturg.server.talks import number_in
from dramaturg.server.work import Works
from dramaturg.stores.documents.forms import DialogueLine, document
from dramaturg.stores.documents.memories import form_of
from dramaturg.stores.documents.reading import read_lines
from dramaturg.stores.role import Role

A_PART = 40_000  # characters: a novel is shown part by part
LONGEST_QUOTE = 500
LINES = re.compile(r"(?P<file>.+\.jsonl):(?P<first>[0-9]{1,9})(–(?P<last>[0-9]{1,9}))?")


class Shown(NamedTuple):
    """A source as people read it, and which part of it is marked."""

    text: str
    mark: tuple[int, int] | None


class SourceTexts:
    """What the route does about the texts behind the reasons of a reply.

    Args:
        rooms: the roles.
        works: whether callers may see all that is written of a role, as who may change it does.
    """

    def __init__(self, rooms: Rooms, works: Works) -> None:
        self.rooms = rooms
        self.works = works

    async def source(self, request: Request) -> Response:
        """A part of a source: what is around a place, or follows a character (`from`) or precedes it (`to`)."""
        self.works.require_changes()  # evidence quotes what a reply needed; this is all that is written
        model = await asyncio.to_thread(self.rooms.model, request.path_params["role"])
        role = await asyncio.to_thread(self.rooms.library.open, model.role)
        asked = request.query_params
        name = asked.get("name", "")
        text, mark = await asyncio.to_thread(shown_source, role, name, asked)
        begin, end = mark or (0, 0)
        if "to" in asked:
            stop = min(number_in(asked, "to", 0), len(text))
            start = max(0, stop - A_PART)
        else:
            start = number_in(asked, "from", max(0, (begin + end - A_PART) // 2))
            stop = min(start + A_PART, len(text))
        begin, end = (min(max(one, start), stop) for one in (begin, end))
        parts = {"before": text[start:begin], "marked": text[begin:end], "after": text[end:stop]}
        about = {"role": role.id, "name": name, "start": start, "end": stop, "total": len(text)}
        return JSONResponse({"object": "source", **about, "found": mark is not None, **parts})


def shown_source(role: Role, name: str, asked: Mapping[str, str]) -> Shown:
    """A source by the name that evidence has; it may block.

    Args:
        role: whose it is.
        name: of a document, or of a file of lines with the numbers of some.
        asked: of a document, `quote` is how the marked text begins, and `begin` and `end` are where it stood.

    Raises:
        HTTPException: the role has no such file.
    """
    if name in role.persona.names():
        text = document(role.persona.read(name), *role.persona.place(name)).text
        return Shown(text, place_of(text, asked))
    if (found := LINES.fullmatch(name)) and found["file"] in role.memory_files.names():
        first = int(found["first"])
        return lines_shown(role, found["file"], range(first, int(found["last"] or first) + 1))
    raise HTTPException(404, "This character has no such document: it was renamed or removed since.")


def place_of(text: str, asked: Mapping[str, str]) -> tuple[int, int] | None:
    """Where a passage stands in a text that may have been edited since; None: nowhere."""
    quote = asked.get("quote", "")[:LONGEST_QUOTE]
    begin, end = number_in(asked, "begin", 0), number_in(asked, "end", 0)
    found = begin if text.startswith(quote, begin) else text.find(quote)
    return (found, found + max(end - begin, len(quote))) if quote and found >= 0 else None


def lines_shown(role: Role, file: str, marked: range) -> Shown:
    """A file of lines as people read it: scenes with who says what, or memories."""
    (path, root), parts, length, scene, places = role.memory_files.place(file), list[str](), 0, "", list[int]()
    for number, line in read_lines(path, form_of(file), root).items():
        if isinstance(line, DialogueLine):
            head = f"\n{line.scene}\n\n" if line.scene != scene else ""
            scene, said = line.scene, f"{line.speaker}: {line.text}"
        else:
            head, said = "\n", "\n".join(filter(None, (line.when, line.question, line.answer, line.text)))
        if number in marked:
            places += [length + len(head), length + len(head) + len(said)]
        parts.append(f"{head}{said}\n")
        length += len(parts[-1])
    return Shown("".join(parts), (min(places), max(places)) if places else None)
