"""The saver of conversations: one sqlite file, in which nothing acknowledged is lost."""

from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.steps import Step

__all__ = ["ConversationSaver", "Step"]
