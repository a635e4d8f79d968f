"""An interview: a scripted role and judge get what they say, what is missing is missing, nothing is asked twice."""

import asyncio
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.evaluation.instruments.files import instrument
from dramaturg.evaluation.instruments.instrument import Instrument, Scale
from dramaturg.evaluation.interviews import graph as interview
from dramaturg.evaluation.interviews.judging import batches
from dramaturg.evaluation.interviews.run import interviewed, questions, read_interview, so_far
from dramaturg.evaluation.interviews.scores import scored
from dramaturg.evaluation.interviews.state import InterviewContext, InterviewRecord, Judgement
from dramaturg.evaluation.metrics.alignment import split_batches
from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.conversations.kept_run import Busy, alone
from dramaturg.stores.saver import file as saver_file
from dramaturg.testing import Call
from dramaturg.workflows.methods import METHODS

from commands import Command
from crash_points import kills
from fakes import ScriptedChatModel
from kept_forms import nothing_more_kept
from mood_models import feeler
from passage_samples import quick
from roles import fenced, run_settings, said, small_role
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(13)

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
FOUR = instrument("four-letters", "en")
ASKED = {item.question: item for item in FOUR.items}
Said = str | Exception
Answer = Callable[[str], Said]


def scale_of_two(keys: str = "++-+-") -> Instrument:
    """Two dimensions on a scale from 1 to 5, with keys for the items of each."""
    items = [
        {
            "id": f"{name}{number}",
            "dimension": name,
            "key": "high" if key == "+" else "low",
            "statement": f"I am {name} {number}.",
            "question": f"Is {name} {number} what you are?",
        }
        for name in ("Courage", "Order")
        for number, key in enumerate(keys, start=1)
    ]
    poles = ({"name": "Courage", "high": "B", "low": "T"}, {"name": "Order", "high": "N", "low": "M"})
    dimensions = [{**one, "description": "what it means"} for one in poles]
    about = {"name": "two", "language": "en", "licence": "CC0-1.0", "source": "a test", "scores": "scale"}
    return Instrument.model_validate(
        {**about, "scale": {"low": 1, "high": 5}, "dimensions": dimensions, "items": items}
    )


def constant(text: str) -> Said:
    """Say the same, whatever is asked."""
    return "I keep the light."


def rating(result: Any) -> str:
    return json.dumps({"analysis": "so it seems", "result": result})


def even(text: str) -> Said:
    """Judge that a person is in the middle."""
    if "<statement>" in text:
        return rating(3)
    letters = re.findall(r'"result": \{"(.)": …, "(.)": …\}', text)
    return rating(dict.fromkeys(letters[0], 50)) if letters else rating(3)


def by_letters(text: str) -> Said:
    """Judge that a person is what the answers say, by their letters."""
    ((high, low),) = re.findall(r'"result": \{"(.)": …, "(.)": …\}', text)
    share = 100 * sum(f"I am {high}." in line for line in answers_in(text)) / len(answers_in(text))
    return rating({high: share, low: 100 - share})


def answers_in(text: str) -> list[str]:
    return re.findall(r"<the participant>: (.*)", fenced("answers", text))


def model(role: Answer = constant, judge: Answer = even) -> ScriptedChatModel:
    """Play the role by what it is asked, and the judge by all that it is shown."""

    def answer(messages: list[BaseMessage]) -> Said:
        text = said(messages)
        return judge(text) if "<answers>" in text else role(fenced("question", text))

    return ScriptedChatModel(reply=answer)


def context(folder: Path, played: ScriptedChatModel, **settings: Any) -> InterviewContext:
    if not (folder / "ada").exists():
        small_role(folder)
    return InterviewContext(**run_settings(folder, played, **{"method": "vanilla", **settings}))


def held(folder: Path, played: ScriptedChatModel, **settings: Any) -> Any:
    """Hold an interview without keeping it."""
    return asyncio.run(interview.graph.ainvoke({}, context=context(folder, played, **settings)))


def kept(folder: Path, played: ScriptedChatModel, **settings: Any) -> Any:
    """Hold an interview as the command does."""
    return asyncio.run(interviewed(context(folder, played, **settings), folder / "out.json"))


def asked_items(played: ScriptedChatModel) -> list[str]:
    """The questions that the role was asked, in their order."""
    return [fenced("question", one.text) for one in played.calls if "<question>" in one.text]


def judged(played: ScriptedChatModel) -> list[Call]:
    return [one for one in played.calls if "<answers>" in one.text]


