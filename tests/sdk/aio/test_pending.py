"""What can be awaited or entered."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import pytest

from cloche.aio import Pending


class _Thing:
    def __init__(self) -> None:
        self.story: list[str] = []

    async def __aenter__(self) -> Self:
        self.story.append("entered")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.story.append(f"left with {error!r}")


async def _make() -> _Thing:
    return _Thing()


async def _fail() -> _Thing:
    raise LookupError("none")


async def test_awaited_it_is_the_thing_untouched() -> None:
    assert (await Pending(_make())).story == []


async def test_entered_it_ends_with_the_block() -> None:
    async with Pending(_make()) as thing:
        assert thing.story == ["entered"]
    assert thing.story == ["entered", "left with None"]


async def test_an_error_in_the_block_reaches_the_thing_and_the_caller() -> None:
    with pytest.raises(ValueError, match="mine"):
        async with Pending(_make()) as thing:
            raise ValueError("mine")
    assert thing.story[-1] == "left with ValueError('mine')"


async def test_an_error_in_the_making_is_the_caller_s() -> None:
    with pytest.raises(LookupError, match="none"):
        async with Pending(_fail()):
            raise AssertionError("there is nothing to enter")
    with pytest.raises(LookupError, match="none"):
        await Pending(_fail())
