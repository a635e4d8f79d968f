"""The words in which a role says why it speaks as it does: in English, Chinese and Korean, as its prompts are."""

from collections.abc import Mapping

from dramaturg.prompts import LANGUAGES, filled

SENTENCES: Mapping[str, tuple[str, str, str]] = {
    "came back": (
        "Recalled from earlier messages: $count.",
        "先前说过的话中，想起了 $count 处。",
        "전에 나눈 말 가운데 $count개가 떠올랐다.",
    ),
    "said before": ("Said before$when: $text", "先前说过$when：$text", "전에 나눈 말$when: $text"),
    "hypothetical": (
        "Hypothetical answer: $text",
        "回答可能会谈到：$text",
        "대답에서 다룰 만한 것: $text",
    ),
    "read": ("Read$score in $where: $text", "读到$score$where：$text", "읽음$score · $where: $text"),
    "found": ("Found $count passages.", "找到了 $count 个段落。", "대목 $count개를 찾았다."),
    "judged": (
        "Judged $count passages: $kept help to answer.",
        "判断了 $count 个段落：其中 $kept 个有助于回答。",
        "대목 $count개를 판단했다: $kept개가 대답에 도움이 된다.",
    ),
    "fallback": (
        "None was kept, so $rule is the fallback.",
        "判断下来没有一个合用，便以 $rule 代替。",
        "판단으로 고른 것이 없어 $rule(으)로 대신한다.",
    ),
    "attribute": ("About me: $text", "所以关于我，这是真的：$text", "그러니 나에 대해 참인 것: $text"),
    "entity": (
        "$name is $type ($strategy)$reason",
        "$name：$type（$strategy）$reason",
        "$name: $type($strategy)$reason",
    ),
    "known": ("$name: $text", "$name：$text", "$name: $text"),
    "mood": (
        "The question feels like $moods.",
        "这个问题带着这样的情绪：$moods。",
        "이 질문에서 느껴지는 감정: $moods.",
    ),
    "remembered": ("Remembered$score: $text", "想起$score：$text", "떠오른 기억$score: $text"),
    "clique": (
        "People who all know each other: $names.",
        "在这里彼此都认识的人：$names。",
        "여기서 서로 모두 아는 사이: $names.",
    ),
    "strangers": ("The two have never spoken.", "两人从未交谈过。", "두 사람은 말을 나눈 적이 없다."),
    "pair": (
        "$one and $other stand at $score$reason",
        "$one与$other的关系：$score$reason",
        "$one과(와) $other의 관계: $score$reason",
    ),
    "said": ("Said once: $text", "曾经说过：$text", "예전에 나눈 말: $text"),
    "kept": ("Kept in mind: $text", "记在心里：$text", "마음에 둔 것: $text"),
    "identity": ("Who I am: $text", "我是谁：$text", "나는 누구인가: $text"),
    "gate": (
        "The gate says $verdict to $text$reason",
        "关卡对 $text 的裁定：$verdict$reason",
        "관문의 판정: $verdict · $text$reason",
    ),
    "draft": ("Draft $number scores $score.", "第 $number 稿得分 $score。", "초안 $number: $score점."),
    "thoughts": (
        "What the model thought: $text",
        "模型的思考：$text",
        "모델이 생각한 것: $text",
    ),
    "slip": (
        "An attempt was $outcome ($slip): $text",
        "有一个开头$outcome（$slip）：$text",
        "첫머리 하나를 $outcome($slip): $text",
    ),
    "others": (
        "Cut at the end, spoken for someone else: $text",
        "接着替别人说的话已略去：$text",
        "이어서 남의 말을 한 부분은 뺐다: $text",
    ),
    "reason": (": $text", "：$text", ": $text"),
    "score": (" ($score)", "（$score）", " ($score)"),
    "more": (", and $count more", "等，另有 $count 个", " 외 $count"),
    "between": (", ", "、", ", "),
}
TERMS: Mapping[str, tuple[str, str]] = {
    "character": ("人物", "인물"),
    "location": ("地点", "장소"),
    "organization": ("组织", "단체"),
    "event": ("事件", "사건"),
    "time": ("时间", "시간"),
    "object": ("物件", "사물"),
    "concept": ("概念", "개념"),
    "other": ("其他", "그 밖의 것"),
    "out of scope": ("不可能知道", "알 수 없음"),
    "specific": ("具体", "특정"),
    "general": ("一般", "일반"),
    "profile": ("自己的简介", "프로필"),
    "told": ("听人说的", "들은 것"),
    "joy": ("喜悦", "기쁨"),
    "acceptance": ("接纳", "수용"),
    "fear": ("恐惧", "두려움"),
    "surprise": ("惊讶", "놀람"),
    "sadness": ("悲伤", "슬픔"),
    "disgust": ("厌恶", "혐오"),
    "anger": ("愤怒", "분노"),
    "anticipation": ("期待", "기대"),
    "allow": ("允许", "허용"),
    "revise": ("修改", "수정"),
    "block": ("拦下", "차단"),
    "dropped": ("被舍弃", "버렸다"),
    "spoken": ("还是说了出来", "그대로 말했다"),
    "cut": ("被截去", "잘라 냈다"),
    "refusal": ("拒答", "거절"),
    "echo": ("重复问题", "질문의 되풀이"),
    "passages": ("段落", "대목"),
    "scope": ("知识范围", "지식의 범위"),
    "memories": ("回忆", "기억"),
    "relations": ("关系", "관계"),
    "identity": ("身份", "정체성"),
    "announcement": ("自报家门", "자기 이름 밝히기"),
}
"""What the mechanisms call a thing, in Chinese and Korean; in English it is called so."""


def sentence(name: str, language: str, /, **values: object) -> str:
    """A sentence in a language, its values filled in: "en" where it is none of the others."""
    at = LANGUAGES.index(language) if language in LANGUAGES else 0
    return filled(SENTENCES[name][at], values)


def term(word: object, language: str) -> str:
    """What a thing is called in a language; as it is, where there is no word for it."""
    known = TERMS.get(str(word))
    return known[LANGUAGES.index(language) - 1] if known and language in LANGUAGES[1:] else str(word)
