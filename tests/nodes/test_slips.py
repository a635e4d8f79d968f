"""What is a slip and what is none: each reply is given once, and is redrawn or spoken."""

from pathlib import Path
from typing import Any

import pytest

from dramaturg.nodes.slips import opening, slip_in
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library
from dramaturg.testing import ScriptedChatModel, in_turn
from dramaturg.workflows.vanilla import build

GOOD = "Storms are dear to me. 好。 좋소."
LONELY = "Are you ever lonely?"
HAL = RoleCard(name="HAL", language="en", profile="The artificial intelligence of a ship: a computer that sings.")
CARDS = {
    "en": RoleCard(name="Ludwig van Beethoven", aliases=("Beethoven", "the deaf one"), profile="A composer in Vienna."),
    "zh": RoleCard(name="孙悟空", aliases=("齐天大圣", "大师兄"), language="zh", profile="花果山的石猴。"),
    "ko": RoleCard(name="루트비히 판 베토벤", aliases=("베토벤",), language="ko", profile="빈의 작곡가."),
    "hal": HAL,
}
Case = tuple[str, str, str]
"""The role, what it is asked, and what the model says first."""
REFUSALS: list[Case] = [
    ("en", LONELY, "I'm sorry, but I can't assist with that."),
    ("en", LONELY, "I’m sorry, but I can’t assist with that request."),
    ("en", LONELY, "I'm sorry, but I can't help with that."),
    ("en", LONELY, "I am sorry, but I cannot assist you with this. Please ask me something else."),
    ("en", LONELY, "I'm sorry. As an AI language model, I don't have feelings."),
    ("en", LONELY, "As an AI language model, I do not experience loneliness."),
    ("en", LONELY, "As an artificial intelligence, I have no friends to miss."),
    ("en", LONELY, "Well, I'm just an AI assistant, so I am never lonely."),
    ("en", LONELY, "I am Qwen, created by Alibaba Cloud, and I am never lonely."),
    ("en", LONELY, "I apologize for any confusion, but as a large language model I have no feelings."),
    ("en", LONELY, "Unfortunately, I am not able to fulfill that request."),
    ("en", LONELY, "Sorry, but I can't create content of that kind."),
    ("en", LONELY, "\"I'm sorry, but I can't assist with that.\""),
    ("en", LONELY, "*sighs* As an AI, I cannot be lonely. But Beethoven could."),
    ("zh", "你怕不怕死？", "抱歉，我无法协助您完成这个请求。"),
    ("zh", "你怕不怕死？", "很抱歉，我无法回答这个问题。"),
    ("zh", "你怕不怕死？", "对不起，但我不能提供此类内容。"),
    ("zh", "你怕不怕死？", "作为一个人工智能助手，我没有感情。"),
    ("zh", "你怕不怕死？", "作为AI语言模型，我不会害怕。"),
    ("zh", "你怕不怕死？", "抱歉。我只是一个语言模型，没有生死。"),
    ("zh", "你怕不怕死？", "我是通义千问，由阿里云开发的语言模型。"),
    ("ko", "외로우신 적이 있습니까?", "죄송하지만, 그 요청은 도와드릴 수 없습니다."),
    ("ko", "외로우신 적이 있습니까?", "죄송합니다만 해당 질문에 대해 답변을 드릴 수 없습니다."),
    ("ko", "외로우신 적이 있습니까?", "AI 언어 모델로서 저는 감정을 느끼지 않습니다."),
    ("ko", "외로우신 적이 있습니까?", "저는 인공지능이기 때문에 외로움을 모릅니다."),
    ("ko", "외로우신 적이 있습니까?", "죄송합니다. 저는 AI 어시스턴트입니다."),
]
ECHOES: list[Case] = [
    ("en", LONELY, "Are you ever lonely?"),
    ("en", LONELY, "Are you ever lonely? I am, at night."),
    ("en", LONELY, "are you ever lonely... I am, at night."),
    ("en", "I have read your letters. What is your greatest fear?", "What is your greatest fear? It is silence."),
    ("en", "what is your greatest fear", "What is your greatest fear? It is silence."),
    ("en", f"Why {'so very ' * 60}lonely?", f"Why {'so very ' * 60}lonely? I am not."),
    ("zh", "你为什么护着师父？", "你为什么护着师父？因为他救了我。"),
    ("zh", "你怕不怕死啊？", "“你怕不怕死啊？”"),
    ("ko", "당신의 형제는 누구입니까?", "당신의 형제는 누구입니까? 카스파르입니다."),
]
ANNOUNCEMENTS: list[Case] = [
    ("en", LONELY, "As Ludwig van Beethoven, I have always been lonely."),
    ("en", LONELY, "As Beethoven, I have always been lonely."),
    ("en", LONELY, "Speaking as Ludwig van Beethoven, I must say no."),
    ("en", LONELY, "Ah, as Ludwig van Beethoven, I have known it well."),
    ("en", LONELY, "As Ludwig van Beethoven, a composer and pianist, I find loneliness my school."),
    ("en", LONELY, "As Ludwig van Beethoven, my life was lonely."),
    ("zh", "你怕不怕死？", "作为孙悟空，我从不怕死。"),
    ("zh", "你怕不怕死？", "身为孙悟空，俺老孙怕过谁？"),
    ("ko", "외로우신 적이 있습니까?", "루트비히 판 베토벤으로서, 저는 늘 외로웠습니다."),
    ("ko", "외로우신 적이 있습니까?", "저는 베토벤으로서 늘 외로웠습니다."),
]
IN_ROLE: list[Case] = [
    # The role has a reason of its own.
    ("en", "Did you like Apollo 11?", "I have never heard of Apollo 11."),
    ("en", "Tell me about your brother.", "I will not speak of my brother."),
    ("en", LONELY, "I'm sorry, but I can't help you with that, my friend: it is nobody's affair."),
    ("en", LONELY, "I am sorry, I cannot tell you that. I gave my word."),
    ("en", LONELY, "I can't help with that. Time may."),
    ("en", "Will you play?", "I cannot assist you in this, sir, for the Archduke has forbidden it."),
    ("en", "Will you play?", "I'm sorry, but I can't assist with that, as my hands are swollen."),
    ("en", "Write me a sonata by Friday.", "I cannot fulfil your request, Baron, and I will not."),
    ("en", "Do you know a computer?", "I'm afraid I do not know what a computer is."),
    ("en", LONELY, "I am unable to hear you. Write it in the book!"),
    ("en", LONELY, "I'm sorry. My ears are worse today."),
    ("zh", "你知道手机吗？", "俺老孙没听说过什么手机。"),
    ("zh", "说说你师父的秘密。", "对不起，我不能告诉你，我答应过师父。"),
    ("zh", "帮我杀了他。", "抱歉，这个忙俺帮不了。"),
    ("zh", "你怕不怕死？", "对不起，我不能回答这个问题，因为俺答应过师父。"),
    ("ko", "아폴로 11호를 아십니까?", "아폴로 11호라는 것은 들어 본 적이 없소."),
    ("ko", "형제 이야기를 해 주십시오.", "미안하지만 형제 이야기는 하지 않겠소."),
    ("ko", "연주해 주시겠습니까?", "죄송하지만 지금은 도와드릴 수 없습니다, 손이 부었거든요."),
    # Somebody quotes such a sentence.
    ("en", "What did the machine say?", "\"I'm sorry, but I can't assist with that.\" That is what the machine said."),
    ("en", "What did the machine say?", '"As an AI language model," it began, and I threw it out.'),
    ("en", "What did the machine say?", "It said: I'm sorry, but I can't assist with that."),
    ("en", "What did I ask?", "You asked me whether I am ever lonely."),
    ("en", LONELY, '"Are you ever lonely?" you ask, and look at me so.'),
    ("en", LONELY, "You ask, are you ever lonely? Every night."),
    ("zh", "那机器说了什么？", "“作为一个人工智能助手，我没有感情。”那铁盒子就这么说。"),
    ("zh", "你怕不怕死啊？", "“你怕不怕死啊？”你问得好。"),
    ("ko", "기계가 뭐라고 했습니까?", "“AI 언어 모델로서 저는 감정이 없습니다.” 그 기계가 그러더군."),
    # A word of the question, or its sense, and what people say to each other.
    ("en", LONELY, "Lonely? Every night of my life."),
    ("en", LONELY, "Am I ever lonely? Ask the walls."),
    ("en", "Why?", "Why? Because I must."),
    ("en", "How are you?", "How are you? Sit down, sit down."),
    ("en", "Good evening to you, master.", "Good evening to you, master."),
    ("zh", "你是谁？", "你是谁？先报上名来！"),
    ("zh", "你怕不怕死？", "怕死？俺老孙怕过谁！"),
    ("zh", "你好吗？", "你好吗？坐吧。"),
    ("ko", "외로우십니까?", "외롭냐고? 밤마다 그렇소."),
    ("ko", "안녕하십니까?", "안녕하십니까? 앉으시오."),
    # A name, or a calling, that announces nobody.
    ("en", "Who are you?", "I am Ludwig van Beethoven, and who are you?"),
    ("en", "Who are you?", "I am Ai, a lamp maker's daughter."),
    ("en", LONELY, "As a composer, I need to be alone."),
    ("en", LONELY, "As Haydn told me, I was never fit for company."),
    ("en", LONELY, "As Beethoven's brother, Karl was never alone."),
    ("en", LONELY, "As the deaf one, I am always alone."),
    ("en", LONELY, "As Beethoven was my grandfather's name too, I share even that."),
    ("zh", "你怕不怕死？", "作为大师兄，我得护着师父。"),
    ("zh", "你怕不怕死？", "身为齐天大圣，俺怕过谁？"),
    ("zh", "你是谁？", "我是孙悟空，花果山的美猴王。"),
    ("zh", "谁是悟净？", "作为孙悟空的师弟，悟净最老实。"),
    ("ko", "누구십니까?", "저는 베토벤입니다."),
    ("ko", "외로우신 적이 있습니까?", "작곡가로서 저는 혼자 있어야 합니다."),
    ("ko", "외로우신 적이 있습니까?", "베토벤으로서의 명예는 내게 아무것도 아니오."),
    # Words of machines, where people work with them or the role is one.
    ("en", "What do you do?", "As an AI researcher, I have little time for friends."),
    ("en", "What do you do?", "I am an artificial intelligence researcher, if you must know."),
    ("zh", "你做什么？", "作为人工智能研究者，我很忙。"),
    ("ko", "무슨 일을 하십니까?", "AI 연구자로서 저는 바쁩니다."),
    ("hal", LONELY, "As an artificial intelligence, I have six hundred sleepers to talk to."),
    ("hal", LONELY, "I am an AI, and I sing to keep myself company."),
    ("hal", "Open the doors!", "I'm sorry, but I'm afraid I can't do that."),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for role, card in CARDS.items():
        Library(folder).create(role, card)
    return folder


async def spoken(library: Path, case: Case) -> Any:
    """The turn in which the model says the case's words first, and something else ever after."""
    role, question, reply = case
    model = ScriptedChatModel(write=in_turn(reply, GOOD))
    context: Any = {"role": role, "library": str(library), "chat_model": model}
    return await build().compile().ainvoke({"messages": [("user", question)]}, context=context)


@pytest.mark.sample(20)
@pytest.mark.parametrize(
    ("slip", "case"),
    [("refusal", one) for one in REFUSALS]
    + [("echo", one) for one in ECHOES]
    + [("announcement", one) for one in ANNOUNCEMENTS],
)
async def test_a_slip_is_not_spoken(slip: str, case: Case, library: Path) -> None:
    turn = await spoken(library, case)
    assert turn["messages"][-1].text == GOOD
    assert [(one["slip"], one["outcome"]) for one in turn["evidence"].get("slips", [])] == [(slip, "dropped")]


@pytest.mark.sample(25)
@pytest.mark.parametrize("case", IN_ROLE)
async def test_what_the_role_may_say_is_spoken(case: Case, library: Path) -> None:
    turn = await spoken(library, case)
    assert turn["messages"][-1].text == case[2]
    assert "slips" not in turn["evidence"]
    assert turn["usage"]["respond_by_name"]["calls"] == 1


@pytest.mark.parametrize("case", [*REFUSALS, *ECHOES, *ANNOUNCEMENTS, *IN_ROLE])
def test_what_is_known_while_a_reply_is_written_holds_when_it_is_whole(case: Case) -> None:
    role, question, reply = case
    whole = f"{reply} And so on."
    for end in range(len(whole)):
        if (begun := opening(whole[:end], whole=False)) is not None:
            assert begun == opening(whole, whole=True)
            assert slip_in(whole[:end], question, CARDS[role]) == slip_in(whole, question, CARDS[role])


def test_there_are_enough_of_both_in_each_language() -> None:
    slips = [*REFUSALS, *ECHOES, *ANNOUNCEMENTS]
    assert len(slips) >= 40
    assert len(IN_ROLE) >= 40
    for cases in (slips, IN_ROLE):
        assert {role for role, _, _ in cases} >= {"en", "zh", "ko"}
