"""Consoles on a `BlockingLink`: as its user would open and end them."""

from __future__ import annotations

from typing import Any

from cloche_wire.errors import Cancelled
from tests.support.blocking_link import BlockingLink
from tests.support.blocking_request import Request

TERMINAL = 1
"""The stream of the terminal's bytes, both ways."""


def open_console(
    link: BlockingLink,
    *argv: str,
    window: int | None = None,
    rows: int = 24,
    cols: int = 80,
    **params: Any,
) -> Request:
    """A console that has been asked for; without argv with a login shell."""
    asked = {"console": "con_1", "argv": list(argv) or None, "env": {}, "rows": rows, "cols": cols, **params}
    return link.open("pty", asked, window=window)


def take(
    link: BlockingLink, received: int = 0, *, console: str = "con_1", window: int | None = None
) -> Request:
    """A console that is taken over from a lost session."""
    return link.open("pty.take", {"console": console, "received": received}, window=window)


def storing(console: Request) -> Request:
    """The same, of a hub that says itself what of it is stored: by `consume` and `confirm`."""
    console.is_reading = console.confirms_itself = False
    return console


def left(link: BlockingLink) -> dict[str, tuple[int, int]]:
    """The consoles that the agent's last hello names: id → offsets it can give."""
    return {
        console["console"]: (console["begins"], console["ends"])
        for console in link.greetings[-1].info["consoles"]
    }


def hang_up_left(link: BlockingLink) -> None:
    """Ends the consoles of hubs before, as one that does not know them."""
    for console in left(link):
        taken = take(link, console=console)
        taken.wait_accepted()
        taken.reset(Cancelled("nobody knows it"))
    link.ping()


def start(link: BlockingLink, *argv: str, **params: Any) -> Request:
    """A console whose program runs."""
    console = open_console(link, *argv, **params)
    console.wait_accepted()
    return console


def shown(link: BlockingLink, script: str, **params: Any) -> bytes:
    """What a script shows until it ends."""
    console = open_console(link, "sh", "-c", script, **params)
    console.result()
    return console.stdout


def start_shell(link: BlockingLink) -> Request:
    """An interactive bash without anybody's settings, at its prompt."""
    console = start(link, "bash", "--norc", "-i", env={"TERM": "dumb", "PS1": "> ", "HISTFILE": ""})
    console.wait_output(b"> ")
    return console


def ending(console: Request) -> dict[str, Any]:
    """How it ended, without the time it took."""
    result = console.result()
    assert result.pop("duration_s") > 0
    return result
