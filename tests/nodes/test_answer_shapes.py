"""Answers in the shapes in which models write them: what is there is taken, what a mechanism lacks is asked again."""

import json
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from answer_shapes import (
    ABSENT,
    AGAIN,
    Form,
    Shape,
    changed,
    counted,
    first_answer,
    flags,
    form,
    listed,
    numbers,
    reading,
    spelled,
    unused,
    words,
)
from langchain_core.messages import HumanMessage

from dramaturg.models.chat import ChatModel
from dramaturg.models.questions import choose, decide, rate
from dramaturg.nodes.dialogues.role_memory import WrittenRecord
from dramaturg.nodes.graph.facts import facts_about, with_sentences
from dramaturg.nodes.graph.merging import in_pairs, verdicts_on
from dramaturg.nodes.graph.scoping import PlainNames, ScopedNames, from_tuples
from dramaturg.nodes.identity.drafting import chunks_of, drafted_triples
from dramaturg.nodes.identity.gate import find_contradiction
from dramaturg.nodes.identity.retrieval import strategy_schema
from dramaturg.nodes.identity.update import findings_among
from dramaturg.nodes.judgement import Appraising
from dramaturg.nodes.memories.emotions import EMOTIONS, ModelEncoder
from dramaturg.nodes.passages.attributes import as_findings, findings
from dramaturg.nodes.world.game_master import outcome_among
from dramaturg.nodes.world.talk import Line
from dramaturg.prompts import load
from dramaturg.stores.documents.forms import Document, Triple

from roles import LIFE

NAME = "Ada Quill"
VALUES = {"role": NAME, "user": "Tom", "before": ""}


def english(name: str) -> Any:
    return load(name, "en")


# A score and its reason: an edge of the relation graph, and the verifier (DRMR)


async def scored(chat: ChatModel) -> float:
    line = {"notes": "She keeps the light.", "question": "Will you come?", "line": "No."}
    asked = Appraising("verify_line", "judge_line", "why_line", VALUES, line, english)
    return (await asked.together_by(chat)).score


SCORE = {"reason": "He stays.", "score": 4}
SCORED = form(
    "a score",
    scored,
    SCORE,
    4.0,
    unused(SCORE, 4.0, ("reason",)),
    numbers(SCORE, 4.0, ("score",), 1, 5, halves=4.5),
    [Shape("a bare number", "4", 4.0), Shape("a bare 4/5", "4/5", 4.0), Shape("a bare label", "Score: 4", 4.0)],
    [Shape("under another name", '{"rating": 4}', 4.0)],
)


# The gate (ID-RAG)

TRIPLES = [Triple(subject=NAME, relation="likes", object=thing, kind="preference") for thing in "abc"]


async def contradicted(chat: ChatModel) -> int:
    """The number of the statement, 0 for none."""
    settings = SimpleNamespace(scores_apart=lambda _: False)
    run: Any = SimpleNamespace(settings=settings, chat=chat, prompt=english)
    identity: Any = SimpleNamespace(name=NAME, numbered=lambda _: "1. a\n2. b\n3. c")
    found = await find_contradiction(run, identity, TRIPLES, {"question": "Will you?", "line": "No."})
    return TRIPLES.index(found.triple) + 1 if found else 0


WEIGHED = {"reason": "It denies it.", "statement": 2}
GATE = form(
    "the gate",
    contradicted,
    WEIGHED,
    2,
    unused(WEIGHED, 2, ("reason",)),
    counted(WEIGHED, 2, ("statement",), len(TRIPLES)),
    [
        Shape(f"none as {one!r}", changed(WEIGHED, ("statement",), one), 0)
        for one in (0, "0", None, "none", "None.", "无", "없음")
    ],
    [Shape(f"statement {one!r}", changed(WEIGHED, ("statement",), one), AGAIN) for one in (ABSENT, "", "?")],
    [Shape("a bare number", "2", 2)],
)


# A record of the role memory (DRMR)

