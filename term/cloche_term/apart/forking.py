"""The process that has imported everything, and forks a worker for each socket it is sent.

    python -P -m cloche_term.apart.forking CONTROL PARENT MOST_MEMORY NICE

It feeds nothing itself and never looks at what workers say. On each socket it sends its worker's process id and a
descriptor of that process (a pidfd), before the worker is asked anything: who holds it can end this process and no other.

SAFETY: It has one thread, since a fork copies no other; it reaps its children; and it ends when its parent or the
control socket does, and its workers with it. (It watches the parent's process: PR_SET_PDEATHSIG would end it with the
thread that started it.) What asks people to end (signals of a terminal or a service manager) it
leaves to its parent, whose consoles may have something to store before they end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import sys
from typing import NoReturn

from cloche_term.apart.confinement import SOCKET, confine
from cloche_term.apart.frames import HEAD, NUMBER, SIZE, Kind, pack_lines, read_state
from cloche_term.apart.viewing import (
    PLACE,
    pack_key,
    pack_line,
    pack_lines_between,
    pack_mouse,
    pack_search,
)
from cloche_term.apart.worker import Hangup, Host, serve
from cloche_term.keys import Key
from cloche_term.terminal import Mouse, MouseAction, MouseButton

HELLO = struct.Struct("!I")
"""The process id of a worker; its pidfd comes along."""


class Forker:
    """Forks workers.

    Args:
        control: where sockets come from.
        parent: a pidfd of the process to end with.
        most_memory: bytes of address space of each worker.
        nice: how far behind us each worker stands when processors are short.
    """

    def __init__(self, control: socket.socket, parent: int, *, most_memory: int, nice: int) -> None:
        self._control, self._parent = control, parent
        self._most_memory, self._nice = most_memory, nice
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(parent, select.POLLIN)

    def run(self) -> None:
        """Serves until the control socket or the parent ends."""
        while True:
            ready = {descriptor for descriptor, _ in self._poll.poll()}
            # Who has ended makes room before others begin.
            for process in ready - {self._control.fileno(), self._parent}:
                self._reap(process)
            if self._parent in ready or (self._control.fileno() in ready and not self._receive()):
                return

    def _receive(self) -> bool:
        """Whether there will be more."""
        word, sockets, _, _ = socket.recv_fds(self._control, 1, 1)
        for connection in sockets:
            # No memory or no process for it: it is closed, and whoever waits at its other end learns that.
            with contextlib.suppress(OSError):
                self._fork(connection)
            os.close(connection)
        return bool(word)

    def _fork(self, connection: int) -> None:
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            self._work(connection, parent)
        try:
            process = os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        self._poll.register(process, select.POLLIN)
        with socket.socket(fileno=os.dup(connection)) as ours:
            socket.send_fds(ours, [HELLO.pack(pid)], [process], socket.MSG_NOSIGNAL)

    def _work(self, connection: int, parent: int) -> NoReturn:
        try:
            confine(connection, parent=parent, most_memory=self._most_memory, nice=self._nice)
            serve(socket.socket(fileno=SOCKET))
        except Hangup:
            os._exit(0)
        except BaseException:
            # It must not go on as the zygote, whatever happens; its hub sees the socket end.
            os._exit(1)

    def _reap(self, process: int) -> None:
        os.waitid(os.P_PIDFD, process, os.WEXITED)
        self._poll.unregister(process)
        os.close(process)


def warm_up() -> None:
    """Imports and makes what workers need, who can open no file any more."""
    host = Host()
    host.answer(Kind.OPEN, SIZE.pack(24, 80) + pack_lines(100))
    host.answer(Kind.FEED, b"\x1b]2;warm\x07\x1b[6n\x1b[31m" + "wärm\r\n".encode() * 40)
    host.answer(Kind.RESIZE, SIZE.pack(30, 100))
    host.answer(Kind.LOOK, b"")
    host.answer(Kind.PAINT, NUMBER.pack(0))
    host.answer(Kind.SEARCH, pack_search("warm", 1))
    host.answer(Kind.LINES, pack_lines_between(0, 10))
    host.answer(Kind.KEY, pack_key(Key("a")))
    host.answer(Kind.MOUSE, pack_mouse(Mouse(MouseAction.PRESS, MouseButton.LEFT, 0, 0)))
    host.answer(Kind.PASTE, b"warm")
    host.answer(Kind.LINK, PLACE.pack(0, 0))
    host.answer(Kind.SCROLL, pack_line(-1))
    host.answer(Kind.DUMP, pack_lines(100))
    _, snapshot = read_state(host.answer(Kind.SNAPSHOT, b"")[HEAD.size :])
    host.answer(Kind.RESTORE, pack_lines(100) + snapshot)
    del host
    gc.collect()
    # What is never looked at by the collector is never copied in a worker.
    gc.freeze()


def main() -> None:
    """Serves the parent that started it."""
    control, parent_id, most_memory, nice = map(int, sys.argv[1:])
    parent = os.pidfd_open(parent_id)
    if os.getppid() != parent_id:
        return  # it has ended, and this number may be anybody's
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    warm_up()
    with socket.socket(fileno=control) as connection:
        Forker(connection, parent, most_memory=most_memory, nice=nice).run()


if __name__ == "__main__":
    main()
