"""Why a reply is as it is, in one plain sentence: what it rests on, what the role cannot know, what was rejected."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal

from babel.dates import format_date
from babel.lists import format_list

from dramaturg.conversations.evidence import MECHANISMS, misfits
from dramaturg.stores.documents.forms import Language

NAMES = 3
"""Of more names, how many are told."""
Words = Mapping[str, str]
SAYS: Mapping[Language, Words] = {
    "en": {
        "rests": "Rests on {what}",
        "alone": "Rests on the character's profile and the conversation alone",
        "passages": "{n} passages of {names}",
        "passages_1": "a passage of {names}",
        "traits": "{n} traits of the character",
        "traits_1": "a trait of the character",
        "graph": "what the knowledge graph says of {names}",
        "memories": "{n} memories",
        "memories_1": "a memory",
        "scenes": "{n} scenes with {names}",
        "scenes_1": "a scene with {names}",
        "records": "{n} notes on how the two stand with each other",
        "records_1": "a note on how the two stand with each other",
        "identity": "{n} statements of who the character is",
        "identity_1": "a statement of who the character is",
        "said": "what was said before",
        "said_on": "what was said on {days}",
        "unknown": "{names} is beyond what the character knows",
        "unknown_many": "{names} are beyond what the character knows",
        "rejected": "{n} drafts were rejected",
        "rejected_1": "1 draft was rejected",
        "wish": "the wish was “{text}”",
        "more": "{names} and {n} more",
        "end": ".",
        "between": "; ",
    },
    "zh": {
        "rests": "依据：{what}",
        "alone": "只依据人物简介和当前对话",
        "passages": "{names}中的 {n} 段文字",
        "traits": "人物的 {n} 条特点",
        "graph": "知识图谱中关于{names}的内容",
        "memories": "{n} 条记忆",
        "scenes": "与{names}的 {n} 段对话",
        "records": "{n} 条关于双方关系的记录",
        "identity": "{n} 条关于人物身份的陈述",
        "said": "以前说过的话",
        "said_on": "{days}说过的话",
        "unknown": "{names}超出了人物的所知",
        "rejected": "有 {n} 份草稿被否决",
        "wish": "当时的要求是“{text}”",
        "more": "{names}等（另有 {n} 个）",
        "end": "。",
        "between": "；",
    },
    "ko": {
        "rests": "근거: {what}",
        "alone": "인물 소개와 지금 대화만을 근거로 함",
        "passages": "{names}의 글 {n}곳",
        "traits": "인물의 특징 {n}개",
        "graph": "지식 그래프에서 {names}에 관한 내용",
        "memories": "기억 {n}개",
        "scenes": "{names}와(과) 나눈 장면 {n}개",
        "records": "두 사람의 관계에 관한 기록 {n}개",
        "identity": "인물의 정체성에 관한 진술 {n}개",
        "said": "전에 한 말",
        "said_on": "{days}에 한 말",
        "unknown": "{names}은(는) 인물이 아는 범위 밖",
        "rejected": "초안 {n}개가 거절됨",
        "wish": "바람은 “{text}”",
        "more": "{names} 외 {n}개",
        "end": ".",
        "between": "; ",
    },
}
"""A key with `_1` is for one, with `_many` for several; where a language has none, the plain one holds."""


def why(evidence: Any, language: Language = "en") -> str:
    """Say in a sentence why a reply is as it is; empty where nothing is known of it.

    It says no more than the evidence does. What has another form than the package writes is left out, and so is what a
    flow of somebody's own adds, unless it is the evidence of a part.

    Args:
        evidence: of a turn, as `Conversation.take_turn` gives it.
        language: of the sentence.
    """
    if not isinstance(evidence, Mapping) or not evidence:
        return ""
    parts = [*forms_in(evidence)]
    says = Sentence(language)
    rests = [text for part in parts for text in grounds(part, says)]
    told = [says("rests", what=says.joined(dict.fromkeys(rests))) if rests else says("alone")]
    if unknown := [str(one.get("name")) for part in parts for one in out_of_scope(part)]:
        told.append(says.counted("unknown", len(unknown), names=says.named(unknown), of="many"))
    if rejected := sum(map(drafts_rejected, parts)):
        told.append(says.counted("rejected", rejected))
    told += dict.fromkeys(says("wish", text=" ".join(part["wish"].split())) for part in parts if part.get("wish"))
    return says("between").join(told) + says("end")


def forms_in(evidence: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What of the evidence has the package's forms, and that of its parts."""
    strange = misfits(evidence)
    yield {name: value for name, value in evidence.items() if name not in strange and value is not None}
    for name, value in evidence.items():
        if name not in MECHANISMS and isinstance(value, Mapping) and value.keys() & MECHANISMS:
            yield from forms_in(value)