RECORD = {"wants": "a", "scenes": "b", "bond": "c", "others": "d", "record": "I have known him for long."}
RECORDED = form(
    "a record",
    reading(WrittenRecord, lambda found: found.record),
    RECORD,
    RECORD["record"],
    unused(RECORD, RECORD["record"], ("wants",), ("others",)),
    [
        Shape("no step", json.dumps({"record": RECORD["record"]}), RECORD["record"]),
        Shape("all steps null", json.dumps({**dict.fromkeys(RECORD), "record": RECORD["record"]}), RECORD["record"]),
        Shape("record in sentences", changed(RECORD, ("record",), ["I know him.", "He lies."]), "I know him. He lies."),
    ],
    [Shape(f"record {one!r}", changed(RECORD, ("record",), one), AGAIN) for one in (ABSENT, None, "", {})],
)


# The mood of a question or a memory (Emotional RAG)


async def felt(chat: ChatModel) -> dict[str, int] | None:
    return (await ModelEncoder(chat, NAME, "en").of_question("Did they find him?")).scores


MOOD: dict[str, Any] = {emotion: {"reason": "it is so", "score": 1} for emotion in EMOTIONS}
MOOD |= {"fear": {"reason": "in danger", "score": 8}}
SCORES = {emotion: one["score"] for emotion, one in MOOD.items()}
PAPERS = [{"analysis": one["reason"], "dim": emotion, "score": str(one["score"])} for emotion, one in MOOD.items()]
BARE = json.dumps(SCORES)
FELT = form(
    "a mood",
    felt,
    MOOD,
    SCORES,
    unused(MOOD, SCORES, ("fear", "reason")),
    numbers(MOOD, SCORES, ("fear", "score"), 1, 10, halves={**SCORES, "fear": 9}),
    [
        Shape("no reasons", json.dumps({name: {"score": one} for name, one in SCORES.items()}), SCORES),
        Shape("bare numbers", BARE, SCORES),
        Shape("bare texts", json.dumps({name: f"{one}/10" for name, one in SCORES.items()}), SCORES),
        Shape("the paper's list", json.dumps(PAPERS), SCORES),
        Shape("the paper's list in Python", repr(PAPERS), SCORES),
        Shape("the paper's list, fenced", f"```python\nresult = {PAPERS!r}\n```", SCORES),
        Shape("the paper's list in a key", json.dumps({"emotions": PAPERS}), SCORES),
        Shape("the paper's list, capitals", json.dumps([{**one, "dim": one["dim"].title()} for one in PAPERS]), SCORES),
        Shape(
            "a list of its own names",
            json.dumps([{"emotion": name, "score": one} for name, one in SCORES.items()]),
            SCORES,
        ),
        Shape("a list of pairs", json.dumps([{name: one} for name, one in SCORES.items()]), SCORES),
        Shape("an absent mood as 0/10", changed(MOOD, ("joy", "score"), "0/10"), SCORES),
        Shape("a vector", json.dumps(list(SCORES.values())), SCORES),
        Shape("a vector in a key", json.dumps({"vector": list(SCORES.values())}), SCORES),
        Shape("seven numbers", json.dumps(list(SCORES.values())[1:]), AGAIN),
        Shape("absent moods as 0", json.dumps({name: one if one > 1 else 0 for name, one in SCORES.items()}), SCORES),
        Shape(
            "absent moods as 0.0",
            json.dumps({name: {"score": one if one > 1 else 0.0} for name, one in SCORES.items()}),
            SCORES,
        ),
        Shape(
            "absent moods as null", json.dumps({name: one if one > 1 else None for name, one in SCORES.items()}), SCORES
        ),
        Shape("an emotion missing", changed(MOOD, ("joy",), ABSENT), AGAIN),
        Shape("one more emotion", json.dumps({**MOOD, "love": 3}), SCORES),
        Shape("nothing", "{}", AGAIN),
    ],
)
FELT = FELT._replace(  # 0 is an emotion that is not there
    shapes=[
        one._replace(wanted={**SCORES, "fear": 1}) if one.name == "fear.score below" else one for one in FELT.shapes
    ]
)


# A change of the identity (ID-RAG)

FINDING = {"evidence": "he burns it", "relation": "aims_to", "object": "stay ashore", "kind": "goal", "salience": 8}
FOUND = {"findings": [{**FINDING, "confidence": 0.5, "replaces": 3}]}
CHANGE = [("aims_to", "stay ashore", "goal", 8, 0.5, 3)]