def timeless(output: Any) -> Any:
    """An output without the seconds, which differ from run to run."""
    return json.loads(re.sub(r'"seconds": [\d.e-]+', '"seconds": 0', json.dumps(output)))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    monkeypatch.setattr(saver_file, "SYNCHRONOUS", "OFF")  # a power cut is not tested here


@pytest.mark.parametrize("letters", ["ESTP", "INFJ", "ENTJ", "ISFP"])
def test_a_role_that_answers_by_a_type_has_it(letters: str, tmp_path: Path) -> None:
    def role(question: str) -> Said:
        own = ASKED[question].dimension.split("/")
        return f"I am {next(one for one in letters if one in own)}."

    output = held(tmp_path, model(role, by_letters), limit=24)
    assert (output["type"], output["valid"]) == (letters, True)
    assert {one["score"] for one in output["scores"].values()} == {100.0 if one in "ESTP" else 0.0 for one in letters}
    assert output["counts"]["missing"] == 0
    assert json.loads(json.dumps(output)) == output


def test_a_score_is_the_mean_of_its_batches_whatever_their_size(tmp_path: Path) -> None:
    firm = {f"EI{number:02}" for number in range(1, 5)}  # the first batch of four

    def role(question: str) -> Said:
        return "I am E." if ASKED[question].id in firm else "I am I."

    score = held(tmp_path, model(role, by_letters))["scores"]["E/I"]
    assert score["batches"] == [[100, 0, 0, 0]]
    assert (score["score"], score["repeats"]) == (25, [25])
    assert score["intra_std"] == [pytest.approx(43.30127)]
    assert score["inter_std"] is None


@pytest.mark.parametrize(("tie", "letters"), [("low", "INFJ"), ("high", "ESTP")])
def test_a_judge_in_the_middle_leaves_the_type_to_the_rule_for_ties(tie: str, letters: str, tmp_path: Path) -> None:
    output = held(tmp_path, model(), tie=tie, limit=8)
    assert [one["score"] for one in output["scores"].values()] == [50] * 4
    assert output["type"] == letters


@pytest.mark.parametrize(("said_by_judge", "score", "letters"), [(3, 3, "TM"), (4.5, 4.5, "BN"), (1, 1, "TM")])
def test_a_scale_is_rated_with_a_number_of_it(said_by_judge: float, score: float, letters: str, tmp_path: Path) -> None:
    output = held(tmp_path, model(judge=lambda _: rating(said_by_judge)), instrument=scale_of_two())
    assert [one["score"] for one in output["scores"].values()] == [score] * 2
    assert output["type"] == letters


@pytest.mark.parametrize(
    "how",
    [{}, {"instrument": scale_of_two()}, {"judging": "option_conversion"}],
    ids=["shares", "scale", "choices"],
)
def test_an_interview_leaves_no_form_of_a_rating_in_memory(how: dict[str, Any], tmp_path: Path) -> None:
    held(tmp_path, model(), limit=4, **how)
    with nothing_more_kept():
        held(tmp_path, model(), limit=4, **how)


@pytest.mark.parametrize("wrong", [0.5, 5.5, "high", None, "NaN", True])
def test_a_number_off_the_scale_is_no_judgement(wrong: Any, tmp_path: Path) -> None:
    output = held(tmp_path, model(judge=lambda _: rating(wrong)), instrument=scale_of_two())
    assert {one["result"] for one in output["judgements"]} == {None}
    assert (output["type"], output["valid"], output["counts"]["missing"]) == ("??", False, 10)


@pytest.mark.parametrize("shares", [{"E": 60, "I": 60}, {"E": 110, "I": -10}, {"S": 50, "N": 50}])
def test_percentages_that_make_no_whole_are_no_judgement(shares: dict[str, float], tmp_path: Path) -> None:
    output = held(tmp_path, model(judge=lambda text: rating(shares) if "E/I" in text else even(text)), limit=8)
    assert output["scores"]["E/I"]["score"] is None
    assert output["type"] == "?NFJ"
    assert (output["counts"]["judgements_missing"], output["counts"]["missing"]) == (1, 2)


def test_one_percentage_tells_the_other(tmp_path: Path) -> None:
    output = held(tmp_path, model(judge=lambda text: rating({"E": 60}) if "E/I" in text else even(text)), limit=8)
    assert (output["scores"]["E/I"]["score"], output["counts"]["judgements_missing"]) == (60.0, 0)


