"""Flows of one's own, named `package.module:graph` or `path/to/file.py:graph` where a method is named."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.comparison.contestants import contestant
from dramaturg.evaluation.interviews.state import InterviewContext
from dramaturg.nodes.run import RoleContext
from dramaturg.workflows.methods import chat_graph, context_type, flow

from commands import Command
from evaluations import QUESTIONS
from fakes import ScriptedChatModel
from graph_roles import graph_actor
from roles import actor, said
from served_graphs import SERVED
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(4)

TALK = '''
"""Vanilla, and one more node: it counts turns, and adds a setting."""

from pydantic import Field

from dramaturg.nodes.run import settings
from dramaturg.nodes.workflow import Workflow
from dramaturg.nodes.turn import TurnInput, TurnOutput
from dramaturg.workflows.vanilla import VanillaContext, VanillaState, build as vanilla


class LoudContext(VanillaContext):
    loudness: int = Field(default=3, ge=1, le=9, description="How loud.")


class LoudState(VanillaState):
    turns: int


async def count(state: LoudState, runtime) -> dict:
    loudness = settings(runtime, LoudContext).loudness
    turns = state.get("turns", 0) + 1
    return {"turns": turns, "evidence": {"loud": {"turns": turns, "loudness": loudness}}}


def build():
    builder = Workflow(LoudState, LoudContext, input_schema=TurnInput, output_schema=TurnOutput)
    for name, node in vanilla().nodes.items():
        builder.add_node(name, node.runnable)
    builder.add_node(count)
    builder.add_edge("__start__", "read_turn")
    builder.add_edge("read_turn", "count")
    builder.add_edge("count", "respond_by_name")
    builder.add_edge("respond_by_name", "summarize")
    builder.add_edge("summarize", "__end__")
    return builder


builder = build()
graph = builder.compile(name="loud")
of_graph = lambda: graph


def of_two(one, two):
    return builder


def broken():
    raise KeyError("lamp")


async def later():
    return builder


number = 3
'''
BROKEN = """
from langgraph.graph import StateGraph
from pydantic import BaseModel
from typing_extensions import TypedDict

from dramaturg.nodes.turn import TurnInput, TurnOutput
from dramaturg.workflows.vanilla import VanillaContext, VanillaState


class Scene(BaseModel):
    place: str = "here"


class Line(TypedDict):
    line: str


bare = StateGraph(VanillaState, input_schema=TurnInput, output_schema=TurnOutput)
scene = StateGraph(VanillaState, Scene, input_schema=TurnInput, output_schema=TurnOutput)
deaf = StateGraph(VanillaState, VanillaContext, input_schema=Line, output_schema=TurnOutput)
mute = StateGraph(VanillaState, VanillaContext, input_schema=TurnInput, output_schema=TurnInput)
"""
INDEXED = '''
from langgraph.graph import END, START

from dramaturg.nodes.workflow import Workflow
from dramaturg.nodes.turn import TurnInput, TurnOutput, read_turn
from dramaturg.workflows import amadeus, naive_rag, role_rag, role_rag_index
from dramaturg.workflows.amadeus_index import graph as amadeus_index
from dramaturg.workflows.vanilla import VanillaContext, VanillaState


class Part:
    """A graph as a node, by a context of its own."""

    def __init__(self, graph, **settings):
        self.graph, self.settings, self.__name__ = graph, settings, graph.name

    async def __call__(self, state: VanillaState) -> dict:
        return {}


def wired(context, *parts):
    builder = Workflow(VanillaState, context, input_schema=TurnInput, output_schema=TurnOutput)
    builder.add_node(read_turn)
    builder.add_edge(START, "read_turn")
    for number, part in enumerate(parts):
        builder.add_node(f"part-{number}", part)
        builder.add_edge("read_turn", f"part-{number}")
    return builder


subgraphs = wired(naive_rag.NaiveRagContext, naive_rag.graph, amadeus_index)
parts = wired(
    VanillaContext,
    Part(naive_rag.graph, fixed_length=150, fixed_overlap=0),
    Part(role_rag.graph),
    Part(naive_rag.graph, role="bea"),
)
wrapped = wired(VanillaContext, Part(wired(VanillaContext, Part(role_rag_index.graph)).compile(name="scene")))
nothing = wired(VanillaContext)
'''
FILES = {
    "shows/loud.py": TALK,
    "shows/__init__.py": "",
    "shows/broken.py": BROKEN,
    "shows/indexed.py": INDEXED,
    "shows/needy.py": "import lamp_of_nobody",
    "shows/torn.py": "graph = (",
    "shows/failing.py": "\nraise RuntimeError('the lamp is out')",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that the command is run in, with a package of flows."""
    folder = tmp_path / "work"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield folder
    for name in {*sys.modules} - before:
        if name.startswith(("shows", "dramaturg_flow")):
            del sys.modules[name]


