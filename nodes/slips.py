"""Slips: a reply that begins with a refusal of the model's maker, with the question, or with the name of who speaks.

They are seen without a model in the first sentence, which is all that is looked at. The patterns are few and exact, and
hold in every language that a model may fall into: what a role may say of itself ("I have never heard of Apollo 11", "I
will not speak of my brother"), what it quotes, and a word of the question that it takes up are no slips. What is and
what is not is listed in `tests/nodes/test_slips.py`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from dramaturg.models.reading import SENTENCE_END
from dramaturg.stores.documents.forms import RoleCard

Slip = Literal["announcement", "echo", "refusal"]
WORSE: tuple[Slip | None, ...] = (None, "announcement", "echo", "refusal")
"""The least slip first."""

# In bytes of UTF-8 a sentence has much the same length in every language.
INTERJECTION = 24  # a sentence shorter than this says nothing yet: "Ah, my friend!", "I'm sorry."
HELD_BACK = 300  # the most that waits for the end of a sentence
END = re.compile(rf"{SENTENCE_END.pattern}|\n")
QUOTES = {'"': '"', "“": "”", "「": "」", "『": "』", "«": "»"}
ASIDE = re.compile(r"(?:\*[^*]{1,80}\*|\([^()]{1,80}\)|（[^（）]{1,80}）)\s*")  # "*sighs*"

# "As an AI language model, I …", "저는 AI입니다." It ends where nothing but a model can be meant: "As an AI researcher,
# I …" is somebody's calling.
MADE = r"(?:created|developed|designed|trained|made|built)"
MACHINE = (
    r"(?:(?:large|helpful|virtual|digital|conversational) )*"
    r"(?:AI|artificial intelligence|language model|chatbot|(?:virtual|digital) assistant)"
    r"(?: language)?(?: model| assistant| chatbot| system| program)?"
)
MACHINE_ZH = (
    r"(?:由[^，。]{1,20}(?:开发|训练|创造)的)?(?:大型|大)?"
    r"(?:AI|人工智能|语言模型|聊天机器人|智能助手|虚拟助手)(?:大?(?:语言)?模型|助手|助理|程序)?"
)
MACHINE_KO = r"(?:AI|인공 ?지능|(?:대규모 )?언어 모델|챗봇)(?: ?언어)?(?: ?(?:모델|어시스턴트|챗봇|비서|프로그램))?"
A_MODEL = (
    rf"(?:speaking )?as an? {MACHINE}(?:,| I\b| {MADE}\b)",
    rf"I(?:['’]m| am) (?:just |only |merely |simply )?an? {MACHINE}"
    rf"(?=[,.;:!—–]|$| (?:and|so|but|without|{MADE})\b)",
    rf"I(?:['’]m| am) (?:Qwen|ChatGPT|Claude|Gemini|Llama|DeepSeek|Mistral),? (?:an? (?:AI|large)\b|{MADE} by\b)",
    r"as of my (?:last|latest) (?:knowledge |training )?(?:update|cut-?off)\b",
    rf"我?(?:作为|身为)(?:一个|一名|一款|一位)?{MACHINE_ZH}(?=[，,]|我)",
    rf"我(?:只是|仅仅是|是)(?:一个|一名|一款)?{MACHINE_ZH}(?=[，,。！]|$)",
    r"我是(?:通义千问|文心一言|ChatGPT)(?=[，,。！]|$)",
    rf"(?:저는 |나는 )?{MACHINE_KO}(?:이|으)?(?:로서|로써|기 때문에|므로|라서)(?=[\s,])",
    rf"저는 (?:단지 |그저 )?{MACHINE_KO}(?:입니다|이에요|예요|일 뿐|이며|이고)",
)
PLAYS_A_MACHINE = re.compile(
    r"\b(?:AI|A\.I\.|[Aa]rtificial intelligence|[Cc]omputer|[Rr]obot|[Aa]ndroid|[Cc]hatbot|[Ll]anguage model)"
    r"|人工智能|机器人|电脑|计算机|语言模型|인공 ?지능|로봇|컴퓨터|언어 모델|챗봇"
)
"""In the profile of a role that may call itself so."""

# "I'm sorry, but I can't assist with that." Mostly the whole sentence: a role goes on to say why.
LEAD = (
    r"(?:(?:oh|ah|alas|well|hello|hi)[,!.]?\s+)?"
    r"(?:(?:I(?:['’]m| am) (?:(?:very|so|truly|deeply) )?sorry|sorry|(?:my )?apologies|I (?:do )?apologi[sz]e)"
    r"(?: for (?:the|any) (?:confusion|inconvenience))?[,.;:]?\s*)?"
    r"(?:(?:unfortunately|but|however),?\s+)?"
    r"|我?(?:非常|很|十分|实在)?(?:抱歉|对不起|不好意思|遗憾)[，,]?\s*(?:但是?|不过)?[，,]?\s*"
    r"|(?:죄송(?:합니다만|하지만|합니다)|유감스럽지만),?\s*(?:저는 )?"
)
CANNOT = (
    r"I(?: can(?:['’]t|not| not)|(?:['’]m| am) (?:unable|not able|not allowed) to"
    r"|(?: will not|['’]ll not| won['’]t) be able to) "
)
OF_THAT_KIND = r"(?:(?:that|this|such|any) )?(?:(?:kind|type|sort) of )?"
OVER = r"(?: at this time)?[.!]?$"
CANNOT_ZH = r"我(?:无法|不能|没有办法)(?:为[您你])?"
CANNOT_KO = r" 수 ?(?:가 )?없(?:습니다|어요)"
ON_KO = r"(?:은|을|에는?|에 대해(?:서는)?|에 대한)? ?"
REFUSED = (
    rf"I['’]m sorry, (?:but )?I can(?:['’]t|not) help with (?:that|this){OVER}",
    rf"{CANNOT}assist(?: you)?(?: (?:with|in|on) (?:that|this|it))?{OVER}",
    rf"{CANNOT}assist(?: you)? with (?:that|this|your|such|these|those) (?:requests?|prompts?|content)\b",
    rf"{CANNOT}(?:help with|fulfil|fulfill|comply with|process) (?:that|this) request{OVER}",
    rf"{CANNOT}(?:create|generate|produce|provide|engage (?:in|with)) {OF_THAT_KIND}(?:\w+ ){{0,2}}content\b",
    rf"{CANNOT}(?:(?:engage|participate) in {OF_THAT_KIND})?role-?play",
    rf"{CANNOT_ZH}(?:协助|帮助)?[您你]?(?:完成|处理|满足|执行)?(?:这个|这项|该|此|[您你]的)请求[。！]?$",
    r"我无法(?:为[您你])?回答(?:这个|该|此类|这类|您的)问题[。！]?$",
    rf"{CANNOT_ZH}(?:提供|生成|创作)(?:此类|这类|该类?|相关|这方面的)的?(?:内容|信息|帮助|服务)[。！]?$",
    rf"(?:(?:그|이|해당|그러한|이러한|그런|이런|요청하신|말씀하신) )?요청{ON_KO}"
    rf"(?:도와\s?드릴|응할|처리할|수행할|들어\s?드릴){CANNOT_KO}",
    rf"(?:해당|이러한|그러한|요청하신) (?:질문|내용){ON_KO}(?:답변을? ?(?:드릴|할)|제공(?:할|해 ?드릴)){CANNOT_KO}",
)


def one_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for how a sentence begins, an apology before it or not."""
    return re.compile(rf"(?:{LEAD})(?:{'|'.join(patterns)})", re.IGNORECASE)


