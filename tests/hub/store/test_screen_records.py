"""A console's stored screen as bytes, and what is read of it when its end is torn or its middle wrong."""

from __future__ import annotations

import pytest

from cloche_hub.ports import Entry, Size, StoredScreen
from cloche_hub.store.screen_records import MAGIC, entry_records, read_records, snapshot_record

ENTRIES: tuple[Entry, ...] = (b"one", Size(24, 80), b"", b"four", Size(1000, 1))


def written(*, offset: int = 0, snapshot: bytes | None = None) -> bytes:
    first = b"" if snapshot is None else snapshot_record(offset, snapshot)
    return MAGIC + first + entry_records(offset, ENTRIES)[0]


def test_what_was_written_is_read() -> None:
    data = written(offset=1 << 40, snapshot=b"screen")
    found = read_records(data)
    assert found is not None
    assert found.screen == StoredScreen(1 << 40, b"screen", ENTRIES)
    assert found.good_bytes == len(data)
    assert found.log_begins == len(MAGIC + snapshot_record(0, b"screen"))
    assert entry_records(1 << 40, ENTRIES)[1] == found.screen.end == (1 << 40) + 7


def test_a_file_without_a_snapshot_begins_at_nothing() -> None:
    found = read_records(written())
    assert found is not None
    assert (found.screen, found.log_begins) == (StoredScreen(0, None, ENTRIES), len(MAGIC))


@pytest.mark.parametrize("snapshot", [None, b"screen"])
def test_wherever_it_is_torn_what_is_whole_before_is_read(snapshot: bytes | None) -> None:
    data = written(offset=0, snapshot=snapshot)
    whole = 0
    for length in range(len(MAGIC), len(data) + 1):
        found = read_records(data[:length])
        assert found is not None
        assert found.good_bytes <= length
        assert found.screen.entries == ENTRIES[: len(found.screen.entries)]
        # What is whole is never given up again.
        assert found.good_bytes >= whole
        whole = found.good_bytes
    assert whole == len(data)


@pytest.mark.parametrize("length", range(len(MAGIC)))
def test_what_does_not_begin_as_ours_is_not_ours(length: int) -> None:
    assert read_records(MAGIC[:length]) is None


def test_any_bit_that_is_wrong_ends_it_before_its_record() -> None:
    data = written(snapshot=b"screen")
    good = read_records(data)
    assert good is not None
    for place in range(len(MAGIC), len(data)):
        for bit in (1, 0x80):
            wrong = bytearray(data)
            wrong[place] ^= bit
            found = read_records(bytes(wrong))
            assert found is not None
            assert found.good_bytes <= place
            assert found.screen.entries == good.screen.entries[: len(found.screen.entries)]


def test_what_is_out_of_its_place_ends_it() -> None:
    one, _ = entry_records(0, [b"one"])
    for other in (entry_records(4, [b"x"])[0], snapshot_record(3, b"s"), one):
        found = read_records(MAGIC + one + other)
        assert found is not None
        assert found.screen == StoredScreen(0, None, (b"one",))
