"""Relations on the command line: the user's role, scores of an index, `dramaturg relations`, and its page."""

import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from rich.console import Console

from dramaturg.cli.drawing.relations import html, known_relations
from dramaturg.cli.library.indexing import failures_table
from dramaturg.cli.progress import Stage
from dramaturg.nodes.dialogues.relations import RelationSettings
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.library import Library, open_role

from cast_roles import SCENES, edge, lines_of
from commands import Command
from crossed_indexes import cross
from fakes import ScriptedChatModel
from roles import actor, write_memories
from scope_roles import Answer, player, reasoned
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(7)

DRMR = ("--method", "drmr")
INDEX = ("index", "ada", *DRMR)
HOSTILE = "</script><script>alert(1)</script> [bold]$data\x1b[2J"
SHOWN = {name: scene for name, scene in SCENES.items() if name != "inn"}  # without it Nell and Mr Pike never speak


@pytest.fixture(autouse=True)
def cast(run: Command, stub: Endpoint, tmp_path: Path) -> Iterator[None]:
    """Ada and those who speak with her; the model plays all parts, and Ada and Tom matter most to each other."""
    write_memories(tmp_path / "ada", (), dialogue=lines_of(SHOWN))
    Library(tmp_path).create("tom", RoleCard(name="Tom Quill", aliases=("Tom",), profile="He sails the mail boat."))
    Library(tmp_path).create("rose", RoleCard(name="Rose", profile="She teaches in Leith."))
    stub.model = played(edge=edge(Ada_Tom=5, Ada_Pike=4))
    yield
    stub.model = actor()


def played(**parts: Answer) -> ScriptedChatModel:
    """All parts of DRMR: the endpoint shows the script one text, in which the role's own profile is no question."""
    model = player(**parts)
    own = re.compile(r"Who you are:\n<profile>.*?</profile>", re.DOTALL)
    return ScriptedChatModel(reply=lambda messages: model.reply([HumanMessage(own.sub("", messages[0].text))]))


def plain(text: str) -> str:
    """What is said, however it is broken into lines and cells."""
    return " ".join(re.sub("[│┃]", " ", text).split())


def data_of(page: bytes) -> Any:
    """What a page draws from."""
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.decode(), re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


def page_of(library: Path, **given: Any) -> Any:
    return data_of(html(known_relations(RelationSettings(role="ada", library=str(library), **given))))


def test_an_index_of_dialogues_that_holds_memories_is_made_anew(run: Command, tmp_path: Path) -> None:
    assert run("index", "ada", "--method", "emotional-rag")[0] == 0
    cross(tmp_path / "ada", MEMORY_KIND, DIALOGUE_KIND)
    assert "dialogues: damaged, run `dramaturg index ada --method drmr`" in plain(run("show", "ada")[1])
    code, _, err = run("ask", "ada", "Where is the parcel?", *DRMR)
    assert (code, "run `dramaturg index ada --method drmr`, which makes it again" in err) == (5, True)
    assert run(*INDEX, "--rebuild")[0] == 0
    assert run("ask", "ada", "Where is the parcel?", *DRMR)[0] == 0


