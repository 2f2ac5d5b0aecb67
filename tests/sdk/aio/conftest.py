"""A sandbox to run things in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cloche.aio import Hub, Sandbox
from tests.support.local_hub import LocalHub


@pytest.fixture
async def client(hub: LocalHub) -> AsyncIterator[Hub]:
    async with Hub.connect() as connected:
        yield connected


@pytest.fixture
async def sandbox(client: Hub) -> AsyncIterator[Sandbox]:
    async with client.create(name="box") as created:
        yield created
