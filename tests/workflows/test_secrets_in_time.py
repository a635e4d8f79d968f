"""What a role is told from chapter 3 on, and what others alone know, is in no earlier prompt of it, at any door."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast
from langchain_core.messages import HumanMessage

from dramaturg.conversations.scene_files import read_scene
from dramaturg.conversations.scenes import open_scene, thread_of
from dramaturg.stores.library import library_at
from dramaturg.testing import write_role
from dramaturg.workflows.methods import chat_graph, context_type, preparations

from commands import Command
from roles import run_settings, said
from served_roles import served
from stub_endpoint import Endpoint

ROLES = {"ada": "Ada Quill", "tom": "Tom Quill"}
EARLY, LATE = "chapter 2", "chapter 3"
TOLD = {
    "Amber": ("Chapter 1", None),
    "Birch": ("Chapter 1", "tom"),
    "Cedar": ("Chapter 1", "ada"),
    "Dogwood": ("Chapter 3", None),
    "Elm": ("Chapter 3", "ada"),
    "Fir": ("Chapter 3", "tom"),
}
KNOWS = {
    **dict.fromkeys(("amadeus", "naive-rag", "crag", "graph-rag-local", "role-rag"), ("doc",)),
    "emotional-rag": ("doc", "mem", "say"),
    "drmr": ("doc", "say"),
    "role-gpt": ("say",),
    "id-rag": ("doc", "mem", "tri"),
    "ensemble": ("doc", "mem", "say", "tri"),
}
WIDE = {"knowledge": 50, "recalled": 50, "recalled_dialogues": 9, "document_passages": 50}
ASKED = "What do you know of the quay?"
FEW = ("emotional-rag", "id-rag")  # which together read every kind of file
AT = [(role, as_of) for role in ROLES for as_of in (EARLY, LATE)]


def settings_for(method: str, **own: Any) -> dict[str, Any]:
    fields = context_type(method).model_fields
    wide = {**WIDE, "user_role": "Visitor", **({"identity": "full"} if method == "id-rag" else {}), **own}
    return {name: value for name, value in wide.items() if name in fields}


def require_known(texts: Iterable[str], method: str, role: str, as_of: str) -> None:
    """Nothing of others, and nothing later, stands in the prompts of a role; and what it knows does."""
    told = "\n".join(texts)
    known = {name for name, (when, who) in TOLD.items() if who in (None, role) and when.lower() <= as_of}
    there = {(name, kind) for name in TOLD for kind in ("doc", "mem", "say", "tri") if f"{name}{kind}" in told}
    assert {one for one in there if one[0] not in known} == set()
    if method in ("amadeus", *FEW, "role-gpt"):  # the others take what is near, or passages across headings
        assert there == {(name, kind) for name in known for kind in KNOWS[method]}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Two who have the same files."""
    for role, name in ROLES.items():
        chapters, memories, lines, triples = dict[str, str](), list[Any](), list[Any](), list[Any]()
        for one, (when, who) in TOLD.items():
            beside: dict[str, Any] = {"known_to": [who]} if who else {}
            secret = f"known_to: {who}\n\n" if who else ""
            chapters[when] = chapters.get(when, f"# {when}\n") + f"\n## {one}\n\n{secret}{name} found the {one}doc.\n"
            memories.append({"text": f"I saw the {one}mem on the quay.", "when": when, **beside})
            for speaker, text in (("Visitor", "Behold"), (name, "I have")):
                lines.append({"scene": when, "speaker": speaker, "text": f"{text} the {one}say.", **beside})
            about = {"subject": name, "relation": "values", "object": f"the {one}tri", "kind": "value", "since": when}
            triples.append(about | beside)
        write_role(
            tmp_path / "library",
            role,
            name=name,
            persona="\n".join(chapters.values()),
            memories=memories,
            dialogue=lines,
            chronicle=json.dumps({"triples": triples}),
        )
    return tmp_path / "library"


async def indexed(library: Path, method: str) -> None:
    for role in ROLES:
        context = context_type(method)(**run_settings(library, whole_cast(), **settings_for(method, role=role)))
        for one in preparations(method, context).values():
            await one.made({}, lambda *_: None)


@pytest.mark.parametrize("method", KNOWS)
async def test_in_a_turn(library: Path, method: str) -> None:
    await indexed(library, method)
    for role, as_of in AT:
        model = whole_cast()
        context = context_type(method)(**run_settings(library, model, **settings_for(method, role=role, as_of=as_of)))
        await chat_graph(method).compile().ainvoke({"messages": [HumanMessage(ASKED)]}, context=context)
        require_known((said(call.messages) for call in model.calls), method, role, as_of)


@pytest.mark.parametrize("method", KNOWS)
async def test_in_a_scene(library: Path, method: str) -> None:
    await indexed(library, method)
    cast = [{"role": role, "method": method, "settings": settings_for(method)} for role in ROLES]
    for one in cast:
        one["settings"].pop("user_role", None)
    (library / "scenes").mkdir()
    (library / "scenes" / "quay.yaml").write_text(json.dumps({"cast": cast, "next": "user"}), encoding="utf-8")
    for as_of in (EARLY, LATE):
        for role in ROLES:
            model, (other,) = whole_cast(), {*ROLES} - {role}
            context = read_scene(library_at(library), "quay", as_of=as_of, **models_of(library, model))
            async with open_scene(context, thread_of("quay", f"{role} {as_of}")) as talk:
                await talk.take_turn(f"/leave {other}")
                await talk.take_turn(f"/narrate {ASKED}")
                await talk.take_turn(f"/next {role}")
            require_known((said(call.messages) for call in model.calls), method, role, as_of)


def models_of(library: Path, model: Any) -> dict[str, Any]:
    return {name: one for name, one in run_settings(library, model).items() if name.endswith("_model")}


@pytest.mark.parametrize("method", FEW)
async def test_on_a_server(library: Path, method: str) -> None:
    await indexed(library, method)
    for as_of in (EARLY, LATE):
        model = whole_cast()
        how = {"method": method, "settings": settings_for(method, as_of=as_of)}
        async with served(library, model, library=library_at(library), **how) as http:
            for role in ROLES:
                model.calls.clear()
                body = {"model": role, "messages": [{"role": "user", "content": ASKED}]}
                assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
                require_known((said(call.messages) for call in model.calls), method, role, as_of)


@pytest.mark.parametrize("method", FEW)
def test_at_a_terminal(
    library: Path, run: Command, stub: Endpoint, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(stub, "model", whole_cast())
    monkeypatch.setenv("DRAMATURG_LIBRARY", str(library))
    given = [part for name, value in settings_for(method).items() for part in ("--set", f"{name}={value}")]
    for role, as_of in AT:
        how = ("--method", method, *given, "--set", f"as_of={as_of}")
        run("ask", role, "Good evening.", *how)  # it indexes first, with all that is in the files
        for command in ("ask", "chat"):
            lines = iter([ASKED, "/quit"])
            monkeypatch.setattr("rich.console.Console.input", lambda *_, lines=lines: next(lines))
            stub.asked.clear()
            code, _, err = run(command, role, *([ASKED] if command == "ask" else []), *how)
            assert code == 0, err
            asked = [body for body in stub.asked if "messages" in body]
            require_known((json.dumps(body["messages"]) for body in asked), method, role, as_of)
