"""The file of a recording: what a kill leaves, a disk that is full, and its bound."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.store.recordings.cast import CastEvents, Cut, Output, header_line
from cloche_hub.store.recordings.cast_file import GZIP, CastFile
from tests.support.casts import header, parse_cast, shown

MUCH = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rec_1.cast.gz"


@pytest.fixture
def make(path: Path) -> Iterator[Callable[..., CastFile]]:
    made: list[CastFile] = []

    def make(*, max_bytes: int = MUCH, secrets: Sequence[bytes] = ()) -> CastFile:
        made.append(CastFile(path, header_line(header()), CastEvents(secrets), max_bytes=max_bytes))
        return made[-1]

    yield make
    for file in made:
        file.close()


def left(path: Path) -> bytes:
    """The text of a file that was never finished."""
    return zlib.decompressobj(GZIP).decompress(path.read_bytes())


def failing(number: int) -> Callable[..., int]:
    def fail(*_arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_finished_file_is_gzip_and_its_digest_is_its_texts(
    make: Callable[..., CastFile], path: Path
) -> None:
    file = make()
    file.add(Output(0.5, b"hello"))
    finished = file.finish()
    text = gzip.decompress(path.read_bytes())
    assert shown(text) == "hello"
    assert finished.sha256 == hashlib.sha256(text).hexdigest()
    assert (finished.text_bytes, finished.size_bytes) == (len(text), path.stat().st_size)
    assert (finished.duration_s, finished.is_cut) == (0.5, False)
    assert file.finish() == finished


def test_everything_flushed_is_there_after_a_kill(make: Callable[..., CastFile], path: Path) -> None:
    file = make()
    assert left(path) == header_line(header())
    for number in range(20):
        file.add(Output(number, b"%d\n" % number))
        file.sync()
        assert shown(left(path)) == "".join(f"{n}\n" for n in range(number + 1))


def test_what_may_become_a_secret_is_not_written_by_a_flush(
    make: Callable[..., CastFile], path: Path
) -> None:
    file = make(secrets=[b"hunter2!"])
    for byte in b"<hunter2!>":
        file.add(Output(0, bytes([byte])))
        file.sync()
        assert b"hu" not in left(path)
    file.finish()
    assert shown(gzip.decompress(path.read_bytes())) == "<********>"


def test_a_flush_syncs_what_it_wrote(make: Callable[..., CastFile], monkeypatch: pytest.MonkeyPatch) -> None:
    file = make()
    done: list[str] = []
    fdatasync = os.fdatasync

    def noting(descriptor: int) -> None:
        done.append(f"{file.unwritten} left")
        fdatasync(descriptor)

    monkeypatch.setattr(os, "fdatasync", noting)
    file.add(Output(0, b"x"))
    file.sync()
    file.finish()
    assert done == ["0 left", "0 left"]


def test_a_disk_that_was_full_for_a_while_costs_nothing(
    make: Callable[..., CastFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make()
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(
            os,
            "write",
            lambda descriptor, data: (
                write(descriptor, data[:3]) if len(data) > 9 else failing(errno.ENOSPC)()
            ),
        )
        for number in range(3):
            file.add(Output(number, b"%d" % number))
            with pytest.raises(NoSpace, match=r"cannot keep the recording rec_1\.cast\.gz: the disk"):
                file.sync()
        with pytest.raises(NoSpace):
            file.drain()
        with pytest.raises(NoSpace):
            file.finish()
    finished = file.finish()
    text = gzip.decompress(path.read_bytes())
    assert shown(text) == "012"
    assert finished.sha256 == hashlib.sha256(text).hexdigest()


def test_a_disk_that_fails_is_told(make: Callable[..., CastFile], monkeypatch: pytest.MonkeyPatch) -> None:
    file = make()
    file.add(Output(0, b"x"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing(errno.EIO))
        with pytest.raises(StoreFailed, match="Input/output error"):
            file.sync()


def test_what_cannot_be_begun_leaves_nothing(
    make: Callable[..., CastFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing(errno.ENOSPC))
        with pytest.raises(NoSpace):
            make()
    assert not path.exists()


@pytest.mark.parametrize("max_bytes", [1 << 10, 5000, 100_000])
def test_it_never_grows_beyond_its_bound_and_says_so(
    make: Callable[..., CastFile], path: Path, max_bytes: int
) -> None:
    dice, file = random.Random(4), make(max_bytes=max_bytes)
    for number in range(200):
        file.add(Output(number, dice.randbytes(dice.randint(1, 5000))))
        if number % 7 == 0:
            file.sync()
        assert path.stat().st_size <= max_bytes
    finished = file.finish()
    assert finished.is_cut
    assert path.stat().st_size == finished.size_bytes <= max_bytes
    _, events = parse_cast(gzip.decompress(path.read_bytes()))
    assert events[-1][1:] == ("m", f"cut here: a recording has at most {max_bytes} bytes")
    # What compresses is not cut for what it was before.
    assert finished.text_bytes > finished.size_bytes


def test_the_last_marker_fits_below_the_bound(make: Callable[..., CastFile], path: Path) -> None:
    dice = random.Random(4)
    for max_bytes in range(1024, 1324, 3):
        file = make(max_bytes=max_bytes)
        for number in range(100):
            file.add(Output(number, bytes(dice.choices(range(97, 123), k=9))))
        assert file.finish().is_cut
        assert path.stat().st_size <= max_bytes


def test_what_compresses_well_is_bounded_by_what_it_takes(make: Callable[..., CastFile]) -> None:
    file = make(max_bytes=100_000)
    for number in range(4000):
        file.add(Output(number, b"yes\r\n" * 10))
        if number % 1000 == 0:
            file.sync()
    finished = file.finish()
    assert not finished.is_cut
    assert finished.text_bytes > 300_000
    # Not even near the bound of what it would take if it did not compress.
    assert finished.size_bytes < 30_000


def test_nothing_is_recorded_behind_a_cut(make: Callable[..., CastFile], path: Path) -> None:
    file = make(secrets=[b"hunter2!"])
    file.add(Output(1, b"before hun"))
    file.add(Cut(2, "enough"))
    file.add(Output(3, b"after"))
    assert file.finish().is_cut
    _, events = parse_cast(gzip.decompress(path.read_bytes()))
    assert [data for _, _, data in events] == ["before ", "hun", "cut here: enough"]
