"""Why a role speaks as it does, in its language."""

import re
from pathlib import Path
from string import Template
from typing import Any, get_args

import pytest

from dramaturg.nodes.drafts import Outcome
from dramaturg.nodes.graph.scoping import Strategy
from dramaturg.nodes.memories.emotions import EMOTIONS
from dramaturg.nodes.slips import Slip
from dramaturg.prompts import LANGUAGES
from dramaturg.server.reasoning import MOST, WORDS, why
from dramaturg.server.wording import SENTENCES, TERMS, sentence, term
from dramaturg.stores.index.graph import TYPES
from dramaturg.workflows.ensemble import PARTS

from roles import small_role
from served_roles import Screen, served

# Evidence of every mechanism, without a Latin letter of its own.
PASSAGE = {"source": "1.2", "headings": ["빛"], "text": "불", "confidence": 0.5}
EVIDENCE: dict[str, Any] = {
    "talk": [{"text": "밤", "when": "3", "by_words": 1}, {"text": "낮", "when": ""}],
    "hypothetical": "빛",
    "entities": [{"name": "배", "type": "object", "strategy": "specific", "reason": "봄"}],
    "specific": [{"entity": "배", "description": "큼"}],
    "general": [{"entity": "배", "description": "큼"}],
    "selection": {"judged": 3, "selected": [PASSAGE], "fallback": "1"},
    "retrieved": [PASSAGE],
    "knowledge": [PASSAGE],
    "attributes": [{"attribute": "굳셈"}],
    "mood": {"emotions": {name: {"score": 2} for name in EMOTIONS[:3]}},
    "memories": [{"text": "밤", "score": 1}],
    "relations": {
        "clique": [str(number) for number in range(MOST + 2)],
        "edges": [{"roles": ["해", "달"], "score": 4, "reason": "벗"}],
    },
    "dialogues": [{"text": "밤"}],
    "earlier_records": [{"text": "낮", "talk": "monday"}],
    "records": [{"text": "밤"}],
    "identity": {"triples": [{"sentence": "빛"}]},
    "gate": {"attempts": [{"verdict": "revise", "text": "밤", "reason": "낮"}]},
    "drafts": [{"score": 4}],
    "slips": [{"outcome": "cut", "slip": "echo", "text": "밤"}],
    "thoughts": "밤",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_that_is_found_is_told_in_the_language_of_the_role(language: str) -> None:
    assert EVIDENCE.keys() == WORDS.keys()
    for name, found in EVIDENCE.items():
        lines = list(why({name: found}, set(), language))
        assert lines, name
        assert language == "en" or not re.search("[A-Za-z]", "".join(lines)), lines
    (strangers,) = why({"relations": {}}, set(), language)
    assert sentence("strangers", "fr") == sentence("strangers", "en")
    (in_part, _) = why({"passages": {"relations": EVIDENCE["relations"]}}, set(), language)
    assert strangers == sentence("strangers", language)
    (alone, _) = why({"relations": EVIDENCE["relations"]}, set(), language)
    assert in_part == f"{term('passages', language)}: {alone}"


def test_each_sentence_has_the_same_values_in_each_language_and_each_thing_a_name() -> None:
    for name, sentences in SENTENCES.items():
        assert len({frozenset(Template(one).get_identifiers()) for one in sentences}) == 1, name
    kinds = (
        *TYPES,
        *EMOTIONS,
        *get_args(Strategy),
        *get_args(Outcome),
        *get_args(Slip),
        "dropped",
        "spoken",
        "cut",
        *PARTS,
    )
    assert TERMS.keys() == set(kinds)


def test_a_particle_follows_the_name() -> None:
    edges = [{"roles": roles, "score": 4} for roles in (["민수", "달"], ["달", "민수"])]
    told = list(why({"relations": {"clique": ["달"], "edges": edges}}, set(), "ko"))
    assert told[1:] == ["민수와 달의 관계: 4", "달과 민수의 관계: 4"]


@pytest.mark.parametrize(("language", "said"), [("zh", "判断了 . 个段落"), ("ko", "대목 .개를 판단했다")])
async def test_a_role_gives_its_reasons_in_its_language(tmp_path: Path, language: str, said: str) -> None:
    small_role(tmp_path / "library")
    card = tmp_path / "library" / "ada" / "role.yaml"
    card.write_text(card.read_text().replace("language: en", f"language: {language}"))
    async with served(tmp_path) as http:
        reasons = (await Screen(http, "tea", said=[("user", "one")]).ask("normal")).reasoning
        assert re.search(said, reasons)
        assert "passages" not in reasons
