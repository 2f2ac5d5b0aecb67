"""Bytes that a guest may send, and that the native emulator does not survive or is long busy with."""

from __future__ import annotations

CRASH = b"\x1b[?2027h\x1b[1;8r\x1b[905;775Hw\xcc\x81\xe0\xb8\xb3"
"""A character that becomes wide by what is added to it, in the last column: writes outside of its memory."""

PANIC_ROWS, PANIC_COLS = 1000, 80
PANIC = b"\x1b[132;r\x1b[460;363H\x1b]8;id=24;http://x/y\x1b\\l\x1b[65536b"
"""One hyperlink, repeated on a tall screen: the library's own check ends the process. It may have to be sent again."""

PILES = ("e" + "\u0301" * 200).encode()
"""One cell, with 200 marks upon it."""

LABOUR = b"a\x1b[65535b" * 100_000
"""900 kB that fill a large screen thousands of times: seconds of work."""
