"""What is kept of a console's output: in order, by offset, within its bound."""

from __future__ import annotations

import random

import pytest

from cloche_guest.backlog import Backlog
from cloche_wire.errors import BadRequest


def rest(backlog: Backlog, most: int = 7) -> bytes:
    """Everything that is kept, taken piece by piece."""
    taken = b""
    while backlog:
        piece = backlog.take(most)
        assert 0 < len(piece) <= most
        taken += piece
    return taken


def test_what_is_added_comes_out_in_order_behind_what_was_put_back() -> None:
    backlog = Backlog()
    backlog.put_back(1000, (b"one ", memoryview(b"two ")))
    backlog.send(0, 1, b"three ", waits=True)
    backlog.send(0, 1, memoryview(b"four"))
    assert (backlog.begins, backlog.ends, len(backlog)) == (1000, 1018, 18)
    assert rest(backlog) == b"one two three four"
    assert (backlog.begins, backlog.ends, len(backlog)) == (1018, 1018, 0)


def test_no_more_is_added_than_may_be_kept() -> None:
    backlog = Backlog(most=10)
    assert backlog.credit(0, 1) == 10
    backlog.send(0, 1, b"1234567")
    assert backlog.credit(0, 1) == 3
    backlog.take(5)
    assert backlog.credit(0, 1) == 8


def test_more_may_be_put_back_than_is_added_and_all_of_it_is_kept() -> None:
    backlog = Backlog(most=10)
    backlog.put_back(5, (bytes(50),))
    assert (len(backlog), backlog.credit(0, 1)) == (50, 0)


def test_nothing_waits_in_it_and_an_end_is_not_its_matter() -> None:
    backlog = Backlog()
    backlog.send(0, 1, b"x")
    backlog.hurry(0)
    backlog.end(0, 1)
    assert rest(backlog) == b"x"


def test_nothing_put_back_says_where_the_output_stands() -> None:
    backlog = Backlog()
    backlog.put_back(77, ())
    assert (backlog.begins, backlog.ends) == (77, 77)
    backlog.send(0, 1, b"abc")
    assert (backlog.begins, backlog.ends) == (77, 80)


@pytest.mark.parametrize("received", range(10, 21))
def test_what_somebody_has_received_is_forgotten_to_the_byte(received: int) -> None:
    backlog = Backlog()
    backlog.put_back(10, (b"01", b"23", b"45"))
    backlog.send(0, 1, b"6789")
    assert backlog.begin_at(received) == received
    assert rest(backlog) == b"0123456789"[received - 10 :]


def test_who_needs_what_is_gone_gets_what_there_is() -> None:
    backlog = Backlog()
    backlog.put_back(10, (b"0123",))
    assert backlog.begin_at(3) == 10
    assert rest(backlog) == b"0123"


def test_nobody_has_received_more_than_was_shown() -> None:
    backlog = Backlog()
    backlog.put_back(10, (b"0123",))
    with pytest.raises(BadRequest, match="shown 14 bytes; nobody can have received 15"):
        backlog.begin_at(15)
    assert rest(backlog) == b"0123"


def test_a_byte_at_a_time_is_kept_in_few_pieces() -> None:
    backlog = Backlog(most=100_000)
    for _ in range(50_000):
        backlog.send(0, 1, b"x")
    pieces = 0
    while backlog:
        backlog.take(1 << 20)
        pieces += 1
    assert pieces < 20


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_repeated_whatever_is_taken_and_put_back(seed: int) -> None:
    chance = random.Random(seed)
    backlog = Backlog(most=20_000)
    output = bytes(chance.randbytes(60_000))
    taken: list[bytes] = []
    added = given = 0
    while given < len(output):
        match chance.choice((0, 1, 1, 1, 2)):
            case 0:
                count = min(backlog.credit(0, 1), chance.randrange(6000), len(output) - added)
                backlog.send(0, 1, output[added : added + count])
                added += count
            case 1 if backlog:
                taken.append(bytes(backlog.take(chance.randrange(1, 6000))))
                given += len(taken[-1])
            case _:
                lost = taken[len(taken) - min(2, len(taken)) :]
                given -= sum(len(piece) for piece in lost)
                taken = taken[: len(taken) - len(lost)]
                backlog.put_back(given, lost)
        assert (backlog.begins, backlog.ends) == (given, added)
    assert b"".join(taken) == output
