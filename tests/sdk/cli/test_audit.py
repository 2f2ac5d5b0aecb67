"""`cloche audit tail | export | verify`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cloche.cli import audit
from tests.sdk.cli.conftest import Cloche, start
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import refuse


async def test_tail_shows_a_line_an_event(cloche: Cloche, hub: LocalHub) -> None:
    await hub.note("hub.started", None, {})
    await hub.note("exec.started", "sb_1", {"argv": ["echo", "\033[2J"]})
    hub.events[0]["actor"] = "tok_admin\n"
    first, second = (await cloche("audit", "tail")).out.splitlines()
    assert first.split()[0] == "1"
    assert first.split()[3:] == ["hub.started", "tok_admin\\n", "-"]
    assert second.split(maxsplit=6)[3:] == [
        "exec.started",
        "tok_admin",
        "sb_1",
        '{"argv": ["echo", "\\u001b[2J"]}',
    ]


async def test_tail_in_json_is_an_export_line_an_event(cloche: Cloche, hub: LocalHub) -> None:
    await hub.note("hub.started", None, {"z": 1, "a": "é"})
    ran = await cloche("audit", "tail", "--json")
    assert ran.out == (
        '{"actor":"tok_admin","at":"2026-01-02T03:04:05.678901Z","detail":{"a":"é","z":1},"event":"hub.started",'
        f'"hash":"{"11" * 32}","prev_hash":"{"00" * 32}","sandbox":null,"seq":1}}\n'
    )


async def test_tail_asks_for_what_is_wanted(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("audit", "tail", "-n", "7", "--sandbox", "box")
    assert hub.asked == [("audit.tail", {"limit": 7, "follow": False, "sandbox": "box"})]
    assert (await cloche("audit", "tail", "-n", "501")).status == 2


async def test_following_shows_events_as_they_happen_until_interrupted(hub: LocalHub) -> None:
    await hub.note("hub.started", None, {})
    process = await start("audit", "tail", "-f", "--json")
    assert process.stdout is not None
    async with asyncio.timeout(20):
        assert json.loads(await process.stdout.readline())["seq"] == 1
        await hub.note("sandbox.created", "sb_1", {})
        assert json.loads(await process.stdout.readline())["event"] == "sandbox.created"
        process.send_signal(2)
        _, err = await process.communicate()
    assert (process.returncode, err) == (130, b"")


EXPORTED = (
    '{"actor":"tok_admin","at":"2026-01-02T03:04:05.678901Z","detail":{"a":"é"},"event":"hub.started",'
    f'"hash":"{"11" * 32}","prev_hash":"{"00" * 32}","sandbox":null,"seq":1}}\n'
    f'{{"head":{{"hash":"{"11" * 32}","seq":1}}}}\n'
)


@pytest.mark.parametrize("words", [(), ("-",)])
async def test_an_export_goes_to_standard_output_in_utf_8(
    program: Cloche, hub: LocalHub, words: tuple[str, ...]
) -> None:
    await hub.note("hub.started", None, {"a": "é"})
    ran = await program("audit", "export", *words, env={"PYTHONIOENCODING": "latin-1"})
    assert ran == (0, EXPORTED, "")


async def test_an_export_takes_the_place_of_an_older_one(
    cloche: Cloche, hub: LocalHub, tmp_path: Path
) -> None:
    file = tmp_path / "folder" / "audit.jsonl"
    file.parent.mkdir()
    file.write_text("older")
    await hub.note("hub.started", None, {"a": "é"})
    assert await cloche("audit", "export", str(file)) == (0, "", "")
    assert file.read_text(encoding="utf-8") == EXPORTED
    assert list(file.parent.iterdir()) == [file]


async def test_a_failed_export_leaves_the_older_one_and_nothing_else(
    cloche: Cloche, hub: LocalHub, tmp_path: Path
) -> None:
    from cloche.errors import AuditBroken

    file = tmp_path / "folder" / "audit.jsonl"
    file.parent.mkdir()
    file.write_text("older")
    hub.handlers["audit.export"] = refuse(AuditBroken("the audit chain is broken at event 2: changed", seq=2))
    ran = await cloche("audit", "export", str(file))
    assert ran == (125, "", "cloche: the audit chain is broken at event 2: changed\n")
    assert [path.read_text() for path in file.parent.iterdir()] == ["older"]


async def test_an_export_to_no_place_is_one_line(cloche: Cloche, hub: LocalHub, tmp_path: Path) -> None:
    file = tmp_path / "absent" / "audit.jsonl"
    assert await cloche("audit", "export", str(file)) == (
        125,
        "",
        f"cloche: cannot use {file}: No such file or directory\n",
    )
    ran = await cloche("audit", "export", str(tmp_path))
    assert ran == (
        125,
        "",
        f"cloche: {tmp_path} is no file; leave it out to write to standard output\n",
    )


async def test_the_hub_verifies_its_own_chain(cloche: Cloche, hub: LocalHub) -> None:
    await hub.note("hub.started", None, {})
    assert (await cloche("audit", "verify")).out == f"the chain holds: 1 events, head {'11' * 32}\n"
    assert json.loads((await cloche("audit", "verify", "--json")).out) == {"events": 1, "head": "11" * 32}


async def test_a_broken_chain_is_one_line(cloche: Cloche, hub: LocalHub) -> None:
    from cloche.errors import AuditBroken

    hub.handlers["audit.verify"] = refuse(AuditBroken("the audit chain is broken at event 2: changed", seq=2))
    assert await cloche("audit", "verify") == (
        125,
        "",
        "cloche: the audit chain is broken at event 2: changed\n",
    )


@pytest.mark.parametrize(("options", "expected"), [((), ("verify",)), (("--json",), ("verify", "--json"))])
async def test_a_file_is_verified_without_a_hub(
    cloche: Cloche, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    handed: list[Any] = []
    monkeypatch.setattr(audit, "hand_over", lambda *words, files: handed.append((words, files)))
    await cloche("audit", "verify", *options, "--", "-odd name")
    assert handed == [(expected, ["-odd name"])]
