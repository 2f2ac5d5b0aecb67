"""One stream's bytes: what is unsent, what is sent, what is kept until it is acknowledged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cloche_wire.streams import ReceiveStream, SendStream


def held(stream: SendStream) -> bytes:
    """Everything the stream keeps, in order."""
    return b"".join(bytes(piece) for piece in (*stream.unacked, *stream.unsent))


def take_all(stream: SendStream, most: int = 100) -> list[bytes]:
    pieces = []
    while stream.unsent:
        pieces.append(bytes(stream.take(most)))
    return pieces


def stream_of(*pieces: bytes) -> SendStream:
    stream = SendStream()
    for piece in pieces:
        stream.push(piece)
    return stream


def test_a_piece_that_fits_is_sent_as_it_is() -> None:
    piece = b"some bytes"
    assert stream_of(piece).take(100) is piece


def test_small_pieces_travel_together() -> None:
    assert take_all(stream_of(b"ab", b"c", b"def"), 6) == [b"abcdef"]


def test_pieces_are_joined_only_as_far_as_they_fit() -> None:
    assert take_all(stream_of(b"ab", b"cd", b"ef"), 5) == [b"abcd", b"ef"]


def test_a_large_piece_is_sent_in_chunks() -> None:
    assert take_all(stream_of(b"abcdefgh"), 3) == [b"abc", b"def", b"gh"]


def test_a_piece_of_exactly_the_most_goes_alone() -> None:
    assert take_all(stream_of(b"abc", b"d"), 3) == [b"abc", b"d"]


def test_what_is_acknowledged_is_forgotten() -> None:
    stream = stream_of(b"abcdef", b"ghi")
    take_all(stream, 6)
    stream.acknowledge(6)
    assert held(stream) == b"ghi"
    stream.acknowledge(9)
    assert held(stream) == b""
    assert (stream.acked, stream.sent, stream.end) == (9, 9, 9)


def test_an_acknowledgement_may_end_within_a_piece() -> None:
    stream = stream_of(b"abcdef")
    stream.take(100)
    stream.acknowledge(2)
    assert held(stream) == b"cdef"


def test_what_the_peer_has_not_received_is_unsent_again() -> None:
    stream = stream_of(b"abc", b"def", b"ghi")
    take_all(stream, 3)
    stream.acknowledge(1)
    stream.rewind(5, end_seen=False)
    assert stream.sent == 5
    assert b"".join(take_all(stream)) == b"fghi"


def test_a_rewind_to_where_the_stream_stands_sends_nothing_again() -> None:
    stream = stream_of(b"abc", b"def")
    stream.take(3)
    stream.rewind(3, end_seen=False)
    assert take_all(stream) == [b"def"]


def test_an_end_that_the_peer_has_seen_is_not_sent_again() -> None:
    stream = stream_of(b"abc")
    stream.take(3)
    stream.ended = stream.end_sent = True
    stream.rewind(3, end_seen=True)
    assert stream.end_sent
    stream.rewind(3, end_seen=False)
    assert not stream.end_sent


def test_a_receiving_stream_begins_at_the_beginning() -> None:
    stream = ReceiveStream()
    assert (stream.received, stream.consumed, stream.acked, stream.ended) == (0, 0, 0, False)


@given(st.data())
def test_whatever_is_sent_acknowledged_and_rewound_the_bytes_stay_in_order(data: st.DataObject) -> None:
    stream, pushed = SendStream(), b""
    for _ in range(data.draw(st.integers(1, 20))):
        match data.draw(st.sampled_from(["push", "take", "acknowledge", "rewind"])):
            case "push":
                piece = bytes((len(pushed) + place) % 251 for place in range(data.draw(st.integers(1, 9))))
                stream.push(piece)
                pushed += piece
            case "take" if stream.unsent:
                most, before = data.draw(st.integers(1, 5)), stream.sent
                piece = bytes(stream.take(most))
                assert 0 < len(piece) <= most
                assert piece == pushed[before : before + len(piece)]
            case "acknowledge":
                stream.acknowledge(data.draw(st.integers(stream.acked, stream.sent)))
            case "rewind":
                received = data.draw(st.integers(stream.acked, stream.sent))
                stream.rewind(received, end_seen=False)
                assert stream.sent == received
        assert held(stream) == pushed[stream.acked :]
        assert sum(map(len, stream.unacked)) == stream.sent - stream.acked
        assert stream.end == len(pushed)
