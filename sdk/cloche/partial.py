"""A list that may not be all there is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


class Partial(list[T]):
    """What the hub's answer had room for.

    Attributes:
        omitted: how many things of those asked for are not in it; the request says which.
    """

    def __init__(self, things: Iterable[T], *, omitted: int) -> None:
        super().__init__(things)
        self.omitted = omitted
