"""`cloche shell | attach`: a console in a sandbox, in this terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.failures import status_of
from cloche.cli.output import clean_line, say
from cloche.errors import BadRequest, LinkLost

if TYPE_CHECKING:
    from cloche.aio import Console, Hub
    from cloche.cli.session import Interrupts
    from cloche.cli.viewing.way_out import DetachKey

DetachKeyOption = Annotated[
    str,
    typer.Option(
        "--detach-key",
        metavar="KEY",
        envvar="CLOCHE_DETACH_KEY",
        help="What leaves the console: ctrl and a letter or one of [ \\ ] ^ _. Twice types it.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("shell")(shell)
    app.command("attach")(attach)


def shell(
    sandbox: options.SandboxArgument,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="A program instead of the user's shell."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="What to call the console; the lowest free number if not given."
        ),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record/--no-record", help="Whether what it shows is recorded.")
    ] = True,
    env: options.EnvOption = None,
    user: options.UserOption = None,
    cwd: options.CwdOption = None,
    detach_key: DetachKeyOption = "ctrl+]",
) -> int:
    """Open a new console in a sandbox.

    Every key goes to the program in it, ctrl-C too; ctrl+] leaves, and it goes on without you: `cloche attach` comes
    back to it. The exit status is the program's own, if you were there to its end.

    \b
    Examples:
      cloche shell box
      cloche shell box --user root
      cloche shell box --name build -- make -j4
      cloche shell box --detach-key ctrl+q
    """
    from cloche.cli.session import with_hub

    key = _key(detach_key)
    _expect_terminal("a shell", f"cloche exec {sandbox} -- COMMAND")
    variables = options.parse_env(env)

    async def work(hub: Hub, interrupts: Interrupts) -> int:
        from cloche.cli.terminal import term_for, window_size

        box = await hub.sandbox(sandbox)
        rows, cols = window_size(1)
        opening = box.console(
            command or None,
            rows=rows,
            cols=cols,
            env=variables,
            cwd=cwd,
            user=user,
            term=term_for(os.environ.get("TERM")),
            name=name,
            keep=True,
            record=record,
        )
        async with opening as console:
            return await _attend(console, key, interrupts)

    return with_hub(work)


def attach(
    console: options.ConsoleArgument,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Only look on: nothing is typed, and no key drives.")
    ] = False,
    take: Annotated[bool, typer.Option("--take", "-t", help="Drive, also if somebody else does.")] = False,
    scrollback: Annotated[
        int,
        typer.Option(
            metavar="LINES", min=0, max=10_000, help="How much of what has scrolled by comes first."
        ),
    ] = 0,
    detach_key: DetachKeyOption = "ctrl+]",
) -> int:
    """Attach to a console of a sandbox.

    You see its screen as it is. If nobody drives it you do, else you watch: `a` asks to drive, `t` takes over, `q`
    leaves. Who drives leaves with ctrl+], and lets whoever has asked drive with ctrl+] and g. The console goes on.

    \b
    Examples:
      cloche attach box
      cloche attach box/build --watch
      cloche attach box/1 --take
      cloche attach box/build --scrollback 1000
    """
    from cloche.cli.session import with_hub

    key = _key(detach_key)
    if watch and take:
        raise typer.BadParameter("give --watch or --take, not both")
    sandbox, name = options.parse_console(console)
    _expect_terminal("attaching", f"cloche consoles screen {console}")
    mode = "watch" if watch else "take" if take else "drive"

    async def work(hub: Hub, interrupts: Interrupts) -> int:
        from cloche.cli.terminal import window_size

        box = await hub.sandbox(sandbox)
        rows, cols = window_size(1)
        async with box.attach(name, mode=mode, rows=rows, cols=cols, scrollback=scrollback) as attached:
            return await _attend(attached, key, interrupts, may_drive=not watch)

    return with_hub(work)


def _key(text: str) -> DetachKey:
    from cloche.cli.viewing.way_out import DetachKey

    return DetachKey.parse(text)


def _expect_terminal(what: str, instead: str) -> None:
    if not (os.isatty(0) and os.isatty(1)):
        raise BadRequest(f"{what} needs a terminal for its input and output; without one use: {instead}")


async def _attend(console: Console, key: DetachKey, interrupts: Interrupts, *, may_drive: bool = True) -> int:
    """Joins a console to our terminal and says how that ended; returns the exit status."""
    from cloche.cli.viewing.attached import attend
    from cloche.cli.viewing.hints import label

    name = clean_line(label(console.info))
    try:
        has_ended = await attend(console, key, interrupts, may_drive=may_drive)
    except LinkLost as error:
        raise LinkLost(
            f"lost {name} ({error}); if it still runs, come back with: cloche attach {name}"
        ) from None
    if not has_ended:
        close = "" if console.info.kind == "boot" else f"; to end it: cloche consoles close {name}"
        say(f"left {name}, which goes on; to come back: cloche attach {name}{close}")
        return 0
    ended = await console.wait()
    how = f"signal {ended.signal}" if ended.signal else f"exit code {ended.exit_code}"
    say(f"{name} has ended: {how}")
    return status_of(ended)
