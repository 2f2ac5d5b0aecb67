"""`cloche events`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from cloche_wire.aio import Channel
from tests.sdk.cli.conftest import Cloche, start
from tests.sdk.test_event_messages import SANDBOX, USAGE, told
from tests.support.local_callbacks import LocalApprovals
from tests.support.local_hub import THEN, LocalHub


def telling(*messages: dict[str, Any], ends: bool = True) -> Callable[[Channel], Awaitable[None]]:
    """A hub that tells these events, and then nothing more."""

    async def handle(channel: Channel) -> None:
        channel.accept()
        for message in messages:
            await channel.send_message(message)
        if ends:
            channel.close({})
        else:
            await channel.wait_confirmed()

    return handle


async def test_an_event_is_a_line_and_usage_is_told_by_name(cloche: Cloche, hub: LocalHub) -> None:
    approval = LocalApprovals().ask("pay.send", {"amount": 3})
    failed = {**SANDBOX, "state": "failed", "end_reason": "its machine\ncrashed"}
    hub.handlers["events"] = telling(
        told("usage", USAGE, "current"),
        told("sandbox", SANDBOX, "current"),
        {"topic": "current_end"},
        told("usage", {**USAGE, "cpu_percent": 12.34}),
        told("approval", approval),
        told("sandbox", failed, "gone"),
        told("weather", {}),
    )
    ran = await cloche("events")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "usage     current  sb_1  cpu -  memory 60.0 MiB  disk 1.0 MiB",
        "sandbox   current  box (sb_1) of ann  running",
        "usage     changed  box  cpu 12.3 %  memory 60.0 MiB  disk 1.0 MiB",
        "approval  changed  apr_0001  pay.send of box  pending",
        "sandbox   gone     box (sb_1) of ann  failed: its machine\\ncrashed",
    ]


async def test_what_is_wanted_is_asked_for(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["events"] = telling()
    await cloche("events", "-t", "sandbox", "-t", "usage", "--sandbox", "box", "--label", "team=ml*")
    await cloche("events")
    assert [params for _, params in hub.asked] == [
        {"topics": ["sandbox", "usage"], "sandbox": "box", "labels": {"team": "ml*"}, "states": []},
        {"topics": [], "labels": {}, "states": []},
    ]
    assert (await cloche("events", "--label", "team")).status == 2


async def test_json_is_a_line_an_event_until_interrupted(hub: LocalHub) -> None:
    hub.handlers["events"] = telling(
        told("sandbox", SANDBOX, "current"), {"topic": "current_end"}, ends=False
    )
    process = await start("events", "--json")
    assert process.stdout is not None
    async with asyncio.timeout(20):
        first = json.loads(await process.stdout.readline())
        assert (first["change"], first["value"]["name"]) == ("current", "box")
        assert json.loads(await process.stdout.readline()) == {
            "change": None,
            "topic": "current_end",
            "value": None,
        }
        process.send_signal(2)
        _, err = await process.communicate()
    assert (process.returncode, err) == (130, b"")


async def test_a_reader_that_has_seen_enough_ends_it_without_a_word(hub: LocalHub) -> None:
    async def for_ever(channel: Channel) -> None:
        channel.accept()
        while True:
            await channel.send_message(told("sandbox", SANDBOX))

    hub.handlers["events"] = for_ever
    process = await start("events")
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(20):
        await process.stdout.readline()
        process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        err = await process.stderr.read()
        assert (await process.wait(), err) == (141, b"")


async def test_a_console_is_told_with_who_looks_and_drives(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    boot = next(iter(hub.consoles.consoles.values())).fields
    viewer = {
        "id": "v1",
        "token": "tok_1",
        "name": "ann",
        "mode": "driving",
        "rows": 24,
        "cols": 80,
        "since": THEN,
    }
    driven = {**boot, "name": "1", "kind": "pty", "viewers": [viewer], "driver": "v1", "title": "vim\x1b"}
    hub.handlers["events"] = telling(
        told("console", boot, "current"),
        told("console", driven),
        told("console", {**driven, "state": "ended"}, "gone"),
    )
    assert (await cloche("events", "--topic", "console")).out.splitlines() == [
        "console   current  box/boot (con_boot_sb_0001)  0 attached, nobody drives",
        "console   changed  box/1 (con_boot_sb_0001)  1 attached, ann drives  vim\\x1b",
        "console   gone     box/1 (con_boot_sb_0001)  ended  vim\\x1b",
    ]
