"""Every method, asked by the command with the embedded models, where their weights are in the cache: one small role."""

import json
import sys
from pathlib import Path

import pytest

from dramaturg.cli.app import main
from dramaturg.models.environment import environment
from dramaturg.models.local.embedded import EMBEDDED_MODEL
from dramaturg.testing import write_role
from dramaturg.workflows.names import METHODS

from embedded_models import PATIENT, SLOW, use_real_models

pytestmark = SLOW
CACHE = environment().cache  # before each test gets a cache of its own
RESTS_ON = {
    "amadeus": {"knowledge", "selection", "attributes"},
    "role-rag": {"entities"},
    "emotional-rag": {"mood", "memories"},
    "drmr": {"relations", "records", "verification"},
    "id-rag": {"identity", "episodes", "gate"},
    "naive-rag": {"knowledge"},
    "crag": {"knowledge", "refinement"},
    "graph-rag-local": {"reached"},
    "role-gpt": {"dialogues"},
    "profile": set[str](),
    "vanilla": set[str](),
    "ensemble": {"parts"},
}
"""What a method's evidence says of a reply."""


@pytest.mark.parametrize("method", METHODS)
def test_a_method_answers(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_real_models(monkeypatch, CACHE, (EMBEDDED_MODEL, "xllamacpp"), ("minilm", "sentence_transformers"))
    write_role(tmp_path)
    settings = {**PATIENT, "reply_tokens": 40}
    options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = ["ask", "ada", "Are you afraid of storms?", "--method", method, "--library", str(tmp_path), "--json"]
    monkeypatch.setattr(sys, "argv", ["dramaturg", *command, *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    said = json.loads(capsys.readouterr().out)
    assert said["reply"].strip()
    assert RESTS_ON[method] <= said["evidence"].keys()
    assert bool(said["evidence"]) == bool(RESTS_ON[method])
