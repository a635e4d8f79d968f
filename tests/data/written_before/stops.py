"""How stops.sqlite was made: a turn of each method, with the checkpoint of every step, as if it had stopped there.

This was run once, on the last version before channels and nodes were renamed, beside make.py and on its library:

    LANGGRAPH_STRICT_MSGPACK=true PYTHONPATH=tests/support python stops.py FOLDER  # with its library in it

Do not run it again; see make.py.
"""

import asyncio
import json
import os
import re
import sys
from itertools import cycle
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from test_written_before import STOPS, Words

from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows.methods import chat_graph, context_type

import stub_endpoint
from fakes import ScriptedChatModel
from roles import mood, said

TALK = [("human", "Who are you?"), ("ai", "Ada."), ("human", "Is Tom afraid of storms?")]
SCOPE = {"name": "Tom Quill", "type": "character", "reason": "He is near.", "relevant": True, "level": "specific"}
ATTRIBUTES = {"belief_and_value": [{"attribute": "She is firm.", "passage": 1}], "psychological_traits": []}
SCRIPT = {
    r"What to look up of": json.dumps({"high_priority": ["values"], "medium_priority": [], "keywords": []}),
    r"(feels in it|What speaks from it), as JSON": mood(joy=8),
    r"The attributes of": json.dumps(ATTRIBUTES),
    r"In words that can be understood alone": "Is Tom Quill afraid of storms?",
    r"The entities as JSON": json.dumps({"entities": [SCOPE]}),
    r"How well the line fits": json.dumps({"reason": "so it seems", "score": 2}),
    r"How much these two matter in the scene": json.dumps({"reason": "so it seems", "score": 5}),
    r"how I, Ada Quill, stand to": "I have known him for long.",
    r"The new notes": "They spoke of storms.",
    r"yes or no:$": "yes",
}


WEIGHED = cycle([1, 0])


def answered(messages: Any) -> str:
    """Play every part; the verifier holds each draft to be wrong, the gate the first one."""
    if "Which fact the line goes against" in said(messages):
        return json.dumps({"reason": "so it seems", "statement": next(WEIGHED)})
    lines = [line for line in said(messages).splitlines() if line.strip() and not line.startswith("{")]
    return next((text for pattern, text in SCRIPT.items() if re.search(pattern, " ".join(lines[-2:]))), "I keep it.")


async def write(folder: Path) -> None:
    """Take all the turns."""
    kinds = {"human": HumanMessage, "ai": AIMessage}
    async with ConversationSaver.open(folder / "stops.sqlite") as saver:
        for thread, (method, settings) in STOPS.items():
            context = context_type(method)(role="ada", library=str(folder / "library"), **settings)
            graph = chat_graph(method).compile(checkpointer=saver, store=InMemoryStore())
            messages = [kinds[kind](text, id=f"m-{at}") for at, (kind, text) in enumerate(TALK)]
            config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": 100}
            output = await graph.ainvoke({"messages": messages}, config, context=context)
            assert output["messages"][-1].text == "I keep it."
            if method == "id-rag" and settings.get("changes_of_mind") == 0:
                next(WEIGHED)


if __name__ == "__main__":
    with stub_endpoint.endpoint() as stub:
        stub_endpoint.WordEmbeddings = Words  # type: ignore[misc]
        stub.model = ScriptedChatModel(reply=answered)
        os.environ.update(stub.variables())
        asyncio.run(write(Path(sys.argv[1])))
