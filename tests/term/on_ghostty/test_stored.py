"""Native snapshots."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloche_term.errors import SnapshotUnreadable
from cloche_term.on_ghostty.native import NativeTerminal
from cloche_term.on_ghostty.stored import decode, encode
from tests.term.on_ghostty.conftest import NativeOpener

_WRITTEN = b"".join(b"line %d\r\n" % number for number in range(50)) + b"\x1b[31mred\x1b[38;5"


def test_everything_comes_back(native: NativeOpener) -> None:
    terminal = native(5, 20, _WRITTEN)
    restored, rows = decode(encode(terminal), scrollback_lines=100)
    assert rows == restored.look().scrollback_rows == 46
    assert restored.text(0, 50) == terminal.text(0, 50)
    assert restored.continuation() == b"\x1b[38;5"
    assert encode(restored) == encode(terminal)
    restored.close()


def test_both_screens_come_back(native: NativeOpener) -> None:
    restored, rows = decode(encode(native(5, 20, _WRITTEN + b"m\x1b[?1049heditor")), scrollback_lines=100)
    assert (rows, restored.look().is_alternate) == (46, True)
    restored.write(b"\x1b[?1049l")
    assert restored.text(46, 50) == ["line 46", "line 47", "line 48", "line 49", "red"]
    restored.close()


def test_a_terminal_can_come_back_without_its_scrollback(native: NativeOpener) -> None:
    body = encode(native(5, 20, b"x\r\n" * 20_000, scrollback_lines=20_000))
    restored, rows = decode(body, scrollback_lines=100, with_scrollback=False)
    assert rows > 10_000 > 5_000 > restored.look().scrollback_rows
    first = restored.look().scrollback_rows
    assert restored.text(first, first + 4) == ["x", "x", "x", "x", ""]
    restored.close()


def test_a_restored_terminal_answers_and_has_its_bounds(native: NativeOpener) -> None:
    restored, _ = decode(encode(native(5, 20)), scrollback_lines=100)
    restored.write(b"\x1b[6n\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\")
    assert restored.take_answers() == b"\x1b[1;1R"
    restored.close()


@settings(max_examples=50)
@given(st.data())
def test_bytes_that_have_changed_are_refused_or_harmless(data: st.DataObject) -> None:
    terminal = NativeTerminal.new(5, 20, scrollback_lines=100)
    terminal.write(_WRITTEN)
    body = bytearray(encode(terminal))
    terminal.close()
    for place in data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=3)):
        body[place] ^= data.draw(st.integers(1, 255))
    try:
        restored, _ = decode(bytes(body[: data.draw(st.integers(0, len(body)))]), scrollback_lines=100)
    except SnapshotUnreadable:
        return
    restored.write(b"\x1b[2Jhello")
    restored.close()


@pytest.mark.parametrize("body", [b"", b"GHOSTSNP", b"x" * 100])
def test_what_is_no_snapshot_is_refused(body: bytes) -> None:
    with pytest.raises(SnapshotUnreadable, match="cannot read"):
        decode(body, scrollback_lines=100)
