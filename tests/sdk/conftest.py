"""What tests of clients stand on: a hub of their own, found as a user's would be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.local_hub import LocalHub, local_hub
from tests.support.scripted_hub import ScriptedHub, answer


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`CLOCHE_HOME` of this test, with no hub in it."""
    monkeypatch.setenv("CLOCHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
async def hub(home: Path) -> AsyncIterator[LocalHub]:
    """This user's hub, as far as clients can tell."""
    async with local_hub(home) as running:
        yield running


@pytest.fixture
async def scripted_hub(tmp_path: Path) -> AsyncIterator[ScriptedHub]:
    """A hub whose answers the test writes; `ping` is answered already."""
    async with (
        asyncio.timeout(30),
        ScriptedHub(tmp_path / "hub.sock", {"ping": answer({"pong": 1})}) as running,
    ):
        yield running
