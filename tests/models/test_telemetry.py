"""Spans of what a run does, without a word of what is said in it, and logs that say of which run they are."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dramaturg.models import telemetry
from dramaturg.models.questions import decide
from dramaturg.models.telemetry import JsonLines
from dramaturg.nodes.run import chat_in
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.library import Library
from dramaturg.workflows.amadeus import AmadeusContext, build

from roles import actor, run_settings, small_role

Seen = Callable[[], list[ReadableSpan]]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """The spans of what is run, in the order in which they ended."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", lambda: provider.get_tracer("test"))
    monkeypatch.setenv("DRAMATURG_TELEMETRY", "spans")
    yield lambda: list(exporter.get_finished_spans())
    provider.shutdown()


def ask(library: Path, *, model: Any = None, config: Any = None, **changes: Any) -> Any:
    """One turn with Ada, whose persona is indexed in it."""
    if not library.joinpath("ada").exists():
        small_role(library)
    graph = build(**changes).compile(name="amadeus", checkpointer=InMemorySaver())
    return asyncio.run(
        graph.ainvoke(
            {"messages": [("user", "What of storms?")]},
            config or {"configurable": {"thread_id": "tea"}},
            context=AmadeusContext(**run_settings(library, model or actor())),
        )
    )


def tree(spans: list[ReadableSpan]) -> dict[str, set[str]]:
    """By the name of a span: the names of those that are parts of it."""
    names = {span.context.span_id: span.name for span in spans if span.context}
    found: dict[str, set[str]] = {}
    for span in spans:
        found.setdefault(names[span.parent.span_id] if span.parent else "", set()).add(span.name)
    return found


def written(spans: list[ReadableSpan]) -> str:
    """All that somebody reads who has the spans."""
    return "\n".join(span.to_json() for span in spans)


def test_a_span_for_each_graph_node_and_question(tmp_path: Path, seen: Seen) -> None:
    usage = ask(tmp_path)["usage"]
    spans = seen()
    before = {"read_turn", "recall_talk", "check_index", "amadeus_index"}
    before |= {"make_self_contained", "retrieve", "begin_selection"}
    assert tree(spans) == {
        "": {"amadeus"},
        "amadeus": {*before, "judge", "extract_attributes", "draft", "speak", "keep_talk"},
        "amadeus_index": {"recheck_index", "split_persona", "embed_passages", "publish_index"},
        **{node: {"chat"} for node in ("judge", "extract_attributes", "draft")},
    }
    assert len(spans) == 17 + sum(one["calls"] for one in usage.values())
    questions = [dict(span.attributes or {}) for span in spans if span.name == "chat"]
    assert {one.get("dramaturg.question") for one in questions} == {"decide", "extract", None}
    assert sum(one["gen_ai.usage.input_tokens"] for one in questions) == sum(
        one["prompt_tokens"] for one in usage.values()
    )
    assert all((span.end_time and span.status.is_ok) or span.status.is_unset for span in spans)


def test_a_publication_says_what_is_served_from_then_on(tmp_path: Path, seen: Seen) -> None:
    ask(tmp_path)
    published = next(dict(span.attributes or {}) for span in seen() if span.name == "publish_index")
    assert published["dramaturg.role"] == "ada"
    assert published["dramaturg.knowledge"] == "passages"
    assert published["dramaturg.version"] == Library(tmp_path).role("ada").index(passage_kind("acts")).open().version


def test_spans_say_of_which_thread_and_run_they_are(tmp_path: Path, seen: Seen) -> None:
    run = "01a2090b-26b2-77b7-9d7c-8217559ccadb"
    ask(tmp_path, config={"run_id": run, "configurable": {"thread_id": "tea"}})
    spans = [dict(span.attributes or {}) for span in seen()]
    assert {one["gen_ai.conversation.id"] for one in spans} == {"tea"}
    assert [one["dramaturg.run_id"] for one in spans if "dramaturg.run_id" in one] == [run]
    assert len({span.context.trace_id for span in seen() if span.context}) == 1


