"""Our standard streams, read and written by threads."""

from __future__ import annotations

import os

import pytest

from cloche.cli.failures import PipeClosed, Unwritable
from cloche.cli.streams import Worker, read, write_all


def test_what_cannot_be_read_has_ended() -> None:
    assert read(-1) == b""


def test_everything_is_written() -> None:
    reader, writer = os.pipe()
    try:
        write_all(writer, b"hello")
        assert read(reader) == b"hello"
    finally:
        os.close(reader)
        os.close(writer)


def test_a_pipe_nobody_reads_is_no_error_of_ours() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with pytest.raises(PipeClosed):
            write_all(writer, b"hello")
    finally:
        os.close(writer)


def test_a_full_disk_is_told() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(Unwritable, match="cannot write the output: No space left"):
            write_all(full, b"hello")
    finally:
        os.close(full)


async def test_a_worker_does_one_thing_after_another_and_passes_errors_on() -> None:
    worker = Worker("test")
    assert await worker.do(lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        await worker.do(lambda: 1 // 0)
    assert await worker.do(lambda: 2) == 2
