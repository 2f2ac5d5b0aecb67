"""The audit as a file: the bytes of the command line's export, and nothing where it did not come to its end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cloche.aio import Hub
from cloche.errors import AuditBroken, BadRequest
from cloche_hub.store.offline import verify_file
from cloche_tui.feed import audit_export as module
from cloche_tui.feed.audit_export import export_audit
from tests.support.hub import within
from tests.support.processes import end_process
from tests.tui.support import hub_on_fakes
from tests.tui.trail_values import write_many


async def _by_the_command_line(address: str, token: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("cloche"), "audit", "export",
        env={"CLOCHE_HUB": address, "CLOCHE_TOKEN": token}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, _ = await asyncio.wait_for(process.communicate(), 50)
    finally:
        await end_process(process)
    return out


async def test_an_export_has_the_bytes_of_the_command_lines_and_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    target, told = tmp_path / "audit.jsonl", list[int]()
    async with hub_on_fakes(tmp_path) as (running, hub):
        await hub.create(name="box", labels={"team": "é"})
        written = await export_audit(hub, target, told.append)
        assert target.read_bytes() == await _by_the_command_line(running.address, running.admin)
        assert verify_file(target).events == written == running.store.audit.head.seq
    assert told
    assert told == sorted(told)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["audit.jsonl"]
    assert target.stat().st_mode & 0o077 == 0


async def test_a_chain_that_does_not_hold_leaves_nothing(tmp_path: Path) -> None:
    write_many(tmp_path / "home", 3)
    async with hub_on_fakes(tmp_path) as (_, hub):
        with pytest.raises(AuditBroken):
            await export_audit(hub, tmp_path / "audit.jsonl", lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


async def test_what_is_there_stays_and_what_cannot_be_written_says_why(tmp_path: Path) -> None:
    there = tmp_path / "notes.txt"
    there.write_text("mine")
    async with hub_on_fakes(tmp_path) as (_, hub):
        with pytest.raises(BadRequest, match="is there already"):
            await export_audit(hub, there, lambda _: None)
        with pytest.raises(BadRequest, match="No such file or directory"):
            await export_audit(hub, tmp_path / "nowhere" / "audit.jsonl", lambda _: None)
    assert there.read_text() == "mine"


async def test_what_somebody_puts_there_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    target = tmp_path / "audit.jsonl"
    async with hub_on_fakes(tmp_path) as (_, hub):
        with pytest.raises(BadRequest, match="is there already"):
            await export_audit(hub, target, _puts(target))
    assert target.read_text() == "mine"


def _puts(target: Path) -> Callable[[int], None]:
    def put(_written: int) -> None:
        target.write_text("mine")

    return put


async def test_an_export_that_is_given_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    async with hub_on_fakes(tmp_path) as (_, hub), asyncio.TaskGroup() as tasks:
        begun = asyncio.Event()
        exporting = tasks.create_task(_export(hub, tmp_path / "audit.jsonl", begun))
        await within(begun.wait())
        exporting.cancel()
    assert [path for path in tmp_path.iterdir() if path.is_file()] == []


async def _export(hub: Hub, target: Path, begun: asyncio.Event) -> None:
    await export_audit(hub, target, lambda _: begun.set())
