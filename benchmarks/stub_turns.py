"""The endpoint of `stub_server` for turns: yes, the best score, what fits a schema, and a line to say."""

import json
import re

from dramaturg.testing.fitting import fitting

from stub_server import RULES, Request, main, one_token, properties, said

LINE = "I have thought of that for many years, my friend, and I am not done with it yet."
ABOUT = {"type": "character", "reason": "He knew him.", "relevant": True}
SCOPED = ({"name": "Haydn", "level": "specific", **ABOUT}, {"name": "friends", "level": "general", **ABOUT})


def of_a_turn(request: Request) -> str | None:
    """What the nodes of a turn ask; pairs, options and the facts of a document are the other rules' affair."""
    asked = properties(request)
    if one_token(request):
        return None if re.search(r"^1\. |<one>", said(request), re.MULTILINE) else "yes"
    if not asked:
        return LINE
    if "entities" in asked and "relevant" in json.dumps(request["response_format"]):
        return json.dumps({"entities": SCOPED})
    if {"entities", "pair_1"} & asked.keys():
        return None
    best = {key: value for key, value in {"answer": "yes", "score": 5}.items() if key in asked}
    return json.dumps({**fitting(request["response_format"]["json_schema"]["schema"]), **best})


RULES.insert(0, of_a_turn)

if __name__ == "__main__":
    main()
