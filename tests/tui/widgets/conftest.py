"""A pane with a console, for all tests of what it shows and does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche import ConsoleInfo
from cloche_term.apart.terminals import Terminals
from tests.tui.feed.console_links import shell
from tests.tui.widgets.pane_bench import PaneBench, pane_bench


@pytest.fixture
async def bench(tmp_path: Path, terminals: Terminals) -> AsyncIterator[PaneBench]:
    """A sandbox `box`, and panes of it to be shown."""
    async with pane_bench(tmp_path, terminals) as bench:
        yield bench


@pytest.fixture
async def info(bench: PaneBench) -> ConsoleInfo:
    """A shell in it."""
    return await shell(bench.client)
