"""The forms of evidence that the package's mechanisms write: what is read from a file or a thread may hold anything."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, Required

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

MECHANISMS = frozenset(
    (
        *("dialogues", "entities", "episodes", "identity", "knowledge", "memories", "not_heard"),
        *("relations", "retrieved", "selection", "slips", "talk", "wish"),
    )
)
"""By these names the evidence of a part is told from that of a mechanism."""
Number = Annotated[float, Field(ge=-1e12, le=1e12)]
Count = Annotated[int, Field(ge=-(10**12), le=10**12)]


class _Passage(TypedDict, total=False):
    text: Required[str]
    source: Required[str]
    headings: Required[list[str]]
    passage: str
    score: Number | None
    confidence: Number | None
    verdict: str


class _Verdict(TypedDict, total=False):
    passage: Required[str]
    certainty: Required[Number | None]


class _Selection(TypedDict, total=False):
    selected: Required[list[_Passage]]
    verdicts: Required[list[_Verdict]]
    judged: Required[Count]
    wasted: Required[Count]
    failed: Required[Count]
    fallback: Required[str | None]


class _Attribute(TypedDict, total=False):
    kind: Required[str]
    attribute: Required[str]
    passage: Required[str]


class _Slip(TypedDict, total=False):
    outcome: Required[Literal["dropped", "spoken", "cut", "ended"]]
    slip: Required[Literal["refusal", "echo", "announcement", "others"]]
    text: Required[str]
    error: str


class _Scoped(TypedDict, total=False):
    name: Required[str]
    type: Required[str]
    strategy: Required[str]
    certainty: Required[Number | None]
    reason: Required[str]


class _Asked(TypedDict, total=False):
    name: Required[str]
    stands: Required[bool]
    strength: Required[Number]


class _Relation(TypedDict, total=False):
    description: Required[str]
    strength: Required[Number]


class _Entity(TypedDict, total=False):
    entity: Required[str]
    description: Required[str]
    score: Required[Number | None]
    how: str | None
    relation: _Relation | None


class _Followed(TypedDict, total=False):
    source: Required[str]
    target: Required[str]
    strength: Required[Number]
    description: Required[str]


class _Sentence(TypedDict, total=False):
    source: Required[str]
    text: Required[str]
    score: Required[Number | None]


class _Felt(TypedDict, total=False):
    score: Annotated[int, Field(ge=0, le=100)] | None
    reason: str | None


class _Mood(TypedDict, total=False):
    emotions: dict[str, _Felt] | None
    encoder: str | None
    error: str | None


class _Memory(TypedDict, total=False):
    text: str
    memory: str
    source: str | None
    when: str | None
    count: Count
    pinned: bool
    canon: bool
    emotions: dict[str, Annotated[int, Field(ge=0, le=100)]] | None
    semantic: Number | None
    emotional: Number | None
    score: Number | None


class _Recalled(TypedDict, total=False):
    when: Required[str]
    text: Required[str]
    turn: str
    place: Count
    talk: str
    by_meaning: Count | None
    by_words: Count | None
    pinned: bool


class _Fact(TypedDict, total=False):
    about: Required[str]
    text: Required[str]
    replaces: Required[list[str]]


class _Pair(TypedDict, total=False):
    roles: list[str] | None
    score: Number | None
    reason: str | None
    dialogues: list[Any] | None


class _Relations(TypedDict, total=False):
    clique: list[str] | None
    edges: list[_Pair] | None
    unscored: Count | None


class _Dialogue(TypedDict, total=False):
    text: str | None
    speakers: list[str] | None
    similarity: Number | None
    revision: Count | None


class _Record(TypedDict, total=False):
    text: str | None
    dialogues: list[str] | None
    talk: str | None
    records: Any


class _Draft(TypedDict, total=False):
    score: Number | None


class _Outcome(TypedDict, total=False):
    alpha: Number | None


class _Episode(TypedDict, total=False):
    salience: Number | None
    similarity: Number | None


class _Query(TypedDict, total=False):
    high_priority: list[str] | None
    medium_priority: list[str] | None
    keywords: list[str] | None


class _Triple(TypedDict, total=False):
    sentence: str | None


class _NotHeld(TypedDict, total=False):
    as_of: str | None
    count: Count
    triples: list[_Triple] | None


class _Identity(TypedDict, total=False):
    not_held: _NotHeld | None
    left_out: Count
    how: str | None
    query: _Query | None
    triples: list[_Triple] | None
    text: str | None


class _Attempt(TypedDict, total=False):
    verdict: str | None
    text: str | None
    reason: str | None
    triple: _Triple | None
    probability: Number | None


class _Gate(TypedDict, total=False):
    attempts: list[_Attempt] | None


class _Change(TypedDict, total=False):
    replaces: _Triple | None
    replaces_too: _Triple | None
    confidence: Number | None


class _Reflection(TypedDict, total=False):
    found: list[_Change] | None
    not_weighed: list[Any] | None


class _Grounds(TypedDict, total=False):
    tokens: Required[Count]
    left_out: Required[dict[str, Count]]


class _NotYet(TypedDict, total=False):
    as_of: Required[str]
    later: Required[dict[str, Count]]
    not_comparable: Required[dict[str, Count]]


class _NotHeard(TypedDict, total=False):
    by: Required[str]
    why: Required[str]


class _Evidence(TypedDict, total=False):
    warning: str
    not_heard: list[_NotHeard]
    not_yet: _NotYet
    not_told: dict[str, Count]
    plan: str
    feeling: str
    strategy: str
    selection_error: str
    remember_error: str
    summary: str
    summary_error: str
    talk: list[_Recalled]
    talk_error: str
    facts: list[_Fact]
    facts_error: str
    attributes_error: str
    retrieved: list[_Passage]
    action: str
    web_search: str
    web_error: str
    query: str
    knowledge: list[_Passage]
    selection: _Selection
    attributes: list[_Attribute]
    role_memory: list[_Attribute]
    slips: list[_Slip]
    wish: str
    thoughts: str
    parts: list[str]
    grounds: _Grounds
    fitted: dict[str, Count]
    question: str
    hypothetical: str
    entities: list[_Scoped]
    asked_again: list[_Asked]
    specific: list[_Entity]
    general: list[_Entity]
    reached: list[_Entity]
    followed: list[_Followed]
    sentences: list[_Sentence]
    missing: list[str]
    question_error: str
    hypothetical_error: str
    entities_error: str
    graph_warning: str
    documents_warning: str
    speakers_warning: str
    documents_error: str
    mood: _Mood | None
    memories: list[_Memory] | None
    lost_memories: Count
    memories_left_out: Count
    episodes_left_out: Count
    memories_without_vector: Count
    relations: _Relations | None
    dialogues: list[_Dialogue] | None
    records: list[_Record] | None
    condensed: _Record | None
    talk_records: list[_Record] | None
    earlier_records: list[_Record] | None
    drafts: list[_Draft] | None
    verification: _Outcome | None
    episodes: list[_Episode] | None
    identity: _Identity | None
    gate: _Gate | None
    reflection: _Reflection | None
    identity_changes: list[_Change] | None
    declined: Count | None
    identity_full: Count | None


@cache
def _forms() -> TypeAdapter[_Evidence]:
    return TypeAdapter(_Evidence)


def misfits(evidence: Mapping[str, Any]) -> dict[str, str]:
    """Return the names in some evidence whose value has another form than the package writes, each with what is wrong.

    Names that are not the package's are a flow's own: they may hold anything, and where they hold the evidence of a
    part, that has these forms again.
    """
    forms = set(_Evidence.__annotations__)
    wrong = dict[str, str]()
    try:
        _forms().validate_python({name: evidence[name] for name in forms & evidence.keys()}, strict=True)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_input=False):
            wrong.setdefault(str(one["loc"][0]), f"{'.'.join(map(str, one['loc']))}: {one['msg']}")
    for name, value in evidence.items():
        part = value if name not in forms and isinstance(value, Mapping) and value.keys() & MECHANISMS else {}
        if inner := misfits(part) if part else {}:
            wrong[name] = f"{name}.{next(iter(inner.values()))}"
    return wrong
