"""What is done with one console for good, on a real hub on fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche.errors import BadRequest
from cloche_term.apart.terminals import Terminals
from cloche_tui.model.console_status import Phase
from cloche_tui.widgets.console_pane import ConsolePane
from tests.tui.feed.console_links import dashboard
from tests.tui.support import hub_on_fakes
from tests.tui.views.console_bench import Bench, console_bench


@pytest.fixture
async def bench(tmp_path: Path, terminals: Terminals) -> AsyncIterator[Bench]:
    async with hub_on_fakes(tmp_path) as (hub, client), dashboard(hub, terminals) as desk:
        for name in "ab":
            await client.create(name=name)
        async with console_bench(hub, client, desk, terminals, tmp_path, *"ab") as bench:
            yield bench


async def test_saving_asks_for_a_path(bench: Bench) -> None:
    bench.open("a")
    with pytest.raises(BadRequest, match="save where"):
        await bench.run("save")


async def test_ending_a_console_is_asked_about_first(bench: Bench) -> None:
    bench.open("a")
    await bench.until_seen("○ watching")
    bench.host.answers.extend([None, True])
    await bench.run("close")
    assert bench.host.query_one(ConsolePane).status.phase is Phase.LIVE
    await bench.run("close")
    await bench.until_seen("■ ended")
    with pytest.raises(BadRequest, match="no program here"):
        await bench.run("close")


async def test_what_the_machine_says_cannot_be_ended(bench: Bench) -> None:
    bench.host.world.fleet.select(bench.sandbox("a"))
    await bench.run("boot")
    await bench.until_seen("a/boot")
    with pytest.raises(BadRequest, match="no program here"):
        await bench.run("close")