def changes(found: Any) -> list[tuple[Any, ...]]:
    return [(one.relation, one.object, one.kind, one.salience, one.confidence, one.replaces) for one in found.findings]


def finding_with(key: str, value: Any, *wanted: Any) -> Shape:
    text = changed(FOUND, ("findings", 0, key), value)
    return Shape(f"{key} {value!r}", text, wanted[0] if wanted else AGAIN)


def change(**other: Any) -> list[tuple[Any, ...]]:
    return [tuple({**FINDING, "confidence": 0.5, "replaces": 3, **other}.values())[1:]]


UPDATED = form(
    "a change",
    reading(findings_among(5), changes),
    FOUND,
    CHANGE,
    unused(FOUND, CHANGE, ("findings", 0, "evidence")),
    numbers(FOUND, CHANGE, ("findings", 0, "salience"), 1, 10, halves=change(salience=9)),
    counted(FOUND, CHANGE, ("findings", 0, "replaces"), 5),
    listed(FOUND, CHANGE, "findings"),
    spelled(FOUND, CHANGE, ("findings", 0, "relation"), "aims to", "Aims To", "aimsTo", "AimsTo", "aims–to"),
    spelled(FOUND, CHANGE, ("findings", 0, "kind"), "goals"),
    [
        finding_with("confidence", one, CHANGE)
        for one in ("0.5", ".5", "50%", "50 %", "５０％", "0,5", "5/10", "0.5/1", "confidence: 0.5")
    ],
    [finding_with("confidence", one) for one in (50, 1.2, "120%", "high", "", None, ABSENT, True, "5/4")],
    [finding_with("replaces", one, change(replaces=0)) for one in (0, None, "none", ABSENT, "")],
    [finding_with("kind", one, change(kind=None)) for one in (None, ABSENT, "", "weather", 7)],
    [
        finding_with("relation", "喜欢", change(relation="喜欢")),
        finding_with("relation", "hasIdeology", change(relation="has_ideology")),
    ],
    [finding_with(key, one) for key in ("relation", "object") for one in (None, "", ABSENT, {})],
    [finding_with("object", ["tea", "cake"], change(object="tea, cake"))],
    [
        Shape("nothing found", '{"findings": []}', []),
        Shape("null found", '{"findings": null}', []),
        Shape("nothing", "{}", AGAIN),
    ],
)


# A drafted chronicle (ID-RAG)


async def drafted(chat: ChatModel) -> list[tuple[str, str, str, bool]]:
    (chunk,) = chunks_of([Document(name="life.md", text=LIFE, sha256="")])
    triples, _ = await drafted_triples(chat, chunk, role=NAME, language="en", relations={"is_friend_of": "$object"})
    return [(one.relation, one.object, one.kind, one.core) for one in triples]


DRAFT = {"triples": [{"sentence": 2, "relation": "is_friend_of", "object": "Tom", "kind": "experience", "core": True}]}
TRIPLE = [("is_friend_of", "Tom", "experience", True)]


def drafted_with(key: str, value: Any, *wanted: Any) -> Shape:
    text = changed(DRAFT, ("triples", 0, key), value)
    return Shape(f"{key} {value!r}", text, wanted[0] if wanted else AGAIN)


def related(relation: str, core: bool = True, kind: str = "experience") -> list[Any]:
    return [(relation, "Tom", kind, core)]


