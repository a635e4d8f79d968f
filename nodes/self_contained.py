"""What a question means in its talk: "she" or "there" said in words, and what was said before it.

Whoever looks something up by a question takes it in full (`in_full`), and whoever weighs a line is shown what was said
before it (`talk_before`): "And why is that?" and "Yes, gladly." mean nothing without that.
"""

import re
from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from dramaturg.models.errors import UNANSWERED, UnusableAnswer
from dramaturg.models.questions import write
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import AskedState, earlier
from dramaturg.nodes.run import RoleContext, Run, by_rules, needs, open_run
from dramaturg.nodes.turn import (
    StandaloneState,
    SummaryState,
    clipped,
    recalled_text,
    stranger_name,
    transcript,
)

LONGEST = 1000  # bytes of a rewritten question
FEW = 4  # words in which much may be left out: "Did you win?"
QUESTION_MARKS = ("?", "？")
WRAPPED = re.compile(r"(?P<open>\*\*|[\"'“„«「『*_`])(?P<said>.+?)(?P<close>\*\*|[\"'”“»」』*_`])")
LED = re.compile(r".{0,80}?[:：]\s*(.+)")
WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")  # Chinese has no spaces between words
END = re.compile(r"[.!?…](?=\s|$)|[。！？]")
# English, Chinese, Korean; a user may speak another language than the role.
REFERENCE = re.compile(
    r"\b(?:he|she|it|they|him|her|his|hers|its|them|theirs?|(?:him|her|it)self|themselves|this|these|those|then|ones"
    r"|former|latter|(?<!is )(?<!are )(?<!was )(?<!were )there|that(?! (?:you|I|we|the|an?)\b))\b"
    r"|[他她它其此这那该彼]|[里上下外]面|当时|后来|之[后前]"
    r"|(?<![가-힣])(?:그|이|저)(?:(?![가-힣])|[건것게걸곳때들분녀는가를의와도은에]|렇|런)|거기|여기|당시",
    re.IGNORECASE,
)
FRAGMENT = re.compile(
    r"(?:and|but|or|so|because|(?:what|how) (?:about|come))\b.*|[a-z']+(?: [a-z']+)?\W*"
    r"|(?:而|但|还|那).*|.*呢\W*|[\u3400-\u9fff]{1,4}\W*|(?:그리고|그런데|그럼|그래서).*|[가-힣]+\W*",
    re.IGNORECASE | re.DOTALL,
)
PERHAPS = re.compile(  # may point to what was said, or not
    r"\b(?:again|also|another|else|instead|more|next|others?|still|too|before|after|afterwards|such|same|both|n?either"
    r"|ones?|that|there)\b|[再又还也另]|또|다시|더|다른|다음",
    re.IGNORECASE,
)
ADDRESSED = re.compile(r"\byou(?:rs?|rself)?\b|[你您]|당신|자네|선생", re.IGNORECASE)
NAME = re.compile(r"(?<=[\w,] )(?!I\b)[A-Z]\w+")


class SelfContainedSettings(RoleContext):
    """How far back a question is understood."""

    recent: Open[int] = by_rules(
        paper=0,
        ours=6,
        ge=0,
        le=100,
        description="The number of earlier messages used to understand the question; 0: none, the question is used "
        "as it is, and those who check a line are not shown the conversation. The "
        "papers have one turn; ours costs a question to the model in each later one that may refer to an earlier.",
    )


def in_full(state: Mapping[str, Any]) -> str:
    """The question of a turn as it is understood; as it was asked where nobody has said it in full."""
    return str(state.get("standalone") or state["question"])


