"""The kinds of questions that the methods ask a chat model."""

from dramaturg.models.choose import choose
from dramaturg.models.decide import Decision, decide
from dramaturg.models.extract import extract
from dramaturg.models.rate import Rating, rate
from dramaturg.models.write import write

__all__ = ["Decision", "Rating", "choose", "decide", "extract", "rate", "write"]
