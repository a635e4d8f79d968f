"""What others alone know is in no prompt of a role, by any method, and what it knows itself is; no judge is needed."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast
from langchain_core.messages import HumanMessage

from dramaturg.nodes import told
from dramaturg.nodes.told import told_documents, unknown_knowers
from dramaturg.stores.documents.forms import document
from dramaturg.stores.documents.secrets import secrets_in
from dramaturg.stores.errors import RoleError
from dramaturg.stores.formats.characters import card_of
from dramaturg.stores.library import open_role
from dramaturg.stores.role import Role
from dramaturg.testing import write_role
from dramaturg.testing.role import write_lines
from dramaturg.workflows.methods import chat_graph, context_type, preparations
from dramaturg.workflows.names import METHODS

from fakes import ScriptedChatModel
from roles import fenced, run_settings, said
from scope_roles import judged, scoped

ROLES = {"ada": "Ada Quill", "ben": "Ben Quill", "tom": "Tom Quill"}
KNOWERS = {"Amber": None, "Birch": ["ada"], "Cedar": ["Ben Quill"], "Dogwood": ["tom", "ada"], "Elm": "Captain"}
TOLD_TO = {"Amber": {*ROLES}, "Birch": {"ada"}, "Cedar": {"ben"}, "Dogwood": {"tom", "ada"}, "Elm": {"tom"}}
CANARIES = {one: {name for name, roles in TOLD_TO.items() if one in roles} for one in ROLES}
KINDS = ("doc", "mem", "say", "tri")
QUAY = "It is a quay of grey stone, wet at every tide, and green with weed below the steps where boats lie."
NAME = re.compile(r"\b(?:Amber|Birch|Cedar|Dogwood|Elm)doc\b")
ASKED = "What do you know of the quay, and of the Birchdoc?"
KNOWS = {
    **dict.fromkeys(("amadeus", "naive-rag", "crag", "graph-rag-local", "role-rag"), ("doc",)),
    "emotional-rag": ("doc", "mem", "say"),
    "drmr": ("doc", "say"),
    "role-gpt": ("say",),
    "id-rag": ("doc", "mem", "tri"),
    "ensemble": KINDS,
    "profile": (),
    "vanilla": (),
}


def known_to(name: str) -> dict[str, Any]:
    return {} if KNOWERS[name] is None else {"known_to": KNOWERS[name]}


def shared(library: Path, role: str) -> None:
    """One of three who share all files of a story."""
    name = ROLES[role]
    parts = [f"# The quay\n\n{name} keeps the quay.\n"]
    for secret in ("Amber", "Birch", "Cedar", "Dogwood"):
        line = f"known_to: {json.dumps(KNOWERS[secret])}\n\n" if KNOWERS[secret] else ""
        parts.append(f"## {secret}\n\n{line}{QUAY}\n\n{name} found the {secret}doc on the quay.\n\n{QUAY}\n")
    memories = [{"text": f"I saw the {secret}mem on the quay.", **known_to(secret)} for secret in KNOWERS]
    lines = [
        {"scene": "the quay", "speaker": speaker, "text": f"{text} the {secret}say on the quay.", **known_to(secret)}
        for secret in KNOWERS
        for speaker, text in (("Visitor", "Behold"), (name, "I have"))
    ]
    triples = [
        {"subject": name, "relation": "values", "object": f"the {secret}tri on the quay", "kind": "value"}
        | known_to(secret)
        for secret in KNOWERS
    ]
    root = write_role(
        library, role, name=name, persona="\n".join(parts), memories=memories, dialogue=lines,
        chronicle=json.dumps({"triples": triples}),
    )  # fmt: skip
    told_above = f"---\nknown_to: {KNOWERS['Elm']}\n---\n\n# Letters\n\n{name} hid the Elmdoc on the quay.\n"
    (root / "persona" / "letters.md").write_text(told_above, encoding="utf-8")
    if role == "tom":
        card = root / "role.yaml"
        card.write_text(card.read_text("utf-8").replace("aliases: []", "aliases: [Captain]"), encoding="utf-8")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for role in ROLES:
        shared(tmp_path, role)
    return tmp_path


def of_one_story(library: Path) -> None:
    """The same three, of whom each has a card alone, and one story that has what they share."""
    kinds = {"memories": "memories.jsonl", "dialogue": "dialogues/scenes.jsonl"}
    lines: dict[str, list[Any]] = {kind: [] for kind in kinds}
    triples: list[Any] = []
    for role in ROLES:
        root = library / role
        for kind, file in kinds.items():
            new = [json.loads(line) for line in (root / file).read_text("utf-8").splitlines()]
            lines[kind] += [one for one in new if one not in lines[kind] or kind == "dialogue"]
        triples += json.loads((root / "chronicle.yaml").read_text("utf-8"))["triples"]
    texts = {one.name: one.read_text("utf-8") for one in (library / "ada" / "persona").iterdir()}
    for role in ROLES:
        root = library / role
        for folder in ("persona", "dialogues"):
            shutil.rmtree(root / folder)
        for file in ("memories.jsonl", "chronicle.yaml"):
            (root / file).unlink()
        card = root / "role.yaml"
        card.write_text(f"{card.read_text('utf-8')}story: quay\n", encoding="utf-8")
    chronicle = json.dumps({"triples": triples})
    story = write_role(library, "quay", name="The Quay", persona=texts["life.md"], chronicle=chronicle, **lines)
    (story / "persona" / "letters.md").write_text(texts["letters.md"], encoding="utf-8")


def facts(name: str) -> Any:
    """What each sentence names, and how the role is connected with it."""

    def found(text: str) -> str:
        entities, relations = [{"name": name, "type": "character", "sentence": 1}], []
        for number, sentence in re.findall(r"^\[(\d+)\] (.*)$", fenced("text", text), re.MULTILINE):
            for thing in NAME.findall(sentence):
                here = {"sentence": int(number), "description": sentence}
                entities.append({"name": thing, "type": "object", **here})
                relations.append({"source": name, "target": thing, "strength": 9, **here})
        return json.dumps({"entities": entities, "relations": relations})

    return found


async def turn(library: Path, method: str, role: str, **settings: Any) -> tuple[str, dict[str, Any], int]:
    """All prompts of a turn of a role that is indexed already, the evidence, and how many questions there were."""

    def cast() -> ScriptedChatModel:
        return whole_cast(facts=facts(ROLES[role]), scope=judged(scoped("Birchdoc", "object")))

    own = {
        "user_role": "Visitor",
        "knowledge": 50,
        "recalled": 50,
        "recalled_dialogues": 9,
        "fixed_length": 60,
        "document_passages": 50,
    }
    own |= {"fixed_overlap": 0} | ({"identity": "full"} if method == "id-rag" else {})
    fields = context_type(method).model_fields
    kept = {name: value for name, value in {**own, **settings, "role": role}.items() if name in fields}
    for one in preparations(method, context_type(method)(**run_settings(library, cast(), **kept))).values():
        await one.made({}, lambda *_: None)
    for _ in range(2):  # the first turn of a method may ask what it keeps, such as the scores of relations
        model = cast()
        context = context_type(method)(**run_settings(library, model, **kept))
        output = await chat_graph(method).compile().ainvoke({"messages": [HumanMessage(ASKED)]}, context=context)
    prompts = "\n".join(said(call.messages) for call in model.calls).replace(ASKED, "")
    return prompts.replace("of the Birchdoc", ""), output["evidence"], len(model.calls)


def found(prompts: str) -> set[str]:
    return {f"{name}{kind}" for name in KNOWERS for kind in KINDS if f"{name}{kind}" in prompts}


DECLINED = re.compile(r"- Birchdoc: Nothing that (Ben|Tom) Quill has been told says anything of it\.")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("method", METHODS)
async def test_no_secret_of_others_is_in_any_prompt_and_each_of_its_own_is(
    library: Path, method: str, role: str
) -> None:
    await only_its_own(library, method, role)


@pytest.mark.parametrize("method", [one for one in METHODS if KNOWS[one]])
async def test_roles_of_one_story_know_of_it_what_is_known_to_them(library: Path, method: str) -> None:
    of_one_story(library)
    await only_its_own(library, method, "ben")


async def only_its_own(library: Path, method: str, role: str) -> None:
    prompts, evidence, _ = await turn(library, method, role)
    told_of = found(DECLINED.sub("", prompts))
    assert {one for one in told_of if one[:-3] not in CANARIES[role]} == set()
    if method == "drmr":  # it reads as many dialogues as have room, those nearest to the question
        assert {one[-3:] for one in told_of} == {*KNOWS[method]}
    elif method != "role-rag":  # it recalls what the question names
        assert told_of == {f"{name}{kind}" for name in CANARIES[role] for kind in KNOWS[method]}
    if KNOWS[method]:
        assert evidence["not_told"]
        assert not any(name in json.dumps(evidence["not_told"]) for name in KNOWERS)
    if method == "role-rag":
        (named,) = evidence["entities"]
        assert (named["strategy"] == "out of scope", "has been told" in prompts) == (role != "ada", role != "ada")


@pytest.mark.parametrize("method", [one for one in METHODS if KNOWS[one]])
async def test_with_the_filter_switched_off_the_secrets_of_others_are_told(
    library: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, questions = await turn(library, method, "ben")
    everybody = frozenset[str]().union(*(open_role(role, library).own_names for role in ROLES))
    monkeypatch.setattr(Role, "own_names", property(lambda role: everybody))
    prompts, evidence, without = await turn(library, method, "ben")
    assert {one for one in found(prompts) if one[:-3] not in CANARIES["ben"]}
    assert "not_told" not in evidence
    assert questions <= without


def told_of(text: str, *own: str) -> list[str]:
    """The words of the sections of a document that a role of these names has been told."""
    root = Path("library/ada")
    one = document(text.encode(), root / "persona" / "life.md", root)
    is_told = told.by_names(frozenset(own))
    kept = [span for span in told.knowers_of(one) if is_told([] if span.said is None else [span.said])]
    lines = "\n".join(one.text[span.start : span.end] for span in kept).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# A\n\nknown_to: jim\n\na\n\n## B\n\nb\n\n# C\n\nc", ["a", "b", "c"]),
        ("# A\n\nknown_to: silver\n\na\n\n## B\n\nknown_to: jim\n\nb\n\n# C\n\nc", ["c"]),
        ("# A\n\na\n\n<!-- known_to: [silver, pew] -->\n\nb\n\n# C\n\nc", ["c"]),
        ("known_to: silver, 'Jim'\n\n# A\n\na", ["a"]),
        ("known_to: silver\n\na\n\n# A\n\nb", []),
        ("---\nknown_to:\n  - silver\n---\n# A\n\nknown_to: jim\n\na", []),
        ("---\ntitle: a: b\nknown_to: silver\n---\n# A\n\na", []),
        ("# A\n\nknown_to:\n\na", []),
        (
            "# A\n\n- **known_to:** silver\n\na\n\n# B\n\n> `known_to`: `jim`\n\nb\n\n# C\n\nknown_to：吉姆、jim\n\nc",
            ["b", "c"],
        ),
    ],
)
def test_who_is_told_a_section(text: str, wanted: list[str]) -> None:
    assert told_of(text, "jim") == wanted


def test_a_line_is_read_once_however_long_it_is() -> None:
    assert secrets_in("known_to:" + " " * 300_000 + "x -- y\n")[0] == ((0, ("x -- y",)),)  # else it takes an hour


def test_what_cannot_name_roles_is_refused(tmp_path: Path) -> None:
    root = write_role(tmp_path, memories=[{"text": "I saw it."}])
    (root / "persona" / "odd.md").write_text("---\nknown_to: {a: b}\n---\nText.\n", encoding="utf-8")
    with pytest.raises(RoleError, match=r"ada/persona/odd.md, above its text: `known_to` must name roles"):
        open_role("ada", tmp_path).documents()
    write_lines(root / "memories.jsonl", [{"text": "I saw it.", "known_to": {"jim": 1}}])
    with pytest.raises(RoleError, match=r"memories.jsonl, line 1: `known_to` must name roles, as \[jim, silver\]"):
        open_role("ada", tmp_path).memories()


def test_names_that_are_nobodys_or_several_roles_are_listed(library: Path) -> None:
    ada = open_role("ada", library)
    assert unknown_knowers(ada) == []
    write_lines(ada.root / "memories.jsonl", [{"text": "I saw it.", "known_to": ["Pewter", "tom", "Jim"]}])
    card = library / "ben" / "role.yaml"
    card.write_text(card.read_text("utf-8").replace("aliases: []", "aliases: [captain]"), encoding="utf-8")
    (library / "pew").mkdir()
    (library / "pew" / "role.yaml").write_text("name: [", encoding="utf-8")  # which others need not answer for
    unclear = unknown_knowers(ada)
    assert unclear[0] == "persona/letters.md: Captain is several roles: ben, tom"
    assert "memories.jsonl:1: Pewter is no role here" in unclear
    assert not any("tom is" in one or "ada" in one or "Jim is" in one for one in unclear)  # Jim is an example


def test_what_a_draft_is_made_from_is_told_to_the_role(library: Path) -> None:
    texts = {one.name: one.text for one in told_documents(open_role("tom", library))}
    assert [name for name in KNOWERS if any(f"{name}doc" in text for text in texts.values())] == [
        "Amber", "Dogwood", "Elm",
    ]  # fmt: skip
    assert {name: len(text) for name, text in texts.items()} == {
        one.name: len(one.text) for one in open_role("tom", library).documents()
    }


def test_a_card_leaves_out_what_others_alone_know(library: Path) -> None:
    root = library / "ben"
    (root / "persona" / "character.md").write_text("Ben keeps the Foxglovedoc.\n", encoding="utf-8")
    examples = [
        {"scene": "the quay", "speaker": "Ben Quill", "text": f"I have the {secret}say.", **known_to(secret)}
        for secret in KNOWERS
    ]
    write_lines(root / "dialogues" / "examples.jsonl", examples)
    told_in = json.dumps(card_of(open_role("ben", library)).data)
    assert [one for one in ("Foxglove", *KNOWERS) if one in told_in] == ["Foxglove", "Amber", "Cedar"]


async def test_a_line_that_others_alone_know_keeps_back_no_line_that_a_role_knows(library: Path) -> None:
    """Neither by its words, which somebody else may say aloud, too, nor by its time."""
    lines = [
        {"scene": "the pier", "speaker": "Visitor", "text": "Behold the Ambersay on the pier."},
        {"scene": "the pier", "speaker": "Tom Quill", "text": "Aye.", "known_to": ["tom"], "when": "chapter 9"},
        {"scene": "the pier", "speaker": "Ada Quill", "text": "Aye."},
    ]
    write_lines(library / "ada" / "dialogues" / "scenes.jsonl", lines)
    for as_of in ("", "chapter 1"):
        prompts, evidence, _ = await turn(library, "role-gpt", "ada", as_of=as_of)
        assert "Behold the Ambersay on the pier." in prompts
        assert evidence["not_told"] == {"dialogues": 1}