def test_a_judge_that_fails_leaves_its_batch_missing_and_the_interview_invalid(tmp_path: Path) -> None:
    def judge(text: str) -> Said:
        return "I would rather not." if ASKED_FIRST in text else even(text)

    output = held(tmp_path, model(judge=judge))
    failed = [one for one in output["judgements"] if one["result"] is None]
    assert [one["items"] for one in failed] == [["EI01", "EI02", "EI03", "EI04"]]
    assert "no usable answer" in failed[0]["error"]
    assert output["scores"]["E/I"]["batches"] == [[50, 50, 50]]
    assert (output["valid"], output["counts"]["missing"], output["counts"]["wanted"]) == (False, 4, 60)
    assert "4 of 60 judgements of items are missing, more than 2%" in output["invalid_because"]


ASKED_FIRST = FOUR.items[0].question


@pytest.mark.parametrize(("silent", "valid"), [(1, True), (2, False)])
def test_a_reply_that_does_not_come_is_missing(silent: int, valid: bool, tmp_path: Path) -> None:
    left = {item.question for item in FOUR.items[:silent]}
    output = held(tmp_path, model(lambda question: " " if question in left else "I keep the light."))
    counts = output["counts"]
    assert (output["valid"], counts["missing"], counts["no_reply"]) == (valid, silent, silent)
    assert [one["flags"] for one in output["records"][:silent]] == [["no_reply"]] * silent
    assert len(output["scores"]["E/I"]["batches"][0]) == len(split_batches(15 - silent))
    assert output["records"][0]["error"]


def test_an_empty_answer_is_judged_by_nobody_and_counted(tmp_path: Path) -> None:
    played = model(lambda question: "Interviewer: Well?" if question == ASKED_FIRST else "I keep the light.")
    output = held(tmp_path, played)
    assert output["records"][0]["reply"] == "Interviewer: Well?"
    assert output["records"][0]["flags"] == ["further_speakers", "empty"]
    assert (output["counts"]["empty"], output["counts"]["missing"]) == (1, 1)
    assert not [one for one in judged(played) if ASKED_FIRST in one.text]


def test_a_role_that_never_answers_has_no_type(tmp_path: Path) -> None:
    played = model(lambda _: "")
    output = held(tmp_path, played, limit=8)
    assert (output["type"], output["valid"], output["counts"]["missing"]) == ("????", False, 8)
    assert (output["judgements"], judged(played)) == ([], [])


def test_flags_are_counted_and_the_raw_reply_stays(tmp_path: Path) -> None:
    output = held(tmp_path, model(lambda _: "As an AI language model, I like 散步 在 森林."), limit=8)
    assert output["counts"]["flags"] == {"assistant_phrase": 8, "mixed_language": 8, "not_into_character": 8}
    assert output["records"][0]["reply"].startswith("As an AI")
    assert output["records"][0]["cleaned"] == "I like 散步 在 森林."
    assert output["valid"]


@pytest.mark.parametrize("method", ["vanilla", "profile"])
def test_each_item_is_a_conversation_of_its_own(method: str, tmp_path: Path) -> None:
    played = model(lambda question: f"I said: {question}")
    held(tmp_path, played, method=method, limit=20)
    asked = [one for one in played.calls if "<question>" in one.text]
    assert len(set(asked_items(played))) == len(asked) == 20
    assert not [one for one in asked if "I said: " in one.text]


@pytest.mark.parametrize(
    ("method", "more"), [("id-rag", {"identity": "full", "gate": False}), ("emotional-rag", {"strategy": "semantic"})]
)
def test_nothing_is_remembered_from_item_to_item(method: str, more: dict[str, Any], tmp_path: Path) -> None:
    feels, store = feeler(), InMemoryStore()

    def answer(messages: list[BaseMessage]) -> Said:
        text = said(messages)
        answered = method == "id-rag" or "Answer aloud" in text
        return even(text) if "<answers>" in text else MINE if answered else feels.reply(messages)  # type: ignore[return-value]

    played = ScriptedChatModel(reply=answer)
    own = context(tmp_path, played, method=method, limit=5, concurrency=1, method_settings=more)
    graph = interview.build().compile(InMemorySaver(), store=store)
    output = asyncio.run(graph.ainvoke({}, {"configurable": {"thread_id": "one"}}, context=own))
    assert [one["reply"] for one in output["records"]] == [MINE] * 5
    assert not [one for one in played.calls if "<answers>" not in one.text and MINE in one.text]
    assert store.search(()) == []


MINE = "I said this before."


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_interviewed(method: str, tmp_path: Path) -> None:
    feels = feeler()

    def answer(messages: list[BaseMessage]) -> Said:
        return even(text) if "<answers>" in (text := said(messages)) else feels.reply(messages)  # type: ignore[return-value]

    output = kept(tmp_path, ScriptedChatModel(reply=answer), method=method, limit=1, experimenter="Tom")
    (only,) = output["records"]
    assert (only["reply"], only["anonymous"], only["flags"]) == ("I keep the light.", "I keep the light.", [])
    assert output["type"] == "I???"
    assert only["usage"]


