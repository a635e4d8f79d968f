"""Names that match nobody are said with a proposal; the user of a card's example chats is who talks now."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.documents.forms import CARD, RoleCard
from dramaturg.stores.formats.cards import Card
from dramaturg.stores.formats.characters import role_of
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role
from dramaturg.testing.role import write_lines
from dramaturg.workflows import drmr_index, emotional_rag_index

from cast_roles import lines_of, systems, take
from memory_roles import feeling
from roles import run_settings
from scope_roles import player, shown

PORCH = {"porch": (("Tom", "Tell me of the war, Grandma."), ("Grandma Rose", "Sit down. It was a cold spring."))}


def role_with(library: Path, scenes: Mapping[str, Sequence[tuple[str, str]]], name: str, *aliases: str) -> Role:
    """A role of this name with these scenes."""
    role = Library(library).create("ada", RoleCard(name=name, aliases=aliases))
    (role.root / "dialogues").mkdir(exist_ok=True)
    write_lines(role.root / "dialogues" / "scenes.jsonl", lines_of(scenes))
    return role


@pytest.mark.parametrize("method", ["drmr", "emotional-rag"])
async def test_indexing_says_that_nobody_speaks_by_the_roles_name_and_who_may_be_meant(
    method: str, tmp_path: Path
) -> None:
    def indexing() -> Any:
        if method == "drmr":
            return drmr_index.build().compile(), drmr_index.DrmrIndexContext(**run_settings(tmp_path, player()))
        context = emotional_rag_index.EmotionalRagIndexContext(**run_settings(tmp_path, feeling()))
        return emotional_rag_index.build().compile(), context

    async def indexed() -> dict[str, Any]:
        graph, context = indexing()
        report: dict[str, Any] = (await graph.ainvoke({}, context=context))["index"]
        return report

    role = role_with(tmp_path, PORCH, "Rose Miller")
    if method == "emotional-rag":
        write_lines(role.root / "memories.jsonl", [{"text": "The spring was cold."}])
    said = (await indexed())["warning"]
    assert all(one in said for one in ("Rose Miller", "Tom", "Grandma Rose", "aliases: [Grandma Rose]"))
    assert (await indexed())["warning"] == said  # where nothing has changed
    (role.root / CARD).write_text("name: Rose Miller\naliases: [Grandma Rose]\n", encoding="utf-8")
    assert "warning" not in await indexed()


async def test_a_turn_says_it_too(tmp_path: Path) -> None:
    role = role_with(tmp_path, PORCH, "Rose Miller")
    evidence = (await take(role, player(), "How was the war?", user_role="Tom"))["evidence"]
    assert "aliases: [Grandma Rose]" in evidence["speakers_warning"]
    named = role_with(tmp_path / "named", PORCH, "Rose Miller", "Grandma Rose")
    evidence = (await take(named, player(), "How was the war?", user_role="Tom"))["evidence"]
    assert "speakers_warning" not in evidence


@pytest.mark.parametrize("user", ["Tommy", "Uncle Tom", "Thom"])
async def test_a_role_of_the_users_that_is_nobody_is_said_with_who_may_be_meant(user: str, tmp_path: Path) -> None:
    role = role_with(tmp_path, PORCH, "Grandma Rose")
    evidence = (await take(role, player(), "How was the war?", user_role=user))["evidence"]
    assert repr(user) in evidence["speakers_warning"]
    assert "'Tom'" in evidence["speakers_warning"]


async def test_who_plays_a_role_of_the_library_and_speaks_under_another_name_is_offered_the_alias(
    tmp_path: Path,
) -> None:
    role = role_with(tmp_path, PORCH, "Grandma Rose")
    Library(tmp_path).create("tom", RoleCard(name="Tom Miller"))
    evidence = (await take(role, player(), "How was the war?", user_role="tom"))["evidence"]
    assert "aliases: [Tom]" in evidence["speakers_warning"]
    assert "'Tom Miller'" in evidence["speakers_warning"]


def imported(library: Path, language: str = "en") -> Role:
    """A role made of a card with an example chat."""
    chat = "<START>\n{{user}}: Where were you in the storm?\n{{char}}: I stood at the lamp, {{user}}."
    made = role_of(Card(2, {"name": "Ada", "description": "A keeper.", "mes_example": chat}), "ada.png", language)
    role = Library(library).create("ada", made.card)
    for path, data in made.files.items():
        (role.root / path).parent.mkdir(exist_ok=True)
        (role.root / path).write_bytes(data)
    return role


@pytest.mark.parametrize(("language", "visitor"), [("en", "the visitor"), ("zh", "来访者"), ("ko", "손님")])
async def test_a_stranger_is_the_user_of_the_cards_example_chats(language: str, visitor: str, tmp_path: Path) -> None:
    model = player()
    found = await take(imported(tmp_path, language), model, "Where were you?")
    assert sorted(found["evidence"]["relations"]["clique"]) == sorted(["Ada", visitor])
    (record,) = shown(model, "record")
    assert f"{visitor}: Where were you in the storm?" in record
    assert visitor in systems(model, "reply")[0]


async def test_a_user_with_a_name_is_the_one_too_and_is_called_so(tmp_path: Path) -> None:
    model = player()
    found = await take(imported(tmp_path), model, "Where were you?", user_role="Ingrid")
    assert found["evidence"]["relations"]["clique"] == ["Ada", "the visitor"]
    assert "speakers_warning" not in found["evidence"]
    (record,) = shown(model, "record")
    assert "Ingrid: Where were you in the storm?\nAda: I stood at the lamp, Ingrid." in record
    assert "the visitor" not in record
    assert "Ingrid" in systems(model, "reply")[0]


async def test_a_visitor_of_dialogues_that_are_of_no_card_is_somebody_else(tmp_path: Path) -> None:
    role = role_with(tmp_path, {"hall": (("the visitor", "Is he in?"), ("Ada", "No."))}, "Ada")
    assert (await take(role, player(), "Is he in?"))["evidence"]["relations"]["clique"] == []
