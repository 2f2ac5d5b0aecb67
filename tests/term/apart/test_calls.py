"""Requests and answers stay in step, whoever is cancelled and whatever the other side says."""

from __future__ import annotations

import asyncio

import pytest

from cloche_term import SnapshotUnreadable, TerminalError, open_terminal
from cloche_term.apart.calls import Calls
from cloche_term.apart.frames import HEAD, SIZE, Kind, Status, frame, most_answered, state_of
from cloche_term.errors import TerminalLost
from cloche_term.terminal import MOST_ANSWER_BYTES
from tests.term.apart.workers import worker_of

STATE = state_of(open_terminal(3, 20, backend="bittty"), revision=0, cpu_s=0.25)


async def test_an_answer_comes_in_pieces() -> None:
    async with worker_of() as worker, asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(worker.calls.ask(Kind.FEED, b"x"))
        assert await worker.hear() == frame(Kind.FEED, b"x")
        answer = frame(Status.DONE, STATE + b"typed")
        await worker.say(answer[:3], answer[3:10], answer[10:])
        assert (await asked)[1] == b"typed"
        assert worker.calls.state is not None
        assert (worker.calls.state.rows, worker.calls.state.cols) == (3, 20)
        assert worker.calls.state.cpu_s == 0.25


async def test_nobody_is_believed_to_have_worked_for_longer_than_there_was_time() -> None:
    async with worker_of(patience_s=20) as worker, asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(worker.calls.ask(Kind.FEED, b"x"))
        await worker.hear()
        long = state_of(open_terminal(3, 20, backend="bittty"), revision=0, cpu_s=4000)
        await worker.say(frame(Status.DONE, long))
        await asked
        assert worker.calls.state is not None
        assert worker.calls.state.cpu_s == 20


async def test_the_answer_to_who_was_cancelled_is_given_to_nobody_else() -> None:
    async with worker_of() as worker, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(worker.calls.ask(Kind.FEED, b"1"))
        second = tasks.create_task(worker.calls.ask(Kind.FEED, b"2"))
        await worker.hear()
        first.cancel()
        await worker.say(frame(Status.DONE, STATE + b"one"), frame(Status.DONE, STATE + b"two"))
        assert (await second)[1] == b"two"
        assert first.cancelled()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(Status.REFUSED, ValueError), (Status.UNREADABLE, SnapshotUnreadable), (Status.FAILED, TerminalError)],
)
async def test_what_cannot_be_done_is_told_and_the_terminal_goes_on(
    status: Status, kind: type[Exception]
) -> None:
    async with worker_of() as worker, asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(_error_of(worker.calls))
        await worker.hear()
        await worker.say(frame(status, b"because"))
        error = await asked
        assert type(error) is kind
        assert str(error) == "because"
        assert worker.calls.lost is None


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (frame(9, b""), "not a valid Status"),
        (frame(Status.DONE, b"no state"), "without a state"),
        (frame(Status.FAILED, b"\x1b[2J"), "nobody can read"),
        (frame(Status.FAILED, b"x" * 1001), "nobody can read"),
        (HEAD.pack(Status.DONE, most_answered(Kind.FEED) + 1), "nobody has asked"),
        (frame(Status.DONE, STATE + bytes(MOST_ANSWER_BYTES + 1)), "for FEED"),
    ],
    ids=["no status", "no state", "controls", "a tale", "too long", "more than is answered"],
)
async def test_an_answer_that_is_none_loses_the_worker(answer: bytes, why: str) -> None:
    async with worker_of() as worker, asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(_error_of(worker.calls))
        await worker.hear()
        await worker.say(answer)
        error = await asked
        assert isinstance(error, TerminalLost)
        assert why in str(error)
        assert await worker.process.wait(within_s=10)


async def test_a_terminal_has_the_size_that_was_asked_for() -> None:
    async with worker_of() as worker, asyncio.TaskGroup() as tasks:
        for kind, payload, size, is_right in (
            (Kind.OPEN, SIZE.pack(3, 20), (3, 20), True),
            (Kind.FEED, b"x", (3, 20), True),
            (Kind.RESIZE, SIZE.pack(4, 10), (4, 10), True),
            (Kind.FEED, b"x", (3, 20), False),
        ):
            asked = tasks.create_task(_error_of(worker.calls, kind, payload))
            await worker.hear()
            await worker.say(
                frame(Status.DONE, state_of(open_terminal(*size, backend="bittty"), revision=0, cpu_s=0))
            )
            assert (await asked is None) == is_right
        assert await worker.process.wait(within_s=10)


async def test_who_speaks_unasked_is_lost() -> None:
    async with worker_of() as worker:
        await worker.say(frame(Status.DONE, STATE))
        assert await worker.process.wait(within_s=10)
        assert isinstance(await _error_of(worker.calls), TerminalLost)


async def test_an_end_of_the_socket_loses_all_that_wait_and_all_that_come() -> None:
    async with worker_of() as worker, asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(_error_of(worker.calls)) for _ in range(3)]
        await worker.hear()
        worker.hang_up()
        assert all([isinstance(await one, TerminalLost) for one in asked])
        assert isinstance(await _error_of(worker.calls), TerminalLost)


async def test_a_request_that_takes_too_long_loses_the_worker() -> None:
    async with worker_of(patience_s=0.05) as worker:
        error = await _error_of(worker.calls)
        assert isinstance(error, TerminalLost)
        assert "took more than 0.05 s" in str(error)
        assert await worker.process.wait(within_s=10)


async def test_a_request_is_given_up_also_if_nobody_waits_for_it_any_more() -> None:
    async with worker_of(patience_s=0.05) as worker, asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(worker.calls.ask(Kind.FEED, b"x"))
        await worker.hear()
        asked.cancel()
        assert await worker.process.wait(within_s=10)
        assert worker.calls.lost is not None


async def _error_of(calls: Calls, kind: Kind = Kind.FEED, payload: bytes = b"x") -> Exception | None:
    try:
        await calls.ask(kind, payload)
    except (TerminalError, ValueError) as error:
        return error
    return None
