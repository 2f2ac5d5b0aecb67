"""What a program gives to be written."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import pytest

from cloche.aio.content import Content, pieces_of
from cloche.aio.file_streams import PIECE


async def _given(content: Content) -> list[bytes]:
    return [piece async for piece in pieces_of(content)]


async def _later() -> AsyncIterator[bytes]:
    yield b"a"
    yield b"b"


async def test_every_form_of_content_becomes_bytes() -> None:
    assert await _given("ä") == ["ä".encode()]
    assert await _given(b"") == []
    assert await _given(bytearray(b"ab")) == [b"ab"]
    assert await _given(memoryview(b"ab")) == [b"ab"]
    assert await _given([b"a", b"b"]) == [b"a", b"b"]
    assert await _given(_later()) == [b"a", b"b"]
    assert await _given(io.BytesIO(b"abc")) == [b"abc"]


async def test_much_comes_in_pieces() -> None:
    content = bytes(PIECE) + b"x"
    assert await _given(content) == [bytes(PIECE), b"x"]
    assert await _given(io.BytesIO(content)) == [bytes(PIECE), b"x"]


async def test_pieces_of_text_are_refused() -> None:
    for content in (["a"], io.StringIO("a")):
        with pytest.raises(TypeError, match="must be bytes, not str"):
            await _given(content)  # type: ignore[arg-type]
