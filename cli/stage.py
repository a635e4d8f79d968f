"""What is seen of a turn while it runs: a line of progress, then the reply word by word."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from langgraph.types import StreamPart
from rich.status import Status
from rich.text import Text

from dramaturg.cli.indexing import WORK
from dramaturg.cli.relation_evidence import points
from dramaturg.cli.screen import errors, excerpt, printable, screen

Event = Mapping[str, Any]
GATE = {
    "allow": "it is like the role",
    "revise": "it is not like the role, so it is said anew",
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
    "hypothesized": lambda _: "Looking for what the question is about …",
    "scoped": lambda _: "Recalling …",
    "mood": lambda _: "Recalling …",
    "dialogues": lambda event: f"Recalled {len(event['dialogues'])} dialogues …",
    "clique": lambda event: f"Recalling relations: {clique(event['clique'])} …",
    "record": lambda _: "Thinking of the answer …",
    "extracted": lambda _: "Thinking of the answer …",
    "recalled": lambda _: "Thinking of the answer …",
    "verified": lambda event: f"Draft {event['draft']}: {points(event['score'])} …",
    "identity": lambda event: f"Looked up who the role is: {event['triples']} triples …",
    "gate": lambda event: f"The gate: {GATE[event['verdict']]} …",
    "identity_changed": lambda event: f"Changes of who the role is: {event['changes']} …",
    "revising": lambda event: f"Revision {event['revision']}: {excerpt(event['reason'])}",
}
"""What is said of an event; of others nothing is."""


def gathered(event: Event) -> str:
    """How much was found in the files."""
    return f"{event['dialogues']} dialogues" if "dialogues" in event else f"{event['memories']} memories"


def clique(roles: Sequence[str]) -> str:
    """How many roles all speak with each other."""
    return f"{len(roles)} roles who all speak with each other" if roles else "the two have never spoken"


class Stage:
    """Shows the parts of a streamed turn."""

    def __init__(self, speaker: str) -> None:
        self.speaker = speaker
        self.status: Status = errors.status("Looking into the persona …")
        self.judged = self.accepted = 0
        self.speaking = False

    def __enter__(self) -> Self:
        self.status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.status.stop()
        if self.speaking:
            screen.print()

    def show(self, part: StreamPart[Any, Any]) -> None:
        """Show one part of the stream."""
        if part["type"] == "custom":
            self.progress(part["data"])
        elif part["type"] == "messages":
            chunk, _ = part["data"]
            self.speak(chunk.text)

    def progress(self, event: Event) -> None:
        """Say what is being done."""
        if event["event"] == "judged":
            self.judged += 1
            self.accepted += event["verdict"] == "yes"
            self.say(f"Judging passages: {self.judged} judged, {self.accepted} accepted …")
        elif event["event"] in STEPS:
            self.say(STEPS[event["event"]](event))

    def say(self, line: str) -> None:
        """Show a line of progress: a `Text`, because rich would read a string as markup."""
        self.status.update(Text(line))

    def speak(self, text: str) -> None:
        """Print the next words of the reply."""
        if text and not self.speaking:
            self.speaking = True
            self.status.stop()
            screen.print(f"{self.speaker}: ", style="bold green", end="")
        screen.print(printable(text), end="", soft_wrap=True)
