"""What a conversation has made of a role, as a person has it written into the role's chronicle."""

from datetime import UTC, datetime

from dramaturg.conversations.conversation import Conversation
from dramaturg.nodes.identity.chronicle import IdentityChange, changes_in
from dramaturg.stores.documents.chronicle_changes import Replacement
from dramaturg.stores.documents.forms import Triple


async def replacements_in(talk: Conversation, name: str) -> list[Replacement]:
    """What a conversation has made of its role by now, whichever method plays it; a change without a date is of today.

    Args:
        talk: the conversation.
        name: what it is called where the chronicle says where a line is from.
    """
    head = await talk.thread.head()
    today = datetime.now(UTC).astimezone().date().isoformat()
    found = changes_in(head.checkpoint["channel_values"]) if head else []
    return [replacement(one, name, today) for one in found if one["role"] == talk.context.role]


def replacement(change: IdentityChange, name: str, today: str) -> Replacement:
    """A change as the chronicle takes it over, with where it is from."""
    new = Triple.model_validate(change["triple"])
    source = f"conversation {name}, {new.source}".removesuffix(", ")
    gone = filter(None, (change["replaces"], change.get("replaces_too")))
    old = tuple(map(Triple.model_validate, gone))
    return Replacement(new.model_copy(update={"source": source, "since": new.since or today}), old)
