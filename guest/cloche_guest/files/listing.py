"""Lists a folder in batches, in the order in which the file system gives them. Links are listed, not followed.

Rule: one batch is in memory, whatever the folder's size; the next is made when the last has left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgpack

from cloche_guest.files.entries import entry, read_target
from cloche_guest.files.refusals import naming
from cloche_guest.files.slices import Steps, Wait
from cloche_wire.connection import Connection

MESSAGES = 0
"""The stream the batches travel on."""

MOST_ENTRIES = 64
_MOST_TEXT = 24 << 10
"""Bytes of names in one batch, but for the last one's."""


def listing(connection: Connection, channel: int, path: bytes) -> Steps:
    """Accepts the channel, sends `{"entries": […]}` as often as it takes, and results in how many there were.

    Raises:
        CodedError: the folder can not be read.
    """
    with naming(path):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            connection.accept(channel)
            count = 0
            with os.scandir(folder) as found:
                for batch in _batches(found, folder, path):
                    count += len(batch)
                    left = memoryview(msgpack.packb({"entries": batch}))
                    while left:
                        credit = connection.credit(channel, MESSAGES)
                        if credit <= 0:
                            yield Wait.CREDIT
                            continue
                        connection.send(channel, MESSAGES, left[:credit])
                        left = left[credit:]
                    yield Wait.TURN
            connection.end(channel, MESSAGES)
            yield {"entries": count}
        finally:
            os.close(folder)


def _batches(found: Iterator[os.DirEntry[str]], folder: int, path: bytes) -> Iterator[list[dict[str, Any]]]:
    """The folder's entries, some at a time."""
    batch: list[dict[str, Any]] = []
    text = 0
    for one in found:
        name = os.fsencode(one.name)
        try:
            status = one.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # gone since the folder was read
        target = read_target(name, status, folder)
        batch.append(entry(os.path.join(path, name), status, target))
        text += len(path) + 2 * len(name) + len(target or b"")
        if len(batch) >= MOST_ENTRIES or text >= _MOST_TEXT:
            yield batch
            batch, text = [], 0
    if batch:
        yield batch