DRAFTED = form(
    "a drafted triple",
    drafted,
    DRAFT,
    TRIPLE,
    listed(DRAFT, TRIPLE, "triples"),
    counted(DRAFT, TRIPLE, ("triples", 0, "sentence"), 40, "sentence"),
    spelled(
        DRAFT,
        TRIPLE,
        ("triples", 0, "relation"),
        "isFriendOf",
        "IsFriendOf",
        "Is Friend Of",
        "is-friend-of",
        "is friend of",
    ),
    spelled(DRAFT, TRIPLE, ("triples", 0, "kind"), "experiences"),
    [
        drafted_with("relation", given, related(written))
        for given, written in {
            "Likes": "likes",
            "is fond of": "is_fond_of",
            "works-at": "works_at",
            "hasIdeology": "has_ideology",
            "HasIdeology": "has_ideology",
            "喜欢": "喜欢",
            "“喜欢”": "喜欢",
            "좋아하는 것": "좋아하는_것",
            "любит": "любит",
            "पसंद है": "पसंद_है",
            "is_afraid_of_the_dark_and_of_all_that_lives_in_it": "is_afraid_of_the_dark_and_of_all_that_lives_in_it",
        }.items()
    ],
    [drafted_with("core", one, related("is_friend_of", core=False)) for one in (ABSENT, None, "", "no", 0)],
    [drafted_with("core", one, TRIPLE) for one in ("yes", "是", "예", "TRUE", 1)],
    [drafted_with("kind", one, related("is_friend_of", kind="trait")) for one in (ABSENT, None, "", "weather")],
    [drafted_with("sentence", one, TRIPLE) for one in (ABSENT, None, "")],
    [drafted_with(key, one) for key in ("relation", "object") for one in (None, "", ABSENT, {})],
    [drafted_with("relation", "—"), drafted_with("relation", "is " + "very " * 40 + "fond of")],
    [
        Shape("nothing found", '{"triples": []}', []),
        Shape("null found", '{"triples": null}', []),
        Shape("nothing", "{}", AGAIN),
    ],
)


# What a chronicle is searched for (ID-RAG)

SOUGHT = {"high_priority": ["is_politically", "works-at"], "medium_priority": ["喜欢"], "keywords": ["sea", "light"]}


def strategy(found: Any) -> dict[str, Any]:
    return {name: getattr(found, name) for name in SOUGHT}


SEARCHED = form(
    "a search",
    reading(strategy_schema(("is_politically", "works-at", "喜欢")), strategy),
    SOUGHT,
    SOUGHT,
    words(SOUGHT, SOUGHT, "high_priority"),
    [one for one in words(SOUGHT, SOUGHT, "keywords") if "CAPITALS" not in one.name],
    spelled(SOUGHT, SOUGHT, ("high_priority", 0), "isPolitically", "Is Politically"),
    spelled(SOUGHT, SOUGHT, ("high_priority", 1), "worksAt", "works_at"),
    [Shape("“喜欢”", changed(SOUGHT, ("medium_priority", 0), "“喜欢”"), SOUGHT)],
    [
        Shape(f"{key} {one!r}", changed(SOUGHT, (key,), one), {**SOUGHT, key: []})
        for key in SOUGHT
        for one in (ABSENT, None, [], "")
    ],
    [
        Shape(
            "an unknown relation", changed(SOUGHT, ("medium_priority", 0), "flies"), {**SOUGHT, "medium_priority": []}
        ),
        Shape("only unknown relations", '{"high_priority": ["flies"]}', AGAIN),
        Shape("nothing", "{}", AGAIN),
    ],
)


# Entities of a question (RoleRAG)

SCOPED = {
    "entities": [
        {"name": "Tom", "type": "character", "reason": "He is her brother.", "relevant": True, "level": "specific"}
    ]
}
JUDGED = [("Tom", "character", True, "specific")]


def scoped(found: Any) -> list[tuple[Any, ...]]:
    return [(one.name, one.type, one.relevant, one.level) for one in found.entities]


def scope_with(key: str, value: Any, *wanted: Any) -> Shape:
    text = changed(SCOPED, ("entities", 0, key), value)
    return Shape(f"{key} {value!r}", text, wanted[0] if wanted else AGAIN)


