"""Frames to bytes and back: what a decoder takes, and everything it refuses."""

from __future__ import annotations

import tracemalloc
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_wire.errors import LocalProtocolError, TooLarge, Undecodable
from cloche_wire.frames import (
    TAG_OF,
    Accept,
    Ack,
    Bye,
    Close,
    Closed,
    Data,
    Decoder,
    Eof,
    Frame,
    Hello,
    Open,
    Ping,
    Pong,
    Reset,
    Tag,
    check,
    encode,
)
from cloche_wire.limits import Limits

LIMITS = Limits()
SMALL = Limits(max_frame=100, max_message=250, max_items=5, max_frames=4)
HUGE = (1 << 63) - 1

FRAMES: list[Frame] = [
    Hello(0, 1, "cloche/1", b"s" * 16, 3, True, 7, [[1, 1, [[0, 5, False]]]], {"token": "t"}),
    Open(1, "exec", {"argv": ["true"], "env": {}}, 8),
    Accept(1, {"pid": 7}, HUGE),
    Data(1, 3, HUGE, b"\x00\xc1\xff"),
    Eof(2, 0, 0),
    Ack(HUGE, 1, 5),
    Close(1, {"exit_code": None, "nested": [{"a": 1.5}]}),
    Reset(1, "not_found", "no such thing", {"name": "é"}),
    Closed(4),
    Ping(0, HUGE),
    Pong(0, 0),
    Bye(0, "shutting_down", ""),
]

numbers = st.integers(0, HUGE)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
fields = st.dictionaries(st.text(), values, max_size=4)
frames = st.one_of(
    st.builds(
        Hello,
        numbers,
        numbers,
        st.text(),
        st.binary(),
        numbers,
        st.booleans(),
        numbers,
        st.lists(values),
        fields,
    ),
    st.builds(Open, numbers, st.text(), fields, numbers),
    st.builds(Accept, numbers, fields, numbers),
    st.builds(Data, numbers, numbers, numbers, st.binary()),
    st.builds(Eof, numbers, numbers, numbers),
    st.builds(Ack, numbers, numbers, numbers),
    st.builds(Close, numbers, fields),
    st.builds(Reset, numbers, st.text(), st.text(), fields),
    st.builds(Closed, numbers),
    st.builds(Ping, numbers, numbers),
    st.builds(Pong, numbers, numbers),
    st.builds(Bye, numbers, st.text(), st.text()),
)


def decode(data: bytes, limits: Limits = LIMITS) -> list[Frame]:
    return list(Decoder(limits).frames(data))


def packed(*elements: Any) -> bytes:
    """An array as a peer might send it, whether or not it is a frame."""
    return bytes(msgpack.packb(elements, use_bin_type=True))


def names(frame: Frame) -> str:
    return type(frame).__name__


class TestBothWays:
    @pytest.mark.parametrize("frame", FRAMES, ids=names)
    def test_what_is_encoded_is_decoded_the_same(self, frame: Frame) -> None:
        assert decode(encode(frame, LIMITS)) == [frame]

    def test_the_examples_are_one_of_each_kind(self) -> None:
        assert [TAG_OF[type(frame)] for frame in FRAMES] == list(Tag)

    @given(st.lists(frames, max_size=5))
    def test_frames_in_one_message_keep_their_order_and_kind(self, sent: list[Frame]) -> None:
        received = decode(b"".join(encode(frame, LIMITS) for frame in sent))
        assert received == sent
        assert [type(frame) for frame in received] == [type(frame) for frame in sent]

    def test_one_decoder_takes_one_message_after_the_other(self) -> None:
        decoder = Decoder(LIMITS)
        for frame in FRAMES:
            assert list(decoder.frames(encode(frame, LIMITS))) == [frame]

    def test_a_message_may_be_a_view_of_a_larger_buffer(self) -> None:
        data = b"before" + encode(Closed(4), LIMITS) + b"after"
        assert list(Decoder(LIMITS).frames(memoryview(data)[6:-5])) == [Closed(4)]

    def test_data_may_be_sent_from_a_view_without_a_copy_of_its_own(self) -> None:
        assert decode(encode(Data(1, 1, 0, memoryview(b"xabcx")[1:-1]), LIMITS)) == [Data(1, 1, 0, b"abc")]

    @pytest.mark.parametrize("frame", FRAMES, ids=names)
    def test_fields_that_later_versions_append_are_ignored(self, frame: Frame) -> None:
        assert decode(packed(TAG_OF[type(frame)], *frame, "new", [1, 2], None)) == [frame]

    def test_an_empty_message_holds_no_frames(self) -> None:
        assert decode(b"") == []


