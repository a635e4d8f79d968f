"""What the embedded model reads and writes in two turns of each method, by node, and how much of it it had read before.

`reused` is what the server took from prompts that it keeps, `begun` what the longest common beginning with any earlier
prompt would have given. What a role knows is indexed by a script; the turns are the model's, on settings as they are.

Run: python benchmarks/embedded_turns.py [--methods amadeus,drmr] [--least 90] [--each]
"""

import argparse
import asyncio
import json
import re
import tempfile
import time
import urllib.request
from collections import defaultdict
from itertools import pairwise, takewhile
from multiprocessing import get_context
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_openai.chat_models.base import _convert_message_to_dict
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console
from rich.table import Table

from dramaturg.models.local.embedded import serve
from dramaturg.testing import Rule, ScriptedChatModel
from dramaturg.testing.script import Call
from dramaturg.workflows.methods import flow

METHODS = ("amadeus", "role-rag", "emotional-rag", "id-rag", "drmr")
ASKED: dict[str, tuple[str, str]] = {
    "beethoven": ("What did you think of Haydn as a teacher?", "And what do you do when you are angry?"),
    "silver": ("Can I trust you now?", "And what became of the map?"),
}


class Read(NamedTuple):
    """A call: in which turn and node, and its tokens."""

    turn: int
    node: str
    prompt: int
    reused: int
    begun: int
    written: int
    seconds: float


class Reader(AsyncCallbackHandler):
    """Writes down each call of a turn."""

    def __init__(self, server: str) -> None:
        self.server = server.removesuffix("/v1")
        self.turn = 0
        self.calls: list[Read] = []
        self.prompts: list[list[int]] = []
        self.begun: dict[UUID, tuple[str, list[int], float]] = {}

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **more: Any
    ) -> None:
        """Keep the prompt as the model reads it."""
        said = [_convert_message_to_dict(one) for one in messages[0]]
        text = await asyncio.to_thread(self.ask, "apply-template", {"messages": said})
        tokens = await asyncio.to_thread(self.ask, "tokenize", {"content": text["prompt"], "parse_special": True})
        self.begun[run_id] = more["metadata"]["langgraph_node"], tokens["tokens"], time.monotonic()

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **more: Any) -> None:
        """Count its tokens."""
        node, tokens, began = self.begun.pop(run_id)
        message: Any = response.generations[0][0]
        used = message.message.usage_metadata
        reused = used.get("input_token_details", {}).get("cache_read", 0)
        begun = max((common(tokens, one) for one in self.prompts), default=0)
        self.prompts.append(tokens)
        spent = time.monotonic() - began
        self.calls.append(Read(self.turn, node, used["input_tokens"], reused, begun, used["output_tokens"], spent))

    def ask(self, what: str, body: dict[str, Any]) -> Any:
        """Ask the server for something that is no answer of the model."""
        request = urllib.request.Request(
            f"{self.server}/{what}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


def common(one: list[int], other: list[int]) -> int:
    """How many tokens two prompts begin with together."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def facts(call: Call) -> dict[str, Any]:
    """The names in a numbered text as entities, each with the sentence that names it, joined with the role."""
    found: dict[str, tuple[int, str]] = {}
    for number, sentence in re.findall(r"^\[?(\d+)[\].:]*\s*(.+)$", call.question, re.MULTILINE):
        for name in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*", sentence):
            found.setdefault(name, (int(number), sentence[:200]))
    entities = [
        {"name": name, "type": "other", "sentence": at, "description": said} for name, (at, said) in found.items()
    ][:12]
    relations = [
        {"source": one["name"], "target": other["name"], "sentence": one["sentence"],
         "description": one["description"], "strength": 5}
        for one, other in pairwise(entities)
    ]  # fmt: skip
    return {"entities": entities, "relations": relations}


SCRIPT = ScriptedChatModel(rules=[Rule("The entities and relations as JSON", facts)], decide=False)


def in_two_turns(method: str) -> list[Read]:
    """The calls of two turns: of a process of its own, whose server has read nothing."""
    reader = Reader(serve())
    with tempfile.TemporaryDirectory() as library:
        asyncio.run(two_turns(method, library, reader))
    return reader.calls


async def two_turns(method: str, library: str, reader: Reader) -> None:
    """Index the role, then take two turns."""
    found, role = flow(method), "silver" if method == "drmr" else "beethoven"
    given = {"role": role, "library": library, "deadline": 3600, "turn_deadline": 36_000}
    given |= {"user_role": "jim"} if method == "drmr" else {}
    context = found.context(**given, chat_model="embedded")
    for one in found.preparations(found.context(**given, chat_model=SCRIPT)).values():
        await one.graph.ainvoke({}, context=one.context)
    graph = found.builder.compile(InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}, "callbacks": [reader]}
    for reader.turn, text in enumerate(ASKED[role], start=1):
        await graph.ainvoke({"messages": [("user", text)]}, config, context=context)


def row(name: str, calls: list[Read]) -> list[str]:
    """The sums of some calls, of the first and of the second turn."""
    cells = [name]
    for turn in (1, 2):
        mine = [one for one in calls if one.turn == turn]
        prompt, reused = sum(one.prompt for one in mine), sum(one.reused for one in mine)
        begun = sum(one.begun for one in mine)
        shares = [f"{100 * one / prompt:.0f} %" if prompt else "" for one in (reused, begun)]
        cells += [str(len(mine)), str(prompt), *shares, str(sum(one.written for one in mine))]
    return cells


def main(methods: list[str], least: float, *, each: bool) -> None:
    """Print the tokens of each method by node; it fails where second turns reuse too little of what could be reused."""
    columns = [f"{what} {turn}" for turn in (1, 2) for what in ("calls", "prompt", "reused", "begun", "written")]
    everything = list[Read]()
    with get_context("spawn").Pool(1, maxtasksperchild=1) as process:
        for method, found in zip(methods, process.imap(in_two_turns, methods), strict=True):
            table, nodes = Table(method, *columns), defaultdict[str, list[Read]](list)
            for one in found:
                nodes[one.node].append(one)
                if each:
                    print(*one)
            for node, calls in nodes.items():
                table.add_row(*row(node, calls))
            table.add_row(*row("all", found), style="bold")
            Console().print(table)
            everything += found
    second = [one for one in everything if one.turn == 2]
    read, reused, begun = (sum(one[at] for one in second) for at in (2, 3, 4))
    shares = f"{100 * reused / read:.0f} % were reused, {100 * begun / read:.0f} % could be"
    print(f"Of {read} tokens in the prompts of second turns {shares}.")
    if reused < begun * least / 100:
        raise SystemExit(f"Less than {least:g} % of what could be reused was.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--least", type=float, default=90, help="percent reused of what could be, in second turns")
    parser.add_argument("--each", action="store_true", help="each call by itself, too")
    arguments = parser.parse_args()
    main(arguments.methods.split(","), arguments.least, each=arguments.each)
