"""The saver passes the whole conformance suite of LangGraph's savers: no capability failed, none skipped."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langgraph.checkpoint import conformance

from dramaturg.stores.saver import file as saver_file
from dramaturg.stores.saver.conversation_saver import ConversationSaver


@conformance.checkpointer_test(name="ConversationSaver")
async def a_saver() -> AsyncIterator[ConversationSaver]:
    with tempfile.TemporaryDirectory() as folder:
        async with ConversationSaver.open(Path(folder) / "talk.sqlite") as saver:
            yield saver


async def test_every_capability_is_there_and_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saver_file, "SYNCHRONOUS", "OFF")  # a power cut is not tested here
    report = await conformance.validate(a_saver)
    for name, result in report.results.items():
        assert (result.detected, result.passed, result.failures) == (True, True, []), name
        assert result.tests_skipped == 0, name
    assert len(report.results) == 8
    assert sum(result.tests_passed for result in report.results.values()) == 81
