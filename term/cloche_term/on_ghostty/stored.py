"""Native snapshots: the whole terminal as bytes, and back.

SAFETY: A snapshot is read by native code. Its envelope (`cloche_term.snapshots`) has been checked before: whose it is,
which build made it, and that no byte of it has changed. Who can write the hub's files can write a snapshot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cloche_term.errors import SnapshotUnreadable
from cloche_term.on_ghostty.library import NULL, LibraryError, ffi, lib, new, read_allocated
from cloche_term.on_ghostty.mending import discard, mend, settle, wipe
from cloche_term.on_ghostty.native import MOST_SEQUENCE_BYTES, NativeTerminal


class Restored(NamedTuple):
    """A terminal that was made again."""

    native: NativeTerminal
    primary_scrollback_rows: int
    """How many rows the snapshot has above the primary screen, also where the alternate one is on."""


def encode(native: NativeTerminal) -> bytes:
    """Everything the library keeps of this terminal; what it cannot store is put right first, as little as will do."""
    for put_right in (settle, mend, discard, wipe):
        try:
            return _encoded(native)
        except LibraryError:
            put_right(native)
    return _encoded(native)


def _encoded(native: NativeTerminal) -> bytes:
    return read_allocated(
        lambda allocator, out, length: lib.ghostty_snapshot_encode_alloc(
            native.handle, allocator, out, length
        ),
        "making a snapshot",
    )


def decode(body: bytes, *, scrollback_lines: int, with_scrollback: bool = True) -> Restored:
    """Makes the terminal again.

    Args:
        body: What `encode` has made.
        scrollback_lines: How many lines to keep from now on.
        with_scrollback: Also those that are in `body`; without them it is done sooner.

    Raises:
        SnapshotUnreadable: The library does not take it.
    """
    decoder = new("GhosttySnapshotDecoder*")
    source = ffi.from_buffer(body)
    code = lib.ghostty_snapshot_decoder_new_buf(NULL, decoder, source, len(body))
    if code != lib.GHOSTTY_SUCCESS:
        raise SnapshotUnreadable(f"libghostty-vt cannot read this snapshot ({code})")
    try:
        handle, rows = _decoded(decoder[0], with_scrollback=with_scrollback)
    finally:
        lib.ghostty_snapshot_decoder_free(decoder[0])
    return Restored(NativeTerminal(handle, scrollback_lines=scrollback_lines), rows)


def _decoded(decoder: Any, *, with_scrollback: bool) -> tuple[Any, int]:
    for option, value in (
        (
            lib.GHOSTTY_SNAPSHOT_DECODER_OPT_MAX_CONTINUATION_BYTES,
            new("size_t*", MOST_SEQUENCE_BYTES),
        ),
        (lib.GHOSTTY_SNAPSHOT_DECODER_OPT_RETAIN_CONTINUATION, new("bool*", 1)),
    ):
        lib.ghostty_snapshot_decoder_set(decoder, option, value)
    handle = new("GhosttyTerminal*")
    decode_as_far = (
        lib.ghostty_snapshot_decoder_decode if with_scrollback else lib.ghostty_snapshot_decoder_ready
    )
    code = decode_as_far(decoder, handle)
    if code != lib.GHOSTTY_SUCCESS:
        raise SnapshotUnreadable(f"libghostty-vt cannot read this snapshot ({code})")
    rows = new("uint64_t*")
    lib.ghostty_snapshot_decoder_get(decoder, lib.GHOSTTY_SNAPSHOT_DECODER_DATA_HISTORY_ROWS_PRIMARY, rows)
    return handle[0], int(rows[0])
