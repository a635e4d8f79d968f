"""Nothing that people or models wrote moves the cursor, sets a title, or turns letters round, whatever prints it."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from dramaturg.cli import output
from dramaturg.cli.output import CleanConsole
from dramaturg.testing import write_role

from commands import Command

EVIL = "\x1b]0;owned\x07\x1b[31m\u202e\u200bRed\x9b31m\r"
FORBIDDEN = ("\x1b", "\x07", "\u202e", "\x9b", "\r", "\x08")


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A role whose every file has escapes in it."""
    folder = write_role(
        tmp_path,
        "eve",
        name=f"Eve {EVIL}",
        profile=f"A keeper {EVIL}.",
        persona=f"# Eve {EVIL}\n\nShe {EVIL} keeps the light.\n",
    )
    text = (folder / "chronicle.yaml").read_text()
    (folder / "chronicle.yaml").write_text(
        text.replace("a calm sea", '"a calm \\x1b[31m\\u202e sea"').replace("Ada Quill", "Eve")
    )
    for name in ("memories.jsonl", "dialogues/scenes.jsonl"):
        file = folder / name
        file.write_text(
            file.read_text().replace("lamp", "lamp \\u001b[31m\\u202e").replace("Tom", "Tom \\u001b]0;x\\u0007")
        )
    return folder


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "arguments",
    [
        ["roles"],
        ["show", "eve"],
        ["versions", "eve"],
        ["index", "eve", "--method", "amadeus"],
        ["index", "eve", "--method", "emotional-rag", "--dry-run"],
        ["index", "eve", "--method", "drmr"],
        ["ask", "eve", f"Who {EVIL}?", "--evidence"],
        ["ask", "eve", "Who?", "--method", "drmr", "--evidence"],
        ["ask", "eve", "Who?", "--method", "id-rag", "--evidence"],
        ["ask", "eve", "Who?", "--method", "emotional-rag", "--evidence"],
        ["chronicle", "eve"],
        ["memories", "eve"],
        ["emotions", "eve"],
        ["relations", "eve"],
        ["graph", "eve"],
        ["conversations", "eve"],
        ["forget", "eve", f"no{EVIL}"],
        ["show", f"no{EVIL}"],
        ["ask", "eve", "Who?", "--set", f"no{EVIL}=1"],
        ["ask", "eve", "Who?", "--method", f"no{EVIL}"],
        ["evaluate", "--role", "eve", "--methods", "profile", "--dry-run"],
        ["interview", "eve", "--dry-run"],
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[2:4]).replace(EVIL, "…"),
)
def test_no_command_prints_what_moves_the_terminal(run: Command, evil: Path, arguments: list[str]) -> None:
    _, out, err = run(*arguments)
    for said in (out, err):
        assert [one for one in FORBIDDEN if one in said] == []


@pytest.mark.parametrize("yaml", ['name: "Eve"\n"no\\x1b[31mkey": 1\n', 'name: "Eve"\nlanguage: "\\x1b]0;x\\x07"\n'])
def test_an_error_about_a_file_is_clean(run: Command, evil: Path, yaml: str) -> None:
    (evil / "role.yaml").write_text(yaml)
    for arguments in (["show", "eve"], ["roles"]):
        _, out, err = run(*arguments)
        assert [one for one in FORBIDDEN if one in out + err] == []


def test_the_door_cleans_whatever_is_given_and_keeps_its_own_colours() -> None:
    told = io.StringIO()
    console = CleanConsole(file=told, force_terminal=True, color_system="standard", markup=False, width=80)
    table = Table(f"head{EVIL}", title=EVIL, caption=EVIL)
    table.add_row(EVIL)
    for one in (EVIL, table, Panel(EVIL, title=EVIL)):
        console.print(one, style="red")
    console.print("Seen.", style="red")
    said = told.getvalue()
    assert "\x1b[31mSeen.\x1b[0m" in said
    assert "\x1b]0" not in said
    assert not {"\x07", "\u202e", "\x9b", "\u200b"} & {*said}


def test_commands_print_through_that_door() -> None:
    assert isinstance(output.screen, CleanConsole)
    assert isinstance(output.errors, CleanConsole)
    for file in Path(output.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert file.name == "output.py" or "Console(" not in text, file
        assert "typer.echo" not in text
        assert (
            "Console" not in text.replace("CleanConsole", "")
            or "import Console" not in text
            or file.name == "output.py"
        ), file


def test_a_console_of_riches_own_would_not() -> None:
    told = io.StringIO()
    Console(file=told, markup=False).print(EVIL)
    assert "\u202e" in told.getvalue()
