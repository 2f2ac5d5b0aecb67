"""A command to be run in a sandbox, as the command line was given it: what `run` and `exec` have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cloche.cli.failures import status_of
from cloche.cli.output import say, show_json

if TYPE_CHECKING:
    from cloche.aio import Sandbox
    from cloche.cli.session import Interrupts


def wants_stdin(asked: bool | None) -> bool:
    """Whether standard input is passed on: as asked, else unless it is the terminal of another job.

    Reading a terminal in the background of a shell would stop this program.
    """
    return not _is_terminal_of_another_job() if asked is None else asked


def _is_terminal_of_another_job() -> bool:
    try:
        return os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp()
    except OSError:
        return False  # a terminal that is not the one our jobs are kept by


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and how."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    user: str | None = None
    timeout_s: float | None = None
    stdin: bool = False
    record: bool = False

    async def carry_out(self, sandbox: Sandbox, interrupts: Interrupts, *, json: bool) -> int:
        """Runs it in a sandbox, joined to our standard streams, or answering in JSON; returns the exit status.

        Args:
            sandbox: where to run it.
            interrupts: what signals do.
            json: whether to answer in JSON, once it has ended.

        Raises:
            CommandNotStarted: there is no such command, user or folder.
            CodedError: the command was lost.
        """
        from cloche.cli.attach import attach, collect

        opening = sandbox.exec(
            self.argv,
            stdin=self.stdin,
            env=self.env,
            cwd=self.cwd,
            user=self.user,
            timeout_s=self.timeout_s,
            record=self.record,
        )
        async with opening as process:
            if not json:
                ended = await attach(process, interrupts, stdin=self.stdin)
                if ended.timed_out and self.timeout_s is not None:
                    say(f"ended after its timeout of {self.timeout_s:g} s")
                return status_of(ended)
            completed = await collect(process, interrupts, stdin=self.stdin)
        show_json(
            {
                "sandbox": sandbox.id,
                "exit_code": completed.exit_code,
                "signal": completed.signal,
                "timed_out": completed.timed_out,
                "duration_s": completed.duration_s,
                "stdout": completed.stdout,
                "stderr": completed.stderr,
                "recording": completed.recording,
            }
        )
        return status_of(completed)
