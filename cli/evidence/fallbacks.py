"""What a reply had to do without, in a line that names what to change; `--evidence` shows the rest."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dramaturg.cli.output import one_line


class Gone(NamedTuple):
    """What a reply does without, and the setting by which it always does."""

    what: str
    without: str = ""


GONE = {
    "question": Gone("the question was taken as it was asked", "recent=0"),
    "hypothetical": Gone("no hypothetical answer was generated for the search"),
    "entities": Gone("the entities of the question are unknown"),
    "asked again": Gone("the scope of a name was not checked again"),
    "selection": Gone("passages have no verdict"),
    "verdicts": Gone("passages have no verdict"),
    "retrieved": Gone("passages have no verdict"),
    "query": Gone("the web was searched for the question as it was asked"),
    "web": Gone("the web could not be searched"),
    "documents": Gone("the role's documents were not searched", "document_passages=0"),
    "attributes": Gone("no attributes of the role were extracted"),
    "mood": Gone("the emotion of the question is not known", "strategy=semantic"),
    "relations": Gone("relations have no score"),
    "memory": Gone("nothing new was added to the role memory", "role_memory=false"),
    "condense": Gone("the oldest role memories were not merged", "role_memory=false"),
    "talk record": Gone("this conversation was not added to the role memory", "talk_records=false"),
    "earlier records": Gone("earlier conversations were not added to the role memory", "talk_records=false"),
    "identity query": Gone("the identity was searched by similarity", "identity_retrieval=embedding"),
    "attempts": Gone("a draft was not checked", "gate=false"),
    "reflection": Gone("whether the role has changed is not known", "update=false"),
    "not weighed": Gone("whether a change contradicts what is core is not known", "update=false"),
    "drafts": Gone("a draft has no score", "verify=false"),
    "slips": Gone("the reply could not be generated again", "redraws=0"),
    "talk": Gone("earlier messages were searched by keywords only", "talk_tokens=0"),
    "facts": Gone("no facts were noted", "talk_facts=off"),
    "remember": Gone("this turn is not remembered", "conversation_memories=0"),
    "summary": Gone("older messages were not summarized", "summary_tokens=0"),
    "next": Gone("who speaks next was not judged, so the one who had been silent longest spoke", ""),
}
"""By where an error stands in the evidence."""
COUNTED = {"verdicts", "retrieved", "relations"}
LATE = re.compile("deadline|timeout|too long", re.IGNORECASE)
AWAY = re.compile("unavailable|cannot be reached", re.IGNORECASE)
MOST = 4  # that are named
DEEPEST = 8


def fallback_line(evidence: Any, more: str = "--evidence") -> str:
    """What fell back, and what to change; empty where nothing did.

    Args:
        evidence: of one turn, in whatever form a flow has it.
        more: what shows all of the evidence.
    """
    found = list(errors_in(evidence))
    gone: dict[Gone, str] = {}
    for place, how_many, _ in sorted(found, key=lambda one: not one[1]):  # what is counted says more
        gone.setdefault(GONE.get(place, Gone(f"{one_line(place)[:60]} failed")), how_many)
    if not gone:
        return ""
    errors = " ".join(error for *_, error in found)
    changes = [
        *(["a longer --set deadline=SECONDS"] if LATE.search(errors) else []),
        *(["see that the model's server runs"] if AWAY.search(errors) else []),
        *([] if LATE.search(errors) or AWAY.search(errors) else ["another --model"]),
        *dict.fromkeys(f"--set {one.without}" for one in gone if one.without),
    ]
    told = [f"{how_many}{one.what}" for one, how_many in gone.items()][:MOST]
    others = f"; and {len(gone) - MOST} more" if len(gone) > MOST else ""
    return f"Problems: {'; '.join(told)}{others}. To change it: {' or '.join(changes)}. {more} shows more."


def errors_in(evidence: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """Each error in evidence: where it stands, of how many one is meant where that is known, and what it says."""
    if depth > DEEPEST:
        return
    if isinstance(evidence, Mapping):
        for name, value in evidence.items():
            words = str(name).replace("_", " ")
            if value and isinstance(value, str) and (words == "error" or words.endswith(" error")):
                yield words.removesuffix("error").strip() or place or "something", "", value
            elif words == "not weighed" and value:
                yield words, "", str(value)
            else:
                yield from errors_in(value, words, depth + 1)
    elif isinstance(evidence, list | tuple):
        inner = [list(errors_in(one, place, depth + 1)) for one in evidence]
        failed = [errors for errors in inner if errors]
        if failed and place in COUNTED:
            yield place, f"{len(failed)} of {len(evidence)} ", " ".join(one[2] for errors in failed for one in errors)
        else:
            yield from (one for errors in failed for one in errors)
