"""What a console's program wants copied, as the dashboard hears it through a real hub on fakes."""

from __future__ import annotations

import asyncio

import pytest

from cloche.aio import Hub
from cloche_tui.feed.console_screen import MOST_WAITING
from cloche_tui.model.clipboard import CopyRequest
from cloche_tui.model.console_status import Phase
from cloche_wire.aio import Channel
from tests.support.fake_agent import STDIN, STDOUT
from tests.support.hub import RunningHub, until
from tests.tui.feed.console_links import Desk, Watched, shell
from tests.tui.model.test_clipboard import osc52

_FLOOD = 10_000


def _asked(mine: Watched) -> CopyRequest | None:
    return mine.link.screen.copies.newest(asyncio.get_running_loop().time())


@pytest.mark.parametrize("end", ["\x07", "\x1b\\"])
async def test_what_happens_now_is_heard_and_what_the_screen_holds_is_not(
    client: Hub, desk: Desk, end: str
) -> None:
    info = await shell(client)
    async with (await client.sandbox("box")).attach(info.id) as other:
        await other.write(osc52("before", end=end) + b"shown before")
        await other.until("shown before")
        mine = desk.look_into(info)
        await mine.until_shown("shown before")
        await mine.until_phase(Phase.LIVE)
        assert _asked(mine) is None
        for byte in osc52("after", end=end):
            await other.write(bytes([byte]))
        await until(lambda: _asked(mine) == CopyRequest("after"))
    assert mine.said == []


async def test_one_of_another_attachment_is_not_put_together_with_what_the_next_shows(
    client: Hub, desk: Desk
) -> None:
    mine = desk.open_shell("box")
    await mine.until_driving()
    mine.link.type(b"begun" + osc52("cut")[:9])
    await mine.until_shown("begun")
    mine.link.leave()
    await until(lambda: mine.link.status.info is not None and mine.link.status.info.driver is None)
    async with (await client.sandbox("box")).attach(mine.link.id or "") as other:
        await other.write(osc52("cut")[9:] + b"end")
        await mine.until_shown("end")
    assert _asked(mine) is None


async def test_ten_thousand_requests_cost_no_other_console_its_keys(desk: Desk, hub: RunningHub) -> None:
    mine = desk.open_shell("box")
    await mine.until_driving()
    hub.machine.agent.overrides["pty"] = _ask
    flooded = desk.open_shell("box")
    await flooded.until_driving()
    flooded.link.type(b"go")
    await until(lambda: _asked(flooded) is not None)
    seen = set()
    for number in range(20):
        mine.link.type(b"x")
        await mine.until_shown("x" * (number + 1))
        seen.add(_asked(flooded))
    assert None not in seen
    copies = flooded.link.screen.copies
    assert copies._waiting is None or len(copies._waiting[0]) < 100
    assert flooded.link.screen._waiting_bytes <= 2 * MOST_WAITING
    await flooded.until_shown("done")
    await until(lambda: _asked(flooded) == CopyRequest(f"number {_FLOOD - 1}"))


async def _ask(channel: Channel) -> None:
    """A terminal whose program asks again and again once it is told to, and then waits."""
    channel.accept({"console": channel.params["console"], "pid": 1})
    await channel.read(STDIN)
    for number in range(_FLOOD):
        await channel.write(STDOUT, osc52(f"number {number}"))
    await channel.write(STDOUT, b"done")
    await asyncio.Event().wait()
