"""What the hub asks for, as values: the border where plain maps are checked.

Rules:
- A wrong parameter is a BadRequest that names the field and says what would do.
- A field nobody knows is refused: it may be a restriction that a newer hub relies on.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from cloche_wire.errors import BadRequest

Params = Mapping[str, Any]

_SHOWN = 60
_HEX = frozenset("0123456789abcdef")
_HOSTNAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")
_LONGEST_HOSTNAME = 64
_MOST_ENTROPY = 512
_LARGEST_ID = (1 << 32) - 2
_LAST_SIGNAL = 64
_LONGEST_TIMEOUT_S = 1e9

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


def parse_become(params: Params) -> Identity:
    """The parameters of `become`.

    Raises:
        BadRequest: names the field.
    """
    _check_known(params, ("sandbox", "hostname", "machine_id", "entropy", "clock_ns", "env"))
    hostname, machine_id = _text(params, "hostname"), _text(params, "machine_id")
    # SAFETY: it goes into /etc/hosts and /etc/hostname, where a space or a newline would say more than a name.
    if not 0 < len(hostname) <= _LONGEST_HOSTNAME or not _HOSTNAME.issuperset(hostname):
        raise BadRequest(f"hostname must be up to 64 letters, digits, '-' and '.', not {_shown(hostname)}")
    if len(machine_id) != 32 or not _HEX.issuperset(machine_id):
        raise BadRequest(f"machine_id must be 32 lower-case hex digits, not {_shown(machine_id)}")
    entropy, clock_ns = params.get("entropy"), params.get("clock_ns")
    if not isinstance(entropy, bytes) or not 32 <= len(entropy) <= _MOST_ENTROPY:
        raise BadRequest(f"entropy must be 32 to {_MOST_ENTROPY} random bytes")
    if type(clock_ns) is not int or not 0 < clock_ns < 1 << 63:
        raise BadRequest(f"clock_ns must be nanoseconds since 1970, not {_shown(clock_ns)}")
    return Identity(_text(params, "sandbox"), hostname, machine_id, entropy, clock_ns, _env(params))


def parse_exec(params: Params) -> ExecRequest:
    """The parameters of `exec`.

    Raises:
        BadRequest: names the field.
    """
    _check_known(params, ("exec", "argv", "env", "cwd", "user", "timeout_s", "stdin"))
    argv = params.get("argv")
    if not isinstance(argv, list) or not argv:
        raise BadRequest("argv must be a list of texts that begins with a command")
    words = tuple(_check_text(f"argv[{index}]", word) for index, word in enumerate(argv))
    if not words[0]:
        raise BadRequest("argv[0] is empty; it must name a command")
    stdin = params.get("stdin", False)
    if not isinstance(stdin, bool):
        raise BadRequest(f"stdin must be true or false, not {_shown(stdin)}")
    cwd = _optional_text(params, "cwd")
    if cwd is not None and not cwd.startswith("/"):
        raise BadRequest(f"cwd must be an absolute path, not {_shown(cwd)}")
    return ExecRequest(
        exec_id=_text(params, "exec"),
        argv=words,
        env=_env(params),
        cwd=cwd,
        user=_user(params),
        timeout_s=_timeout(params),
        stdin=stdin,
    )


def parse_signal(message: Any) -> int:
    """The number of the signal that a message on an exec's stream 0 asks for.

    Raises:
        BadRequest: the message is not `{"signal": …}` with a signal Linux has.
    """
    if not isinstance(message, Mapping):
        raise BadRequest(f"a message to a command must be a map, not {_shown(message)}")
    _check_known(message, ("signal",))
    asked = message.get("signal")
    number: object = asked
    if isinstance(asked, str):
        number = int(asked) if asked.isdecimal() else SIGNAL_NUMBERS.get(asked.removeprefix("SIG"))
    if type(number) is not int or not 1 <= number <= _LAST_SIGNAL:
        raise BadRequest(
            f"signal must be a name such as TERM or a number from 1 to {_LAST_SIGNAL}, not {_shown(asked)}"
        )
    return number


def signal_name(number: int) -> str:
    """The name of a signal without SIG, or its number as text where it has none."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return str(number)
    return str(number) if number >= signal.SIGRTMIN else name.removeprefix("SIG")


def _check_known(params: Params, known: Collection[str]) -> None:
    for name in params:
        if name not in known:
            raise BadRequest(f"unknown field {_shown(name)}; known are: {', '.join(known)}")


def _text(params: Params, name: str) -> str:
    value = _optional_text(params, name)
    if not value:
        raise BadRequest(f"{name} is missing")
    return value


def _optional_text(params: Params, name: str) -> str | None:
    value = params.get(name)
    return None if value is None else _check_text(name, value)


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text, not {_shown(value)}")
    if "\0" in value:
        raise BadRequest(f"{name} holds a NUL, which no program can be given")
    return value


def _env(params: Params) -> dict[str, str]:
    env = params.get("env") or {}
    if not isinstance(env, Mapping):
        raise BadRequest(f"env must be a map of texts to texts, not {_shown(env)}")
    for name, value in env.items():
        _check_text("a name in env", name)
        if not name or "=" in name:
            raise BadRequest(f"env has a variable named {_shown(name)}; a name is not empty and holds no '='")
        _check_text(f"env[{_shown(name)}]", value)
    return dict(env)


def _user(params: Params) -> str | None:
    user = params.get("user")
    if type(user) is int:
        user = str(user)
    if user is None:
        return None
    name = _check_text("user", user)
    if not name or (name.isdecimal() and int(name) > _LARGEST_ID):
        raise BadRequest(f"user must be a user's name or number, not {_shown(user)}")
    return name


def _timeout(params: Params) -> float | None:
    timeout = params.get("timeout_s")
    if timeout is None:
        return None
    if type(timeout) not in (int, float) or not 0 < timeout <= _LONGEST_TIMEOUT_S:
        raise BadRequest(
            f"timeout_s must be above 0 and at most {_LONGEST_TIMEOUT_S:.0f}, not {_shown(timeout)}"
        )
    return float(timeout)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
