"""What the hub asks for, as values: the border where plain maps are checked, field by field (see `fields`)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgpack

from cloche_guest.fields import (
    Params,
    absolute_path,
    arguments,
    check_known,
    decimal,
    environment,
    flag,
    optional_number,
    shown,
    text,
    user,
)
from cloche_wire.errors import BadRequest
from cloche_wire.frames import LARGEST_NUMBER

_HEX = frozenset("0123456789abcdef")
_HOSTNAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")
_LONGEST_HOSTNAME = 64
_MOST_ENTROPY = 512
_LAST_SIGNAL = 64
_LONGEST_TIMEOUT_S = 1e9
_LARGEST_SIZE = 65535
_MOST_MESSAGE_BYTES = 4096
# The agent's hello names consoles, and has to fit a frame.
_LONGEST_CONSOLE_ID = 64

SIGNAL_NUMBERS: dict[str, int] = {
    name.removeprefix("SIG"): int(number)
    for name, number in signal.Signals.__members__.items()
    if number < signal.SIGRTMIN
}
"""Name without SIG → number. Realtime signals go by their number."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this clone is from now on."""

    sandbox: str
    hostname: str
    machine_id: str
    """32 hex digits."""
    entropy: bytes = field(repr=False)
    """Fresh random bytes for the kernel's generator."""
    clock_ns: int
    """Wall clock, nanoseconds since 1970."""
    env: Mapping[str, str] = field(repr=False)
    """What every command's environment starts from."""


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """One command to run."""

    exec_id: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    """None: the user's home."""
    user: str | None = None
    """A name or a number; None: the machine's ordinary user."""
    timeout_s: float | None = None
    stdin: bool = False
    """Whether the caller will send input; otherwise the command reads from /dev/null."""


@dataclass(frozen=True, slots=True)
class TerminalSize:
    """How many characters a terminal shows."""

    rows: int
    cols: int


@dataclass(frozen=True, slots=True)
class PtyRequest:
    """One terminal and the program to run in it."""

    console_id: str
    size: TerminalSize
    argv: tuple[str, ...] | None = None
    """None: the user's shell."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    """None: the user's home."""
    user: str | None = None
    """A name or a number; None: the machine's ordinary user."""


@dataclass(frozen=True, slots=True)
class PtyTakeRequest:
    """A console to go on with, and what is known of its output."""

    console_id: str
    received: int
    """Bytes of output since it began."""


def parse_become(params: Params) -> Identity:
    """The parameters of `become`.

    Raises:
        BadRequest: names the field.
    """
    check_known(params, ("sandbox", "hostname", "machine_id", "entropy", "clock_ns", "env"))
    hostname, machine_id = text(params, "hostname"), text(params, "machine_id")
    # SAFETY: it goes into /etc/hosts and /etc/hostname, where a space or a newline would say more than a name.
    if not 0 < len(hostname) <= _LONGEST_HOSTNAME or not _HOSTNAME.issuperset(hostname):
        raise BadRequest(f"hostname must be up to 64 letters, digits, '-' and '.', not {shown(hostname)}")
    if len(machine_id) != 32 or not _HEX.issuperset(machine_id):
        raise BadRequest(f"machine_id must be 32 lower-case hex digits, not {shown(machine_id)}")
    entropy, clock_ns = params.get("entropy"), params.get("clock_ns")
    if not isinstance(entropy, bytes) or not 32 <= len(entropy) <= _MOST_ENTROPY:
        raise BadRequest(f"entropy must be 32 to {_MOST_ENTROPY} random bytes")
    if type(clock_ns) is not int or not 0 < clock_ns < 1 << 63:
        raise BadRequest(f"clock_ns must be nanoseconds since 1970, not {shown(clock_ns)}")
    return Identity(text(params, "sandbox"), hostname, machine_id, entropy, clock_ns, environment(params))


def parse_exec(params: Params) -> ExecRequest:
    """The parameters of `exec`.

    Raises:
        BadRequest: names the field.
    """
    check_known(params, ("exec", "argv", "env", "cwd", "user", "timeout_s", "stdin"))
    return ExecRequest(
        exec_id=text(params, "exec"),
        argv=arguments(params),
        env=environment(params),
        cwd=absolute_path(params, "cwd"),
        user=user(params),
        timeout_s=_timeout(params),
        stdin=flag(params, "stdin", default=False),
    )


def parse_pty(params: Params) -> PtyRequest:
    """The parameters of `pty`.

    Raises:
        BadRequest: names the field.
    """
    check_known(params, ("console", "argv", "env", "cwd", "user", "rows", "cols"))
    return PtyRequest(
        console_id=_console_id(params),
        size=_terminal_size(params),
        argv=None if params.get("argv") is None else arguments(params),
        env=environment(params),
        cwd=absolute_path(params, "cwd"),
        user=user(params),
    )


