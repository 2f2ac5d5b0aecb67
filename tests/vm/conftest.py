"""Fixtures for tests on real machines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche_hub.images.images import ImageCache
from cloche_hub.ports import Image
from cloche_hub.vm.hypervisor import QemuHypervisor
from cloche_wire.rendezvous import locations
from tests.support.machines import open_hypervisor

BOUND_S = 150.0


@pytest.fixture
async def hypervisor(tmp_path: Path, minimal_image: Image) -> AsyncIterator[QemuHypervisor]:
    """A hypervisor with a home of its own; what it still runs at the end is ended."""
    assert minimal_image
    async with ImageCache(locations().cache) as images, open_hypervisor(tmp_path / "home", images) as one:
        yield one
    async with (
        ImageCache(locations().cache) as images,
        open_hypervisor(tmp_path / "home", images) as next_one,
    ):
        async with asyncio.timeout(BOUND_S):
            for stray in await next_one.find_strays():
                await next_one.end_stray(stray.machine_id)
