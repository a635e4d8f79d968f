"""A role in Inspect: its questions, a graph as solver, a judge as scorer; and a run as logs that Inspect reads.

Inspect runs in a process of its own: it leaves streams unclosed, which is an error here.
"""

import asyncio
import json
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.judging.judges import JUDGES, prompt_version
from dramaturg.evaluation.judging.standing import ANCHORS, Measured
from dramaturg.evaluation.judging.verdicts import SHARED, Standing, keep_standings

from evaluations import RIGHT, evaluation_of, library_of, speaker, taken

pytestmark = pytest.mark.skipif(not find_spec("inspect_ai"), reason="pip install inspect_ai")

TASKS = """
import asyncio, json, sys
from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from dramaturg.evaluation.inspect.task import judged, plays, questions

library, reply, folder = sys.argv[1:]
YES = '{"answer": "yes"}'
OWN = [Sample(id="mine", input="Who brings the flour?", target="Tom", metadata={"role": "ada"})]


def model(name, text):
    def said(*_):
        output = ModelOutput.from_content(name, text)
        output.usage = ModelUsage(input_tokens=20, output_tokens=2, total_tokens=22)  # else a tokenizer is downloaded
        return output

    return get_model(f"mockllm/{name}", custom_outputs=said, memoize=False)


async def main():
    found = {}
    for name, judge, text, samples in (
        ("good", "judge", YES, None), ("prose", "poet", "Who knows.", None), ("checked", "coin", YES, None),
        ("own", "judge", YES, OWN),
    ):
        task = Task(
            samples or questions("ada", library=library),
            solver=plays("profile", library=library),
            scorer=judged("accuracy", library),
        )
        [log] = await eval_async(
            task, model=model("actor", reply), model_roles={"grader": model(judge, text)}, log_dir=folder
        )
        assert log.status == "success", [one.error for one in log.samples or []] + [log.error]
        found[name] = {
            "models": sorted(log.stats.model_usage),
            "mean": log.results and log.results.scores[0].metrics["mean"].value,
            "samples": [
                {"said": one.output.completion, **(one.scores or {})["judged"].model_dump(mode="json")}
                for one in log.samples
            ],
        }
    print("RESULT" + json.dumps(found))


asyncio.run(main())
"""
READ = """
import json, sys
from inspect_ai.log import read_eval_log
print("RESULT" + json.dumps([json.loads(read_eval_log(one).model_dump_json()) for one in sys.argv[1:]]))
"""


def told(script: str, *arguments: object, **variables: str) -> Any:
    """What a script in a process of its own says at its end."""
    words = [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **variables}, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.rpartition("RESULT")[2])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What four tasks gave: a judge, one that answers in prose, one no better than chance, samples of one's own."""
    folder = tmp_path_factory.mktemp("inspect")
    coin = Standing(
        judge="mockllm/coin",
        metric="accuracy",
        source=ANCHORS,
        prompts=(prompt_version(JUDGES["accuracy"], "en"),),
        told=Measured(value=0.5, low=0.4, high=0.6, chance=0.5, n=40, n_values=40),
    )
    keep_standings(folder / "cache" / SHARED, [coin])
    library = library_of(folder / "library")
    return told(TASKS, library, RIGHT, folder / "logs", DRAMATURG_CACHE=str(folder / "cache"))


def values(of: Any) -> list[float]:
    return [one["value"] for one in of["samples"] if not math.isnan(one["value"])]


def test_a_graph_solves_and_a_judge_scores(found: Any) -> None:
    good = found["good"]
    assert good["mean"] == 1.0
    assert [one["said"] for one in good["samples"]] == [RIGHT] * 3
    assert (values(good), [one["reason"] for one in good["samples"]]) == ([1.0, 1.0], [None, None, "not_applicable"])
    assert all("never checked" in one["metadata"]["standing"] for one in good["samples"])
    assert good["models"] == ["mockllm/actor", "mockllm/judge"]


def test_a_judgement_that_does_not_come_is_unscored(found: Any) -> None:
    assert values(found["prose"]) == []
    missing = [one for one in found["prose"]["samples"] if one["reason"] == "missing"]
    assert len(missing) == 2
    assert all(one["explanation"] for one in missing)


def test_a_judge_that_is_not_above_chance_scores_nothing(found: Any) -> None:
    assert values(found["checked"]) == []
    assert "not above chance" in found["checked"]["samples"][0]["metadata"]["standing"]


def test_samples_of_one_s_own_are_answered_too(found: Any) -> None:
    assert values(found["own"]) == [1.0]


def test_a_method_or_a_metric_that_is_not_there_is_refused() -> None:
    said = told(
        "import json\n"
        "from dramaturg.evaluation.inspect.task import judged, plays\n"
        "errors = []\n"
        "for wrong in (lambda: plays('amadeu'), lambda: judged('acuracy')):\n"
        "    try:\n        wrong()\n"
        "    except ValueError as error:\n        errors.append(str(error))\n"
        "print('RESULT' + json.dumps(errors))"
    )
    assert ["There is no method 'amadeu'" in said[0], "There is no metric 'acuracy'" in said[1]] == [True, True]


def test_a_run_is_read_as_logs_one_a_method(tmp_path: Path) -> None:
    def replies(text: str) -> str | Exception:
        return TimeoutError("late") if "telephone" in text else RIGHT

    run = evaluation_of(library_of(tmp_path / "library"), model=speaker(replies), bounds=True, seeds=(3, 5))
    asyncio.run(taken(run))
    write = (
        "import json, sys\nfrom pathlib import Path\n"
        "from dramaturg.evaluation.comparison.plan import read_plan\n"
        "from dramaturg.evaluation.comparison.records import RecordFile\n"
        "from dramaturg.evaluation.inspect.log import write_logs\n"
        "run = Path(sys.argv[1])\n"
        "paths = write_logs(read_plan(run), RecordFile(run).read(), Path(sys.argv[2]))\n"
        "print('RESULT' + json.dumps([str(one) for one in paths]))"
    )
    first, *others = told(READ, *told(write, run.folder, tmp_path / "logs"))
    assert len(others) == 3
    assert (first["eval"]["solver"], first["eval"]["dataset"]["samples"], first["status"]) == ("vanilla", 3, "error")
    assert {(one["id"], one["epoch"]) for one in first["samples"]} == {
        (f"ada: {number}", epoch) for number in "123" for epoch in (1, 2)
    }
    missing = [one for one in first["samples"] if one["error"]]
    assert [(one["id"], bool(one["error"]["message"])) for one in missing] == [("ada: 3", True)] * 2
    sample = first["samples"][0]
    assert (sample["messages"][-1]["content"], sample["scores"]["accuracy (judge)"]["value"]) == (RIGHT, 1.0)
    assert first["results"]["scores"][0]["scored_samples"] == 4
