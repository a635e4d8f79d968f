"""Ctrl-C: a line says what is kept and what goes on; the process is gone in seconds, whatever a thread does."""

import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Self

from dramaturg.cli.output import errors, note, one_line

GRACE = 2.0  # seconds in which a command ends by itself after Ctrl-C
STOPPED = 130  # the exit status: 128 and the number of SIGINT
SHOW_CURSOR = "\x1b[?25h"  # which a bar or a spinner hides


class Stopping:
    """What Ctrl-C does while a command runs that this stands around.

    Coroutines are cancelled as asyncio does it, which then waits for its threads, and so does Python at its end. But
    who waits in a thread for an answer, or reads a model there, cannot be cancelled: a thread that the signal wakes,
    also where the main one is busy, ends the process `GRACE` seconds later. All that is stored is whole at any moment.
    """

    def __init__(self) -> None:
        self.line = ""

    def __enter__(self) -> Self:
        self.line, self.is_asked, self.goes_on = "Stopped.", False, False
        self._said = False
        self._ending: threading.Timer | None = None
        woken, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._before = signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(woken,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._before)
        self._waker.close()
        if self._ending:
            self._ending.cancel()

    def promise(self, line: str, *, goes_on: bool = False) -> None:
        """Say what is kept if the user stops the command from here on, and how to go on.

        Args:
            line: what follows “Stopped.”
            goes_on: Ctrl-C ends what is done, and not the command; who calls this ends it by `leave`.
        """
        self.line, self.goes_on = f"Stopped. {one_line(line)}", goes_on

    def leave(self, code: int = STOPPED) -> None:
        """End the process in `GRACE` seconds, if it has not ended by then."""
        self._ending = threading.Timer(GRACE, self._end, (code,))
        self._ending.daemon = True
        self._ending.start()

    def end(self) -> None:
        """Say what is kept, and end the process if it was Ctrl-C that ended the command."""
        self._said = True
        note(self.line, "dim")
        if self.is_asked:
            sys.stdout.flush()
            os._exit(STOPPED)

    def _watch(self, woken: socket.socket) -> None:
        with woken, suppress(OSError):
            while number := woken.recv(1):
                if number[0] == signal.SIGINT and not self.goes_on and not self.is_asked:
                    self.leave()
                self.is_asked |= number[0] == signal.SIGINT

    def _end(self, code: int) -> None:
        if code == STOPPED and not self._said:  # not through the console, which the main thread may hold
            cursor = SHOW_CURSOR if errors.is_terminal else ""
            os.write(2, f"{cursor}{self.line}\n".encode(errors="replace"))
        os._exit(code)


stopping = Stopping()
"""That of this process: it has one keyboard."""
