"""`dramaturg index --method role-rag` and what goes with it: the plan, the failed chunks, merges taken back."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Command
from graph_roles import LIFE, Rule, graph_actor, only, part
from roles import actor, fenced
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(4)

INDEX = ("index", "ada", "--method", "role-rag", "--set", "descriptions=written", "--set", "neighbours=50")


@pytest.fixture(autouse=True)
def persona(run: Command, stub: Endpoint, tmp_path: Path) -> Iterator[None]:
    """Ada's people go by several names, and the model plays all parts of RoleRAG."""
    (tmp_path / "ada" / "persona" / "life.md").write_text(LIFE, encoding="utf-8")
    stub.model = graph_actor()
    yield
    stub.model = actor()


def names(run: Command) -> dict[str, list[str]]:
    """The names of each entity of the graph."""
    found = json.loads(run("graph", "ada", "--json")[1])
    return {node["name"]: node["names"] for node in found["nodes"]}


def calls(stub: Endpoint, act: Command, *arguments: str) -> int:
    """How often the model is asked, embeddings aside, while a command runs."""
    before = sum("messages" in body for body in stub.asked)
    assert act(*arguments)[0] == 0
    return sum("messages" in body for body in stub.asked) - before


def test_an_index_ends_with_what_it_holds_and_what_it_cost(run: Command) -> None:
    code, out, _ = run(*INDEX)
    assert code == 0
    for column in ("entities", "relations", "merges", "failed", "calls", "tokens"):
        assert column in out
    report = json.loads(run(*INDEX, "--json")[1])
    assert report["entities"] == len(names(run))
    assert report["calls"] == 0
    assert "graph: 1 chunks" in run("show", "ada")[1]


def test_a_plan_is_read_edited_and_carried_out(run: Command, tmp_path: Path) -> None:
    code, out, _ = run(*INDEX, "--plan")
    plan = tmp_path / "ada" / "merge_plan.yaml"
    assert code == 0
    assert "read and edit them" in out
    assert "is not indexed" in run("graph", "ada")[2]
    text = plan.read_text(encoding="utf-8")
    assert "similarity:" in text
    assert "reason: Both names stand for one person." in text
    plan.write_text(text.replace("name: Her brother", "name: Thomas Quill"), encoding="utf-8")
    code, _, err = run(*INDEX, "--apply")
    assert (code, err.endswith("Summing up: 3 of 3 Embedding: 3 of 11 Embedding: 11 of 11")) == (0, True)
    assert "Tom" in names(run)["Thomas Quill"]
    assert not plan.exists()
    assert "Thomas Quill" in (tmp_path / "ada" / "merges.yaml").read_text(encoding="utf-8")


def test_a_slip_in_a_plan_is_named(run: Command, tmp_path: Path) -> None:
    assert "There is no merge_plan.yaml" in run(*INDEX, "--apply")[2]
    run(*INDEX, "--plan")
    plan = tmp_path / "ada" / "merge_plan.yaml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("- Tom\n", "- Tim\n"), encoding="utf-8")
    code, _, err = run(*INDEX, "--apply")
    assert code == 2
    assert "'Tim'" in err
    assert "did you mean 'Tom'" in err
    assert plan.exists()


def test_a_merge_is_taken_back_without_reading_a_chunk_again(run: Command, stub: Endpoint) -> None:
    run(*INDEX)
    assert "Tom" in names(run)["Her brother"]
    settings = ("--set", "descriptions=written", "--set", "neighbours=50")
    assert calls(stub, run, "unmerge", "ada", "tom", *settings) == 0
    assert names(run)["Tom"] == ["Tom"]
    run(*INDEX)
    assert names(run)["Tom"] == ["Tom"]
    code, _, err = run("unmerge", "ada", "Kit", *settings)
    assert code == 2
    assert "No merge holds 'Kit'" in err


