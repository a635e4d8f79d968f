"""A role cast from a text: drafts of all kinds with their places; what was decided stays so; nothing is asked twice."""

import json
import re
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from PIL import Image

from dramaturg.nodes.casting.characters import Character, Somebody, names_in, the_character
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.documents.merges import Merge, MergePlan, read_plan, write_plan
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library_folder import Library
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import CastDraft, DraftedScene, Statement
from dramaturg.stores.texts.reading import read_sent
from dramaturg.workflows.cast import CastContext, build, graph

from fakes import ScriptedChatModel
from packed_documents import epub
from roles import fenced

STORY = """\
# The Lamp

## One

Ada Brandt was the keeper of the light on Gull Rock, a tall woman of forty who limped.

"The boat is late," said Ada.

"It will come," said Tom Reed. "It always comes."

Ada did not answer. She had waited for her brother on this rock for eleven years.

## Two

Nobody lived on the far side. The wind blew there all winter.

## Three

"Is it the boat?" asked Tom Reed.

"It is only a whale," said Ada.
"""


class Model:
    """Answers each kind of question from what it is shown, and counts them, and the lists that they want."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.shown = list[str]()

    def __call__(self, messages: list[BaseMessage]) -> Any:
        rules, shown = str(messages[0].content), "\n".join(str(one.content) for one in messages)
        if '{"profile"' in rules:
            self.asked["profile"] += 1
            return json.dumps({"profile": "Ada keeps the light on Gull Rock.", "greetings": ["Mind the step."]})
        wanted = [one for one in ("told", "episodes", "triples") if f'"{one}": [' in rules]
        self.asked.update(["question", *wanted])
        self.shown.append(fenced("text", shown))
        numbers = {text: int(number) for number, text in re.findall(r"\[(\d+)\] ([^\n]*)", self.shown[-1])}
        keeper = next((number for text, number in numbers.items() if "keeper" in text), None)
        answers: dict[str, Any] = {
            "told": {"sentence": keeper, "kind": "who"},
            "episodes": {"sentence": keeper, "text": "I waited for the boat.", "when": "", "place": "Gull Rock"},
            "triples": {"sentence": keeper, "relation": "profession", "object": "keeper", "kind": "trait"},
        }
        return json.dumps({one: [answers[one]] if keeper else [] for one in wanted})


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return Library(tmp_path).create("ada", RoleCard(name="Ada Brandt"))


def cast_by(role: Role, model: Callable[[list[BaseMessage]], Any], **settings: Any) -> CastContext:
    return CastContext(
        role=role.id, library=str(role.root.parent), chat_model=ScriptedChatModel(reply=model), **settings
    )


async def cast(role: Role, model: Model, text: str = STORY, **settings: Any) -> dict[str, Any]:
    CastDraft(role.root).add_texts([read_sent("lamp.md", text.encode())])
    found: dict[str, Any] = (await graph.ainvoke({}, context=cast_by(role, model, **settings)))["cast"]
    return found


async def test_drafts_of_all_kinds_with_the_places_that_they_are_from(role: Role, model: Model) -> None:
    report = await cast(role, model)
    draft = CastDraft(role.root)
    (told,) = draft.items("persona")
    assert told == Statement(
        document="lamp.md",
        heading="Who",
        text="Ada Brandt was the keeper of the light on Gull Rock, a tall woman of forty who limped.",
        source="One, line 5",
    )
    (memory,) = draft.items("memories")
    assert (memory.text, memory.model_extra) == (
        "I waited for the boat.",
        {"place": "Gull Rock", "source": "lamp.md: One, line 5"},
    )
    scenes = draft.items("dialogues")
    said = [(line.speaker, line.text) for scene in scenes for line in scene.lines]
    assert ("Ada Brandt", "The boat is late,") in said
    assert [one for one, _ in said] == ["Ada Brandt", "Tom Reed", "Tom Reed", "Ada Brandt"]
    assert [(one.relation, one.object) for one in draft.items("chronicle")] == [("profession", "keeper")]
    fields = [(one.field, one.text) for one in draft.items("card")]
    assert ("profile", "Ada keeps the light on Gull Rock.") in fields
    assert ("aliases", "Ada") in fields
    assert report["waiting"] == draft.counts()
    assert report["failed"] == []


async def test_accepted_drafts_are_the_files_of_the_methods(role: Role, model: Model) -> None:
    await cast(role, model)
    draft = CastDraft(role.root)
    draft.accept({kind: draft.items(kind) for kind in draft.counts()})
    assert draft.counts() == {}
    (document,) = role.documents()
    assert "## Who\n\nAda Brandt was the keeper" in document.text
    assert "(One, line 5)" in document.text
    assert {line.speaker for line in role.dialogues()} == {"Ada Brandt", "Tom Reed"}
    assert all(line.model_extra and "lamp.md" in line.model_extra["source"] for line in role.dialogues())
    assert [one.text for one in role.memories()] == ["I waited for the boat."]
    assert [one.object for one in role.chronicle().triples] == ["keeper"]
    assert role.card.profile == "Ada keeps the light on Gull Rock."
    assert role.card.greetings == ("Mind the step.",)


async def test_a_heading_is_no_statement(role: Role) -> None:
    def reply(messages: list[BaseMessage]) -> str:
        told = [{"sentence": number, "kind": "who"} for number in range(1, 33)]
        return json.dumps({"told": told})

    CastDraft(role.root).add_texts([read_sent("lamp.md", STORY.replace("## One", "## I. One").encode())])
    await graph.ainvoke({}, context=cast_by(role, reply, drafts=["persona"]))
    texts = [one.text for one in CastDraft(role.root).items("persona")]
    assert any("limped" in one for one in texts)
    assert not {"One", "## I.", "Two", "The Lamp"} & {*texts}


async def test_cast_again_nothing_is_asked_and_nothing_comes_back(role: Role, model: Model) -> None:
    await cast(role, model)
    draft = CastDraft(role.root)
    draft.refuse("memories", draft.items("memories"))
    draft.accept({"persona": draft.items("persona")})
    asked = Counter(model.asked)
    report = await cast(role, model)
    assert model.asked == asked
    assert {kind for kind, number in report["new"].items() if number} == set()
    assert draft.items("memories") == []
    assert draft.items("persona") == []


async def test_of_a_changed_text_only_what_is_new_is_asked_about_and_drafted(role: Role, model: Model) -> None:
    await cast(role, model)
    draft = CastDraft(role.root)
    draft.accept({"dialogues": draft.items("dialogues")})
    asked, shown = Counter(model.asked), len(model.shown)
    longer = f'{STORY}\n## Four\n\n"It was the boat after all," said Ada.\n'
    await cast(role, model, longer.replace("# The Lamp\n", "# The Lamp\n\nAda Brandt never lied.\n"))
    assert model.asked["question"] - asked["question"] == 1
    assert len(model.shown) == shown + 1
    assert {"[1] Ada Brandt never lied.", '[2] "It was the boat after all," said Ada.'} <= {
        *model.shown[-1].split("\n")
    }
    assert "keeper" not in model.shown[-1]
    (scene,) = draft.items("dialogues")
    assert [line.text for line in scene.lines] == ["It was the boat after all,"]


async def test_one_question_draws_all_kinds_that_are_wanted_from_a_part(role: Role, model: Model) -> None:
    await cast(role, model, drafts=["persona", "memories"])
    assert model.asked == {"question": 1, "told": 1, "episodes": 1}
    await cast(role, model)
    assert model.asked == {"question": 2, "told": 1, "episodes": 1, "triples": 1, "profile": 1}


async def test_only_where_the_character_is_there_the_text_is_sent(role: Role, model: Model) -> None:
    far = "\n\n".join(f"The wind blew from the north on day {day}." for day in range(100))
    await cast(role, model, f'{STORY}\n{far}\n\n"Ada is asleep," said Tom Reed.\n')
    (shown,) = model.shown
    assert "She had waited for her brother" in shown
    assert "Nobody lived on the far side" not in shown
    assert "on day 1." in shown
    assert "on day 50." not in shown
    assert "on day 99." in shown
    assert "\n…\n" in shown


async def test_what_another_model_answered_is_not_taken_for_an_answer(role: Role, model: Model) -> None:
    class Named(ScriptedChatModel):
        model_name: str

    CastDraft(role.root).add_texts([read_sent("lamp.md", STORY.encode())])
    for name in ("one", "other", "one"):
        chat = Named(reply=model, model_name=name)
        await graph.ainvoke({}, context=CastContext(role=role.id, library=str(role.root.parent), chat_model=chat))
    assert model.asked["question"] == 2


async def test_without_a_model_rules_draft_what_they_find(role: Role, model: Model) -> None:
    report = await cast(role, model, asks=False)
    assert not model.asked
    draft = CastDraft(role.root)
    assert any("limped" in one.text for one in draft.items("persona"))
    assert isinstance(draft.items("dialogues")[0], DraftedScene)
    assert any(one.field == "profile" for one in draft.items("card"))
    assert report["calls"] == 0


async def test_a_part_without_an_answer_is_asked_about_in_halves(role: Role, model: Model) -> None:
    def failing(messages: list[BaseMessage]) -> Any:
        shown = "\n".join(str(one.content) for one in messages)
        return "no idea" if "whale" in shown else model(messages)

    CastDraft(role.root).add_texts([read_sent("lamp.md", STORY.encode())])
    found = (await graph.ainvoke({}, context=cast_by(role, failing, drafts=["persona"])))["cast"]
    assert found["waiting"]["persona"] == 1
    (failed,) = found["failed"]
    assert (failed["kind"], failed["document"], failed["place"]) == ("drafts", "lamp.md", "One, line 11")


async def test_the_text_is_read_no_further_than_a_heading(role: Role, model: Model) -> None:
    await cast(role, model, asks=False, until="three")
    said = [line.text for one in CastDraft(role.root).items("dialogues") for line in one.lines]
    assert "It is only a whale," not in said
    assert "The boat is late," in said


async def test_a_heading_that_no_text_has_is_an_error(role: Role, model: Model) -> None:
    with pytest.raises(RoleError, match=r"No heading of lamp\.md has 'Act 9'"):
        await cast(role, model, until="Act 9")


async def test_nobody_of_the_name_is_an_error_that_names_who_is_there(role: Role, model: Model) -> None:
    with pytest.raises(RoleError, match="Tom Reed"):
        await cast(role, model, character="Zebulon")


async def test_without_texts_the_command_is_named(role: Role, model: Model) -> None:
    with pytest.raises(RoleError, match="dramaturg cast FILE"):
        await graph.ainvoke({}, context=cast_by(role, model))


async def test_a_person_decides_in_the_run_and_the_rest_waits_on(role: Role, model: Model) -> None:
    CastDraft(role.root).add_texts([read_sent("lamp.md", STORY.encode())])
    app = build().compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    context = cast_by(role, model, review=True)
    waiting = await app.ainvoke({}, config, context=context)
    (asked,) = waiting["__interrupt__"]
    assert asked.value["drafts"]["persona"] == 1
    resumed: Any = Command(resume={"accept": ["persona", "card"], "refuse": ["chronicle"]})
    report = (await app.ainvoke(resumed, config, context=context))["cast"]
    assert {*report["waiting"]} == {"dialogues", "memories"}
    assert len(role.documents()) == 1
    assert not role.chronicle().triples


@pytest.mark.parametrize("kind", ["persona", "dialogues", "memories", "chronicle", "card"])
async def test_only_the_kinds_that_are_wanted_are_drafted(role: Role, model: Model, kind: str) -> None:
    report = await cast(role, model, drafts=[kind])
    assert {*report["waiting"]} <= {kind}


async def test_scenes_in_which_others_alone_speak_are_not_drafted(role: Role, model: Model) -> None:
    away = '\n## Four\n\n"Nobody hears us here," said Tom Reed.\n\n"Nobody," said Jory Penn.\n'
    await cast(role, model, STORY + away, asks=False)
    said = [line.text for one in CastDraft(role.root).items("dialogues") for line in one.lines]
    assert "The boat is late," in said
    assert "Nobody hears us here," not in said


def test_part_of_a_name_is_the_same_person_where_nobody_else_has_more_of_a_name_with_it() -> None:
    people = [Somebody(name, (), 1, 0, 1) for name in ("Brandt", "Ada Brandt", "Mr. Brandt", "Reed", "Tom Reed")]
    assert the_character("Ada Brandt", (), people, []).aliases == ("Brandt",)
    assert the_character("Tom Reed", (), [*people, Somebody("Ann Reed", (), 1, 0, 1)], []).aliases == ()


@pytest.mark.parametrize(
    ("name", "text", "there"),
    [
        ("José", "Joséphine was tall.", False),
        ("José", "José was tall.", True),
        ("Анна", "Аннабель пела.", False),
        ("C++", "C++ is a cat.", True),
        ("黛玉", "黛玉笑道", True),
        ("한미래", "한미래는 웃었다.", True),
        ("Silver", "silverware", False),
    ],
)
def test_a_name_is_found_as_a_whole_word_where_there_are_words(name: str, text: str, there: bool) -> None:
    assert names_in(text, Character(name, ())) == there


async def test_asked_again_everything_is_asked_and_nothing_comes_back(role: Role, model: Model) -> None:
    await cast(role, model)
    first = Counter(model.asked)
    await graph.ainvoke({"again": True}, context=cast_by(role, model))
    assert model.asked == first + first
    assert CastDraft(role.root).put({}) == {}


async def test_messages_of_a_chat_are_no_memories(role: Role, model: Model) -> None:
    chat = "01/03/24, 19:02 - Ada Brandt: The boat is late.\n01/03/24, 19:03 - Tom: It is.\n"
    CastDraft(role.root).add_texts([read_sent("wa.txt", chat.encode())])
    found = (await graph.ainvoke({}, context=cast_by(role, model, asks=False)))["cast"]
    assert "dialogues" in found["waiting"]
    assert "memories" not in found["waiting"]


async def test_what_others_alone_have_said_since_waits_for_the_characters_next_line(role: Role, model: Model) -> None:
    draft, chat = CastDraft(role.root), ""
    for minute, speaker, new in ((1, "Ada Brandt", 1), (2, "Tom", 0), (3, "Tom", 0), (4, "Ada Brandt", 1)):
        chat += f"01/03/24, 19:0{minute} - {speaker}: It is {minute} past seven.\n"
        draft.add_texts([read_sent("wa.txt", chat.encode())])
        found = (await graph.ainvoke({}, context=cast_by(role, model, asks=False)))["cast"]
        assert found["new"]["dialogues"] == new
    said = [[line.text for line in one.lines] for one in draft.items("dialogues")]
    assert said == [
        ["It is 1 past seven."],
        ["It is 2 past seven.\nIt is 3 past seven.", "It is 4 past seven."],
    ]


def book(cover: bytes, about: str) -> bytes:
    parts = {"one.xhtml": f"<h1>One</h1>{''.join(f'<p>{one}</p>' for one in STORY.split(chr(10)) if one[:1] != '#')}"}
    return epub(parts, more={"in/art/front.jpg": cover} if cover else {}, about=about)


MARKED = '<item id="c" href="art/front.jpg" media-type="image/jpeg" properties="cover-image"/>'
NAMED = '<meta name="cover" content="c"/><item id="c" href="art/front.jpg" media-type="image/jpeg"/>'


@pytest.mark.parametrize("about", [MARKED, NAMED])
async def test_the_cover_of_a_book_becomes_the_picture_of_a_role_that_has_none(role: Role, about: str) -> None:
    drawn = BytesIO()
    Image.new("RGB", (3000, 2000), "navy").save(drawn, "JPEG")
    draft, picture = CastDraft(role.root), role.root / "picture.png"
    text = read_sent("lamp.epub", book(drawn.getvalue(), about))
    draft.add_texts([text])
    await graph.ainvoke({}, context=cast_by(role, Model(), asks=False, drafts=["card"]))
    (one,) = (one for one in draft.items("card") if one.field == "picture")
    assert (one.text, one.source) == ("lamp.epub", "lamp.epub")
    assert not picture.exists()
    draft.accept({"card": draft.items("card")})
    with Image.open(picture) as shown:
        assert (shown.format, shown.size) == ("PNG", (1024, 683))
    kept = picture.read_bytes()
    draft.add_texts([text._replace(name="other.epub", picture=b"other")])
    await graph.ainvoke({}, context=cast_by(role, Model(), asks=False, drafts=["card"]))
    assert not [one for one in draft.items("card") if one.field == "picture"]
    assert picture.read_bytes() == kept


@pytest.mark.parametrize("cover", [b"", b"no picture", b"\x89PNG\r\n\x1a\n"])
def test_a_book_is_read_whatever_its_cover_is(cover: bytes) -> None:
    text = read_sent("lamp.epub", book(cover, MARKED))
    assert "keeper of the light" in text.text
    assert (text.picture, text.missing) == (b"", ("lamp.epub: the cover cannot be read.",))


async def test_names_of_others_are_decisions_of_the_graph_where_nobody_decided_otherwise(role: Role) -> None:
    story = (
        STORY
        + "\n"
        + "\n\n".join(
            f'"Go," said {name}.'
            for name in ("Mr. Hale", "Jonas Hale", "Hale", "Doctor Penn", "Jory Penn", "Jory", "Reed")
        )
    )
    draft, decided = (
        CastDraft(role.root),
        MergePlan(merges=(Merge(name="Hale", names=("Hale", "The Clerk")),), alone=("Jory",)),
    )
    write_plan(role.root, decided)
    draft.add_texts([read_sent("lamp.md", story.encode())])
    await graph.ainvoke({}, context=cast_by(role, Model(), asks=False, drafts=["names"]))
    drafts = draft.items("names")
    assert {one.name: {*one.names} for one in drafts} == {
        "Jonas Hale": {"Jonas Hale", "Mr. Hale", "Hale"},
        "Jory Penn": {"Jory Penn", "Doctor Penn", "Jory"},
        "Tom Reed": {"Tom Reed", "Reed"},
    }
    draft.accept({"names": drafts})
    plan = read_plan(role.root)
    assert plan
    assert {one.name: {*one.names} for one in plan.merges} == {
        "Hale": {"Hale", "The Clerk", "Jonas Hale", "Mr. Hale"},
        "Jory Penn": {"Jory Penn", "Doctor Penn"},
        "Tom Reed": {"Tom Reed", "Reed"},
    }
    assert plan.alone == ("Jory",)


async def test_speakers_that_were_told_are_not_asked_for_again(role: Role, model: Model) -> None:
    asked = list[str]()

    def reply(messages: list[BaseMessage]) -> str:
        asked.append(str(messages[0].content))
        return '{"speakers": [{"quote": 1, "speaker": 1}]}'

    story = '# The Lamp\n\n"It burns," said Ada.\n\nThe wind blew for a long time.\n\n"Who put it out?"\n'
    CastDraft(role.root).add_texts([read_sent("lamp.md", story.encode())])
    for _ in range(2):
        report = (await graph.ainvoke({}, context=cast_by(role, reply, drafts=["dialogues"])))["cast"]
        assert report["unattributed"] == 0
    assert len(asked) == 1
