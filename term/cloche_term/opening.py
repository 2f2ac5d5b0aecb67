"""Which emulator a terminal gets: the native one where it can be loaded, else the one in Python.

Nothing of either is imported before a terminal is opened, since that takes longer than all the rest of this package.

SAFETY: The native one can be crashed by what it is fed. A hostile guest's output is fed to it in terminals apart
(`cloche_term.apart`); who feeds it in a process that matters asks for `bittty`.
"""

from __future__ import annotations

import importlib.util

from cloche_term.errors import BackendMissing, SnapshotUnreadable
from cloche_term.snapshots import unpack
from cloche_term.terminal import DEFAULT_SCROLLBACK_LINES, Terminal, check_size

BACKENDS = ("ghostty", "bittty")
"""The best first."""


def open_terminal(
    rows: int, cols: int, *, scrollback_lines: int = DEFAULT_SCROLLBACK_LINES, backend: str | None = None
) -> Terminal:
    """Opens an empty terminal.

    Args:
        rows: 1…1000.
        cols: 1…1000.
        scrollback_lines: How many lines are kept above the screen: about, at least some, and within 16 MiB.
        backend: One of `BACKENDS`; by default the first that can be loaded.

    Raises:
        BackendMissing: That backend, or any, cannot be loaded here.
        ValueError: A side is not 1…1000, or there is no such backend.
    """
    check_size(rows, cols)
    name = backend or default_backend()
    if name not in BACKENDS:
        raise ValueError(f"there is no terminal emulator named {name!r}, only {' and '.join(BACKENDS)}")
    try:
        if name == "ghostty":
            from cloche_term.on_ghostty import GhosttyTerminal

            return GhosttyTerminal.open(rows, cols, scrollback_lines=scrollback_lines)
        from cloche_term.on_bittty import BitttyTerminal
    except (ImportError, OSError) as error:
        raise BackendMissing(f"the terminal emulator {name} cannot be loaded here: {error}") from error
    return BitttyTerminal(rows, cols, scrollback_lines=scrollback_lines)


def restore(snapshot: bytes, *, scrollback_lines: int = DEFAULT_SCROLLBACK_LINES) -> Terminal:
    """Opens a terminal as it was when `snapshot` was taken.

    Raises:
        SnapshotUnreadable: Another emulator or version made it, or it is not whole.
    """
    opened = unpack(snapshot)
    try:
        if opened.backend == "ghostty":
            from cloche_term.on_ghostty import GhosttyTerminal

            return GhosttyTerminal.restore(opened, scrollback_lines=scrollback_lines)
        if opened.backend == "bittty":
            from cloche_term.on_bittty import BitttyTerminal

            return BitttyTerminal.restore(opened, scrollback_lines=scrollback_lines)
    except (ImportError, OSError) as error:
        raise SnapshotUnreadable(f"made by {opened.backend}, which cannot be loaded here: {error}") from error
    raise SnapshotUnreadable(f"made by {opened.backend!r}, which nobody here knows")


def default_backend() -> str:
    """The best backend that is installed."""
    try:
        return "ghostty" if importlib.util.find_spec("pyghostty") else "bittty"
    except ValueError:  # its import has been forbidden
        return "bittty"