def test_a_bridge_that_is_taken_back_splits_what_only_it_joined(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    def unsure(text: str) -> str | None:
        both = part(text) == "same" and {fenced(tag, text).split(":")[0] for tag in ("one", "other")}
        return "Perhaps." if both == {"Tom Quill", "Her brother"} else None

    stub.model = graph_actor(unsure)
    run(*INDEX)
    assert len(names(run)["Her brother"]) == 3
    assert run("unmerge", "ada", "Tom", *INDEX[4:])[0] == 0
    found = names(run)
    assert [found.get(name) for name in ("Tom", "Her brother", "Tom Quill")] == [
        ["Tom"],
        ["Her brother"],
        ["Tom Quill"],
    ]
    assert "reason: Both names stand for one person." in (tmp_path / "ada" / "merges.yaml").read_text(encoding="utf-8")


def test_failed_chunks_are_listed_and_asked_again_alone(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "ada" / "persona" / "dog.md").write_text("# Dog\n\nKit sleeps beside Tom.\n", encoding="utf-8")
    stub.model = graph_actor(refusing("Kit sleeps"))
    code, out, _ = run(*INDEX)
    assert code == 0
    assert "dog.md:" in out
    assert "--retry" in out
    assert "Kit" not in names(run)
    stub.model = graph_actor()
    assert calls(stub, run, *INDEX) == 0
    assert calls(stub, run, *INDEX, "--retry") >= 1
    assert "Kit" in names(run)


def refusing(words: str) -> Rule:
    return only("facts", "I'd rather not.", words)


def test_what_a_document_would_cost_is_said_before(run: Command, tmp_path: Path) -> None:
    run(*INDEX)
    (tmp_path / "dog.txt").write_text("Kit sleeps beside Tom.", encoding="utf-8")
    code, out, _ = run("learn", "ada", str(tmp_path / "dog.txt"), "--method", "role-rag", "--dry-run")
    assert code == 0
    assert "Documents: 2; chunks: 2; to extract: 1." in out


def test_versions_and_undo_of_a_graph(run: Command, tmp_path: Path) -> None:
    run(*INDEX)
    (tmp_path / "dog.txt").write_text("Kit sleeps beside Tom.", encoding="utf-8")
    settings = INDEX[2:]
    assert run("learn", "ada", str(tmp_path / "dog.txt"), *settings)[0] == 0
    assert "Kit" in names(run)
    assert "entities" in run("versions", "ada", *settings)[1]
    assert run("undo", "ada", *settings)[0] == 0
    assert "Kit" not in names(run)


TWO_TOMS = "# Dog\n\nTom sleeps beside the old lamp. The harbour master fears Tom.\n"


@pytest.mark.sample(1)
@pytest.mark.parametrize("where", ["dog.md", "dog.md:0-200", "dog.md:7-30"])
def test_two_of_one_name_are_told_apart(run: Command, tmp_path: Path, where: str) -> None:
    (tmp_path / "ada" / "persona" / "dog.md").write_text(TWO_TOMS, encoding="utf-8")
    decisions, settings = tmp_path / "ada" / "merges.yaml", INDEX[2:]
    split = f"splits:\n- name: tom\n  called: Tom the dog\n  where: ['{where}']\n"
    decisions.write_text(split, encoding="utf-8")
    code, _, err = run(*INDEX)
    assert (code, "splits" in err) == (0, False)
    nodes = {node["name"]: node for node in json.loads(run("graph", "ada", "--json")[1])["nodes"]}
    assert nodes["Tom the dog"]["names"] == ["Tom the dog"]
    told = {one["source"] for one in nodes["Tom the dog"]["statements"]}
    (tom,) = (node for name, node in nodes.items() if "Tom" in node["names"])
    assert told == {"dog.md"}
    assert {one["source"] for one in tom["statements"]} == ({"life.md", "dog.md"} if "30" in where else {"life.md"})
    assert run("unmerge", "ada", next(name for name in tom["names"] if name != tom["name"]), *settings)[0] == 0
    assert "Tom the dog" in names(run)
    decisions.write_text(split, encoding="utf-8")
    assert run(*INDEX, "--plan")[0] == run(*INDEX, "--apply")[0] == 0
    assert "called: Tom the dog" in decisions.read_text(encoding="utf-8")
    assert "Tom the dog" in names(run)


def test_a_slip_in_a_split_is_named(run: Command, tmp_path: Path) -> None:
    plan = tmp_path / "ada" / "merge_plan.yaml"
    run(*INDEX)
    for split, problem in {
        "{name: Tim, called: Tom the dog, where: [life.md]}": "'Tim', which no document does; did you mean 'Tom'",
        "{name: Tom, called: Tom the dog, where: [lif.md]}": "no document 'lif.md'; did you mean 'life.md'",
        "{name: Tom, called: tom, where: [life.md]}": "another name",
    }.items():
        plan.write_text(f"splits:\n- {split}\n", encoding="utf-8")
        code, _, err = run(*INDEX, "--apply")
        assert (code, problem in " ".join(err.split())) == (2, True)


def served(run: Command, *settings: str) -> str:
    """The version that is read now."""
    return str(json.loads(run("versions", "ada", *settings, "--json")[1])[0]["version"])


def test_undo_takes_back_what_was_decided_about_names(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    decisions, settings = tmp_path / "ada" / "merges.yaml", INDEX[2:]
    run(*INDEX)
    merged, first = names(run), served(run, *settings)
    run("unmerge", "ada", "Tom", *settings)
    apart, text = names(run), decisions.read_text(encoding="utf-8")
    assert calls(stub, run, "undo", "ada", *settings) == 0
    assert (names(run), decisions.exists()) == (merged, False)
    assert served(run, *settings) == first
    code, out, _ = run("undo", "ada", "--yes", *settings)  # and forth again
    assert (code, names(run), decisions.read_text(encoding="utf-8")) == (0, apart, text)
    assert f"({served(run, *settings)[:8]})" in out
    assert "merges.yaml" in out
    decisions.write_text(text.replace("Her brother", "Her brother Tom"), encoding="utf-8")
    code, _, err = run("undo", "ada", *settings)
    assert (code, "merges.yaml has changes that are in no version yet" in err) == (2, True)
    assert "Her brother Tom" in decisions.read_text(encoding="utf-8")


def test_undo_does_not_say_that_it_went_back_when_it_did_not(run: Command) -> None:
    settings = INDEX[2:]
    run(*INDEX)
    first = served(run, *settings)
    run("unmerge", "ada", "Tom", *settings)
    code, out, _ = run("undo", "ada", *settings[:-1], "neighbours=1")
    now = served(run, *settings)
    assert (code, now != first) == (0, True)
    words = " ".join(out.split())
    assert "Back at" not in words
    assert "made with other settings" in words
    assert first[:8] in words
    assert now[:8] in words
    found = json.loads(run("undo", "ada", *settings[:-1], "neighbours=1", "--json")[1])
    assert found["version"] == served(run, *settings)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("index", "ada", "--plan"), "add --method role-rag"),
        ((*INDEX, "--plan", "--apply"), "Write the plan first"),
        (("index", "ada", "--method", "vanilla"), "has no index"),
        (("versions", "ada", "--method", "profile"), "has no index"),
        ((*INDEX, "--plan", "--set", "normalization=false"), "nothing to plan"),
    ],
)
def test_what_does_not_go_together_is_said(run: Command, arguments: tuple[str, ...], problem: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert problem in err


def test_evidence_of_a_reply_from_a_graph(run: Command, stub: Endpoint) -> None:
    run(*INDEX)
    entities = [
        {"name": "Tom", "type": "character", "reason": "Her brother.", "relevant": True, "level": "specific"},
        {"name": "Radio", "type": "object", "reason": "Of a later time.", "relevant": False, "level": "specific"},
    ]
    stub.model = graph_actor(lambda text: json.dumps({"entities": entities}) if "<context>" in text else None)
    settings = ("--method", "role-rag", "--set", "descriptions=written", "--set", "neighbours=50")
    code, out, err = run("ask", "ada", "Who is Tom, and do you like radio?", *settings, "--evidence")
    assert (code, err.endswith("Looking for what the question is about … Recalling …")) == (0, True)
    words = " ".join(out.split())
    assert all(part in words for part in ("Hypothetical context", "out of scope", "Of a later time.", "Recalled"))
