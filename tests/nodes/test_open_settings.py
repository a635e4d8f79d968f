"""What a caller of a served graph may set: every setting says so, at every depth."""

import json
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest
from pydantic import Field
from starlette.authentication import BaseUser

import dramaturg.evaluation
import dramaturg.nodes
import dramaturg.workflows
from dramaturg.cli.serving import anybody
from dramaturg.models.environment import environment
from dramaturg.nodes.open_settings import Closed, Open, SettingRefused, mark, require_open
from dramaturg.nodes.run import RunContext
from dramaturg.nodes.workflow import CompiledWorkflow
from dramaturg.workflows.amadeus import AmadeusContext
from dramaturg.workflows.amadeus import graph as amadeus
from dramaturg.workflows.ensemble import EnsembleContext
from dramaturg.workflows.riverbend_agents import RiverbendContext

FROM_A_SERVER: Any = {"configurable": {"graph_id": "amadeus", "assistant_id": "1"}}
PACKAGES = ("dramaturg.nodes.", "dramaturg.workflows.", "dramaturg.evaluation.")
NAMES_A_PLACE = {"library", "chat_model", "embedding_model", "prompts", "answer_cache", "scenario", "web_search"}


class Cast(RunContext):
    members: Open[dict[str, AmadeusContext]] = Field(default_factory=dict)
    understudies: Open[list[AmadeusContext] | None] = None
    unmarked: int = 0


def contexts(kind: type[RunContext] = RunContext) -> Iterator[type[RunContext]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from contexts(inner)


@pytest.fixture(scope="module")
def every_context() -> set[type[RunContext]]:
    for package in (dramaturg.nodes, dramaturg.workflows, dramaturg.evaluation):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith("dramaturg.evaluation.inspect."):  # needs what is not installed here
                import_module(module.name)
    return {kind for kind in contexts() if kind.__module__.startswith(PACKAGES)}


def test_every_setting_is_marked_open_or_closed(every_context: set[type[RunContext]]) -> None:
    unmarked = {
        f"{kind.__name__}.{name}"
        for kind in every_context
        for name, one in kind.model_fields.items()
        if mark(one) is None
    }
    assert len(every_context) > 50
    assert not unmarked


def test_a_setting_is_open_or_closed_in_every_context_alike(every_context: set[type[RunContext]]) -> None:
    marks = {(name, mark(one)) for kind in every_context for name, one in kind.model_fields.items()}
    assert len(marks) == len({name for name, _ in marks})
    assert {name for name, is_open in marks if not is_open} >= NAMES_A_PLACE


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (AmadeusContext, {"library": ""}, "'library' is not open"),
        (AmadeusContext, {"answer_cache": True}, "DRAMATURG_OPEN_SETTINGS=answer_cache"),
        (AmadeusContext, {"longest": 77}, "'longest' is not open"),
        (AmadeusContext, {"slotz": 1}, "no setting 'slotz'; did you mean 'slots'"),
        (AmadeusContext, {"api_key": "x"}, "no setting 'api_key'"),
        (AmadeusContext, {"x" * 10_000: 1}, r"^There is no setting 'x{60}'\.$"),
        (AmadeusContext, [], "must be an object"),
        (RiverbendContext, {"scenario": "x.yaml"}, "'scenario' is not open"),
        (EnsembleContext, {"relations": {"embedding_model": "x"}}, "'relations.embedding_model' is not open"),
        (EnsembleContext, {"passages": {"slotz": 1}}, "'passages.slotz'; did you mean 'slots'"),
        (Cast, {"members": {"ada": {"library": "x"}}}, "'members.library' is not open"),
        (Cast, {"understudies": [{}, {"chat_model": "x"}]}, "'understudies.chat_model' is not open"),
        (Cast, {"unmarked": 1}, "'unmarked' is not open"),
    ],
)
def test_what_is_not_open_or_not_there_is_refused(kind: type[RunContext], given: Any, said: str) -> None:
    with pytest.raises(SettingRefused, match=said):
        require_open(kind, given, opened=())


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (AmadeusContext, {"role": "ada", "slots": 2, "language": "ko", "temperature": 0.3, "deadline": 5}),
        (EnsembleContext, {"relations": {"memory_length": 3}, "parts": ["relations"], "user_role": "Tom"}),
        (Cast, {"members": {"ada": {"slots": 1}}, "understudies": None}),
        (AmadeusContext, {}),
    ],
)
def test_what_is_open_passes(kind: type[RunContext], given: Any) -> None:
    require_open(kind, given, opened=())


def test_the_operator_opens_by_name_or_all_and_never_what_there_is_not() -> None:
    given = {"members": {"ada": {"library": "x"}}}
    for variable in ("library", "scenario, library", "all"):
        opened = environment({"DRAMATURG_OPEN_SETTINGS": variable}).opened
        require_open(Cast, given, opened=opened)
        with pytest.raises(SettingRefused, match="no setting 'libary'; did you mean 'library'"):
            require_open(Cast, {"libary": "x"}, opened=opened)
    with pytest.raises(SettingRefused):
        require_open(Cast, given, opened=environment({"DRAMATURG_OPEN_SETTINGS": "scenario"}).opened)


async def test_a_served_graph_refuses_what_the_server_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRAMATURG_OPEN_SETTINGS", raising=False)
    question: Any = {"messages": [("user", "Hello?")]}
    with pytest.raises(SettingRefused, match="'library' is not open"):
        await amadeus.ainvoke(question, FROM_A_SERVER, context={"library": "x"})  # type: ignore[arg-type]
    with pytest.raises(SettingRefused, match="'library' is not open"):
        list(amadeus.stream(question, FROM_A_SERVER, context={"library": "x"}))  # type: ignore[arg-type]


def test_in_process_everything_may_be_set(tmp_path: Any) -> None:
    given = {"library": str(tmp_path), "chat_model": "embedded"}
    context: Any = CompiledWorkflow._context(amadeus, given, {"configurable": {"thread_id": "1"}})  # type: ignore[arg-type]
    assert context.library == str(tmp_path)


def test_a_form_does_not_show_the_marks() -> None:
    class Marked(RunContext):
        secret: Closed[int] = Field(default=1, ge=0, description="A number.")

    shown = Marked.model_json_schema()["properties"]["secret"]
    assert shown == {"default": 1, "description": "A number.", "minimum": 0, "title": "Secret", "type": "integer"}


async def test_who_calls_a_server_can_be_written_down_beside_a_run() -> None:
    caller = await anybody()
    assert isinstance(caller, BaseUser)
    assert json.loads(json.dumps(caller)) == {"identity": caller.identity}
    assert caller.is_authenticated
