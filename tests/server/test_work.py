"""What a listener is told of a change of a role: how far it is, also between the last two looks, and its end."""

import asyncio
import json
from typing import Any

from dramaturg.server.work import LOOKS, Work
from dramaturg.workflows.methods import Show


async def test_how_far_it_came_at_last_is_told_before_its_end() -> None:
    async def doing(show: Show) -> dict[str, Any]:
        show("drafts", 1, 2)
        await asyncio.sleep(3 * LOOKS)
        show("drafts", 2, 2)
        return {"role": "mira"}

    lines = [line.removeprefix("data: ").strip() async for line in Work("cast", doing).news()]
    assert lines.pop() == "[DONE]"
    told = [json.loads(line) for line in lines]
    assert [(one["object"], one.get("done")) for one in told][-3:] == [("progress", 1), ("progress", 2), ("done", None)]
    assert told[-1]["role"] == "mira"
