"""Lets a program in a Cloche sandbox ask the outside world: `callback("pay.send", {"amount": 3})`.

What a method does is up to whoever answers it: a program that is connected to the hub. Before it is asked, the hub's
policy may refuse the call, or have a person decide; then the answer takes as long as that person does.

    from cloche_callback import callback

    weather = callback("weather.today", {"city": "Bern"}, timeout=30)

Errors:

    CallbackError (a RuntimeError)      it was refused or has failed; `code` says why, for a program
    ├── CallbackDenied                  the policy or a person said no
    └── CallbackTimeout (a TimeoutError too)    no answer in time, or nobody decided in time
    ConnectionError                     there is no Cloche here, or it went away
    ValueError, TypeError               what was passed cannot be sent as JSON

Rules:
- Parameters and results are JSON values, at most 128 KiB of JSON text each.
- Giving up takes the call back: at a timeout, when the process ends, and when an `await` is cancelled.
- One file, standard library only, Python 3.8 and later: it may be copied wherever it is needed.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CallbackDenied", "CallbackError", "CallbackTimeout", "acallback", "callback", "notify"]

SOCKET = os.environ.get("CLOCHE_CALLBACK_SOCKET") or "/run/cloche/callback.sock"
"""Where the sandbox's agent listens; the variable is for tests."""
MAX_BYTES = 128 << 10
"""Of the JSON text of parameters, and of a result."""

# The agent keeps the time as well and says so; only if it does not does this side give up by itself.
_GRACE_S = 1.0
_LONGEST_ANSWER = MAX_BYTES + (64 << 10)
_NO_CLOCHE = "there is no Cloche here: {path} does not answer ({why}); callbacks work inside a Cloche sandbox"
_NO_ANSWER = "Cloche went away before it answered; whether the call was carried out is not known"


class CallbackError(RuntimeError):
    """A callback was refused or has failed.

    Args:
        message: one sentence for a person.
        code: why, for a program: `no_handler`, `callback_failed`, `too_large`, `bad_request`, `forbidden`,
            `timed_out`, `cancelled`, `link_lost`, …
    """

    def __init__(self, message: str, code: str = "internal") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class CallbackDenied(CallbackError):
    """The policy or a person did not allow it; the message says which rule or why."""


class CallbackTimeout(CallbackError, TimeoutError):
    """There was no answer in time: the caller's timeout has passed, or nobody decided before the deadline."""


_CLASSES = {"forbidden": CallbackDenied, "timed_out": CallbackTimeout}


def callback(method: str, params: Any = None, timeout: float | None = None) -> Any:
    """Calls a method outside of the sandbox and waits for its result.

    Args:
        method: its name, such as "pay.send": up to 100 letters, digits and any of `_ . : / -`.
        params: any JSON value.
        timeout: seconds to wait; None: for as long as it takes.

    Returns:
        The result, any JSON value.

    Raises:
        CallbackError: it was refused or has failed (CallbackDenied, CallbackTimeout among others).
        ConnectionError: there is no Cloche here, or it went away.
        ValueError, TypeError: the parameters cannot be sent as JSON.
    """
    request = _request(method, params, timeout, wait=True)
    return _result(_exchange(request, None if timeout is None else timeout + _GRACE_S), timeout)


def notify(method: str, params: Any = None, timeout: float = 5.0) -> None:
    """Calls a method and does not wait for its result: returns once the hub has taken the call.

    What comes of it is not told; the call goes on even when this process ends.

    Args:
        method: as of `callback`.
        params: any JSON value.
        timeout: seconds for the hub to take it; after that it is taken back.

    Raises:
        CallbackError, ConnectionError, ValueError, TypeError: as `callback`, as far as it is known by then.
    """
    _result(_exchange(_request(method, params, None, wait=False), timeout), timeout)


async def acallback(method: str, params: Any = None, timeout: float | None = None) -> Any:
    """`callback` for asyncio, without threads. Cancelling takes the call back.

    Args:
        method: as of `callback`.
        params: any JSON value.
        timeout: seconds to wait; None: for as long as it takes.

    Returns:
        The result, any JSON value.

    Raises:
        CallbackError, ConnectionError, ValueError, TypeError: as `callback`.
    """
    import asyncio  # most programs that call back do without it

    request = _request(method, params, timeout, wait=True)
    line: bytes | None = None
    bound = None if timeout is None else timeout + _GRACE_S
    # Another class than the builtin one before Python 3.11.
    with contextlib.suppress(asyncio.TimeoutError):
        line = await asyncio.wait_for(_exchange_async(request), bound)
    return _result(line, timeout)


def _request(method: str, params: Any, timeout: float | None, *, wait: bool) -> bytes:
    """The line that asks for it."""
    if not isinstance(method, str):
        raise TypeError(f"the method of a callback is a text, not {type(method).__name__}")
    if timeout is not None and not timeout > 0:
        raise ValueError(f"the timeout of a callback must be above 0, not {timeout!r}")
    text = _json(params)
    if len(text) > MAX_BYTES:
        message = f"the parameters are {len(text)} bytes of JSON, and at most {MAX_BYTES} can be sent"
        raise CallbackError(message, "too_large")
    head: dict[str, Any] = {"method": method, "wait": wait}
    if timeout is not None:
        head["timeout_s"] = timeout
    return b'%s,"params":%s}\n' % (_json(head)[:-1], text)


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half of a surrogate pair is no Unicode, but JSON has an escape for it, and this is how Python writes it.
    return text.encode("utf-8", "backslashreplace")


