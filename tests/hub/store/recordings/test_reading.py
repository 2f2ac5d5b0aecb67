"""Recordings read back: in bounded pieces, up to where a torn file is whole, and never from a damaged one in silence."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

from cloche_hub.errors import NotFound, StoreFailed
from cloche_hub.store.recordings.reading import LONGEST_LINE, PIECE, text_lines, text_pieces

TEXT = b"".join(b"[%d, line]\n" % n for n in range(2000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rec_1.cast.gz"


def test_a_finished_text_is_read_in_bounded_pieces(path: Path) -> None:
    # It compresses a thousand times.
    path.write_bytes(gzip.compress(b"x" * (PIECE * 20) + b"\n"))
    pieces = list(text_pieces(path, is_finished=True))
    assert b"".join(pieces) == b"x" * (PIECE * 20) + b"\n"
    assert max(map(len, pieces)) <= PIECE


def test_wherever_a_file_is_torn_whole_lines_are_read(path: Path) -> None:
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    data = squeeze.compress(TEXT[:300]) + squeeze.flush(zlib.Z_SYNC_FLUSH)
    flushed = len(data)
    data += squeeze.compress(TEXT[300:]) + squeeze.flush(zlib.Z_SYNC_FLUSH)
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        text = b"".join(text_pieces(path, is_finished=False))
        assert TEXT.startswith(text)
        assert not text or text.endswith(b"\n")
        # Nothing that was flushed is missing, but a line that was flushed in part.
        assert len(text) >= (0 if length < flushed else TEXT[:300].rfind(b"\n") + 1)
    assert text == TEXT


@pytest.mark.parametrize("length", [0, 5, 100, -9, -1])
def test_a_finished_file_that_is_torn_is_damaged(path: Path, length: int) -> None:
    path.write_bytes(gzip.compress(TEXT)[:length])
    with pytest.raises(StoreFailed, match=r"rec_1\.cast\.gz is damaged"):
        list(text_pieces(path, is_finished=True))


def test_a_bit_that_is_wrong_is_damage(path: Path) -> None:
    data = bytearray(gzip.compress(TEXT))
    for place in range(10, len(data), 97):
        data[place] ^= 0x10
        path.write_bytes(data)
        with pytest.raises(StoreFailed):
            list(text_pieces(path, is_finished=True))
        data[place] ^= 0x10


def test_lines_are_the_texts_wherever_pieces_end(path: Path) -> None:
    long = b"y" * (PIECE + 5) + b"\n"
    path.write_bytes(gzip.compress(TEXT + long + TEXT))
    assert list(text_lines(path, is_finished=True)) == (TEXT + long + TEXT).splitlines()


def test_a_line_without_an_end_is_not_collected(path: Path) -> None:
    path.write_bytes(gzip.compress(b"z" * (LONGEST_LINE + PIECE + 1)))
    with pytest.raises(StoreFailed, match="a line has no end"):
        list(text_lines(path, is_finished=True))


def test_a_file_that_is_gone_is_not_found(path: Path) -> None:
    with pytest.raises(NotFound, match="is gone"):
        list(text_pieces(path, is_finished=True))


def test_what_cannot_be_read_is_told(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StoreFailed, match=r"cannot read the recording rec_1\.cast\.gz: Is a directory"):
        list(text_pieces(path, is_finished=False))
