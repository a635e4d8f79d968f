"""How many questions a server has at once is found out, and whoever waits is let in in turns."""

import asyncio
import threading
from collections import Counter
from contextlib import AsyncExitStack, suppress

import pytest
from langchain_core.messages import HumanMessage

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.clock import TurnClock
from dramaturg.models.errors import ModelUnavailable
from dramaturg.models.questions import decide, write
from dramaturg.models.servers import pace
from dramaturg.models.servers.pace import BEGIN, Pace, Urgency, unhurried

from fakes import scripted
from stub_endpoint import endpoint

ASKED = [HumanMessage("Who are you?")]


class Server:
    """Takes so many requests at once, each for as long as it takes others to come, and refuses more."""

    def __init__(self, allows: int) -> None:
        self.allows, self.inside, self.refused, self.answered = allows, 0, 0, 0

    async def ask(self, pace: Pace, talk: int, urgency: Urgency = 1) -> bool:
        async with pace.place(urgency, talk) as place:
            self.inside += 1
            try:
                if self.inside > self.allows:
                    self.refused += 1
                    place.heed(too_many=True)
                    return False
                for _ in range(5):
                    await asyncio.sleep(0)
            finally:
                self.inside -= 1
            self.answered += 1
            place.heed(too_many=False)
            return True


async def asked(server: Server, pace: Pace, questions: int, at_once: int = 40) -> None:
    """So many questions, many of which wait at any time."""
    left = iter(range(questions))

    async def work(talk: int) -> None:
        for _ in left:
            while not await server.ask(pace, talk):
                pass

    await asyncio.gather(*(work(talk) for talk in range(at_once)))


async def test_what_a_server_allows_is_found_kept_to_and_found_again_when_it_allows_more() -> None:
    server, own = Server(7), Pace()
    await asked(server, own, 30)
    assert own.most in (4, 5, 6, 7)
    server.refused, before = 0, server.answered
    await asked(server, own, 2_000)
    assert own.most in (7, 8)
    assert server.refused <= 5  # after 100, 200, 400, … answers
    server.allows = 20
    await asked(server, own, 3_000)
    assert 15 <= own.most <= 21
    server.refused, before = 0, server.answered
    await asked(server, own, 2_000)
    assert server.refused < 0.02 * (server.answered - before)


async def test_of_a_server_that_takes_all_twice_as_many_are_asked_after_each_round() -> None:
    server, own = Server(1_000), Pace()
    await asked(server, own, 7 * BEGIN, at_once=7 * BEGIN)  # after eight, and sixteen, and thirty-two
    assert own.most >= 4 * BEGIN


async def test_those_who_were_sent_together_tell_of_too_many_once() -> None:
    own = Pace()
    async with AsyncExitStack() as stack:
        for place in [await stack.enter_async_context(own.place(1, talk)) for talk in range(BEGIN)]:
            place.heed(too_many=True)
    assert own.most == BEGIN // 2


async def test_no_more_are_let_in_than_ever_asked_at_once() -> None:
    own = Pace()
    for _ in range(200):
        async with own.place(1, "a talk") as place:
            place.heed(too_many=False)
    assert own.most == BEGIN


@pytest.mark.parametrize("too_many", [True, False])
async def test_where_it_is_known_how_many_there_are_nothing_changes_it(too_many: bool) -> None:
    own = Pace(fixed=2)
    for _ in range(10):
        async with own.place(1, "one"), own.place(1, "other") as place:
            place.heed(too_many=too_many)
    for _ in range(20):
        own.note_short(0.1)
        own.note_short(9.0)
    assert own.most == 2


async def test_a_talk_that_has_a_question_inside_comes_after_one_that_has_none() -> None:
    own, came = Pace(), list[str]()
    own.most = 2

    async def ask(talk: str) -> None:
        async with own.place(1, talk):
            came.append(talk)

    async with own.place(1, "a"):  # which was let in before the other, and stays
        async with own.place(1, "b"):
            waits = [asyncio.create_task(ask(talk)) for talk in ("a", "b")]
            await asyncio.sleep(0)
        await asyncio.gather(*waits)
    assert came == ["b", "a"]


async def test_short_answers_that_become_slow_say_that_they_wait_inside_the_server() -> None:
    own = Pace()
    own.most = 64
    own.note_short(0.1)
    for _ in range(100):
        own.note_short(0.3)
    assert own.most == 64
    for _ in range(15):
        own.note_short(0.9)
    assert own.most == 32
    for _ in range(200):
        own.note_short(0.9)
    assert own.most == pace.LEAST_WHEN_SLOW


async def order(own: Pace, waiting: list[tuple[Urgency, str]]) -> list[str]:
    """In which order those who wait are let in, one at a time."""
    own.most, came = 1, list[str]()

    async def ask(urgency: Urgency, talk: str) -> None:
        async with own.place(urgency, talk):
            came.append(talk)
            await asyncio.sleep(0)

    async with own.place(1, "first"):
        tasks = []
        for one in waiting:
            tasks.append(asyncio.create_task(ask(*one)))
            await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    return came


