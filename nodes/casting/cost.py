"""What casting would ask a model, counted before it is asked."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from dramaturg.models.chat import tokens_in
from dramaturg.nodes.casting.asked import Stretch, cost_of
from dramaturg.nodes.casting.attribution import attributed
from dramaturg.nodes.casting.cast import CastSettings, stretches_with
from dramaturg.nodes.casting.characters import Character
from dramaturg.nodes.casting.drafting import DRAWN, asked_of
from dramaturg.nodes.casting.parts import blocks_about, parts_of
from dramaturg.nodes.dialogues.cast import spelling
from dramaturg.nodes.identity.chronicle import templates
from dramaturg.prompts import load
from dramaturg.stores.documents.forms import Language
from dramaturg.stores.texts.form import SourceText


class CastCost(NamedTuple):
    """What a model would be asked at most: what is known is not asked for again."""

    questions: dict[str, int]
    """By what they are about: `drafts`, `speakers`, and `card`."""
    characters: int
    """Of the parts of texts that are sent."""
    tokens: int
    """About how many questions have, prompts included; answers come on top."""


def cost_of_cast(texts: Sequence[SourceText], who: Character, settings: CastSettings, language: Language) -> CastCost:
    """Count what casting would ask; it blocks.

    Args:
        texts: as far as they are read.
        who: the character.
        settings: of the run.
        language: of the texts.
    """
    questions, characters, tokens = dict[str, int](), 0, 0
    names, relations = {*map(spelling, (who.name, *who.aliases))}, templates(language)
    for text in texts if settings.asks else ():
        stretches, spoken = list[Stretch](), list[int]()
        if text.form == "prose":
            quotes = attributed(text.text, language, narrator=who.name if settings.first_person else "")
            stretches = stretches_with(text, quotes, language, who)
            asked = {at for one in stretches for at in one.quotes}
            spoken = [one.begin for at, one in enumerate(quotes) if at in asked or spelling(one.speaker) in names]
            cost = cost_of(stretches, language)
            questions["speakers"] = questions.get("speakers", 0) + cost.questions
            characters += sum(len(one.passage) for one in stretches)
            tokens += cost.tokens
        kinds = [
            kind for kind in DRAWN if kind in settings.drafts and not (kind == "memories" and text.form == "diary")
        ]
        if not kinds:
            continue
        first_person = settings.first_person or text.form == "diary"
        parts = parts_of(blocks_about(text, who, first_person=first_person, spoken=spoken), settings.chat_model)
        questions["drafts"] = questions.get("drafts", 0) + len(parts)
        for part in parts:
            characters += len(part.shown)
            prompt = partial(load, language=language)
            tokens += tokens_in(asked_of(prompt, part, who, kinds, relations, language))
    if {"card", "persona"} <= {*settings.drafts} and questions.get("drafts"):
        questions["card"] = 1
    return CastCost({what: count for what, count in questions.items() if count}, characters, tokens)
