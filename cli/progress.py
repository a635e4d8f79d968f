"""What is seen of work while it is done: bars and a spinner on a terminal, whole lines in a pipe or a log."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from rich.filesize import decimal as size
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from dramaturg.cli.evidence.relations import points
from dramaturg.cli.output import errors, excerpt, note, screen

if TYPE_CHECKING:
    from langgraph.types import StreamPart

Event = Mapping[str, Any]
Show = Callable[[str, int, int | None], None]
"""Is told which work, how much of it is done, and how much there is; None: not known yet."""
WORK = {
    "facts": "Extracting facts",
    "pairs": "Comparing names",
    "reasons": "Saying why",
    "names": "Choosing names",
    "summaries": "Summing up",
    "moods": "Reading moods",
    "edges": "Weighing relations",
    "vectors": "Embedding",
}
"""What indexing asks a model for, by the `what` of its events."""
KNOWLEDGE = {"none": "the name alone", "profile": "the short profile"}
GATE = {
    "allow": "in character",
    "revise": "out of character, so it is rewritten",
    "block": "the role declines",
}
STEPS: Mapping[str, Callable[[Event], str]] = {
    "split": lambda event: f"Indexing {event['passages']} passages …",
    "gathered": lambda event: f"Indexing {gathered(event)} …",
    "embedded": lambda event: f"Embedding passages: {event['done']} of {event['total']} …",
    "asked": lambda event: f"{WORK[event['what']]}: {event['done']} of {event['total']} …",
    "evaluated": lambda event: f"Judged {len(event['retrieved'])} passages: {event['action']} …",
    "refined": lambda event: f"Kept {event['kept']} of {event['strips']} strips …",
    "searched": lambda event: f"Searched the web: {event['web_search']} …",
    "recalled talk": lambda event: f"Looked up what was said before: {event['exchanges']} came back …",
    "hypothesized": lambda _: "Looking for what the question is about …",
    "scoped": lambda _: "Recalling …",
    "mood": lambda _: "Recalling …",
    "dialogues": lambda event: f"Recalled {len(event['dialogues'])} dialogues …",
    "clique": lambda event: f"Recalling relations: {clique(len(event['clique']))} …",
    "record": lambda _: "Imagining an answer to search with …",
    "extracted": lambda _: "Imagining an answer to search with …",
    "recalled": lambda _: "Imagining an answer to search with …",
    "verified": lambda event: f"Draft {event['draft']}: {points(event['score'])} …",
    "identity": lambda event: f"Looked up who the role is: {event['triples']} triples …",
    "gate": lambda event: f"The gate: {GATE[event['verdict']]} …",
    "identity_changed": lambda event: f"Changes of who the role is: {event['changes']} …",
    "responding": lambda event: f"Answering from {KNOWLEDGE[event['knowledge']]} …",
    "revising": lambda event: f"Revision {event['revision']}: {excerpt(event['reason'])}",
}
"""What is said of an event of a turn; of others nothing is."""


def gathered(event: Event) -> str:
    """How much was found in the files."""
    return f"{event['dialogues']} dialogues" if "dialogues" in event else f"{event['memories']} memories"


def clique(roles: int) -> str:
    """How many roles all speak with each other."""
    return f"{roles} roles who all speak with each other" if roles else "the two have never spoken"


def watched() -> bool:
    """Whether somebody sees what is drawn over: elsewhere each line stays."""
    return errors.is_terminal and not errors.is_dumb_terminal


@contextmanager
def bars(first: str = "", *, sizes: bool = False) -> Iterator[Show]:
    """Show how far work is: a bar for each kind, or a line for each tenth of it.

    Args:
        first: what is done until the first kind of work begins.
        sizes: whether bytes are counted.
    """
    if not watched():
        if first:
            note(f"{first} …")
        yield written_tenths(size if sizes else "{:,}".format)
        return
    counted: tuple[ProgressColumn, ...] = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left:"))
    counts = (DownloadColumn(), TransferSpeedColumn()) if sizes else counted
    columns = (TextColumn("{task.description}"), BarColumn(), *counts, TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        waiting = [progress.add_task(first, total=None)] if first else []
        tasks: dict[str, TaskID] = {}

        def show(work: str, done: int, total: int | None) -> None:
            while waiting:
                progress.remove_task(waiting.pop())
            if work not in tasks:
                tasks[work] = progress.add_task(work, total=None)
            progress.update(tasks[work], completed=done, total=total)

        yield show


def counting(show: Show, work: str, total: int) -> Callable[[int], None]:
    """What is told how much of a kind of work is done, 0 where it begins, and shows it."""
    return lambda done: show(work, done, total)


def written_tenths(number: Callable[[int], str]) -> Show:
    """A line when work begins, and for each tenth of it that is done."""
    written: dict[str, int] = {}

    def show(work: str, done: int, total: int | None) -> None:
        tenth = 10 * done // total if total else 0
        if written.get(work) != tenth and total != 0:
            written[work] = tenth
            note(f"{work}: {number(done)} of {number(total)}" if total else f"{work} …")

    return show


@contextmanager
def waiting(line: str) -> Iterator[None]:
    """Show a spinner beside a line, or the line alone."""
    if not watched():
        note(line)
        yield
        return
    with errors.status(Text(line)):
        yield


class Stage:
    """Shows a streamed turn: a line of progress, then the reply word by word."""

    def __init__(self, speaker: str) -> None:
        self.speaker = speaker
        self.line = "Searching the persona …"
        self.spinner = errors.status(self.line) if watched() else None
        self.step = self.held = ""
        self.judged = self.accepted = self.failed = 0
        self.speaking = False
        self.message = ""
        self.names: dict[str, str] = {}
        """Who speaks in a node of a scene, by the name of the node."""

    def __enter__(self) -> Self:
        if self.spinner:
            self.spinner.start()
        else:
            note(self.line)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.end()

    def end(self) -> None:
        """End the line that is spoken."""
        if self.speaking:
            self.speaking = False
            screen.print()

    def show(self, part: "StreamPart[Any, Any]") -> None:
        """Show one part of the stream."""
        if part["type"] == "custom":
            self.progress(part["data"])
        elif part["type"] == "messages":
            chunk, about = part["data"]
            part_of, _, inside = str(about.get("langgraph_checkpoint_ns", "")).partition("|")
            node = part_of.partition(":")[0]
            self.speak(chunk.text, str(chunk.id), self.names.get(node, node) if inside else self.speaker)

    def progress(self, event: Event) -> None:
        """Say what is being done."""
        if event["event"] == "words":  # from a server
            self.speak(event["text"], event["message"], event["who"] or self.speaker)
        elif event["event"] == "speaks":
            self.names["speak"] = event["name"]
        elif event["event"] == "judged":
            self.judged += event["verdict"] != "failed"
            self.failed += event["verdict"] == "failed"
            self.accepted += event["verdict"] == "yes"
            failed = f", {self.failed} without an answer" if self.failed else ""
            self.say("judged", f"Judging passages: {self.judged} judged, {self.accepted} accepted{failed} …")
        elif event["event"] in STEPS:
            kind = f"{event['event']} {event.get('what', '')}"  # what is asked, and embedded, may go on side by side
            self.say(kind, STEPS[event["event"]](event))

    def say(self, step: str, line: str) -> None:
        """Show a line of progress; where lines stay, a step that counts is written when it begins and when it ends."""
        if self.speaking or line == self.line:
            return
        self.line = line
        if self.spinner:
            self.spinner.update(Text(line))  # a string would be read as markup
        elif step == self.step:
            self.held = line
        else:
            self.stop()
            note(line)
        self.step = step

    def stop(self) -> None:
        """End the spinner, or write the line that was held back."""
        if self.spinner:
            self.spinner.stop()
        if self.held:
            note(self.held)
            self.held = ""

    def speak(self, text: str, message: str = "", who: str = "") -> None:
        """Print the next words of the reply; in a flow with several speakers, each line with the part that says it."""
        if text and not self.speaking:
            self.stop()
            self.speaking = True
            first = who if who in self.names.values() else self.speaker
            screen.print(f"{first}: ", style="bold green", end="")
        elif text and message != self.message:
            screen.print(f"\n{who}: ", style="bold green", end="")
        self.message = message if text else self.message
        screen.print(text, end="", soft_wrap=True)
