"""A simulated user: a model that plays somebody who talks with the role, and says what comes next."""

import asyncio
from typing import NamedTuple

from dramaturg.evaluation.comparison.contestants import ToAsk, language_in
from dramaturg.evaluation.datasets.dataset import AIM
from dramaturg.models.chat import ChatModel
from dramaturg.models.questions import write
from dramaturg.nodes.asking import asked_in_all
from dramaturg.nodes.run import RunContext, chat_in, library_of
from dramaturg.prompts import load
from dramaturg.stores.library import find_card

LINE_TOKENS = 120
"""The longest line of a user."""


class UserLine(NamedTuple):
    """What the user says, and what that has cost."""

    text: str
    calls: int
    tokens: int


NOTHING = UserLine("", 0, 0)


async def user_line(asked: ToAsk, shared: RunContext) -> UserLine:
    """Have the user say its next line; a fact that is planted in this turn stands before it.

    Args:
        asked: a turn of a talk, with what was said before.
        shared: the models of the evaluation; that of the replies plays the user, too.

    Raises:
        ModelError: the model gives no line.
    """
    question, language = asked.question, language_in(shared, asked.role)
    chat: ChatModel = await chat_in(shared.model_copy(update={"model_seed": asked.seed}), language)
    card = await asyncio.to_thread(lambda: find_card(question.user_role, library_of(shared).root))
    said = "\n".join(f"{one.speaker}: {' '.join(one.text.split())}" for one in question.turns)
    aim = question.labels.get(AIM, "")
    prompt = load("say_in_situation" if aim else "say_as_user", language)
    messages = prompt.messages(
        data={"profile": card.profile if card else "", "dialogue": said, AIM: aim},
        user=card.name if card else question.user_role,
        role=asked.role.card.name,
    )
    text = " ".join((await write(chat, messages, max_tokens=LINE_TOKENS, quiet=True)).split())
    told = question.talk.plants if question.talk else ""
    line = " ".join(filter(None, (told, text)))
    return UserLine(line, **asked_in_all([chat.account.usage()]))
