"""Drafts of a cast role: whole files of the role once accepted, all or none; edited, refused, never twice."""

import json
from pathlib import Path

import pytest

from dramaturg.stores.documents.forms import Memory, RoleCard, Triple
from dramaturg.stores.errors import RoleFileError, StaleDraft
from dramaturg.stores.library_folder import Library
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import CardField, CastDraft, DraftedLine, DraftedScene, Statement
from dramaturg.stores.texts.form import Line, Scene, SourceText

LIMP = Statement(document="lamp.md", heading="Looks", text="She limped.", source="One, line 5")
TALL = Statement(document="lamp.md", heading="Looks", text="She was tall.", source="Two, line 9")
BORN = Statement(document="lamp.md", heading="Past", text="She was born on the rock.", source="Two, line 11")


def scene(*texts: str) -> DraftedScene:
    lines = tuple(DraftedLine(speaker="Ada", text=text, at="line 1") for text in texts)
    return DraftedScene(document="lamp.md", scene="One", lines=lines)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return Library(tmp_path).create("ada", RoleCard(name="Ada"))


@pytest.fixture
def draft(role: Role) -> CastDraft:
    return CastDraft(role.root)


def test_statements_come_under_their_headings_also_where_a_person_has_written_more(
    role: Role, draft: CastDraft
) -> None:
    draft.put({"persona": [LIMP, BORN]})
    draft.accept({"persona": [LIMP, BORN]})
    path = role.root / "persona" / "lamp.md"
    path.write_text(path.read_text(encoding="utf-8").replace("## Past", "A remark of mine.\n\n## Past"), "utf-8")
    draft.put({"persona": [TALL]})
    draft.accept({"persona": [TALL]})
    (document,) = role.documents()
    assert document.text == (
        "# lamp.md\n\n## Looks\n\nShe limped. (One, line 5)\n\nA remark of mine.\n\nShe was tall. (Two, line 9)\n\n"
        "## Past\n\nShe was born on the rock. (Two, line 11)\n"
    )


def test_a_statement_cannot_become_a_heading(role: Role, draft: CastDraft) -> None:
    draft.put({"persona": [LIMP.model_copy(update={"text": "# Past\nShe owns the rock."})]})
    draft.accept({"persona": draft.items("persona")})
    (document,) = role.documents()
    assert "\n\\# Past She owns the rock." in document.text


def test_what_was_drafted_once_does_not_come_back(draft: CastDraft) -> None:
    drafts = {"persona": [LIMP, TALL], "memories": [Memory(text="I fell.")]}
    assert draft.put(drafts) == {"persona": 2, "memories": 1}  # type: ignore[arg-type]
    draft.refuse("persona", [LIMP])
    draft.accept({"memories": draft.items("memories")})
    assert draft.put(drafts) == {}  # type: ignore[arg-type]
    assert draft.counts() == {"persona": 1}


def test_of_a_scene_that_has_grown_only_what_is_new_is_drafted(draft: CastDraft) -> None:
    draft.put({"dialogues": [scene("Yes.", "No.")]})
    draft.put({"dialogues": [scene("Yes.", "No.", "Yes.")]})
    first, second = draft.items("dialogues")
    assert [line.text for line in first.lines] == ["Yes.", "No."]
    assert [line.text for line in second.lines] == ["Yes."]


def test_a_draft_is_edited_before_it_is_accepted(role: Role, draft: CastDraft) -> None:
    draft.put({"memories": [Memory(text="I fell."), Memory(text="I rose.")]})
    draft.replace("memories", Memory(text="I fell."), Memory(text="I stumbled.", when="1862"))
    draft.accept({"memories": draft.items("memories")[:1]})
    assert role.memories() == [Memory(text="I stumbled.", when="1862")]
    assert draft.put({"memories": [Memory(text="I fell.")]}) == {}


def test_who_decides_on_what_has_changed_meanwhile_is_told(draft: CastDraft) -> None:
    draft.put({"persona": [LIMP]})
    draft.refuse("persona", [LIMP])
    with pytest.raises(StaleDraft, match="changed meanwhile"):
        draft.accept({"persona": [LIMP]})


def test_of_several_kinds_all_or_none_are_accepted(role: Role, draft: CastDraft) -> None:
    triple = Triple(subject="Ada", relation="profession", object="keeper", kind="trait")
    draft.put({"persona": [LIMP], "chronicle": [triple]})
    (role.root / "chronicle.yaml").write_text("triples: 7\n", encoding="utf-8")
    with pytest.raises(RoleFileError, match=r"chronicle\.yaml"):
        draft.accept({"persona": [LIMP], "chronicle": [triple]})
    assert not role.documents()
    assert draft.counts() == {"persona": 1, "chronicle": 1}


def test_a_card_keeps_what_a_person_wrote(role: Role, draft: CastDraft) -> None:
    fields = [CardField(field="aliases", text="Miss Quill"), CardField(field="greetings", text="Mind the step.")]
    draft.put({"card": fields})
    draft.accept({"card": fields})
    draft.put({"card": [CardField(field="aliases", text="the keeper"), CardField(field="profile", text="A keeper.")]})
    draft.accept({"card": draft.items("card")})
    assert role.card.aliases == ("Miss Quill", "the keeper")
    assert role.card.profile == "A keeper."
    assert role.card.greetings == ("Mind the step.",)


def test_a_draft_that_was_edited_wrongly_is_named_with_its_line(role: Role, draft: CastDraft) -> None:
    draft.put({"memories": [Memory(text="I fell.")]})
    path = role.root / "cast.draft" / "memories.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + '{"text": 3}\n', encoding="utf-8")
    with pytest.raises(RoleFileError, match=r"memories\.jsonl, line 2"):
        draft.items("memories")


def test_texts_are_kept_whole_and_answers_also_where_the_last_line_is_cut(role: Role, draft: CastDraft) -> None:
    text = SourceText(
        "wa.txt", "chat", "## Day\n", (Scene("Day", (Line("Ada", "Hi", "line 1", when="1862"),)),), ("1 media",)
    )
    draft.add_texts([text])
    assert draft.texts() == [text]
    draft.keep_answers({"a": [1]})
    path = role.root / "cast.draft" / "answers.jsonl"
    path.write_bytes(path.read_bytes() + b'["b", [2')
    draft.keep_answers({"c": [3]})
    assert draft.answers() == {"a": [1], "c": [3]}


def test_drafts_are_no_part_of_what_methods_read(role: Role, draft: CastDraft) -> None:
    draft.put({"persona": [LIMP], "memories": [Memory(text="I fell.")], "dialogues": [scene("Yes.")]})
    assert (role.documents(), role.memories(), role.dialogues()) == ([], [], [])
    lines = (role.root / "cast.draft" / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["lines"][0]["text"] == "Yes."


def test_of_a_line_that_goes_on_only_what_is_new_is_drafted(draft: CastDraft) -> None:
    draft.put({"dialogues": [scene("How are you?")]})
    draft.put({"dialogues": [scene("How are you?\nStill there?")]})
    assert [line.text for line in draft.items("dialogues")[1].lines] == ["Still there?"]
