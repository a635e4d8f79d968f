"""Why a reply is as it is, in plain words, while it comes: what a client shows as the role's thinking."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dramaturg.server.wording import sentence, term

SHOWN = 160  # characters of a text that is quoted
THOUGHTS_SHOWN = 4_000  # the same of what a model thought aloud
MOST = 6  # things of one kind that are named


def why(evidence: Mapping[str, Any], told: set[str], language: str = "en") -> Iterator[str]:
    """The sentences about what is new in the evidence of a turn.

    Args:
        evidence: as it is now; it may have been changed by hand, and hold anything.
        told: the names in it of which was told already; those of which is told now are added.
        language: of the sentences.
    """
    words = Words(language)
    for name, told_of in WORDS.items():
        if name in told or name not in evidence:
            continue
        try:
            lines = [line for line in told_of(words, evidence[name]) if line]
        except (TypeError, KeyError, AttributeError, ValueError, IndexError):
            lines = []
        if lines or evidence[name]:
            told.add(name)
        yield from lines
    for name, part in evidence.items():  # what a part has found, in an ensemble
        if name not in WORDS and isinstance(part, Mapping) and part.keys() & WORDS.keys():
            known = {one.removeprefix(f"{name}.") for one in told if one.startswith(f"{name}.")}
            for line in why(part, known, language):
                yield f"{term(name, language)}: {line}"
            told.update(f"{name}.{one}" for one in known)


def quoted(text: Any, most: int = SHOWN) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(str(text).split())
    return f"“{line if len(line) <= most else line[: most - 1] + '…'}”"


@dataclass(frozen=True)
class Words:
    """Says what each mechanism has found."""

    language: str

    def say(self, name: str, /, **values: object) -> str:
        """A sentence."""
        return sentence(name, self.language, **values)

    def reason(self, one: Mapping[str, Any]) -> str:
        """The reason of a judgement, to stand behind it."""
        return self.say("reason", text=one["reason"]) if one.get("reason") else ""

    def points(self, score: Any) -> str:
        """A score, to stand behind a word."""
        return self.say("score", score=f"{score:.2f}") if isinstance(score, int | float) else ""

    def listed(self, things: Sequence[Any]) -> str:
        """Some names, and how many more there are."""
        more = len(things) - MOST
        names = self.say("between").join(map(str, things[:MOST]))
        return names + (self.say("more", count=more) if more > 0 else "")

    def talk(self, found: Any) -> Iterator[str]:
        """What came back of what was said before the window; of what was said beside it, only how much."""
        if found:
            yield self.say("came back", count=len(found))
        for one in [one for one in found if one.get("by_meaning") or one.get("by_words")][:MOST]:
            when = self.say("score", score=one["when"]) if one.get("when") else ""
            yield self.say("said before", when=when, text=quoted(one["text"]))

    def hypothetical(self, text: Any) -> Iterator[str]:
        """What a passage that answers may say."""
        if text:
            yield self.say("hypothetical", text=quoted(text))

    def passages(self, found: Any) -> Iterator[str]:
        """Passages of the persona, with where they stand."""
        for one in found[:MOST]:
            where = " › ".join([str(one.get("source", "")), *map(str, one.get("headings", []))])
            score = self.points(one.get("confidence", one.get("score")))
            yield self.say("read", score=score, where=where, text=quoted(one.get("text", "")))

    def retrieved(self, found: Any) -> Iterator[str]:
        """How many passages are looked at; those that are chosen are quoted."""
        yield self.say("found", count=len(found))

    def selection(self, found: Mapping[str, Any]) -> Iterator[str]:
        """What guided selection judged, and what it kept."""
        chosen = found["selected"]
        yield self.say("judged", count=found["judged"], kept=len(chosen))
        if found.get("fallback"):
            yield self.say("fallback", rule=found["fallback"])
        yield from self.passages(chosen)

    def attributes(self, found: Any) -> Iterator[str]:
        """What follows from passages about the role."""
        for one in found[:MOST]:
            yield self.say("attribute", text=one["attribute"])

    def entities(self, found: Any) -> Iterator[str]:
        """What the question is about, and whether the role can know it."""
        for one in found[:MOST]:
            kind, strategy = (term(one[part], self.language) for part in ("type", "strategy"))
            yield self.say("entity", name=one["name"], type=kind, strategy=strategy, reason=self.reason(one))

    def knowledge_of(self, found: Any) -> Iterator[str]:
        """What the graph says of entities."""
        for one in found[:MOST]:
            yield self.say("known", name=one["entity"], text=quoted(one["description"]))

    def mood(self, found: Mapping[str, Any]) -> Iterator[str]:
        """How the question feels."""
        felt = {name: int((one or {}).get("score") or 0) for name, one in (found.get("emotions") or {}).items()}
        strong = sorted((name for name, score in felt.items() if score), key=lambda name: -felt[name])
        if strong:
            moods = [f"{term(name, self.language)} {felt[name]}" for name in strong[:3]]
            yield self.say("mood", moods=self.listed(moods))

    def memories(self, found: Any) -> Iterator[str]:
        """What is remembered."""
        for one in found[:MOST]:
            text = quoted(one.get("text") or one.get("memory") or "")
            yield self.say("remembered", score=self.points(one.get("score")), text=text)

    def relations(self, found: Mapping[str, Any]) -> Iterator[str]:
        """Who is close to the two."""
        clique = found.get("clique") or []
        yield self.say("clique", names=self.listed(clique)) if clique else self.say("strangers")
        for edge in (found.get("edges") or [])[:MOST]:
            if edge.get("score") is not None:
                one, other = edge["roles"]
                yield self.say("pair", one=one, other=other, score=f"{edge['score']:g}", reason=self.reason(edge))

    def dialogues(self, found: Any) -> Iterator[str]:
        """What was once said."""
        for one in found[:MOST]:
            if one.get("text"):
                yield self.say("said", text=quoted(one["text"]))

    def records(self, found: Any) -> Iterator[str]:
        """What the role has worked out about another."""
        for one in found[:MOST]:
            if one.get("text"):
                yield self.say("kept", text=quoted(one["text"]))

    def identity(self, found: Mapping[str, Any]) -> Iterator[str]:
        """Who the role is, as its chronicle says."""
        triples = [one["sentence"] for one in found.get("triples") or [] if one.get("sentence")]
        for text in triples[:MOST]:
            yield self.say("identity", text=text)

    def gate(self, found: Mapping[str, Any]) -> Iterator[str]:
        """What the gate said of what the role was about to do."""
        for one in found.get("attempts") or []:
            verdict = term(one.get("verdict"), self.language)
            yield self.say("gate", verdict=verdict, text=quoted(one.get("text", "")), reason=self.reason(one))

    def drafts(self, found: Any) -> Iterator[str]:
        """What was drafted, and how near it is to the role."""
        for number, one in enumerate(found, start=1):
            if one.get("score") is not None:
                yield self.say("draft", number=number, score=f"{one['score']:g}")

    def slips(self, found: Any) -> Iterator[str]:
        """How the reply began and was drawn again, and what went on after it for somebody else."""
        for one in found:
            if one["outcome"] == "ended":
                yield self.say("others", text=quoted(one["text"]))
                continue
            outcome, slip = (term(one[part], self.language) for part in ("outcome", "slip"))
            yield self.say("slip", outcome=outcome, slip=slip, text=quoted(one["text"]))

    def thoughts(self, found: Any) -> Iterator[str]:
        """What the model thought aloud before the reply."""
        yield self.say("thoughts", text=quoted(found, THOUGHTS_SHOWN))


WORDS: Mapping[str, Callable[[Words, Any], Iterator[str]]] = {
    "talk": Words.talk,
    "hypothetical": Words.hypothetical,
    "entities": Words.entities,
    "specific": Words.knowledge_of,
    "general": Words.knowledge_of,
    "selection": Words.selection,
    "retrieved": Words.retrieved,
    "knowledge": Words.passages,
    "attributes": Words.attributes,
    "mood": Words.mood,
    "memories": Words.memories,
    "relations": Words.relations,
    "dialogues": Words.dialogues,
    "earlier_records": Words.records,
    "records": Words.records,
    "identity": Words.identity,
    "gate": Words.gate,
    "drafts": Words.drafts,
    "slips": Words.slips,
    "thoughts": Words.thoughts,
}
"""What is said of each mechanism's evidence, in the order in which a turn comes by it."""
