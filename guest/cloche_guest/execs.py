"""Commands: one channel each, from its start to its result.

    start ──► running ──(the process has ended)──► settling ──(its output is complete)──► result sent
                 └──(reset by the hub, or its session is over)──► killed, nothing more is said

Rules:
- The result comes after all the output of the command itself. A process it left behind may hold the pipes open: once
  what was in them has been read, the result waits for 100 ms of silence, and never longer than a second.
- Left behind is not killed: such processes live until the machine ends, as they would in a shell. What they write is
  dropped. A signal, a timeout and a reset reach the whole tree, daemons too.
- A timeout asks (SIGTERM), and insists two seconds later (SIGKILL).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from typing import Any

import msgpack

from cloche_guest import spawn
from cloche_guest.fields import Params
from cloche_guest.loop import Scope, Timer
from cloche_guest.messages import ExecRequest, parse_exec, parse_signal, signal_name
from cloche_guest.pipes import Input, Output
from cloche_guest.trees import Tree
from cloche_guest.users import Account
from cloche_guest.works import Surroundings
from cloche_wire.errors import BadRequest, CommandNotStarted, InternalError, NoSpace

MESSAGES, STDIN, STDOUT, STDERR = 0, 1, 1, 2
"""Numbers of the streams: messages and stdin towards the command, stdout and stderr towards the caller."""

SILENCE_S = 0.1
SETTLE_S = 1.0
TERM_GRACE_S = 2.0
MOST_EXECS = 256
"""Commands at once."""

_MOST_MESSAGE_BYTES = 4096


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
        self._messages: Any = None
        self._ending: dict[str, Any] | None = None
        self._ended_at = self._last_output_at = 0.0
        self._is_over = self._timed_out = False
        self._settling: Timer | None = None
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
            on_progress=self._on_output,
        )

    # What the hub says.

    def received(self, stream: int, data: bytes) -> None:
        """Bytes have come on a stream."""
        if stream == STDIN:
            self._input.received(data)
            return
        self._connection.consume(self.channel, stream, len(data))
        if stream == MESSAGES:
            self._take_messages(data)

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
            self._last_output_at = time.monotonic()
            self._settle()

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
        code = os.waitstatus_to_exitcode(status)
        self._ended_at = self._last_output_at = time.monotonic()
        self._ending = {
            **({"exit_code": code} if code >= 0 else {"signal": signal_name(-code)}),
            "timed_out": self._timed_out,
            "duration_s": self._ended_at - self._started_at,
        }
        if self._is_over:
            self._release_tree()
            return
        if self._deadline is not None and not self._timed_out:
            self._deadline.cancel()
        for output in self._outputs.values():
            output.command_ended()
        self._settle()

    def _on_output(self) -> None:
        if self._ending is not None:
            self._last_output_at = time.monotonic()
            self._settle()

    def _settle(self) -> None:
        """Sends the result if the output is complete; otherwise sees to it that it is looked at again."""
        if self._ending is None or self._is_over:
            return
        wait_s = self._settling_s()
        if wait_s <= 0:
            self._finish(self._ending)
        elif self._settling is None and wait_s < SETTLE_S:
            self._settling = self._scope.call_later(wait_s, self._on_settling)

    def _settling_s(self) -> float:
        """Seconds until the output counts as complete if nothing happens before; 0 if it is."""
        still_open = [output for output in self._outputs.values() if not output.has_ended]
        if not still_open:
            return 0.0
        if any(output.owed for output in still_open):
            return SETTLE_S
        now = time.monotonic()
        waits = [self._ended_at + SETTLE_S - now]
        if not any(output.is_paused for output in still_open):
            waits.append(self._last_output_at + SILENCE_S - now)
        return max(0.0, min(waits))

    def _on_settling(self) -> None:
        self._settling = None
        self._settle()

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

    def _finish(self, result: dict[str, Any]) -> None:
        for stream, output in self._outputs.items():
            if not output.has_ended:
                output.discard()
                self._connection.end(self.channel, stream)
        self._end_now()
        self._connection.close(self.channel, result)
        # After a timeout nothing may stay behind: then the tree is kept until the grace is over.
        if not self._timed_out or self._deadline is None or (self._tree and self._tree.is_empty()):
            self._release_tree()

    def _end_now(self) -> None:
        self._is_over = True
        self._input.close()
        for output in self._outputs.values():
            output.close()
        if self._settling is not None:
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

    def _take_messages(self, data: bytes) -> None:
        if self._messages is None:
            self._messages = msgpack.Unpacker(raw=False, max_buffer_size=_MOST_MESSAGE_BYTES)
        try:
            self._messages.feed(data)
            for message in self._messages:
                self._signal(parse_signal(message))
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise BadRequest(f"stream 0 carries msgpack messages: {str(error)[:100]}") from None


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
        most: how many may run at once.
    """

    def __init__(self, around: Surroundings, *, most: int = MOST_EXECS) -> None:
        self._around, self._most = around, most
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
        children = self._around.children
        if len(children) >= self._most:
            raise NoSpace(f"{self._most} commands run at once in this machine; wait until one has ended")
        command = Exec(self._around, channel, request, env=env)
        children.expect(command.pid, command.exited, command.broken)
        self._around.works.add(channel, command)
