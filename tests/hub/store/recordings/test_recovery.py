"""What a killed hub left under way is finished, wherever its file is torn."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
from pathlib import Path

import pytest

from cloche_hub.errors import NoSpace
from cloche_hub.store.recordings.cast import CastEvents, Cut, Output, header_line
from cloche_hub.store.recordings.cast_file import CastFile
from cloche_hub.store.recordings.recovery import finish_left
from tests.support.casts import header, parse_cast, shown

MARK = "cut here: the hub ended before the recording did"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rec_1.cast.gz"


def open_at(path: Path) -> CastFile:
    return CastFile(path, header_line(header()), CastEvents(), max_bytes=1 << 20)


def test_wherever_it_is_torn_what_was_flushed_is_finished(path: Path) -> None:
    file = open_at(path)
    flushed: list[tuple[int, str]] = [(path.stat().st_size, "")]
    text = ""
    for number in range(5):
        text += f"line {number}\r\n"
        file.add(Output(number + 0.5, f"line {number}\r\n".encode()))
        file.sync()
        flushed.append((path.stat().st_size, text))
    file.close()
    data = path.read_bytes()
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        (path.parent / "rec_1.cast.gz.new").write_bytes(data[:length])
        finished = finish_left(path, header())
        whole = gzip.decompress(path.read_bytes())
        told, events = parse_cast(whole)
        assert told["cloche"]["recording"] == header().id
        assert events[-1] == (finished.duration_s, "m", MARK)
        kept = max((kept for size, kept in flushed if size <= length), key=len, default="")
        assert shown(whole).startswith(kept)
        assert (finished.is_cut, finished.sha256) == (True, hashlib.sha256(whole).hexdigest())
        assert (finished.text_bytes, finished.size_bytes) == (len(whole), path.stat().st_size)
        assert list(path.parent.iterdir()) == [path]
    assert finished.duration_s == 4.5


def test_a_file_that_was_complete_is_only_measured(path: Path) -> None:
    file = open_at(path)
    file.add(Output(1, b"all of it"))
    finished, data = file.finish(), path.read_bytes()
    assert finish_left(path, header()) == finished
    assert path.read_bytes() == data


def test_one_that_was_cut_and_complete_stays_cut(path: Path) -> None:
    file = open_at(path)
    file.add(Cut(2, "enough"))
    finished = file.finish()
    assert finish_left(path, header()) == finished
    assert finished.is_cut


def test_of_a_file_that_was_never_made_only_the_header_is_known(path: Path) -> None:
    finished = finish_left(path, header())
    told, events = parse_cast(gzip.decompress(path.read_bytes()))
    assert told["title"] == "shell"
    assert events == [(0, "m", MARK)]
    assert (finished.duration_s, finished.is_cut) == (0, True)


def test_a_last_line_that_is_no_event_has_no_time(path: Path) -> None:
    path.write_bytes(gzip.compress(header_line(header()) + b"\x00\xff\n")[:-8])
    assert finish_left(path, header()).duration_s == 0


def test_what_finds_no_room_is_left_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_at(path).close()
    data = path.read_bytes()

    def fail(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(NoSpace):
            finish_left(path, header())
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]