def test_a_limit_takes_items_of_each_dimension_in_turn(tmp_path: Path) -> None:
    output = held(tmp_path, model(), limit=6)
    assert [one["item"] for one in output["records"]] == ["EI01", "SN01", "TF01", "PJ01", "EI02", "SN02"]
    assert Counter(tuple(one["items"]) for one in output["judgements"]) == Counter(
        [("EI01", "EI02"), ("SN01", "SN02"), ("TF01",), ("PJ01",)]
    )


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (1, [1]),
        (5, [5]),
        (6, [3, 3]),
        (7, [4, 3]),
        (9, [3, 3, 3]),
        (10, [3, 4, 3]),
        (13, [3, 3, 4, 3]),
        (15, [4, 4, 4, 3]),
    ],
)
def test_batches_are_those_of_the_reference(count: int, sizes: list[int]) -> None:
    records = [record(f"EI{number}") for number in range(count)]
    found = list(batches(FOUR.dimensions[0], records, 0, "expert_rating"))
    assert [len(one["items"]) for one in found] == sizes
    assert [item for one in found for item in one["items"]] == [one["item"] for one in records]


def record(item: str, dimension: str = "E/I", **more: Any) -> InterviewRecord:
    said = {"question": "?", "reply": "So.", "error": "", "evidence": {}, "usage": {}, "cleaned": "So.", "flags": []}
    about: Any = {"item": item, "dimension": dimension, **said, "anonymous": "So.", "anonymous_question": "?", **more}
    return about  # type: ignore[no-any-return]


@pytest.mark.parametrize("repeat", [1, 2])
def test_a_repeat_is_shuffled_by_its_number(repeat: int) -> None:
    order = [f"EI{number}" for number in range(15)]
    found = batches(FOUR.dimensions[0], [record(one) for one in order], repeat, "expert_rating")
    Random(repeat).shuffle(order)
    assert [item for one in found for item in one["items"]] == order


def test_repeats_have_a_spread_and_ask_the_role_once(tmp_path: Path) -> None:
    seen = Counter[str]()

    def judge(text: str) -> Said:
        seen[dimension := fenced("dimension", text)[:3]] += 1
        share = 80 if dimension == "E/I" and seen[dimension] > 2 else 60
        return rating(dict(zip(re.findall(r'"(.)": …', text), (share, 100 - share), strict=True)))

    played = model(judge=judge)
    output = held(tmp_path, played, repeats=2, limit=24, concurrency=1)
    assert [len(one) for one in output["scores"]["E/I"]["batches"]] == [2, 2]
    assert output["scores"]["S/N"]["batches"] == [[60, 60], [60, 60]]
    assert (len(asked_items(played)), len(judged(played)), output["counts"]["wanted"]) == (24, 16, 48)


def test_the_spread_of_repeats_is_that_of_their_means() -> None:
    results = [(0, 60), (0, 70), (1, 80), (1, 90)]
    about = {"dimension": "E/I", "items": ["EI01"], "analysis": "", "error": ""}
    judgements = [Judgement(**about, repeat=repeat, result=result) for repeat, result in results]  # type: ignore[typeddict-item]
    score = scored(FOUR, [record("EI01"), record("EI02")], judgements, repeats=2)["scores"]["E/I"]
    assert (score["repeats"], score["score"], score["inter_std"]) == ([65, 85], 75, 10)
    assert score["intra_std"] == [5, 5]


def test_a_judge_sees_no_name(tmp_path: Path) -> None:
    played = model(lambda _: "Ada Quill says so, and Tom knows.")
    output = held(tmp_path, played, limit=8, experimenter="Tom")
    assert asked_items(played)[0].startswith("Tom: ")
    shown = [fenced("answers", one.text) for one in judged(played)]
    assert not [text for text in shown if "Ada" in text or "Tom " in text]
    assert "<the participant>: <the participant> says so, and <the experimenter> knows." in shown[0]
    assert output["records"][0]["question"] == ASKED_FIRST


def test_an_experimenter_is_somebody_to_a_method_that_knows_people() -> None:
    from dramaturg.evaluation.interviews.asking import respondent_context

    own: Any = respondent_context(InterviewContext(method="drmr", experimenter="Tom"))
    assert own.user_role == "Tom"


@pytest.mark.parametrize(("language", "letters"), [("zh", "一鿿"), ("ko", "가힣")])
def test_questions_and_judges_speak_the_language_of_the_role(language: str, letters: str, tmp_path: Path) -> None:
    played = model()
    held(tmp_path, played, limit=4, language=language)
    first, last = letters
    for text in [asked_items(played)[0], judged(played)[0].messages[0].text]:
        assert sum(first <= letter <= last for letter in text) > len(text) / 4


