"""A store in a folder of the test's own, with a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche_hub.store.store import Store, open_store
from tests.hub.domain.examples import MOMENT


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def store(home: Path) -> AsyncIterator[Store]:
    async with open_store(home, clock=lambda: MOMENT) as opened:
        yield opened
