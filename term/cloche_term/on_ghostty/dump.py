"""A terminal as bytes that make the same screen in another one."""

from __future__ import annotations

from cloche_term.on_ghostty.library import NULL, check, ffi, lib, read_allocated, sized
from cloche_term.on_ghostty.native import NativeTerminal


def dump(native: NativeTerminal, *, scrollback_lines: int) -> bytes:
    """The bytes."""
    total = native.get("TOTAL_ROWS", "size_t")
    kept = native.get("SCROLLBACK_ROWS", "size_t")
    options = sized("GhosttyFormatterTerminalOptions")
    options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
    extra = options.extra
    extra.modes = extra.scrolling_region = extra.tabstops = extra.keyboard = True
    screen = extra.screen
    screen.cursor = screen.style = screen.hyperlink = screen.protection = True
    screen.kitty_keyboard = screen.charsets = True
    chosen = native.selection(max(kept - scrollback_lines, 0), total - 1)
    options.selection = chosen
    formatter = ffi.new("GhosttyFormatter*")
    check(
        lib.ghostty_formatter_terminal_new(NULL, formatter, native.handle, options[0]), "making a formatter"
    )
    try:
        content = read_allocated(
            lambda allocator, out, length: lib.ghostty_formatter_format_alloc(
                formatter[0], allocator, out, length
            ),
            "formatting",
        )
    finally:
        lib.ghostty_formatter_free(formatter[0])
    return content + native.continuation()
