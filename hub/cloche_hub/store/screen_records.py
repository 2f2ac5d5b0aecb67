"""The stored screen of a console as bytes: a snapshot, and what came since, each with its offset, length and checksum.

    a file = MAGIC, then records
    a record = kind, offset, length of what follows, CRC-32 of all the rest of the record; then what follows:
        S   the snapshot at this offset; the first record, or none
        B   output from this offset on
        Z   another size at this offset: rows, columns

Pure. Rule: reading ends before the first record that is not whole, not right or not in its place, for what a crash tears
off is the end: whatever was acknowledged lies before it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from cloche_hub.ports import Entry, Size, StoredScreen

MAGIC = b"cloche screen 1\n"

_HEAD = struct.Struct("<cQI")
_SUM = struct.Struct("<I")
_SIZE = struct.Struct("<HH")
_SNAPSHOT, _OUTPUT, _RESIZE = b"S", b"B", b"Z"
_BEFORE_BODY = _HEAD.size + _SUM.size


@dataclass(frozen=True, slots=True)
class ReadScreen:
    """What a file holds."""

    screen: StoredScreen
    good_bytes: int
    """How much of the file it is; what lies behind is torn."""
    log_begins: int
    """Where the entries begin in the file."""


def snapshot_record(offset: int, snapshot: bytes) -> bytes:
    """The record of a snapshot."""
    return _record(_SNAPSHOT, offset, snapshot)


def entry_records(offset: int, entries: Iterable[Entry]) -> tuple[bytes, int]:
    """The records of what happened from an offset on, and the offset after it."""
    records = []
    for entry in entries:
        if isinstance(entry, Size):
            records.append(_record(_RESIZE, offset, _SIZE.pack(entry.rows, entry.cols)))
        else:
            records.append(_record(_OUTPUT, offset, entry))
            offset += len(entry)
    return b"".join(records), offset


def read_records(data: bytes) -> ReadScreen | None:
    """What a file holds, up to where it is torn; None if it is none of ours."""
    if not data.startswith(MAGIC):
        return None
    place, offset, snapshot = len(MAGIC), 0, None
    first = _parse(data, place)
    if first is not None and first[0] == _SNAPSHOT:
        _, offset, snapshot = first
        place += _BEFORE_BODY + len(snapshot)
    begun_at, log_begins = offset, place
    entries: list[Entry] = []
    while (parsed := _parse(data, place)) is not None:
        kind, at, body = parsed
        entry = _entry(kind, body)
        if entry is None or at != offset:
            break
        entries.append(entry)
        offset += len(entry) if isinstance(entry, bytes) else 0
        place += _BEFORE_BODY + len(body)
    return ReadScreen(StoredScreen(begun_at, snapshot, tuple(entries)), place, log_begins)


def _record(kind: bytes, offset: int, body: bytes) -> bytes:
    head = _HEAD.pack(kind, offset, len(body))
    return head + _SUM.pack(zlib.crc32(body, zlib.crc32(head))) + body


def _parse(data: bytes, place: int) -> tuple[bytes, int, bytes] | None:
    """The record at a place: its kind, offset and body; None if there is no whole one."""
    if len(data) < place + _BEFORE_BODY:
        return None
    kind, offset, length = _HEAD.unpack_from(data, place)
    (checksum,) = _SUM.unpack_from(data, place + _HEAD.size)
    body = data[place + _BEFORE_BODY : place + _BEFORE_BODY + length]
    head = data[place : place + _HEAD.size]
    if len(body) < length or zlib.crc32(body, zlib.crc32(head)) != checksum:
        return None
    return kind, offset, body


def _entry(kind: bytes, body: bytes) -> Entry | None:
    if kind == _OUTPUT:
        return body
    if kind == _RESIZE and len(body) == _SIZE.size:
        return Size(*_SIZE.unpack(body))
    return None
