"""What rules leave open, asked of a model: what it is shown, what becomes of its answers, and what it costs."""

import asyncio
import json

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.models.chat import chat_model
from dramaturg.models.errors import UnusableAnswer
from dramaturg.nodes.casting.asked import AskedSpeakers, ask_speakers, cost_of, stretches_of
from dramaturg.nodes.casting.attribution import attributed
from dramaturg.nodes.casting.people import people_in

from fakes import ScriptedChatModel, scripted
from roles import fenced, said

TEXT = (
    "“Where is it?” asked Mira.\n\n“Gone,” said Brandt.\n\nThe lamp went out.\n\n“Light it.” A hand moved. “Quick.”\n\n"
    "It burned again.\n\n“Better.”"
)


def asked(model: ScriptedChatModel, text: str = TEXT) -> AskedSpeakers:
    quotes = attributed(text, "en")
    stretches = stretches_of(text, quotes, people_in(text, "en"))
    return asyncio.run(ask_speakers(chat_model(model, deadline=20), quotes, stretches, language="en"))


def answer(*pairs: tuple[int, int]) -> str:
    return json.dumps({"speakers": [{"quote": quote, "speaker": speaker} for quote, speaker in pairs]})


def test_the_answers_are_speakers_also_of_what_else_stands_in_the_paragraph() -> None:
    found = asked(scripted(answer((1, 2), (2, 1))))
    assert [(one.speaker, one.how) for one in found.quotes][2:] == [
        ("Brandt", "model"),
        ("Brandt", "model"),
        ("Mira", "model"),
    ]
    assert (found.asked, found.found, found.failed) == (2, 2, [])


def test_the_model_sees_numbers_where_it_is_asked_and_names_where_the_speaker_is_known() -> None:
    seen = list[str]()

    def reply(messages: list[BaseMessage]) -> str:
        seen.append(said(messages))
        return answer((1, 1), (2, 1))

    asked(ScriptedChatModel(reply=reply))
    assert fenced("people", seen[0]) == "1. Mira\n2. Brandt"
    assert fenced("passage", seen[0]).splitlines()[-3:] == [
        "[1] “Light it.” A hand moved. “Quick.”",
        "It burned again.",
        "[2] “Better.”",
    ]
    assert "[Brandt] “Gone,” said Brandt." in seen[0]


def test_whom_the_model_does_not_know_stays_unknown() -> None:
    found = asked(scripted(answer((1, 0), (2, 1))))
    assert [one.speaker for one in found.quotes][2:] == ["", "", "Mira"]


@pytest.mark.parametrize("bad", ["I cannot tell.", answer((7, 9)), UnusableAnswer("refused")])
def test_without_a_usable_answer_nobody_speaks_and_it_is_said(bad: str | Exception) -> None:
    found = asked(scripted(bad))
    assert [one.speaker for one in found.quotes] == ["Mira", "Brandt", "", "", ""]
    assert (found.found, len(found.failed)) == (0, 1)


def test_what_it_would_cost_is_known_before() -> None:
    far = TEXT + "\n\nIt rained." * 8 + "\n\n“Who?”"
    cost = cost_of(stretches_of(far, attributed(far, "en"), people_in(far, "en")), "en")
    assert (cost.questions, cost.quotes) == (2, 3)
    assert 500 < cost.tokens < 3000
