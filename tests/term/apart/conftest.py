"""Terminals in processes of their own, from the process that all tests share; they end with their test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_term.apart.zygote import Zygote


@pytest.fixture
async def terminals(zygote: Zygote) -> AsyncIterator[Terminals]:
    """Opens terminals, patiently."""
    async with open_terminals(patience_s=30, zygote=zygote) as terminals:
        yield terminals
