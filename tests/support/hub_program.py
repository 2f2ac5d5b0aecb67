"""The hub's program with fakes for machines and images: `python -m tests.support.hub_program serve --ready-fd 3`.

For tests of what only a process of its own shows: signals, exit statuses, standard streams.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest import mock

from cloche_hub import __main__ as program
from cloche_hub.ports import Hypervisor, Images
from tests.support.fake_hypervisor import FakeHypervisor
from tests.support.fake_images import FakeImages


@asynccontextmanager
async def _fakes(_settings: object, _places: object) -> AsyncIterator[tuple[Images, Hypervisor]]:
    async with FakeHypervisor().running() as hypervisor:
        yield FakeImages(), hypervisor


if __name__ == "__main__":
    with mock.patch("cloche_hub.app.ports", _fakes):
        sys.exit(program.main())
