"""Cards as people write them: taken in, talked to twice, with evidence that names entries of their books, and out."""

from pathlib import Path

import pytest
from wild_cards import WILD

from dramaturg.conversations.opening import begin_by_greeting, open_conversation
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.cards import Card, as_png
from dramaturg.stores.formats.characters import card_of, role_of
from dramaturg.stores.formats.told import told
from dramaturg.stores.library import Library
from dramaturg.testing import ScriptedChatModel, WordEmbeddings
from dramaturg.workflows.amadeus import AmadeusContext

ASKED = {
    "w++": ("When did the archive burn?", "lore-archive.md"),
    "plain list": ("When are nets tarred?", "lore-nets.md"),
    "json in a field": ("When was the core lit?", "lore-core.md"),
    "chinese": ("灯塔建于哪一年", "lore-灯.md"),
    "korean": ("등대는 언제 세워졌다", "lore-등대.md"),
    "a hundred entries": ("Whose is the Swift-42 at berth 42?", "lore-berth-42.md"),
    "markdown": ("How long has the storm raged?", "lore-The-storm.md"),
    "boostyle": ("Where was the Kestrel built?", "lore-Kestrel.md"),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("style", WILD)
async def test_a_card_of_the_wild_is_talked_to_and_written_again(style: str, tmp_path: Path) -> None:
    library = Library(tmp_path)
    card = told(dumped(WILD[style]))
    assert isinstance(card, Card)
    library.replace({"one": role_of(card, "one.json").files})
    model = ScriptedChatModel(write="So it is.")
    context = AmadeusContext(role="one", library=library, chat_model=model, embedding_model=WordEmbeddings())
    question, document = ASKED.get(style, ("Who are you?", "character.md"))
    async with open_conversation("amadeus", context, "tea") as talk:
        greeting = await begin_by_greeting(talk)
        assert greeting
        assert "{{" not in greeting
        first = await talk.take_turn(question)
        await talk.take_turn("And then?")
        assert document in {one["source"] for one in first["evidence"]["knowledge"]}
        assert [turn.reply for turn in await talk.history()] == [greeting, "So it is.", "So it is."]
    sent = model.calls[-1].text
    assert "{{char}}" not in sent.lower()
    assert "{{user}}" not in sent.lower()
    assert "not for the role" not in sent
    again = told(as_png(card_of(library.role("one"))))
    assert isinstance(again, Card)
    assert again.said.model_dump(exclude={"alternate_greetings"}) == card.said.model_dump(
        exclude={"alternate_greetings"}
    )


async def test_how_its_author_wants_a_role_to_be_played_reaches_every_reply(tmp_path: Path) -> None:
    library = Library(tmp_path)
    card = told(dumped(WILD["json in a field"]))
    assert isinstance(card, Card)
    library.replace({"one": role_of(card, "one.json").files})
    model = ScriptedChatModel(write="So it is.")
    context = AmadeusContext(role="one", library=library, chat_model=model, embedding_model=WordEmbeddings())
    async with open_conversation("amadeus", context) as talk:
        await talk.take_turn("Who are you?")
    sent = model.calls[-1].text
    assert "<directions>\nWrite as Unit 7. {{getvar::mood}}\n\nUnit 7 speaks in numbers.\n</directions>" in sent
    assert sent.index("</directions>") < sent.index("<question>")
