"""Consoles: a program and its terminal, from its start until somebody has its result. One channel each, or none at times.

    start ──► running ──(the program has ended)──► settling ──(its output is complete)──► complete ──► gone
                 └──(reset by the hub)──► hung up, and killed after a grace                  (the result is confirmed)

    with a channel ──(its session is lost)──► with none ──(`pty.take`)──► catching up ──(nothing is left)──► with a channel

Rules:
- A console outlives its session. What was not acknowledged is kept and goes out first when another session takes it; the
  program goes on, and waits where more would be kept than may be (`backlog`). So does what was complete by then.
- Only the hub that has stored a result confirms it: until then the console can be taken.
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
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cloche_guest import spawn, terminals
from cloche_guest.backlog import Backlog
from cloche_guest.loop import Scope, Timer
from cloche_guest.messages import (
    MessageStream,
    PtyRequest,
    TerminalSize,
    ending_of,
    parse_terminal_message,
)
from cloche_guest.pipes import Input
from cloche_guest.settling import Settling
from cloche_guest.terminals import Display
from cloche_guest.trees import Tree
from cloche_guest.users import Account
from cloche_guest.works import Surroundings
from cloche_wire.errors import InternalError, WrongState
from cloche_wire.events import Unacknowledged

MESSAGES, TERMINAL = 0, 1
"""Numbers of the streams: messages towards the program, the terminal's bytes both ways."""

HANGUP_GRACE_S = 2.0
"""How long a program may take to save its work after a hang-up."""
DEFAULT_TERM = "xterm-256color"

_NO_CHANNEL = 0


class Pty:
    """One console.

    Args:
        around: what it is started in.
        channel: its channel, still offered.
        request: what to run.
        env: the machine's variables.
        on_gone: told of itself when nobody can take it any more. May come twice.
    """

    def __init__(
        self,
        around: Surroundings,
        channel: int,
        request: PtyRequest,
        *,
        env: Mapping[str, str],
        on_gone: Callable[[Pty], None],
    ) -> None:
        self._around, self._connection = around, around.connection
        self._scope = Scope(around.loop, self.broken)
        self.console_id, self._size = request.console_id, request.size
        self._on_gone = on_gone
        self._channel: int | None = channel
        # Where in the output the channel's stream begins.
        self._offset = 0
        self._backlog = Backlog()
        self._is_catching_up = self._is_complete = False
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
        self._around.works.add(channel, self)
        self._display.resume()

    @property
    def is_left(self) -> bool:
        """Whether no session has it."""
        return self._channel is None

    @property
    def is_complete(self) -> bool:
        """Whether its program has ended and all of its output is known."""
        return self._is_complete

    @property
    def kept(self) -> tuple[int, int]:
        """Offsets between which output can be given; of one that is left."""
        return self._backlog.begins, self._backlog.ends

    # What the hub says.

    def received(self, stream: int, data: bytes) -> None:
        """Bytes have come on a stream."""
        if stream == TERMINAL:
            self._display.typed()
            self._keys.received(data)
            return
        assert self._channel is not None
        self._connection.consume(self._channel, stream, len(data))
        if stream == MESSAGES:
            for message in self._messages.feed(data):
                self._do(parse_terminal_message(message))

    def ended(self, stream: int) -> None:
        """A stream has ended; a terminal goes on."""

    def acknowledged(self, stream: int) -> None:
        """There is credit on a stream."""
        if stream != TERMINAL:
            return
        if self._is_catching_up:
            self._catch_up()
        elif self._display.is_paused:
            self._display.resume()
        else:
            return
        # Waiting for the reader is not the program's silence.
        self._settling.progressed()

    def confirmed(self) -> None:
        """The hub has the result."""
        self._go()

    def kill(self) -> None:
        """Nobody waits for it any more: hangs up, kills what is left after a grace, and says nothing."""
        if not self._is_over:
            self._end_terminal()
            self._signal_tree(signal.SIGHUP)
            self._grace = self._scope.call_later(HANGUP_GRACE_S, self._on_grace_over)
        self._go()

    def broken(self, error: Exception) -> None:
        """Something of ours has failed for this console: it costs this one, and no other."""
        self._around.report(error, f"console {self.pid}")
        if self._channel is not None:
            self._connection.reset(self._channel, InternalError("the agent failed; the boot log says how"))
        self.kill()

    # From session to session.

    def leave(self, unacknowledged: Iterable[Unacknowledged]) -> None:
        """Its session is lost: goes on without one.

        Args:
            unacknowledged: what was said on its channel, by stream.
        """
        shown = next((left for left in unacknowledged if left.stream == TERMINAL), None)
        if shown is not None:
            self._backlog.put_back(self._offset + shown.offset, shown.pieces)
        self._leave_channel()
        self._keys.leave()
        self._display.move(self._backlog, _NO_CHANNEL)
        self._display.resume()

    def take(self, channel: int, received: int) -> None:
        """Goes on, on another session's channel.

        Args:
            channel: still offered.
            received: bytes of output that the session needs no more.

        Raises:
            WrongState: this session has it already.
            BadRequest: so much was never shown.
        """
        if self._channel is not None:
            raise WrongState(f"{self.console_id} is open on this link; only one that is not can be taken")
        self._offset = self._backlog.begin_at(received)
        info = {
            "console": self.console_id,
            "pid": self.pid,
            "offset": self._offset,
            "rows": self._size.rows,
            "cols": self._size.cols,
        }
        self._connection.accept(channel, info)
        self._channel = channel
        self._around.works.add(channel, self)
        self._messages = MessageStream()
        self._keys.join(channel)
        self._is_catching_up = True
        self._catch_up()

    def _catch_up(self) -> None:
        """Gives what was kept, as far as there is credit; behind it the console is as any other."""
        assert self._channel is not None
        while self._backlog:
            room = self._connection.credit(self._channel, TERMINAL)
            if room <= 0:
                return
            self._connection.send(self._channel, TERMINAL, self._backlog.take(room))
        self._is_catching_up = False
        if self._is_complete:
            self._tell_result(self._channel)
        else:
            self._display.move(self._connection, self._channel)
            self._display.resume()

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
            self._size = asked
            terminals.resize(self._terminal, asked)
        elif asked in terminals.FOREGROUND_SIGNALS:
            terminals.signal_foreground(self._terminal, asked)
        else:
            self._signal_tree(asked)

    # Endings.

    def _finish(self) -> None:
        self._end_terminal()
        self._is_complete = True
        if self._channel is not None and not self._is_catching_up:
            self._tell_result(self._channel)
        self._release_tree()

    def _tell_result(self, channel: int) -> None:
        self._connection.end(channel, TERMINAL)
        self._connection.close(channel, self._ending)

    def _end_terminal(self) -> None:
        self._is_over = True
        self._settling.cancel()
        self._let_go()
        # With the last of its ends on our side closed, the kernel hangs up.
        self._keys.close()
        self._display.close()

    def _go(self) -> None:
        """Nobody can ask for it any more. Idempotent."""
        self._leave_channel()
        self._on_gone(self)

    def _leave_channel(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            # Another session may give its number to something else.
            self._around.works.remove(channel)

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