async def test_talks_take_turns_and_what_is_waited_for_goes_ahead() -> None:
    many: list[tuple[Urgency, str]] = [(1, "a"), (1, "a"), (1, "a"), (1, "b"), (1, "c"), (1, "b")]
    assert await order(Pace(), many) == ["a", "b", "c", "a", "b", "a"]
    mixed: list[tuple[Urgency, str]] = [(2, "index"), (1, "judge"), (0, "reply")]
    assert await order(Pace(), mixed) == ["reply", "judge", "index"]


async def test_what_nobody_waits_for_has_few_places_beside_others_and_all_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, inside, goes_on = Pace(), Counter[int](), asyncio.Event()
    own.most = 20

    async def ask(urgency: Urgency, talk: int) -> None:
        async with own.place(urgency, talk):
            inside[urgency] += 1
            await goes_on.wait()
            await asyncio.sleep(0)
            inside[urgency] -= 1

    async def settled() -> list[int]:
        for _ in range(5):
            await asyncio.sleep(0)
        return [inside[0], inside[2]]

    async with asyncio.TaskGroup() as tasks:
        for at in range(60):
            tasks.create_task(ask(2, at))
        assert await settled() == [0, 20]
        reply = tasks.create_task(ask(0, -1))
        goes_on.set()
        await reply
        goes_on.clear()
        assert await settled() == [0, pace.ASIDE]
        own.most = 6
        goes_on.set()
        await settled()
        goes_on.clear()
        assert await settled() == [0, 3]
        monkeypatch.setattr(pace, "AROUND", 0.0)
        own.most = 20
        reply = tasks.create_task(ask(0, -1))
        goes_on.set()
        await asyncio.sleep(0)
        goes_on.clear()
        assert await settled() == [1, pace.ASIDE]  # who asked is still there
        goes_on.set()
        await reply
        goes_on.clear()
        assert (await settled())[1] > pace.ASIDE
        goes_on.set()


async def test_who_goes_away_leaves_the_queue_and_takes_no_place() -> None:
    own = Pace()
    own.most = 1
    async with own.place(1, "first"):
        waits = asyncio.create_task(own.place(1, "second").__aenter__())
        await asyncio.sleep(0)
        waits.cancel()
        with suppress(asyncio.CancelledError):
            await waits
    async with asyncio.timeout(5), own.place(1, "third"):
        pass


def test_loops_in_threads_share_the_places() -> None:
    own, inside, most = Pace(), Counter[str](), Counter[int]()
    own.most = 3
    lock = threading.Lock()

    async def ask(talk: int) -> None:
        async with own.place(1, talk):
            with lock:
                inside["now"] += 1
                most[inside["now"]] += 1
            await asyncio.sleep(0.001)
            with lock:
                inside["now"] -= 1

    async def many() -> None:
        await asyncio.gather(*(ask(talk) for talk in range(20)))

    threads = [threading.Thread(target=asyncio.run, args=[many()]) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert max(most) == 3
    assert sum(most.values()) == 80


async def test_models_at_one_address_share_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint() as stub:
        for name, value in stub.variables().items():
            monkeypatch.setenv(name, value)
        await write(one := chat_model("one"), ASKED)
        await write(other := chat_model("other"), ASKED)
        assert one.shared.pace is other.shared.pace
        assert one.at_once == one.shared.pace.most
        assert chat_model("one", concurrency=2).at_once == 2


async def test_short_answers_are_timed_and_texts_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    timed: list[float] = []
    monkeypatch.setattr(Pace, "note_short", lambda _, seconds: timed.append(seconds))
    await write(chat_model(scripted("Ada.")), ASKED)
    assert timed == []
    await decide(chat_model(scripted("yes")), ASKED)
    assert len(timed) == 1


async def test_a_refusal_of_another_provider_s_model_is_heeded_too() -> None:
    asked = chat_model(scripted(ModelUnavailable("429"), "Ada."))
    with pytest.raises(ModelUnavailable):
        await write(asked, ASKED)
    assert asked.shared.pace.most < BEGIN
    assert await write(asked, ASKED) == "Ada."


@pytest.mark.parametrize(
    ("seconds", "replies", "quietly", "urgency"),
    [(60.0, True, False, 0), (60.0, False, False, 1), (60.0, True, True, 2), (float("inf"), True, False, 2)],
)
async def test_a_reply_goes_before_its_evidence_and_indexing_comes_last(
    seconds: float, replies: bool, quietly: bool, urgency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[int] = []
    place = Pace.place
    monkeypatch.setattr(Pace, "place", lambda self, how, talk: came.append(how) or place(self, how, talk))
    plain = chat_model(scripted("yes"))
    asked = ChatModel(**{**vars(plain), "clock": TurnClock(seconds), "replies": replies})
    token = unhurried.set(quietly)
    try:
        await decide(asked, ASKED)
    finally:
        unhurried.reset(token)
    assert came == [urgency]
