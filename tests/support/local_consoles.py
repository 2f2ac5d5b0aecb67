"""`console.…` for a hub without machines: the consoles of its sandboxes, as clients ask for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from cloche_hub.domain.console import (
    BOOT_NAME,
    Console,
    ConsoleKind,
    check_console_name,
    free_name,
    resolve_console,
)
from cloche_wire.aio import Channel
from cloche_wire.errors import BadRequest, Conflict, WireError, WrongState, ungrouped
from tests.support.local_console import LocalConsole
from tests.support.local_recordings import LocalRecordings
from tests.support.scripted_hub import Handler

BOOT_LOG = b"Linux version 6.1\r\n\x1b[31mready\x1b[0m\r\n"
_KEYS = 1
_FIELDS = {"sandbox", "argv", "env", "cwd", "user", "rows", "cols", "term", "name", "record"}


class LocalConsoles:
    """The consoles of all sandboxes; each of them has one of its machine, too. Everybody is the token `admin`.

    Args:
        find: the sandbox of a reference, or NotFound.
        environ: a sandbox's variables, by its id.
        recordings: where to put what consoles show.
    """

    def __init__(
        self,
        find: Callable[[str], Mapping[str, Any]],
        environ: Callable[[str], Mapping[str, str]],
        recordings: LocalRecordings,
    ) -> None:
        self.consoles: dict[str, LocalConsole] = {}
        self.who = "admin"
        """The name of who attaches from now on."""
        self._find_sandbox, self._environ, self._recordings = find, environ, recordings
        self._tasks = asyncio.TaskGroup()
        self.handlers: dict[str, Handler] = {
            f"console.{name}": getattr(self, f"_{name}")
            for name in ("create", "list", "close", "attach", "screen")
        }

    async def __aenter__(self) -> None:
        await self._tasks.__aenter__()

    async def __aexit__(self, *_error: object) -> None:
        self.end()
        await self._tasks.__aexit__(None, None, None)

    def close(self) -> None:
        """Gives back the terminals, when nobody asks any more."""
        for console in self.consoles.values():
            console.close()

    def end(self, sandbox: str | None = None) -> None:
        """Ends the consoles of a sandbox, or all."""
        for console in self._of(sandbox):
            if console.state.kind is ConsoleKind.BOOT and console.state.is_open:
                console.end()
            console.hang_up()

    def boot(self, sandbox: Mapping[str, Any]) -> None:
        """The machine of a sandbox has booted."""
        state = self._state(sandbox, "con_boot_" + sandbox["id"], BOOT_NAME, {}, kind=ConsoleKind.BOOT)
        console = self.consoles[state.id] = LocalConsole(state)
        console.shows(BOOT_LOG)

    def _of(self, sandbox: str | None) -> list[LocalConsole]:
        return [one for one in self.consoles.values() if sandbox in (None, one.state.sandbox)]

    def _find(self, params: Mapping[str, Any]) -> LocalConsole:
        sandbox = self._find_sandbox(params["sandbox"])
        of_it = [console.state for console in self._of(sandbox["id"])]
        return self.consoles[resolve_console(params.get("console"), of_it).id]

    def _state(
        self, sandbox: Mapping[str, Any], id_: str, name: str, params: Mapping[str, Any], **more: Any
    ) -> Console:
        argv = params.get("argv")
        return Console(
            id=id_,
            sandbox=sandbox["id"],
            sandbox_name=sandbox["name"],
            owner=sandbox["owner"],
            labels=sandbox["labels"],
            name=name,
            command=None if argv is None else tuple(argv),
            user=params.get("user"),
            rows=params.get("rows", 24),
            cols=params.get("cols", 80),
            created_at=datetime.now(UTC),
            created_by=f"tok_{self.who}",
            created_by_name=self.who,
            **{"kind": ConsoleKind.PTY, **more},
        )

    async def _create(self, channel: Channel) -> None:
        params = channel.params
        if unknown := params.keys() - _FIELDS:
            raise BadRequest(f"unknown fields {unknown}")
        sandbox = self._find_sandbox(params["sandbox"])
        taken = {console.state.name for console in self._of(sandbox["id"]) if console.state.is_open}
        name = check_console_name(params.get("name") or free_name(taken))
        if name in taken:
            raise Conflict(f"there is a console {name!r} already; choose another name")
        id_ = f"con_{len(self.consoles):04}"
        state = self._state(sandbox, id_, name, params)
        recording = None
        if params.get("record", True):
            recording = self._recordings.add(
                of=id_, sandbox=sandbox["id"], sandbox_name=sandbox["name"], rows=state.rows, cols=state.cols,
                command=params.get("argv"),
            )  # fmt: skip
            state = self._state(sandbox, id_, name, params, recording=recording.fields["id"])
        console = LocalConsole(state, recording)
        environ = {
            **self._environ(sandbox["id"]),
            **params["env"],
            "TERM": params.get("term", "xterm-256color"),
        }
        await console.start(environ, params.get("cwd"))
        self.consoles[id_] = console
        self._tasks.create_task(console.live())
        channel.close(console.fields)

    async def _list(self, channel: Channel) -> None:
        reference = channel.params.get("sandbox")
        sandbox = None if reference is None else self._find_sandbox(reference)["id"]
        found = [
            console.fields
            for console in self._of(sandbox)
            if console.state.is_open or channel.params.get("ended")
        ]
        channel.close({"consoles": found[::-1], "omitted": 0})

    async def _close(self, channel: Channel) -> None:
        console = self._find(channel.params)
        if console.state.kind is ConsoleKind.BOOT:
            raise WrongState("a machine's own console ends with it")
        if console.state.is_open:
            console.hang_up()
            await console.over.wait()
        channel.close(console.fields)

    async def _attach(self, channel: Channel) -> None:
        params = channel.params
        console = self._find(params)
        # Who has reset has left, also where the task that serves it has not come to that yet.
        for gone in [viewer for viewer, theirs in console.attached.items() if not theirs.is_live]:
            console.leave(gone)
        viewer = console.join(
            params["mode"], params["rows"], params["cols"], params["scrollback"], who=self.who
        )
        console.attached[viewer] = channel
        try:
            channel.accept({"console": console.fields, "viewer": viewer})
            with ungrouped():
                async with asyncio.TaskGroup() as tasks:
                    inputs = [
                        tasks.create_task(_type(channel, console, viewer)),
                        tasks.create_task(_obey(channel, console, viewer)),
                        tasks.create_task(channel.wait_confirmed()),
                    ]
                    while (told := await console.next_told(viewer)) is not None:
                        await channel.send_message(told)
                    for task in inputs:
                        task.cancel()
        finally:
            console.leave(viewer)
        channel.close(console.result)

    async def _screen(self, channel: Channel) -> None:
        console = self._find(channel.params)
        channel.accept()
        while True:
            screen, news = console.screen()
            await channel.send_message(screen)
            if not channel.params["follow"] or screen["state"] == "ended":
                return channel.close({})
            with ungrouped():
                async with asyncio.TaskGroup() as tasks:
                    given_up = tasks.create_task(channel.wait_confirmed())
                    await news.wait()
                    given_up.cancel()


async def _type(channel: Channel, console: LocalConsole, viewer: str) -> None:
    with suppress(WireError):
        while data := await channel.read(_KEYS):
            console.typed(viewer, data)


async def _obey(channel: Channel, console: LocalConsole, viewer: str) -> None:
    async for message in channel.messages():
        console.obey(viewer, message)
