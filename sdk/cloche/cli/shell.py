"""`cloche shell`: a console in a sandbox, in this terminal."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.failures import status_of
from cloche.cli.output import clean_line, say
from cloche.errors import BadRequest, WrongState

if TYPE_CHECKING:
    from cloche.aio import Console, Hub
    from cloche.cli.session import Interrupts
    from cloche.cli.terminal import Modes

_WAY_OUT = "ctrl+]"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("shell")(shell)


def shell(
    sandbox: options.SandboxArgument,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="A program instead of the user's shell."),
    ] = None,
    env: options.EnvOption = None,
    user: options.UserOption = None,
    cwd: options.CwdOption = None,
) -> int:
    """Open a terminal in a sandbox.

    Every key goes to the program in it, ctrl-C too; ctrl+] leaves, which ends what runs in the terminal. The exit
    status is the program's own.

    \b
    Examples:
      cloche shell box
      cloche shell box --user root
      cloche shell box -- python3
    """
    from cloche.cli.session import with_hub

    if not (os.isatty(0) and os.isatty(1)):
        raise BadRequest(
            f"a shell needs a terminal for its input and output; without one use: cloche exec {sandbox} -- COMMAND"
        )
    variables = options.parse_env(env)

    async def work(hub: Hub, _interrupts: Interrupts) -> int:
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
        )
        async with opening as console:
            say(f"a terminal in {clean_line(box.name)}; {_WAY_OUT} leaves and closes it")
            if await _attach(console):
                ended = await console.wait()
                return status_of(ended)
        say(f"left {clean_line(box.name)}; its terminal is closed, the sandbox goes on")
        return 0

    return with_hub(work)


async def _attach(console: Console) -> bool:
    """Joins the console to our terminal; returns whether its program has ended, else it was left."""
    import asyncio

    from cloche.cli.terminal import Modes, raw_mode
    from cloche_wire.errors import ungrouped

    modes = Modes()
    loop = asyncio.get_running_loop()
    with raw_mode(0):
        try:
            with ungrouped():
                async with asyncio.TaskGroup() as tasks:
                    loop.add_signal_handler(signal.SIGWINCH, lambda: tasks.create_task(_resize(console)))
                    show = tasks.create_task(_show(console, modes))
                    type_ = tasks.create_task(_type(console))
                    await asyncio.wait({show, type_}, return_when=asyncio.FIRST_COMPLETED)
                    has_ended = show.done()
                    show.cancel()
                    type_.cancel()
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
            _put_back(modes)
    return has_ended


async def _show(console: Console, modes: Modes) -> None:
    """Shows what the console shows, to its end."""
    from cloche.cli.streams import STDOUT, Worker, write_all

    worker = Worker("terminal")
    async for piece in console:
        modes.written(piece)
        await worker.do(partial(write_all, STDOUT, piece))


async def _type(console: Console) -> None:
    """Sends what is typed, until the way out is typed or the terminal goes away."""
    import asyncio

    from cloche.cli.streams import STDIN, Worker, read
    from cloche.cli.terminal import WayOut

    worker, way_out = Worker("keyboard"), WayOut()
    left = False
    while not left and (typed := await worker.do(partial(read, STDIN))):
        keys, left = way_out.split(typed)
        try:
            await console.write(keys)
        except WrongState:
            # Its end is on its way to `_show`, which has all of its output first.
            await asyncio.Event().wait()


async def _resize(console: Console) -> None:
    from cloche.cli.terminal import window_size

    await console.resize(*window_size(1))


def _put_back(modes: Modes) -> None:
    from cloche.cli.streams import STDIN, STDOUT, write_all
    from cloche.cli.terminal import drop_typed

    if undo := modes.undo():
        # A terminal that is gone needs nothing; the error that is on its way tells more.
        with contextlib.suppress(Exception):
            write_all(STDOUT, undo)
    # What was typed ahead is for the shell behind us, but not what the terminal types to answer a program.
    if modes.has_asked:
        drop_typed(STDIN)