def parse_pty_take(params: Params) -> PtyTakeRequest:
    """The parameters of `pty.take`.

    Raises:
        BadRequest: names the field.
    """
    check_known(params, ("console", "received"))
    received = optional_number(params, "received", most=LARGEST_NUMBER)
    if received is None:
        raise BadRequest("received is missing")
    return PtyTakeRequest(_console_id(params), received)


class MessageStream:
    """The messages on a work's stream 0, however the bytes were cut on their way."""

    def __init__(self) -> None:
        # Made when it is needed: most works are never told anything.
        self._unpacker: Any = None

    def feed(self, data: bytes) -> Iterator[Any]:
        """The messages that are complete now.

        Raises:
            BadRequest: it is no msgpack, or a message is too long.
        """
        if self._unpacker is None:
            self._unpacker = msgpack.Unpacker(
                raw=False,
                max_str_len=_MOST_MESSAGE_BYTES,
                max_bin_len=_MOST_MESSAGE_BYTES,
                # What has begun, and the next slice.
                max_buffer_size=2 * _MOST_MESSAGE_BYTES,
            )
        try:
            # In slices: who drags a window while this machine is busy sends many messages that arrive in one piece.
            for start in range(0, len(data), _MOST_MESSAGE_BYTES):
                self._unpacker.feed(data[start : start + _MOST_MESSAGE_BYTES])
                yield from self._unpacker
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise BadRequest(f"stream 0 carries msgpack messages: {str(error)[:100]}") from None


def parse_terminal_message(message: Any) -> TerminalSize | int:
    """What a message on a terminal's stream 0 asks for: another size, or the number of a signal.

    Raises:
        BadRequest: the message is neither `{"resize": {"rows": …, "cols": …}}` nor one `parse_signal` takes.
    """
    if not isinstance(message, Mapping) or "resize" not in message:
        return parse_signal(message)
    check_known(message, ("resize",))
    size = message["resize"]
    if not isinstance(size, Mapping):
        raise BadRequest(f"resize must be a map with rows and cols, not {shown(size)}")
    check_known(size, ("rows", "cols"))
    return _terminal_size(size)


def parse_signal(message: Any) -> int:
    """The number of the signal that a message on stream 0 asks for.

    Raises:
        BadRequest: the message is not `{"signal": …}` with a signal Linux has.
    """
    if not isinstance(message, Mapping):
        raise BadRequest(f"a message to a command must be a map, not {shown(message)}")
    check_known(message, ("signal",))
    asked = message.get("signal")
    number: object = asked
    if isinstance(asked, str):
        number = decimal(asked) or SIGNAL_NUMBERS.get(asked.removeprefix("SIG"))
    if type(number) is not int or not 1 <= number <= _LAST_SIGNAL:
        raise BadRequest(
            f"signal must be a name such as TERM or a number from 1 to {_LAST_SIGNAL}, not {shown(asked)}"
        )
    return number


def ending_of(status: int) -> dict[str, Any]:
    """How a process has ended, as a result says it.

    Args:
        status: as `waitpid` gives it.
    """
    code = os.waitstatus_to_exitcode(status)
    return {"exit_code": code} if code >= 0 else {"signal": signal_name(-code)}


def signal_name(number: int) -> str:
    """The name of a signal without SIG, or its number as text where it has none."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return str(number)
    return str(number) if number >= signal.SIGRTMIN else name.removeprefix("SIG")


def _console_id(params: Params) -> str:
    console_id = text(params, "console")
    if len(console_id) > _LONGEST_CONSOLE_ID:
        raise BadRequest(
            f"console must be of at most {_LONGEST_CONSOLE_ID} characters, not {shown(console_id)}"
        )
    return console_id


def _terminal_size(params: Params) -> TerminalSize:
    for name in ("rows", "cols"):
        value = params.get(name)
        if type(value) is not int or not 1 <= value <= _LARGEST_SIZE:
            raise BadRequest(f"{name} must be a whole number from 1 to {_LARGEST_SIZE}, not {shown(value)}")
    return TerminalSize(params["rows"], params["cols"])


def _timeout(params: Params) -> float | None:
    timeout = params.get("timeout_s")
    if timeout is None:
        return None
    if type(timeout) not in (int, float) or not 0 < timeout <= _LONGEST_TIMEOUT_S:
        raise BadRequest(
            f"timeout_s must be above 0 and at most {_LONGEST_TIMEOUT_S:.0f}, not {shown(timeout)}"
        )
    return float(timeout)
