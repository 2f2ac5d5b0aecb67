"""CBox's callback library, on Cloche: programs written for CBox run unchanged. New ones use `cloche_callback`.

    from cbox_callback import callback, callback_async

Rule: names, defaults and exceptions are CBox's: RuntimeError, TimeoutError and ConnectionError, nothing else.
"""

from __future__ import annotations

import contextlib
import json
import sys

import cloche_callback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["callback", "callback_async"]

_TIMEOUT_S = 30.0
_ASYNC_TIMEOUT_S = 5.0
# Where the way to the hub is what failed, CBox's programs expect a ConnectionError.
_LINK_CODES = ("link_lost", "link_silent", "shutting_down")


def callback(method: str, params: Any = None, timeout: float = _TIMEOUT_S) -> Any:
    """Calls a method outside of the sandbox and waits for its result.

    Args:
        method: its name.
        params: any JSON value.
        timeout: seconds to wait.

    Returns:
        The result, any JSON value.

    Raises:
        RuntimeError: it was refused or has failed, or the parameters cannot be sent as JSON.
        TimeoutError: there was no answer in time.
        ConnectionError: there is no Cloche here, or it went away.
    """
    try:
        return cloche_callback.callback(method, params, timeout)
    except cloche_callback.CallbackTimeout as error:
        raise TimeoutError(error.message) from None
    except cloche_callback.CallbackError as error:
        kind = ConnectionError if error.code in _LINK_CODES else RuntimeError
        raise kind(error.message) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise RuntimeError(f"this callback cannot be sent: {error}") from None


def callback_async(method: str, params: Any = None) -> None:
    """Calls a method and waits neither for its result nor for an error: 5 s for the hub to take it, then nothing."""
    # Whoever calls this does not care whether it worked: so CBox has it.
    with contextlib.suppress(Exception):
        cloche_callback.notify(method, params, _ASYNC_TIMEOUT_S)


def main() -> None:
    """The command `cbox_callback METHOD '{json}'`: exits with 0 and the result, with 1 and why not, or with 2."""
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
        sys.stderr.write("usage: cbox_callback METHOD ['JSON']\n")
        sys.exit(2)
    try:
        params = json.loads(sys.argv[2]) if len(sys.argv) == 3 else None
    except ValueError as error:
        sys.stderr.write(f"cbox_callback: the parameters are no JSON: {error}\n")
        sys.exit(2)
    sys.exit(cloche_callback.run_command("cbox_callback", lambda: callback(sys.argv[1], params)))


if __name__ == "__main__":
    main()
