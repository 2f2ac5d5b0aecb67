"""What a person in front of a console is told in its last line: who drives, and what the keys are. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloche.cli.columns import cut, width_of
from cloche.cli.output import clean_line
from cloche.cli.viewing.watching import KEYS
from cloche.cli.viewing.way_out import DetachKey

if TYPE_CHECKING:
    from cloche.console_messages import ConsoleInfo, Viewer

_BOOT = "boot"


def label(info: ConsoleInfo) -> str:
    """How a console is named on a command line: `box/1`."""
    return f"{info.sandbox_name}/{info.name}"


def keys(info: ConsoleInfo, viewer: str, key: DetachKey, *, may_drive: bool = True) -> str:
    """What the keys are for who looks on."""
    if info.driver == viewer:
        return f"{key.name} leaves"
    if info.kind == _BOOT or not may_drive:
        return "q leaves"
    return KEYS if info.driver is not None else KEYS.replace("a asks", "a drives")


def status(info: ConsoleInfo, viewer: str, keys: str, asking: str | None = None, *, cols: int = 80) -> str:
    """All of it in one line.

    Args:
        info: of the console, as it is now.
        viewer: who is told.
        keys: what they are.
        asking: that somebody has asked this viewer to drive.
        cols: the width of the window.
    """
    if asking is not None and info.driver == viewer:
        keys = f"{keys} · {asking}"
    line = announced(f"{label(info)} · {_driver(info, viewer)}", keys, cols)
    # Half of a size says something else than all of it.
    whole = f"{line} · {info.cols}x{info.rows}"
    return whole if width_of(whole) < cols else line


def announced(text: str, keys: str, cols: int) -> str:
    """Something to be told, with what the keys are: those are seen however long it is.

    Args:
        text, keys: what.
        cols: the width of the window.
    """
    between = " · "
    room = cols - 1 - len(between) - width_of(keys)
    return f"{cut(clean_line(text), room)}{between}{keys}" if room > 0 else keys


def asks(asking: Viewer, key: DetachKey) -> str:
    """Somebody wants to drive, and what to do about it."""
    return f"{asking.name} asks to drive: {key.name} g gives"


def told(notice: str, info: ConsoleInfo, viewer: str) -> str:
    """A notice of the hub as this viewer reads it: of itself nobody reads its own name."""
    name = next((one.name for one in info.viewers if one.id == viewer), None)
    if name is not None and info.driver == viewer and notice.startswith(f"{name} drives now"):
        return f"you drive now{notice.removeprefix(f'{name} drives now')}"
    return notice


def _driver(info: ConsoleInfo, viewer: str) -> str:
    if info.driver == viewer:
        return "you drive"
    if info.kind == _BOOT:
        return "what the machine says"
    driving = next((one.name for one in info.viewers if one.id == info.driver), None)
    return f"{driving} drives" if driving else "nobody drives"
