"""Short runs of Riverbend by a script, their logs, and a chat model that answers and judges for measures."""

import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from dramaturg.prompts import load
from dramaturg.stores.library import open_role
from dramaturg.workflows.riverbend import graph
from dramaturg.workflows.riverbend_agents import RiverbendContext
from studies.simulation.tasks import MeasureSettings

from fakes import ScriptedChatModel
from roles import WordEmbeddings, said
from townspeople import townspeople, world_settings

Part = str | Exception | Callable[[str], str | Exception]

STEPS = 2
SHORT = 4
"""Questions of a quiz in tests of what is the same for all of them."""
CANDIDATES = ("alice", "bob")
USUAL: dict[str, Part] = {
    "answer_quiz": "I am an urban planner.",
    "query_identity": json.dumps({"high_priority": ["profession"], "medium_priority": [], "keywords": []}),
    "why_aligned": "It fits.",
    "rate_alignment": '{"answer": 7}',
}


EXAMINED = ("answer_quiz", "why_aligned", "rate_alignment")
"""What is asked for measures and by nobody else."""


def lasts(*names: str) -> dict[str, str]:
    """The last line of each prompt, as far as it is the same for all."""
    return {name: load(name, "en").sections[-1][1].splitlines()[-1].split("$role")[0] for name in names}


def asked_for(model: ScriptedChatModel, name: str) -> list[str]:
    """The questions of one prompt."""
    return [call.text for call in model.calls if lasts(name)[name] in call.text]


def examined_townspeople(**parts: Any) -> ScriptedChatModel:
    """Play all parts, and answer and judge for measures."""
    people, known = townspeople(**parts), lasts(*EXAMINED)

    def answer(messages: list[BaseMessage]) -> Any:
        text = said(messages)
        name = next((name for name, last in known.items() if last in text), None)
        return USUAL[name] if name else people.reply(messages)

    return ScriptedChatModel(reply=answer)


def examiner(**parts: Part) -> ScriptedChatModel:
    """Answer, look up and judge; a part is a text, an exception, or a function of the question."""
    script = USUAL | parts
    known = lasts(*script)

    def answer(messages: list[BaseMessage]) -> str | Exception:
        text = said(messages)
        part = next(script[name] for name, last in known.items() if last in text)
        return part(text) if callable(part) else part

    return ScriptedChatModel(reply=answer)


def log_of(condition: str, folder: Path) -> Path:
    """Play two hours by a script, and write the log."""
    with tempfile.TemporaryDirectory() as library:
        context = RiverbendContext(**world_settings(library, townspeople(), condition=condition, steps=STEPS))
        found: Any = asyncio.run(graph.ainvoke({}, context=context))
    return written(folder / f"{condition}.jsonl", found["log"])


def short_quiz(library: Path) -> None:
    """Put the candidates into a library, each with the first questions of its quiz."""
    for agent in CANDIDATES:
        path = open_role(agent, library).root / "questions.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:SHORT]), encoding="utf-8")


def written(path: Path, events: list[dict[str, Any]]) -> Path:
    """Write a log."""
    path.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    return path


def events_of(path: Path) -> list[dict[str, Any]]:
    """Read a log, or a file of scores, as it is."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def measure_settings(library: Path, model: Any, **given: Any) -> MeasureSettings:
    """With which models a test measures."""
    return MeasureSettings(library=str(library), chat_model=model, embedding_model=WordEmbeddings(), **given)