FIGURE_7 = "(character<|>Tom<|>He is her brother.<|>Yes<|>specific)"
IN_SCOPE = form(
    "entities in scope",
    reading(ScopedNames, scoped, from_tuples),
    SCOPED,
    JUDGED,
    unused(SCOPED, JUDGED, ("entities", 0, "reason")),
    listed(SCOPED, JUDGED, "entities"),
    flags(SCOPED, ("entities", 0, "relevant"), lambda yes: [("Tom", "character", yes, "specific")]),
    spelled(SCOPED, JUDGED, ("entities", 0, "level"), "Specific (one person)"),
    [
        scope_with("type", one, [("Tom", kind, True, "specific")])
        for one, kind in (
            ("Person", "character"),
            ("人物", "character"),
            ("weather", "other"),
            (None, "other"),
            (ABSENT, "other"),
            (7, "other"),
        )
    ],
    [scope_with(key, one) for key in ("name", "relevant", "level") for one in (ABSENT, None, "")],
    [
        Shape(
            "out of scope without a level",
            json.dumps({"entities": [{"name": "Tom", "relevant": False}]}),
            [("Tom", "other", False, None)],
        ),
        Shape(
            "by its name",
            json.dumps(
                {"entities": {"Tom": {key: one for key, one in SCOPED["entities"][0].items() if key != "name"}}}
            ),
            JUDGED,
        ),
        Shape("Figure 7", json.dumps({"entities": [FIGURE_7]}), JUDGED),
        Shape(
            "Figure 7 in fields",
            json.dumps({"entities": [["character", "Tom", "He is her brother.", "Yes", "specific"]]}),
            JUDGED,
        ),
        Shape("Figure 7 alone", FIGURE_7, JUDGED),
        Shape("no entity", '{"entities": []}', []),
        Shape("nothing", "{}", AGAIN),
    ],
)
PLAIN = {"entities": [{"name": "Tom", "type": "character"}]}
NAMED = form(
    "entities",
    reading(PlainNames, lambda found: [(one.name, one.type) for one in found.entities]),
    PLAIN,
    [("Tom", "character")],
    [one for one in listed(PLAIN, [("Tom", "character")], "entities") if "with a text" not in one.name],
    [
        Shape(
            f"type {one!r}",
            changed(PLAIN, ("entities", 0, "type"), one),
            [("Tom", kind)],
        )
        for one, kind in (
            (ABSENT, "other"),
            (None, "other"),
            ("", "other"),
            ("weather", "other"),
            (7, "other"),
            ([], "other"),
            ("PERSON", "character"),
            ("places", "location"),
            ("인물", "character"),
        )
    ],
    [
        Shape("names alone", '{"entities": ["Tom", "Ada"]}', [("Tom", "other"), ("Ada", "other")]),
        Shape("a bare list of names", '["Tom", "Ada"]', [("Tom", "other"), ("Ada", "other")]),
        Shape("a name alone", '{"entities": "Tom"}', [("Tom", "other")]),
        Shape("a name", changed(PLAIN, ("entities", 0, "name"), ABSENT), AGAIN),
        Shape("name null", changed(PLAIN, ("entities", 0, "name"), None), AGAIN),
        Shape("no entity", '{"entities": []}', []),
        Shape("nothing", "{}", AGAIN),
    ],
)


# Facts of a chunk (RoleRAG)

TOLD = ["Ada keeps the light.", "Tom sails the boat.", "Ada and Tom are friends."]
FACTS: dict[str, Any] = {
    "entities": [{"name": "Tom", "type": "character", "sentence": 2, "description": "He sails."}],
    "relations": [{"source": "Ada", "target": "Tom", "sentence": 3, "description": "Friends.", "strength": 8}],
}
KNOWN = ([("Tom", "character", 2)], [("Ada", "Tom", 3, 8)])


def known(found: Any) -> Any:
    entities = [(one.name, one.type, one.sentence) for one in found.entities]
    return entities, [(one.source, one.target, one.sentence, one.strength) for one in found.relations]


def less(relation: bool = False) -> Any:
    return (KNOWN[0], []) if relation else ([], KNOWN[1])


def facts_with(kind: str, key: str, value: Any, wanted: Any) -> Shape:
    name = "absent" if value is ABSENT else repr(value)
    return Shape(f"{kind} {key} {name}", changed(FACTS, (kind, 0, key), value), wanted)


