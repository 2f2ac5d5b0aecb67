"""Reads a file into a stream, as far ahead of its reader as there is credit.

Rules:
- Only regular files. What is there is looked at before it is opened: opening a FIFO or a device may wait, wake a
  program, or do what the device is for.
- A file is read to the size it had when it was opened, so one that grows has an end. Where the size says 0, as of
  the kernel's own files, it is read until nothing comes.
"""

from __future__ import annotations

import os
import stat

from cloche_guest.files.entries import entry
from cloche_guest.files.refusals import naming, wrong_kind
from cloche_guest.files.slices import Steps, Wait
from cloche_wire.connection import Connection

BYTES = 1
"""The stream a file's bytes travel on, either way."""

READ_SIZE = 256 << 10


def reading(
    connection: Connection, channel: int, path: bytes, *, offset: int = 0, length: int | None = None
) -> Steps:
    """Accepts the channel with the file's entry, sends its bytes, and results in how many they were.

    Raises:
        CodedError: it can not be read; at the first step, or later.
    """
    with naming(path):
        fd = open_regular(path)
        try:
            status = os.fstat(fd)
            if status.st_size:
                there = max(0, status.st_size - offset)
                length = there if length is None else min(length, there)
            if offset:
                os.lseek(fd, offset, os.SEEK_SET)
            connection.accept(channel, entry(path, status))
            sent = 0
            while length is None or sent < length:
                credit = connection.credit(channel, BYTES)
                if credit <= 0:
                    yield Wait.CREDIT
                    continue
                most = min(credit, READ_SIZE)
                data = os.read(fd, most if length is None else min(most, length - sent))
                if not data:
                    break
                connection.send(channel, BYTES, data)
                sent += len(data)
                yield Wait.TURN
            connection.end(channel, BYTES)
            yield {"size_bytes": sent}
        finally:
            os.close(fd)


def open_regular(path: bytes) -> int:
    """Opens a regular file for reading, never waiting for anybody.

    Raises:
        OSError: it can not be opened.
        WrongState: it is no regular file.
    """
    # A handle that opens nothing yet; through it the same file is opened, whatever the path means by then.
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        require_regular(os.fstat(handle), path)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open(b"/proc/self/fd/%d" % handle, flags)
    finally:
        os.close(handle)


def require_regular(status: os.stat_result, path: bytes) -> None:
    """Raises WrongState unless it is a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise wrong_kind(path, "it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise wrong_kind(path, "it is no regular file, and only those have content to read or to write")
