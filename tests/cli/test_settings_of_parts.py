"""`--set` for the settings of a part, and `--prompts`: prompts of one's own."""

import json
from pathlib import Path

import pytest

from dramaturg.cli.options import settings_of
from dramaturg.prompts import load

from commands import Command
from stub_endpoint import Endpoint

ENSEMBLE = ("ask", "ada", "Do storms frighten you?", "--method", "ensemble", "--set", "parts=passages, identity")


def test_names_with_dots_are_settings_of_a_part() -> None:
    given = ["passages.slots=1", "passages.judged-at-once=2", "verify=false", "scope={recent: 2}", "scope.hops=1"]
    assert settings_of(given) == {
        "passages": {"slots": 1, "judged_at_once": 2},
        "verify": False,
        "scope": {"recent": 2, "hops": 1},
    }


def test_a_part_has_the_settings_that_are_given_it(run: Command) -> None:
    code, said, error = run(*ENSEMBLE, "--set", "passages.slots=1", "--set", "passages.knowledge=2", "--json")
    assert (code, error) == (0, "")
    evidence = json.loads(said)["evidence"]
    assert evidence["parts"] == ["passages", "identity"]
    assert len(evidence["selection"]["selected"]) == 1
    assert len(evidence["knowledge"]) == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("passages.slotz=1", "ensemble has no setting 'passages.slotz'; did you mean 'slots'?"),
        ("passages.slots=many", "passages.slots: Input should be a valid integer"),
        ("passages.role=wukong", "passages: Value error, a part has no role of its own."),
        ("passage.slots=1", "ensemble has no setting 'passage'; did you mean 'passages'?"),
        ("parts=passage,scope", "parts: Input should be 'passages', 'scope', 'memories', 'relations' or 'identity'."),
    ],
)
def test_a_setting_of_a_part_that_cannot_be_used_is_named_with_the_part(run: Command, given: str, says: str) -> None:
    code, _, error = run(*ENSEMBLE, "--set", given)
    assert code == 2
    assert says in error


def test_a_part_is_no_value(run: Command) -> None:
    code, _, error = run(*ENSEMBLE, "--set", "verify=true", "--set", "verify.alpha=3")
    assert (code, error) == (2, "Error: --set verify.alpha: verify has been given another value already.")


def test_what_took_part_is_shown_with_the_evidence(run: Command) -> None:
    code, said, _ = run(*ENSEMBLE, "--evidence")
    assert code == 0
    assert "Taking part: passages, identity" in said
    assert "The reply rests on " in said
    assert "left out: nothing." in said


# Prompts of one's own


def own_prompt(folder: Path, words: str, name: str = "respond_by_name.en") -> None:
    """Write the package's prompt with other words in front."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = load(*name.split(".")).sections
    text = "\n\n".join(f"# {kind}\n\n{words} {said}" for kind, said in sections)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def last_asked(stub: Endpoint) -> str:
    return "\n".join(message["content"] for message in stub.asked[-1]["messages"])


def test_a_prompt_of_ones_own_comes_before_the_roles_and_the_packages(
    run: Command, stub: Endpoint, tmp_path: Path
) -> None:
    own = tmp_path / "words"
    own_prompt(own, "By the folder.")
    ask = ("ask", "ada", "Who are you?", "--method", "vanilla")
    assert run(*ask, "--prompts", str(own))[0] == 0
    assert "By the folder." in last_asked(stub)
    assert run(*ask)[0] == 0
    assert "By the" not in last_asked(stub)
    own_prompt(tmp_path / "ada" / "prompts", "By the role.")
    assert run(*ask)[0] == 0
    assert "By the role." in last_asked(stub)
    assert run(*ask, "--prompts", str(own))[0] == 0
    assert "By the folder." in last_asked(stub)
    assert run(*ask, "--prompts", str(own), "--set", "language=zh")[0] == 0  # language by language
    assert "By the" not in last_asked(stub)


@pytest.mark.parametrize("command", ["ask", "chat", "interview", "evaluate", "index"])
def test_a_prompt_that_lacks_a_value_is_refused_by_its_name(run: Command, tmp_path: Path, command: str) -> None:
    own = tmp_path / "words"
    own.mkdir()
    (own / "judge.en.md").write_text("# system\n\nYou judge.\n\n# user\n\nIs it so?", encoding="utf-8")
    (tmp_path / "ada" / "questions.jsonl").write_text('{"question": "Who are you?"}\n', encoding="utf-8")
    arguments = {
        "ask": ("ask", "ada", "Who are you?"),
        "chat": ("chat", "ada"),
        "interview": ("interview", "ada", "--limit", "1", "--out", str(tmp_path / "interview.json")),
        "evaluate": ("evaluate", "--methods", "vanilla", "--role", "ada", "--out", str(tmp_path / "run")),
        "index": ("index", "ada"),
    }
    code, _, error = run(*arguments[command], "--prompts", str(own))
    assert code == 2
    assert "judge.en.md" in error
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_not_there_is_refused(run: Command, tmp_path: Path) -> None:
    code, _, error = run("ask", "ada", "Who are you?", "--prompts", str(tmp_path / "nowhere"))
    assert code == 2
    assert "nowhere" in error.replace(" ", "").replace("│", "")
    assert "does not exist" in error


def test_a_folder_of_prompts_is_no_setting(run: Command, tmp_path: Path) -> None:
    code, _, error = run("ask", "ada", "Who are you?", "--set", f"prompts={tmp_path}")
    assert code == 2
    assert "prompts: Input should be an instance of Path" in error
