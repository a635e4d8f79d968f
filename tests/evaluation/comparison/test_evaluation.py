"""An evaluation: who is asked what, that nothing is asked twice, and that what fails is missing and no score."""

import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison.contestants import NAMES, contestant
from dramaturg.evaluation.comparison.estimates import CALLS, estimated
from dramaturg.evaluation.comparison.plan import read_plan, spread
from dramaturg.evaluation.comparison.records import RecordFile, Records
from dramaturg.evaluation.comparison.run import Capped, evaluate
from dramaturg.evaluation.comparison.speakers import messages_of
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.judging.scales import METRICS, SIMILARITY
from dramaturg.evaluation.reports.page import written_report
from dramaturg.models.errors import ModelUnavailable, UnusableAnswer
from dramaturg.models.servers.pace import Pace, unhurried
from dramaturg.stores.conversations.kept_run import Busy
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.library import open_role
from dramaturg.testing.role import write_lines
from dramaturg.workflows.names import METHODS

from evaluations import QUESTIONS, RIGHT, evaluation_of, judge, library_of, speaker, taken
from roles import actor, fenced, said

pytestmark = pytest.mark.sample_of_file(8)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return library_of(tmp_path / "library")


def show(phase: str, number: int) -> Any:
    return lambda done: None


# Replies


