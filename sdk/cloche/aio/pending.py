"""What can be awaited for a thing, or entered to hold it for a while: `await hub.create()`, `async with hub.create()`."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=AbstractAsyncContextManager[Any])


class Pending(Generic[T]):
    """A thing on its way: await it once, or enter it once.

    Args:
        coming: makes the thing. Awaited, the thing is the caller's to end; entered, it ends with the block.
    """

    def __init__(self, coming: Coroutine[Any, Any, T]) -> None:
        self._coming = coming
        self._held: T | None = None

    def __await__(self) -> Generator[Any, None, T]:
        return self._coming.__await__()

    async def __aenter__(self) -> T:
        self._held = await self._coming
        await self._held.__aenter__()
        return self._held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._held is not None
        return await self._held.__aexit__(kind, error, trace)