@pytest.mark.parametrize(
    "name",
    [
        *("shows.loud:build", "shows.loud:builder", "shows.loud:graph", "shows.loud:of_graph"),
        *("shows/loud.py:build", "./shows/loud.py:graph"),
    ],
)
def test_a_flow_answers_by_its_name(run: Command, here: Path, name: str) -> None:
    code, out, err = run("ask", "ada", "Who?", "Why?", "--method", name, "--set", "loudness=5", "--json")
    assert (code, err) == (0, "")
    first, second = map(json.loads, out.splitlines())
    assert (first["reply"], first["evidence"]["loud"]) == ("I keep the light.", {"turns": 1, "loudness": 5})
    assert second["evidence"]["loud"]["turns"] == 2


def test_a_flow_without_the_settings_of_a_node_is_refused_in_a_sentence(run: Command, here: Path) -> None:
    (here / "grounded.py").write_text(
        "from dramaturg.nodes.drafts import draft_from_grounds\nfrom dramaturg.workflows import amadeus\n"
        "def build():\n    return amadeus.build(replace={'draft': draft_from_grounds})\n",
        encoding="utf-8",
    )
    code, _, err = run("ask", "ada", "Who?", "--method", "grounded.py:build")
    said = " ".join(err.split())
    assert (code, "lacks settings of a node: inherit GroundedDraftSettings too" in said) == (2, True)
    assert "Traceback" not in err


def test_a_path_from_the_root_is_a_name_too(run: Command, here: Path) -> None:
    code, out, _ = run("ask", "ada", "Who?", "--method", f"{here}/shows/loud.py:build", "--json")
    assert (code, json.loads(out)["evidence"]["loud"]["turns"]) == (0, 1)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.at_all:build", "There is no module 'nowhere' in this folder, and none is installed."),
        ("shows.quiet:build", "There is no module 'shows.quiet' in this folder"),
        ("shows.needy:build", "shows.needy cannot be imported: it needs 'lamp_of_nobody', which is not installed."),
        ("shows/needy.py:build", "shows/needy.py cannot be imported: it needs 'lamp_of_nobody'"),
        ("shows/quiet.py:build", "There is no file shows/quiet.py."),
        ("shows.torn:build", "shows.torn cannot be used: SyntaxError: '(' was never closed (torn.py, line 1)."),
        ("shows/failing.py:build", "RuntimeError: the lamp is out (failing.py, line 2)."),
        ("shows.loud:biuld", "shows.loud has no 'biuld'; did you mean 'build'"),
        ("shows.loud:", "shows.loud has no ''."),
        ("shows.loud:number", "shows.loud:number is no graph but int: name a StateGraph"),
        ("shows.loud:later", "shows.loud:later is no graph but function"),
        ("shows.loud:broken", "shows.loud:broken cannot be used: KeyError: 'lamp' (loud.py, line "),
        ("shows.loud:of_two", "of_two() missing 2 required positional arguments"),
        ("shows.broken:bare", "The context of shows.broken:bare is missing: give it the settings of its nodes"),
        ("shows.broken:scene", "The context of shows.broken:scene is Scene: give it the settings"),
        ("shows.broken:deaf", "shows.broken:deaf does not take messages: give it input_schema=TurnInput"),
        ("shows.broken:mute", "shows.broken:mute does not give evidence and usage: give it input_schema"),
        (":build", "is no module: a flow is named package.module:graph"),
        ("vanilla.", "There is no method 'vanilla.'; there are: amadeus"),
    ],
)
def test_what_is_no_flow_is_said_in_a_sentence(run: Command, here: Path, name: str, sentence: str) -> None:
    code, out, err = run("ask", "ada", "Who?", "--method", name)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_settings_of_a_flow_are_checked(run: Command, here: Path) -> None:
    wrong = ("ask", "ada", "Who?", "--method", "shows.loud:build", "--set")
    assert "loudness: Input should be less than or equal to 9" in run(*wrong, "loudness=10")[2]
    assert "did you mean 'loudness'?" in run(*wrong, "lowdness=2")[2]
    assert "has no --strategy: add --method emotional-rag" in run(*wrong[:-1], "--strategy", "C-A")[2]