class TestWhatADecoderRefuses:
    @pytest.mark.parametrize("frame", FRAMES, ids=names)
    def test_a_frame_with_too_few_fields(self, frame: Frame) -> None:
        for length in range(len(frame)):
            with pytest.raises(Undecodable, match=r"cut short"):
                decode(packed(TAG_OF[type(frame)], *frame[:length]))

    @pytest.mark.parametrize(
        "wrong", [None, 1.5, [b"x"], -1, 1 << 63, True, "text", b"bytes", {5: 1}, {b"k": 1}]
    )
    @pytest.mark.parametrize("frame", FRAMES, ids=names)
    def test_a_field_of_another_type_or_out_of_range(self, frame: Frame, wrong: Any) -> None:
        for place, right in enumerate(frame):
            if type(right) is type(wrong) and type(wrong) not in (int, dict):
                continue
            with pytest.raises(Undecodable):
                decode(packed(TAG_OF[type(frame)], *frame[:place], wrong, *frame[place + 1 :]))

    @pytest.mark.parametrize("tag", [12, 255, -1, 1 << 63, True, None, "3", 3.0, [], b"\x03", "x" * 90_000])
    def test_a_tag_that_is_none(self, tag: Any) -> None:
        with pytest.raises(Undecodable) as refusal:
            decode(packed(tag, 1, 0, 0, b"x"))
        assert len(str(refusal.value)) < 200

    @pytest.mark.parametrize("value", [None, 5, "x", b"x", {}, {"a": 1}, []])
    def test_a_value_that_is_no_frame(self, value: Any) -> None:
        with pytest.raises(Undecodable):
            decode(bytes(msgpack.packb(value)))

    @pytest.mark.parametrize("frame", FRAMES, ids=names)
    def test_a_message_that_ends_within_a_frame(self, frame: Frame) -> None:
        data = encode(Closed(4), LIMITS) + encode(frame, LIMITS)
        for length in range(len(encode(Closed(4), LIMITS)) + 1, len(data)):
            with pytest.raises(Undecodable, match=r"in the middle"):
                decode(data[:length])

    @pytest.mark.parametrize("data", [b"\xc1", b"\x93\x09\x00\xc1", b"\x92\x08\xd9\x02\xff\xfe"])
    def test_bytes_that_are_not_msgpack(self, data: bytes) -> None:
        with pytest.raises(Undecodable):
            decode(data)

    @pytest.mark.parametrize(
        "value", [msgpack.ExtType(5, b""), msgpack.ExtType(5, b"x" * 300), msgpack.Timestamp(1, 1)]
    )
    def test_types_of_an_extension(self, value: Any) -> None:
        with pytest.raises(Undecodable):
            decode(packed(Tag.CLOSE, 1, {"a": value}))

    def test_a_key_that_is_neither_text_nor_bytes_however_deep_it_hides(self) -> None:
        with pytest.raises(Undecodable):
            decode(packed(Tag.CLOSE, 1, {"a": [{5: 1}]}))