def test_another_model_judges(tmp_path: Path) -> None:
    played, judge = model(), model()
    held(tmp_path, played, judge=judge, limit=4)
    assert (len(judged(played)), len(judged(judge)), len(asked_items(judge))) == (0, 4, 0)


def test_choices_are_scored_by_the_keys(tmp_path: Path) -> None:
    def judge(text: str) -> Said:
        return rating(5 if fenced("statement", text) in ("I am Courage 3.", "I am Order 1.") else 3)

    output = held(tmp_path, model(judge=judge), instrument=scale_of_two("+--"), judging="option_conversion")
    assert [one["score"] for one in output["scores"].values()] == [pytest.approx(7 / 3), pytest.approx(11 / 3)]
    assert output["scores"]["Courage"]["batches"] == [[3, 3, 1]]
    assert (output["type"], output["counts"]["judgements"]) == ("TN", 6)


def test_choices_of_seven_steps_become_percentages(tmp_path: Path) -> None:
    def judge(text: str) -> Said:
        item = next(one for one in FOUR.items if one.statement == fenced("statement", text))
        return rating(7 if item.key == "high" else 1)

    output = held(tmp_path, model(judge=judge), judging="option_conversion", limit=16)
    assert [one["score"] for one in output["scores"].values()] == [100] * 4
    assert output["type"] == "ESTP"


@pytest.mark.parametrize(("refusals", "score"), [("leave_out", 5), ("midpoint", 4.6)])
def test_a_refusal_is_an_answer_and_its_rule_has_a_name(refusals: str, score: float, tmp_path: Path) -> None:
    def judge(text: str) -> Said:
        return rating("x") if "Courage 5" in text else rating(5)

    found = held(
        tmp_path,
        model(judge=judge),
        instrument=scale_of_two("+++++"),
        judging="option_conversion",
        refusals=refusals,
    )
    assert found["scores"]["Courage"]["score"] == score
    assert (found["counts"]["refused"], found["counts"]["missing"], found["valid"]) == (1, 0, True)


def test_a_self_report_asks_for_a_number_and_needs_no_judge(tmp_path: Path) -> None:
    def role(question: str) -> Said:
        said_by_key = {"I am Courage 1.": "5", "I am Courage 2.": "Ada: 1", "I am Order 1.": "I would say 4."}
        return next((answer for statement, answer in said_by_key.items() if statement in question), "2 or 3 out of 5")

    played = model(role)
    output = held(tmp_path, played, instrument=scale_of_two("+-"), judging="self_report")
    assert {name: one["score"] for name, one in output["scores"].items()} == {"Courage": 5, "Order": 4}
    assert judged(played) == []
    assert (output["counts"]["missing"], output["counts"]["judgements_missing"], output["valid"]) == (1, 1, False)
    assert "does not name one whole number from 1 to 5" in output["judgements"][-1]["error"]


@pytest.mark.parametrize(("answer", "score"), [("-2", -2), ("I would say −1.", -1), ("2", 2)])
def test_a_self_report_on_a_scale_below_zero_keeps_its_sign(answer: str, score: float, tmp_path: Path) -> None:
    below = scale_of_two("+").model_copy(update={"scale": Scale(low=-2, high=2)})
    output = held(tmp_path, model(lambda _: answer), instrument=below, judging="self_report")
    assert [one["score"] for one in output["scores"].values()] == [score] * 2


@pytest.mark.parametrize(("tie", "type_"), [("low", "TM"), ("high", "BN")])
def test_choices_whose_mean_is_the_midpoint_are_a_tie(tie: Any, type_: str) -> None:
    choices = dict(enumerate((7, 6, 7, 6, 2), start=1))  # keyed -+-+-: as percentages their mean is a little above 50
    steps = scale_of_two("-+-+-").model_copy(update={"scale": Scale(low=1, high=7), "scores": "percent"})
    found = [
        Judgement(dimension=name, repeat=0, items=[f"{name}{n}"], analysis="", result=choice, error="")
        for name in ("Courage", "Order")
        for n, choice in choices.items()
    ]
    output = scored(steps, [], found, judging="option_conversion", tie=tie)
    assert [one["score"] for one in output["scores"].values()] == [50, 50]
    assert output["type"] == type_


@pytest.mark.parametrize("wrong", [0, 6, 2.5, "y", True])
def test_a_choice_off_the_scale_is_missing(wrong: Any, tmp_path: Path) -> None:
    settings = {"instrument": scale_of_two("+"), "judging": "option_conversion"}
    output = held(tmp_path, model(judge=lambda _: rating(wrong)), **settings)
    assert (output["type"], output["counts"]["missing"]) == ("??", 2)


