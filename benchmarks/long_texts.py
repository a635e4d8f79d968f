"""Texts of people, documents and models, and ten times as long ones: how much longer what reads them takes.

Each function is timed on ten kinds of text, in processor time, and the worst ratio is shown: 10 is linear.

Run: python benchmarks/long_texts.py [--length 200000]
"""

import argparse
import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from langchain_core.messages import HumanMessage
from rich.console import Console
from rich.table import Table

from dramaturg.models.asking import without_control
from dramaturg.models.chat import chat_model
from dramaturg.models.extracted import Extracted, read_extracted, whole_sentences
from dramaturg.models.questions import write_message
from dramaturg.models.reading import object_in, word_answer
from dramaturg.nodes.graph.naming import named_in
from dramaturg.nodes.memories.index import words_of
from dramaturg.nodes.slips import slip_in
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.nodes.text.splitter import split_document
from dramaturg.nodes.turn import notes_in
from dramaturg.prompts import fence
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.testing import ScriptedChatModel

LEAST = 0.002  # seconds; what takes less is not told from nothing
ADA = RoleCard(name="Ada Quill", profile="A keeper of the light.")
PIECES = (
    "a",
    "yes ",
    "The lamp is lit. ",
    "灯亮了。",
    "\n",
    " ",
    "[",
    '{"a": "',
    "<think>",
    "< ",
    "...x",
    "# h\n",
    "- a\n",
)


class Names(Extracted):
    """A contract."""

    names: list[str]


def streamed(text: str) -> Any:
    """A reply that comes word by word, and of which it is asked whether it may be shown until enough is there."""
    chat = chat_model(ScriptedChatModel(write=text), attempts=1)
    return asyncio.run(
        write_message(chat, [HumanMessage("Who?")], may_show=lambda said, whole: whole or len(said) > LOOKED_AT or None)
    )


LOOKED_AT = 1000  # characters of a reply that are looked at before the first is shown
READERS: Mapping[str, Callable[[str], Any]] = {
    "object_in": object_in,
    "word_answer": lambda text: word_answer(text, ["yes", "no"]),
    "read_extracted": lambda text: read_extracted(Names, text),
    "read_extracted, cut": lambda text: read_extracted(Names, text, cut=True),
    "whole_sentences": whole_sentences,
    "notes_in": lambda text: notes_in(text, 960),
    "slip_in, the reply": lambda text: slip_in(text, "Who are you?", ADA),
    "slip_in, the question": lambda text: slip_in("I keep the light, and that is all.", text, ADA),
    "without_control": lambda text: without_control([HumanMessage(text)]),
    "fence": lambda text: fence("question", text),
    "split_document": lambda text: split_document(text, longest=2000),
    "sentences": lambda text: list(sentences(text)),
    "write_message": streamed,
    "words_of": words_of,
    "named_in": lambda text: named_in(text, {"Tom": ["Tom Quill"], "灯": ["灯塔"]}),
}


def seconds(read: Callable[[str], Any], text: str) -> float:
    """The processor time of one reading, refused or not."""
    begun = time.process_time()
    with suppress(ValueError, RuntimeError):
        read(text)
    return time.process_time() - begun


def main() -> None:
    """Print the worst ratio of each reader, and on what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=200_000, help="characters of the longer text")
    length = parser.parse_args().length
    table = Table("reader", "worst", "seconds", "text", title=f"{length // 10:,} and {length:,} characters")
    for name, read in READERS.items():
        found = []
        for piece in PIECES:
            short, long = ((piece * most)[:most] for most in (length // 10, length))
            found.append((seconds(read, long) / max(seconds(read, short), LEAST), seconds(read, long), piece))
        ratio, took, piece = max(found)
        table.add_row(name, f"{ratio:.1f}", f"{took:.2f}", repr(piece))
    Console().print(table)


if __name__ == "__main__":
    main()