NO_USER_ROLE = "The method amadeus has no --user-role: add --method drmr or role-gpt or ensemble, or leave it out."


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("ask", "ada", "Who?", "--user-role", "tom"), NO_USER_ROLE),
        (("chat", "ada", "--user-role", "tom"), NO_USER_ROLE),
        (
            ("index", "ada", "--method", "amadeus", "--scores"),
            "The index of amadeus has no --scores: add --method drmr or role-gpt",
        ),
        (
            ("index", "ada", "--method", "drmr", "--retry"),
            "The index of drmr has no --retry: add --method role-rag or emotional-rag or graph-rag-local",
        ),
        (("relations", "ada"), "dramaturg index ada --method drmr"),
    ],
    ids=["ask amadeus", "chat with amadeus", "scores of passages", "retry of dialogues", "relations without an index"],
)
def test_what_does_not_go_together_is_said(run: Command, arguments: tuple[str, ...], problem: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert problem in err


def test_a_role_answers_whom_the_user_plays(run: Command, stub: Endpoint) -> None:
    stub.asked.clear()
    code, out, _ = run("ask", "ada", "Where is the parcel?", *DRMR, "--user-role", "tom", "--evidence")
    assert code == 0
    assert out.count("Ada Quill: I keep the light.") == 1
    told = plain(out)
    for part in ("Clique of Ada Quill, Nell, Tom Quill: scores of 9", "Dialogues", "New in the role memory", "Drafts"):
        assert part in told
    texts = [message["content"] for body in stub.asked for message in body.get("messages", [])]
    assert any("He sails the mail boat." in text for text in texts)


def test_a_chat_knows_the_user_and_tells_why(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["Where is the parcel?", "/evidence", "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(lines))
    code, out, _ = run("chat", "ada", *DRMR, "--user-role", "Tom")
    assert code == 0
    assert out.count("Ada Quill: I keep the light.") == 1
    assert "Clique of Ada Quill, Nell, Tom Quill" in plain(out)


def test_a_baseline_takes_the_user_role_too(run: Command) -> None:
    code, out, _ = run("ask", "ada", "Where is it?", "--method", "role-gpt", "--user-role", "tom", "--evidence")
    assert code == 0
    assert "Dialogues" in out
    assert "Clique" not in out


def test_relations_are_scored_when_that_is_wanted(run: Command, stub: Endpoint) -> None:
    report = json.loads(run(*INDEX, "--json")[1])
    assert (report["relations"], report["scored"], report["calls"]) == (5, 0, 0)
    report = json.loads(run(*INDEX, "--scores", "--json")[1])
    assert (report["scored"], report["calls"], report["failed"]) == (5, 5, [])
    assert json.loads(run(*INDEX, "--scores", "--json")[1])["calls"] == 0
    code, out, _ = run(*INDEX)
    assert code == 0
    for row in ("dialogues", "speakers", "relations", "scored", "calls", "tokens"):
        assert row in out


def test_edges_without_a_score_are_listed(run: Command, stub: Endpoint) -> None:
    stub.model = played(edge=lambda text: "no idea" if "Nell" in text.split("<pair>")[-1] else reasoned(3))
    code, out, _ = run(*INDEX, "--scores")
    assert code == 0
    assert "Relations without a score; --scores asks for them again" in plain(out)
    assert "Ada Quill – Nell" in plain(out)


def test_a_table_of_failures_tells_what_failed() -> None:
    console = Console(file=StringIO(), width=200, color_system=None)
    console.print(failures_table([{"edge": "A – B", "dialogue": "d.jsonl:1–2", "error": "no answer"}] * 12))
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"edge\s*┃ dialogue\s*┃ why", told)
    assert re.search(r"A – B │ d.jsonl:1–2 │ no answer", told)
    assert "and 2 more" in told


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({"event": "gathered", "dialogues": 7}, "Indexing 7 dialogues …"),
        ({"event": "gathered", "memories": 7, "copies": 1}, "Indexing 7 memories …"),
        ({"event": "dialogues", "dialogues": [{}, {}]}, "Recalled 2 dialogues …"),
        ({"event": "asked", "what": "edges", "done": 2, "total": 5}, "Weighing relations: 2 of 5 …"),
        (
            {"event": "clique", "clique": ["A", "B", "C"]},
            "Recalling relations: 3 roles who all speak with each other …",
        ),
        ({"event": "clique", "clique": []}, "Recalling relations: the two have never spoken …"),
        ({"event": "record", "text": "I know him."}, "Imagining an answer to search with …"),
        ({"event": "verified", "draft": 2, "score": 3.0}, "Draft 2: 3 of 5 …"),
        ({"event": "verified", "draft": 2, "score": None}, "Draft 2: – …"),
        ({"event": "revising", "revision": 1, "reason": "It [/bold] is\nwrong"}, "Revision 1: It [/bold] is wrong"),
        ({"event": "published"}, "Searching the persona …"),
    ],
)
def test_each_step_has_a_line_of_progress(event: dict[str, Any], line: str) -> None:
    stage = Stage("Ada")
    stage.show({"type": "custom", "ns": (), "data": event})
    assert stage.line == line


def test_tables_tell_who_speaks_with_whom(run: Command) -> None:
    run(*INDEX)
    code, out, _ = run("relations", "ada")
    told = plain(out)
    assert code == 0
    assert "6 dialogues, 5 relations" in told
    assert re.search(r"Ada Quill\s+5\s+3", told)
    assert "Clique" not in told
    assert "5 of 5 relations have no score yet" in told
    assert "dramaturg index ada --method drmr --scores" in told


