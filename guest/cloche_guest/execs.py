"""Commands: one channel each, from its start to its result.

    start ──► running ──(the process has ended)──► settling ──(its output is complete)──► result sent
                 └──(reset by the hub, or its session is over)──► killed, nothing more is said

Rules:
- The result comes after all the output of the command itself; a process it left behind may hold the pipes open, and
  does not hold up the result (see `settling`).
- Left behind is not killed: such processes live until the machine ends, as they would in a shell. What they write is
  dropped. A signal, a timeout and a reset reach the whole tree, daemons too.
- A timeout asks (SIGTERM), and insists two seconds later (SIGKILL).
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Mapping
from typing import Any

from cloche_guest import spawn
from cloche_guest.fields import Params
from cloche_guest.loop import Scope, Timer
from cloche_guest.messages import ExecRequest, MessageStream, ending_of, parse_exec, parse_signal
from cloche_guest.pipes import Input, Output
from cloche_guest.settling import Settling
from cloche_guest.trees import Tree
from cloche_guest.users import Account
from cloche_guest.works import Surroundings
from cloche_wire.errors import CommandNotStarted, InternalError

MESSAGES, STDIN, STDOUT, STDERR = 0, 1, 1, 2
"""Numbers of the streams: messages and stdin towards the command, stdout and stderr towards the caller."""

TERM_GRACE_S = 2.0


class Exec:
    """One command.

    Args:
        around: what it is started in.
        channel: its channel, still offered.
        request: what to run.
        env: the machine's variables.
    """

    def __init__(
        self,
        around: Surroundings,
        channel: int,
        request: ExecRequest,
        *,
        env: Mapping[str, str],
    ) -> None:
        self._around, self._connection = around, around.connection
        self._scope = Scope(around.loop, self.broken)
        self.channel = channel
        self._messages = MessageStream()
        self._ending: dict[str, Any] | None = None
        self._is_over = self._timed_out = False
        self._deadline: Timer | None = None
        self._tree: Tree | None = around.trees.new_tree()
        try:
            started = spawn.start(
                _command(request, env, around.accounts.find(request.user or around.default_user))
            )
        except BaseException:
            self._release_tree()
            raise
        self.pid = started.pid
        self._started_at = time.monotonic()
        self._input = Input(self._scope, self._connection, channel=channel, stream=STDIN, fd=started.stdin)
        self._outputs = {
            STDOUT: self._output(STDOUT, started.stdout),
            STDERR: self._output(STDERR, started.stderr),
        }
        self._settling = Settling(self._scope, tuple(self._outputs.values()), self._finish)
        try:
            self._tree.adopt(started.pid)
            self._connection.accept(channel, {"exec": request.exec_id, "pid": started.pid})
        except BaseException:
            self.kill()
            self._release_tree()
            raise
        for output in self._outputs.values():
            output.resume()
        if request.timeout_s is not None:
            self._deadline = self._scope.call_later(request.timeout_s, self._on_timeout)

    def _output(self, stream: int, fd: int) -> Output:
        return Output(
            self._scope,
            self._connection,
            channel=self.channel,
            stream=stream,
            fd=fd,
            on_progress=lambda: self._settling.progressed(),
        )

    # What the hub says.

    def received(self, stream: int, data: bytes) -> None:
        """Bytes have come on a stream."""
        if stream == STDIN:
            self._input.received(data)
            return
        self._connection.consume(self.channel, stream, len(data))
        if stream == MESSAGES:
            for message in self._messages.feed(data):
                self._signal(parse_signal(message))

    def ended(self, stream: int) -> None:
        """A stream has ended."""
        if stream == STDIN:
            self._input.ended()

    def acknowledged(self, stream: int) -> None:
        """There is credit on a stream."""
        output = self._outputs.get(stream)
        if output is not None and output.is_paused:
            output.resume()
            # Waiting for the reader is not the command's silence.
            self._settling.progressed()

    def kill(self) -> None:
        """Nobody waits for it any more: kills the tree and says nothing."""
        self._end_now()
        self._signal(signal.SIGKILL)
        if self._ending is not None:
            self._release_tree()

    def broken(self, error: Exception) -> None:
        """Something of ours has failed for this command: it costs this one, and no other."""
        self._around.report(error, f"command {self.pid}")
        self._connection.reset(self.channel, InternalError("the agent failed; the boot log says how"))
        if not self._is_over:
            self.kill()

    # What the command does.

    def exited(self, status: int) -> None:
        """Its first process has ended.

        Args:
            status: as `waitpid` gives it.
        """
        self._ending = {
            **ending_of(status),
            "timed_out": self._timed_out,
            "duration_s": time.monotonic() - self._started_at,
        }
        if self._is_over:
            self._release_tree()
            return
        if self._deadline is not None and not self._timed_out:
            self._deadline.cancel()
        for output in self._outputs.values():
            output.command_ended()
        self._settling.begin()

    def _on_timeout(self) -> None:
        self._timed_out = True
        self._signal(signal.SIGTERM)
        self._deadline = self._scope.call_later(TERM_GRACE_S, self._on_grace_over)

    def _on_grace_over(self) -> None:
        self._deadline = None
        self._signal(signal.SIGKILL)
        if self._is_over:
            self._release_tree()

    # Endings.

    def _finish(self) -> None:
        for stream, output in self._outputs.items():
            if not output.has_ended:
                output.discard()
                self._connection.end(self.channel, stream)
        self._end_now()
        self._connection.close(self.channel, self._ending)
        # After a timeout nothing may stay behind: then the tree is kept until the grace is over.
        if not self._timed_out or self._deadline is None or (self._tree and self._tree.is_empty()):
            self._release_tree()

    def _end_now(self) -> None:
        self._is_over = True
        self._input.close()
        for output in self._outputs.values():
            output.close()
        self._settling.cancel()
        self._around.works.remove(self.channel)

    def _signal(self, number: int) -> None:
        if self._tree is not None:
            self._tree.signal(number)

    def _release_tree(self) -> None:
        tree, self._tree = self._tree, None
        if tree is not None:
            tree.release()
        if self._deadline is not None:
            self._deadline.cancel()


def _command(request: ExecRequest, machine_env: Mapping[str, str], account: Account) -> spawn.Command:
    return spawn.Command(
        argv=request.argv,
        env={**spawn.base_environment(account, machine_env), **request.env},
        cwd=request.cwd or account.home,
        account=account,
        stdin=request.stdin,
    )


class Execs:
    """All commands of the machine.

    Args:
        around: what they are started in.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        # Looked up before a template is saved, so that no clone's first command has to wait for it.
        with contextlib.suppress(CommandNotStarted):
            around.accounts.find(around.default_user)

    def open(self, channel: int, params: Params, env: Mapping[str, str]) -> None:
        """Starts a command on an offered channel.

        Raises:
            BadRequest: the parameters are wrong.
            NoSpace: too many run already.
            CommandNotStarted: it can not run.
        """
        request = parse_exec(params)
        self._around.children.require_room()
        command = Exec(self._around, channel, request, env=env)
        self._around.children.expect(command.pid, command.exited, command.broken)
        self._around.works.add(channel, command)