def _exchange(request: bytes, timeout: float | None) -> bytes | None:
    """Sends a request and returns the line that answers it, or None if none came in time."""
    ends_at = None if timeout is None else time.monotonic() + timeout
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(SOCKET)
        except OSError as error:
            raise _no_cloche(error) from None
        try:
            return _talk(caller, request, ends_at)
        except socket.timeout:  # noqa: UP041 - another class before Python 3.10
            return None


def _talk(caller: socket.socket, request: bytes, ends_at: float | None) -> bytes:
    answer = b""
    try:
        _bound(caller, ends_at)
        caller.sendall(request)
    except (BrokenPipeError, ConnectionResetError):
        pass  # It was answered before it was read to the end: the answer says why.
    while not answer.endswith(b"\n"):
        _bound(caller, ends_at)
        try:
            piece = caller.recv(65536)
        except ConnectionResetError:
            piece = b""
        answer = _longer(answer, piece)
    return answer


def _bound(caller: socket.socket, ends_at: float | None) -> None:
    """Lets the next wait last until then at most."""
    if ends_at is not None:
        left = ends_at - time.monotonic()
        if left <= 0:
            raise socket.timeout  # noqa: UP041 - as above
        caller.settimeout(left)


async def _exchange_async(request: bytes) -> bytes:
    """As `_exchange`, without a bound of its own; cancelling closes the connection."""
    import asyncio  # as above

    # Not asyncio's streams: they drop an answer that came before the request was read to the end.
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(0)
        try:
            await loop.sock_connect(caller, SOCKET)
        except OSError as error:
            raise _no_cloche(error) from None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await loop.sock_sendall(caller, request)
        answer = b""
        while not answer.endswith(b"\n"):
            try:
                piece = await loop.sock_recv(caller, 65536)
            except ConnectionResetError:
                piece = b""
            answer = _longer(answer, piece)
        return answer


def _longer(answer: bytes, piece: bytes) -> bytes:
    if not piece or len(answer) > _LONGEST_ANSWER:
        raise ConnectionError(_NO_ANSWER)
    return answer + piece


def _no_cloche(error: OSError) -> ConnectionError:
    return ConnectionError(_NO_CLOCHE.format(path=SOCKET, why=error.strerror or error))


def _result(line: bytes | None, timeout: float | None) -> Any:
    """What a line says, as a value or as an exception."""
    if line is None:
        raise CallbackTimeout(f"no answer within {timeout:g} s", "timed_out")
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and "result" in answer:
        return answer["result"]
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        raise CallbackError("Cloche answered what is no answer")
    code = str(error.get("code", "internal"))
    raise _CLASSES.get(code, CallbackError)(str(error.get("message", "")), code)


def main() -> None:
    """The command `cloche-callback`: exits with 0 and the result on stdout, with 1 and why not, or with 2."""
    import argparse  # the library does without it

    parser = argparse.ArgumentParser(
        prog="cloche-callback",
        description="Calls a method outside of this Cloche sandbox and prints its result as JSON.",
        epilog="exit code: 0 with the result, 1 if it was refused or has failed, 2 if the call makes no sense",
    )
    parser.add_argument("method", metavar="METHOD", help="such as pay.send")
    parser.add_argument(
        "params", metavar="JSON", nargs="?", default="null", help="parameters; - reads them from stdin"
    )
    parser.add_argument(
        "--timeout", metavar="S", type=float, help="seconds to wait; by default as long as it takes"
    )
    parser.add_argument(
        "--no-wait", action="store_true", help="return once the call is taken; the result is lost"
    )
    options = parser.parse_args()
    try:
        params = json.loads(sys.stdin.buffer.read() if options.params == "-" else options.params)
    except ValueError as error:
        parser.error(f"the parameters are no JSON: {error}")
    if options.timeout is not None and not options.timeout > 0:
        parser.error("--timeout must be above 0")

    def call() -> Any:
        if options.no_wait:
            return notify(options.method, params, options.timeout or 5.0)
        return callback(options.method, params, options.timeout)

    sys.exit(run_command("cloche-callback", call))


def run_command(name: str, call: Any) -> int:
    """Calls, prints the result as JSON or the error as one line, and returns the exit code."""
    try:
        result = call()
    except KeyboardInterrupt:
        return 130
    except (RuntimeError, OSError, ValueError) as error:
        code = getattr(error, "code", None)
        line = " ".join(str(error).split()) + (f" ({code})" if code else "")
        sys.stderr.buffer.write(f"{name}: {line}\n".encode("utf-8", "backslashreplace"))
        return 1
    text = json.dumps(result, ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    main()
