"""Commands whose output is kept as a recording, through a whole hub on fakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import Cancelled, CommandNotStarted, MachineFailed, NoSpace
from cloche_hub.services import exec_recording
from cloche_wire.limits import Limits
from tests.support.fake_agent import counted
from tests.support.fake_recordings import FakeRecording
from tests.support.hub import RunningHub, finish, running_hub, until, within

MIB = 1 << 20
WINDOW = 64 << 10


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_recording, "LINGER_S", 0.001)
    monkeypatch.setattr(exec_recording, "RETRY_S", 0.001)


def only(hub: RunningHub) -> FakeRecording:
    (made,) = hub.recordings.made.values()
    return made


def events(recording: FakeRecording) -> list[list[Any]]:
    """What it has behind its header, without times."""
    return [json.loads(line)[1:] for line in recording.text.splitlines()[1:]]


def shown(recording: FakeRecording) -> str:
    return "".join(text for code, text in events(recording) if code == "o")


async def test_what_a_command_writes_is_recorded_where_that_is_asked_for(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        await client.run("a", "echo", "not this")
        ran = await client.run("a", "echo", "hello", "world", record=True)
        assert (ran.stdout, set(ran.result)) == (b"hello world\n", {"exit_code", "timed_out", "duration_s"})
        (row,) = (await client.call("recording.list"))["recordings"]
        assert (row["kind"], row["sandbox"], row["owner"], row["title"]) == (
            "exec",
            made["id"],
            made["owner"],
            "a: echo",
        )
        assert row["command"] == ["echo", "hello", "world"]
        assert events(only(hub)) == [["o", "hello world\r\n"], ["m", "exit code 0"]]
        _, started = await hub.events(AuditName.EXEC_STARTED)
        assert (started.detail["recording"], started.detail["exec"]) == (row["id"], row["of"])
        assert (ran.info["recording"], ran.info["exec"]) == (row["id"], row["of"])


async def test_whoever_hears_of_the_end_finds_the_recording_whole(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        ran = await client.run("a", "count", str(MIB), record=True)
        (row,) = (await client.call("recording.list"))["recordings"]
        assert row["ended_at"] is not None
        assert ran.stdout == counted(MIB)
        # Whatever is no text is shown as such; every line feed has its carriage return.
        lines = counted(MIB).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        assert shown(only(hub)) == lines.decode(errors="replace")


async def test_errors_signals_and_what_is_typed_are_told_apart_in_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await client.run("a", "err", "no", record=True)
        assert events(only(hub)) == [["o", "no\r\n"], ["m", "exit code 1"]]
        hub.recordings.made.clear()
        waiting = await client.exec("a", "wait", record=True, stdin=True)
        await waiting.write(1, b"typed")
        await waiting.send_message({"signal": "INT"})
        await within(waiting.result())
        assert events(only(hub)) == [["m", "ended by INT"]]


async def test_a_sandboxs_secrets_are_masked_in_what_it_shows_and_in_what_was_asked(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a", secrets={"TOKEN": "hunter2\nhunter3"})
        ran = await client.run("a", "echo", "it is hunter2\nhunter3 !", record=True)
        assert ran.stdout == b"it is hunter2\nhunter3 !\n"
        (row,) = (await client.call("recording.list"))["recordings"]
        assert row["command"] == ["echo", f"it is {'*' * 15} !"]
        assert events(only(hub))[0] == ["o", f"it is {'*' * 16} !\r\n"]
        assert b"hunter" not in only(hub).text


async def test_a_command_waits_for_a_full_disk_as_soon_as_its_window_is_full(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client(limits=Limits(window=WINDOW)) as client:
        await client.create(name="a")
        flood = await client.exec("a", "count", str(MIB), record=True)
        hub.recordings.is_full = True
        agent, received, stalled = hub.machine.agent, b"", -1
        before = agent.written
        while stalled != agent.written:
            stalled = agent.written
            while len(received) < stalled:
                received += await within(flood.read(1))
            for _ in range(5):
                await client.call("sandbox.list")
        # The client has read all there was, and still no more comes than a window that is not on the disk.
        assert stalled <= before + WINDOW
        assert (await client.run("a", "echo", "hi")).stdout == b"hi\n"
        assert agent.written == stalled + len("hi\n")
        hub.recordings.is_full = False
        ran = await within(finish(flood))
        assert received + ran.stdout == counted(MIB)
        assert only(hub).row.is_cut is False


async def test_a_command_that_cannot_be_recorded_never_reaches_the_guest(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.recordings.is_full = True
        with pytest.raises(NoSpace):
            await client.run("a", "true", record=True)
        assert hub.machine.agent.execs == []
        failed = await hub.happened(AuditName.EXEC_FAILED)
        assert failed.detail["code"] == "no_space"
        assert (await client.run("a", "true")).result["exit_code"] == 0


async def test_a_recording_that_cannot_be_finished_now_keeps_nobody_waiting_and_is_finished_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        cat = await client.exec("a", "cat", record=True, stdin=True)
        hub.recordings.is_full = True
        cat.end(1)
        assert (await within(cat.result()))["exit_code"] == 0
        assert only(hub).row.ended_at is None
        hub.recordings.is_full = False
        await until(lambda: only(hub).row.ended_at is not None)


async def test_however_a_command_ends_its_recording_is_finished_and_says_why(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(CommandNotStarted):
            await client.run("a", "nope", record=True)
        dropped = await client.exec("a", "wait", record=True)
        dropped.reset(Cancelled("enough"))
        lost = await client.exec("a", "wait", record=True)
        hub.machine.crash()
        with pytest.raises(MachineFailed):
            await within(lost.result())
        await until(lambda: all(made.row.ended_at for made in hub.recordings.made.values()))
        said = [text for made in hub.recordings.made.values() for code, text in events(made) if code == "m"]
        assert [text.split(":")[0] for text in said] == ["failed"] * 3
        assert "nope" in said[0]