EXTRACTED = form(
    "facts",
    reading(facts_about(3, 30, quoted=False), known, partial(with_sentences, told=TOLD)),
    FACTS,
    KNOWN,
    unused(FACTS, KNOWN, ("entities", 0, "description"), ("relations", 0, "description")),
    [
        one._replace(wanted=less(relation=True) if one.wanted == AGAIN else one.wanted)
        for one in numbers(FACTS, KNOWN, ("relations", 0, "strength"), 1, 10, halves=(KNOWN[0], [("Ada", "Tom", 3, 9)]))
    ],
    [
        facts_with("entities", "sentence", one, KNOWN)
        for one in (ABSENT, None, "", "2", "[2]", "sentence 2", 99, "the second")
    ],
    [facts_with("relations", "sentence", one, KNOWN) for one in (ABSENT, None, "", "3", "#3", 0, 99)],
    [facts_with("entities", "type", one, ([("Tom", "other", 2)], KNOWN[1])) for one in (ABSENT, None, "", "weather")],
    [facts_with("entities", "name", one, less()) for one in (ABSENT, None, "")],
    [facts_with("relations", "target", one, less(relation=True)) for one in (ABSENT, None, "")],
    listed(FACTS | {"relations": []}, (KNOWN[0], []), "entities", bare=False),
    [Shape("no relations", json.dumps({"entities": FACTS["entities"]}), AGAIN), Shape("nothing", "{}", AGAIN)],
)


# Whether two names mean one (RoleRAG)

VERDICTS = {"pair_1": {"reason": "a short name", "same": True}, "pair_2": {"reason": "two men", "same": False}}
SAME = [True, False]
MERGED = form(
    "pairs",
    reading(verdicts_on(2), lambda found: [one and one.same for one in (found.pair_1, found.pair_2)], in_pairs),
    VERDICTS,
    SAME,
    unused(VERDICTS, SAME, ("pair_1", "reason")),
    flags(VERDICTS, ("pair_2", "same"), lambda yes: [True, yes], [True, None]),
    [
        Shape("bare", '{"pair_1": true, "pair_2": false}', SAME),
        Shape("bare words", '{"pair_1": "yes", "pair_2": "no"}', SAME),
        Shape("by number", json.dumps({"1": VERDICTS["pair_1"], "2": VERDICTS["pair_2"]}), SAME),
        Shape("by name", json.dumps({"Pair 1": VERDICTS["pair_1"], "pair-2": VERDICTS["pair_2"]}), SAME),
        Shape("a list", json.dumps(list(VERDICTS.values())), SAME),
        Shape("a list in a key", json.dumps({"verdicts": list(VERDICTS.values())}), SAME),
        Shape("a numbered list", json.dumps([{"pair": 2, "same": False}, {"pair": 1, "same": True}]), SAME),
        Shape("a bare list", "[true, false]", SAME),
        Shape("one too few", "[true]", [True, None]),
        Shape("one absent", json.dumps({"pair_1": VERDICTS["pair_1"]}), [True, None]),
        Shape("one null", json.dumps(VERDICTS | {"pair_2": None}), [True, None]),
        Shape("one in words", json.dumps(VERDICTS | {"pair_2": "two men"}), [True, None]),
        Shape("same absent", changed(VERDICTS, ("pair_2", "same"), ABSENT), [True, None]),
        Shape("same null", changed(VERDICTS, ("pair_2", "same"), None), [True, None]),
        Shape("none good", json.dumps({"pair_1": "perhaps", "pair_2": "perhaps"}), AGAIN),
        Shape("none there", json.dumps({"pair_1": None, "pair_2": None}), AGAIN),
        Shape("nothing", "{}", AGAIN),
    ],
)


# Attributes (AMADEUS)

SHOWN: dict[str, Any] = {
    "belief_and_value": [{"attribute": "holds dear her duty", "passage": 2}],
    "psychological_traits": [],
}
HELD = ([("holds dear her duty", 2)], [])


def attributes(found: Any) -> Any:
    return tuple(
        [(one.attribute, one.passage) for one in some] for some in (found.belief_and_value, found.psychological_traits)
    )


def without_passage(*passages: Any) -> list[Shape]:
    path = ("belief_and_value", 0, "passage")
    return [
        Shape(f"passage {one!r}", changed(SHOWN, path, one), ([("holds dear her duty", None)], [])) for one in passages
    ]


