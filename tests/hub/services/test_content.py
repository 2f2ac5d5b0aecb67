"""What passes of a file: counted, hashed, bounded."""

from __future__ import annotations

import hashlib

import pytest

from cloche_hub.errors import BadRequest, SenselessAnswer
from cloche_hub.services.content import BYTES, Content


def test_what_has_passed_is_counted_and_hashed() -> None:
    content = Content(BadRequest)
    assert (content.size_bytes, content.sha256, content.is_complete) == (
        0,
        hashlib.sha256().hexdigest(),
        False,
    )
    for piece in (b"one ", b"two"):
        content.received(BYTES, piece)
    content.ended(BYTES)
    assert (content.size_bytes, content.is_complete) == (7, True)
    assert content.sha256 == hashlib.sha256(b"one two").hexdigest()


def test_more_than_may_come_is_refused_and_does_not_count() -> None:
    content = Content(SenselessAnswer, most=4)
    content.received(BYTES, b"1234")
    with pytest.raises(SenselessAnswer, match="more than the 4 bytes"):
        content.received(BYTES, b"5")
    assert (content.size_bytes, content.sha256) == (4, hashlib.sha256(b"1234").hexdigest())


@pytest.mark.parametrize(("stream", "most"), [(0, None), (2, None), (3, 10), (BYTES, 0)])
def test_bytes_where_there_are_none_are_refused(stream: int, most: int | None) -> None:
    with pytest.raises(BadRequest, match=f"stream {stream}, where there are none"):
        Content(BadRequest, most=most).received(stream, b"x")


def test_the_end_of_another_stream_is_not_the_files() -> None:
    content = Content(BadRequest)
    content.ended(0)
    assert not content.is_complete
