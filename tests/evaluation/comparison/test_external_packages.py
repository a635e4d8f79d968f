"""The packages themselves with a scripted model, where a Python that has them is named; each takes up to a minute."""

import os
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.comparison.external import PACKAGES, External, external_method
from dramaturg.nodes.run import RoleContext

from fakes import ScriptedChatModel
from roles import run_settings, said, small_role

LIGHTRAG = """entity<|#|>Ada Quill<|#|>person<|#|>Ada keeps the lighthouse.
entity<|#|>Tom<|#|>person<|#|>Tom sails the mail boat.
relation<|#|>Ada Quill<|#|>Tom<|#|>siblings<|#|>Tom is the brother of Ada.
<|COMPLETE|>"""
GRAPHRAG = """("entity"<|>ADA QUILL<|>PERSON<|>Ada keeps the lighthouse.)
##
("entity"<|>TOM<|>PERSON<|>Tom sails the mail boat.)
##
("relationship"<|>ADA QUILL<|>TOM<|>Tom is the brother of Ada.<|>9)
<|COMPLETE|>"""
REPORT = """{"title": "Gull Rock", "summary": "Ada and Tom.", "rating": 5.0, "rating_explanation": "two",
"findings": [{"summary": "Ada", "explanation": "Ada keeps the light."}]}"""

PYTHONS = {name: os.environ.get(package.variable) for name, package in PACKAGES.items()}  # a test has no variables


def play(messages: list[BaseMessage]) -> str:
    """Answer what the packages ask, by the signs of their own formats."""
    text = said(messages)
    if "<knowledge>" in text:
        return "I keep the light."
    if "high_level_keywords" in text:
        return '{"high_level_keywords": ["lighthouse"], "low_level_keywords": ["Ada Quill", "Tom"]}'
    if "<|#|>" in text:
        return LIGHTRAG
    return GRAPHRAG if "<|>" in text else REPORT


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
async def test_a_package_indexes_a_role_and_answers_as_it(
    name: External, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = PYTHONS[name]
    if not python:
        pytest.skip(f"needs a Python with {PACKAGES[name].project}: set {PACKAGES[name].variable}")
    monkeypatch.setenv(PACKAGES[name].variable, python)
    small_role(tmp_path / "library")
    model = ScriptedChatModel(reply=play)
    context = RoleContext(**run_settings(tmp_path / "library", model))
    for _ in range(2):  # the second time the index is there
        async with external_method(name, context, tmp_path / "indexes") as method:
            await method.prepare()
            answer = await method.answer("Who sails the mail boat?")
        assert answer.text == "I keep the light."
        assert "Tom sails the mail boat." in str(answer.evidence["entities"])
    shown = said(model.calls[-1].messages)
    assert "You are Ada Quill." in shown
    assert "Tom sails the mail boat." in shown
    (report,) = (tmp_path / "indexes" / name).glob("*/indexed.json")
    assert '"entities":2' in report.read_text(encoding="utf-8")
