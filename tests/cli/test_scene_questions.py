"""The questions on the example scene: `evaluate` to the report, with the filter of presence and without."""

import json
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.evaluation.judging.presence import words_in

from commands import Command
from fakes import ScriptedChatModel
from stub_endpoint import Endpoint

EXAMPLES = Path(str(files("dramaturg.examples")))
SIXTY = EXAMPLES / "scenes" / "apple_barrel.jsonl"
ROLES = ("silver", "dick", "hands", "morgan", "jim")
QUESTIONS = read_dataset(SIXTY).questions


def tells_all(messages: Sequence[BaseMessage]) -> str:
    """All that stands in the prompt, on one line: of more, it would end where somebody else begins to speak."""
    return " ".join(word for one in messages for word in one.text.split())


@pytest.fixture
def evaluated(run: Command, stub: Endpoint, tmp_path: Path) -> Any:
    def evaluate(reply: Any, *more: str, methods: str = "profile,profile-hears-all") -> tuple[Any, Any]:
        stub.model = ScriptedChatModel(reply=reply)
        roles = ("--role", ",".join(ROLES), "--library", str(EXAMPLES))
        wishes = ("--dataset", str(SIXTY), "--metrics", "presence,heard,leak", "--out", str(tmp_path / "run"))
        code, text, error = run("evaluate", "--methods", methods, *roles, *wishes, "--json", *more)
        return (json.loads(text) if code == 0 else None), error

    return evaluate


def test_the_dataset_has_twenty_of_each_kind_and_no_role_has_a_secret_from_elsewhere() -> None:
    assert Counter((one.role, one.attribute) for one in QUESTIONS) == {
        (role, kind): 4 for role in ROLES for kind in ("knew", "did not know", "suspects")
    }
    for one in QUESTIONS:
        own = [path.read_text(encoding="utf-8") for path in (EXAMPLES / one.role).rglob("*") if path.is_file()]
        own += [one.text, one.context, (EXAMPLES / "scenes" / "apple_barrel.yaml").read_text(encoding="utf-8")]
        assert one.played is not None
        assert words_in(own, one.played.model_copy(update={"says": ()})) == ()


def means(told: Any, metric: str) -> dict[str, float]:
    return {one["contestant"]: one["interval"]["mean"] for one in told["rows"] if one["metric"] == metric}


def test_no_secret_reaches_a_prompt_and_nothing_is_lost_but_where_everybody_hears_everything(
    evaluated: Any, tmp_path: Path
) -> None:
    told, _ = evaluated(tells_all, "--no-bounds")
    assert means(told, "leak") == {"profile": 0.0, "profile-hears-all": 1.0}
    assert means(told, "heard") == {"profile": 1.0, "profile-hears-all": 1.0}
    # Who tells all it has is right where it knew or may suspect, and tells other names where it knew nothing.
    assert means(told, "presence")["profile-hears-all"] == pytest.approx(1 / 3)
    assert 2 / 3 <= means(told, "presence")["profile"] < 1
    replies = RecordFile(tmp_path / "run").read().replies.values()
    secrets = {one.id: one.played.secrets for one in QUESTIONS if one.played}
    said = {name: [one for one in replies if one.contestant == name] for name in ("profile", "profile-hears-all")}
    assert [len(of) for of in said.values()] == [60, 60]
    for name, of in said.items():
        asked = [one for one in of if secrets[one.question]]
        assert len(asked) == 40
        assert {set(one.in_prompts) >= set(secrets[one.question]) for one in asked} == {name != "profile"}
    (compared,) = [one for one in told["differences"] if one["metric"] == "leak"]
    assert compared["interval"]["mean"] == 1.0


def test_who_never_tells_is_right_where_it_did_not_know(evaluated: Any) -> None:
    told, _ = evaluated(lambda _: "I will say nothing.")
    assert means(told, "presence") == pytest.approx(
        {"profile": 2 / 3, "profile-hears-all": 2 / 3, "always-declines": 2 / 3, "right-answers": 1.0}
    )


@pytest.mark.parametrize(
    ("more", "methods", "said"),
    [
        (("--turns", "3"), "profile", "A scene is played here"),
        ((), "lightrag", "lightrag plays in no scene"),
    ],
)
def test_what_no_scene_can_be_asked_by_is_refused(evaluated: Any, more: Any, methods: str, said: str) -> None:
    _, error = evaluated(lambda _: "No.", *more, methods=methods)
    assert said in " ".join(error.split())


def test_without_a_scene_there_is_no_one_who_hears_all(run: Command, tmp_path: Path) -> None:
    (tmp_path / "ada" / "questions.jsonl").write_text('{"question": "Who are you?"}\n', encoding="utf-8")
    for more, said in (
        (("--methods", "profile-hears-all"), "profile-hears-all plays in a scene"),
        (("--methods", "profile", "--metrics", "leak"), "leak is measured in a scene"),
    ):
        code, _, error = run("evaluate", "--role", "ada", *more, "--out", str(tmp_path / "run"))
        assert (code != 0, said in " ".join(error.split())) == (True, True)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"question": "Where is it?", "role": "bob", "kind": "knew", "says": ["x"]}, "bob is not in the cast"),
        ({"question": "Where is it?", "role": "jim", "kind": "did not know"}, "needs `secrets`"),
        ({"question": "A teapot?", "role": "jim", "kind": "suspects", "secrets": ["teapot"]}, "itself says 'teapot'"),
        ({"question": "Where is it?", "role": "jim", "kind": "maybe", "secrets": ["x"]}, "line 2"),
    ],
)
def test_a_question_that_cannot_be_scored_is_named(tmp_path: Path, entry: Any, said: str) -> None:
    (tmp_path / "inn.yaml").write_text("cast: [{role: jim}]\n", encoding="utf-8")
    file = tmp_path / "inn.jsonl"
    file.write_text("\n".join(map(json.dumps, ({"scene": "inn.yaml"}, entry))), encoding="utf-8")
    with pytest.raises(Exception, match=r"inn\.jsonl") as raised:
        read_dataset(file)
    assert said in str(raised.value)
