"""The blocking SDK: the classes of `cloche.aio`, wrapped method by method.

    with Sandbox.create() as sandbox:
        print(sandbox.run("echo hi").stdout)

Nothing is implemented here: a blocking method runs the asynchronous one of the same name in the portal's loop and
waits. Signatures and docstrings are the original's, for the reader, the type checker and `help()`.

Rule: an object of this module may be used from any thread, but one command's output by one thread at a time.
"""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from cloche import aio
from cloche.aio.callbacks import AT_ONCE, Function
from cloche.aio.process import Stream
from cloche.blocking import blocking, iterating, opening, told_by
from cloche.callback_messages import CallbackCall
from cloche.console_messages import ConsoleInfo
from cloche.errors import CodedError
from cloche.messages import SandboxInfo
from cloche.portal import Portal
from cloche.screens import Screen

A = TypeVar("A", bound=Any)


class _Twin(Generic[A]):
    """An asynchronous object and the portal through which it is used."""

    def __init__(self, portal: Portal, twin: A) -> None:
        self._portal, self._twin = portal, twin

    def __repr__(self) -> str:
        return repr(self._twin)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.call(lambda: self._twin.__aexit__(kind, error, trace))


class _Leaseholder(_Twin[A]):
    """A twin that may keep the portal running, until it is closed."""

    @classmethod
    def _leased(cls, portal: Portal, twin: A) -> Self:
        """The twin of what was opened with a lease on the portal of its own."""
        self = cls(portal, twin)
        _leaseholders.add(self)
        return self

    def close(self) -> None:
        if self not in _leaseholders:
            return
        try:
            if not self._portal.is_foreign:
                self._portal.call(self._twin.close)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self in _leaseholders:
            _leaseholders.discard(self)
            self._portal.release()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._let_go()


_leaseholders: set[_Leaseholder[Any]] = set()


class Output(_Twin[aio.Output]):
    __doc__ = aio.Output.__doc__

    read = blocking(aio.Output.read)
    read_all = blocking(aio.Output.read_all)
    lines = iterating(aio.Output.lines)
    __iter__ = iterating(aio.Output.__aiter__)


class Process(_Twin[aio.Process]):
    __doc__ = aio.Process.__doc__

    def __init__(self, portal: Portal, twin: aio.Process) -> None:
        super().__init__(portal, twin)
        self.id, self.pid, self.recording = twin.id, twin.pid, twin.recording
        self.stdout, self.stderr = Output(portal, twin.stdout), Output(portal, twin.stderr)

    write = blocking(aio.Process.write)
    close_stdin = blocking(aio.Process.close_stdin)
    feed = blocking(aio.Process.feed)
    signal = blocking(aio.Process.signal)
    kill = blocking(aio.Process.kill)
    wait = blocking(aio.Process.wait)

    def __iter__(self) -> Iterator[tuple[Stream, bytes]]:
        return iterating(aio.Process.__aiter__)(self)


class Console(_Twin[aio.Console]):
    __doc__ = aio.Console.__doc__

    @property
    def id(self) -> str:
        """Its id, such as `con_…`."""
        return self._twin.id

    @property
    def name(self) -> str:
        """Its name, unique among the open ones of its sandbox."""
        return self._twin.name

    @property
    def info(self) -> ConsoleInfo:
        """What is known of it, as of what has been read: its size, who is attached, who drives.

        Who drives is known from `until` and `look`, too.
        """
        return self._twin.info

    @property
    def viewer(self) -> str:
        """Who we are among those who are attached, such as `v1`."""
        return self._twin.viewer

    @property
    def is_driving(self) -> bool:
        """Whether what is typed here reaches the program, as of what has been read, or was last seen on the screen."""
        return self._twin.is_driving

    @property
    def screen(self) -> Screen:
        """The newest screen that `until` or `look` have seen.

        Raises:
            WrongState: they have not seen any.
        """
        return self._twin.screen

    events = iterating(aio.Console.events)
    read = blocking(aio.Console.read)
    write = blocking(aio.Console.write)
    resize = blocking(aio.Console.resize)
    signal = blocking(aio.Console.signal)
    ask = blocking(aio.Console.ask)
    give = blocking(aio.Console.give)
    take = blocking(aio.Console.take)
    refresh = blocking(aio.Console.refresh)
    until = blocking(aio.Console.until)
    look = blocking(aio.Console.look)
    wait = blocking(aio.Console.wait)
    __iter__ = iterating(aio.Console.__aiter__)


