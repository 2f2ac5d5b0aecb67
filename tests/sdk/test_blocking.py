"""How asynchronous methods become blocking ones."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from cloche.aio import Pending, Sandbox
from cloche.blocking import blocking, iterating, opening, told_by
from cloche.portal import Portal


class _Counter:
    """An asynchronous object."""

    closed = False

    async def add(self, a: int, *, b: int = 2) -> int:
        """Adds."""
        return a + b

    async def count(self, upto: int) -> AsyncIterator[int]:
        """Counts."""
        try:
            for number in range(upto):
                yield number
        finally:
            self.closed = True


class _Blocking:
    def __init__(self, portal: Portal) -> None:
        self._portal, self._twin = portal, _Counter()

    add = blocking(_Counter.add)
    add_as_text = blocking(_Counter.add, lambda _portal, total: f"={total}")
    count = iterating(_Counter.count)


@pytest.fixture
def counter() -> Iterator[_Blocking]:
    portal = Portal.acquire()
    yield _Blocking(portal)
    portal.release()


def test_a_method_blocks_and_returns(counter: _Blocking) -> None:
    assert counter.add(1) == 3
    assert counter.add(a=1, b=5) == 6


def test_what_it_returns_can_be_made_blocking_too(counter: _Blocking) -> None:
    assert counter.add_as_text(1) == "=3"


def test_what_yields_is_iterated(counter: _Blocking) -> None:
    assert list(counter.count(3)) == [0, 1, 2]
    assert counter._twin.closed


def test_an_iteration_left_early_ends_its_source(counter: _Blocking) -> None:
    numbers = counter.count(3)
    assert next(numbers) == 0
    assert not counter._twin.closed
    numbers.close()  # type: ignore[attr-defined]
    assert counter._twin.closed


def test_an_iteration_left_after_the_portal_has_ended_is_no_error() -> None:
    portal = Portal.acquire()
    numbers = _Blocking(portal).count(3)
    next(numbers)
    portal.release()
    numbers.close()  # type: ignore[attr-defined]


def test_what_opens_takes_a_lease_and_gives_it_back_if_it_fails() -> None:
    async def open_it(*, fails: bool = False) -> str:
        if fails:
            raise LookupError
        return "opened"

    opened = opening(open_it, lambda portal, what: (portal, what))
    portal, what = opened()
    assert what == "opened"
    portal.release()
    with pytest.raises(LookupError):
        opened(fails=True)
    assert [thread for thread in threading.enumerate() if thread.name == "cloche"] == []


def test_name_docstring_and_parameters_are_the_original_s() -> None:
    assert _Blocking.add.__doc__ == "Adds."
    assert _Blocking.add.__qualname__ == "_Counter.add"
    assert inspect.signature(_Blocking.add) == inspect.signature(_Counter.add)
    assert not inspect.iscoroutinefunction(_Blocking.add)


def test_what_a_blocking_caller_gets_is_said_as_it_is_for_him() -> None:
    async def create() -> Pending[Sandbox]: ...  # type: ignore[empty-body]
    def listen() -> AsyncIterator[int]: ...  # type: ignore[empty-body]

    assert inspect.signature(told_by(create)(lambda: None)).return_annotation == "Sandbox"
    assert inspect.signature(told_by(listen)(lambda: None)).return_annotation == "Iterator[int]"
