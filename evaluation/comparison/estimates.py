"""What an evaluation will cost, before it does: by what was measured in it so far, else by a guess that says so."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.contestants import contestant
from dramaturg.evaluation.comparison.external import PACKAGES
from dramaturg.evaluation.comparison.interviews import Interview, Inventory, Left, held
from dramaturg.evaluation.comparison.records import Records, Reply
from dramaturg.evaluation.comparison.run import Evaluation, unanswered, unheld, wanted_measures
from dramaturg.evaluation.interviews.state import InterviewOutput
from dramaturg.evaluation.judging.measures import is_measured, may_apply
from dramaturg.evaluation.judging.scales import UNJUDGED
from dramaturg.models.clients import slots
from dramaturg.nodes.run import AT_ONCE
from dramaturg.workflows.methods import preparations
from dramaturg.workflows.settings import with_settings

CALLS: Mapping[str, int] = {
    "amadeus": 18,
    "role-rag": 3,
    "emotional-rag": 3,
    "drmr": 3,
    "id-rag": 2,
    "id-rag-ours": 3,
    "generative-agents": 2,
    "crag": 13,
    "ensemble": 28,
    "ensemble-without-passages": 9,
    **dict.fromkeys(
        ("vanilla", "profile", "naive-rag", "ordinary-rag", "full-retrieval", "graph-rag-local", "role-gpt"), 1
    ),
}
"""Calls of a reply while nothing is known, by the beginning of a method's name. They were counted over five questions
to Beethoven, with an endpoint that answers yes to 5 % and to 20 % of the yes-or-no questions. AMADEUS made 6 to 32
calls, CRAG 13 to 16, and the ensemble 17 to 40: these have a number in the middle. The others made the same number for
each question; DRMR makes more where it revises."""
OTHERS = 3
"""Calls of a reply of other methods, while nothing is known."""
A_CALL = (1.0, 1000.0, 10.0)
"""A call, its tokens and its seconds, while nothing is known."""
JUDGED = (2.0, 1000.0, 10.0)
"""The same of a judgement."""
ONE_LINE = (1.0, 800.0, 10.0)
"""The same of a line of a simulated user."""
NO_MODEL = "no model is asked"
GUESSED = "a guess: a run with --limit 1 measures it"
BY_METHOD = "a guess: each method's usual number of calls for a reply; a run with --limit 1 measures it"
UNMEASURED = "a guess: no interview is over yet"
Price = tuple[float, float, float]
"""Calls, tokens and seconds."""
NOTHING: Price = (0.0, 0.0, 0.0)


class Estimate(NamedTuple):
    """What is left of one kind of work, and what it costs."""

    what: str
    left: int
    done: int
    calls: float
    tokens: float
    seconds: float
    basis: str
    """What the numbers are taken from."""


class HeardInterview(NamedTuple):
    """An interview that is over, with what its replies and its judgements have cost."""

    interview: Interview
    output: InterviewOutput
    replies: Price
    judgements: Price


ASKED = (300.0, 20.0)
"""Tokens of a prompt besides the text, and seconds of a question, while nothing is known."""
LETTERS = 3
"""Characters of a text to a token, rather too few."""


def estimated(evaluation: Evaluation, known: Records) -> list[Estimate]:
    """Return what is left to be asked of each contestant, by each metric, and by each inventory."""
    return [*of_replies(evaluation, known), *of_interviews(evaluation, known)]


def of_replies(evaluation: Evaluation, known: Records) -> Iterator[Estimate]:
    """What is left of replies and of their measures: replies that are not there yet are measured once by each judge."""
    plan = evaluation.plan
    if not plan.metrics:
        return
    turns, speaker = evaluation.settings.concurrency or AT_ONCE, evaluation.settings.chat_model
    wanted = {one.key: one for one in evaluation.asked}
    unasked = unanswered(evaluation.asked, known).values()
    left, all_of = [one.contestant.name for one in unasked], [one.contestant.name for one in wanted.values()]
    for name in plan.methods:
        had = replies_of(name, known)
        basis = f"{len(had)} replies of this run" if had else BY_METHOD
        each = (
            side_by_side(mean_of(had), turns) if had else side_by_side(guess(name), min(turns, slots(speaker) or turns))
        )
        yield priced(f"replies of {name}", left.count(name), all_of.count(name) - left.count(name), each, basis)
    for name in dict.fromkeys(all_of):
        if name not in plan.methods:  # the floor and the ceiling
            done = all_of.count(name) - left.count(name)
            yield priced(f"replies of {name}", left.count(name), done, NOTHING, NO_MODEL)
    if lines := [one for one in unasked if one.question.talk and one.question.talk.kind == "user"]:
        yield priced("lines of the simulated user", len(lines), 0, ONE_LINE, GUESSED)
    tasks = {one.key: one for one in wanted_measures(evaluation, known) if may_apply(one.metric, one.question)}
    over = {key for key in tasks if key in known.judged and not known.judged[key].error}
    waiting = [one.metric for key, one in tasks.items() if key not in over]
    for metric in plan.metrics:
        done = sum(tasks[key].metric == metric for key in over)
        later = sum(is_measured(metric, one.contestant.name) and may_apply(metric, one.question) for one in unasked)
        if metric in UNJUDGED:
            yield priced(metric, waiting.count(metric) + later, done, NOTHING, NO_MODEL)
        else:
            to_judge = waiting.count(metric) + later * max(len(plan.judges), 1)
            judge = next(iter(evaluation.settings.judges), speaker)
            yield priced(metric, to_judge, done, side_by_side(JUDGED, min(turns, slots(judge) or turns)), GUESSED)


def side_by_side(each: Price, turns: int) -> Price:
    """What one costs of those that are asked for at once, each of which waits for the others in its seconds."""
    calls, tokens, seconds = each
    return calls, tokens, seconds / turns


def guess(contestant: str) -> Price:
    """What a reply of a method costs while nothing is known."""
    method, _ = with_settings(contestant)
    begun = [name for name in CALLS if method == name or method.startswith(f"{name}-")]
    return times(A_CALL, CALLS[max(begun, key=len)] if begun else OTHERS)


def replies_of(contestant: str, known: Records) -> list[Reply]:
    """The replies of a contestant that came."""
    return [one for one in known.replies.values() if one.contestant == contestant and not one.error]


def of_interviews(evaluation: Evaluation, known: Records) -> Iterator[Estimate]:
    """What is left of interviews: a line for the items of each inventory, and one for their judgements."""
    plan, left = evaluation.plan, unheld(evaluation)
    over = [(one, output) for one in plan.interviews if (output := held(evaluation.folder, one))]
    heard = []
    for one, output in over:
        replies = added(*(spent(record["usage"]) for record in output["records"]))
        heard.append(HeardInterview(one, output, replies, added(spent(output["usage"]), times(replies, -1))))
    for inventory in plan.inventories:
        of = {one.key: one for one in plan.interviews if one.inventory == inventory.metric}
        waiting = [(of[key], there) for key, there in left.items() if key in of]
        yield of_items(inventory, len(of), waiting, heard, known)
        yield of_judgements(inventory, len(of), [there for _, there in waiting], heard)


def of_items(
    inventory: Inventory,
    number: int,
    waiting: Sequence[tuple[Interview, Left]],
    heard: Sequence[HeardInterview],
    known: Records,
) -> Estimate:
    """The items of an inventory, each by what its method's have cost: in interviews, else in replies."""
    cost, left, bases = NOTHING, 0, set[str]()
    for one, there in waiting:
        each, basis = cost_of_item([of for of in heard if of.interview.contestant == one.contestant], one, known)
        cost, left = added(cost, times(each, there.items)), left + there.items
        bases.add(basis)
    what = f"items of {inventory.name} in interviews"
    return Estimate(what, left, inventory.items * number - left, *cost, "; ".join(sorted(bases)))


