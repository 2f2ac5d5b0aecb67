"""`cloche exec`: a command in a sandbox that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.command import Command, wants_stdin

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("exec")(exec_)


def exec_(
    sandbox: options.SandboxArgument,
    command: options.CommandArgument,
    env: options.EnvOption = None,
    timeout: options.TimeoutOption = None,
    user: options.UserOption = None,
    cwd: options.CwdOption = None,
    stdin: options.StdinOption = None,
    record: Annotated[
        bool, typer.Option("--record", help="Record what it writes; `cloche record ls` has it.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: how it ended and all it wrote, once it has ended.")
    ] = False,
) -> int:
    """Run a command in a sandbox.

    Its output and error stay apart, byte for byte; the exit status is the command's own. Ctrl-C goes to the command;
    the second one gives up on it.

    \b
    Examples:
      cloche exec box -- ls -l /
      cloche exec box --user root -- id -un
      cloche exec box -- python3 - < program.py
      tar c src | cloche exec box -- tar x
      cloche exec box --record -- make test
      cloche exec box --record --json -- make test | jq -r .recording
    """
    from cloche.cli.session import with_hub

    how = Command(
        tuple(command),
        env=options.parse_env(env),
        cwd=cwd,
        user=user,
        timeout_s=options.parse_timeout(timeout),
        stdin=wants_stdin(stdin),
        record=record,
    )

    async def work(hub: Hub, interrupts: Interrupts) -> int:
        return await how.carry_out(await hub.sandbox(sandbox), interrupts, json=json)

    return with_hub(work)
