"""What the short commands import: nothing that only a conversation or an index needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dramaturg.cli.app import COMMANDS, imported

from roles import small_role

HEAVY = {
    *("faiss", "langchain", "langchain_core", "langchain_openai", "langgraph", "langsmith", "matplotlib"),
    *("networkx", "numpy", "openai", "pandas", "scipy", "sentence_transformers", "sklearn", "torch", "xllamacpp"),
}
PROGRAM = """\
import sys
from dramaturg.cli.app import main
for arguments in sys.argv[1:]:
    sys.argv = ["dramaturg", *arguments.split()]
    try:
        main()
    except SystemExit as ended:
        print("ended with", ended.code or 0, file=sys.stderr)
print("imported", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def started(library: Path, *commands: str, **variables: str) -> tuple[str, list[str], set[str]]:
    """Run commands in one new process; gives their output, how they ended, and the packages that were imported."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *commands],
        env={**os.environ, "DRAMATURG_LIBRARY": str(library), "COLUMNS": "200", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    *said, imported = ended.stderr.splitlines()
    return ended.stdout, said, set(imported.split()[1:])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("arguments", "shows"),
    [
        ("--version", "0."),
        ("--help", "What a role knows"),
        ("roles", "Ada"),
        ("roles --help", "List the roles of the library"),
        ("new kit --name Kit", "Write Markdown into"),
        ("models list --json", "minilm"),
    ],
)
def test_nothing_heavy_is_imported_for(arguments: str, shows: str, tmp_path: Path) -> None:
    small_role(tmp_path)
    out, said, imported = started(tmp_path, arguments)
    assert shows in out + "".join(said)
    assert imported & HEAVY == set()


LIGHT = (
    *("chat", "ask", "conversations", "export", "import", "roles", "new", "show", "index", "learn", "forget", "edit"),
    *("unmerge", "versions", "undo", "new-flow", "doctor", "models", "models pull"),
)


def test_nothing_heavy_is_imported_for_the_help_of_commands(tmp_path: Path) -> None:
    out, said, imported = started(tmp_path, *(f"{command} --help" for command in LIGHT))
    assert said == ["ended with 0"] * len(LIGHT)
    assert out.count("Usage:") == len(LIGHT)
    assert imported & HEAVY == set()


def test_nothing_heavy_is_imported_to_complete_a_name(tmp_path: Path) -> None:
    words = {"_DRAMATURG_COMPLETE": "complete_bash", "COMP_WORDS": "dramaturg cha", "COMP_CWORD": "1"}
    out, _, imported = started(tmp_path, "", **words)
    assert out.split() == ["chat"]
    assert imported & HEAVY == set()


def test_the_list_of_commands_says_what_they_say_of_themselves() -> None:
    listed = {name: about for commands in COMMANDS.values() for name, (_, about) in commands.items()}
    assert listed == {name: imported(name).help.splitlines()[0] for name in listed}


@pytest.mark.sample(1)
@pytest.mark.parametrize("module", ["dramaturg.workflows.amadeus", "dramaturg.conversations.opening"])
def test_a_method_imports_no_client_no_faiss_and_no_graphs_before_they_are_used(module: str) -> None:
    program = f"import sys, {module}; print(*sorted({{one.partition('.')[0] for one in sys.modules}}))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    later = {"faiss", "langchain_openai", "markdown_it", "matplotlib", "networkx", "openai", "sentence_transformers"}
    assert set(shown.split()) & (later | {"torch", "xllamacpp"}) == set()


ONE_TURN = """\
import asyncio, sys
from pathlib import Path
from dramaturg.workflows.amadeus import AmadeusContext, graph
from roles import actor, run_settings

library = Path(sys.argv[1])
question = {"messages": [("user", "Who keeps the light?")]}
output = asyncio.run(graph.ainvoke(question, context=AmadeusContext(**run_settings(library, actor()))))
print(output["messages"][-1].text, *sorted({"openai", "langchain_openai"} & {*sys.modules}))
"""


def test_a_role_is_indexed_and_answers_by_another_provider_s_client_without_that_of_openai(tmp_path: Path) -> None:
    small_role(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", ONE_TURN, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "I keep the light.\n"
