"""`dramaturg evaluate` and `report`: what it would cost, what it says, and what went wrong in a sentence."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from made_runs import made_run

from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.judging import printed
from dramaturg.evaluation.judging.judges import JUDGES
from dramaturg.evaluation.judging.lines import SPEAKER
from dramaturg.evaluation.judging.standing import ANCHORS, Measured
from dramaturg.evaluation.judging.verdicts import Standing, keep_standings

from commands import Command
from evaluations import QUESTIONS, RIGHT
from fakes import ScriptedChatModel
from roles import actor, said
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(4)

METHODS = ("--methods", "vanilla,profile", "--role", "ada")


@pytest.fixture(autouse=True)
def asked(stub: Endpoint, run: Command, tmp_path: Path) -> Iterator[list[Any]]:
    """What the endpoint is asked; Ada has questions."""
    lines = "".join(json.dumps(one) + "\n" for one in QUESTIONS)
    (tmp_path / "ada" / "questions.jsonl").write_text(lines, encoding="utf-8")
    stub.model = actor(reply=RIGHT)
    stub.asked.clear()
    yield stub.asked
    stub.model = actor()


def chats(asked: list[Any]) -> list[Any]:
    return [body for body in asked if "messages" in body]


@pytest.fixture
def out(tmp_path: Path) -> str:
    return str(tmp_path / "run")


def test_a_dry_run_asks_nothing_and_leaves_nothing(run: Command, out: str, asked: list[Any]) -> None:
    wishes = ("--metrics", "accuracy", "--seeds", "0,1", "--out", out, "--dry-run", "--json")
    code, text, _ = run("evaluate", *METHODS, *wishes)
    told = json.loads(text)
    found = {one["what"]: (one["left"], one["done"]) for one in told["to_ask"]}
    assert code == 0
    assert told["notes"][0] == "There is one role, ada: nothing will be concluded beyond it, whatever it shows."
    assert told["notes"][-1] == "The others are compared with vanilla (--baseline)."
    # Two of three questions have an answer; floor and ceiling are judged too, and cost no call themselves.
    bounds = {"replies of always-declines": (3, 0), "replies of right-answers": (2, 0)}
    methods = {"replies of vanilla": (6, 0), "replies of profile": (6, 0)}
    assert found == {**methods, **bounds, "accuracy": (8 + 2 + 2, 0)}
    _, text, _ = run("evaluate", *METHODS, *wishes, "--no-bounds")
    assert {one["what"]: one["left"] for one in json.loads(text)["to_ask"]}["accuracy"] == 8
    assert chats(asked) == []
    assert not Path(out).exists()


def test_names_are_separated_by_commas_or_each_has_its_own_option(run: Command, out: str, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "ada", tmp_path / "bea")
    together = ("--methods", "vanilla,profile", "--role", "ada,bea", "--metrics", "accuracy,refusal", "--seeds", "0,1")
    apart = [
        part
        for name, of in zip(together[::2], together[1::2], strict=True)
        for one in of.split(",")
        for part in (name, one)
    ]
    found = [run("evaluate", *one, "--out", out, "--dry-run", "--json")[:2] for one in (together, apart)]
    assert found[0] == found[1]
    assert found[0][0] == 0
    assert "2 roles" in json.loads(found[0][1])["notes"][0]


def test_a_method_with_settings_stands_under_its_name_everywhere(
    run: Command, out: str, asked: list[Any], interviewed: tuple[str, str]
) -> None:
    """In the dry run, the numbers, the interviews and the report; commas within brackets divide settings."""
    inventory, _ = interviewed
    named = "vanilla[redraws=0,temperature=0.1]"
    methods = ("--methods", "vanilla,vanilla[temperature=0.1, redraws=0]", "--role", "ada")
    wishes = (*methods, "--metrics", f"similarity,{inventory}", "--baseline", named, "--no-bounds", "--out", out)
    told = json.loads(run("evaluate", *wishes, "--dry-run", "--json")[1])
    assert [one["what"] for one in told["to_ask"]][:2] == ["replies of vanilla", f"replies of {named}"]
    assert told["notes"][-1] == f"The others are compared with {named} (--baseline)."
    code, text, _ = run("evaluate", *wishes, "--json")
    found = json.loads(text)
    assert (code, found["valid"]) == (0, True)
    assert [one["contestant"] for one in found["rows"]] == ["vanilla", named]
    assert found["run"]["methods"] == {"vanilla": {"rules": "paper"}, named: {"rules": "paper"}}
    assert {one["contestant"] for one in found["interviews"]["portraits"]} == {"vanilla", named}
    assert {body["temperature"] for body in chats(asked)} >= {0.1}
    asked.clear()
    screen = " ".join(run("evaluate", *wishes)[1].split())
    assert f"Differences from {named}" in screen
    assert chats(asked) == []


def test_a_dry_run_counts_what_indexes_ask(run: Command, out: str, asked: list[Any]) -> None:
    index = json.loads(run("index", "ada", "--method", "role-rag", "--dry-run", "--json")[1])
    wishes = ("--methods", "role-rag,vanilla", "--role", "ada", "--out", out, "--dry-run")
    found = {one["what"]: one for one in json.loads(run("evaluate", *wishes, "--json")[1])["to_ask"]}
    assert found["index of role-rag"]["left"] == found["index of role-rag"]["calls"] == index["questions"] > 0
    assert found["index of role-rag"]["tokens"] == pytest.approx(300 * index["questions"] + index["characters"] / 3)
    assert "index of vanilla" not in found
    _, text, _ = run("evaluate", *wishes)
    assert "in all" in text
    assert "names that look alike" in " ".join(text.split())
    assert chats(asked) == []


def test_a_run_writes_its_report_and_shows_its_numbers(run: Command, out: str, asked: list[Any]) -> None:
    code, text, err = run("evaluate", *METHODS, "--out", out)
    assert code == 0
    assert len(chats(asked)) == 6
    assert "similarity" in text
    assert "right answers" not in err  # likeness is no judge
    assert {path.name for path in Path(out).iterdir()} >= {"plan.json", "records.jsonl", "report.md", "report.html"}
    assert "By the papers' rules: vanilla, profile." in (Path(out) / "report.md").read_text(encoding="utf-8")


def test_a_judge_that_says_yes_to_everything_is_named(run: Command, out: str, stub: Endpoint) -> None:
    stub.model = ScriptedChatModel(reply=lambda of: '{"answer": "yes"}' if '"answer"' in said(of) else "So it is.")
    _, _, err = run("evaluate", *METHODS, "--metrics", "accuracy", "--out", out)
    assert "from accuracy by stub (†): it does not tell right answers from a sentence that" in " ".join(err.split())


def test_talks_are_counted_before_and_told_after(run: Command, out: str, asked: list[Any]) -> None:
    wishes = (*METHODS, "--metrics", "recall", "--turns", "3", "--no-bounds", "--out", out)
    to_ask = json.loads(run("evaluate", *wishes, "--dry-run", "--json")[1])["to_ask"]
    found = {one["what"]: one["left"] for one in to_ask}
    assert found == {"replies of vanilla": 9, "replies of profile": 9, "recall": 4}
    assert chats(asked) == []
    assert run("evaluate", *wishes)[0] == 0
    assert len(chats(asked)) == 18
    assert "| profile | 2 | 0.000" in (Path(out) / "report.md").read_text(encoding="utf-8")


def test_a_report_is_made_again_without_a_model(run: Command, out: str, asked: list[Any]) -> None:
    run("evaluate", *METHODS, "--out", out)
    (Path(out) / "report.html").unlink()
    asked.clear()
    code, text, _ = run("report", out, "--json")
    found = json.loads(text)
    assert code == 0
    assert asked == []
    numbers = [(one["contestant"], one["interval"]["n_values"]) for one in found["rows"]]
    assert numbers == [("vanilla", 2), ("profile", 2), ("always-declines", 2), ("right-answers", 2)]
    assert found["valid"]
    of = found["run"]
    assert of["methods"] == {"vanilla": {"rules": "paper"}, "profile": {"rules": "paper"}}
    assert (of["roles"], of["questions"], of["seeds"], of["compared_with"]) == (["ada"], {"ada": 3}, [0], "vanilla")
    assert all((of["dramaturg"], of["model"], of["embedding_models"]))
    assert of["judges"] == []  # similarity is embedded
    assert (Path(out) / "report.html").is_file()


def test_what_was_done_is_known_to_the_next_dry_run(run: Command, out: str) -> None:
    run("evaluate", *METHODS, "--out", out, "--limit", "1")
    _, text, _ = run("evaluate", *METHODS, "--from", out, "--out", f"{out}2", "--dry-run", "--json")
    found = {one["what"]: one for one in json.loads(text)["to_ask"]}
    assert (found["replies of vanilla"]["left"], found["replies of vanilla"]["done"]) == (2, 1)
    assert found["replies of vanilla"]["basis"] == "1 replies of this run"
    assert found["replies of vanilla"]["calls"] == 2


def test_a_run_stops_at_its_cap_and_goes_on(run: Command, out: str, asked: list[Any]) -> None:
    code, _, err = run("evaluate", *METHODS, "--out", out, "--most-calls", "4")
    assert (code, "the same command goes on" in err) == (0, True)
    assert "This run is incomplete" in err
    assert len(chats(asked)) == 4
    run("evaluate", *METHODS, "--out", out)
    assert len(chats(asked)) == 6


@pytest.fixture
def interviewed(stub: Endpoint, asked: list[Any], tmp_path: Path) -> tuple[str, str]:
    """An inventory with labels; the endpoint answers for the role, and as its judge."""

    def answer(messages: list[BaseMessage]) -> str:
        judging = "<answers>" in said(messages)
        return '{"analysis": "so it seems", "result": {"E": 80, "I": 20}}' if judging else "I like people."

    stub.model = ScriptedChatModel(reply=answer)
    dimension = {"name": "E/I", "high": "E", "low": "I", "description": {"en": "What it means."}}
    item = {"id": "1", "dimension": "E/I", "key": "high", "statement": {"en": "I go out."}, "question": {"en": "Out?"}}
    about = {"name": "tiny", "licence": "CC0-1.0", "source": "a test", "scale": {"low": 1, "high": 7}}
    inventory, labels = tmp_path / "tiny.yaml", tmp_path / "labels.json"
    inventory.write_text(json.dumps({**about, "scores": "percent", "dimensions": [dimension], "items": [item]}))
    labels.write_text(json.dumps({"ada-en": {"alias": [], "experimenter": "Tom", "labels": {"MBTI": "E"}}}))
    return str(inventory), str(labels)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--methods", "vanila", "--role", "ada"), "did you mean 'vanilla'"),
        (("--methods", "vanilla[windo=3]", "--role", "ada"), "did you mean 'window'"),
        (("--methods", "vanilla,vanilla[rules=paper]", "--role", "ada"), "are the same"),
        (("--methods", ",", "--role", "ada"), "--methods needs one or more names"),
        (("--methods", "vanilla", "--role", "nobody"), "nobody"),
        (("--methods", "vanilla"), "--role needs one or more names: dramaturg roles lists those of the library"),
        ((*METHODS, "--metrics", "acuracy"), "did you mean 'accuracy'"),
        ((*METHODS, "--seeds", "one"), "--seeds takes whole numbers"),
        ((*METHODS, "--primary", "accuracy"), "--primary accuracy is none of the metrics: similarity"),
        (
            (*METHODS, "--metrics", "accuracy", "--primary", "accuracy:wise"),
            "wise is none of the judges: stub, or mean",
        ),
        ((*METHODS, "--dataset", "/nowhere.jsonl"), "nowhere.jsonl"),
        ((*METHODS, "--labels", "LABELS"), "name an inventory among the metrics"),
        (
            ("--methods", "vanilla,graphrag", "--role", "ada", "--metrics", "four-letters"),
            "graphrag cannot be interviewed",
        ),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_nothing(
    run: Command, out: str, asked: list[Any], interviewed: tuple[str, str], arguments: tuple[str, ...], told: str
) -> None:
    _, labels = interviewed
    code, _, err = run("evaluate", *(one.replace("LABELS", labels) for one in arguments), "--out", out)
    assert code != 0
    assert told in err
    assert chats(asked) == []
    assert not Path(out).exists()


@pytest.mark.crash
def test_inventories_are_metrics(run: Command, out: str, asked: list[Any], interviewed: tuple[str, str]) -> None:
    inventory, labels = interviewed
    command = ("evaluate", *METHODS, "--metrics", inventory, "--labels", labels, "--judge", "wise", "--out", out)
    code, text, _ = run(*command, "--dry-run", "--json")
    assert code == 0
    assert {one["what"]: one["left"] for one in json.loads(text)["to_ask"]} == {
        "items of tiny in interviews": 2,
        "judgements of tiny in interviews": 2,
    }
    assert (chats(asked), Path(out).exists()) == ([], False)
    code, text, _ = run(*command)
    assert (code, len(chats(asked))) == (0, 4)
    for told in ("80.0", "tiny; labels: types", "accuracy", "1.000", "1 of 1"):
        assert told in text
    found = json.loads(run("report", out, "--json")[1])
    assert [(one["contestant"], one["type"]) for one in found["interviews"]["portraits"]] == [
        ("vanilla", "E"),
        ("profile", "E"),
    ]
    assert {one["value"] for one in found["interviews"]["agreements"]} == {1.0}
    assert found["interviews"]["differences"][0]["p"] == 1.0
    assert found["interviews"]["valid"]
    assert len(chats(asked)) == 4


def test_a_cap_stops_interviews_too(run: Command, out: str, asked: list[Any], interviewed: tuple[str, str]) -> None:
    command = ("evaluate", *METHODS, "--metrics", interviewed[0], "--out", out)
    code, _, err = run(*command, "--most-calls", "2")
    assert (code, "the same command goes on" in err, "This run is incomplete" in err) == (0, True, True)
    assert len(chats(asked)) == 2
    code, _, err = run(*command)
    assert (code, err.endswith("Interviews: 2 of 4 Interviews: 3 of 4 Interviews: 4 of 4")) == (0, True)
    assert len(chats(asked)) == 4


def test_another_package_that_is_not_there_is_named_with_what_to_do(run: Command, out: str, asked: list[Any]) -> None:
    code, _, err = run("evaluate", "--methods", "lightrag", "--role", "ada", "--out", out)
    assert code != 0
    assert "LightRAG is not there" in err
    assert "DRAMATURG_LIGHTRAG_PYTHON" in err
    assert chats(asked) == []


def test_a_folder_that_is_no_run_has_no_report(run: Command, tmp_path: Path) -> None:
    code, _, err = run("report", str(tmp_path))
    assert code != 0
    assert "no run of an evaluation" in err


def test_the_table_of_differences_names_the_judge(run: Command, tmp_path: Path) -> None:
    by = {"A": 1.0, "B": 0.0}
    folder = made_run(
        tmp_path / "made",
        lambda method, role, question, judge: by[judge] * (method == "profile"),
        judges=("A", "B"),
    )
    code, text, _ = run("report", str(folder))
    table = text[text.index("Differences from vanilla") :]
    assert code == 0
    assert "metric: accuracy; test: McNemar, exact" in table
    assert re.search(r"A \(primary\)\W+profile\W+1\.000", table)
    assert re.search(r"B\W+profile\W+0\.000", table)
    assert "nothing is concluded beyond it" in text


def test_a_dry_run_says_what_the_plan_can_show(run: Command, out: str, asked: list[Any]) -> None:
    code, _, err = run("evaluate", *METHODS, "--out", out, "--limit", "1", "--dry-run")
    assert code == 0
    assert "There is one role, ada: nothing will be concluded beyond it" in err
    assert "A limit left out: in scope, skill_and_expertise 1; out of scope 1." in err


@pytest.mark.crash
def test_a_changed_plan_is_refused_and_can_begin_with_what_was_answered(
    run: Command, out: str, asked: list[Any]
) -> None:
    run("evaluate", *METHODS, "--out", out, "--limit", "1")
    before = len(chats(asked))
    code, _, err = run("evaluate", *METHODS, "--out", out)
    assert code != 0
    assert "there are other questions for ada" in err
    assert len(chats(asked)) == before == 2
    code, _, _ = run("evaluate", *METHODS, "--from", out, "--out", f"{out}2")
    assert (code, len(chats(asked))) == (0, 6)
    assert "began with what was answered in run" in (Path(f"{out}2") / "report.md").read_text(encoding="utf-8")


def test_runs_of_one_plan_have_one_report(run: Command, tmp_path: Path) -> None:
    def value(method: str, role: str, question: int, judge: str) -> float:
        return float(method == "profile")

    folders = [made_run(tmp_path / role, value, roles=(role,)) for role in ("ada", "bea", "cid")]
    out = tmp_path / "all"
    code, text, _ = run("report", *map(str, folders), "--out", str(out), "--json")
    found = json.loads(text)
    assert (code, found["valid"]) == (0, True)
    assert {one["interval"]["n"] for one in found["rows"]} == {3}
    assert {path.name for path in out.iterdir()} == {"report.md", "report.html"}
    assert not (tmp_path / "ada" / "report.md").exists()
    for plan, told in (
        ({"metrics": ("refusal",)}, "their metrics differ: accuracy in ada, refusal in other"),
        ({"questions": 2}, "other asks ada other questions"),
        ({"baseline": "profile"}, "other compares with profile"),
    ):
        shutil.rmtree(tmp_path / "other", ignore_errors=True)
        made_run(tmp_path / "other", value, **plan)
        code, _, err = run("report", str(folders[0]), str(tmp_path / "other"))
        assert code != 0
        assert told in err


def test_what_any_run_knows_of_its_judges_stands_in_the_report_of_all(run: Command, tmp_path: Path) -> None:
    folders = [made_run(tmp_path / role, lambda *_: 1.0, roles=(role,)) for role in ("ada", "bea")]
    for folder, metric in zip(folders, ("accuracy", SPEAKER), strict=True):
        judge = read_plan(folder).judges[0]
        told = Measured(0.4, 0.3, 0.45, 0.5, 36, 180)
        keep_standings(folder, [Standing(judge=judge, metric=metric, source=ANCHORS, prompts=("",), told=told)])
    run("report", *map(str, folders), "--out", str(tmp_path / "all"))
    text = (tmp_path / "all" / "report.md").read_text(encoding="utf-8")
    assert f"| {judge} | who is speaking | lines of dialogues | all | 0.400 |" in text
    assert f"Nothing is concluded from accuracy by {judge}** (†): on the anchors it is not above chance" in text


@pytest.mark.crash
def test_what_failed_in_one_place_was_answered_in_another(run: Command, tmp_path: Path) -> None:
    one = made_run(tmp_path / "one", lambda method, role, question, judge: None if question else 1.0)
    two = made_run(tmp_path / "two", lambda *_: 1.0, skip=lambda method, role, question: question == 0)
    for order in ((one, two), (two, one)):
        found = json.loads(run("report", *map(str, order), "--out", str(tmp_path / "all"), "--json")[1])
        assert (found["valid"], {row["missing"]["missing"] for row in found["rows"]}) == (True, {0})


def test_a_paper_judges_in_its_own_words(
    run: Command, out: str, stub: Endpoint, asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "Be {character}, who is {description}. {question} {response} Say Rating: <rating>"
    prompts = printed.PROTOCOLS["role-rag"].prompts
    (tmp_path / "paper.txt").write_text("".join(f"{one.begins} {words} {one.ends}" for one in prompts))
    known = {one.metric: replace(JUDGES[one.metric], printed=printed.letters_of(words)) for one in prompts}
    monkeypatch.setattr(printed, "JUDGES", known)
    code, _, err = run("evaluate", *METHODS, "--metrics", "KE", "--out", out)
    assert (code, "--protocol role-rag=FILE" in err, asked) == (2, True, [])
    stub.model = actor(reply="The keeper. Rating: 1")
    code, text, err = run("evaluate", *METHODS, "--protocol", f"role-rag={tmp_path}/paper.txt", "--out", out, "--json")
    rows = {(one["metric"], one["contestant"]): one["interval"]["mean"] for one in json.loads(text)["rows"]}
    assert (code, {metric for metric, _ in rows}, {*rows.values()}) == (0, {"KE", "KH", "UQR"}, {1.0})
    assert sum("Say Rating: <rating>" in json.dumps(body) for body in asked) == len(read_plan(Path(out)).entries) * 3
