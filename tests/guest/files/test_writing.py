"""Files as their writer sees them."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from cloche_guest.files.messages import WriteRequest
from cloche_guest.files.writing import Writing
from cloche_guest.loop import Loop
from cloche_guest.trees import ProcessTrees
from cloche_guest.users import Account, Accounts
from cloche_guest.works import Surroundings
from cloche_wire.connection import Connection
from cloche_wire.errors import (
    BadRequest,
    Cancelled,
    Conflict,
    Forbidden,
    LocalProtocolError,
    NotFound,
    TooLarge,
    WrongState,
)
from tests.guest.files.folder import BYTES, SOMEBODY, begin_write, names, read, write
from tests.support.agent_process import AgentProcess, running_agent
from tests.support.blocking_link import BlockingLink

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


def test_a_file_arrives_whole_and_its_entry_comes_back(link: BlockingLink, tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    entry = write(link, tmp_path / "f", data)
    assert (tmp_path / "f").read_bytes() == data
    assert entry == link.call("file.stat", {"path": str(tmp_path / "f"), "follow": True})
    assert read(link, tmp_path / "f") == data


def test_a_file_may_be_empty(link: BlockingLink, tmp_path: Path) -> None:
    assert write(link, tmp_path / "f", b"")["size_bytes"] == 0
    assert names(tmp_path) == ["f"]


def test_parents_and_permissions_are_as_asked(link: BlockingLink, tmp_path: Path) -> None:
    entry = write(link, tmp_path / "a/../a/b/f", b"x", parents=True, mode=0o750)
    assert (entry["path"], entry["mode"]) == (str(tmp_path / "a/b/f"), 0o750)


def test_a_file_appears_only_when_its_stream_has_ended(link: BlockingLink, tmp_path: Path) -> None:
    request = begin_write(link, tmp_path / "f")
    request.write(b"all of it", BYTES)
    link.ping()
    assert "f" not in names(tmp_path)
    request.end(BYTES)
    request.result()
    assert names(tmp_path) == ["f"]


def test_what_is_acknowledged_is_written(link: BlockingLink, tmp_path: Path) -> None:
    request = begin_write(link, tmp_path / "f")
    credit = link.connection.credit(request.channel, BYTES)
    request.write(bytes(100_000), BYTES)
    link.wait_until(lambda: link.connection.credit(request.channel, BYTES) == credit, "all acknowledged")
    assert next(tmp_path.iterdir()).stat().st_size == 100_000
    request.reset(Cancelled("enough"))
    link.ping()


def test_a_writer_that_gives_up_leaves_nothing(
    agent: AgentProcess, link: BlockingLink, tmp_path: Path
) -> None:
    (tmp_path / "f").write_bytes(b"old")
    link.ping()
    before = agent.open_files()
    request = begin_write(link, tmp_path / "f")
    request.write(bytes(100_000), BYTES)
    request.reset(Cancelled("enough"))
    link.ping()
    assert (names(tmp_path), (tmp_path / "f").read_bytes()) == (["f"], b"old")
    assert agent.open_files() == before


def test_a_channel_that_is_gone_before_it_is_accepted_leaves_nothing(tmp_path: Path, me: Account) -> None:
    # A connection that knows no such channel.
    connection = Connection(leader=False, software="test/1")
    around = Surroundings(Loop(print), connection, ProcessTrees(), Accounts(), me.name, lambda *_: None)
    request = WriteRequest("f", None, None, exclusive=False, parents=True)
    before = names(Path("/proc/self/fd"))
    with pytest.raises(LocalProtocolError):
        Writing(around, 7, me, os.fsencode(tmp_path / "a/f"), request, on_end=lambda: None)
    assert (names(tmp_path), names(Path("/proc/self/fd"))) == ([], before)


def test_a_new_hub_leaves_nothing_of_the_old_ones(
    agent: AgentProcess, link: BlockingLink, tmp_path: Path
) -> None:
    begin_write(link, tmp_path / "f").write(bytes(1000), BYTES)
    link.ping()
    link.drop()
    with BlockingLink() as other:
        assert not other.connect(agent.socket).resumed
        other.ping()
        assert names(tmp_path) == []


def test_a_link_cut_in_the_middle_loses_and_repeats_nothing(
    agent: AgentProcess, link: BlockingLink, tmp_path: Path
) -> None:
    data = b"".join(b"%d\n" % number for number in range(100_000))
    request = begin_write(link, tmp_path / "f")
    for start in range(0, len(data), 50_000):
        request.write(data[start : start + 50_000], BYTES)
        link.send_pending()
        link.drop()
        assert link.connect(agent.socket).resumed
    request.end(BYTES)
    assert request.result()["size_bytes"] == len(data)
    assert (tmp_path / "f").read_bytes() == data


def test_what_comes_on_another_stream_is_dropped(link: BlockingLink, tmp_path: Path) -> None:
    request = begin_write(link, tmp_path / "f")
    request.write(b"what?", 2)
    request.end(2)
    request.write(b"content", BYTES)
    request.end(BYTES)
    assert request.result()["size_bytes"] == 7


@pytest.mark.parametrize(
    ("name", "params", "error"),
    [
        ("there", {"exclusive": True}, Conflict),
        ("nowhere/f", {}, NotFound),
        ("there/f", {}, WrongState),
        ("pipe", {}, WrongState),
        ("folder", {}, WrongState),
        ("x" * 300, {}, BadRequest),
        ("f", {"mode": "rw"}, BadRequest),
        ("f", {"user": "nosuchuser"}, NotFound),
    ],
)
def test_what_can_not_be_written_is_refused_before_anything_is_sent(
    link: BlockingLink, tmp_path: Path, name: str, params: dict[str, Any], error: type[Exception]
) -> None:
    (tmp_path / "there").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(error):
        begin_write(link, tmp_path / name, **params)
    assert names(tmp_path) == ["folder", "pipe", "there"]


def test_a_name_that_is_taken_meanwhile_is_a_conflict_and_stays(link: BlockingLink, tmp_path: Path) -> None:
    request = begin_write(link, tmp_path / "f", exclusive=True)
    (tmp_path / "f").write_bytes(b"faster")
    request.end(BYTES)
    with pytest.raises(Conflict, match="f: File exists"):
        request.result()
    link.ping()
    assert (names(tmp_path), (tmp_path / "f").read_bytes()) == (["f"], b"faster")


@needs_root
def test_a_user_writes_where_the_user_may(link: BlockingLink, open_folder: Path) -> None:
    entry = write(link, open_folder / "f", b"x", user=SOMEBODY)
    assert (entry["uid"], entry["gid"]) == (int(SOMEBODY), int(SOMEBODY))
    (open_folder / "roots").mkdir()
    with pytest.raises(Forbidden, match="Permission denied"):
        write(link, open_folder / "roots/f", b"x", user=SOMEBODY)
    assert write(link, open_folder / "roots/f", b"x", user="root")["uid"] == 0


def test_a_file_that_may_not_grow_so_large_is_refused_and_goes(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with running_agent(tmp_path, "--is-somebody") as agent, BlockingLink() as link:
        resource.prlimit(agent.pid, resource.RLIMIT_FSIZE, (100_000, limit[1]))
        link.connect(agent.socket)
        (tmp_path / "folder").mkdir()
        with pytest.raises(TooLarge, match="File too large"):
            write(link, tmp_path / "folder/f", bytes(200_000))
        link.ping()
        assert names(tmp_path / "folder") == []
        assert write(link, tmp_path / "folder/f", bytes(100_000))["size_bytes"] == 100_000
