"""The methods in plain words, for who chooses among them: what each does, and how often a turn asks the model."""

from collections.abc import Mapping
from typing import NamedTuple

from dramaturg.stores.documents.forms import Language


class About(NamedTuple):
    """What is said of a method."""

    title: str
    """The name that its paper gives it."""
    questions: tuple[int, int]
    """How many a turn asks the model as a rule: at least, and where it refers to what was said before."""
    does: Mapping[Language, str]


COST: Mapping[Language, str] = {
    "en": "{does} A turn asks the model {low} to {high} questions.",
    "zh": "{does}每轮向模型提问 {low} 到 {high} 次。",
    "ko": "{does} 한 차례에 모델에게 {low}~{high}번 묻습니다.",
}

ABOUT: Mapping[str, About] = {
    "amadeus": About(
        "AMADEUS",
        (6, 7),
        {
            "en": "Finds the passages of the character's documents that answer you, and what they show of its nature.",
            "zh": "从角色的文档中找出能回答你的段落，以及这些段落体现的性格。",
            "ko": "캐릭터의 문서에서 당신에게 답이 되는 대목과 거기에 드러난 성격을 찾습니다.",
        },
    ),
    "role-rag": About(
        "RoleRAG",
        (3, 4),
        {
            "en": "Looks up the people and things you mention in a graph of the character's world, and says when it "
            "cannot know them.",
            "zh": "在角色世界的图谱中查找你提到的人和事，角色不可能知道的就直说不知道。",
            "ko": "당신이 말하는 사람과 사물을 캐릭터 세계의 그래프에서 찾고, 알 수 없는 것은 모른다고 말합니다.",
        },
    ),
    "emotional-rag": About(
        "Emotional RAG",
        (3, 4),
        {
            "en": "Recalls memories that fit both what you say and the mood of it.",
            "zh": "回忆起既符合你的话、又符合其中情绪的记忆。",
            "ko": "당신의 말과 그 말의 기분에 모두 맞는 기억을 떠올립니다.",
        },
    ),
    "drmr": About(
        "DRMR",
        (2, 4),
        {
            "en": "Recalls how the character stands to the people you mention, writes a draft, and checks it first.",
            "zh": "回忆角色与你提到的人的关系，先写草稿，检查之后再回复。",
            "ko": "당신이 말하는 사람들과의 관계를 떠올려 초안을 쓰고, 먼저 확인한 뒤 답합니다.",
        },
    ),
    "id-rag": About(
        "ID-RAG",
        (3, 4),
        {
            "en": "Acts on what the character believes and wants, and checks each statement against that.",
            "zh": "按角色的信念和愿望行事，并据此逐句核对。",
            "ko": "캐릭터가 믿고 바라는 것에 따라 행동하고, 문장마다 그에 맞는지 확인합니다.",
        },
    ),
    "ensemble": About(
        "Ensemble",
        (13, 16),
        {
            "en": "All five at once: everything is looked up, and a reply must pass two checks before you see it.",
            "zh": "五种方法同时使用：全部查找，回复要通过两道检查才会显示。",
            "ko": "다섯 방법을 한꺼번에 씁니다. 모두 찾아본 뒤, 두 번의 확인을 통과한 답만 보여 줍니다.",
        },
    ),
}


def line_of(method: str, language: Language) -> str:
    """What a method does and costs, in a sentence or two; empty: it is not one of these."""
    if (about := ABOUT.get(method)) is None:
        return ""
    low, high = about.questions
    return COST[language].format(does=about.does[language], low=low, high=high)
