"""A process that has opened a library in a database ends without a word, whoever holds what of it."""

import json
import subprocess
import sys
from pathlib import Path

from dramaturg.stores.shared_library import SharedLibrary

from commands import Command

HELD = """\
import atexit, sys

# Registered first, this runs last: modules that are held are taken down late, and in no order that suits them.
atexit.register(lambda: setattr(sys, "held", [*sys.modules.values()]))
"""
LISTED = f"""{HELD}
from pathlib import Path
from dramaturg.stores.library import library_at

print(*library_at(sys.argv[1], Path(sys.argv[2])).roles())
"""
FORKED = """\
import os, sys
from pathlib import Path
from dramaturg.stores.library import library_at

library = library_at(sys.argv[1], Path(sys.argv[2]))
library.roles()
if child := os.fork():
    os.waitpid(child, 0)
    print(*library.roles())
"""
COMMAND = f"""{HELD}
from dramaturg.cli.app import main

main()
"""


def ended(script: str, *arguments: str) -> tuple[str, str]:
    """What a new process says, on both of its outputs."""
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    return process.stdout, process.stderr


def test_a_script_that_opens_a_library(postgres: str, tmp_path: Path) -> None:
    library = SharedLibrary(postgres, tmp_path / "one")
    library.open("beethoven")
    library.close()
    assert ended(LISTED, postgres, str(tmp_path / "other")) == ("beethoven\n", "")


def test_a_process_that_was_forked_leaves_the_connections_to_the_other(postgres: str, tmp_path: Path) -> None:
    library = SharedLibrary(postgres, tmp_path / "one")
    library.open("beethoven")
    library.close()
    assert ended(FORKED, postgres, str(tmp_path / "other")) == ("beethoven\n", "")


def test_a_command_that_keeps_a_conversation_there(run: Command, postgres: str) -> None:
    run("library", "push", postgres, "ada")
    asked = ("ask", "ada", "Who are you?", "--json", "--library", postgres, "--thread", "talk")
    said, errors = ended(COMMAND, *asked)
    assert (json.loads(said)["question"], errors) == ("Who are you?", "")
