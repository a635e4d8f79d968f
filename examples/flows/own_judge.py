"""AMADEUS with another judge, and with a node of one's own between the attribute extractor and the draft."""

import re
from functools import partial

from dramaturg.nodes.passages.selection import judge_by
from dramaturg.workflows import amadeus


def shares_a_word(question: str, passage: str) -> bool:
    return not {*re.findall(r"\w{4,}", question.lower())}.isdisjoint(re.findall(r"\w{4,}", passage.lower()))


async def shortest(state: amadeus.AmadeusState) -> dict[str, object]:
    return {"attributes": sorted(state["attributes"], key=lambda one: len(one["attribute"]))[:2]}


build = partial(amadeus.build, replace={"judge": judge_by(shares_a_word)}, after={"extract_attributes": shortest})
graph = build().compile(name="own_judge")