class Sentence:
    """The words of a language."""

    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self.words = SAYS[language]

    def __call__(self, key: str, **values: Any) -> str:
        """Words with values in them."""
        return self.words[key].format(**values)

    def counted(self, key: str, n: int, *, of: Literal["1", "many"] = "1", **values: Any) -> str:
        """Words for a number of things."""
        special = f"{key}_{of}" if (n == 1) == (of == "1") else key
        return self.words.get(special, self.words[key]).format(n=n, **values)

    def joined(self, texts: Any) -> str:
        """A list in words."""
        return str(format_list([*texts], locale=self.language))

    def named(self, names: Sequence[str]) -> str:
        """Names, each once; of many, the first."""
        known = [*dict.fromkeys(" ".join(one.split()) for one in names if one.strip())]
        if len(known) > NAMES:
            return self("more", names=", ".join(known[: NAMES - 1]), n=len(known) - NAMES + 1)
        return self.joined(known)


def grounds(evidence: Mapping[str, Any], says: Sentence) -> Iterator[str]:
    """What a reply rests on, kind by kind."""
    passages = (evidence.get("selection") or {}).get("selected") or evidence.get("knowledge") or ()
    if passages:
        names = says.named([one["source"] for one in passages])
        yield says.counted("passages", len(passages), names=names)
    if traits := evidence.get("attributes"):
        yield says.counted("traits", len(traits))
    if entities := [one["entity"] for kind in ("specific", "general") for one in evidence.get(kind) or ()]:
        yield says("graph", names=says.named(entities))
    if memories := [*(evidence.get("memories") or ()), *(evidence.get("episodes") or ())]:
        yield says.counted("memories", len(memories))
    if scenes := evidence.get("dialogues"):
        role = (evidence.get("relations") or {}).get("role")
        others = [name for one in scenes for name in one.get("speakers") or () if name != role]
        yield says.counted("scenes", len(scenes), names=says.named(others or [role or "…"]))
    if records := [one for kind in ("records", "talk_records", "earlier_records") for one in evidence.get(kind) or ()]:
        yield says.counted("records", len(records))
    if triples := (evidence.get("identity") or {}).get("triples"):
        yield says.counted("identity", len(triples))
    if said := evidence.get("talk"):
        days = [day_in(one["when"], says.language) for one in said]
        yield says("said_on", days=says.named(days)) if all(days) else says("said")


def out_of_scope(evidence: Mapping[str, Any]) -> list[Any]:
    """What of the question the role cannot know (RoleRAG 3.4)."""
    return [one for one in evidence.get("entities") or () if one["strategy"] == "out of scope"]


def drafts_rejected(evidence: Mapping[str, Any]) -> int:
    """How many drafts a checker refused, or were no line of the role's."""
    drafts, passed = evidence.get("drafts") or (), (evidence.get("verification") or {}).get("passed")
    verified: int = len(drafts) - 1 if drafts and passed is not None else 0
    gated = sum(one.get("verdict") in ("revise", "block") for one in (evidence.get("gate") or {}).get("attempts") or ())
    dropped = sum(one["outcome"] == "dropped" for one in evidence.get("slips") or ())
    return int(verified + gated + dropped)


def day_in(when: str, language: Language) -> str:
    """A day in words; empty where none is told."""
    try:
        return str(format_date(date.fromisoformat(when[:10]), "d MMMM" if language == "en" else "MMMd", language))
    except ValueError:
        return ""
