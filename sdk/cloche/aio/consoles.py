"""A sandbox's consoles as requests: made, attached to, listed, closed. `Sandbox` and `Hub` offer them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cloche.aio.console import Console
from cloche.answers import Answer
from cloche.console_messages import ConsoleInfo
from cloche.errors import Cancelled, CodedError
from cloche.partial import Partial
from cloche_wire.aio.bounds import within

if TYPE_CHECKING:
    from cloche.link import Link

_GIVING_UP_S = 5.0


async def create_console(link: Link, params: dict[str, Any], *, keep: bool) -> Console:
    """Makes a console and attaches to it as the one who drives; one that cannot be attached to is closed.

    Args:
        link: to the hub.
        params: of `console.create`.
        keep: whether it goes on when the caller has left.
    """
    made = ConsoleInfo.parse(await link.call("console.create", params))
    place = {"sandbox": made.sandbox, "console": made.id}
    size = {"rows": made.rows, "cols": made.cols}
    try:
        return await attach_console(
            link, {**place, **size, "mode": "drive", "scrollback": 0}, closes=not keep
        )
    except BaseException:
        # The error that is on its way tells more than what it did to the clean-up.
        with suppress(CodedError, TimeoutError):
            async with within(_GIVING_UP_S):
                await link.call("console.close", place)
        raise


async def attach_console(link: Link, params: dict[str, Any], *, closes: bool = False) -> Console:
    """Attaches to a console.

    Args:
        link: to the hub.
        params: of `console.attach`.
        closes: whether leaving it closes it.
    """
    channel = link.open("console.attach", params)
    try:
        return Console(link, channel, await channel.wait_accepted(), closes=closes)
    except BaseException:
        channel.reset(Cancelled("the caller has given up the console"))
        raise


async def list_consoles(link: Link, *, sandbox: str | None, ended: bool) -> Partial[ConsoleInfo]:
    """The consoles of a sandbox, or of every one the token may see."""
    params: dict[str, Any] = {"ended": ended} if sandbox is None else {"ended": ended, "sandbox": sandbox}
    answer = Answer("list", await link.call("console.list", params))
    return Partial(answer.each("consoles", ConsoleInfo.parse), omitted=answer.whole("omitted"))


async def close_console(link: Link, sandbox: str, console: str | None) -> ConsoleInfo:
    """Closes a console and waits for its end."""
    params = {"sandbox": sandbox} if console is None else {"sandbox": sandbox, "console": console}
    return ConsoleInfo.parse(await link.call("console.close", params))
