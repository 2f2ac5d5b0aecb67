"""A sandbox's consoles: made, attached to, listed, closed."""

from __future__ import annotations

import asyncio

import pytest

from cloche.aio import Hub, Sandbox
from cloche.errors import CommandNotStarted, Conflict, NotFound, TooLarge, WrongState
from cloche_wire.aio import Channel
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import refuse


async def test_what_is_asked_of_a_new_one_reaches_the_hub(sandbox: Sandbox, hub: LocalHub) -> None:
    async with sandbox.console():
        pass
    async with sandbox.console(
        ["cat"], rows=5, cols=6, env={"A": "1"}, cwd="/", user="root", term="vt100", name="mine", record=False
    ):
        pass
    plain, full = [params for kind, params in hub.asked if kind == "console.create"]
    sized = {"sandbox": sandbox.id, "rows": 24, "cols": 80}
    assert plain == {**sized, "env": {}, "record": True}
    assert full == {
        **sized, "argv": ["cat"], "rows": 5, "cols": 6, "env": {"A": "1"}, "cwd": "/", "user": "root",
        "term": "vt100", "name": "mine", "record": False,
    }  # fmt: skip
    attached = next(params for kind, params in hub.asked if kind == "console.attach")
    assert attached == {**sized, "console": attached["console"], "mode": "drive", "scrollback": 0}


async def test_a_program_that_is_not_there_is_an_error_at_once(sandbox: Sandbox) -> None:
    with pytest.raises(CommandNotStarted):
        await sandbox.console(["/no/such/program"])


async def test_a_text_is_no_list_of_arguments(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match="'/bin/sh', '-c', 'ls'"):
        sandbox.console("ls")


async def test_one_that_cannot_be_attached_to_is_not_left_behind(sandbox: Sandbox, hub: LocalHub) -> None:
    hub.handlers["console.attach"] = refuse(TooLarge("too many"))
    with pytest.raises(TooLarge, match="too many"):
        await sandbox.console(["cat"])
    assert [info.name for info in await sandbox.consoles()] == ["boot"]
    hub.handlers["console.close"] = refuse(NotFound("its sandbox is gone"))
    with pytest.raises(TooLarge, match="too many"):
        await sandbox.console(["cat"])


async def test_one_that_is_not_waited_for_is_not_left_behind(sandbox: Sandbox, hub: LocalHub) -> None:
    async def attach(channel: Channel) -> None:
        await channel.wait_confirmed()

    hub.handlers["console.attach"] = attach
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await sandbox.console(["cat"])
    assert [info.name for info in await sandbox.consoles()] == ["boot"]


async def test_one_is_attached_to_by_name_by_id_or_as_the_newest(sandbox: Sandbox, hub: LocalHub) -> None:
    async with sandbox.console(["cat"], name="a") as first, sandbox.console(["cat"]) as second:
        for named, meant in (("a", first), (second.id, second), (None, second)):
            async with sandbox.attach(named, mode="watch", rows=9, cols=8, scrollback=7) as console:
                assert (console.id, console.is_driving) == (meant.id, False)
        assert hub.asked[-1] == (
            "console.attach",
            {"sandbox": sandbox.id, "mode": "watch", "rows": 9, "cols": 8, "scrollback": 7},
        )
        async with sandbox.attach("a", mode="take") as console:
            assert console.is_driving
        with pytest.raises(NotFound):
            await sandbox.attach("none")


async def test_they_are_listed_with_the_machine_s_own(sandbox: Sandbox, client: Hub) -> None:
    async with (
        client.create(name="other") as other,
        sandbox.console(["cat"]),
        sandbox.console(["true"]) as ended,
    ):
        await ended.wait()
        assert [info.name for info in await sandbox.consoles()] == ["1", "boot"]
        everywhere = [info.id for info in await client.consoles(ended=True)]
        assert [info.id for info in await client.consoles(sandbox="box", ended=True)] == [
            id_ for id_ in everywhere if "boot_" + other.id not in id_
        ]
        assert len(everywhere) == 4
        async with sandbox.attach("boot") as boot:
            assert (await boot.until("Linux version")).lines[1] == "ready"
            assert not boot.is_driving


async def test_one_is_looked_at_without_being_attached_to(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "echo hi; exec cat"], name="a") as console:
        await console.until("hi")
        assert [(await sandbox.look()).text, (await sandbox.look("a")).text] == ["hi", "hi"]
        assert [len(info.viewers) for info in await sandbox.consoles()] == [1, 0]
        assert "Linux version" in (await sandbox.look("boot")).text
        with pytest.raises(NotFound):
            await sandbox.look("nothing")


async def test_one_is_closed_by_name(sandbox: Sandbox) -> None:
    async with sandbox.console(["cat"], name="a") as console:
        with pytest.raises(Conflict, match="choose another name"):
            await sandbox.console(["cat"], name="a")
        closed = await sandbox.close_console("a")
        assert (closed.id, closed.state, closed.signal) == (console.id, "ended", "KILL")
        assert (await console.wait()).signal == "KILL"
        with pytest.raises(NotFound):
            await sandbox.close_console()
        assert await sandbox.close_console("a") == closed
        with pytest.raises(WrongState):
            await sandbox.close_console("boot")
