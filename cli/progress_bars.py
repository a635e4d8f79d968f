"""Progress of long work, with the time that is left; nothing where nobody is looking."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from dramaturg.cli.screen import errors


def bars() -> Progress:
    """A bar for each kind of work that is added; they go when the work is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    return Progress(*columns, *times, console=errors, transient=True, disable=not errors.is_terminal)
