"""RoleRAG over several turns: questions made self-contained, and what was declined stays declined."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.self_contained import refers_back, stands_alone
from dramaturg.workflows.role_rag import RoleRagContext, build
from studies.study import gold

from fakes import ScriptedChatModel
from roles import fenced, run_settings
from scope_roles import MOON, graph_role, player, publish, scoped, shown

pytestmark = pytest.mark.sample_of_file(8)

KNOWN = scoped("Apollo 11", "event")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    graph_role(tmp_path)
    return tmp_path


class Talk:
    """A conversation whose turns may each have a model and settings of their own."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self.graph: Any = build().compile(InMemorySaver())
        self.config: Any = {"configurable": {"thread_id": "t"}}

    async def turn(self, question: str, model: ScriptedChatModel, **settings: Any) -> Any:
        context = RoleRagContext(**run_settings(self.library, model) | settings)
        return await self.graph.ainvoke({"messages": [("user", question)]}, self.config, context=context)

    async def boundaries(self) -> list[tuple[str, bool]]:
        values = (await self.graph.aget_state(self.config)).values
        return [(one["name"], one["told"]) for one in values["boundaries"]]


@pytest.fixture
def talk(library: Path) -> Talk:
    return Talk(library)


def strategies(output: Any) -> list[str]:
    return [one["strategy"] for one in output["evidence"]["entities"]]


# The question made self-contained


async def test_the_first_question_is_left_as_it_is_and_later_ones_are_made_self_contained(talk: Talk) -> None:
    output = await talk.turn("Who is Tom?", model := player())
    assert shown(model, "standalone") == []
    assert fenced("question", shown(model, "hypothetical")[0]) == "Who is Tom?"
    assert "question" not in output["evidence"]
    output = await talk.turn("And his boat?", model := player(standalone="And Tom's\n boat?"))
    (text,) = shown(model, "standalone")
    assert fenced("conversation", text) == "user: Who is Tom?\nAda Quill: I keep the light."
    assert output["evidence"]["question"] == "And Tom's boat?"
    for part in ("hypothetical", "scope"):
        assert fenced("question", shown(model, part)[0]) == "And Tom's boat?"
    assert fenced("question", shown(model, "reply")[0]) == "And his boat?"
    assert output["usage"]["make_self_contained"]["calls"] == 1


async def test_a_question_that_needs_no_words_is_not_noted(talk: Talk) -> None:
    await talk.turn("Who is Tom?", player())
    output = await talk.turn("Do you like tea?", player())
    assert "question" not in output["evidence"]
    assert output["usage"]["make_self_contained"]["calls"] == 1


@pytest.mark.parametrize("question", ["Who is Ada?", "Do you have any brothers or sisters?", "你有没有兄弟姐妹？"])
async def test_of_a_question_that_refers_to_nothing_the_model_is_not_asked(talk: Talk, question: str) -> None:
    await talk.turn("Who is Tom?", player())
    output = await talk.turn(question, model := player(standalone="I keep the light."))
    assert shown(model, "standalone") == []
    assert not {"question", "question_error", "question_kept"} & output["evidence"].keys()
    assert fenced("question", shown(model, "scope")[0]) == question


async def test_where_nothing_is_referred_to_a_question_that_was_answered_is_no_fault(talk: Talk) -> None:
    await talk.turn("Who is Tom?", player())
    output = await talk.turn("Do you like tea?", player(standalone="I love tea."))
    assert "question_error" not in output["evidence"]
    assert "the model answered it" in output["evidence"]["question_kept"]


def test_no_follow_up_question_is_taken_to_stand_by_itself() -> None:
    marks = [one for of in gold().follow_ups.values() for one in of]
    assert [one.asked for one in marks if stands_alone(one.asked)] == []
    assert sum(map(refers_back, (one.asked for one in marks))) >= len(marks) - 2
    assert sum(map(stands_alone, (one.question for one in marks))) >= len(marks) / 4


