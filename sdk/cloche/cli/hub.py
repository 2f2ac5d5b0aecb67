"""`cloche hub [--background] | stop | status | logs`: the server itself."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.asking import can_ask, confirm
from cloche.cli.failures import FAILED
from cloche.cli.handover import hand_over
from cloche.cli.output import age, clean, properties, say, show, show_json
from cloche.errors import BadRequest, CodedError, HubNotRunning, NotFound, TimedOut

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts

_LOOK_AGAIN_S = 0.05
_STOP_S = 120.0
_TAIL = 1 << 20


def add_to(app: typer.Typer) -> None:
    """Adds the group, which is a command of its own as well."""
    group = typer.Typer(invoke_without_command=True)
    group.callback()(hub)
    group.command("stop")(stop)
    group.command("status")(status)
    group.command("logs")(logs)
    app.add_typer(group, name="hub")


def hub(
    context: typer.Context,
    background: Annotated[
        bool, typer.Option("--background", "-b", help="Start it and leave it running.")
    ] = False,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Also listen on TCP (commas between several)."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate chain (PEM) for TCP.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Its private key (PEM).")
    ] = None,
    json: options.JsonOption = False,
) -> int:
    """Run the hub, which owns the machines.

    Without a subcommand the hub serves in the foreground until it is interrupted.

    \b
    Examples:
      cloche hub
      cloche hub --background
      cloche hub --listen 127.0.0.1:7070
      cloche hub status --json
    """
    if context.invoked_subcommand is not None:
        return 0

    arguments = ["serve"]
    for name, value in (("--listen", listen), ("--tls-cert", tls_cert), ("--tls-key", tls_key)):
        if value is not None:
            arguments += [f"{name}={value.absolute() if isinstance(value, Path) else value}"]
    if background:
        return _start(arguments, json=json)
    return hand_over(*arguments)


def _start(arguments: list[str], *, json: bool) -> int:
    from cloche.background import hub_command, start_hub
    from cloche.cli.session import connect, run_async
    from cloche.config import find_address

    place = find_address()
    if not place.own:
        raise BadRequest(f"CLOCHE_HUB points at {place.text}; unset it to start a hub of your own")

    async def work(_interrupts: Interrupts) -> None:
        started = await start_hub(command=hub_command(*arguments))
        async with await connect(start=False) as hub:
            status = await hub.status()
        if json:
            show_json({"pid": status.pid, "address": status.address, "started": started.pid is not None})
        elif started.pid is not None:
            show(f"the hub is running (pid {status.pid}) at {status.address}")
        else:
            show(f"a hub is already running (pid {status.pid}) at {status.address}")

    return run_async(work)


def stop(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, whatever ends with it.")] = False,
    json: options.JsonOption = False,
) -> int:
    """Stop the hub, and remove every sandbox.

    Sandboxes end with their hub, and their disks are deleted; coming back with the next hub is not there yet. At a
    terminal you are asked first if there are any; without one, stderr says which were removed.

    \b
    Examples:
      cloche hub stop
      cloche hub stop --yes
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> int:
        pid = (await hub.status()).pid
        going = [one.info.name for one in await hub.sandboxes() if one.info.ended_at is None]
        is_asked = bool(going) and not yes and can_ask()
        if is_asked and not await confirm(_question(going), default=False):
            say("nothing was stopped")
            return FAILED
        # Only behind a Unix socket is its process one of this host.
        with _watched(pid if hub.address.startswith("unix://") else None) as process:
            await hub.stop()
            await hub.close()
            await _wait_gone(hub.address, process)
        if going and not is_asked:
            say(f"removed with it: {', '.join(going)}")
        if json:
            show_json({"pid": pid, "removed": going})
        else:
            show(f"stopped the hub (pid {pid})")
        return 0

    try:
        return with_hub(work, start=False)
    except HubNotRunning as error:
        if json:
            show_json({"pid": None, "removed": []})
        say(error.message.partition(";")[0])
        return 0


def _question(going: Sequence[str]) -> str:
    many = "1 running sandbox" if len(going) == 1 else f"{len(going)} running sandboxes"
    return f"remove {many}: {', '.join(going)}"


@contextlib.contextmanager
def _watched(pid: int | None) -> Iterator[int | None]:
    """A handle that can be read once the hub's process has ended; None if that is not a process here."""
    process = None
    # A hub elsewhere may have the number of somebody else's process here.
    with contextlib.suppress(OSError):
        if pid is not None and b"cloche_hub" in Path(f"/proc/{pid}/cmdline").read_bytes():
            process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        if process is not None:
            os.close(process)


async def _wait_gone(address: str, process: int | None) -> None:
    """Waits until nobody answers there any more, and the process has ended if it is one of this host."""
    import asyncio

    from cloche_wire.aio.bounds import within

    try:
        async with within(_STOP_S):
            # A socket's end and a process's end tell nobody: looking again is all there is.
            while await _answers(address) or not _has_ended(process):  # noqa: ASYNC110 - as above
                await asyncio.sleep(_LOOK_AGAIN_S)
    except TimeoutError:
        raise TimedOut(f"the hub is still there after {_STOP_S:g} s; see: cloche hub logs") from None


async def _answers(address: str) -> bool:
    from cloche.aio import Hub

    try:
        await (await Hub.connect(address, reconnect_s=0)).close()
    except HubNotRunning:
        return False
    except CodedError:
        return True  # it is on its way out
    return True


def _has_ended(process: int | None) -> bool:
    return process is None or bool(select.select([process], [], [], 0)[0])


def status(json: options.JsonOption = False) -> int:
    """Say how the hub is; fails if none runs.

    \b
    Examples:
      cloche hub status
      cloche hub status --json
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        # Where it was reached from here; the hub itself knows its own socket only.
        now = replace(await hub.status(), address=hub.address)
        if json:
            show_json(now)
            return
        show(
            properties(
                [
                    ("address", now.address),
                    ("pid", str(now.pid)),
                    ("version", now.version),
                    ("accelerator", f"{now.accelerator} ({now.accelerator_reason})"),
                    ("machines", str(now.machines)),
                    ("started", age(now.started_at)),
                ]
            )
        )

    return with_hub(work, start=False)


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many lines of the past.", min=0)] = 50,
) -> int:
    """Show the log of a hub in the background.

    \b
    Examples:
      cloche hub logs
      cloche hub logs -f
    """
    from cloche_wire.rendezvous import locations

    path = locations().log
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _TAIL))
            past = log.read().decode(errors="replace").splitlines()
            for line in past[len(past) - min(lines, len(past)) :]:
                show(clean(line))
            while follow:
                line = log.readline().decode(errors="replace")
                if line:
                    show(clean(line.rstrip("\n")))
                else:
                    time.sleep(_LOOK_AGAIN_S)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no log yet at {path}; a hub in the background writes it") from None
    return 0
