"""Links for the tests of the driver, and proof that each test leaves nothing behind in its loop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.aio import Handler
from cloche_wire.limits import Limits
from tests.support.links import KINDS, SMALL, Links, open_links
from tests.wire.aio.three_parties import Hub, Make, spliced


@pytest.fixture(scope="session", autouse=True)
def _fast_collection() -> Iterator[None]:
    """Keeps what was there before the first test out of every later garbage collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
async def _clean_loop() -> AsyncIterator[None]:
    """Fails a test that leaves a task, or an error that nobody has looked at."""
    loop = asyncio.get_running_loop()
    complaints: list[dict[str, Any]] = []
    before = asyncio.all_tasks()
    loop.set_exception_handler(lambda _loop, context: complaints.append(context))
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    # Errors that nobody has looked at are only complained of when their future is collected.
    gc.collect()
    assert not left, left
    assert not complaints, complaints


@pytest.fixture(autouse=True)
def _short_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits that end by their bound end soon."""
    monkeypatch.setattr("cloche_wire.aio.transports._CLOSE_S", 0.02)
    monkeypatch.setattr("cloche_wire.aio.peer._CLOSE_S", 0.05)
    monkeypatch.setattr("cloche_wire.aio.peer._LAST_WORDS_S", 0.05)


@pytest.fixture
def small_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message carries a frame or two, so that a link can be cut in many places."""
    monkeypatch.setattr("cloche_wire.aio.peer._WRITE_SIZE", 120)


@pytest.fixture(params=KINDS)
async def links(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Links]:
    """Links of each kind."""
    async with open_links(request.param, tmp_path) as links:
        yield links


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Links]:
    """Links in memory, for what does not depend on the kind."""
    async with open_links("memory", tmp_path, limits=SMALL) as links:
        yield links


@pytest.fixture(params=["memory-memory", "websocket-stream"])
async def three(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """Makes the three parties, joined by one kind of link to the client and one to the guest."""
    client_kind, guest_kind = request.param.split("-")
    async with (
        open_links(client_kind, tmp_path) as client_links,
        open_links(guest_kind, tmp_path) as guest_links,
    ):

        def make(on_open: Handler | None, **limits: Limits) -> contextlib.AbstractAsyncContextManager[Hub]:
            return spliced(client_links, guest_links, on_open, **limits)

        yield make