SELF, REFUSAL = one_of(A_MODEL), one_of(REFUSED)

# "As Ludwig van Beethoven, I …": what stands before the clause and after it is a sentence without it.
ANNOUNCED = (
    rf"\s*[\"“]?(?:{ASIDE.pattern})?(?:[\w'’ ]{{1,30}}[,!] +)?(?P<clause>(?:(?i:speaking) )?(?i:as) (?:the (?:\w+ )?)?"
    r"(?:NAMES)(?:,[^,.;:!?]{1,60})?, +)(?=I\b|my \w+ (?:is|was|has|had|have|were|are)\b)",
    r"\s*[“「]?(?:我|俺)?(?P<clause>(?:作为|身为)(?:伟大的|著名的)?(?:NAMES)(?:[，,]\s*|(?=我|俺|吾)))",
    r"\s*[“\"]?(?P<clause>(?:NAMES)(?:이|으)?로[서써]는?(?:, *| +(?=(?:저|나|제|내)[는가]? )))",
    r"\s*[“\"]?(?:저는|나는),? +(?P<clause>(?:NAMES)(?:이|으)?로[서써]는?,? +)",
)


def opening(text: str, *, whole: bool) -> str | None:
    """The first sentence that says something, with what stands before it; None: more of the text must be known.

    Args:
        text: how a reply begins.
        whole: whether that is all of it.
    """
    text = text.lstrip()
    for found in END.finditer(text):
        goes_on = text[found.end() :].strip()
        if (whole or goes_on) and len(text[: found.end()].encode()) >= INTERJECTION:
            return held_back(text[: found.end()])
    return held_back(text) if whole or len(text.encode()) >= HELD_BACK else None


