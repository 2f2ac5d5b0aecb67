"""Fixtures for tests of machines that need no machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hub.vm.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A place for hubs, with a fake QEMU and no KVM."""
    return World(tmp_path)
