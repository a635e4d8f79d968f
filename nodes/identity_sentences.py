"""Triples put into words: a sentence a triple, by a template of its relation (ID-RAG 3.3.2, formatting)."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from string import Template

import yaml

from dramaturg.stores.role_files import Triple

UNKNOWN: Mapping[str, str] = {
    "en": "$subject $relation $object.",
    "zh": "$subject——$relation：$object。",
    "ko": "$subject — $relation: $object.",
}
"""For a relation without a template: its name as words."""
ENDS = tuple(".!?。！？")


def sentence(triple: Triple, language: str, own: Mapping[str, str] | None = None) -> str:
    """Return the sentence of a triple: its own, or else one by its relation.

    Args:
        triple: what is to be said.
        language: "en", "zh" or "ko".
        own: templates that the chronicle brings, by relation; they come before ours.
    """
    if triple.text:
        return triple.text
    template = {**templates(language), **(own or {})}.get(triple.relation, UNKNOWN[language])
    relation = triple.relation.replace("_", " ")
    said = Template(template).substitute(subject=triple.subject, object=triple.object, relation=relation)
    return said[:-1] if said.endswith(ENDS) and said[:-1].endswith(ENDS) else said


def sentences(triples: Iterable[Triple], language: str, own: Mapping[str, str] | None = None) -> str:
    """Return K_text: the sentences of triples, each on a line."""
    return "\n".join(sentence(one, language, own) for one in triples)


@cache
def templates(language: str) -> Mapping[str, str]:
    """The templates of a language, by relation."""
    file = files("dramaturg.prompts") / f"relations.{language}.yaml"
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")))