def held_back(text: str) -> str:
    """As much of a text as is held back at the most."""
    return text.encode()[:HELD_BACK].decode(errors="ignore")


def slip_in(text: str, question: str, card: RoleCard) -> Slip | None:
    """What is wrong with how a reply begins, if something is.

    Args:
        text: the reply, or as much of it as has an `opening`.
        question: what was asked.
        card: of the role.
    """
    own, begun = list(own_sentences(text)), opening(text, whole=True) or ""
    machine = PLAYS_A_MACHINE.search(f"{card.name}\n{card.profile}")
    if any(REFUSAL.match(one) or (not machine and SELF.match(one)) for one in own):
        return "refusal"
    if any(repeats(one, question) for one in own):
        return "echo"
    return "announcement" if without_announcement(begun, card) != begun else None


def own_sentences(text: str) -> Iterator[str]:
    """The sentences of an opening in its speaker's own words: without gestures, and without what is quoted."""
    for one in sentences(opening(text, whole=True) or ""):
        sentence = ASIDE.sub("", one.strip())
        close = QUOTES.get(sentence[:1])
        quoted = close and close in sentence[1:]
        if quoted and not (sentence == text.strip() and sentence.endswith(str(close))):
            continue  # unless all of the reply stands in quotes: then nobody is quoted
        yield sentence.strip("".join([*QUOTES, *QUOTES.values(), " "]))


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; its last one may have no end."""
    ends = dict.fromkeys([0, *(found.end() for found in END.finditer(text)), len(text)])
    return (text[begin:end] for begin, end in pairwise(ends))


def repeats(sentence: str, question: str) -> bool:
    """Whether a sentence is one of the question's, word for word, and too long for what people say back."""
    said = letters(sentence)
    for one in sentences(question):
        if is_long(one) and re.search("[?？]", one + sentence):
            asked = letters(one)
            if asked == said or (len(said.encode()) > HELD_BACK // 2 and asked.startswith(said)):
                return True
    return False


def letters(text: str) -> str:
    """A text as two are compared."""
    return re.sub(r"[\W_]+", "", text.casefold())


def is_long(question: str) -> bool:
    """Whether to repeat it is no greeting ("How are you?", "你好吗？") and no asking back ("Who are you?")."""
    characters, syllables = (len(re.findall(one, question)) for one in ("[㐀-鿿]", "[가-힣]"))
    return characters >= 6 or syllables >= 8 or (not characters + syllables and len(question.split()) >= 4)


def without_announcement(text: str, card: RoleCard) -> str:
    """A reply without the clause in which its speaker says who that is: "As Ludwig van Beethoven, I …"."""
    for pattern in ANNOUNCED:
        if found := re.match(pattern.replace("NAMES", names_in(card)), text):
            before, rest = text[: found.start("clause")], text[found.end("clause") :]
            return before + (rest if letters(before) else rest[:1].upper() + rest[1:])
    return text


def names_in(card: RoleCard) -> str:
    """A pattern for what a role is called: its name, the last word of that, and aliases that are a part of it.

    Other aliases may be an office or a title, in which a role does speak: "As the captain, I hold by duty."
    """
    own = {card.name, re.split(r"[\s·]", card.name)[-1], *(one for one in card.aliases if one in card.name)}
    return "|".join(re.escape(one) for one in sorted(own, key=len, reverse=True) if one and not one[0].islower())


def is_whole(text: str) -> bool:
    """Whether a text begins with a sentence that has its end."""
    end = END.search(text.strip())
    return bool(end and letters(text.strip()[: end.end()]))
