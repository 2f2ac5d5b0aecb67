"""A copy-on-write disk: the qcow2 header of an empty overlay, written here because starting qemu-img costs 8 ms.

Pure, but for `create_overlay`, which writes the bytes.
Rule: the header names no backing file; which file is below is said by QEMU's arguments alone. Nobody, neither QEMU nor
a tool run as root on a disk a guest has written to, can be led to another file by what the header says.
Source: docs/interop/qcow2.txt in QEMU's tree.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path

CLUSTER_BITS = 16
_CLUSTER = 1 << CLUSTER_BITS
# An L2 table fills a cluster with entries of 8 bytes, each of which stands for a cluster.
_BYTES_PER_L2 = _CLUSTER // 8 * _CLUSTER
_HEADER = struct.Struct(">4sIQIIQIIQQIIQQQQII")


def overlay_chunks(size_bytes: int) -> Sequence[tuple[int, bytes]]:
    """The parts of an empty overlay that are not zero, as (offset, bytes).

    Args:
        size_bytes: the size the guest sees; a multiple of 512.
    """
    l1_entries = -(-size_bytes // _BYTES_PER_L2)
    l1_clusters = max(1, -(-l1_entries * 8 // _CLUSTER))
    # Header, reference count table, one block of reference counts, then the L1 table, which is all zero.
    clusters = 3 + l1_clusters
    header = _HEADER.pack(
        b"QFI\xfb",
        3,  # version
        *(0, 0),  # no backing file
        CLUSTER_BITS,
        size_bytes,
        0,  # not encrypted
        l1_entries,
        3 * _CLUSTER,  # the L1 table
        _CLUSTER,  # the reference count table
        1,  # its clusters
        *(0, 0),  # no snapshots
        *(0, 0, 0),  # no features
        4,  # a reference count has 16 bits
        _HEADER.size,
    )
    return (
        # Eight zeros end the (empty) list of header extensions.
        (0, header + bytes(8)),
        (_CLUSTER, struct.pack(">Q", 2 * _CLUSTER)),
        (2 * _CLUSTER, struct.pack(">H", 1) * clusters),
        # The last byte gives the file its whole length.
        ((clusters * _CLUSTER) - 1, b"\0"),
    )


def create_overlay(path: Path, size_bytes: int) -> int:
    """Writes an empty overlay as a file that only we may open; returns a descriptor for reading and writing."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        for offset, data in overlay_chunks(size_bytes):
            os.pwrite(descriptor, data, offset)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
