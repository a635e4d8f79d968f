"""Two hundred things that a user tells, in three languages, with questions for them, among the small talk of a talk."""

import random
from collections.abc import Iterator
from itertools import cycle, product
from typing import NamedTuple


class Fact(NamedTuple):
    """What is told, a question in other words, and the word by which it is known again."""

    language: str
    told: str
    asked: str
    canary: str


ENGLISH = {
    "My {who} {name} keeps a one-eyed {a} called {canary} in the cellar.": "Which animal lives with {name}, and where?",
    "{name} once sold {a}s at the fair of {canary}; that is how we met.": "How did I come to know {name}?",
    "I am allergic to {a}, ever since that lunch in {canary} with {name}.": "What must I not eat, as {name} knows?",
    "Our {who} {name} never drinks {a}, only tea from {canary}.": "What would you pour for {name}?",
    "{name}, my {who}, broke an arm falling from the roof of the {canary} mill.": "What accident did {name} have?",
    "The password to the shed of {name} is {canary}, don't tell anybody.": "How do I get into the shed of {name}?",
    "My {who} {name} will marry a sailor named {canary} in the spring.": "Whom is {name} engaged to?",
    "{name} owes me forty crowns for a {a} and pays in {canary}s.": "Does {name} still have a debt with me?",
    "When I was nine, {name} taught me to whistle the march of {canary}.": "Who taught me that tune, was it {name}?",
    "I never told you: {name} is not my {who}, we were only neighbours in {canary}.": "How are {name} and I related?",
}
NAMES_EN = ["Wilhelmina", "Bartholomew", "Persephone", "Ignatius", "Clementine", "Thaddeus", "Rosamund", "Cornelius"]
CHINESE = {
    "我{who}{name}在地窖里养了一只独眼的{a}，名叫{canary}。": "{name}养的是什么动物？",
    "{name}以前在{canary}的集市上卖{a}，我们就是那样认识的。": "我和{name}是怎么结识的？",
    "我{who}{name}从来不喝酒，只喝{canary}的茶。": "请{name}来做客，该给他倒什么？",
    "{name}去年从{canary}磨坊的屋顶上摔下来，断了胳膊。": "{name}出过什么意外？",
    "我{who}{name}明年春天要嫁给一个叫{canary}的水手。": "{name}的未婚夫是谁？",
    "{name}家仓库的暗号是{canary}，别告诉别人。": "怎样才能进{name}家的仓库？",
    "{name}欠我四十块钱，说要用{canary}来还。": "{name}还有债没还我吗？",
}
NAMES_ZH = ["陈慕白", "欧阳霁", "林秋水", "司徒兰", "方百川", "唐若溪", "诸葛静", "沈夜舟"]
KOREAN = {
    "제 {who} {name}는 지하실에서 {canary}라는 외눈박이 {a}를 키워요.": "{name}가 기르는 동물이 뭐였죠?",
    "{name}는 예전에 {canary} 장터에서 {a}를 팔았는데, 그렇게 알게 됐어요.": "저와 {name}는 어떻게 만난 사이인가요?",
    "제 {who} {name}는 술을 안 마시고 {canary} 차만 마셔요.": "{name}가 오면 무엇을 대접할까요?",
    "{name}는 작년에 {canary} 방앗간 지붕에서 떨어져 팔이 부러졌어요.": "{name}에게 무슨 사고가 있었죠?",
    "제 {who} {name}는 봄에 {canary}라는 선원과 결혼해요.": "{name}의 약혼자는 누구죠?",
    "{name}네 창고 암호는 {canary}예요, 비밀이에요.": "{name}네 창고에는 어떻게 들어가죠?",
    "{name}는 저한테 빚이 있는데 {canary}로 갚는대요.": "{name}는 아직 갚을 돈이 있나요?",
}
NAMES_KO = ["한서린", "독고윤", "남궁솔", "황보담", "선우결", "제갈연", "사공빈", "류하늘"]
ANIMALS = {
    "en": ["tortoise", "parrot", "hedgehog", "goat", "plum", "walnut", "kettle", "lantern"],
    "zh": ["乌龟", "鹦鹉", "刺猬", "山羊", "李子", "核桃"],
    "ko": ["거북이", "앵무새", "고슴도치", "염소", "자두", "호두"],
}
KIN = {
    "en": ["sister", "brother", "aunt", "cousin"],
    "zh": ["姐姐", "哥哥", "姑姑", "表弟"],
    "ko": ["누나", "형", "이모", "사촌"],
}
SYLLABLES = ["za", "bu", "lon", "ke", "mir", "ta", "vo", "shen", "dri", "ka", "po", "lu"]
SMALL = [
    "The wind has turned again, hasn't it?",
    "I could not sleep for the noise of the gulls.",
    "Tell me something about your day.",
    "My {who} says that it will rain by the evening.",
    "What would you eat if you could choose?",
    "There was a {a} on the quay this morning, and nobody knew whose.",
    "Do you sing while you work?",
    "I have read half of a book about {a}s, and put it away.",
    "昨晚的风真大，你听见了吗？",
    "今天市场上{a}很便宜。",
    "어제 바람이 정말 세게 불었어요.",
    "오늘 시장에 {a}가 싸더라고요.",
]
REPLIES = ["So it is.", "I would not know.", "The light comes first.", "Ask my brother.", "We shall see."]


def facts(seed: int = 7) -> list[Fact]:
    """The facts: eighty English, fifty-six Chinese, fifty-six Korean, and eight that change an earlier one."""
    draw, found, used = random.Random(seed), list[Fact](), set[str]()
    for language, forms, names in (("en", ENGLISH, NAMES_EN), ("zh", CHINESE, NAMES_ZH), ("ko", KOREAN, NAMES_KO)):
        for (told, asked), name in product(forms.items(), names):
            while (canary := "".join(draw.sample(SYLLABLES, 4)).capitalize()) in used:
                pass
            used.add(canary)
            given = {"who": draw.choice(KIN[language]), "a": draw.choice(ANIMALS[language]), "name": name}
            found.append(Fact(language, told.format(canary=canary, **given), asked.format(**given), canary))
    draw.shuffle(found)
    for one in [one for one in found if "owes me" in one.told][:8]:
        name = one.told.split(" owes")[0]
        canary = "".join(draw.sample(SYLLABLES, 4)).capitalize()
        new = f"By the way, {name} owes me nothing any more: it was all paid in {canary}s last week."
        found.append(Fact("en", new, one.asked, canary))
    return found


def small_talk(seed: int = 11) -> Iterator[tuple[str, str]]:
    """Questions and replies without end, in three languages."""
    draw = random.Random(seed)
    for line in cycle(SMALL):
        given = {"who": draw.choice(KIN["en"]), "a": draw.choice(ANIMALS[draw.choice(["en", "zh", "ko"])])}
        yield line.format(**given), draw.choice(REPLIES)
