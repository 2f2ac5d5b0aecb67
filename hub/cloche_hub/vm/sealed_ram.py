"""A template's memory, shared by all its clones and writable by nobody.

It lives in a memfd that is sealed: QEMU 7.2 opens the file for writing even where it maps it privately, so without the
seal one QEMU that was taken over could change what every later clone starts from.

Rules:
- Holes stay holes, and pages of zeros become holes: a template uses what its guest has used.
- Nothing here blocks the event loop for longer than one chunk takes to copy.
Source: memfd_create(2), fcntl(2) F_ADD_SEALS.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
from collections.abc import Iterator

_CHUNK = 4 << 20
_PAGE = 4096
_ZEROS = bytes(_CHUNK)
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def create_ram(name: str, size_bytes: int) -> int:
    """An empty memory of that size, not yet sealed; returns its descriptor."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size_bytes)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def seal(descriptor: int) -> None:
    """Makes a memory unchangeable for good. Nobody may have it mapped for writing any more."""
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)


def sealed_bytes(name: str, data: bytes) -> int:
    """A sealed memory that holds `data`; returns its descriptor."""
    descriptor = create_ram(name, len(data))
    try:
        os.pwrite(descriptor, data, 0)
        seal(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


async def load_ram(name: str, source: int) -> int:
    """A sealed copy of a memory that was saved to a file; returns its descriptor. Cancelling leaves nothing behind."""
    descriptor = create_ram(name, os.fstat(source).st_size)
    try:
        await copy_sparsely(source, descriptor)
        seal(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


async def copy_sparsely(source: int, target: int) -> None:
    """Copies a file to the same offsets of another, empty one of the same size, without holes and zeros.

    Raises:
        OSError: ENOSPC, if the target's disk is full.
    """
    for start, end in _data_ranges(source):
        for offset in range(start, end, _CHUNK):
            chunk = os.pread(source, min(_CHUNK, end - offset), offset)
            for first, last in _used_pages(chunk):
                _write_all(target, chunk[first:last], offset + first)
            await asyncio.sleep(0)


def _data_ranges(descriptor: int) -> Iterator[tuple[int, int]]:
    position = 0
    while True:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        position = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, position


def _used_pages(chunk: bytes) -> Iterator[tuple[int, int]]:
    """The runs of pages that are not all zero."""
    if chunk == _ZEROS[: len(chunk)]:
        return
    zero_page, view, first = _ZEROS[:_PAGE], memoryview(chunk), None
    for offset in range(0, len(chunk), _PAGE):
        page = view[offset : offset + _PAGE]
        is_used = page != zero_page[: len(page)]
        if is_used and first is None:
            first = offset
        elif not is_used and first is not None:
            yield first, offset
            first = None
    if first is not None:
        yield first, len(chunk)


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
