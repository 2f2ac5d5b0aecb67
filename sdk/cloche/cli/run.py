"""`cloche run`: a sandbox, a command in it, and the sandbox gone again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.command import Command, wants_stdin
from cloche.cli.output import say

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("run")(run)


def run(
    command: options.CommandArgument,
    recipe: options.RecipeOption = "python",
    flavor: options.FlavorOption = "small",
    name: options.NameOption = None,
    env: options.EnvOption = None,
    label: options.LabelOption = None,
    lease: options.LeaseOption = None,
    timeout: options.TimeoutOption = None,
    user: options.UserOption = None,
    cwd: options.CwdOption = None,
    stdin: options.StdinOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Do not remove the sandbox afterwards.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: how it ended and all it wrote, once it has ended.")
    ] = False,
) -> int:
    """Run a command in a fresh sandbox.

    Builds the recipe's image first if there is none. The sandbox is removed when the command has ended.

    \b
    Examples:
      cloche run -- python3 -c 'print(6 * 7)'
      cloche run --timeout 90s -- sh -c 'echo out; echo err >&2'
      echo hello | cloche run -- python3 -c 'import sys; print(len(sys.stdin.read()))'
    """
    from cloche.cli.progress import shown_progress
    from cloche.cli.session import with_hub

    env_, labels, lease_s = options.parse_env(env), options.parse_labels(label), options.parse_lease(lease)
    how = Command(
        tuple(command),
        cwd=cwd,
        user=user,
        timeout_s=options.parse_timeout(timeout),
        stdin=wants_stdin(stdin),
    )

    async def work(hub: Hub, interrupts: Interrupts) -> int:
        with shown_progress() as on_progress:
            sandbox = await hub.create(
                recipe, flavor, name=name, env=env_, labels=labels, lease_s=lease_s, on_progress=on_progress
            )
        if keep:
            say(f"kept sandbox {sandbox.name} ({sandbox.id}); to remove it: cloche rm {sandbox.name}")
            return await how.carry_out(sandbox, interrupts, json=json)
        async with sandbox:
            return await how.carry_out(sandbox, interrupts, json=json)

    return with_hub(work)
