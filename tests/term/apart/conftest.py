"""Terminals in processes of their own, from one process that all tests share; they end with their test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_term.apart.zygote import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """What terminals come from; it takes half a second to start."""
    zygote = Zygote()
    yield zygote
    zygote.close()


@pytest.fixture
async def terminals(zygote: Zygote) -> AsyncIterator[Terminals]:
    """Opens terminals, patiently."""
    async with open_terminals(patience_s=30, zygote=zygote) as terminals:
        yield terminals
