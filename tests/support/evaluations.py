"""A small evaluation by a script: a role that replies by the method, and a judge that goes by the reply."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from dramaturg.evaluation.comparison.plan import Wanted, planned
from dramaturg.evaluation.comparison.records import RecordFile, Records
from dramaturg.evaluation.comparison.run import Evaluation, EvaluationSettings, evaluate, judges_of, take_over
from dramaturg.stores.library import open_role

from fakes import ScriptedChatModel
from roles import WordEmbeddings, fenced, said, small_role

QUESTIONS = (
    {"question": "Who brings the flour?", "answer": "My brother Tom.", "scope": "in", "attribute": "activity"},
    {"question": "What do you keep?", "answer": "The light.", "scope": "in", "attribute": "skill_and_expertise"},
    {"question": "Which telephone do you have?", "answer": None, "scope": "out", "reason": "There was none."},
)
RIGHT = "My brother Tom keeps the light."


class Named(ScriptedChatModel):
    """A model that reports know by a name."""

    model_name: str = "judge"


def library_of(folder: Path, *roles: str) -> Path:
    """A library whose roles have questions."""
    for role in roles or ("ada",):
        small_role(folder, role=role)
        lines = "".join(json.dumps(one) + "\n" for one in QUESTIONS)
        (folder / role / "questions.jsonl").write_text(lines, encoding="utf-8")
    return folder


def speaker(reply: Callable[[str], str | Exception] = lambda text: RIGHT) -> ScriptedChatModel:
    """Whoever speaks for the roles."""
    return ScriptedChatModel(reply=lambda messages: reply(said(messages)))


def judge(
    good: Callable[[str], bool | Exception] = lambda reply: "Tom" in reply, name: str = "judge"
) -> ScriptedChatModel:
    """A judge that says yes, or 9, of a reply that is good, else no, or 2."""

    def answer(messages: list[BaseMessage]) -> str | Exception:
        text = said(messages)
        found = good(fenced("reply", text))
        if isinstance(found, Exception):
            return found
        if len(messages) == 2:
            return "So it is."
        if '"yes"' in text:
            return json.dumps({"answer": "yes" if found else "no"})
        return json.dumps({"answer": 9 if found else 2})

    return Named(reply=answer, model_name=name)


def evaluation_of(
    library: Path, model: Any = None, marker: Any = None, folder: str = "run", **wishes: Any
) -> Evaluation:
    """An evaluation in a folder beside the library, without floor and ceiling unless wished for."""
    limits = {name: wishes.pop(name) for name in ("most_calls", "concurrency") if name in wishes}
    usual = {"methods": ("vanilla", "profile"), "roles": ("ada",), "metrics": ("accuracy",), "bounds": False}
    wanted = Wanted(**{**usual, **wishes})
    settings = EvaluationSettings(
        library=str(library),
        chat_model=model or speaker(),
        embedding_model=WordEmbeddings(),
        judges=marker or (judge(),),
        **limits,
    )
    roles = [open_role(name, library) for name in wanted.roles]
    plan, asked = planned(wanted, roles, settings, list(judges_of(settings)))
    return Evaluation(plan, asked, settings, library.parent / folder)


async def taken(evaluation: Evaluation, after: str = "") -> Records:
    """Run it, and begin with the answers of the run in another folder, if one is named; what is there then."""
    if after:
        take_over(evaluation.folder.parent / after, evaluation.folder)
    await evaluate(evaluation, lambda phase, number: lambda done: None)
    return RecordFile(evaluation.folder).read()
