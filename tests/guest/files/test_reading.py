"""Files as their reader sees them."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.errors import BadRequest, Cancelled, Forbidden, NotFound, WrongState
from tests.guest.files.folder import BYTES, SOMEBODY, read
from tests.support.agent_process import AgentProcess
from tests.support.blocking_link import BlockingLink

CONTENT = b"".join(b"%d\n" % number for number in range(200_000))
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "numbers"
    path.write_bytes(CONTENT)
    return path


def test_a_file_comes_whole(link: BlockingLink, file: Path) -> None:
    assert read(link, file) == CONTENT


def test_its_entry_comes_before_it(link: BlockingLink, file: Path) -> None:
    request = link.open("file.read", {"path": str(file), "offset": 0})
    entry = request.wait_accepted()
    assert (entry["path"], entry["kind"], entry["size_bytes"]) == (str(file), "file", len(CONTENT))
    request.result()


@pytest.mark.parametrize(
    ("offset", "length"), [(5, None), (5, 10), (0, 0), (len(CONTENT) - 3, 10), (1 << 40, None), (1 << 40, 1)]
)
def test_a_part_of_a_file_comes_as_asked(
    link: BlockingLink, file: Path, offset: int, length: int | None
) -> None:
    end = None if length is None else offset + length
    assert read(link, file, offset=offset, length=length) == CONTENT[offset:end]


def test_an_empty_file_has_an_end(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read(link, tmp_path / "empty") == b""


def test_a_file_of_the_kernels_is_read_to_its_end_though_its_size_is_0(link: BlockingLink) -> None:
    assert Path("/proc/version").stat().st_size == 0
    assert read(link, "/proc/version") == Path("/proc/version").read_bytes()
    assert read(link, "/proc/version", offset=6, length=7) == Path("/proc/version").read_bytes()[6:13]


def test_a_file_that_grows_is_read_to_where_it_ended(link: BlockingLink, file: Path) -> None:
    request = link.open("file.read", {"path": str(file), "offset": 0}, window=16 << 10)
    request.wait_accepted()
    with file.open("ab") as more:
        more.write(b"later")
    assert request.result() == {"size_bytes": len(CONTENT)}


def test_a_file_that_is_cut_meanwhile_ends_where_it_ends(link: BlockingLink, file: Path) -> None:
    request = link.open("file.read", {"path": str(file), "offset": 0}, window=16 << 10)
    request.is_reading = False
    request.wait_accepted()
    link.wait_until(lambda: len(request.stdout) == 16 << 10, "the whole window")
    os.truncate(file, 20_000)
    request.read_on()
    assert request.result() == {"size_bytes": 20_000}


def test_a_reader_that_reads_nothing_stalls_itself_and_nobody_else(
    agent: AgentProcess, link: BlockingLink, file: Path
) -> None:
    stalled = link.open("file.read", {"path": str(file), "offset": 0}, window=8 << 10)
    stalled.is_reading = False
    stalled.wait_accepted()
    link.wait_until(lambda: len(stalled.stdout) == 8 << 10, "the whole window")
    assert read(link, file) == CONTENT
    assert len(stalled.stdout) == 8 << 10
    before = agent.open_files()
    stalled.reset(Cancelled("enough"))
    link.ping()
    assert agent.open_files() == before - 1


def test_a_link_cut_in_the_middle_loses_and_repeats_nothing(
    agent: AgentProcess, link: BlockingLink, file: Path
) -> None:
    request = link.open("file.read", {"path": str(file), "offset": 0}, window=32 << 10)
    cuts = 0
    while not request.is_over and cuts < 20:
        request.wait_more()
        link.drop()
        cuts += 1
        assert link.connect(agent.socket).resumed
    request.result()
    assert bytes(request.outputs[BYTES]) == CONTENT
    assert cuts > 3


def test_a_link_is_followed(link: BlockingLink, file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("numbers")
    assert read(link, tmp_path / "link", length=4) == b"0\n1\n"


def test_what_is_no_regular_file_is_refused_and_left_alone(link: BlockingLink, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    for path in (tmp_path / "pipe", tmp_path / "socket", tmp_path, "/dev/zero", "/dev/tty"):
        with pytest.raises(WrongState, match=str(path)):
            read(link, path)
    # Nobody had opened the pipe: who writes to it would have been let on, into nothing.
    with pytest.raises(OSError, match="No such device"):
        os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK)


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"path": "/no/such/file"}, NotFound, "/no/such/file: No such file"),
        ({"path": "/etc/passwd/x"}, WrongState, "Not a directory"),
        ({"path": "/" + "x" * 300}, BadRequest, "too long"),
        ({"path": "/etc/passwd", "user": "nosuchuser"}, NotFound, "no user 'nosuchuser'"),
        ({"path": "/etc/passwd", "offset": "5"}, BadRequest, "offset"),
    ],
)
def test_what_can_not_be_read_is_refused_with_the_reason(
    link: BlockingLink, params: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        link.call("file.read", params)


def test_a_circle_of_links_is_refused(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(BadRequest, match="symbolic links"):
        read(link, tmp_path / "a")


@needs_root
def test_a_user_reads_what_the_user_may(link: BlockingLink, open_folder: Path) -> None:
    secret = open_folder / "secret"
    secret.write_bytes(b"root's")
    secret.chmod(0o600)
    with pytest.raises(Forbidden, match="Permission denied"):
        read(link, secret, user=SOMEBODY)
    assert read(link, secret, user="root") == b"root's"
    secret.chmod(0o604)
    assert read(link, secret, user=SOMEBODY) == b"root's"
