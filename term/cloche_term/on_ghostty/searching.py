"""Text in the scrollback and on the screen, by the library's own search: it knows wrapped lines and wide characters."""

from __future__ import annotations

from typing import Any

from cloche_term.on_ghostty.library import NULL, check, ffi, lib, new, type_named
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.terminal import Match

MOST_NEEDLE_BYTES = 1024


def find(native: NativeTerminal, text: str, *, limit: int) -> list[Match]:
    """Where the text is; rows count from the oldest of the scrollback. The newest `limit`, oldest first."""
    needle = text.encode(errors="replace")[:MOST_NEEDLE_BYTES]
    search = new("GhosttySearch*")
    check(lib.ghostty_search_new(NULL, search, native.handle), "making a search")
    try:
        wanted = new("GhosttyString*")
        kept = new("uint8_t[]", needle)
        wanted.ptr, wanted.len = kept, len(needle)
        check(lib.ghostty_search_set(search[0], lib.GHOSTTY_SEARCH_OPT_NEEDLE, wanted), "searching")
        _run(search[0], limit)
        return _matches(native, search[0], limit)
    finally:
        lib.ghostty_search_free(search[0])


def _run(search: Any, limit: int) -> None:
    """Searches from the newest line back until there are matches enough.

    A screen full of one character has millions of them, and the library keeps each: it is asked step by step.
    """
    status, total = new("GhosttySearchStatus*"), new("size_t*")
    while True:
        check(lib.ghostty_search_tick(search, status), "searching")
        if status[0] == lib.GHOSTTY_SEARCH_STATUS_COMPLETE:
            return
        if status[0] == lib.GHOSTTY_SEARCH_STATUS_FEED_REQUIRED:
            check(lib.ghostty_search_feed(search), "searching")
        check(lib.ghostty_search_get(search, lib.GHOSTTY_SEARCH_DATA_TOTAL_MATCHES, total), "counting")
        if total[0] >= limit:
            return


def _matches(native: NativeTerminal, search: Any, limit: int) -> list[Match]:
    total = new("size_t*")
    code = lib.ghostty_search_get(search, lib.GHOSTTY_SEARCH_DATA_TOTAL_MATCHES, total)
    check(code, "counting what was found")
    if not total[0] or limit <= 0:
        return []
    # The library gives all of them or none, the newest first.
    found = new("GhosttySelection[]", total[0])
    for each in found:
        each.size = ffi.sizeof(type_named("GhosttySelection"))
    room = new("GhosttySelectionBuffer*", {"ptr": found, "cap": total[0]})
    check(lib.ghostty_search_get(search, lib.GHOSTTY_SEARCH_DATA_MATCHES, room), "reading what was found")
    newest = [_match(native, found[index]) for index in range(min(room.len, limit))]
    newest.reverse()
    return newest


def _match(native: NativeTerminal, found: Any) -> Match:
    row, col = _place(native, found.start)
    last_row, last_col = _place(native, found.end)
    cells = (last_row - row) * native.get("COLS") + last_col - col + native.width(last_row, last_col)
    return Match(row, col, cells)


def _place(native: NativeTerminal, ref: Any) -> tuple[int, int]:
    place = new("GhosttyPointCoordinate*")
    pointer = new("GhosttyGridRef*", ref)
    code = lib.ghostty_terminal_point_from_grid_ref(
        native.handle, pointer, lib.GHOSTTY_POINT_TAG_SCREEN, place
    )
    check(code, "placing what was found")
    return place.y, place.x