def talk_before(run: Run[Any], state: SummaryState, prompt: str = "talk_before") -> str:
    """What those who look something up or check a line are shown of the talk before the question, as a section.

    It is the summary of what has left the window, what comes back of that, and the window: what the reply is shown,
    too. Empty where there is nothing, and where the settings have nothing understood (`recent` is 0).

    Args:
        run: of settings that inherit `SelfContainedSettings`.
        state: of the turn.
        prompt: that says what it is: "talk_before", or "talk_since" where it goes before what was settled.
    """
    if not run.settings.recent:
        return ""
    messages = state.get("messages") or []
    asked = max((at for at, one in enumerate(messages) if one.type == "human"), default=0)  # a reply may follow
    told = transcript(messages[:asked], run.role, stranger_name(run))
    recalled = recalled_text(state.get("recalled_talk") or [])
    told = "\n".join(filter(None, [" ".join(state.get("summary", "").split()), recalled, told]))
    if not told:
        return ""
    (only,) = run.prompt(prompt).messages(role=run.role.card.name, data={"conversation": told})
    return f"{only.text}\n\n"


class SelfContainedState(AskedState, StandaloneState):
    """What is read and written: the question u, and what it means on its own."""


@needs(question="read_turn")
async def make_self_contained(state: SelfContainedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Rewrite the question so that it can be understood alone; one that stands alone is left as it is.

    One that the graph around has said in full is taken from there. Where the model gives no usable answer the question
    stays as it was asked, and the evidence says so: as an error if something in it refers to what was said before.
    """
    if understood := state.get("understood"):
        return {"standalone": understood}
    run = await open_run(runtime, SelfContainedSettings)
    question, most = state["question"], run.settings.recent
    talk = state.get("messages") or []  # what is only looked up has none
    recent = earlier(talk)[-most:] if most and talk else []
    if not recent or stands_alone(question):
        return {"standalone": question}
    data = {"conversation": transcript(talk[:-1][-most:], run.role), "question": question}
    messages = run.prompt("self_contained").messages(role=run.role.card.name, data=data)
    try:
        written = await write(run.chat, messages, temperature=0, max_tokens=120, quiet=True)
        said = " ".join(written.split())
        same = said.split() == question.split()  # whose line breaks stay
        standalone = question if same else clipped(said_in_full(said, question), LONGEST)
        evidence = {"question": standalone} if standalone != question else {}
    except UNANSWERED as error:
        standalone = question
        evidence = {"question_error" if refers_back(question) else "question_kept": str(error)}
    return {"standalone": standalone, "evidence": evidence, "usage": {"make_self_contained": run.usage}}


def stands_alone(question: str) -> bool:
    """Whether a question surely refers to nothing that was said before: the first of a conversation could be like it.

    By its words: it says of whom it is, by a name or as "you", and none of them points back.
    """
    if any(one.search(question) for one in (REFERENCE, PERHAPS)) or FRAGMENT.fullmatch(question):
        return False
    return bool(NAME.search(question) or (ADDRESSED.search(question) and len(WORD.findall(question)) > FEW))


def refers_back(question: str) -> bool:
    """Whether a word in a question points to what was said before, or words are left out that were said there."""
    word, name = REFERENCE.search(question), NAME.search(question)
    within = word and name and name.start() < word.start()  # may be who is meant
    return bool((word and not within) or FRAGMENT.fullmatch(question))


def said_in_full(written: str, question: str) -> str:
    """What the user says, in full, without quotes or bold around it; small models like to answer it instead.

    Raises:
        UnusableAnswer: it is no question any more, or little of what was said is left in it.
    """
    said = unwrapped(written)
    if (led := LED.match(said)) and unwrapped(led[1]) != led[1]:  # The question is: "…"
        said = unwrapped(led[1])
    asks = question.endswith(QUESTION_MARKS)
    if not (said.endswith(QUESTION_MARKS) if asks else repeats(said, question)):
        msg = "The question could not be said in full: the model answered it."
        raise UnusableAnswer(msg)
    return said


def unwrapped(text: str) -> str:
    """A text without the quotes, or the bold, that stand around all of it."""
    text = text.strip()
    while (found := WRAPPED.fullmatch(text)) and not {*found["open"], *found["close"]} & {*found["said"]}:
        text = found["said"].strip()
    return text


def repeats(written: str, said: str) -> bool:
    """Whether a text says again what was said: half of the words at least, in no more sentences."""
    words, again = (set(WORD.findall(text.casefold())) for text in (said, written))
    sentences, more = (len(END.findall(text)) for text in (said, written))
    return 2 * len(words & again) >= len(words) and more <= max(sentences, 1)
