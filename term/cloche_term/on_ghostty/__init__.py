"""The terminal by libghostty-vt: native code behind a thin layer."""

from cloche_term.on_ghostty.screen import GhosttyTerminal

__all__ = ["GhosttyTerminal"]
