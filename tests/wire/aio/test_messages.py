"""Messages cut from a stream of bytes that arrives in any pieces."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Sequence
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_wire.aio.messages import Messages
from cloche_wire.errors import BadRequest

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), 1 << 63)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def messages_of(pieces: Sequence[bytes], *, max_bytes: int = 1000, max_items: int = 64) -> Messages:
    """An iterator over a stream that arrives in these pieces and then ends."""
    left = [piece for piece in pieces if piece]

    async def read() -> bytes:
        return left.pop(0) if left else b""

    return Messages(read, max_bytes=max_bytes, max_items=max_items)


def all_of(messages: Messages) -> list[Any]:
    """Everything it yields."""

    async def collect() -> list[Any]:
        return [message async for message in messages]

    return asyncio.run(collect())


def packed(*values: Any) -> bytes:
    """Messages one after another."""
    return b"".join(msgpack.packb(value) for value in values)


@given(values=st.lists(VALUES, max_size=6), cuts=st.lists(st.integers(0, 400), max_size=8))
def test_messages_arrive_whole_in_order_however_the_bytes_are_cut(values: list[Any], cuts: list[int]) -> None:
    data = packed(*values)
    marks = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(marks)]
    assert all_of(messages_of(pieces)) == values


@given(pieces=st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_give_messages_or_a_bad_request(pieces: list[bytes]) -> None:
    with contextlib.suppress(BadRequest):
        all_of(messages_of(pieces, max_bytes=30))


def test_many_small_messages_in_one_piece_are_not_one_large_one() -> None:
    values = list(range(500))
    assert all_of(messages_of([packed(*values)], max_bytes=10)) == values


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_message_of_exactly_the_limit_passes_and_one_byte_more_does_not(pieces: int) -> None:
    def cut(data: bytes) -> list[bytes]:
        size = -(-len(data) // pieces)
        return [data[at : at + size] for at in range(0, len(data), size)]

    fits, over = packed(b"x" * 98), packed(b"x" * 99)
    assert len(fits) == 100
    assert all_of(messages_of(cut(fits), max_bytes=100)) == [b"x" * 98]
    with pytest.raises(BadRequest, match="limit of 100"):
        all_of(messages_of(cut(over), max_bytes=100))


def test_the_messages_before_a_malformed_one_arrive() -> None:
    async def collect() -> list[Any]:
        messages = messages_of([packed(1, 2) + b"\xc1" + packed(3)])
        seen = [await anext(messages), await anext(messages)]
        with pytest.raises(BadRequest, match="malformed"):
            await anext(messages)
        return seen

    assert asyncio.run(collect()) == [1, 2]


def test_a_stream_that_ends_within_a_message_is_a_bad_request() -> None:
    with pytest.raises(BadRequest, match="middle"):
        all_of(messages_of([packed("hello")[:-1]]))


def test_a_message_without_an_end_is_refused_at_the_limit() -> None:
    given = 0

    async def read() -> bytes:
        nonlocal given
        given += 1
        # Arrays of arrays of short texts, each of them within its bound.
        return b"\xdc\x00\x40" if given <= 2 else b"\xa9nine more"

    with pytest.raises(BadRequest, match="limit of 1000"):
        all_of(Messages(read, max_bytes=1000, max_items=64))
    assert given < 110


@pytest.mark.parametrize("header", [b"\xdd", b"\xdf"])
def test_lists_and_maps_are_bounded_before_room_is_made_for_them(header: bytes) -> None:
    # A million each, each in the one before.
    data = (header + b"\x00\x10\x00\x00") * 100
    with pytest.raises(BadRequest, match="exceeds max_"):
        all_of(messages_of([data], max_bytes=4 << 20))


@pytest.mark.parametrize(
    "data",
    [
        b"\xdb\x7f\xff\xff\xff",
        b"\xc6\x7f\xff\xff\xff",
        b"\xd6\xff\x00\x00\x00\x00",  # an extension: a time stamp
        b"\x81\x01\x01",  # a key that is no text
        b"\xa1\xff",  # no UTF-8
    ],
)
def test_what_no_honest_peer_sends_is_refused_before_it_costs_memory(data: bytes) -> None:
    with pytest.raises(BadRequest):
        all_of(messages_of([data]))


def test_leaving_a_loop_and_cancelling_a_wait_lose_nothing() -> None:
    async def collect() -> None:
        pieces: asyncio.Queue[bytes] = asyncio.Queue()
        messages = Messages(pieces.get, max_bytes=100, max_items=10)
        pieces.put_nowait(packed("one", "two") + packed("three")[:2])
        async for message in messages:
            assert message == "one"
            break
        assert await anext(messages) == "two"
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(anext(messages))
            await asyncio.sleep(0)
            waiting.cancel()
        pieces.put_nowait(packed("three")[2:])
        assert await anext(messages) == "three"

    asyncio.run(collect())
