"""A sandbox's secrets reach its guest and nothing that the hub keeps or says, through a whole hub on fakes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, CommandNotStarted, MachineFailed
from cloche_hub.ports import MachineExit
from cloche_wire.aio import Channel
from tests.support.casts import shown
from tests.support.consoles import attach, create
from tests.support.hub import RunningHub, running_hub, within

SECRET = "hunter2-and-more"


def kept(home: Path) -> bytes:
    """Everything in the hub's home, recordings as text."""
    files = [path for path in sorted(home.rglob("*")) if path.is_file()]
    return b"".join(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files
    )


async def said(hub: RunningHub) -> str:
    return str([hub.logs, await hub.events()])


async def test_a_secret_is_in_the_environment_of_the_machine_and_nowhere_else(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a", env={"A": "b"}, secrets={"TOKEN": SECRET})
        assert hub.machine.agent.identity is not None
        assert hub.machine.agent.identity["env"] == {"A": "b", "TOKEN": SECRET}
        await client.run("a", "echo", SECRET)
        (created,) = await hub.events(AuditName.SANDBOX_CREATED)
        assert (created.detail["env_names"], created.detail["secret_names"]) == (["A"], ["TOKEN"])
        (started,) = await hub.events(AuditName.EXEC_STARTED)
        assert started.detail["argv"] == ["echo", "*" * len(SECRET)]
        listed = await client.call("sandbox.list")
        await client.call("sandbox.remove", sandbox="a")
        assert SECRET not in str([made, listed]) + await said(hub)
    assert b"TOKEN" in kept(tmp_path / "home")
    assert SECRET.encode() not in kept(tmp_path / "home")


async def test_recordings_of_whatever_runs_in_the_sandbox_have_it_masked(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", on_disk=True) as hub, hub.client() as client:
        await client.create(name="a", secrets={"TOKEN": SECRET, "KEY": f"{SECRET}\nnext line"})
        await client.run("a", "echo", f"token {SECRET}, key {SECRET}\nnext line.", record=True)
        with pytest.raises(CommandNotStarted):
            await client.run("a", f"nope-{SECRET}", record=True)
        console = await create(client, argv=["vim", SECRET], name="work")
        viewer = await attach(client)
        for letter in f"<{SECRET}>":
            await viewer.type(letter.encode())
            await viewer.until_shown(letter)
        await viewer.until_shown(f"<{SECRET}>")
        await viewer.type(b"\x04")
        await viewer.result()
        viewer.close()
        rows = (await client.call("recording.list"))["recordings"]
        assert {row["kind"] for row in rows} == {"exec", "console"}
        assert [row["of"] for row in rows].count(console["id"]) == 1
        found = await client.call("recording.search", text="token")
        assert [hit["line"] for hit in found["hits"]] == [
            f"token {'*' * len(SECRET)}, key {'*' * (len(SECRET) + len('  next line'))}."
        ]
        assert (await client.call("recording.search", text=SECRET))["hits"] == []
        await client.call("sandbox.remove", sandbox="a")
        assert SECRET not in str([rows]) + await said(hub)
    # A recording has it in pieces, so what they show together counts.
    casts = [gzip.decompress(path.read_bytes()) for path in (tmp_path / "home/recordings").iterdir()]
    played = "".join(map(shown, casts))
    assert f"<{'*' * len(SECRET)}>" in played
    assert SECRET not in played
    assert SECRET.encode() not in kept(tmp_path / "home")


async def test_a_guests_words_do_not_carry_a_secret_into_the_audit_or_a_row(tmp_path: Path) -> None:
    async def refuse(_channel: Channel) -> None:
        raise CommandNotStarted(f"no such file: {SECRET}")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a", secrets={"TOKEN": SECRET})
        hub.machine.agent.overrides["exec"] = refuse
        with pytest.raises(CommandNotStarted):
            await client.run("a", "true")
        hub.machine.agent.overrides.clear()
        waiting = await client.exec("a", "wait")
        hub.machine.end(MachineExit("guest_panic", f"panic: {SECRET}"))
        with pytest.raises(MachineFailed) as raised:
            await within(waiting.result())
        failed = await hub.happened(AuditName.SANDBOX_FAILED)
        assert (
            failed.detail["reason"]
            == f"its machine ended by itself (guest_panic): panic: {'*' * len(SECRET)}"
        )
        shown = await client.call("sandbox.show", sandbox="a")
        assert SECRET not in str([shown, raised.value]) + await said(hub)
    assert SECRET.encode() not in kept(tmp_path / "home")


async def test_a_request_that_will_not_do_leaves_no_secret_behind(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(BadRequest) as raised:
            await client.create(name="A b", secrets={"TOKEN": SECRET, "B": 1})
        assert SECRET not in str(raised.value) + await said(hub)
    assert SECRET.encode() not in kept(tmp_path / "home")
