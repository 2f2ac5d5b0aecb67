"""Native snapshots: the whole terminal as bytes, and back.

SAFETY: A snapshot is read by native code. Its envelope (`cloche_term.snapshots`) has been checked before: whose it is,
which build made it, and that no byte of it has changed. Who can write the hub's files can write a snapshot.
"""

from __future__ import annotations

from typing import Any

from cloche_term.errors import SnapshotUnreadable
from cloche_term.on_ghostty.library import NULL, ffi, lib, read_allocated
from cloche_term.on_ghostty.native import MOST_CONTINUATION_BYTES, NativeTerminal


def encode(native: NativeTerminal) -> bytes:
    """Everything the library keeps of this terminal."""
    return read_allocated(
        lambda allocator, out, length: lib.ghostty_snapshot_encode_alloc(
            native.handle, allocator, out, length
        ),
        "making a snapshot",
    )


def decode(body: bytes, *, scrollback_lines: int) -> NativeTerminal:
    """Makes the terminal again.

    Raises:
        SnapshotUnreadable: The library does not take it.
    """
    decoder = ffi.new("GhosttySnapshotDecoder*")
    source = ffi.from_buffer(body)
    code = lib.ghostty_snapshot_decoder_new_buf(NULL, decoder, source, len(body))
    if code != lib.GHOSTTY_SUCCESS:
        raise SnapshotUnreadable(f"libghostty-vt cannot read this snapshot ({code})")
    try:
        handle = _decoded(decoder[0])
    finally:
        lib.ghostty_snapshot_decoder_free(decoder[0])
    return NativeTerminal(handle, scrollback_lines=scrollback_lines)


def _decoded(decoder: Any) -> Any:
    for option, value in (
        (
            lib.GHOSTTY_SNAPSHOT_DECODER_OPT_MAX_CONTINUATION_BYTES,
            ffi.new("size_t*", MOST_CONTINUATION_BYTES),
        ),
        (lib.GHOSTTY_SNAPSHOT_DECODER_OPT_RETAIN_CONTINUATION, ffi.new("bool*", 1)),
    ):
        lib.ghostty_snapshot_decoder_set(decoder, option, value)
    handle = ffi.new("GhosttyTerminal*")
    code = lib.ghostty_snapshot_decoder_decode(decoder, handle)
    if code != lib.GHOSTTY_SUCCESS:
        raise SnapshotUnreadable(f"libghostty-vt cannot read this snapshot ({code})")
    return handle[0]
