"""Windows are promises to keep bytes, and what is promised to one peer is bounded."""

from __future__ import annotations

from dataclasses import replace

from cloche_wire.errors import Cancelled
from cloche_wire.events import Accepted, Opened
from cloche_wire.frames import Accept, Data, Open, Reset
from cloche_wire.limits import MAX_STREAMS
from tests.support.wire_pair import TINY, Pair, Solo, hello


def held_to(solo: Solo, *offered: int) -> list[int]:
    """The windows that channels of the peer's get which offer these."""
    numbers = range(solo._next_of_theirs, solo._next_of_theirs + 2 * len(offered), 2)
    solo._next_of_theirs += 2 * len(offered)
    return [
        event.window
        for number, window in zip(numbers, offered, strict=True)
        for event in solo.hears(Open(number, "exec", {}, window))
        if isinstance(event, Opened)
    ]


BOUNDED = replace(
    TINY, max_channels=64, max_peer_window=8, max_unacknowledged=8 * 16, least_window=2, least_peer_window=2
)


def test_the_more_is_promised_the_smaller_new_windows_get_but_never_less_than_the_least() -> None:
    assert held_to(Solo(leader=False, limits=BOUNDED), *[1000] * 8) == [8, 6, 4, 3, 2, 2, 2, 2]


def test_a_small_window_is_taken_as_it_is_however_much_is_promised() -> None:
    assert held_to(Solo(leader=False, limits=BOUNDED), *[1000] * 8, 1, 0) == [8, 6, 4, 3, 2, 2, 2, 2, 1, 0]


def test_all_windows_of_a_peer_that_reads_nothing_stay_within_the_bound() -> None:
    solo = Solo(leader=False, limits=BOUNDED)
    windows = held_to(solo, *[1000] * 64)
    assert sum(MAX_STREAMS * (window - BOUNDED.least_window) for window in windows) <= 8 * 16
    for number, channel in solo.connection.channels.items():
        solo.connection.accept(number)
        assert solo.connection.credit(number, 1) == channel.peer_window


def test_what_the_peer_names_as_it_accepts_counts_as_well() -> None:
    solo = Solo(leader=True, limits=replace(BOUNDED, max_own_channels=64))
    windows: list[int] = []
    for _ in range(5):
        number = solo.connection.open("exec", {})
        solo.says()
        (event,) = solo.hears(Accept(number, {}, 1000))
        assert isinstance(event, Accepted)
        windows.append(event.window)
    assert windows == [8, 6, 4, 3, 2]


def test_a_channel_that_is_over_gives_back_what_was_promised() -> None:
    solo = Solo(leader=False, limits=BOUNDED)
    for _ in range(50):
        number = solo._next_of_theirs
        assert held_to(solo, 1000) == [8]
        solo.hears(Reset(number, "cancelled", "enough", {}))
    held_to(solo, 1000)
    solo.connection.fail_all(Cancelled("enough"))
    solo.greets(hello(session=b"another session!"))
    solo._next_of_theirs = 1
    assert held_to(solo, 1000) == [8]


def test_windows_stay_what_they_were_over_the_next_link() -> None:
    solo = Solo(leader=False, limits=BOUNDED)
    assert held_to(solo, 1000, 1000) == [8, 6]
    solo.connection.accept(3)
    solo.connection.send(3, 1, b"abcdef")
    solo.says()
    reports = [[1, 0, []], [3, 1, [[1, 2, False]]]]
    solo.greets(hello(generation=1, resumes=True, channels=reports))
    said = [frame for frame in solo.says() if isinstance(frame, Data)]
    assert b"".join(frame.payload for frame in said) == b"cdef"
    assert solo.connection.credit(3, 1) == 0
    assert held_to(solo, 1000) == [4]


def test_a_sender_held_to_the_least_window_never_waits_for_a_reader_who_has_read_everything() -> None:
    pair = Pair(
        replace(
            TINY, window=1000, max_peer_window=1000, max_unacknowledged=0, least_window=8, least_peer_window=8
        )
    )
    pair.link()
    number = pair.leader.connection.open("exec", {})
    pair.settle()
    pair.follower.connection.accept(number)
    pair.settle()
    ours, theirs = pair.leader.connection, pair.follower.connection
    # Up to half a window in one piece, as messages are sent.
    for size in [1, 2, 3, 4, 4, 1, 1, 1, 4, 2, 1, 3] * 3:
        assert ours.credit(number, 1) >= size
        ours.send(number, 1, bytes(size))
        pair.settle()
        theirs.consume(number, 1, size)
        pair.settle()