def test_scores_come_with_their_reasons_the_strongest_first(run: Command) -> None:
    run(*INDEX, "--scores")
    told = plain(run("relations", "ada")[1])
    assert "no score" not in told
    rows = [told.index(row) for row in ("5 of 5 Ada Quill – Tom Quill", "4 of 5 Ada Quill – Mr Pike", "2 of 5")]
    assert rows == sorted(rows)
    assert "Ada and Tom" in told


def test_scores_that_a_conversation_kept_are_shown(run: Command) -> None:
    assert run("ask", "ada", "Where is the parcel?", *DRMR, "--user-role", "tom")[0] == 0
    report = json.loads(run("relations", "ada", "--json")[1])
    assert 0 < report["unscored"] < 5
    assert report["relations"][0]["roles"] == ["Ada Quill", "Tom Quill"]
    assert report["relations"][0]["score"] == 5
    assert report["relations"][-1]["score"] is None


def test_the_clique_of_the_user_is_said_in_words(run: Command) -> None:
    run(*INDEX, "--scores")
    told = plain(run("relations", "ada", "--user-role", "tom")[1])
    assert "Clique of Ada Quill, Mr Pike, Tom Quill: scores of 11 in all" in told
    assert "Clique of" not in plain(run("relations", "ada")[1])


def test_without_scores_the_clique_with_the_first_names_of_the_largest_is_taken(run: Command) -> None:
    run(*INDEX)
    report = json.loads(run("relations", "ada", "--user-role", "tom", "--json")[1])
    assert report["clique"] == ["Ada Quill", "Mr Pike", "Tom Quill"]
    assert report["unscored"] == 5


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("rose", "Rose and Ada Quill have never spoken with each other: there is no clique. No line of the dialogues"),
        ("Tom Quil", "by Tom Quil; did you mean 'Tom Quill'?"),
    ],
)
def test_a_user_who_never_spoke_with_the_role_is_said_so(run: Command, name: str, sentence: str) -> None:
    run(*INDEX)
    code, out, _ = run("relations", "ada", "--user-role", name)
    assert code == 0
    assert sentence in plain(out)


def test_the_user_cannot_play_the_role_that_answers(run: Command) -> None:
    run(*INDEX)
    code, _, err = run("relations", "ada", "--user-role", "ada")
    assert code == 2
    assert "The user cannot play Ada Quill" in err


