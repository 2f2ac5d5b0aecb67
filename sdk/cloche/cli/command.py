"""A command to be run in a sandbox, as the command line was given it: what `run` and `exec` have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cloche.cli.failures import status_of
from cloche.cli.output import show_json

if TYPE_CHECKING:
    from cloche.aio import Sandbox
    from cloche.cli.session import Interrupts


def wants_stdin(asked: bool | None) -> bool:
    """Whether standard input is passed on: as asked, else unless it is a terminal."""
    return not os.isatty(0) if asked is None else asked


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and how."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    user: str | None = None
    timeout_s: float | None = None
    stdin: bool = False

    async def carry_out(self, sandbox: Sandbox, interrupts: Interrupts, *, json: bool) -> int:
        """Runs it in a sandbox, joined to our standard streams, or answering in JSON; returns the exit status.

        Raises:
            CommandNotStarted: there is no such command, user or folder.
            CodedError: the command was lost.
        """
        from cloche.cli.attach import attach, collect

        opening = sandbox.exec(
            self.argv, stdin=self.stdin, env=self.env, cwd=self.cwd, user=self.user, timeout_s=self.timeout_s
        )
        async with opening as process:
            if not json:
                return status_of(await attach(process, interrupts, stdin=self.stdin))
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
            }
        )
        return status_of(completed)
