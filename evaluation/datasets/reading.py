"""Datasets that a user has: files in one of the known forms, read into one model. None is shipped."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from dramaturg.evaluation.datasets import (
    character_llm,
    charactereval,
    coser,
    incharacter,
    persona_gym,
    ping_pong,
    plain,
    scene,
    timechara,
)
from dramaturg.evaluation.datasets.dataset import FORMS, Dataset, Form
from dramaturg.evaluation.datasets.files import Source
from dramaturg.stores.errors import RoleFileError, did_you_mean

SMALLEST = '{"question": "Where were you born?"}'


class Reader(NamedTuple):
    """How a form is known and read, and what it looks like."""

    recognised: Callable[[Source], bool]
    read: Callable[[Source], Dataset]
    looks: str


READERS: Mapping[Form, Reader] = {
    "scene": Reader(scene.is_scene, scene.read_scene_questions, scene.LOOKS),
    "charactereval": Reader(
        charactereval.is_charactereval,
        charactereval.read_charactereval,
        charactereval.LOOKS,
    ),
    "incharacter": Reader(incharacter.is_incharacter, incharacter.read_incharacter, incharacter.LOOKS),
    "character_llm": Reader(character_llm.is_character_llm, character_llm.read_character_llm, character_llm.LOOKS),
    "characterrag": Reader(plain.is_pairs, plain.read_pairs, plain.PAIRS_LOOK),
    "timechara": Reader(timechara.is_timechara, timechara.read_timechara, timechara.LOOKS),
    "persona_gym": Reader(persona_gym.is_persona_gym, persona_gym.read_persona_gym, persona_gym.LOOKS),
    "ping_pong": Reader(ping_pong.is_ping_pong, ping_pong.read_ping_pong, ping_pong.LOOKS),
    "coser_test": Reader(coser.is_coser_test, coser.read_coser_test, coser.TEST_LOOKS),
    "coser": Reader(coser.is_coser, coser.read_coser, coser.LOOKS),
    "rolebench": Reader(plain.is_rolebench, plain.read_rolebench, plain.ROLEBENCH_LOOKS),
    "jsonl": Reader(plain.is_plain, plain.read_plain, plain.PLAIN_LOOKS),
}
"""In the order in which they are tried: those that are known by more come first."""


def read_dataset(path: Path | str, form: Form | Literal["auto"] = "auto") -> Dataset:
    """Return the dataset of a file or a folder.

    Args:
        path: where it is.
        form: what form it has; `auto` tells by the shape.

    Raises:
        RoleFileError: it is not there, has no known form or not the one that was named, or an entry cannot be used.
        ValueError: there is no such form.
    """
    source = Source(Path(path))
    if form == "auto":
        form = form_of(source)
    elif form not in READERS:
        near = did_you_mean(form, FORMS, f"; the forms are {', '.join(FORMS)}")
        raise ValueError(f"There is no form of datasets {form!r}{near}")
    elif not READERS[form].recognised(source):
        raise RoleFileError(f"{source.name} does not have the form {form}: give {READERS[form].looks}.")
    return READERS[form].read(source)


def form_of(source: Source) -> Form:
    """Tell the form by the shape."""
    for form, reader in READERS.items():
        if reader.recognised(source):
            return form
    forms = ", ".join(FORMS)
    raise RoleFileError(f"{source.name} has none of the known forms ({forms}): make JSON lines of it, as {SMALLEST}.")