class Files(_Twin[aio.Files]):
    __doc__ = aio.Files.__doc__

    read = blocking(aio.Files.read)
    read_text = blocking(aio.Files.read_text)
    stream = iterating(aio.Files.stream)
    write = blocking(aio.Files.write)
    stat = blocking(aio.Files.stat)
    list = blocking(aio.Files.list)
    scan = iterating(aio.Files.scan)
    make_dir = blocking(aio.Files.make_dir)
    remove = blocking(aio.Files.remove)
    rename = blocking(aio.Files.rename)
    chmod = blocking(aio.Files.chmod)
    link = blocking(aio.Files.link)
    symlink = blocking(aio.Files.symlink)
    upload = blocking(aio.Files.upload)
    download = blocking(aio.Files.download)


class CallbackHandler(_Twin[aio.CallbackHandler]):
    __doc__ = aio.CallbackHandler.__doc__

    def __init__(self, portal: Portal, twin: aio.CallbackHandler) -> None:
        super().__init__(portal, twin)
        self.methods: Sequence[str] = twin.methods

    def __call__(self, call: CallbackCall) -> Any:
        return self._twin(call)

    @told_by(aio.CallbackHandler.ready)
    def ready(self) -> Self:
        self._portal.call(self._twin.ready)
        return self

    wait = blocking(aio.CallbackHandler.wait)
    close = blocking(aio.CallbackHandler.close)


def _decorating(
    portal: Portal, decorate: Callable[[Function], aio.CallbackHandler]
) -> Callable[[Function], CallbackHandler]:
    """The blocking form of a decorator: it returns once the hub asks the function, or raises why it does not."""

    def decorate_and_wait(function: Function) -> CallbackHandler:
        async def begin() -> aio.CallbackHandler:
            return await decorate(function).ready()

        return CallbackHandler(portal, portal.call(begin))

    return decorate_and_wait


class Sandbox(_Leaseholder[aio.Sandbox]):
    __doc__ = aio.Sandbox.__doc__

    @property
    def id(self) -> str:
        """Its id, such as `sb_…`."""
        return self._twin.id

    @property
    def name(self) -> str:
        """Its name."""
        return self._twin.name

    @property
    def info(self) -> SandboxInfo:
        """What the hub last said of it; `refresh` asks again."""
        return self._twin.info

    @property
    def files(self) -> Files:
        """Its files."""
        return Files(self._portal, self._twin.files)

    create = staticmethod(opening(aio.Sandbox.create, lambda portal, twin: Sandbox._leased(portal, twin)))
    refresh = blocking(aio.Sandbox.refresh)
    run = blocking(aio.Sandbox.run)
    exec = blocking(aio.Sandbox.exec, Process)
    console = blocking(aio.Sandbox.console, Console)
    attach = blocking(aio.Sandbox.attach, Console)
    consoles = blocking(aio.Sandbox.consoles)
    close_console = blocking(aio.Sandbox.close_console)
    look = blocking(aio.Sandbox.look)

    @told_by(aio.Sandbox.callback)
    def callback(self, *methods: str, at_once: int = AT_ONCE) -> Callable[[Function], CallbackHandler]:
        return _decorating(self._portal, self._twin.callback(*methods, at_once=at_once))

    boot_log = blocking(aio.Sandbox.boot_log)

    @told_by(aio.Sandbox.remove)
    def remove(self) -> SandboxInfo:
        try:
            return self._portal.call(self._twin.remove)
        finally:
            self._let_go()

    @told_by(aio.Sandbox.close)
    def close(self) -> None:
        super().close()


