"""Viewers of a console, through a whole hub on fakes: who drives, what is recorded, and how they leave."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgpack
import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, Cancelled, NoSpace, TooLarge
from cloche_hub.services.consoles import attachments
from cloche_hub.services.consoles.live import NOBODY_DRIVES
from cloche_wire.limits import Limits
from tests.support.consoles import attach, create, terminals
from tests.support.fake_agent import counted
from tests.support.hub import BOUND_S, Client, RunningHub, running_hub, until, within

SLOW = Limits(window=16 << 10)


async def driven(hub: RunningHub) -> list[tuple[Any, Any, Any]]:
    """Who drove after whom, and how, as the audit has it."""
    events = await hub.events(AuditName.CONSOLE_DRIVEN)
    return [(event.detail["from"], event.detail["to"], event.detail["how"]) for event in events]


async def driven_so_far(hub: RunningHub, count: int) -> list[tuple[Any, Any, Any]]:
    """The same, as soon as it has so many: viewers are told before it is recorded."""
    async with asyncio.timeout(BOUND_S):
        while len(found := await driven(hub)) < count:
            pass
    return found


async def cut(hub: RunningHub, client: Client) -> None:
    """Breaks a client's link, which the hub notices."""
    await client.cut()
    await until(lambda: any(log["event"] == "client_link_ended" for log in hub.logs))


async def test_two_share_a_console_and_the_wheel_goes_from_hand_to_hand(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as one, hub.client() as two:
        await one.create(name="a")
        await create(one)
        ann = await attach(one, rows=30, cols=100)
        ben = await attach(two, rows=20, cols=60)
        assert (ann.driver, ben.driver) == ("v1", "v1")
        await ann.type(b"both see this")
        for viewer in (ann, ben):
            await viewer.until_shown("both see this")
        await ben.say(ask=True)
        assert (await ann.until_told("asked"))["id"] == "v2"
        await ann.say(give="v2")
        await ben.until(lambda: ben.driver == "v2")
        await ben.type(b"!")
        await ann.until_shown("both see this!")
        await ann.say(take=True)
        for viewer in (ann, ben):
            await viewer.until(lambda: "first admin drives now (taken)" in ann.notices + ben.notices)
        await ann.until(lambda: ann.driver == "v1")
        await until(lambda: len(hub.machine.agent.sizes) == 3)
        assert hub.machine.agent.sizes == [(30, 100), (20, 60), (30, 100)]
        assert await driven_so_far(hub, 3) == [
            (None, "v1", "free"),
            ("v1", "v2", "given"),
            ("v2", "v1", "taken"),
        ]
        (recording,) = hub.recordings.made.values()
        await until(lambda: b"first admin drives now (taken)" in recording.text)


async def test_who_says_much_at_once_leaves_others_their_turns(tmp_path: Path) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client, mode="watch")
        sizes = [{"resize": {"rows": 10 + number % 2, "cols": 20}} for number in range(500)]
        said = b"".join(map(msgpack.packb, [*sizes, {"resize": {"rows": 77, "cols": 20}}]))
        async with asyncio.TaskGroup() as tasks:
            counting = tasks.create_task(count())
            await within(viewer.channel.write(0, said))
            await viewer.until(lambda: viewer.viewers[0]["rows"] == 77)
            counting.cancel()
    assert turns > len(sizes)


