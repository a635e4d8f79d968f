"""The numbers of the papers are the defaults of the settings; where a default is ours, that is said here too."""

import inspect
import re
from typing import Any

import pytest

from dramaturg.nodes.identity.episodes import DECAY
from dramaturg.nodes.memories.bank import MemoryBank
from dramaturg.nodes.reply import ReplySettings
from dramaturg.nodes.verification import ALPHA, TEMPERATURE
from dramaturg.prompts import load
from dramaturg.workflows.methods import context_type
from dramaturg.workflows.riverbend_agents import RiverbendContext

PAPERS: list[tuple[str, dict[str, Any]]] = [
    # Experiments, Settings: N = 30, K = 2; Algorithm 1: K + 1 where none is selected, one passage judged at a time
    # (here batches, with the same result); Equations 4 and 5: ACTS.
    (
        "amadeus",
        {"search_limit": 30, "slots": 2, "fallback": "top-K+1", "splitter": "acts"},
    ),
    # 4.4: 600 tokens, overlap 100. 3.4: none of the nearest entities is left out.
    ("role-rag", {"fixed_length": 600, "fixed_overlap": 100, "unit": "tokens", "least_score": -1}),
    # II.B.3: the top 10; Equation 6: Euclidean; Equation 8: as they are. The released code: a pool of 20.
    ("emotional-rag", {"recalled": 10, "pool": 20, "semantic_distance": "euclidean", "normalize": "none"}),
    # 4.4: N = 3 dialogues for the role memory, K = 2 for a revision.
    ("drmr", {"recalled_dialogues": 3, "revision_dialogues": 2, "role_memory": True}),
    # 5.2: the 25 most salient memories. Equation of 3.3.2: as the paper says.
    # 5.2: 1,000 tokens for what is made for the working memory, such as an identity that is inferred.
    (
        "id-rag",
        {"recalled_episodes": 25, "identity_rule": "paper", "identity": "id-rag", "context_tokens": 1000},
    ),
]
"""Settings by method."""


@pytest.mark.parametrize(("method", "values"), PAPERS, ids=[method for method, _ in PAPERS])
def test_a_method_is_set_as_in_its_paper(method: str, values: dict[str, Any]) -> None:
    fields = context_type(method).model_fields
    assert {name: fields[name].default for name in values if name in fields} == values


def test_riverbend_is_set_as_in_the_paper() -> None:
    fields = RiverbendContext.model_fields
    # ID-RAG 5.2: sampling temperature 0.5, 25 memories, 256 tokens for a deed, 1,000 for what is made for the working
    # memory.
    values = {"temperature": 0.5, "recalled_episodes": 25, "action_tokens": 256, "context_tokens": 1000}
    assert {name: fields[name].default for name in values} == values


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_who_is_inferred_from_memories_is_told_no_number_of_words(language: str) -> None:
    """The paper's baseline is held to 1,000 tokens and to nothing else (5.2; A.1 has five lines)."""
    text = load("infer_identity", language).sections[-1][1]
    assert not re.search(r"at most|sentences|words|不超过|短句|句写|넘지|문장|낱말", text)


def test_drmr_verifies_as_in_its_paper() -> None:
    assert (ALPHA, TEMPERATURE) == (4, 0.1)  # 4.4


def test_what_the_papers_do_not_say_is_ours() -> None:
    assert ReplySettings.model_fields["temperature"].default == 0.3
    assert ReplySettings.model_fields["window"].default == 20
    assert DECAY == 0.995  # an hour; generative agents (Park et al. 2023)


def test_a_bank_recalls_as_in_the_paper_and_its_released_code() -> None:
    given = inspect.signature(MemoryBank.rank).parameters
    assert {name: given[name].default for name in ("k", "pool", "semantic_distance", "normalize")} == {
        "k": 10,
        "pool": 20,
        "semantic_distance": "euclidean",
        "normalize": "none",
    }
