"""What goes wrong in a terminal.

TerminalError
├── BackendMissing        the emulator that was asked for cannot be loaded here
├── SnapshotUnreadable    made by another emulator or version, cut, or changed: ask for a dump instead
└── TerminalLost          the process of a terminal apart is gone, or was given up: open another

Nothing a program writes raises: a terminal shows whatever it is fed. A closed one is a TerminalError. A size outside of
1…1000 is a ValueError.
"""

from __future__ import annotations


class TerminalError(Exception):
    """The root of what this package raises."""


class BackendMissing(TerminalError):
    """The emulator that was asked for cannot be loaded here."""


class SnapshotUnreadable(TerminalError):
    """A snapshot of another emulator or version, or one that is not whole."""


class TerminalLost(TerminalError):
    """The process of this terminal is gone or was given up, and what it showed with it."""