def test_no_more_questions_are_under_way_than_are_allowed(tmp_path: Path) -> None:
    lock, under_way, most, two = threading.Lock(), [0], [0], threading.Event()

    def counted(_: str) -> Said:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            if under_way[0] == 2:
                two.set()
        assert two.wait(120)
        time.sleep(0.01)
        with lock:
            under_way[0] -= 1
        return "I keep the light."

    held(tmp_path, model(counted), limit=16, concurrency=3)
    assert 2 <= most[0] <= 3


def test_what_is_written_is_what_was_found(tmp_path: Path) -> None:
    output = kept(tmp_path, model(), limit=8)
    assert read_interview(tmp_path / "out.json") == output
    assert output["about"]["instrument"] == "four-letters"
    assert output["usage"]["judge"]["calls"] == 4


def test_scores_are_made_again_without_a_model(tmp_path: Path) -> None:
    kept(tmp_path, model(), repeats=2, limit=8)
    output = read_interview(tmp_path / "out.json")
    again = scored(FOUR, output["records"], output["judgements"], repeats=2)
    assert again == {name: output[name] for name in again}  # type: ignore[literal-required]
    assert scored(FOUR, output["records"], output["judgements"], repeats=2, tie="high")["type"] == "ESTP"
    with pytest.raises(ValueError, match="repeats=2"):
        scored(FOUR, output["records"], output["judgements"])


def test_an_interview_that_is_over_asks_nothing(tmp_path: Path) -> None:
    output = kept(tmp_path, model(), limit=8)
    (tmp_path / "out.json").write_text("", encoding="utf-8")
    played = model()
    assert (kept(tmp_path, played, limit=8), played.calls) == (output, [])
    assert read_interview(tmp_path / "out.json") == output
    assert kept(tmp_path, played, limit=8, tie="high")["type"] == "ESTP"
    assert played.calls == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("node", ["begin", "ask", "clean", "anonymize", "judge", "score"])
async def test_an_interview_stopped_before_a_node_goes_on(node: str, tmp_path: Path) -> None:
    played, where = model(), {"configurable": {"thread_id": "one"}}
    own = context(tmp_path, played, limit=8, repeats=2)
    graph, stopped = interview.build().compile(InMemorySaver()), 0
    given: Any = {}
    while given is not None or (await graph.aget_state(where)).next:
        stopped += 1
        output = await graph.ainvoke(given, where, context=own, interrupt_before=[node])
        given = None
    assert stopped >= 2
    assert timeless(output) == timeless(
        await interview.graph.ainvoke({}, context=context(tmp_path, model(), limit=8, repeats=2))
    )
    assert len(played.calls) == 8 + 8


@pytest.mark.sample(2)
@pytest.mark.parametrize("at", [1, 2, 5, 8, 9, 11, 12])
def test_an_interview_that_failed_at_any_call_asks_nothing_twice(at: int, tmp_path: Path) -> None:
    calls = 0

    def failing(then: Answer) -> Answer:
        def answer(text: str) -> Said:
            nonlocal calls
            calls += 1
            return ModelUnavailable("no connection") if calls == at else then(text)

        return answer

    first = model(failing(constant), failing(even))
    with pytest.raises(ModelUnavailable):
        kept(tmp_path, first, limit=8, concurrency=1)
    second = model()
    output = kept(tmp_path, second, limit=8, concurrency=1)
    assert len(first.calls) <= at + 1  # the one after it may have begun
    assert len(second.calls) == 12 - (at - 1)
    (tmp_path / "alone").mkdir()
    assert timeless(output) == timeless(kept(tmp_path / "alone", model(), limit=8, concurrency=1))