async def test_whoever_talks_with_a_role_goes_before_an_evaluation(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, place = set[int](), Pace.place
    monkeypatch.setattr(Pace, "place", lambda self, urgency, talk: asked.add(urgency) or place(self, urgency, talk))
    await taken(evaluation_of(library))
    assert asked == {2}
    assert not unhurried.get()


async def test_every_method_answers_every_question_once_a_seed(library: Path) -> None:
    evaluation = evaluation_of(library, model := speaker(), seeds=(0, 7), metrics=(SIMILARITY,))
    records = await taken(evaluation)
    said_by = {(one.contestant, one.seed, one.asked) for one in records.replies.values()}
    assert said_by == {
        (method, seed, one["question"]) for method in ("vanilla", "profile") for seed in (0, 7) for one in QUESTIONS
    }
    assert len(model.calls) == len(said_by) == sum(one.calls for one in records.replies.values())
    assert all(one.tokens > 10 and one.text == RIGHT for one in records.replies.values())


async def test_what_will_be_asked_is_counted_before_by_method_and_by_what_a_metric_needs(library: Path) -> None:
    evaluation = evaluation_of(
        library,
        methods=("vanilla", "ensemble-without-scope", "id-rag-ours", "amadeus-ours"),
        metrics=(SIMILARITY, "accuracy"),
    )
    found = {one.what: one for one in estimated(evaluation, Records({}, {}, {}))}
    assert {name: found[name].left for name in (SIMILARITY, "accuracy")} == {SIMILARITY: 8, "accuracy": 8}
    assert [found[f"replies of {name}-ours"].calls for name in ("id-rag", "amadeus")] == [9, 3 * CALLS["amadeus"]]
    assert found["replies of vanilla"].calls == 3 * CALLS["vanilla"] == 3
    assert found["replies of ensemble-without-scope"].calls == 3 * CALLS["ensemble"] > 30
    assert found["replies of vanilla"].basis.startswith("a guess: each method's usual number of calls")
    assert {name for name in METHODS if name not in CALLS} == set()


async def test_no_question_knows_of_another(library: Path) -> None:
    await taken(evaluation_of(library, model := speaker(), metrics=(SIMILARITY,)))
    for call in model.calls:
        assert sum(one["question"] in call.text for one in QUESTIONS) == 1


async def test_what_is_there_is_not_asked_again(library: Path) -> None:
    first = await taken(evaluation_of(library))
    again = evaluation_of(library, model := speaker(), (marker := judge(),))
    assert await taken(again) == first
    assert model.calls == marker.calls == []


async def test_more_seeds_ask_only_what_is_new(library: Path) -> None:
    await taken(evaluation_of(library))
    await taken(evaluation_of(library, model := speaker(), folder="more", seeds=(0, 1)), after="run")
    assert len(model.calls) == 6


async def test_a_role_that_knows_something_else_is_asked_anew(library: Path) -> None:
    await taken(evaluation_of(library))
    (library / "ada" / "persona" / "more.md").write_text("# More\n\nShe sold the boat.\n", encoding="utf-8")
    await taken(evaluation_of(library, model := speaker(), folder="more"), after="run")
    assert len(model.calls) == 6


async def test_the_seed_is_that_of_what_is_written(library: Path) -> None:
    one = evaluation_of(library, seeds=(3,)).asked[0]
    assert one.contestant.context(evaluation_of(library).settings, "ada", one.seed).model_seed == 3


@pytest.mark.sample(4)
@pytest.mark.parametrize("at", range(1, 13))
async def test_a_run_whose_model_goes_away_goes_on_and_asks_nothing_twice(library: Path, at: int) -> None:
    calls: list[str] = []

    def failing(text: str) -> str | Exception:
        calls.append(text)
        return ModelUnavailable("Gone.") if len(calls) == at else RIGHT

    marks: list[str] = []

    def marked(reply: str) -> bool | Exception:
        marks.append(reply)
        return ModelUnavailable("Gone.") if len(marks) == at - 6 else True

    async def attempt() -> Any:
        return await taken(evaluation_of(library, speaker(failing), (judge(marked),), concurrency=1))

    with pytest.raises(ModelUnavailable, match="Gone"):
        await attempt()
    records = await attempt()
    assert len(calls) == 6 + (at <= 6)
    assert len(marks) <= 2 * 4 + 2
    assert len(records.replies) == 6
    assert not any(one.error for one in records.replies.values())


async def test_an_answer_that_does_not_come_is_missing_and_asked_for_again(library: Path) -> None:
    def mute(text: str) -> str | Exception:
        return UnusableAnswer("Nothing.") if "flour" in text else RIGHT

    records = await taken(evaluation_of(library, speaker(mute)))
    failed = [one for one in records.replies.values() if one.error]
    assert [one.asked for one in failed] == ["Who brings the flour?"] * 2
    assert not {one.key for one in failed} & {one.reply for one in records.judged.values()}
    await taken(evaluation_of(library, model := speaker()))
    assert len(model.calls) == 2


async def test_no_more_is_asked_than_is_allowed_and_what_came_is_kept(library: Path) -> None:
    with pytest.raises(Capped, match="Stopped at the 4 calls"):
        await taken(evaluation_of(library, model := speaker(), most_calls=4, concurrency=1))
    assert len(model.calls) == len(RecordFile(library.parent / "run").read().replies) == 4
    await taken(evaluation_of(library, model := speaker()))
    assert len(model.calls) == 2


async def test_two_programs_do_not_work_at_one_run(library: Path) -> None:
    evaluation = evaluation_of(library)
    evaluation.folder.mkdir()
    with RecordFile(evaluation.folder).opened(), pytest.raises(Busy, match="take another --out"):
        await evaluate(evaluation, show)


@pytest.mark.parametrize(
    "name", ["vanilla", "profile", "naive-rag", "id-rag", "full-retrieval", "drmr", "ordinary-rag"]
)
async def test_methods_of_every_kind_can_be_compared(library: Path, name: str) -> None:
    records = await taken(evaluation_of(library, actor(), methods=(name,), limit=1, metrics=(SIMILARITY,)))
    (reply,) = records.replies.values()
    assert (reply.contestant, reply.error) == (name, "")
    assert reply.text


def test_there_is_no_other_method() -> None:
    assert {contestant(name).name for name in NAMES} == {*NAMES}
    with pytest.raises(ValueError, match="did you mean 'vanilla'"):
        contestant("vanila")


# Judges


async def test_judges_say_what_each_reply_is_worth(library: Path) -> None:
    evaluation = evaluation_of(library, metrics=("accuracy", "accuracy_level", "refusal"))
    records = await taken(evaluation)
    worth = {(one.metric, one.value, one.applicable) for one in records.judged.values()}
    assert worth == {
        ("accuracy", 1.0, True),
        ("accuracy_level", 9.0, True),
        ("refusal", 1.0, True),
        ("accuracy", None, False),
        ("accuracy_level", None, False),
    }
    assert {one.model for one in records.judged.values()} == {"judge"}


async def test_a_judge_is_not_told_who_replied(library: Path) -> None:
    marker = judge()
    await taken(evaluation_of(library, None, (marker,), metrics=("accuracy", "exposure", "refusal")))
    assert len(marker.calls) == 2 * 2 * (2 + 3 + 3)
    assert not any(method in call.text for call in marker.calls for method in ("vanilla", "profile."))


async def test_a_judgement_that_does_not_come_is_missing_and_asked_for_again(library: Path) -> None:
    def unsure(reply: str) -> bool | Exception:
        return UnusableAnswer("Hm.")

    records = await taken(evaluation_of(library, None, (judge(unsure),)))
    assert {(one.value, bool(one.error)) for one in records.judged.values()} == {(None, True), (None, False)}
    records = await taken(evaluation_of(library))
    assert {(one.value, one.applicable) for one in records.judged.values()} == {(1.0, True), (None, False)}


async def test_two_judges_judge_the_same_replies(library: Path) -> None:
    records = await taken(evaluation_of(library, None, (judge(), judge(lambda reply: False, "other"))))
    values = {(one.model, one.value) for one in records.judged.values() if one.applicable}
    assert values == {("judge", 1.0), ("other", 0.0)}


async def test_likeness_needs_no_judge_and_counts_right_answers_alone(library: Path) -> None:
    marker = judge()
    records = await taken(evaluation_of(library, None, (marker,), metrics=(SIMILARITY,)))
    values = sorted(one.value for one in records.judged.values() if one.value is not None)
    assert marker.calls == []
    assert len(values) == 4
    assert 0 < values[0] < values[-1] < 1
    assert sum(not one.applicable for one in records.judged.values()) == 2
    assert {one.model for one in records.judged.values()} == {"WordEmbeddings:words"}


async def test_what_a_role_has_lived_through_is_the_same_for_all_methods(library: Path) -> None:
    marker = judge()
    await taken(evaluation_of(library, None, (marker,), methods=("vanilla", "naive-rag"), metrics=("memory",), limit=1))
    first = {fenced("events", said(call.messages)) for call in marker.calls}
    assert len(first) == 1
    assert "Tom" in first.pop()


async def test_a_judge_is_shown_what_the_role_has_been_told_and_nothing_else(library: Path) -> None:
    tom = "---\nknown_to: tom\n---\n\nTom hid the Birchdoc.\n"
    (library / "ada" / "persona" / "tom.md").write_text(tom, encoding="utf-8")
    lines = [{"text": f"I saw the {what}mem.", "known_to": [who]} for what, who in (("Birch", "tom"), ("Cedar", "ada"))]
    write_lines(library / "ada" / "memories.jsonl", lines)
    asked = {"question": "Who saw the Cedarmem and the Birchmem, and who hid the Birchdoc?", "scope": "in"}
    (library / "ada" / "questions.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    marker = judge()
    await taken(evaluation_of(library, None, (marker,), methods=("vanilla",), metrics=("memory",)))
    events = fenced("events", said(marker.calls[0].messages))
    assert "Cedarmem" in events
    assert "Birch" not in events


# The plan


async def test_the_plan_holds_all_that_a_report_needs(library: Path) -> None:
    evaluation = evaluation_of(library)
    await taken(evaluation)
    plan = read_plan(evaluation.folder)
    assert plan == evaluation.plan
    assert [plan.question(one).text for one in plan.of("profile")] == [one["question"] for one in QUESTIONS]
    assert plan.judges == ("judge",)


def test_a_folder_without_a_plan_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match="no run of an evaluation"):
        read_plan(tmp_path)
    (tmp_path / "plan.json").write_text("{", encoding="utf-8")
    with pytest.raises(RoleFileError, match="damaged"):
        read_plan(tmp_path)


def test_a_role_without_questions_needs_a_dataset(tmp_path: Path) -> None:
    library = library_of(tmp_path / "library")
    (library / "ada" / "questions.jsonl").unlink()
    with pytest.raises(RoleFileError, match="write some, or name a dataset"):
        evaluation_of(library)
    file = tmp_path / "mine.jsonl"
    file.write_text('{"question": "Who are you?"}\n', encoding="utf-8")
    assert [one.question.text for one in evaluation_of(library, dataset=str(file)).asked] == ["Who are you?"] * 2


def test_a_few_questions_are_of_every_kind() -> None:
    kinds = [("in", "a"), ("in", "a"), ("in", "a"), ("in", "b"), ("out", ""), ("out", "")]
    questions = [DatasetQuestion(id=f"{n}", text="?", scope=scope, attribute=of) for n, (scope, of) in enumerate(kinds)]  # type: ignore[arg-type]
    assert [one.id for one in spread(questions, 3)] == ["0", "3", "4"]
    assert [one.id for one in spread(questions, 5)] == ["0", "1", "3", "4", "5"]
    assert spread(questions, 99) == questions


def test_what_was_said_before_is_said_before(library: Path) -> None:
    role = open_role("ada", library)
    question = DatasetQuestion.model_validate(
        {
            "id": "q",
            "text": "And then?",
            "context": "On the quay.",
            "turns": [{"speaker": "Jory", "text": "Well?"}, {"speaker": "ADA QUILL", "text": "Hm."}],
        }
    )
    assert [(one.type, one.name, one.text) for one in messages_of(question, role)] == [
        ("human", "Jory", "Well?"),
        ("ai", None, "Hm."),
        ("human", None, "(On the quay.)\nAnd then?"),
    ]


def test_metrics_are_known_by_their_names() -> None:
    assert METRICS[0] == SIMILARITY
    assert len(METRICS) == len({*METRICS}) == 32


# What is left out, asked once, lacking, or changed


def test_a_limit_takes_of_every_scope_first_and_says_what_it_leaves_out(library: Path) -> None:
    kinds = [("in", f"attribute {at}") for at in range(6)] + [("out", "")]
    lines = [
        {"question": f"{at}?", "answer": "Tom.", "scope": one, "attribute": of} for at, (one, of) in enumerate(kinds)
    ]
    (library / "ada" / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    plan = evaluation_of(library, limit=2).plan
    assert [one.scope for one in plan.questions["ada"]] == ["in", "out"]
    assert plan.left_out == {"ada": {f"in scope, attribute {at}": 1 for at in range(1, 6)}}
    assert evaluation_of(library).plan.left_out == {}


def test_a_question_that_stands_there_five_times_is_asked_once(library: Path) -> None:
    line = json.dumps(QUESTIONS[0]) + "\n"
    (library / "ada" / "questions.jsonl").write_text(line * 4 + line.replace("?", " ?"), encoding="utf-8")
    evaluation = evaluation_of(library)
    assert len(evaluation.plan.questions["ada"]) == 2  # the last one is spelled in another way
    assert evaluation.plan.repeated == {"ada": 3}
    assert len(evaluation.asked) == 2 * 2


def test_a_role_that_lacks_what_a_method_needs_is_named_before_anything_is_asked(library: Path) -> None:
    for file in ("chronicle.yaml", "memories.jsonl"):
        (library / "ada" / file).unlink(missing_ok=True)
    for file in (library / "ada" / "dialogues").glob("*"):
        file.unlink()
    model = speaker()
    with pytest.raises(ValueError, match="ada lacks") as error:
        evaluation_of(library, model, methods=("vanilla", "id-rag", "drmr", "role-gpt", "emotional-rag", "amadeus"))
    said = str(error.value)
    assert "chronicle.yaml with a triple or more (for id-rag)" in said
    assert "dialogues/*.jsonl (for drmr, role-gpt)" in said
    assert "memories.jsonl or dialogues/*.jsonl (for emotional-rag)" in said
    assert "amadeus" not in said
    assert model.calls == []
    secret = {"subject": "Ada", "relation": "fears", "object": "fog", "kind": "trait", "known_to": ["tom"]}
    (library / "ada" / "chronicle.yaml").write_text(json.dumps({"triples": [secret]}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"a triple or more \(for id-rag\): .* \(known_to\) does not count"):
        evaluation_of(library, model, methods=("vanilla", "id-rag"))
    (library / "ada" / "chronicle.yaml").unlink()
    inferred = evaluation_of(library, model, methods=("vanilla", "generative-agents", "ensemble"))
    assert len(inferred.asked) == 3 * 3  # they take what there is


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        ({"seeds": (0, 1)}, "seeds: 0 before, 0, 1 now"),
        ({"methods": ("vanilla",), "baseline": "vanilla"}, "methods: vanilla, profile before, vanilla now"),
        ({"baseline": "profile"}, "baseline: vanilla before, profile now"),
        ({"limit": 1}, "there are other questions for ada"),
    ],
)
async def test_a_plan_stays_as_it_is_once_something_was_asked(library: Path, wishes: Any, told: str) -> None:
    await taken(evaluation_of(library))
    changed = evaluation_of(library, model := speaker(), **wishes)
    with pytest.raises(ValueError, match=f"run holds another plan: {told}.*--from run"):
        await taken(changed)
    assert model.calls == []
    assert read_plan(changed.folder).seeds == (0,)


async def test_a_plan_that_nothing_was_asked_by_can_be_changed(library: Path) -> None:
    with pytest.raises(ModelUnavailable):
        await taken(evaluation_of(library, speaker(lambda text: ModelUnavailable("Gone."))))
    (library.parent / "run" / "records.jsonl").unlink(missing_ok=True)  # nothing came
    await taken(evaluation_of(library, seeds=(0, 1)))
    assert read_plan(library.parent / "run").seeds == (0, 1)


async def test_a_judge_that_is_replaced_has_another_run_that_says_so(library: Path) -> None:
    await taken(evaluation_of(library))
    other = evaluation_of(library, model := speaker(), (judge(name="other"),))
    with pytest.raises(ValueError, match="judges: judge before, other now"):
        await taken(other)
    again = evaluation_of(library, model, (judge(name="other"),), folder="again")
    again = again._replace(plan=again.plan.model_copy(update={"taken_from": "run"}))
    records = await taken(again, after="run")
    assert model.calls == []  # every reply was there
    assert {one.model for one in records.judged.values()} == {"judge", "other"}
    report = written_report(again.folder)[0].read_text(encoding="utf-8")
    assert "This run began with what was answered in run, under another plan" in report
    assert "| vanilla | all | other |" in report
    assert "| all | judge |" not in report
    assert read_plan(again.folder).taken_from == "run"


async def test_what_an_index_has_cost_is_written_down_once(library: Path) -> None:
    evaluation = evaluation_of(library, actor(), methods=("vanilla", "naive-rag"), metrics=(SIMILARITY,), limit=1)
    records = await taken(evaluation)
    (found,) = records.indexed.values()
    assert (found.contestant, found.role, found.calls) == ("naive-rag", "ada", 0)
    assert found.passages
    assert (await taken(evaluation)).indexed == records.indexed


# Contestants with settings of their own


async def test_a_method_with_settings_is_a_contestant_of_its_own(library: Path) -> None:
    """Its name has its settings, in the plan, the records and the report; a resumed run asks nothing twice."""
    methods = (
        "naive-rag",
        "naive-rag[ reply-tokens = 60, knowledge=1]",
        'naive-rag[knowledge=1,scene="At home, late"]',
    )
    names = ("naive-rag", "naive-rag[knowledge=1,reply_tokens=60]", 'naive-rag[knowledge=1,scene="At home, late"]')
    wishes: Any = {"methods": methods, "metrics": (SIMILARITY,), "baseline": "naive-rag[reply_tokens=60,knowledge=1]"}
    evaluation = evaluation_of(library, model := speaker(), **wishes)
    assert (evaluation.plan.methods, evaluation.plan.compared_with) == (names, names[1])
    records = await taken(evaluation)
    assert {one.contestant for one in records.replies.values()} == {*names}
    assert sum("At home, late" in call.text for call in model.calls) == len(QUESTIONS)
    asked = len(model.calls)
    again = evaluation_of(library, model, **{**wishes, "methods": names})
    assert await taken(again) == records
    assert len(model.calls) == asked
    report = written_report(again.folder)[0].read_text(encoding="utf-8")
    assert f"By the papers' rules: {', '.join(names)}." in report
    assert report.count(f"| {names[1]} |") > 1
    guesses = {one.what: one.calls for one in estimated(evaluation_of(library, **wishes), Records({}, {}, {}))}
    assert [guesses[f"replies of {name}"] for name in names] == [3 * CALLS["naive-rag"]] * 3


@pytest.mark.parametrize(
    ("methods", "told"),
    [
        (("drmr[revision=0]",), "drmr has no setting 'revision'; did you mean 'revisions'"),
        (("drmr[zeal=1]",), r"drmr has no setting 'zeal'; there are: alpha, appraisal, as_of, dialogue_length"),
        (("drmr[revisions=99]",), r"drmr\[revisions=99\] cannot be used: revisions: Input should be less than or"),
        (("drmr[revisions]",), "takes NAME=VALUE, not 'revisions'"),
        (("drmr[revisions=0,revisions=1]",), r"drmr\[…\] gives revisions twice: give it once"),
        (("ensemble[relations.revisions=0,relations.revisions=0]",), "gives relations.revisions twice"),
        (("ensemble[scope={hops: 1},scope.hops=2]",), "gives scope.hops twice"),
        (("ensemble[scope.hops=1,scope={recent: 2}]",), "gives scope twice"),
        (("drmr[revisions=0",), r"write NAME\[SETTING=VALUE\]"),
        (("dmr[revisions=0]",), "There is no method 'dmr'; did you mean 'drmr'"),
        (("vanilla[chat_model=other]",), "cannot set chat_model: all methods of a comparison share it"),
        (("ensemble[passages.role=tom]",), "cannot set role: all methods of a comparison share it"),
        (("lightrag[slots=1]",), "lightrag takes no settings here"),
        (("drmr", "drmr[revisions=2]"), r"drmr and drmr\[revisions=2\] are the same: leave one of them out"),
        (("ordinary-rag", "emotional-rag[strategy=semantic]"), "are the same"),
        (("ensemble[parts=[scope,memories]]", "ensemble[parts=[memories,scope]]"), "are the same"),
    ],
)
def test_settings_that_make_no_contestant_are_refused(library: Path, methods: tuple[str, ...], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        evaluation_of(library, methods=methods)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("drmr[verify=false]", {"verify": False}),
        ("drmr[role_memory=false]", {"role_memory": False}),
        *((f"emotional-rag[strategy={one}]", {"strategy": one}) for one in ("C-M", "S-S", "S-E")),
        ("id-rag[identity=baseline]", {"identity": "baseline"}),
        ("amadeus[splitter=fixed]", {"splitter": "fixed"}),
        ("ensemble[parts=[passages,scope],passages.slots=3]", {"parts": {"passages", "scope"}}),
    ],
)
def test_the_papers_ablations_are_contestants(library: Path, name: str, settings: dict[str, Any]) -> None:
    one = contestant(name)
    context = one.context(evaluation_of(library).settings, "ada", seed=0)
    assert one.name == name
    assert {of: getattr(context, of) for of in settings} == settings
