"""The native library as it is found."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from cloche_term.on_ghostty.library import (
    LIBRARY,
    LibraryError,
    check,
    ffi,
    lib,
    new,
    point,
    read_allocated,
    read_bytes,
    sized,
    type_named,
)


def test_the_build_is_named_by_the_library_and_by_who_built_it() -> None:
    assert re.fullmatch(r"\d[\w.-]+\+pyghostty\.0\.1\.3", LIBRARY)


def test_a_call_that_fails_is_an_error_with_what_it_was() -> None:
    check(lib.GHOSTTY_SUCCESS, "nothing")
    with pytest.raises(LibraryError, match=r"asking failed \(-2\)"):
        check(lib.GHOSTTY_INVALID_VALUE, "asking")


def test_a_struct_and_those_inside_it_know_their_sizes() -> None:
    made = sized("GhosttyFormatterTerminalOptions")
    assert made.size == ffi.sizeof("GhosttyFormatterTerminalOptions")
    assert made.extra.screen.size == ffi.sizeof("GhosttyFormatterScreenExtra")


def test_types_are_those_that_are_parsed_from_how_they_are_written() -> None:
    for written in (
        "uint16_t*",
        "uint8_t**",
        "GhosttyTerminal*",
        "GhosttyFormatterTerminalOptions*",
    ):
        assert ffi.typeof(new(written)) is ffi.typeof(written)
    assert ffi.typeof(new("uint8_t[]", 7)) is ffi.typeof("uint8_t[]")
    assert new("size_t*", 7)[0] == 7
    assert type_named("GhosttySelection") is ffi.typeof("GhosttySelection")


def test_a_point_is_what_the_library_takes_for_one() -> None:
    theirs = ffi.cast("GhosttyPoint*", ffi.new("ClochePoint*", point(lib.GHOSTTY_POINT_TAG_SCREEN, 7, 3)))
    assert (theirs.tag, theirs.value.coordinate.x, theirs.value.coordinate.y) == (
        lib.GHOSTTY_POINT_TAG_SCREEN,
        3,
        7,
    )


def test_a_call_that_cannot_fill_or_allocate_is_an_error() -> None:
    with pytest.raises(LibraryError):
        read_bytes(lambda buffer, capacity, length: int(lib.GHOSTTY_INVALID_VALUE), "filling")
    with pytest.raises(LibraryError):
        read_allocated(lambda allocator, out, length: int(lib.GHOSTTY_OUT_OF_MEMORY), "allocating")


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
    command = [sys.executable, "-c", _DROPPED_INSIDE_THE_LOCK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "given back\n"
