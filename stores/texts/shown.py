"""Drafts as people are shown them: what each says, and where it is from."""

from dramaturg.stores.documents.forms import Memory, Triple
from dramaturg.stores.texts.draft import CardField, DraftedNames, DraftedScene, Item, Statement


def text_of(one: Item) -> str:
    """What a draft says, in a line."""
    match one:
        case CardField(field="picture"):
            return f"picture: the cover of {one.text}"
        case CardField():
            return f"{one.field}: {one.text}"
        case DraftedNames():
            return " = ".join((one.name, *(name for name in one.names if name != one.name)))
        case Statement():
            return f"{one.heading}: {one.text}"
        case DraftedScene():
            return f"{len(one.lines)} lines: " + " / ".join(f"{line.speaker}: {line.text}" for line in one.lines[:3])
        case Memory():
            return " ".join(filter(None, (one.when, one.text or f"{one.question} {one.answer}")))
        case Triple():
            return f"{one.subject} {one.relation.replace('_', ' ')} {one.object}"


def whole_text(one: Item) -> str:
    """All that a draft says."""
    if isinstance(one, DraftedScene):
        return "\n".join(f"{line.speaker}: {line.text}" for line in one.lines)
    return text_of(one)


def source_of(one: Item) -> str:
    """Where a draft is from."""
    match one:
        case Statement():
            return ", ".join(filter(None, (one.document, one.source)))
        case DraftedScene():
            return ", ".join(filter(None, (one.document, one.scene)))
        case Memory():
            return str((one.model_extra or {}).get("source", ""))
    return one.source