def test_no_text_is_in_a_span_unless_it_is_asked_for(
    tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(tmp_path)
    for text in ("storms", "I keep the light", "lighthouse", "never fail"):
        assert text not in written(seen())
    monkeypatch.setenv("DRAMATURG_TELEMETRY", "texts")
    ask(tmp_path)
    assert "What of storms?" in written(seen())
    assert "I keep the light." in written(seen())


def test_an_error_is_told_by_its_kind(tmp_path: Path, seen: Seen) -> None:
    async def breaks(state: Any, runtime: Runtime[Any]) -> Any:
        raise RuntimeError("Ada said: storms")

    with pytest.raises(RuntimeError):
        ask(tmp_path, after={"retrieve": breaks})
    broken = {span.name: (span.attributes or {}).get("error.type") for span in seen() if not span.status.is_unset}
    assert broken == {"breaks": "RuntimeError", "amadeus": "RuntimeError"}
    assert "storms" not in written(seen())


def test_who_waits_for_a_person_has_not_failed(tmp_path: Path, seen: Seen) -> None:
    async def allow(state: Any, runtime: Runtime[Any]) -> Any:
        return {"question": interrupt({"draft": "storms"})}

    ask(tmp_path, after={"retrieve": allow})
    waits = {span.name for span in seen() if (span.attributes or {}).get("dramaturg.waits")}
    assert waits == {"allow"}
    assert all(span.status.is_unset for span in seen())


def test_a_question_outside_of_a_graph_has_a_span_too(tmp_path: Path, seen: Seen) -> None:
    async def asked(model: Any) -> Any:
        chat = await chat_in(AmadeusContext(**run_settings(tmp_path, model)), "en")
        return await decide(chat, [HumanMessage("Does it hold?")])

    asyncio.run(asked(actor(reply='{"answer": "yes"}')))
    assert [(span.name, span.parent) for span in seen()] == [("chat", None)]


@pytest.mark.crash
def test_nothing_of_opentelemetry_is_imported_unless_it_is_asked_for() -> None:
    """LangSmith's client, which comes with LangChain, imports what it finds of it: we import nothing more."""
    theirs, ours = (
        subprocess.run(
            [
                sys.executable,
                "-c",
                f"import sys, {modules}\nprint(*[one for one in sys.modules if 'telemetry' in one])",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for modules in ("langsmith.client", "dramaturg.workflows.amadeus, dramaturg.cli.talk.chat")
    )
    assert {*ours} - {*theirs} == {"dramaturg.models.telemetry"}


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAMATURG_TELEMETRY", "spans")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(ValueError, match=r"DRAMATURG_TELEMETRY needs `pip install 'dramaturg\[telemetry\]'`"):
        ask(tmp_path)


def test_a_line_of_a_log_says_of_which_thread_and_run_it_is(tmp_path: Path) -> None:
    lines = list[str]()

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler, log = Kept(), logging.getLogger("dramaturg.test")
    handler.setFormatter(JsonLines())
    log.addHandler(handler)

    async def warns(state: Any, runtime: Runtime[Any]) -> Any:
        await asyncio.to_thread(log.warning, "Kit is %s.\nSo it is.", "grey")
        return {}

    run = "01a2090b-26b2-77b7-9d7c-8217559ccadb"
    ask(tmp_path, after={"retrieve": warns}, config={"run_id": run, "configurable": {"thread_id": "tea"}})
    log.error("outside")
    log.removeHandler(handler)
    inside, outside = map(json.loads, lines)
    assert inside.pop("time").endswith("+00:00")
    assert inside == {
        "level": "warning",
        "logger": "dramaturg.test",
        "message": "Kit is grey.\nSo it is.",
        "thread_id": "tea",
        "run_id": run,
    }
    assert outside.keys() == {"time", "level", "logger", "message"}
