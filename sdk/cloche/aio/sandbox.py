"""A sandbox as a program holds it: commands run in it, and it is removed when the program is done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cloche.aio.callbacks import AT_ONCE, CallbackHandler, Function, decorating
from cloche.aio.console import Console, look_at
from cloche.aio.consoles import attach_console, close_console, create_console, list_consoles
from cloche.aio.files import Files
from cloche.aio.pending import Pending
from cloche.aio.process import Process
from cloche.answers import Answer
from cloche.console_messages import ConsoleInfo
from cloche.errors import Cancelled, CodedError, CommandFailed, NotFound, WrongState
from cloche.messages import Completed, Progress, SandboxInfo
from cloche.partial import Partial
from cloche.screens import Screen
from cloche.together import together

if TYPE_CHECKING:
    from collections.abc import Callable

    from cloche.link import Link

MAX_OUTPUT_BYTES = 64 << 20


class Sandbox:
    """A sandbox on a hub. A context manager: leaving it removes the sandbox.

    Made by `Hub.create`, found by `Hub.sandbox`, or made together with its own connection by `Sandbox.create`.
    """

    def __init__(self, link: Link, info: SandboxInfo) -> None:
        self._link, self._info = link, info
        # What ends with the sandbox: its own connection, if it has one.
        self._held = AsyncExitStack()

    def __repr__(self) -> str:
        return f"<Sandbox {self._info.name} ({self._info.id}), {self._info.state}>"

    @classmethod
    def create(
        cls,
        recipe: str = "python",
        flavor: str = "small",
        *,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        lease_s: float | None = None,
        secrets: Mapping[str, str] | None = None,
        build: bool = True,
        on_progress: Callable[[Progress], None] | None = None,
        address: str | None = None,
        token: str | None = None,
        start: bool = True,
    ) -> Pending[Sandbox]:
        """A new sandbox with a connection of its own, which ends with it.

        Args:
            recipe, flavor, name, env, labels, lease_s, secrets, build, on_progress: as `Hub.create` has them.
            address, token: as `Hub.connect` has them.
            start: whether to start this user's own hub in the background if that is the one meant and it does not run.
        """

        async def coming() -> Sandbox:
            from cloche.aio.hub import Hub

            async with AsyncExitStack() as stack:
                hub = await stack.enter_async_context(Hub.connect(address, token, start=start))
                sandbox = await hub.create(
                    recipe,
                    flavor,
                    name=name,
                    env=env,
                    labels=labels,
                    lease_s=lease_s,
                    secrets=secrets,
                    build=build,
                    on_progress=on_progress,
                )
                sandbox._held = stack.pop_all()  # noqa: SLF001 - of this very class
                return sandbox

        return Pending(coming())

    @property
    def id(self) -> str:
        """Its id, such as `sb_…`."""
        return self._info.id

    @property
    def name(self) -> str:
        """Its name."""
        return self._info.name

    @property
    def info(self) -> SandboxInfo:
        """What the hub last said of it; `refresh` asks again."""
        return self._info

    @property
    def files(self) -> Files:
        """Its files."""
        return Files(self._link, self.id)

    async def refresh(self) -> SandboxInfo:
        """Asks the hub how it is now.

        Raises:
            NotFound: it is no more.
        """
        self._info = SandboxInfo.parse(await self._link.call("sandbox.show", {"sandbox": self.id}))
        return self._info

    async def run(
        self,
        cmd: str | Sequence[str],
        *,
        input: str | bytes | None = None,  # noqa: A002 - as subprocess.run calls it
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        timeout_s: float | None = None,
        check: bool = False,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
        record: bool = False,
    ) -> Completed:
        """Runs a command to its end. Cancelling ends it, with everything it started.

        Args:
            cmd: a line for `sh -c`, or a command and its arguments.
            input: what it reads; None gives it no input at all.
            env: variables on top of the sandbox's own.
            cwd: absolute; the user's home if not given.
            user: a name or a number; the unprivileged user if not given.
            timeout_s: after this it is killed, and `timed_out` is set.
            check: whether any other end than exit code 0 raises.
            max_output_bytes: the most it may write to each of its outputs.
            record: whether the hub records what it writes; `Hub.recordings` has it then.

        Raises:
            CommandFailed: `check` is set and it failed.
            CommandNotStarted: there is no such command, user or folder.
            TooLarge: it wrote more than it may; it has been ended.
            CodedError: the sandbox or the hub is gone.
        """
        argv = ["/bin/sh", "-c", cmd] if isinstance(cmd, str) else list(cmd)
        data = input.encode() if isinstance(input, str) else input
        opening = self.exec(
            argv, stdin=data is not None, env=env, cwd=cwd, user=user, timeout_s=timeout_s, record=record
        )
        async with opening as process:
            stdout, stderr, _ = await together(
                process.stdout.read_all(max_bytes=max_output_bytes),
                process.stderr.read_all(max_bytes=max_output_bytes),
                _fed(process, data),
            )
            ended = await process.wait()
        completed = Completed.of(ended, stdout, stderr, process.recording)
        if check and not completed.ok:
            raise CommandFailed(cmd, completed)
        return completed

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        timeout_s: float | None = None,
        record: bool = False,
    ) -> Pending[Process]:
        """Starts a command; its output can be read while it runs.

        Args:
            argv: the command and its arguments; no shell is between.
            stdin: whether it gets an input to be written to; without, it reads an empty one.
            env, cwd, user, timeout_s, record: as `run` has them.

        Raises:
            CommandNotStarted: there is no such command, user or folder.
            CodedError: the sandbox or the hub is gone.
        """
        if isinstance(argv, str):
            raise TypeError(f"exec takes a list of arguments; for a shell's line use run({argv!r})")
        params = _given(
            sandbox=self.id,
            argv=[str(argument) for argument in argv],
            env=dict(env or {}),
            cwd=cwd,
            user=user,
            timeout_s=timeout_s,
            stdin=stdin,
            # What a hub that records nothing may not know is not said without need.
            record=record or None,
        )
        return Pending(self._start(params))

    async def _start(self, params: dict[str, Any]) -> Process:
        channel = self._link.open("exec", params)
        try:
            return Process(channel, await channel.wait_accepted())
        except BaseException:
            channel.reset(Cancelled("the caller has given up the command"))
            raise

    # Consoles.

    def console(
        self,
        argv: Sequence[str] | None = None,
        *,
        rows: int = 24,
        cols: int = 80,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        term: str | None = None,
        name: str | None = None,
        keep: bool = False,
        record: bool = True,
    ) -> Pending[Console]:
        """A new console, a terminal with a program in it; attached to, and driven. Leaving it closes it, or detaches.

        Args:
            argv: the program and its arguments; the user's shell if not given.
            rows, cols: the size of its window, 1 to 1000, and 50,000 cells at most.
            env, cwd, user: as `run` has them.
            term: what kind of terminal shows it, as its TERM; xterm-256color if not given.
            name: up to 63 of a-z, 0-9 and '-'; the lowest free number if not given.
            keep: whether it goes on when it is left; `attach` comes back to it.
            record: whether the hub records it; `Hub.recordings` has it then.

        Raises:
            CommandNotStarted: there is no such program, user or folder.
            Conflict, BadRequest: the name is taken, or none; or a size is.
            TooLarge: the sandbox has as many consoles as it may have.
            CodedError: the sandbox or the hub is gone.
        """
        if isinstance(argv, str):
            raise TypeError(f"console takes a list of arguments: ['/bin/sh', '-c', {argv!r}]")
        params = _given(
            sandbox=self.id,
            argv=None if argv is None else [str(argument) for argument in argv],
            env=dict(env or {}),
            cwd=cwd,
            user=user,
            rows=rows,
            cols=cols,
            term=term,
            name=name,
            record=record,
        )
        return Pending(create_console(self._link, params, keep=keep))

    def attach(
        self,
        console: str | None = None,
        *,
        mode: str = "drive",
        rows: int = 24,
        cols: int = 80,
        scrollback: int = 0,
    ) -> Pending[Console]:
        """Attaches to a console that is there; it begins with its screen. Leaving it detaches, and it goes on.

        Args:
            console: a name, an id, or the beginning of an id; the newest open one if not given.
            mode: drive (if nobody does, else watch), watch, or take (drive, whoever does).
            rows, cols: the size of our window, 1 to 1000, and 50,000 cells at most; of who drives, it becomes the console's.
            scrollback: how many lines that have been scrolled off come before the screen.

        Raises:
            NotFound, BadRequest: none is meant, or several.
            TooLarge: it has as many viewers as it may have.
            CodedError: the sandbox or the hub is gone.
        """
        params = _given(
            sandbox=self.id, console=console, mode=mode, rows=rows, cols=cols, scrollback=scrollback
        )
        return Pending(attach_console(self._link, params))

    async def consoles(self, *, ended: bool = False) -> Partial[ConsoleInfo]:
        """Its consoles: the machine's own, called `boot`, too.

        Args:
            ended: also those that have ended; the newest are kept.
        """
        return await list_consoles(self._link, sandbox=self.id, ended=ended)

    async def close_console(self, console: str | None = None) -> ConsoleInfo:
        """Hangs a console up and waits for its end; of one that has ended nothing changes.

        Args:
            console: as `attach` has it.

        Raises:
            NotFound, BadRequest: none is meant, or several.
            WrongState: it is the machine's own.
        """
        return await close_console(self._link, self.id, console)

    async def look(self, console: str | None = None) -> Screen:
        """What the screen of a console shows now, as text. Nobody is told of it: to look is not to attach.

        Args:
            console: as `attach` has it.

        Raises:
            NotFound, BadRequest: none is meant, or several.
        """
        return await look_at(self._link, self.id, console)

    def callback(self, *methods: str, at_once: int = AT_ONCE) -> Callable[[Function], CallbackHandler]:
        """A decorator: the function answers these callbacks of programs in this sandbox.

        Args:
            methods, at_once: as `Hub.callback` has them.
        """
        return decorating(self._link, methods, sandbox=self.id, at_once=at_once)

    async def boot_log(self, *, max_bytes: int = 1 << 18) -> bytes:
        """The newest bytes of its serial console: what the kernel and the agent said. The guest wrote it."""
        answer = await self._link.call("sandbox.boot_log", {"sandbox": self.id, "max_bytes": max_bytes})
        log: bytes = Answer("boot log", answer).of_type("log", bytes)
        return log

    async def remove(self) -> SandboxInfo:
        """Ends its machine, deletes its disk, and lets go of what was held for it.

        Raises:
            NotFound, WrongState: it has been removed already, or is being.
        """
        try:
            self._info = SandboxInfo.parse(await self._link.call("sandbox.remove", {"sandbox": self.id}))
        finally:
            await self.close()
        return self._info

    async def close(self) -> None:
        """Ends the connection that `Sandbox.create` made for it; the sandbox itself goes on. Idempotent."""
        await self._held.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.remove()
        except (NotFound, WrongState):
            pass  # gone already, which is what was wanted
        except CodedError:
            # The error that is on its way tells more than what it did to the clean-up.
            if error is None:
                raise


async def _fed(process: Process, data: bytes | None) -> bytes:
    if data is not None:
        await process.feed(data)
    return b""


def _given(**params: Any) -> dict[str, Any]:
    """The parameters that are not None: what is absent has the hub's default."""
    return {name: value for name, value in params.items() if value is not None}
