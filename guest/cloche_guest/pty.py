"""Consoles: a program and its terminal, one channel each, from its start to its result.

    start ──► running ──(the program has ended)──► settling ──(its output is complete)──► result sent
                 └──(reset by the hub, or its session is over)──► hung up, and killed after a grace; nothing more is said

Rules:
- The result comes after all that the program has shown; who is left behind does not hold it up (see `settling`), and
  finds the terminal hung up then, as when a terminal's window is closed.
- A terminal has no end of input: Ctrl-D is a byte like any other. That stream 1 ends means that nothing more is typed.
- A signal that keys make goes where the keys would send it, even to a program that reads nothing; any other goes to
  the whole tree, as does the hang-up of a reset.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

from cloche_guest import spawn, terminals
from cloche_guest.fields import Params
from cloche_guest.loop import Scope, Timer
from cloche_guest.messages import (
    MessageStream,
    PtyRequest,
    TerminalSize,
    ending_of,
    parse_pty,
    parse_terminal_message,
)
from cloche_guest.pipes import Input
from cloche_guest.settling import Settling
from cloche_guest.terminals import Display
from cloche_guest.trees import Tree
from cloche_guest.users import Account
from cloche_guest.works import Surroundings
from cloche_wire.errors import InternalError

MESSAGES, TERMINAL = 0, 1
"""Numbers of the streams: messages towards the program, the terminal's bytes both ways."""

HANGUP_GRACE_S = 2.0
"""How long a program may take to save its work after a hang-up."""
DEFAULT_TERM = "xterm-256color"


class Pty:
    """One console.

    Args:
        around: what it is started in.
        channel: its channel, still offered.
        request: what to run.
        env: the machine's variables.
    """

    def __init__(
        self, around: Surroundings, channel: int, request: PtyRequest, *, env: Mapping[str, str]
    ) -> None:
        self._around, self._connection = around, around.connection
        self._scope = Scope(around.loop, self.broken)
        self.channel = channel
        self._messages = MessageStream()
        self._ending: dict[str, Any] | None = None
        self._is_over = False
        self._grace: Timer | None = None
        self._tree: Tree | None = around.trees.new_tree()
        try:
            account = around.accounts.find(request.user or around.default_user)
            started = terminals.start(_command(request, env, account), request.size)
        except BaseException:
            self._release_tree()
            raise
        self.pid, self._terminal = started.pid, started.reader
        self._hold: int | None = started.hold
        self._started_at = time.monotonic()
        self._keys = Input(self._scope, self._connection, channel=channel, stream=TERMINAL, fd=started.writer)
        self._display = Display(
            self._scope,
            self._connection,
            channel=channel,
            stream=TERMINAL,
            fd=started.reader,
            on_progress=lambda: self._settling.progressed(),
        )
        self._settling = Settling(self._scope, (self._display,), self._finish)
        try:
            self._tree.adopt(started.pid)
            self._connection.accept(channel, {"console": request.console_id, "pid": started.pid})
        except BaseException:
            self.kill()
            raise
        self._display.resume()

    # What the hub says.

    def received(self, stream: int, data: bytes) -> None:
        """Bytes have come on a stream."""
        if stream == TERMINAL:
            self._display.typed()
            self._keys.received(data)
            return
        self._connection.consume(self.channel, stream, len(data))
        if stream == MESSAGES:
            for message in self._messages.feed(data):
                self._do(parse_terminal_message(message))

    def ended(self, stream: int) -> None:
        """A stream has ended; a terminal goes on."""

    def acknowledged(self, stream: int) -> None:
        """There is credit on a stream."""
        if stream == TERMINAL and self._display.is_paused:
            self._display.resume()
            # Waiting for the reader is not the program's silence.
            self._settling.progressed()

    def kill(self) -> None:
        """Nobody waits for it any more: hangs up, kills what is left after a grace, and says nothing."""
        self._end_now()
        self._signal_tree(signal.SIGHUP)
        self._grace = self._scope.call_later(HANGUP_GRACE_S, self._on_grace_over)

    def broken(self, error: Exception) -> None:
        """Something of ours has failed for this console: it costs this one, and no other."""
        self._around.report(error, f"console {self.pid}")
        self._connection.reset(self.channel, InternalError("the agent failed; the boot log says how"))
        if not self._is_over:
            self.kill()

    # What the program does.

    def exited(self, status: int) -> None:
        """Its first process has ended.

        Args:
            status: as `waitpid` gives it.
        """
        self._ending = {
            **ending_of(status),
            "duration_s": time.monotonic() - self._started_at,
        }
        if self._is_over:
            if self._tree is not None and self._tree.is_empty():
                self._release_tree()
            return
        self._let_go()
        self._display.program_ended()
        self._settling.begin()

    def _do(self, asked: TerminalSize | int) -> None:
        if isinstance(asked, TerminalSize):
            terminals.resize(self._terminal, asked)
        elif asked in terminals.FOREGROUND_SIGNALS:
            terminals.signal_foreground(self._terminal, asked)
        else:
            self._signal_tree(asked)

    # Endings.

    def _finish(self) -> None:
        if not self._display.has_ended:
            self._connection.end(self.channel, TERMINAL)
        self._end_now()
        self._connection.close(self.channel, self._ending)
        self._release_tree()

    def _end_now(self) -> None:
        self._is_over = True
        self._settling.cancel()
        self._let_go()
        # With the last of its ends on our side closed, the kernel hangs up.
        self._keys.close()
        self._display.close()
        self._around.works.remove(self.channel)

    def _let_go(self) -> None:
        hold, self._hold = self._hold, None
        if hold is not None:
            os.close(hold)

    def _on_grace_over(self) -> None:
        self._grace = None
        self._signal_tree(signal.SIGKILL)
        self._release_tree()

    def _signal_tree(self, number: int) -> None:
        if self._tree is not None:
            self._tree.signal(number)

    def _release_tree(self) -> None:
        tree, self._tree = self._tree, None
        if tree is not None:
            tree.release()
        if self._grace is not None:
            self._grace.cancel()


def _command(request: PtyRequest, machine_env: Mapping[str, str], account: Account) -> spawn.Command:
    # Not as at a login: /etc/profile would put Debian's PATH in the place of the image's.
    return spawn.Command(
        argv=request.argv or (os.path.basename(account.shell),),
        env={"TERM": DEFAULT_TERM, **spawn.base_environment(account, machine_env), **request.env},
        cwd=request.cwd or account.home,
        account=account,
        program=None if request.argv else account.shell,
    )


class Ptys:
    """All consoles of the machine.

    Args:
        around: what they are started in.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def open(self, channel: int, params: Params, env: Mapping[str, str]) -> None:
        """Starts a program in a terminal on an offered channel.

        Raises:
            BadRequest: the parameters are wrong.
            NoSpace: too many run already.
            CommandNotStarted: it can not run.
        """
        request = parse_pty(params)
        self._around.children.require_room()
        console = Pty(self._around, channel, request, env=env)
        self._around.children.expect(console.pid, console.exited, console.broken)
        self._around.works.add(channel, console)