def test_a_thread_of_a_flow_goes_on_and_is_carried_elsewhere(
    run: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = ("--method", "shows.loud:build", "--thread", "loud")
    run("ask", "ada", "Who?", *talk)
    typed = iter(["Why?", "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(typed))
    assert run("chat", "ada", *talk)[0] == 0
    lines = run("export", "ada", *talk)[1]
    assert [json.loads(line)["state"]["turns"] for line in lines.splitlines()[1:]] == [1, 2]
    (here / "loud.jsonl").write_text(lines, encoding="utf-8")
    elsewhere = (*talk[:2], "--thread", "elsewhere")
    code, out, err = run("import", "ada", "loud.jsonl", *elsewhere)
    assert (code, err) == (0, "")
    assert "--thread elsewhere --method shows.loud:build" in " ".join(out.split())
    _, out, _ = run("ask", "ada", "How?", *elsewhere, "--json")
    assert json.loads(out)["evidence"]["loud"]["turns"] == 3


def test_a_conversation_imports_nothing_that_the_command_does_not_name(run: Command, here: Path) -> None:
    talk = ("--method", "shows.loud:build", "--thread", "loud")
    run("ask", "ada", "Who?", *talk)
    (here / "loud.jsonl").write_text(run("export", "ada", *talk)[1], encoding="utf-8")
    del sys.modules["shows.loud"]
    code, _, err = run("import", "ada", "loud.jsonl", "--method", "vanilla", "--thread", "other")
    assert (code, "import with the method of the export" in err) == (2, True)
    run("ask", "ada", "Why?", "--method", "vanilla", "--thread", "loud")
    run("conversations", "ada")
    assert "shows.loud" not in sys.modules


def test_what_prepares_a_role_is_found_in_the_flow(run: Command, here: Path) -> None:
    assert run("index", "ada", "--method", "shows.indexed:nothing")[2].endswith("there is nothing to prepare.")
    code, out, _ = run("index", "ada", "--method", "shows.indexed:subgraphs", "--set", "fixed_length=150", "--json")
    assert (code, json.loads(out)["splitter"]) == (0, "fixed")
    again = json.loads(run("index", "ada", "--method", "naive-rag", "--set", "fixed_length=150", "--json")[1])
    assert again["version"] == json.loads(out)["version"]


def test_a_flow_of_parts_prepares_each_by_its_own_settings(
    run: Command, here: Path, stub: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("new", "bea", "--name", "Bea")
    (tmp_path / "bea" / "persona" / "life.md").write_text("# Bea\n\nBea mends nets.\n", encoding="utf-8")
    asked = ("index", "ada", "--method", "shows.indexed:parts")
    names = ["amadeus_index", "role_rag_index", "amadeus_index of bea"]
    costs = json.loads(run(*asked, "--dry-run", "--json")[1])
    assert [*costs] == names
    assert costs["role_rag_index"]["questions"] > 0
    told = run(*asked, "--dry-run")[1]
    assert "role_rag_index: " in told
    assert "no question to the model" in told
    monkeypatch.setattr(stub, "model", graph_actor())
    code, out, err = run(*asked, "--json")
    monkeypatch.setattr(stub, "model", actor())
    assert code == 0, err
    reports = json.loads(out)
    assert [*reports] == names
    assert reports["role_rag_index"]["entities"] > 0
    own = ("--set", "fixed_length=150", "--set", "fixed_overlap=0", "--json")
    alone = json.loads(run("index", "ada", "--method", "naive-rag", *own)[1])
    assert (alone["version"], alone["embedded"]) == (reports["amadeus_index"]["version"], 0)
    shown = " ".join(run(*asked)[1].split())
    assert all(name in shown for name in names)


def test_a_wish_goes_to_the_parts_that_take_it(
    run: Command, here: Path, tmp_path: Path, stub: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stub, "model", graph_actor())
    asked = ("index", "ada", "--method", "shows.indexed:wrapped")
    assert "has no --scores: add --method drmr" in run(*asked, "--scores")[2]
    code, out, _ = run(*asked, "--plan", "--json")
    assert (code, "plan" in json.loads(out)) == (0, True)
    run("index", "ada", "--method", "shows.indexed:parts", "--plan")
    assert not (tmp_path / "bea").exists()  # which the other parts would have asked for
    code, out, _ = run("learn", "ada", "shows/loud.py", "--as", "loud.md", "--method", asked[-1], "--dry-run", "--json")
    assert (code, "chunks" in json.loads(out)["index"]) == (0, True)


def test_flows_are_compared_with_methods(run: Command, here: Path, tmp_path: Path) -> None:
    lines = "".join(json.dumps(one) + "\n" for one in QUESTIONS)
    (tmp_path / "ada" / "questions.jsonl").write_text(lines, encoding="utf-8")
    names = "vanilla,shows.loud:build,./shows/loud.py:graph,shows/loud.py:graph"
    asked = (
        "evaluate",
        "--methods",
        names,
        "--role",
        "ada",
        "--limit",
        "1",
        "--no-bounds",
        "--out",
        str(tmp_path / "run"),
    )
    foreseen = run(*asked, "--dry-run")[1]
    assert ("…" in foreseen, "index of" in foreseen) == (False, False)  # names are whole, on lines of their own
    code, told, _ = run(*asked, "--json")
    assert code == 0
    flows = ["shows.loud:build", "shows/loud.py:graph"]
    rows = {one["contestant"]: one for one in json.loads(told)["rows"]}
    assert {*flows, "vanilla"} <= {*rows}
    assert all(rows[name]["interval"]["n_values"] == 1 for name in flows)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    for name in flows:
        (anchor,) = {part.split('"')[0] for part in page.split('href="#')[1:] if part.split('"')[0].endswith(name)}
        assert f'id="{anchor}"' in page
    left = json.loads(run(*asked, "--dry-run", "--json")[1])
    assert {one["what"]: one["left"] for one in left["to_ask"] if "replies" in one["what"]} == dict.fromkeys(
        (f"replies of {name}" for name in ("vanilla", *flows)), 0
    )
    del sys.modules["shows.loud"]
    assert json.loads(run("report", str(tmp_path / "run"), "--json")[1])["rows"] == [*rows.values()]
    assert "shows.loud" not in sys.modules  # a run may be somebody else's


@pytest.fixture
def inventory(stub: Endpoint, tmp_path: Path) -> Iterator[str]:
    """An inventory of one item; the endpoint answers for the role, and as its judge."""

    def answer(messages: list[BaseMessage]) -> str:
        judging = "<answers>" in said(messages)
        return '{"analysis": "so it seems", "result": {"E": 80, "I": 20}}' if judging else "I like people."

    dimension = {"name": "E/I", "high": "E", "low": "I", "description": {"en": "What it means."}}
    item = {"id": "1", "dimension": "E/I", "key": "high", "statement": {"en": "I go out."}, "question": {"en": "Out?"}}
    about = {"name": "tiny", "licence": "CC0-1.0", "source": "a test", "scale": {"low": 1, "high": 7}}
    file = tmp_path / "tiny.yaml"
    file.write_text(json.dumps({**about, "scores": "percent", "dimensions": [dimension], "items": [item]}))
    old, stub.model = stub.model, ScriptedChatModel(reply=answer)
    yield str(file)
    stub.model = old


def test_a_flow_is_interviewed(run: Command, here: Path, inventory: str) -> None:
    asked = ("interview", "ada", "--method", "shows/loud.py:build", "--instrument", inventory, "--set", "loudness=2")
    code, out, err = run(*asked, "--json")
    assert code == 0, err
    output = json.loads((here / "ada-shows-loud.py-build-tiny.json").read_text(encoding="utf-8"))
    assert output == json.loads(out)
    assert (output["about"]["method"], output["type"]) == ("shows/loud.py:build", "E")
    assert output["records"][0]["evidence"]["loud"]["loudness"] == 2
    assert run(*asked)[0] == 0


def test_an_evaluation_interviews_flows(run: Command, here: Path, tmp_path: Path, inventory: str) -> None:
    out = tmp_path / "run"
    asked = ("evaluate", "--methods", "shows/loud.py:build", "--role", "ada", "--metrics", inventory)
    code, _, err = run(*asked, "--out", str(out))
    assert code == 0, err
    (held,) = [one for one in (out / "interviews").iterdir() if one.suffix == ".json"]
    assert held.name.startswith("tiny-shows-loud.py-build-ada-0-")
    assert json.loads(held.read_text(encoding="utf-8"))["about"]["method"] == "shows/loud.py:build"


def test_a_context_that_is_sent_carries_no_flow(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(here)
    for name in ("shows.loud:build", "shows/loud.py:build", "shows.loud"):
        for sent in (name, {"name": name, "builder": name}, [name, None]):
            with pytest.raises(ValueError, match="method"):
                InterviewContext.model_validate({"method": sent})
    schema = InterviewContext.model_json_schema()["properties"]["method"]
    assert (schema["type"], schema["maxLength"]) == ("string", 64)
    assert "shows" not in sys.modules
    assert all("method" not in one.get_context_jsonschema()["properties"] for one in SERVED.values())
    assert InterviewContext(method=flow("shows.loud:build")).respondent.name == "shows.loud:build"


def test_python_takes_the_same_names(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(here)
    assert "count" in chat_graph("shows.loud:build").nodes
    kind = context_type("shows.loud:graph")
    assert issubclass(kind, RoleContext)
    assert (kind.__name__, contestant("shows.loud:build").kind) == ("LoudContext", kind)
    with pytest.raises(ValueError, match=r"no method 'shows\.loud'; there are: amadeus"):
        chat_graph("shows.loud")