async def test_who_asked_whoever_drove_is_told_when_that_one_leaves(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        ann, ben, cyd = [await attach(client, mode=mode) for mode in ("drive", "watch", "watch")]
        await ben.say(ask=True)
        await ann.until_told("asked")
        ann.channel.reset(Cancelled("left"))
        await ben.until(lambda: NOBODY_DRIVES in ben.notices)
        await cyd.say(ask=True)
        await ben.until(lambda: ben.driver == cyd.id)
        await ben.say(ask=True)
        await cyd.until_told("asked")
        # Who gives has answered.
        await cyd.say(give=ben.id)
        await ben.until(lambda: ben.driver == ben.id)
        ben.channel.reset(Cancelled("left"))
        await cyd.until(lambda: cyd.driver is None)
        assert NOBODY_DRIVES not in cyd.notices


async def test_who_asks_a_driver_whose_link_is_lost_drives(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as one, hub.client() as two:
        await one.create(name="a")
        await create(one)
        await attach(one)
        ben = await attach(two)
        await cut(hub, one)
        await ben.say(ask=True)
        await ben.until(lambda: ben.driver == ben.id)
        assert await driven_so_far(hub, 2) == [(None, "v1", "free"), ("v1", "v2", "taken")]


async def test_a_client_that_was_killed_and_comes_again_drives(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as one, hub.client() as two:
        await one.create(name="a")
        await create(one)
        ann = await attach(one)
        watching = await attach(two, mode="watch")
        await cut(hub, one)
        again = await attach(two)
        assert (ann.driver, again.driver) == (ann.id, again.id)
        await watching.until(lambda: "first admin drives now (taken)" in watching.notices)
        assert await driven_so_far(hub, 2) == [(None, "v1", "free"), ("v1", again.id, "taken")]


async def test_who_comes_to_take_drives_and_who_comes_to_watch_does_not(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        watcher = await attach(client, mode="watch")
        assert watcher.driver is None
        taker = await attach(client, mode="take")
        assert taker.driver == taker.id
        another = await attach(client, mode="take")
        assert another.driver == another.id
        await watcher.until(lambda: watcher.driver == another.id)
        assert await driven(hub) == [(None, "v2", "free"), ("v2", "v3", "taken")]
        attached = await hub.events(AuditName.CONSOLE_ATTACHED)
        assert [(event.detail["viewer"], event.detail["mode"]) for event in attached] == [
            ("v1", "watch"),
            ("v2", "take"),
            ("v3", "take"),
        ]


async def test_what_a_viewer_may_not_do_is_said_to_it_alone(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        driver, watcher = await attach(client), await attach(client)
        await watcher.say(give="v2")
        await watcher.until(lambda: any("you do not drive" in notice for notice in watcher.notices))
        await watcher.say(signal="KILL")
        await watcher.until(lambda: any("who drives sends signals" in notice for notice in watcher.notices))
        await driver.say(give="v9")
        await driver.until(lambda: any("not here any more" in notice for notice in driver.notices))
        assert len(driver.notices) == 2


async def test_the_driver_sends_signals_and_sizes_and_anybody_wants_the_screen_again(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        driver, watcher = await attach(client), await attach(client)
        await driver.say(resize={"rows": 40, "cols": 120})
        await watcher.until_told("resize")
        await watcher.say(resize={"rows": 1, "cols": 1})
        await watcher.say(refresh=True)
        await watcher.until(lambda: watcher.screens == 2)
        assert watcher.terminal is not None
        assert (watcher.terminal.rows, watcher.terminal.cols) == (40, 120)
        await driver.say(signal="TERM")
        assert (await watcher.result())["signal"] == "TERM"
        assert (await driver.result())["signal"] == "TERM"


async def test_who_leaves_is_gone_and_so_recorded(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        made = await create(client)
        first, second = await attach(client), await attach(client)
        first.channel.reset(Cancelled("bye"))
        await second.until(lambda: second.driver is None and len(second.viewers) == 1)
        event = await hub.happened(AuditName.CONSOLE_DETACHED)
        assert {**event.detail, "attachment": ""} == {
            "console": made["id"],
            "viewer": "v1",
            "mode": "drive",
            "attachment": "",
            "code": "cancelled",
            "reason": "bye",
        }
        await second.say(ask=True)
        await second.until(lambda: second.driver == "v2")
        assert hub.machine.agent.running == 1


async def test_who_leaves_and_comes_back_at_once_drives_again(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        for number in range(1, 5):
            viewer = await attach(client)
            assert (viewer.console["driver"], len(viewer.console["viewers"])) == (f"v{number}", 1)
            viewer.close()
            viewer.channel.reset(Cancelled("enough"))


async def test_who_says_what_nobody_understands_is_let_go(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        await viewer.say(steal=True)
        with pytest.raises(BadRequest, match="unknown field 'steal'"):
            await viewer.result()
        assert (await attach(client)).driver == "v2"


async def test_so_many_may_look_and_no_more(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        for _ in range(32):
            await attach(client, is_read=False)
        with pytest.raises(TooLarge, match="32 viewers"):
            await attach(client)


async def test_nobody_is_let_in_unrecorded(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        hub.store.refuses = NoSpace("the disk is full")
        with pytest.raises(NoSpace):
            await attach(client)
        hub.store.refuses = None
        assert (await terminals(client))[0]["viewers"] == []


async def test_nobody_drives_unrecorded(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        driver, watcher = await attach(client), await attach(client)
        hub.store.refuses = NoSpace("the disk is full")
        await driver.say(give="v2")
        await watcher.until(lambda: watcher.driver == "v2")
        await driver.say(take=True)
        await driver.until(lambda: any("cannot record" in notice for notice in driver.notices))
        assert driver.driver == "v2"
        hub.store.refuses = None
        event = await hub.happened(AuditName.CONSOLE_DRIVEN, times=2)
        assert event.detail["how"] == "given"


async def test_a_viewer_that_never_reads_holds_nobody_up_and_costs_little(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client, hub.client(limits=SLOW) as slow:
        await client.create(name="a")
        await create(client)
        quick, stuck = await attach(client), await attach(slow, mode="watch", is_read=False)
        for number in range(40):
            await quick.type(b"x" * 32_000 + b"\r\nline %d\r\n" % number)
            await quick.until_shown(f"line {number}")
        await stuck.until(lambda: stuck.screens > 1)
        await stuck.until_shown("line 39")
        assert stuck.lost_bytes > 500_000
        assert stuck.text == quick.text
        assert stuck.offset == quick.offset


async def test_of_one_token_one_screen_with_scrollback_is_held_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "REPLAY_S", 0.05)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client, hub.client(limits=SLOW) as slow:
        await client.create(name="a")
        await create(client)
        quick = await attach(client)
        await quick.type(b"".join(b"%d\r\n" % number * 40 for number in range(5_000)))
        await quick.until_shown("4999")
        stuck = await attach(slow, mode="watch", is_read=False, scrollback=10_000)
        after = await attach(client, mode="watch", scrollback=10_000)
        assert after.text == quick.text
        await stuck.until_shown("4999")


async def test_the_end_is_told_behind_all_that_was_shown(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client, hub.client(limits=SLOW) as slow:
        await client.create(name="a")
        await create(client)
        quick, behind = await attach(client), await attach(slow, mode="watch", is_read=False)
        await quick.type(b"y" * 200_000 + b"\r\nlast words\x04")
        assert (await quick.result())["exit_code"] == 0
        assert (await behind.result())["exit_code"] == 0
        assert behind.text[-1] == quick.text[-1] == "last words"


async def test_who_does_not_take_the_last_of_a_console_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "DELIVERY_S", 0.01)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client, hub.client(limits=SLOW) as slow:
        await client.create(name="a")
        await create(client)
        quick, stuck = await attach(client), await attach(slow, mode="watch", is_read=False)
        await quick.type(b"y" * 400_000 + b"\x04")
        await quick.result()
        await hub.happened(AuditName.CONSOLE_DETACHED, times=2)
        await within(stuck.channel.result())


async def test_a_viewer_goes_on_over_new_links_and_so_does_its_console_without_loss_or_doubling(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        data = counted(100_000).replace(b"\x04", b"\x05").replace(b"\x1b", b"\x1c")
        for cut in (client.cut, None, client.cut):
            viewer.output = b""
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(viewer.type(data))
                await viewer.until(lambda: viewer.output)
                if cut is None:
                    hub.machine.agent.drop_link()
                else:
                    await cut()
                    await client.link()
                await viewer.until(lambda: len(viewer.output) >= len(data))
            assert viewer.output == data
            assert viewer.screens == 1


async def test_viewers_hear_of_the_end_only_when_it_is_durable(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        hub.store.gate.clear()
        await viewer.type(b"\x04")
        async with asyncio.TaskGroup() as tasks:
            ended = tasks.create_task(viewer.result())
            await until(lambda: hub.store.waiting)
            for _ in range(5):
                await client.call("sandbox.list")
            assert not ended.done()
            hub.store.gate.set()
        assert ended.result()["exit_code"] == 0


async def test_the_audit_has_neither_keys_nor_output_nor_a_variables_value(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client, env={"KEY": "hunter2"})
        viewer = await attach(client)
        await viewer.type(b"hunter3\x04")
        await viewer.result()
        (opened,) = await hub.events(AuditName.CONSOLE_OPENED)
        assert opened.detail["env_names"] == ["KEY", "TERM"]
        assert "hunter" not in str([await hub.events(), hub.logs])