def _sandboxes(portal: Portal, twins: list[aio.Sandbox]) -> list[Sandbox]:
    return [Sandbox(portal, twin) for twin in twins]


class Approvals(_Twin[aio.Approvals]):
    __doc__ = aio.Approvals.__doc__

    @property
    def waiting(self) -> int:
        """How many waited when the connection was made; 0 for whoever cannot decide them."""
        return self._twin.waiting

    list = blocking(aio.Approvals.list)
    get = blocking(aio.Approvals.get)
    approve = blocking(aio.Approvals.approve)
    deny = blocking(aio.Approvals.deny)
    watch = iterating(aio.Approvals.watch)


class Policy(_Twin[aio.Policy]):
    __doc__ = aio.Policy.__doc__

    show = blocking(aio.Policy.show)
    check = blocking(aio.Policy.check)
    reload = blocking(aio.Policy.reload)


class Tokens(_Twin[aio.Tokens]):
    __doc__ = aio.Tokens.__doc__

    create = blocking(aio.Tokens.create)
    list = blocking(aio.Tokens.list)
    revoke = blocking(aio.Tokens.revoke)


class Recordings(_Twin[aio.Recordings]):
    __doc__ = aio.Recordings.__doc__

    list = blocking(aio.Recordings.list)
    get = blocking(aio.Recordings.get)
    read = iterating(aio.Recordings.read)
    save = blocking(aio.Recordings.save)
    search = blocking(aio.Recordings.search)


class Hub(_Leaseholder[aio.Hub]):
    __doc__ = aio.Hub.__doc__

    @property
    def address(self) -> str:
        """Where the hub listens."""
        return self._twin.address

    @property
    def tokens(self) -> Tokens:
        """Who may use the hub."""
        return Tokens(self._portal, self._twin.tokens)

    connect = staticmethod(opening(aio.Hub.connect, lambda portal, twin: Hub._leased(portal, twin)))
    status = blocking(aio.Hub.status)
    stop = blocking(aio.Hub.stop)
    create = blocking(aio.Hub.create, Sandbox)
    sandboxes = blocking(aio.Hub.sandboxes, _sandboxes)
    sandbox = blocking(aio.Hub.sandbox, Sandbox)
    consoles = blocking(aio.Hub.consoles)

    @property
    def recordings(self) -> Recordings:
        """What consoles and commands have shown."""
        return Recordings(self._portal, self._twin.recordings)

    build_image = blocking(aio.Hub.build_image)
    images = blocking(aio.Hub.images)
    remove_image = blocking(aio.Hub.remove_image)
    disk_usage = blocking(aio.Hub.disk_usage)
    prune = blocking(aio.Hub.prune)

    @told_by(aio.Hub.callback)
    def callback(
        self, *methods: str, sandbox: str | None = None, at_once: int = AT_ONCE
    ) -> Callable[[Function], CallbackHandler]:
        return _decorating(self._portal, self._twin.callback(*methods, sandbox=sandbox, at_once=at_once))

    @property
    def approvals(self) -> Approvals:
        """Calls that wait for a person."""
        return Approvals(self._portal, self._twin.approvals)

    @property
    def policy(self) -> Policy:
        """What may leave sandboxes."""
        return Policy(self._portal, self._twin.policy)

    events = iterating(aio.Hub.events)
    audit = iterating(aio.Hub.audit)
    read_audit = blocking(aio.Hub.read_audit)
    search_audit = iterating(aio.Hub.search_audit)
    verify_audit = blocking(aio.Hub.verify_audit)
    export_audit = iterating(aio.Hub.export_audit)

    @told_by(aio.Hub.close)
    def close(self) -> None:
        super().close()


def _close_all() -> None:
    """At the interpreter's end: says goodbye to every hub somebody forgot to."""
    for holder in list(_leaseholders):
        with contextlib.suppress(CodedError):
            holder.close()


# After the portal's own handler in the table, so before it in time.
atexit.register(_close_all)