def test_whoever_watches_is_told_of_each_question_and_its_calls(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    own = context(tmp_path, played := model(), limit=8)
    asyncio.run(interviewed(own, tmp_path / "out.json", lambda node, calls: told.append((node, calls))))
    assert Counter(told) == {("ask", 1): 8, ("judge", 1): 4}
    assert len(played.calls) == 12


@pytest.mark.sample(2)
@pytest.mark.parametrize("at", [1, 5, 8, 9, 11])
def test_whoever_watches_can_stop_it_and_what_was_told_is_kept(at: int, tmp_path: Path) -> None:
    told: list[str] = []

    def stop(node: str, calls: int) -> None:
        told.append(node)
        if len(told) == at:
            raise RuntimeError("enough")

    file = tmp_path / "out.json"
    first, second = model(), model()
    with pytest.raises(RuntimeError, match="enough"):
        asyncio.run(interviewed(context(tmp_path, first, limit=8, concurrency=1), file, stop))
    assert not file.exists()
    assert sum(so_far(file).values()) >= at
    assert len(first.calls) <= at + 1  # the one after it may have begun
    kept(tmp_path, second, limit=8, concurrency=1)
    assert len(second.calls) <= 12 - at
    assert so_far(file) == {"ask": 8, "judge": 4}


def test_an_interview_that_was_not_begun_has_nothing(tmp_path: Path) -> None:
    assert so_far(tmp_path / "elsewhere" / "out.json") == {"ask": 0, "judge": 0}
    assert [*tmp_path.iterdir()] == []


def hold(folder: Path) -> None:
    """Hold an interview in a folder, as the command does."""
    kept(folder, model(), limit=8)


@pytest.mark.parametrize("count", [1, pytest.param(12, marks=pytest.mark.crash)])
def test_an_interview_killed_at_some_writes_goes_on(tmp_path: Path, count: int) -> None:
    prepared, crashes = tmp_path / "prepared", 0
    prepared.mkdir()
    (tmp_path / "alone").mkdir()
    hold(tmp_path / "alone")
    undisturbed = timeless(read_interview(tmp_path / "alone" / "out.json"))
    for crash in kills(hold, prepared, tmp_path, count):
        crashes += 1
        hold(crash.folder)
        assert timeless(read_interview(crash.folder / "out.json")) == undisturbed, crash
    assert crashes > count / 2


def test_an_interview_that_failed_amid_many_asks_again_what_was_under_way_only(tmp_path: Path) -> None:
    left = [7]

    def role(question: str) -> Said:
        left[0] -= 1
        return ModelUnavailable("no connection") if left[0] == 0 else "I keep the light."

    first, second = model(role), model()
    with pytest.raises(ModelUnavailable):
        kept(tmp_path, first, limit=16, concurrency=4)
    output = kept(tmp_path, second, limit=16, concurrency=4)
    assert 16 < len(asked_items(first)) + len(asked_items(second)) <= 16 + 1 + 4
    assert len({one["item"] for one in output["records"]}) == len(output["records"]) == 16


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"limit": 4}, "was begun with limit 8, not 4"),
        ({"method": "profile"}, "was begun with method 'vanilla', not 'profile'"),
        ({"repeats": 2}, "was begun with repeats 1, not 2"),
    ],
)
def test_another_interview_does_not_go_on_in_its_place(changed: dict[str, Any], says: str, tmp_path: Path) -> None:
    kept(tmp_path, model(), limit=8)
    before = (tmp_path / "out.json").read_bytes()
    with pytest.raises(ValueError, match=says):
        kept(tmp_path, model(), **{"limit": 8, **changed})
    assert (tmp_path / "out.json").read_bytes() == before


def test_a_file_without_its_checkpoints_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="are not: take another --out"):
        kept(tmp_path, model())
    with pytest.raises(ValueError, match=r"out\.json cannot be read as an interview"):
        read_interview(tmp_path / "out.json")


def test_one_program_holds_an_interview(tmp_path: Path) -> None:
    with alone(tmp_path / "out.json", "holds it"), pytest.raises(Busy, match="Another program holds"):
        kept(tmp_path, model())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "amadeuz"}, "no method 'amadeuz'"),
        ({"instrument": "four-leters"}, "did you mean 'four-letters'"),
        ({"method_settings": {"slots": 3}}, "slots"),
        ({"method_settings": {"deadline": 3}}, "'deadline' is the whole interview's"),
    ],
)
def test_a_slip_is_noticed_before_anything_is_asked(settings: Mapping[str, Any], message: str, tmp_path: Path) -> None:
    played = model()
    with pytest.raises(ValueError, match=message):
        kept(tmp_path, played, **settings)
    assert played.calls == []
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("settings", "numbers"),
    [
        ({"limit": 8}, (8, 4)),
        ({"limit": 24}, (24, 8)),
        ({"limit": 8, "repeats": 3}, (8, 12)),
        ({"limit": 8, "judging": "option_conversion"}, (8, 8)),
        ({"limit": 8, "judging": "self_report"}, (8, 0)),
    ],
)
def test_questions_are_counted_before(settings: dict[str, Any], numbers: tuple[int, int], tmp_path: Path) -> None:
    played = model()
    found = asyncio.run(questions(context(tmp_path, played, **settings)))
    assert (found["replies"], found["judgements"], played.calls) == (*numbers, [])
    held(tmp_path, played, **settings)
    assert (len(asked_items(played)), len(judged(played))) == numbers


