"""What a test of a flow of one's own needs: a chat model with a script, embeddings without weights, a small role."""

from dramaturg.testing.embeddings import WordEmbeddings
from dramaturg.testing.role import write_role
from dramaturg.testing.script import Answer, Call, FirstToken, Rule, Unscripted, in_turn
from dramaturg.testing.scripted import ScriptedChatModel

__all__ = [
    "Answer",
    "Call",
    "FirstToken",
    "Rule",
    "ScriptedChatModel",
    "Unscripted",
    "WordEmbeddings",
    "in_turn",
    "write_role",
]
