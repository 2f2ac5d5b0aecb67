"""The envelope of a stored terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_term.errors import SnapshotUnreadable
from cloche_term.snapshots import Snapshot, pack, unpack

_SNAPSHOT = Snapshot("ghostty", "1.0+abc", {"first_line": 7}, b"body\nwith lines\n")


def test_what_was_packed_is_unpacked() -> None:
    assert unpack(pack(_SNAPSHOT)) == _SNAPSHOT


@given(st.binary(max_size=200))
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(SnapshotUnreadable):
        unpack(data)


@given(st.integers(0, len(pack(_SNAPSHOT)) - 1))
def test_a_snapshot_that_is_cut_is_refused(length: int) -> None:
    with pytest.raises(SnapshotUnreadable):
        unpack(pack(_SNAPSHOT)[:length])


@given(st.integers(0, len(_SNAPSHOT.body) - 1), st.integers(1, 255))
def test_a_body_of_which_a_byte_has_changed_is_refused(place: int, change: int) -> None:
    data = bytearray(pack(_SNAPSHOT))
    data[len(data) - 1 - place] ^= change
    with pytest.raises(SnapshotUnreadable, match="cut or changed"):
        unpack(bytes(data))


@pytest.mark.parametrize(
    "head", [b"{}", b"[]", b"7", b"nonsense", b'{"backend": "x", "library": "1", "beside": 7}']
)
def test_a_head_that_says_not_enough_is_refused(head: bytes) -> None:
    with pytest.raises(SnapshotUnreadable, match="head"):
        unpack(b"cloche-term 1\n" + head + b"\nbody")
