"""An interview that is kept: its checkpoints let it go on, its file holds all that was said and judged."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from dramaturg.evaluation.instruments.instrument import Instrument
from dramaturg.evaluation.interviews.asking import items_of, respondent_context
from dramaturg.evaluation.interviews.graph import build
from dramaturg.evaluation.interviews.scores import result_of
from dramaturg.evaluation.interviews.state import InterviewContext, InterviewOutput, Judging, described, instrument_of
from dramaturg.evaluation.metrics.alignment import split_batches
from dramaturg.stores.conversations.kept_run import checkpoints_of, kept_run, refuse_other_run
from dramaturg.stores.files import write_bytes
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.file import ConversationFile
from dramaturg.workflows.server import graph_of, open_server

HEAD: RunnableConfig = {"configurable": {"thread_id": "interview", "checkpoint_ns": ""}}
STAGES = {"ask": "replies", "judge": "judgements"}
"""The nodes that ask a model, each with what it adds to."""
SCORING = ("tie", "refusals")
"""Settings that change scores, and nothing that is asked."""
AnnounceCalls = Callable[[str, int], None]
"""Is told the name of a node that asked a model, and how many calls it made."""


async def interviewed(
    context: InterviewContext, file: Path, announce: AnnounceCalls = lambda node, calls: None
) -> InterviewOutput:
    """Hold an interview to its end, from the beginning or from where it stopped, and write it down.

    Each reply and each judgement is checkpointed when it is there, and the steps inside a reply are too: after a kill
    only what was under way is asked again. An interview that is over asks nothing. A reply or a judgement that is
    missing stays so: to try again, take another file.

    Args:
        context: how it is to be done.
        file: where it is written, as one JSON object; its checkpoints lie beside it.
        announce: is told the name of the node, "ask" or "judge", and its calls, for each reply and judgement that is
            there; what it raises stops the interview, which the same call goes on with.

    Raises:
        Busy: another program holds it.
        ValueError: the file is that of another interview, or cannot be there.
        ModelError: the model cannot be reached or refuses every question; the same call goes on.
    """
    wanted = await described(context)
    async with AsyncExitStack() as stack:
        file, saver = await stack.enter_async_context(kept_run(file, "holds", "--out"))
        if context.server:
            there = await stack.enter_async_context(open_server(context.server))
            name, own = context.respondent.name, respondent_context(context)
            await there.require(context.role, {graph_of(name): (context.respondent.builder, own)})
            await there.prepare(name, own)  # else every item would begin with it
            context = context.model_copy(update={"method": there.flow(name, "answer")})
        graph = build().compile(saver)
        begun: dict[str, Any] = (await graph.aget_state(HEAD)).values
        if begun.get("about"):
            asked = {name: value for name, value in wanted.items() if name not in SCORING}
            refuse_other_run(file, begun["about"], asked, "--out")
        given: Any = None if begun else {}
        parts: Any = graph.astream(given, HEAD, context=context, stream_mode="updates", durability="sync")
        async with aclosing(parts):  # stopped by `announce`, it keeps what is there before the checkpoints are closed
            async for part in parts:
                # What came just before the interview stopped is streamed once more.
                for node in part.keys() & STAGES.keys() if "__metadata__" not in part else ():
                    announce(node, sum(used["calls"] for used in part[node]["usage"].values()))
        kept: dict[str, Any] = (await graph.aget_state(HEAD)).values
        records, judgements = kept["records"], kept.get("judgements") or []
        result = await result_of(context, records, judgements)  # another rule for ties needs no new interview
        output = InterviewOutput(**result, about=wanted, records=records, judgements=judgements, usage=kept["usage"])
        text = json.dumps(output, ensure_ascii=False, indent=1) + "\n"
        await asyncio.to_thread(write_bytes, file, text.encode(errors="surrogatepass"), within=file.parent)
    return output


def read_interview(file: Path) -> InterviewOutput:
    """Read what `interviewed` wrote; `scores.scored` makes its scores again."""
    try:
        output = json.loads(file.read_text(encoding="utf-8"))
        missing = InterviewOutput.__annotations__.keys() - output.keys()
    except (OSError, ValueError, AttributeError) as error:
        raise ValueError(f"{file.name} cannot be read as an interview: give a file of dramaturg interview.") from error
    if missing:
        raise ValueError(f"{file.name} has no {min(missing)!r}: give a file that dramaturg interview wrote.")
    return cast("InterviewOutput", output)


async def questions(context: InterviewContext) -> dict[str, int]:
    """Count the questions of an interview, re-asks left out, where every reply comes.

    `replies` is the number of turns of the method, which asks its model once or more often in each.
    """
    instrument = await instrument_of(context)
    return asked_by(instrument, limit=context.limit, judging=context.judging, repeats=context.repeats)


def asked_by(
    instrument: Instrument, *, limit: int = 0, judging: Judging = "expert_rating", repeats: int = 1
) -> dict[str, int]:
    """How many questions an interview by an instrument asks; see `questions`."""
    items = items_of(instrument, limit)
    sizes = [sum(item.dimension == one.name for item in items) for one in instrument.dimensions]
    batches = [len(split_batches(size)) for size in sizes if size]
    each = {"expert_rating": sum(batches), "option_conversion": len(items), "self_report": 0}[judging]
    return {"items": len(items), "replies": len(items), "judgements": each * repeats}


def so_far(file: Path) -> dict[str, int]:
    """How many replies ("ask") and judgements ("judge") an interview has so far; 0 of each where it was not begun."""
    if not (checkpoints := checkpoints_of(file)).exists():
        return dict.fromkeys(STAGES, 0)
    store = ConversationFile(checkpoints)
    try:
        store.open().result()
        head = ConversationSaver(store).get_tuple(HEAD)
    finally:
        store.close().result()
    values: dict[str, Any] = head.checkpoint["channel_values"] if head else {}
    written = [channel for _, channel, _ in (head and head.pending_writes) or []]
    return {node: len(values.get(kind) or []) + written.count(kind) for node, kind in STAGES.items()}