def test_most_questions_of_the_examples_are_taken_to_stand_by_themselves() -> None:
    files = (Path(__file__).parents[2] / "examples").glob("*/questions.jsonl")
    asked = [json.loads(line)["question"] for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert (sum(map(stands_alone, asked)), len(asked)) == (100, 175)


@pytest.mark.parametrize(("recent", "first"), [(2, "user: 2?"), (4, "user: 1?"), (3, "Ada Quill: I keep the light.")])
async def test_a_question_is_understood_from_recent_messages_only(talk: Talk, recent: int, first: str) -> None:
    for number in range(3):
        await talk.turn(f"{number}?", player())
    await talk.turn("And then?", model := player(), recent=recent)
    said = fenced("conversation", shown(model, "standalone")[0]).split("\n")
    assert (len(said), said[0]) == (recent, first)


@pytest.mark.parametrize("settings", [{"recent": 0}, {"rules": "paper"}], ids=["nothing recent", "as in the paper"])
async def test_a_question_stays_as_it_was_asked(talk: Talk, settings: dict[str, Any]) -> None:
    await talk.turn("Who is Tom?", player())
    await talk.turn("And his boat?", model := player(), **settings)
    assert shown(model, "standalone") == []


async def test_a_question_that_cannot_be_rewritten_stays_as_it_is(talk: Talk) -> None:
    await talk.turn("Who is Tom?", player())
    output = await talk.turn("And his boat?", model := player(standalone=""))
    assert fenced("question", shown(model, "scope")[0]) == "And his boat?"
    assert "no usable answer" in output["evidence"]["question_error"]
    assert output["usage"]["make_self_contained"]["failures"] == 2
    output = await talk.turn("And his boat?", model := player(standalone="long " * 5000 + "?"))
    assert len(output["evidence"]["question"].encode()) <= 1000


async def test_a_question_that_is_answered_in_place_of_being_said_in_full_stays_as_it_is(talk: Talk) -> None:
    await talk.turn("Who is Tom?", player())
    output = await talk.turn("And his boat?", model := player(standalone="I have always loved his boat."))
    assert fenced("question", shown(model, "scope")[0]) == "And his boat?"
    assert "the model answered it" in output["evidence"]["question_error"]
    output = await talk.turn("Tell me of his boat.", player(standalone="Tell me of Tom's boat."))
    assert output["evidence"]["question"] == "Tell me of Tom's boat."


@pytest.mark.parametrize(
    "written", ['"And Tom\'s boat?"', "**And Tom's boat?**", 'The question is: "And Tom\'s boat?"', "“And Tom's boat?”"]
)
async def test_a_question_in_quotes_or_bold_is_read(talk: Talk, written: str) -> None:
    await talk.turn("Who is Tom?", player())
    output = await talk.turn("And his boat?", player(standalone=written))
    assert output["evidence"].get("question") == "And Tom's boat?"


@pytest.mark.parametrize(
    ("asked", "written", "meant"),
    [
        ("Tell me about him.", "Tom is my brother. He sails the mail boat.", None),
        ("Tell me about him.", "I can tell you about him. He is my brother.", None),
        ("Tell me about him.", '"Tell me about Tom."', "Tell me about Tom."),
        ("跟我说说他。", "汤姆是我的弟弟，驾着邮船。", None),
        ("跟我说说他。", "「跟我说说汤姆。」", "跟我说说汤姆。"),
        ("그에 대해 말해 줘.", "톰은 내 동생이고 배를 몬다.", None),
        ("그에 대해 말해 줘.", "톰에 대해 말해 줘.", "톰에 대해 말해 줘."),
    ],
)
async def test_what_is_no_question_is_said_in_full_and_not_answered(
    talk: Talk, asked: str, written: str, meant: str | None
) -> None:
    await talk.turn("Who is Tom?", player())
    output = await talk.turn(asked, player(standalone=written))
    assert output["evidence"].get("question") == meant
    assert ("question_error" in output["evidence"]) == (meant is None)


async def test_local_search_too_looks_for_the_question_as_it_is_meant(talk: Talk) -> None:
    await talk.turn("Who is Tom?", player())
    model = player(standalone="Who sails the mail boat?")
    output = await talk.turn("Really?", model, retrieval="local", starts=1, expanded=0)
    assert [one["entity"] for one in output["evidence"]["reached"]] == ["Tom Quill"]


# What was declined


async def test_what_was_declined_stays_declined_though_it_is_judged_otherwise_now(talk: Talk) -> None:
    await talk.turn("What of Apollo 11?", player(MOON))
    output = await talk.turn("But Apollo 11?", model := player(KNOWN))
    assert strategies(output) == ["out of scope"]
    assert output["evidence"]["out_of_scope"] == [{"name": "Apollo 11", "reason": "Apollo 11 is of a later time."}]
    assert "of a later time" in fenced("unknown", shown(model, "reply")[0])
    (text,) = shown(model, "told")
    assert fenced("entity", text) == "Apollo 11"
    assert fenced("conversation", text).endswith("user: But Apollo 11?")
    assert output["usage"]["keep_boundaries"]["calls"] == 1


async def test_what_the_user_has_told_of_may_be_spoken_of_from_then_on(talk: Talk) -> None:
    await talk.turn("What of Apollo 11?", player(MOON))
    output = await talk.turn("Apollo 11 flew to the moon.", model := player(MOON, told="yes"))
    assert strategies(output) == ["told"]
    reply = shown(model, "reply")[0]
    assert (fenced("told", reply), fenced("unknown", reply)) == ("Apollo 11", "")
    assert await talk.boundaries() == [("Apollo 11", True)]
    output = await talk.turn("What of Apollo 11 now?", model := player(MOON))
    assert strategies(output) == ["told"]
    assert shown(model, "told") == []
    assert fenced("told", shown(model, "reply")[0]) == "Apollo 11"


async def test_where_the_model_does_not_say_whether_it_was_told_it_stays_declined(talk: Talk) -> None:
    await talk.turn("What of Apollo 11?", player(MOON))
    assert strategies(await talk.turn("Apollo 11 flew to the moon.", player(KNOWN, told="perhaps"))) == ["out of scope"]
    with pytest.raises(ModelUnavailable):
        await talk.turn("Apollo 11 flew.", player(KNOWN, told=ModelUnavailable("nobody there")))


async def test_other_entities_are_not_held_by_what_was_declined(talk: Talk) -> None:
    await talk.turn("What of Apollo 11?", player(MOON))
    output = await talk.turn("And Tom and you?", model := player(scoped("Tom"), scoped("Ada Quill")))
    assert strategies(output) == ["specific", "profile"]
    assert shown(model, "told") == []


async def test_only_what_the_question_itself_names_is_remembered_as_declined(talk: Talk) -> None:
    output = await talk.turn("What of the sky?", player(MOON))
    assert strategies(output) == ["out of scope"]
    assert await talk.boundaries() == []


@pytest.mark.parametrize(
    ("question", "name", "named"),
    [
        ("Who is your brother?", "Müller", False),
        ("Who was your best teacher?", "Schönberg", False),
        ("Do you know Schonberg?", "Schönberg", True),
        ("Do you know Møller?", "Moller", True),
        ("Did you see the lamp?", "The Beatles", False),
        ("Have you heard the Beatles?", "The Beatles", True),
        ("Are you 11 years old?", "Apollo 11", False),
        ("What of Apollo?", "Apollo 11", True),
        ("Who is the captain?", "Captain Reed", False),
        ("And Reed's ship?", "Captain Reed", True),
        ("Did you see the moon?", "moon landing", False),
        ("And the landing on the moon?", "moon landing", True),
        ("你是中国人吗？", "中国共产党", False),
        ("共产党是什么？", "中国共产党", True),
        ("悟空在哪里？", "孙悟空", True),
        ("한국 사람입니까?", "한국전쟁", False),
        ("이순신은 누구입니까?", "이순신", True),
    ],
)
async def test_whether_a_question_names_an_entity_goes_by_words(
    talk: Talk, question: str, name: str, named: bool
) -> None:
    await talk.turn(question, player(scoped(name, "event", relevant=False)))
    assert bool(await talk.boundaries()) == named


async def test_of_two_names_the_longer_is_meant(talk: Talk) -> None:
    party, land = (scoped(name, "organization", relevant=False) for name in ("中国共产党", "中国"))
    await talk.turn("中国共产党是什么？", player(land, party))
    assert [name for name, _ in await talk.boundaries()] == ["中国共产党"]


async def test_what_a_question_asks_for_by_another_name_is_looked_up_beside_what_cannot_be_known(talk: Talk) -> None:
    guess = scoped("Schönberg", relevant=False)
    output = await talk.turn("Who was your best teacher?", player(scoped("Tom Quill"), guess))
    assert [one["entity"] for one in output["evidence"].get("specific", [])] == ["Tom Quill"]
    output = await talk.turn("Did your brother see Apollo 11?", player(scoped("Tom Quill"), scoped("Leith"), MOON))
    assert [one["entity"] for one in output["evidence"].get("specific", [])] == ["Tom Quill"]


@pytest.mark.parametrize("scope", ["none", '{"entities": []}', '{"entities": [{"name": "the moon"}]}'])
async def test_what_was_declined_stays_declined_where_nobody_judges_it(talk: Talk, scope: str) -> None:
    await talk.turn("What of Apollo 11?", player(MOON))
    output = await talk.turn("But Apollo 11?", model := player(scope=scope))
    assert [one["reason"] for one in output["evidence"].get("out_of_scope", [])] == ["Apollo 11 is of a later time."]
    assert "of a later time" in fenced("unknown", shown(model, "reply")[0])
    output = await talk.turn("And the lamp?", player(scope=scope))
    assert "out_of_scope" not in output["evidence"]
    output = await talk.turn("Apollo 11 flew to the moon.", player(scope=scope, told="yes"))
    assert strategies(output) == ["told"]


@pytest.mark.parametrize("named", [True, False])
async def test_a_verdict_against_a_close_relation_is_asked_about_once_more(tmp_path: Path, named: bool) -> None:
    graph_role(tmp_path, named=named)
    talk, wrong = Talk(tmp_path), scoped("Tom", relevant=False)
    output = await talk.turn("Who is Tom?", model := player(wrong, relevant="yes"))
    assert strategies(output) == (["specific"] if named else ["out of scope"])
    assert [fenced("entity", text) for text in shown(model, "relevant")] == ["Tom (character)"] * named
    assert all("How Ada Quill and Tom Quill are connected." in text for text in shown(model, "relevant"))
    again = [{"name": "Tom", "strength": 9, "stands": False}] if named else None
    assert output["evidence"].get("asked_again") == again
    output = await talk.turn("Who is Tom?", player(wrong, relevant="yes"), rules="paper")
    assert strategies(output) == ["out of scope"]


async def test_a_verdict_that_stands_against_a_close_relation_holds_for_one_turn(talk: Talk) -> None:
    wrong = scoped("Tom", relevant=False)
    output = await talk.turn("Who is Tom?", player(wrong, relevant="no"))
    assert strategies(output) == ["out of scope"]
    assert await talk.boundaries() == []
    output = await talk.turn("But who is Tom?", model := player(scoped("Tom")))
    assert strategies(output) == ["specific"]
    assert shown(model, "told") == []
    distant = scoped("the harbour master", relevant=False)
    output = await talk.turn("Who is the harbour master?", model := player(distant, relevant="yes"))
    assert strategies(output) == ["out of scope"]
    assert shown(model, "relevant") == []


@pytest.mark.parametrize(
    ("declined", "asked"),
    [
        ("Apollo 11", "Apollo 11 landing"),
        ("Apollo 11", "Apollo"),
        ("Tom Sawyer", "Sawyer"),
        ("Schönberg", "Schonberg"),
        ("中国共产党", "共产党"),
    ],
)
async def test_what_was_declined_is_known_by_its_other_names(talk: Talk, declined: str, asked: str) -> None:
    await talk.turn(f"What of {declined}?", player(scoped(declined, "event", relevant=False)))
    output = await talk.turn(f"And {asked}?", player(scoped(asked, "event")))
    assert strategies(output) == ["out of scope"]
    assert output["evidence"]["out_of_scope"][0]["reason"] == f"{declined} is of a later time."


async def test_the_graph_says_which_names_are_of_one_entity(tmp_path: Path) -> None:
    graph_role(tmp_path, named=False)
    talk = Talk(tmp_path)
    await talk.turn("What of Tom Quill?", player(scoped("Tom Quill", relevant=False)))
    assert strategies(await talk.turn("And your brother?", player(scoped("her brother")))) == ["out of scope"]
    other = Talk(tmp_path)
    await other.turn("What of Tom Sawyer?", player(scoped("Tom Sawyer", relevant=False)))
    assert strategies(await other.turn("And Tom?", player(scoped("Tom")))) == ["specific"]
    assert strategies(await other.turn("And Apollo 13?", player(scoped("Apollo 13")))) == ["specific"]


async def test_no_more_boundaries_are_kept_than_asked_for(talk: Talk) -> None:
    for number in range(4):
        name = f"Apollo {number}"
        await talk.turn(f"What of {name}?", player(scoped(name, "event", relevant=False)), boundaries=2)
    assert await talk.boundaries() == [("Apollo 2", False), ("Apollo 3", False)]
    await talk.turn("What of Apollo 2?", player(scoped("Apollo 2", "event", relevant=False)), boundaries=2)
    assert await talk.boundaries() == [("Apollo 3", False), ("Apollo 2", False)]
    await talk.turn("What of Apollo 2?", player(), boundaries=0)
    assert await talk.boundaries() == []


async def test_what_another_role_declined_on_the_same_thread_does_not_count(talk: Talk) -> None:
    await talk.turn("What of Apollo 11?", player(MOON))
    card = (talk.library / "ada" / "role.yaml").read_text(encoding="utf-8").replace("Ada Quill", "Bea Quill")
    (talk.library / "bea" / "persona").mkdir(parents=True)
    (talk.library / "bea" / "role.yaml").write_text(card, encoding="utf-8")
    (talk.library / "bea" / "persona" / "life.md").write_text("Bea Quill flies.\n", encoding="utf-8")
    output = await talk.turn("What of Apollo 11?", model := player(KNOWN), role="bea")
    assert strategies(output) == ["specific"]
    assert shown(model, "told") == []


async def test_boundaries_outlive_the_window(talk: Talk) -> None:
    await talk.turn("What of Apollo 11?", player(MOON), window=2)
    for _ in range(3):
        output = await talk.turn("And Tom?", player(scoped("Tom")), window=2)
    assert len(output["messages"]) <= 2
    assert output["evidence"]["summary"] == "They spoke of the light."
    output = await talk.turn("And Apollo 11?", model := player(KNOWN), window=2)
    assert strategies(output) == ["out of scope"]
    assert fenced("summary", shown(model, "reply")[0]) == "They spoke of the light."


async def test_nothing_is_left_over_from_the_turn_before(talk: Talk) -> None:
    await talk.turn("Rex, Tom, friends?", player(scoped("Rex"), scoped("friends", level="general")), least_score=0.99)
    publish(talk.library, remark=" Again.")
    output = await talk.turn("Hm?", model := player(), least_score=0.99)
    reply = shown(model, "reply")[0]
    assert fenced("silent", reply) == ""
    assert fenced("knowledge", reply) == "Ada Quill (character): She keeps the lighthouse. Again."
    assert not {"missing", "general", "out_of_scope"} & set(output["evidence"])
