"""What DRMR's tokens go into, turn by turn (DRMR 6.3, Figure 4), and how many a talk takes (Table 3)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, cast

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, ConfigDict, Field

from dramaturg.evaluation.metrics.intervals import POSITIVE, SHARE
from dramaturg.nodes.run import RoleContext
from dramaturg.stores.role import Role
from dramaturg.workflows import drmr, drmr_index, role_gpt
from studies.splitters import answerable
from studies.study import (
    Bench,
    Cell,
    MarkedRelation,
    Study,
    StudyCost,
    StudyFindings,
    StudyTable,
    few,
    gold,
    marked,
    over_roles,
)

Module = Literal["construction", "response", "revision"]
MODULES: tuple[Module, ...] = ("construction", "response", "revision")
CONSTRUCTION = ("score_edges", "build_memory")
CHECK = "verify"
"""With it the revision of a reply begins, whether or not the reply passes."""
LAST: Mapping[str, Module] = {"condense_memory": "construction", "summarize": "response"}
"""What comes after the reply."""
PUBLISHED = {"RoleGPT": (24_000, 62_000), "DRMR": (46_000, 86_000)}
"""Tokens of a dialogue in Table 3: of all, and of those with more than 20 turns."""


class DrmrTokensSettings(BaseModel):
    """How long the talks are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: int = Field(default=8, ge=1, le=100, description="Turns of the talk with each role.")


class SpentTurn(NamedTuple):
    """The tokens of one turn by module."""

    role: str
    turn: int
    """From 1."""
    construction: int
    response: int
    revision: int
    baseline: int
    """What RoleGPT takes for the same turn, in a talk of its own."""


async def records(bench: Bench) -> list[SpentTurn]:
    """Talk with each role as the first of its marked users, and count what each node asks."""
    own = DrmrTokensSettings.model_validate(dict(bench.settings))
    found: list[SpentTurn] = []
    for name, (relation, *_) in marked(gold().relations, bench.roles).items():
        await drmr_index.graph.ainvoke({}, context=bench.context(drmr_index.DrmrIndexContext, name))
        related = bench.context(drmr.DrmrContext, name, user_role=relation.user, rules="paper")
        plain = bench.context(role_gpt.RoleGptContext, name, user_role=relation.user, rules="paper")
        graphs = (drmr.build().compile(InMemorySaver()), related), (role_gpt.build().compile(InMemorySaver()), plain)
        told = bench.told(f"drmr-tokens, {name}", own.turns)
        for turn, line in enumerate(lines_of(bench.role(name), relation, own.turns), 1):
            spent, baseline = [spent_by(await steps_of(graph, context, line)) for graph, context in graphs]
            construction, response, revision = (spent[module] for module in MODULES)
            found.append(SpentTurn(name, turn, construction, response, revision, baseline.total()))
            told.step()
    return found


async def steps_of(graph: Any, context: RoleContext, line: str) -> list[Mapping[str, Any]]:
    """Take a turn of the talk of a role, and give what each node has written."""
    given: Any = {"messages": [HumanMessage(line)]}
    config: Any = {"configurable": {"thread_id": context.role}}
    stream = graph.astream(given, config, context=context, stream_mode="updates")
    return [cast("Mapping[str, Any]", step) async for step in stream]


def lines_of(role: Role, relation: MarkedRelation, turns: int) -> list[str]:
    """What the user says: the questions that are marked as this user's, and then the role's own in scope."""
    own = (one.question for one in answerable(role))
    return list(islice(chain(relation.questions, own), turns))


def spent_by(steps: Iterable[Mapping[str, Any]]) -> Counter[Module]:
    """The tokens of a turn by module: what follows the first check of a draft is revision, and so is the check."""
    found = Counter[Module]()
    checked = False
    for step in steps:
        for node, written in step.items():
            checked = checked or node == CHECK
            before: Module = "construction" if node in CONSTRUCTION else "response"
            module = LAST.get(node, "revision" if checked else before)
            told = (written or {}).get("usage")
            for usage in told.values() if isinstance(told, Mapping) else ():  # the first node wipes it
                found[module] += usage["prompt_tokens"] + usage["completion_tokens"]
    return found


