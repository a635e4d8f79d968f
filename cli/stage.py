"""What is seen of a turn while it runs: a line of progress, then the reply word by word."""

from typing import Any, Self

from langgraph.types import StreamPart
from rich.status import Status

from dramaturg.cli.indexing import WORK
from dramaturg.cli.screen import errors, printable, screen


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

    def progress(self, event: dict[str, Any]) -> None:
        """Say what is being done."""
        match event["event"]:
            case "split":
                self.status.update(f"Indexing {event['passages']} passages …")
            case "embedded":
                self.status.update(f"Embedding passages: {event['done']} of {event['total']} …")
            case "asked":
                self.status.update(f"{WORK[event['what']]}: {event['done']} of {event['total']} …")
            case "hypothesized":
                self.status.update("Looking for what the question is about …")
            case "gathered":
                self.status.update(f"Indexing {event['memories']} memories …")
            case "scoped" | "mood":
                self.status.update("Recalling …")
            case "judged":
                self.judged += 1
                self.accepted += event["verdict"] == "yes"
                self.status.update(f"Judging passages: {self.judged} judged, {self.accepted} accepted …")
            case "extracted" | "recalled":
                self.status.update("Thinking of the answer …")

    def speak(self, text: str) -> None:
        """Print the next words of the reply."""
        if text and not self.speaking:
            self.speaking = True
            self.status.stop()
            screen.print(f"{self.speaker}: ", style="bold green", end="")
        screen.print(printable(text), end="", soft_wrap=True)
