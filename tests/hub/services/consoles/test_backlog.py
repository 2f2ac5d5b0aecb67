"""What one viewer is behind in: what is kept, what is dropped, and in which order it is sent."""

from __future__ import annotations

import pytest

from cloche_hub.services.consoles.backlog import Backlog


def following(**bounds: float) -> Backlog:
    """A viewer's that has a screen."""
    backlog = Backlog(**{"most_bytes": 100, "most_s": 0.5, **bounds})  # type: ignore[arg-type]
    backlog.show([b"S"])
    assert sent(backlog) == [b"S"]
    return backlog


def sent(backlog: Backlog, most: int = 1000) -> list[bytes]:
    """All that can be sent, piece by piece."""
    pieces = []
    while (piece := backlog.take(most)) is not None:
        pieces.append(bytes(piece))
    return pieces


def test_who_has_no_screen_yet_is_sent_nothing_and_has_lost_nothing() -> None:
    backlog = Backlog()
    backlog.output(b"o", 7, now=0)
    backlog.tell(b"resize", now=0, keeps=False)
    assert backlog.needs_screen
    assert backlog.is_empty
    assert (sent(backlog), backlog.lost_bytes, backlog.bytes) == ([], 0, 0)


def test_what_happens_is_sent_in_order_behind_the_screen() -> None:
    backlog = Backlog()
    backlog.tell(b"asked", now=0, keeps=True)
    backlog.show([b"S1", b"S2"])
    backlog.output(b"o1", 2, now=0)
    backlog.tell(b"resize", now=0, keeps=False)
    backlog.output(b"o2", 2, now=0)
    assert backlog.bytes == len(b"askedo1resizeo2")
    assert sent(backlog) == [b"S1", b"S2", b"asked", b"o1", b"resize", b"o2"]
    assert backlog.is_empty
    assert (backlog.bytes, backlog.needs_screen) == (0, False)


def test_a_message_goes_out_in_parts_where_there_is_little_credit() -> None:
    backlog = following()
    backlog.output(b"abcde", 5, now=0)
    backlog.output(b"fg", 2, now=0)
    assert backlog.take(0) is None
    assert bytes(backlog.take(2) or b"") == b"ab"
    assert not backlog.is_empty
    assert sent(backlog, most=2) == [b"cd", b"e", b"fg"]


def test_too_much_is_dropped_but_for_what_has_been_begun() -> None:
    backlog = following()
    backlog.output(b"x" * 60, 58, now=0)
    assert bytes(backlog.take(10) or b"") == b"x" * 10
    backlog.output(b"y" * 60, 58, now=0)
    backlog.output(b"z" * 60, 58, now=0)
    assert backlog.needs_screen
    assert (backlog.bytes, backlog.lost_bytes) == (0, 116)
    backlog.output(b"w" * 60, 58, now=0)
    assert backlog.lost_bytes == 174
    assert sent(backlog) == [b"x" * 50]
    backlog.show([b"S"])
    assert (backlog.lost_bytes, sent(backlog)) == (0, [b"S"])


def test_one_message_larger_than_the_bound_is_sent_all_the_same() -> None:
    backlog = following()
    backlog.output(b"x" * 200, 198, now=0)
    assert sent(backlog) == [b"x" * 200]
    assert not backlog.needs_screen


@pytest.mark.parametrize(("later_s", "is_behind"), [(0.4, False), (0.6, True)])
def test_who_has_not_read_for_too_long_is_behind_as_soon_as_more_comes(
    later_s: float, *, is_behind: bool
) -> None:
    backlog = following()
    backlog.output(b"x", 1, now=10)
    assert not backlog.needs_screen
    backlog.output(b"y", 1, now=10 + later_s)
    assert backlog.needs_screen is is_behind


def test_a_screen_is_sent_to_its_end_however_much_comes_meanwhile() -> None:
    backlog = Backlog(most_bytes=100)
    backlog.show([b"S" * 900, b"T" * 90])
    backlog.output(b"x" * 101, 101, now=0)
    backlog.output(b"x", 1, now=0)
    assert (backlog.needs_screen, backlog.has_shown) == (True, False)
    assert sent(backlog) == [b"S" * 900, b"T" * 90]
    assert (backlog.is_empty, backlog.has_shown) == (True, True)
    backlog.show([b"U"])
    backlog.output(b"y", 1, now=0)
    assert sent(backlog) == [b"U", b"y"]
    assert backlog.has_shown


def test_a_long_screen_leaves_room_for_what_comes_behind_it() -> None:
    backlog = Backlog(most_bytes=100)
    backlog.show([b"S" * 900])
    backlog.output(b"x" * 90, 90, now=0)
    assert (backlog.bytes, backlog.needs_screen) == (90, False)
    assert sent(backlog) == [b"S" * 900, b"x" * 90]
    assert backlog.bytes == 0


def test_a_screen_that_nobody_reads_is_given_up_but_for_what_has_been_begun() -> None:
    backlog = Backlog()
    backlog.show([b"begun", b"S" * 900])
    backlog.output(b"x", 1, now=0)
    backlog.tell(b"notice", now=0, keeps=True)
    assert bytes(backlog.take(2) or b"") == b"be"
    backlog.give_up_screen()
    assert (backlog.needs_screen, backlog.lost_bytes, backlog.bytes) == (True, 1, 0)
    assert sent(backlog) == [b"gun"]
    backlog.show([b"U"])
    assert sent(backlog) == [b"U", b"notice"]


def test_what_people_must_not_miss_is_told_behind_the_fresh_screen_and_sizes_are_not() -> None:
    backlog = following()
    backlog.tell(b"notice 1", now=0, keeps=True)
    backlog.tell(b"resize", now=0, keeps=False)
    backlog.output(b"x" * 99, 99, now=0)
    backlog.tell(b"notice 2", now=0, keeps=True)
    assert backlog.needs_screen
    backlog.show([b"S"])
    assert sent(backlog) == [b"S", b"notice 1", b"notice 2"]


def test_of_many_notices_the_newest_are_kept() -> None:
    backlog = Backlog()
    for number in range(100):
        backlog.tell(str(number).encode(), now=0, keeps=True)
    backlog.show([])
    assert sent(backlog) == [str(number).encode() for number in range(92, 100)]


def test_what_comes_behind_a_screen_follows_it() -> None:
    backlog = Backlog(most_bytes=100)
    backlog.tell(b"notice", now=0, keeps=True)
    backlog.output(b"o1", 2, now=0)
    backlog.show([b"S", b"o1"])
    backlog.output(b"o2", 2, now=0)
    assert sent(backlog) == [b"S", b"o1", b"notice", b"o2"]


def test_who_wants_a_fresh_screen_gets_one_and_has_lost_nothing() -> None:
    backlog = following()
    backlog.output(b"x", 1, now=0)
    backlog.refresh()
    backlog.output(b"y", 1, now=0)
    assert (backlog.needs_screen, backlog.lost_bytes, sent(backlog)) == (True, 0, [])
