"""What a run does, seen from outside: OpenTelemetry spans of graphs, nodes and questions, and logs as lines of JSON.

LangSmith's client exports spans, too, but with every text, and with what callers and surroundings are called by, unless
each is hidden. A span here has what this file names, and texts only where the operator asks for them. LangChain makes
the handler of each run where the variable is set; nothing of OpenTelemetry is imported before that.
"""

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import get_runtime

from dramaturg.models.environment import VARIABLES, environment

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_lock = threading.Lock()


class Spans(BaseCallbackHandler):
    """Begins and ends the spans of one run of a graph, or of a question that is asked outside of one."""

    run_inline = True  # else what a node asks could begin before the node

    def __init__(self) -> None:
        self._tracer = tracer()
        self._spans: dict[UUID, tuple[Span, bool]] = {}
        """By the id of what runs: its span, and whether that ends with it; a router has its node's."""

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **rest: Any,
    ) -> None:
        """Begin the span of a graph or a node; routers, and graphs that are a whole node, have no other."""
        if parent_run_id in self._spans and any(tag.startswith("seq:step:") for tag in tags or ()):
            self._spans[run_id] = self._spans[parent_run_id][0], False
            return
        known = metadata or {}
        of_graph = {} if parent_run_id in self._spans else {"dramaturg.run_id": str(run_id)}
        self._begin(
            str(rest.get("name")),
            run_id,
            parent_run_id,
            {
                **of_graph,
                "gen_ai.conversation.id": known.get("thread_id"),
                "dramaturg.step": known.get("langgraph_step"),
            },
        )

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **rest: Any,
    ) -> None:
        """Begin the span of a question, by the conventions of OpenTelemetry for generative models."""
        known = metadata or {}
        model = known.get("ls_model_name") or rest.get("name")
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": known.get("ls_provider"),
            "gen_ai.request.model": model,
            "gen_ai.request.temperature": known.get("ls_temperature"),
            "gen_ai.request.max_tokens": known.get("ls_max_tokens"),
            "gen_ai.conversation.id": known.get("thread_id"),
            "dramaturg.question": known.get("question"),
        }
        if _texts():
            shown = [{"role": one.type, "content": one.text} for batch in messages for one in batch]
            attributes["gen_ai.input.messages"] = json.dumps(shown, ensure_ascii=False)
        self._begin(f"chat {model or ''}".strip(), run_id, parent_run_id, attributes, asks=True)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **rest: Any) -> None:
        """End the span of a question with what it cost."""
        message = getattr(response.generations[0][0], "message", None) if response.generations else None
        attributes: dict[str, Any] = {}
        if isinstance(message, AIMessage):
            tokens = message.usage_metadata
            attributes = {
                "gen_ai.usage.input_tokens": tokens and tokens["input_tokens"],
                "gen_ai.usage.output_tokens": tokens and tokens["output_tokens"],
            }
            if _texts():
                attributes["gen_ai.output.messages"] = json.dumps(message.text, ensure_ascii=False)
        self._end(run_id, attributes)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **rest: Any) -> None:
        """End a span."""
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **rest: Any) -> None:
        """End a span with the kind of what went wrong, for what an error says may be a text; waiting is no error."""
        self._end(run_id, {"dramaturg.waits": True} if isinstance(error, GraphBubbleUp) else {}, error)

    on_llm_error = on_chain_error

    def note(self, run_id: UUID | None, attributes: Mapping[str, Any]) -> None:
        """Add to the span of what runs; what is None is left out."""
        if run_id in self._spans:
            self._spans[run_id][0].set_attributes({name: one for name, one in attributes.items() if one is not None})

    def _begin(
        self, name: str, run_id: UUID, parent: UUID | None, attributes: Mapping[str, Any], *, asks: bool = False
    ) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        within = set_span_in_context(self._spans[parent][0]) if parent in self._spans else None  # None: what is current
        kind = SpanKind.CLIENT if asks else SpanKind.INTERNAL
        self._spans[run_id] = self._tracer.start_span(name, context=within, kind=kind), True
        self.note(run_id, attributes)

    def _end(
        self, run_id: UUID, attributes: Mapping[str, Any] | None = None, error: BaseException | None = None
    ) -> None:
        self.note(run_id, attributes or {})
        span, own = self._spans.pop(run_id, (None, False))
        if span and own:
            if error and not isinstance(error, GraphBubbleUp):
                from opentelemetry.trace import StatusCode

                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
            span.end()


def _texts() -> bool:
    return environment().telemetry == "texts"


def note(**attributes: Any) -> None:
    """Say more of the node that is running, where somebody looks; names get `dramaturg.` before them."""
    callbacks = (var_child_runnable_config.get() or {}).get("callbacks")
    for handler in getattr(callbacks, "handlers", ()):
        if isinstance(handler, Spans):
            named = {f"dramaturg.{name}": value for name, value in attributes.items()}
            handler.note(getattr(callbacks, "parent_run_id", None), named)


def tracer() -> "Tracer":
    """The tracer; where the program has set up none, spans go where the variables OTEL_EXPORTER_OTLP_… say.

    Raises:
        ValueError: OpenTelemetry is not installed.
    """
    with _lock:
        return _tracer()


@cache
def _tracer() -> "Tracer":
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ValueError(f"{VARIABLES['telemetry']} needs `pip install 'dramaturg[telemetry]'`.") from error
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        resource = Resource({SERVICE_NAME: "dramaturg"}).merge(OTELResourceDetector().detect())
        provider = TracerProvider(resource=Resource.create().merge(resource))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
    return trace.get_tracer("dramaturg", version("dramaturg"))


class JsonLines(logging.Formatter):
    """A line of JSON for each record, with the thread and the run in which it was written, as LangGraph calls them."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_ids(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _ids() -> dict[str, str]:
    try:
        info = get_runtime().execution_info
    except (KeyError, RuntimeError):  # outside a run
        return {}
    found = {"thread_id": info and info.thread_id, "run_id": info and info.run_id}
    return {name: one for name, one in found.items() if one}


register_configure_hook(
    ContextVar[Any]("dramaturg_spans", default=None),
    inheritable=True,
    handle_class=Spans,
    env_var=VARIABLES["telemetry"],
)
