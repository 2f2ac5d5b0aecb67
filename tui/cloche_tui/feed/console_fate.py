"""Why a console cannot be looked into, in the words of who looks: what has become of it and of its sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche.errors import CodedError, NotFound, WrongState

if TYPE_CHECKING:
    from cloche.aio import Hub

_RUNNING = "running"
_BECAME = {"failed": "its sandbox has failed", "removed": "its sandbox was removed"}


async def why_gone(hub: Hub, sandbox: str, error: CodedError) -> str:
    """What to say of a console that the hub has refused. Cancelling loses nothing.

    Args:
        hub: which has.
        sandbox: the id of the one the console is in.
        error: the hub's answer.
    """
    if not isinstance(error, NotFound | WrongState):
        return error.message
    try:
        info = (await hub.sandbox(sandbox)).info
    except NotFound:
        return "its sandbox is gone"
    except CodedError:
        return error.message
    if info.state == _RUNNING:
        return "this console is gone" if isinstance(error, NotFound) else error.message
    became = _BECAME.get(info.state, f"its sandbox is {info.state}")
    return f"{became}: {info.end_reason}" if info.end_reason else became
