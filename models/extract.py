"""An object of a schema."""

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from dramaturg.models.asking import Question, ask
from dramaturg.models.chat import Respondent
from dramaturg.models.reading import read_as
from dramaturg.models.structured import Form, Interview

M = TypeVar("M", bound=BaseModel)


async def extract(
    respondent: Respondent, messages: Sequence[BaseMessage], schema: type[M], *, temperature: float = 0
) -> M:
    """Ask for an object of `schema`; strings in it are free of NUL and of halves of surrogate pairs.

    Bound the lists and strings of a schema: a small model may not find the end of one.

    Raises:
        ModelError: there is no answer; see `dramaturg.models.errors` for the kinds.
    """
    described = schema.model_json_schema()
    form = Form("extract", described, lambda text: read_as(schema, text))
    parameters = {"schema": described} | ({"temperature": temperature} if temperature else {})
    question = Question("extract", messages, schema, parameters)
    return await ask(
        respondent, question, lambda chat: Interview(chat, respondent, messages, form, temperature).answer()
    )
