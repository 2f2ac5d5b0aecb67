"""How an asynchronous method becomes a blocking one with the same signature. Knows no class of the SDK.

The types say it to the type checker (`ParamSpec`), `__signature__` says it to `help()` and to completion.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from cloche.errors import WrongState
from cloche.portal import Portal

P = ParamSpec("P")
R = TypeVar("R")
W = TypeVar("W")
F = TypeVar("F", bound=Callable[..., Any])


class _Twin(Protocol):
    """What a blocking method is called on."""

    @property
    def _portal(self) -> Portal: ...
    @property
    def _twin(self) -> Any: ...


@overload
def blocking(method: Callable[Concatenate[Any, P], Awaitable[R]]) -> Callable[Concatenate[Any, P], R]: ...
@overload
def blocking(
    method: Callable[Concatenate[Any, P], Awaitable[R]], wrap: Callable[[Portal, R], W]
) -> Callable[Concatenate[Any, P], W]: ...
def blocking(
    method: Callable[Concatenate[Any, P], Awaitable[Any]], wrap: Callable[[Portal, Any], Any] | None = None
) -> Callable[Concatenate[Any, P], Any]:
    """The blocking form of a method; `wrap` makes what it returns blocking, too."""

    @told_by(method)
    def call(self: _Twin, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        found = self._portal.call(lambda: method(self._twin, *args, **kwargs))
        return found if wrap is None else wrap(self._portal, found)

    return call


def iterating(
    method: Callable[Concatenate[Any, P], AsyncIterator[R]],
) -> Callable[Concatenate[Any, P], Iterator[R]]:
    """The blocking form of a method that yields."""

    @told_by(method)
    def iterate(self: _Twin, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        source: Any = method(self._twin, *args, **kwargs)
        try:
            while True:
                try:
                    yield self._portal.call(source.__anext__)
                except StopAsyncIteration:
                    return
        finally:
            # The connection may be closed by now, and the source with it.
            with suppress(WrongState):
                self._portal.call(source.aclose)

    return iterate


def opening(method: Callable[P, Awaitable[R]], wrap: Callable[[Portal, R], W]) -> Callable[P, W]:
    """The blocking form of what opens a connection: it takes a lease on the portal, which `wrap` takes over."""

    @told_by(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> W:
        portal = Portal.acquire()
        try:
            return wrap(portal, portal.call(lambda: method(*args, **kwargs)))
        except BaseException:
            portal.release()
            raise

    return call


def told_by(original: Callable[..., Any]) -> Callable[[F], F]:
    """Gives a function the name, the docstring and the signature of another, as they are for blocking callers."""
    signature = inspect.signature(original)
    returned = signature.return_annotation
    if isinstance(returned, str):
        returned = re.sub(r"^Pending\[(.*)\]$|^Async(Iterator\[.*\])$", r"\1\2", returned)
        returned = re.sub(r"^AsyncGenerator\[(.*), None\]$", r"Iterator[\1]", returned)
        signature = signature.replace(return_annotation=returned)

    def tell(function: F) -> F:
        function.__name__, function.__qualname__ = original.__name__, original.__qualname__
        function.__doc__ = original.__doc__
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return tell
