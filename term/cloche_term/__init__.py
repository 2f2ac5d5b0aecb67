"""A terminal emulator behind one small interface: for the hub, the command line, the dashboard and tests.

`open_terminal` and `restore` give a `Terminal`; its values and rules are in `cloche_term.terminal`.
"""

from cloche_term.errors import BackendMissing, SnapshotUnreadable, TerminalError, TerminalLost
from cloche_term.keys import Key, key_named
from cloche_term.opening import open_terminal, restore
from cloche_term.terminal import (
    Cursor,
    CursorShape,
    Match,
    Modes,
    Mouse,
    MouseAction,
    MouseButton,
    MouseTracking,
    Run,
    Style,
    Terminal,
    Underline,
)

__all__ = [
    "BackendMissing",
    "Cursor",
    "CursorShape",
    "Key",
    "Match",
    "Modes",
    "Mouse",
    "MouseAction",
    "MouseButton",
    "MouseTracking",
    "Run",
    "SnapshotUnreadable",
    "Style",
    "Terminal",
    "TerminalError",
    "TerminalLost",
    "Underline",
    "key_named",
    "open_terminal",
    "restore",
]
