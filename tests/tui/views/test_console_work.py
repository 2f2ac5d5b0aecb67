"""What is asked of the hub about consoles: the newest of a sandbox, and that one ends; on a real hub on fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche.errors import BadRequest, NotFound
from cloche_term.apart.terminals import Terminals
from cloche_tui.dialogs.confirm import Confirm
from cloche_tui.model.console_status import Phase
from cloche_tui.model.roles import Role, plain_text
from cloche_tui.views.console_work import newest_of
from cloche_tui.widgets.console_pane import ConsolePane
from tests.tui.feed.console_links import shell
from tests.tui.views.console_bench import Bench, own_bench


@pytest.fixture
async def bench(tmp_path: Path, terminals: Terminals) -> AsyncIterator[Bench]:
    async with own_bench(tmp_path, terminals, *"ab") as bench:
        yield bench


async def test_saving_asks_for_a_path(bench: Bench) -> None:
    bench.open("a")
    with pytest.raises(BadRequest, match="save where"):
        await bench.run("save")


async def test_what_is_opened_by_its_name_is_the_newest_the_hub_knows(bench: Bench) -> None:
    newer = await shell(bench.client, "a")
    await bench.run("open", "a")
    await bench.until_seen("a/2")
    assert bench.host.query_one(ConsolePane).console == newer.id


async def test_without_the_hub_it_is_the_newest_that_was_told(bench: Bench) -> None:
    await bench.hub.end()
    assert await newest_of(bench.host, bench.sandbox("a")) == bench.infos["a"].id


async def test_ending_a_console_is_asked_about_first_and_names_what_ends(bench: Bench) -> None:
    bench.open("a")
    await bench.until_seen("○ watching")
    bench.host.answers.extend([None, True])
    bench.area.query_one(ConsolePane).focus()
    await bench.run("close")
    assert bench.host.query_one(ConsolePane).status.phase is Phase.LIVE
    (question,) = bench.host.asked
    assert isinstance(question, Confirm)
    assert question.heading == "End a/1?"
    told = [plain_text(one) for one in question._lines]
    assert told == [
        "a shell and all it runs here end.",
        "Looked at by first admin.",
        "What it has shown is kept.",
    ]
    await bench.run("close")
    await bench.until_seen("■ ended")
    assert bench.host.said[-1] == ("a/1 ended", Role.GOOD)
    with pytest.raises(BadRequest, match="no program here"):
        await bench.run("close")


async def test_the_only_console_of_the_selected_sandbox_is_ended_from_the_list(bench: Bench) -> None:
    bench.host.world.fleet.select(bench.sandbox("b"))
    bench.host.answers.append(True)
    await bench.run("close")
    assert bench.host.said[-1][0] == "b/1 ended"
    with pytest.raises(NotFound, match="no program of b runs in a console"):
        await bench.run("close")


async def test_which_of_several_is_ended_has_to_be_named(bench: Bench) -> None:
    await shell(bench.client, "a")
    bench.host.world.fleet.select(bench.sandbox("a"))
    await bench.run("close")
    assert (bench.host.asked, bench.host.actions) == ([], [("command.open", "close-console a/")])
    bench.host.answers.append(True)
    await bench.run("close", "a/2")
    assert bench.host.said[-1][0] == "a/2 ended"
    with pytest.raises(NotFound, match="no program of a runs in a console 'boot'"):
        await bench.run("close", "a/boot")
    with pytest.raises(NotFound, match="no sandbox 'zebra'"):
        await bench.run("close", "zebra/1")


async def test_what_the_machine_says_cannot_be_ended(bench: Bench) -> None:
    bench.host.world.fleet.select(bench.sandbox("a"))
    await bench.run("boot")
    await bench.until_seen("a/boot")
    assert bench.focused == "a"
    with pytest.raises(BadRequest, match="no program here"):
        await bench.run("close")