def test_a_program_gets_relations_in_one_line(run: Command) -> None:
    run(*INDEX, "--scores")
    code, out, _ = run("relations", "ada", "--user-role", "tom", "--json")
    report = json.loads(out)
    assert (code, out.count("\n")) == (0, 1)
    assert (report["role"], report["user_role"], report["speaker"]) == ("ada", "Tom Quill", "Tom Quill")
    both = report["relations"][0]
    assert [one["scene"] for one in both["dialogues"]] == ["parcel", "supper"]
    assert {one["role"] for one in report["roles"]} == {"Ada Quill", "Tom Quill", "Nell", "Mr Pike"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--file", "a.png"], "Relations are not written as .png: they are a page, name a file in .html."),
        (["--file", "a.html", "--open-file", "b.html"], "Name the file once"),
        (["--file", "nowhere/a.html"], "name a file in a folder that is there"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str], message: str
) -> None:
    run(*INDEX)
    monkeypatch.chdir(tmp_path)
    code, out, err = run("relations", "ada", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not list(tmp_path.glob("*.html"))


def test_a_page_is_written_and_opened(run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run(*INDEX)
    asked: list[str] = []
    monkeypatch.setattr("dramaturg.cli.drawing.graph.shutil.which", lambda _: None)
    monkeypatch.setattr("typer.launch", lambda url: asked.append(url) or 0)
    path = tmp_path / "out.html"
    code, out, err = run("relations", "ada", "--user-role", "tom", "--open-file", str(path))
    assert (code, out) == (0, "")
    assert "and opened it" in err
    assert asked == [str(path.resolve())]
    assert b"<title>Relations of Ada Quill with Tom Quill</title>" in path.read_bytes()


def test_a_page_draws_roles_relations_and_the_clique(run: Command, tmp_path: Path) -> None:
    run(*INDEX, "--scores")
    data = page_of(tmp_path, user_role="tom")
    types = {node["name"]: node["type"] for node in data["nodes"]}
    assert types == {
        "Ada Quill": "in the clique",
        "Mr Pike": "in the clique",
        "Tom Quill": "the user's role",
        "Nell": "speaker",
    }
    assert data["nodes"][data["role"]]["name"] == "Ada Quill"
    names = [node["name"] for node in data["nodes"]]
    kinds = {frozenset({names[edge["a"]], names[edge["b"]]}): edge["kind"] for edge in data["edges"]}
    assert sum(kind == "clique" for kind in kinds.values()) == 3
    assert kinds[frozenset({"Ada Quill", "Nell"})] == ""
    assert data["notes"] == ["Clique of Ada Quill, Mr Pike, Tom Quill: scores of 11 in all"]


def test_a_page_tells_scores_reasons_and_dialogues(run: Command, tmp_path: Path) -> None:
    run(*INDEX, "--scores")
    data = page_of(tmp_path)
    first = data["edges"][0]
    assert (first["strength"], first["description"]) == (5, "Ada and Tom")
    told = first["statements"][0]
    assert (told["text"], told["source"]) == ("parcel", "dialogues/scenes.jsonl:1–2")
    assert data["dialogues"][told["dialogue"]].startswith("Tom Quill: A parcel from Leith")
    assert {node["type"] for node in data["nodes"]} == {"speaker"}
    assert data["notes"] == []


def test_relations_without_a_score_are_marked_and_counted(run: Command, tmp_path: Path) -> None:
    run(*INDEX)
    data = page_of(tmp_path, user_role="tom")
    assert {edge["strength"] for edge in data["edges"]} == {None}
    assert {edge["kind"] for edge in data["edges"]} == {"clique unscored", "unscored"}
    assert "5 of 5 relations" in data["notes"][1]
    assert "dramaturg index ada --method drmr --scores" in data["notes"][1]


def test_a_page_of_hostile_names_is_whole_and_asks_nothing_of_the_network(run: Command, tmp_path: Path) -> None:
    scenes = {HOSTILE: ((HOSTILE, HOSTILE), ("Ada Quill", "What?"), ("Tom", "Ha."), (HOSTILE, "Ho."))}
    write_memories(tmp_path / "ada", (), dialogue=lines_of(scenes))
    run(*INDEX)
    page = html(known_relations(RelationSettings(role="ada", library=str(tmp_path), user_role=HOSTILE)))
    text = page.decode()
    assert len(re.findall("<script", text)) == len(re.findall("</script>", text)) == 2
    assert text.count("default-src 'none'; base-uri 'none'") == 1
    assert "unsafe-inline" not in text
    assert not re.search(
        r"https?://(?!www\.w3\.org/2000/svg)|\b(src|href)\s*=|innerHTML|fetch\(", text.replace(HOSTILE, "")
    )
    assert HOSTILE in [node["name"] for node in data_of(page)["nodes"]]
    out = run("relations", "ada", "--user-role", HOSTILE)[1]
    assert "\x1b" not in out
    assert "[bold]$data" in out


def test_the_same_relations_have_the_same_page(run: Command, tmp_path: Path) -> None:
    run(*INDEX, "--scores")
    first = page_of(tmp_path, user_role="tom")
    open_role("ada", tmp_path).forget_opened()
    assert page_of(tmp_path, user_role="tom") == first


def test_what_is_a_card_only_is_said_so(run: Command, tmp_path: Path) -> None:
    out = run("roles")[1]
    rows = {line.split("│")[1].strip(): line for line in out.splitlines() if line.startswith("│")}
    assert "card only" in rows["tom"]
    assert "card only" in rows["mother"]
    assert "card only" not in rows["ada"] + rows["silver"] + rows["beethoven"]
    assert "Card only: a role for you to play" in plain(run("show", "tom")[1])
    assert "Card only" not in run("show", "ada")[1]


def test_dialogues_that_are_indexed_are_shown(run: Command) -> None:
    run(*INDEX)
    assert json.loads(run("show", "ada", "--json")[1])["indexed"] == [
        "dialogues: 6 dialogues, 4 speakers, 5 relations, openai:words"
    ]