def cost_of_item(heard: list[HeardInterview], one: Interview, known: Records) -> tuple[Price, str]:
    """What an item costs by a method, and by what that is known."""
    items = sum(len(of.output["records"]) for of in heard)
    if items:
        return times(added(*(of.replies for of in heard)), 1 / items), "interviews of this run"
    had = replies_of(one.contestant, known)
    return (mean_of(had), "replies of this run") if had else (guess(one.contestant), UNMEASURED)


def of_judgements(
    inventory: Inventory, number: int, waiting: Sequence[Left], heard: Sequence[HeardInterview]
) -> Estimate:
    """The judgements of an inventory's dimensions, each by what they have cost in interviews."""
    left = sum(one.judgements for one in waiting)
    had = sum(len(one.output["judgements"]) for one in heard)
    each = times(added(*(one.judgements for one in heard)), 1 / had) if had else JUDGED
    basis = "interviews of this run" if had else UNMEASURED
    what = f"judgements of {inventory.name} in interviews"
    return priced(what, left, inventory.judgements * number - left, each, basis)


def spent(usage: Mapping[str, Any]) -> Price:
    """What is counted in an account, over all nodes."""
    return added(
        *(
            (float(one["calls"]), float(one["prompt_tokens"] + one["completion_tokens"]), one["seconds"])
            for one in usage.values()
        )
    )


def added(*costs: Price) -> Price:
    """Costs together."""
    calls, tokens, seconds = (sum(part) for part in zip(NOTHING, *costs, strict=True))
    return calls, tokens, seconds


def times(cost: Price, number: float) -> Price:
    """A multiple of a cost."""
    calls, tokens, seconds = (number * one for one in cost)
    return calls, tokens, seconds


def priced(what: str, left: int, done: int, each: Price, basis: str) -> Estimate:
    """An estimate by what one costs."""
    calls, tokens, seconds = (left * one for one in each)
    return Estimate(what, left, done, calls, tokens, seconds, basis)


def mean_of(had: Sequence[Reply]) -> Price:
    """What a reply has cost, in the mean."""
    return fmean(one.calls for one in had), fmean(one.tokens for one in had), fmean(one.seconds for one in had)


async def of_indexes(evaluation: Evaluation) -> list[Estimate]:
    """Return what is still to be asked for the index of each method; a method that only embeds has no line.

    Methods that share answers, such as `role-rag` and `graph-rag-local`, are each told as if the other were not there.
    """
    found = []
    for name in evaluation.plan.methods:
        one = contestant(name)
        if one.method in PACKAGES:
            continue
        contexts = [one.context(evaluation.settings, role, seed=0) for role in evaluation.plan.roles]
        made = [index for context in contexts for index in preparations(one.method, context).values() if index.asks]
        costs = [await index.cost({}) for index in made]
        if left := sum(cost.questions for cost in costs):
            more = "; ".join(dict.fromkeys(cost.later for cost in costs if cost.later))
            basis = f"a guess: in the index of {name} {more}" if more else "a guess"
            prompt, seconds = ASKED
            each = (1.0, prompt + sum(cost.characters for cost in costs) / LETTERS / left, seconds)
            done = sum(cost.there - cost.questions for cost in costs)
            found.append(priced(f"index of {name}", left, done, each, basis))
    return found
