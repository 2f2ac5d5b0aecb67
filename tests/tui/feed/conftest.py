"""A hub on fakes with a sandbox `box`, and a person's dashboard at it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche.aio import Hub
from cloche_term.apart.terminals import Terminals
from tests.support.hub import RunningHub
from tests.tui.feed.console_links import Desk, dashboard
from tests.tui.support import hub_on_fakes


@pytest.fixture
async def hubs(tmp_path: Path) -> AsyncIterator[tuple[RunningHub, Hub]]:
    """A hub with a sandbox `box`, and a connection to it."""
    async with hub_on_fakes(tmp_path) as (hub, client):
        await client.create(name="box")
        yield hub, client


@pytest.fixture
def hub(hubs: tuple[RunningHub, Hub]) -> RunningHub:
    return hubs[0]


@pytest.fixture
def client(hubs: tuple[RunningHub, Hub]) -> Hub:
    return hubs[1]


@pytest.fixture
async def desk(hub: RunningHub, terminals: Terminals) -> AsyncIterator[Desk]:
    async with dashboard(hub, terminals) as mine:
        yield mine
