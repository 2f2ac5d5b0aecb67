"""The native library as it is loaded."""

from __future__ import annotations

import subprocess
import sys

_DROPPED_INSIDE_THE_LOCK = """
import gc
from cloche_term import open_terminal
from cloche_term.on_ghostty.library import ffi
terminal = open_terminal(24, 80, backend="ghostty")
with ffi._lock:
    del terminal
    gc.collect()
print("given back")
"""


def test_a_terminal_is_given_back_also_while_the_library_s_lock_is_held() -> None:
    # In a process of its own, where no function has been looked up before, and which can be ended if it waits for ever.
    done = subprocess.run(
        [sys.executable, "-c", _DROPPED_INSIDE_THE_LOCK],
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stdout == "given back\n"
