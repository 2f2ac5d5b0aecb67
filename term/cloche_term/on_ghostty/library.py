"""The native library: what of it is used here, how it is called, and how a cell is laid out.

libghostty-vt comes with `pyghostty`, whose raw layer (`ffi`, `lib`) is all that is used of it. The library calls itself
unstable, so the layout of a cell is read from its own description, its build stands in every snapshot, and the release
is pinned.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyghostty
from pyghostty import ffi, lib

from cloche_term.errors import TerminalError

__all__ = ["LIBRARY", "NULL", "ffi", "lib"]

NULL = ffi.NULL

_DESCRIPTION = json.loads(ffi.string(lib.ghostty_type_json()))

LIBRARY = f"{_DESCRIPTION['library_version']}+pyghostty.{pyghostty.__version__}"
"""The very build, as snapshots name it. The library itself says no more than which version it will become."""

# ABI mode cannot pass a union by value; a struct of the same layout is passed the same way.
ffi.cdef(
    """
    typedef struct { uint16_t x; uint32_t y; uint64_t rest; } ClochePointValue;
    typedef struct { GhosttyPointTag tag; ClochePointValue value; } ClochePoint;
    typedef struct { GhosttyColorRgb colors[256]; } ClochePalette;
    typedef struct { intptr_t amount; uint64_t rest; } ClocheScrollValue;
    typedef struct { GhosttyTerminalScrollViewportTag tag; ClocheScrollValue value; } ClocheScroll;
    typedef GhosttyResult (*ClocheGridRef)(GhosttyTerminal, ClochePoint, GhosttyGridRef*);
    typedef GhosttyResult (*ClocheGridRefTrack)(GhosttyTerminal, ClochePoint, GhosttyTrackedGridRef*);
    typedef GhosttyResult (*ClocheTrackedGridRefSet)(GhosttyTrackedGridRef, GhosttyTerminal, ClochePoint);
    typedef void (*ClocheScrollViewport)(GhosttyTerminal, ClocheScroll);
    """
)


def _pointers() -> dict[str, Any]:
    """The pointers to all that is named here, by how they are written.

    ffi parses each type once, together with all names there are (8 ms): a function that takes all of them is one type.
    """
    plain = ("bool", "char", "uint8_t", "uint8_t*", "uint16_t", "uint64_t", "size_t")
    written = [f"{name}*" for name in (*plain, *ffi.list_types()[0])]
    return dict(zip(written, ffi.typeof(f"void(*)({', '.join(written)})").args, strict=True))


_POINTERS = _pointers()


def new(ctype: str, *value: Any) -> Any:
    """As `ffi.new`; a pointer's type is known already."""
    return ffi.new(_POINTERS.get(ctype, ctype), *value)


def type_named(name: str) -> Any:
    """The type of this name."""
    return _POINTERS[f"{name}*"].item


for _ours, _theirs in (("ClochePoint", "GhosttyPoint"), ("ClocheScroll", "GhosttyTerminalScrollViewport")):
    for _field in ("tag", "value"):
        if ffi.offsetof(type_named(_ours), _field) != ffi.offsetof(type_named(_theirs), _field) or (
            ffi.sizeof(type_named(_ours)) != ffi.sizeof(type_named(_theirs))
        ):
            raise ImportError(f"this libghostty-vt lays out {_theirs} in a way we do not know")

# Looking a function up takes a lock of ffi's. A finalizer may run in the midst of what holds it, in this very thread,
# and would wait for ever: what finalizers call is looked up here, once.
for _name in dir(lib):
    if _name.endswith("_free"):
        getattr(lib, _name)


def point(tag: int, row: int = 0, col: int = 0) -> Any:
    """A place in one of the library's systems of coordinates."""
    return new("ClochePoint*", {"tag": tag, "value": {"x": col, "y": row}})[0]


terminal_grid_ref = ffi.cast(
    type_named("ClocheGridRef"),
    ffi.addressof(lib, "ghostty_terminal_grid_ref"),
)
terminal_grid_ref_track = ffi.cast(
    type_named("ClocheGridRefTrack"),
    ffi.addressof(lib, "ghostty_terminal_grid_ref_track"),
)
tracked_grid_ref_set = ffi.cast(
    type_named("ClocheTrackedGridRefSet"),
    ffi.addressof(lib, "ghostty_tracked_grid_ref_set"),
)
terminal_scroll_viewport = ffi.cast(
    type_named("ClocheScrollViewport"),
    ffi.addressof(lib, "ghostty_terminal_scroll_viewport"),
)


class LibraryError(TerminalError):
    """The library refused a call: out of memory, or a use it does not allow."""


def check(code: int, what: str) -> None:
    """Raises `LibraryError` unless the call has succeeded."""
    if code != lib.GHOSTTY_SUCCESS:
        raise LibraryError(f"libghostty-vt: {what} failed ({code})")


def sized(ctype: str) -> Any:
    """A new struct whose `size` fields, also those inside it, say how large it is."""
    made = new(f"{ctype}*")
    _fill_sizes(made)
    return made


def _fill_sizes(pointer: Any) -> None:
    kind = ffi.typeof(pointer).item
    for name, field in kind.fields:
        if name == "size":
            pointer.size = ffi.sizeof(kind)
        elif field.type.kind == "struct":
            _fill_sizes(ffi.addressof(pointer, name))


def read_bytes(call: Callable[[Any, Any, Any], int], what: str) -> bytes:
    """The bytes of a call that fills a buffer `(buffer, capacity, out length)`, asked for their number first."""
    length = new("size_t*")
    call(NULL, 0, length)
    buffer = new("uint8_t[]", max(length[0], 1))
    check(call(buffer, len(buffer), length), what)
    return bytes(ffi.buffer(buffer, length[0]))


def read_allocated(call: Callable[[Any, Any, Any], int], what: str) -> bytes:
    """The bytes of a call that allocates `(allocator, out pointer, out length)`; what it allocated is given back."""
    pointer, length = new("uint8_t**"), new("size_t*")
    check(call(NULL, pointer, length), what)
    try:
        return bytes(ffi.buffer(pointer[0], length[0]))
    finally:
        lib.ghostty_free(NULL, pointer[0], length[0])


def _cell_field(name: str) -> tuple[int, int]:
    """Where a field of a cell begins, and its mask there."""
    field = _DESCRIPTION["types"]["GhosttyCell"]["bits"][name]
    return field["lsb"], (1 << field["width"]) - 1


TAG_SHIFT, TAG_MASK = _cell_field("content_tag")
CONTENT_SHIFT, CONTENT_MASK = _cell_field("content")
STYLE_SHIFT, STYLE_MASK = _cell_field("style_id")
WIDE_SHIFT, WIDE_MASK = _cell_field("wide")
LINK_SHIFT, LINK_MASK = _cell_field("hyperlink")
CODEPOINT_MASK = (
    1
    << _DESCRIPTION["types"]["GhosttyCell"]["bits"]["content"]["arms"]["CODEPOINT"]["bits"]["codepoint"][
        "width"
    ]
) - 1
