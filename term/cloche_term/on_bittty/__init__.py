"""The fallback emulator, for machines that libghostty-vt has no build for: bittty, in Python alone.

It shows the same screens and is slow: 0.3 to 5 MB/s of output. `term/README.md` lists what it shows otherwise.
"""

from cloche_term.on_bittty.terminal import BitttyTerminal

__all__ = ["BitttyTerminal"]