ATTRIBUTED = form(
    "attributes",
    reading(findings(3), attributes, as_findings),
    SHOWN,
    HELD,
    without_passage(ABSENT, None, "", 9, "none", True),
    [
        Shape(f"passage {one!r}", changed(SHOWN, ("belief_and_value", 0, "passage"), one), HELD)
        for one in ("2", "[2]", "passage 2", [2], 2.0, "第2段", "２")
    ],
    [
        Shape(
            "the paper's names",
            json.dumps({"Belief and Value": SHOWN["belief_and_value"], "Psychological Traits": []}),
            HELD,
        ),
        Shape(
            "texts",
            '{"belief_and_value": ["holds dear her duty"], "psychological_traits": []}',
            ([("holds dear her duty", None)], []),
        ),
        Shape(
            "one text",
            '{"belief_and_value": "holds dear her duty", "psychological_traits": ""}',
            ([("holds dear her duty", None)], []),
        ),
        Shape("one object", json.dumps({**SHOWN, "belief_and_value": SHOWN["belief_and_value"][0]}), HELD),
        Shape("by number", json.dumps({**SHOWN, "belief_and_value": {"1": SHOWN["belief_and_value"][0]}}), HELD),
        Shape("one list absent", json.dumps({"belief_and_value": SHOWN["belief_and_value"]}), HELD),
        Shape("one list null", json.dumps({**SHOWN, "psychological_traits": None}), HELD),
        Shape("with null", json.dumps({**SHOWN, "belief_and_value": [*SHOWN["belief_and_value"], None]}), HELD),
        Shape(
            "kinds in the items",
            json.dumps({"attributes": [{"kind": "belief", "attribute": "holds dear her duty", "passage": 2}]}),
            HELD,
        ),
        Shape(
            "a bare list with kinds",
            json.dumps([{"kind": "Belief and value", "attribute": "holds dear her duty", "passage": 2}]),
            HELD,
        ),
        Shape("nothing found", '{"belief_and_value": [], "psychological_traits": []}', ([], [])),
        Shape("nothing", "{}", AGAIN),
    ],
)


# What comes of a deed, and a line of a talk (ID-RAG)

OUTCOME = {"happens": "It rained.", "noticed_by": ["Bob Lin", "Ellen"], "talks_with": "Bob Lin", "importance": 8}
CAME = ("It rained.", ["Bob Lin", "Ellen"], "Bob Lin", 8)


def came(found: Any) -> Any:
    return found.happens, list(found.noticed_by), found.talks_with, found.importance


def outcome_with(key: str, value: Any, *wanted: Any) -> Shape:
    return Shape(
        f"{key} {value!r}",
        changed(OUTCOME, (key,), value),
        wanted[0] if wanted else AGAIN,
    )


RESOLVED = form(
    "an outcome",
    reading(outcome_among(("Bob Lin", "Ellen")), came),
    OUTCOME,
    CAME,
    numbers(OUTCOME, CAME, ("importance",), 1, 10, halves=(*CAME[:3], 9)),
    words(OUTCOME, CAME, "noticed_by"),
    spelled(OUTCOME, CAME, ("talks_with",), "bob_lin", "BobLin"),
    [outcome_with("talks_with", ["Bob Lin"], CAME)],
    [
        outcome_with("talks_with", one, (*CAME[:2], "nobody", 8))
        for one in (ABSENT, None, "", "none", "No one", "nobody", "Nobody.")
    ],
    [outcome_with("talks_with", "the mayor")],
    [outcome_with("noticed_by", one, (CAME[0], [], "Bob Lin", 8)) for one in (None, [], "nobody", "none")],
    [outcome_with("noticed_by", "Ellen", (CAME[0], ["Ellen"], "Bob Lin", 8)), outcome_with("noticed_by", ABSENT)],
    [outcome_with("happens", one) for one in (ABSENT, None, "", {})],
    [outcome_with("happens", ["It rained."], CAME)],
)
SPOKEN = {"line": "Good day.", "leaves": True}
SAID = form(
    "a line",
    reading(Line, lambda found: (found.line, found.leaves)),
    SPOKEN,
    ("Good day.", True),
    flags(SPOKEN, ("leaves",), lambda yes: ("Good day.", yes)),
    [Shape(f"leaves {one!r}", changed(SPOKEN, ("leaves",), one), ("Good day.", False)) for one in (ABSENT, None, "")],
    [Shape(f"line {one!r}", changed(SPOKEN, ("line",), one), AGAIN) for one in (ABSENT, None, "", {})],
    [Shape("a list of lines", changed(SPOKEN, ("line",), ["Good day.", "Come in."]), ("Good day. Come in.", True))],
)
FORMS = [
    SCORED,
    GATE,
    RECORDED,
    FELT,
    UPDATED,
    DRAFTED,
    SEARCHED,
    IN_SCOPE,
    NAMED,
    EXTRACTED,
    MERGED,
    ATTRIBUTED,
    RESOLVED,
    SAID,
]