class TestBounds:
    def test_a_frame_as_large_as_may_be_passes_and_one_byte_more_does_not(self) -> None:
        overhead = len(encode(Data(1, 0, 0, b"x" * 50), LIMITS)) - 50
        largest = Data(1, 0, 0, b"x" * (SMALL.max_frame - overhead))
        assert decode(encode(largest, SMALL), SMALL) == [largest]
        over = Data(1, 0, 0, largest.payload + b"x")  # type: ignore[operator]
        with pytest.raises(TooLarge, match=r"DATA of 101 bytes is over the limit of 100"):
            encode(over, SMALL)
        with pytest.raises(Undecodable, match=r"101 bytes"):
            decode(encode(over, LIMITS), SMALL)

    def test_a_message_over_its_bound_is_refused_whole(self) -> None:
        data = encode(Close(1, {"a": "x" * 80}), SMALL)
        with pytest.raises(Undecodable):
            decode(data * 3, SMALL)

    def test_so_are_more_frames_than_may_travel_together(self) -> None:
        assert len(decode(encode(Closed(4), SMALL) * 4, SMALL)) == 4
        with pytest.raises(Undecodable, match=r"more than 4 frames"):
            decode(encode(Closed(4), SMALL) * 5, SMALL)

    @pytest.mark.parametrize("value", [[0] * 6, {str(key): 0 for key in range(6)}])
    def test_lists_and_maps_have_a_bound_of_their_own(self, value: Any) -> None:
        with pytest.raises(Undecodable):
            decode(packed(Tag.CLOSE, 1, {"a": value}), SMALL)
        with pytest.raises(TooLarge, match=r"CLOSE cannot carry this: 6 exceeds"):
            check(Close(1, {"a": value}), SMALL)

    @pytest.mark.parametrize(
        "bomb",
        [
            b"\xdc\x20\x00" * 300_000,  # arrays in arrays, each with a header that promises 8192 elements
            b"\xde\x20\x00\xa1a" * 200_000,  # maps in maps
            b"\x91" * 900_000,
            b"\xdd\xff\xff\xff\xff",  # four thousand million elements
            b"\xdf\xff\xff\xff\xff",
            b"\xc6\xff\xff\xff\xff",
            b"\xdb\xff\xff\xff\xff",
            b"\xc9\xff\xff\xff\xff\x05",
        ],
    )
    def test_headers_that_promise_much_do_not_make_it_allocate_much(self, bomb: bytes) -> None:
        for data in (bomb, b"\x93\x06\x01\x81\xa1a" + bomb):
            tracemalloc.start()
            with pytest.raises(Undecodable):
                decode(data)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 100 << 20


class TestCheck:
    @pytest.mark.parametrize("frame", FRAMES, ids=names)
    def test_what_a_peer_takes_passes(self, frame: Frame) -> None:
        check(frame, LIMITS)

    @pytest.mark.parametrize(
        "params",
        [
            {"a": object()},
            {"a": {5: "x"}},
            {5: "x"},
            {"a": "\udcff"},
            {"a": 1 << 64},
            {"a": msgpack.ExtType(5, b"x")},
            {"a": msgpack.ExtType(5, b"")},
            {b"a": 1},
        ],
    )
    def test_what_no_frame_can_carry_is_our_own_mistake(self, params: Any) -> None:
        with pytest.raises(LocalProtocolError, match=r"^OPEN cannot carry this"):
            check(Open(1, "exec", params, 8), LIMITS)

    def test_so_is_a_value_nested_too_deeply(self) -> None:
        deep: list[Any] = []
        for _ in range(2000):
            deep = [deep]
        with pytest.raises(LocalProtocolError):
            check(Close(1, {"a": deep}), LIMITS)

    def test_so_is_a_number_out_of_range(self) -> None:
        with pytest.raises(LocalProtocolError, match=r"out of range"):
            check(Open(1, "exec", {}, -1), LIMITS)

    def test_a_frame_over_the_bound_is_too_large(self) -> None:
        with pytest.raises(TooLarge, match=r"over the limit of 100 bytes"):
            check(Close(1, {"a": "x" * 100}), SMALL)

    def test_a_value_that_failed_leaves_nothing_behind_for_the_next(self) -> None:
        with pytest.raises(LocalProtocolError):
            check(Close(1, {"a": "begun", "b": object()}), LIMITS)
        assert decode(encode(Closed(4), LIMITS)) == [Closed(4)]


@given(st.binary(max_size=200))
def test_random_bytes_are_frames_or_undecodable(data: bytes) -> None:
    try:
        received = decode(data)
    except Undecodable:
        return
    assert all(type(frame) in TAG_OF for frame in received)


def test_the_tags_on_the_wire_never_change() -> None:
    assert {tag.name: tag.value for tag in Tag} == {
        "HELLO": 0,
        "OPEN": 1,
        "ACCEPT": 2,
        "DATA": 3,
        "EOF": 4,
        "ACK": 5,
        "CLOSE": 6,
        "RESET": 7,
        "CLOSED": 8,
        "PING": 9,
        "PONG": 10,
        "BYE": 11,
    }