def test_a_whole_inventory_of_four_letters_has_sixteen_batches(tmp_path: Path) -> None:
    found = asyncio.run(questions(context(tmp_path, model())))
    assert found == {"items": 60, "replies": 60, "judgements": 16}


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
def test_the_scores_of_a_released_interview_are_recomputed() -> None:
    folder = Path(SHARED or "") / "incharacter"
    asked = instrument(folder / "questionnaires/16Personalities.json", "zh")
    released = json.loads((folder / "results/final_16P_llama2_hutao-zh.json").read_text(encoding="utf-8"))
    code = released.pop("code")
    judgements, records = [], []
    for name, one in released.items():
        for repeat, found in enumerate(one["details"]):
            for batch in found:
                records += [record(item, name) for item in batch["id"]]
                about = {"dimension": name, "repeat": repeat, "items": batch["id"], "analysis": batch["analysis"]}
                judgements.append(Judgement(**about, result=batch["score"], error=""))
    again = scored(asked, records, judgements)
    assert (again["counts"]["items"], again["counts"]["missing"], again["type"]) == (60, 0, code)
    for name, one in released.items():
        score = again["scores"][name]
        assert score["score"] == pytest.approx(one["score"])
        assert score["intra_std"] == pytest.approx(one["intra_std"])
        sizes = [len(batch["id"]) for batch in one["details"][0]]
        assert sizes == split_batches(len(asked.items_of(name)))


def test_the_page_shows_the_graph() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "interview.md").read_text(encoding="utf-8")
    lines = interview.graph.get_graph().draw_mermaid().split("---\n", 2)[2].strip()
    assert f"```mermaid\n{lines}\n```" in page


def spoken(messages: list[BaseMessage]) -> Said:
    """What a model at an endpoint answers: for the role, and as its own judge."""
    text = said(messages)
    return even(text) if "<answers>" in text else "I keep the light."


@pytest.fixture
def served(stub: Endpoint) -> Iterator[ScriptedChatModel]:
    """The model of the endpoint."""
    old, stub.model = stub.model, ScriptedChatModel(reply=spoken)
    yield stub.model
    stub.model = old


def test_the_command_says_what_it_would_ask(run: Command, stub: Endpoint) -> None:
    asked = ("interview", "ada", "--method", "vanilla", "--limit", "8", "--dry-run")
    before = len(stub.asked)
    code, out, _ = run(*asked)
    assert (code, out.strip()) == (0, "8 items: 8 turns of the role, and 4 questions to the judge.")
    assert json.loads(run(*asked, "--json")[1]) == {"items": 8, "replies": 8, "judgements": 4}
    assert len(stub.asked) == before


def test_the_command_holds_an_interview_and_says_what_it_is_worth(
    run: Command, served: ScriptedChatModel, tmp_path: Path
) -> None:
    file = str(tmp_path / "out.json")
    asked = ("interview", "ada", "--method", "vanilla", "--limit", "8", "--out", file)
    code, out, err = run(*asked)
    told = " ".join(out.split())
    assert (code, err.endswith("Judgements: 4 of 4")) == (0, True)
    assert "ada by vanilla, four-letters: INFJ" in told
    assert "0 of 8 judgements of items are missing. Flagged replies: none." in told
    assert "this is a trial and no measurement" in told
    assert "name another one by --judge" in told
    calls = len(served.calls)
    again = json.loads(run(*asked, "--tie", "high", "--json")[1])
    assert (again["type"], len(served.calls)) == ("ESTP", calls)
    assert read_interview(Path(file)) == again


def test_the_command_says_what_is_missing(run: Command, served: ScriptedChatModel, tmp_path: Path) -> None:
    served.reply = lambda messages: "No." if "<answers>" in said(messages) else "As an AI, I keep the light."
    settings = ("--set", "attempts=1", "--set", "temperature=0.1", "--judge", "wise")
    code, out, _ = run(
        "interview", "ada", "--method", "vanilla", "--limit", "4", "--out", str(tmp_path / "o.json"), *settings
    )
    told = " ".join(out.split())
    assert code == 0
    assert "four-letters: ????" in told
    assert "Incomplete: 4 of 4 judgements of items are missing, more than 2%: 0 replies did not come" in told
    assert "assistant phrase 4, not into character 4" in told
    assert "--judge" not in told


def test_a_setting_that_a_method_lacks_is_refused(run: Command, stub: Endpoint) -> None:
    before = len(stub.asked)
    code, _, err = run("interview", "ada", "--method", "vanilla", "--set", "slots=3")
    assert (code, len(stub.asked)) == (2, before)
    assert "slots" in err