@pytest.mark.parametrize(
    ("asked", "shape"), [(one, shape) for one in FORMS for shape in one.shapes], ids=lambda one: one.name
)
async def test_an_answer_in_a_usual_shape_counts(asked: Form, shape: Shape) -> None:
    assert await first_answer(asked, shape.text) == shape.wanted


# Short answers: yes or no, a number, one of several


async def decided(chat: ChatModel) -> bool:
    return (await decide(chat, [HumanMessage("Is it?")])).answer


async def rated(chat: ChatModel) -> float:
    return (await rate(chat, [HumanMessage("How well?")], low=1, high=5)).value


async def chosen(chat: ChatModel) -> str:
    return await choose(chat, [HumanMessage("Which?")], ["Bob Lin", "Ellen", "not yet"])


SHORT: list[tuple[Any, str, Any]] = [
    *(
        (decided, text, True)
        for text in (
            "yes",
            "Yes.",
            '{"answer": "yes"}',
            '{"answer": true}',
            '{"answer": 1}',
            "是。",
            "예",
            '{"Answer": "Yes"}',
            '["yes"]',
            '```json\n{"answer": "yes"}\n```',
            "Yes, she does.",
            "**Yes**",
            '{"result": "yes"}',
        )
    ),
    *(
        (decided, text, False)
        for text in (
            "no",
            "No!",
            '{"answer": "no"}',
            '{"answer": false}',
            '{"answer": 0}',
            "否",
            "아니요",
            "No, because it is not.",
            "不是",
        )
    ),
    *(
        (decided, text, AGAIN)
        for text in ("maybe", "", "{}", '{"answer": null}', '{"answer": 7}', "yes and no", "I think so")
    ),
    *(
        (rated, text, 4.0)
        for text in (
            "4",
            "4.",
            '{"answer": 4}',
            '{"answer": "4"}',
            "4/5",
            '{"answer": "4/5"}',
            "4 out of 5",
            "４",
            "4分",
            "4점",
            "four",
            "四",
            "Score: 4",
            "**4**",
            "4 (good)",
            "[4]",
            '{"rating": 4}',
            "4.0",
            "满分5分，得4分",
            "5점 만점에 4점",
            '{"answer": {"value": 4}}',
        )
    ),
    *((rated, text, 4.5) for text in ("4.5", '{"answer": 4.5}', "4.5/5")),
    *(
        (rated, text, AGAIN)
        for text in (
            "6",
            "0",
            "5/10",
            "4/10",
            "4 or 5",
            "3-4",
            "high",
            '{"answer": null}',
            '{"answer": true}',
            "not 4",
            "80%",
        )
    ),
    *(
        (chosen, text, "Ellen")
        for text in (
            "2",
            "2.",
            '{"answer": 2}',
            '{"answer": "2"}',
            "Ellen",
            "ellen.",
            "Option 2",
            "No. 2",
            "#2",
            "[2]",
            "2. Ellen",
            "2: Ellen",
            "two",
            "２",
            "第2个",
            "2번",
            '{"answer": "Ellen"}',
            '{"choice": 2}',
        )
    ),
    *((chosen, text, "Bob Lin") for text in ("bob-lin", "BobLin", "BOB LIN", "bob_lin", "1. Bob Lin")),
    *(
        (chosen, text, AGAIN)
        for text in ("4", "0", "Tom", "1 or 2", "2. Bob Lin", '{"answer": null}', '{"answer": 1.5}')
    ),
]


@pytest.mark.parametrize(("ask", "text", "wanted"), SHORT, ids=lambda one: getattr(one, "__name__", repr(one)))
async def test_a_short_answer_in_a_usual_shape_counts(ask: Any, text: str, wanted: Any) -> None:
    asked = Form("", ask, None, None, [])
    assert await first_answer(asked, text) == wanted