def findings(records: Sequence[SpentTurn]) -> StudyFindings:
    """The numbers."""
    last = max(one.turn for one in records)
    return StudyFindings(
        (share_rows(records, last), talk_rows(records, last)),
        how=(
            "One user of each role (`gold/relations.yaml`) asks the marked questions and then the role's own, in one "
            "talk with DRMR by the rules of its paper. The dialogues are indexed before; nothing of that is counted.",
            "Construction: scores of edges, records of the role memory, and their merging. Response: the first draft, "
            "and a summary where the window is full. Revision: each verification, and what follows it in a turn, "
            "records among it.",
            "RoleGPT answers the same lines in a talk of its own. A talk is counted whole: what is asked once for all "
            "of it, such as edges, weighs the less, the longer it is.",
        ),
        limits=(
            "Tokens are those of this model; the paper's are of gpt-3.5-turbo on CharacterEval. Edges that were scored "
            "in an earlier run of the study are not asked again: delete its folder to count them.",
            f"The paper's dialogues have other lengths than {last} turns; those that it calls long have more than 20. "
            "Its lines come from a data set, whatever is replied: here each method goes on from its own replies.",
            "Turns of one talk depend on each other, so intervals are over roles.",
            few(len({one.role for one in records})),
        ),
    )


def share_rows(records: Sequence[SpentTurn], last: int) -> StudyTable:
    """Tokens of a turn, and the share of each module in them, by turns that double in number."""
    rows: list[tuple[Cell, ...]] = []
    first = 1
    while first <= last:
        end = min(2 * first - 1, last)
        of = [one for one in records if first <= one.turn <= end]
        spent = {role: summed(one for one in of if one.role == role) for role in dict.fromkeys(one.role for one in of)}
        whole = {role: sum(one.values()) for role, one in spent.items() if any(one.values())}
        a_turn = {role: [tokens / turns_of(of, role)] for role, tokens in whole.items()}
        shares = (
            over_roles({role: [spent[role][module] / tokens] for role, tokens in whole.items()}, SHARE)
            for module in MODULES
        )
        rows.append((f"{first}" if first == end else f"{first} to {end}", over_roles(a_turn, POSITIVE), *shares))
        first = end + 1
    return StudyTable("Share of each module in the tokens of a turn", ("turns", "tokens a turn", *MODULES), tuple(rows))


def talk_rows(records: Sequence[SpentTurn], last: int) -> StudyTable:
    """Tokens of a talk by method, beside those of the paper (Table 3)."""
    by_role = {
        name: [one for one in records if one.role == name] for name in dict.fromkeys(one.role for one in records)
    }
    whole = {role: float(sum(summed(of).values())) for role, of in by_role.items()}
    plain = {role: float(sum(one.baseline for one in of)) for role, of in by_role.items()}
    rows = [
        (name, over_roles({role: [tokens] for role, tokens in of.items()}, POSITIVE), *PUBLISHED[name])
        for name, of in (("RoleGPT", plain), ("DRMR", whole))
    ]
    times = over_roles({role: [tokens / plain[role]] for role, tokens in whole.items() if plain[role]}, POSITIVE)
    usual, long = (round(more / less, 2) for less, more in zip(PUBLISHED["RoleGPT"], PUBLISHED["DRMR"], strict=True))
    columns = ("method", f"tokens a talk of {last} turns", "paper: all", "paper: more than 20 turns")
    return StudyTable("Tokens of a talk, beside the paper's Table 3", columns, (*rows, ("ratio", times, usual, long)))


def summed(records: Iterable[SpentTurn]) -> dict[Module, int]:
    """The tokens of some turns."""
    turns = list(records)
    return {module: sum(getattr(one, module) for one in turns) for module in MODULES}


def turns_of(records: Sequence[SpentTurn], role: str) -> int:
    """How many turns of a role there are."""
    return sum(one.role == role for one in records)


def cost(bench: Bench) -> StudyCost:
    """How many turns it takes; what each asks hangs on the verdicts."""
    own = DrmrTokensSettings.model_validate(dict(bench.settings))
    turns = own.turns * len(marked(gold().relations, bench.roles))
    line = (
        f"drmr-tokens: {turns} turns of DRMR, and of RoleGPT; each of DRMR asks for a reply and its verification, and "
        "in early ones for more."
    )
    return StudyCost({"turns": turns, "least_calls": 3 * turns}, (line,))


STUDY = Study(
    "drmr-tokens",
    "What DRMR's tokens go into",
    records,
    findings,
    lambda bench: marked(gold().relations, bench.roles),
    settings=DrmrTokensSettings,
    cost=cost,
)
