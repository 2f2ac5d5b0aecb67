"""The envelope of a stored terminal: which emulator made it, in which version, what stands beside it, and its bytes.

Rule: a snapshot is opened by the very emulator and version that made it, or not at all. The bytes inside are read by
native code, so they carry a checksum: what a disk has lost or changed is refused before it is read.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from cloche_term.errors import SnapshotUnreadable

_MAGIC = b"cloche-term 1\n"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot, opened."""

    backend: str
    library: str
    """The emulator's version, to the build."""
    beside: dict[str, Any]
    """What the emulator itself does not keep; JSON values."""
    body: bytes


def pack(snapshot: Snapshot) -> bytes:
    """Makes the bytes to store."""
    header = {
        "backend": snapshot.backend,
        "library": snapshot.library,
        "beside": snapshot.beside,
        "size": len(snapshot.body),
        "crc32": zlib.crc32(snapshot.body),
    }
    return b"".join((_MAGIC, json.dumps(header).encode(), b"\n", snapshot.body))


def unpack(data: bytes) -> Snapshot:
    """Opens what `pack` has made.

    Raises:
        SnapshotUnreadable: It is none, or not whole.
    """
    if not data.startswith(_MAGIC):
        raise SnapshotUnreadable("this is no snapshot of a terminal")
    end = data.find(b"\n", len(_MAGIC))
    try:
        header = json.loads(data[len(_MAGIC) : max(end, 0)])
        body = data[end + 1 :]
        is_whole = header["size"] == len(body) and header["crc32"] == zlib.crc32(body)
        opened = Snapshot(str(header["backend"]), str(header["library"]), dict(header["beside"]), body)
    except (ValueError, TypeError, KeyError) as error:
        raise SnapshotUnreadable("the head of this snapshot cannot be read") from error
    if not is_whole:
        raise SnapshotUnreadable("this snapshot is cut or changed")
    return opened
