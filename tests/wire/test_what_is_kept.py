"""What a peer says once is handed on and not kept: it may open channels and never let us forget them."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from cloche_wire.errors import Cancelled, NotFound, TooLarge
from cloche_wire.events import Accepted, Finished, Opened
from cloche_wire.frames import Accept, Close, Closed, Open, Reset
from cloche_wire.limits import Limits
from tests.support.wire_pair import Solo

LARGE = 64 << 10
CHANNELS = 8
LIMITS = Limits(max_channels=CHANNELS, max_frame=128 << 10, max_message=256 << 10)


class Traced:
    """Bytes that were allocated since the measure began and are still held."""

    held = 0


@contextmanager
def traced() -> Iterator[Traced]:
    measure = Traced()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield measure
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        measure.held = after - before
    finally:
        tracemalloc.stop()


MOVES: dict[str, Callable[[Solo, int], None]] = {
    "leaves it alone": lambda solo, number: None,
    "accepts it": lambda solo, number: solo.connection.accept(number),
    "refuses it": lambda solo, number: solo.connection.reset(number, Cancelled("no")),
    "closes it": lambda solo, number: solo.connection.close(number, {"code": 0}),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("where", ["params", "kind"])
def test_nothing_of_what_a_peer_opens_with_is_kept_whatever_becomes_of_it(
    move: Callable[[Solo, int], None], where: str
) -> None:
    solo = Solo(leader=True, limits=LIMITS)
    with traced() as measure:
        # Half of them are too many, and are refused before anybody hears of them.
        for index in range(2 * CHANNELS):
            number, large = 2 + 2 * index, f"{index}" + "x" * LARGE
            frame = Open(number, large, {}, 0) if where == "kind" else Open(number, "a", {"x": large}, 0)
            opened = solo.hears(frame)
            assert opened == ([Opened(number, frame.kind, frame.params, 0)] if index < CHANNELS else [])
            if opened:
                move(solo, number)
            solo.says()
            # Only the connection may hold it now.
            del large, frame, opened
    assert len(solo.connection.channels) == 2 * CHANNELS
    assert measure.held < LARGE


def test_what_the_code_that_refuses_had_at_hand_is_not_kept() -> None:
    def refuse(number: int) -> None:
        # As in a handler that has read the request.
        at_hand = f"{number}" + "x" * LARGE
        raise NotFound(f"none is {at_hand[:9]}")

    solo = Solo(leader=True, limits=LIMITS)
    with traced() as measure:
        for number in range(2, 2 + 2 * CHANNELS, 2):
            solo.hears(Open(number, "exec", {}, 0))
            try:
                refuse(number)
            except NotFound as error:
                solo.connection.reset(number, error)
    assert len(solo.connection.channels) == CHANNELS
    assert measure.held < LARGE


def test_neither_what_a_peer_accepts_with_nor_what_it_closes_with_is_kept() -> None:
    solo = Solo(leader=True, limits=LIMITS)
    with traced() as measure:
        for index in range(CHANNELS):
            number = solo.connection.open("exec", {})
            solo.says()
            large = {"x": f"{index}" + "x" * LARGE}
            assert solo.hears(Accept(number, large, 0)) == [Accepted(number, large, 0)]
            if index % 2:
                assert solo.hears(Close(number, large)) == [Finished(number, large)]
            del large
    assert len(solo.connection.channels) == CHANNELS
    assert measure.held < LARGE


ENDS: dict[str, Callable[[Solo, int], object]] = {
    "accepted": lambda solo, number: solo.hears(Accept(number, {}, 0)),
    "closed": lambda solo, number: solo.hears(Close(number, {})),
    "given up": lambda solo, number: solo.connection.reset(number, Cancelled("no")),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_what_we_open_with_is_kept_until_it_cannot_be_needed_again(
    end: Callable[[Solo, int], object],
) -> None:
    solo = Solo(leader=True, limits=LIMITS)
    with traced() as measure:
        for index in range(CHANNELS):
            number = solo.connection.open("exec", {"x": f"{index}" + "x" * LARGE})
            solo.says()
            end(solo, number)
    assert len(solo.connection.channels) == CHANNELS
    assert measure.held < LARGE


# Results that the peer does not confirm.

RESULTS = Limits(max_channels=16, max_results=1000, short_result=100)


def asked(solo: Solo, count: int) -> list[int]:
    """Channels that the peer has opened."""
    numbers = [2 + 2 * index for index in range(count)]
    solo.hears(*(Open(number, "file.list", {}, 8) for number in numbers))
    return numbers


def test_long_results_are_refused_one_by_one_while_too_many_are_unconfirmed() -> None:
    solo = Solo(leader=True, limits=RESULTS)
    first, second, third, fourth = asked(solo, 4)
    solo.connection.close(first, {"x": "x" * 600})
    solo.connection.close(second, {"x": "x" * 600})
    with pytest.raises(TooLarge, match="bytes of others are not confirmed yet"):
        solo.connection.close(third, {"x": "x" * 600})
    solo.connection.close(fourth, {"code": 0})
    solo.says()
    solo.hears(Closed(first))
    solo.connection.close(third, {"x": "x" * 600})
    assert solo.says() == [Close(third, {"x": "x" * 600})]


def test_a_result_longer_than_all_that_is_kept_goes_where_nothing_is() -> None:
    solo = Solo(leader=True, limits=RESULTS)
    (number,) = asked(solo, 1)
    solo.connection.close(number, {"x": "x" * 5000})
    assert solo.says() == [Close(number, {"x": "x" * 5000})]


def test_long_refusals_are_cut_while_too_much_is_unconfirmed() -> None:
    solo = Solo(leader=True, limits=RESULTS)
    first, second, third = asked(solo, 3)
    solo.connection.close(first, {"x": "x" * 1200})
    solo.connection.reset(second, NotFound("no", why="x" * 600))
    solo.connection.reset(third, NotFound("no", why="x"))
    assert solo.says()[1:] == [
        Reset(second, "not_found", "no", {}),
        Reset(third, "not_found", "no", {"why": "x"}),
    ]


def test_a_result_that_is_taken_back_does_not_count() -> None:
    solo = Solo(leader=True, limits=RESULTS)
    first, second = asked(solo, 2)
    solo.connection.close(first, {"x": "x" * 1200})
    solo.connection.reset(first, Cancelled("no"))
    solo.connection.close(second, {"x": "x" * 600})


def test_results_of_a_session_that_is_over_do_not_count() -> None:
    solo = Solo(leader=True, limits=RESULTS)
    (first,) = asked(solo, 1)
    solo.connection.close(first, {"x": "x" * 1200})
    solo.connection.fail_all(Cancelled("over"))
    assert solo.connection._session._kept == 0
