"""The command that is run for each approval that begins to wait."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from cloche_hub.domain.approval import Approval
from cloche_hub.services.on_waiting import AT_ONCE, WaitingCommand
from tests.hub.domain.examples import approval
from tests.support.hub import until

HOSTILE = '{"x":"$(touch pwned); `id`"}'


def python(program: str, *words: str) -> Sequence[str]:
    return [sys.executable, "-c", program, *words]


async def run(command: WaitingCommand, approvals: Sequence[Approval], done: Any) -> list[Any]:
    with capture_logs() as logs:
        async with command.running():
            for one in approvals:
                command.tell(one)
            await until(lambda: done(logs))
    return list(logs)


async def test_it_gets_the_approval_as_one_line_and_nothing_in_its_arguments(tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = "import sys, os; text = sys.stdin.read(); open(sys.argv[1] + '.new', 'w').write(repr((text, sys.argv))); os.rename(sys.argv[1] + '.new', sys.argv[1])"
    command = WaitingCommand(python(program, str(told)))
    await run(command, [approval(params=HOSTILE)], lambda _logs: told.exists())
    text, argv = eval(told.read_text())
    assert json.loads(text)["params"] == json.loads(HOSTILE)
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert argv == ["-c", str(told)]


async def test_without_a_command_nothing_happens() -> None:
    command = WaitingCommand(())
    async with command.running():
        for _ in range(1000):
            command.tell(approval())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("/nonexistent/notify",), "No such file"),
        (tuple(python("raise SystemExit(3)")), "exit_code"),
    ],
)
async def test_a_command_that_fails_is_a_line_in_the_log_and_the_next_is_tried(
    words: tuple[str, ...], said: str
) -> None:
    logs = await run(WaitingCommand(words), [approval(), approval()], lambda logs: len(logs) == 2)
    assert all(log["event"] == "on_waiting_failed" and said in str(log) for log in logs)


async def test_one_that_takes_too_long_is_killed() -> None:
    command = WaitingCommand(["sleep", "1000"], run_s=0.05)
    logs = await run(command, [approval()], lambda logs: logs)
    assert [log["event"] for log in logs] == ["on_waiting_killed"]


async def test_the_hubs_end_kills_what_runs(tmp_path: Path) -> None:
    began = tmp_path / "began"
    program = "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()}\\n'); time.sleep(1000)"
    command = WaitingCommand(python(program, str(began)))
    await run(command, [approval()], lambda _logs: began.exists() and began.read_text().endswith("\n"))
    await until(lambda: is_gone(int(began.read_text())))


async def test_a_few_run_at_once_and_what_finds_the_queue_full_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = most = 0
    gate = asyncio.Event()

    async def run_one(_self: WaitingCommand, _approval: Approval) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await gate.wait()
        running -= 1

    monkeypatch.setattr(WaitingCommand, "_run", run_one)
    command = WaitingCommand(["true"], most_queued=10)
    with capture_logs() as logs:
        async with command.running():
            for _ in range(AT_ONCE):
                command.tell(approval())
            await until(lambda: running == AT_ONCE)
            for _ in range(15):
                command.tell(approval())
            assert [log["event"] for log in logs] == ["on_waiting_left_out"] * 5
            gate.set()
            await until(lambda: running == 0)
    assert most == AT_ONCE


def is_gone(pid: int) -> bool:
    try:
        # A zombie that another process has to reap does nothing any more.
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
