"""Which request about files starts what, and how many at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cloche_guest.files.service import MOST_AT_ONCE
from cloche_wire.errors import Cancelled, NoSpace, NotFound, WrongState
from tests.guest.files.folder import BYTES, begin_write, listed, names, read
from tests.support.agent_process import AgentProcess, running_agent
from tests.support.blocking_link import BlockingLink

KINDS = ("read", "write", "stat", "list", "make_dir", "remove", "rename", "set_mode", "link")
PARAMS: dict[str, dict[str, Any]] = {
    "rename": {"to": "x"},
    "set_mode": {"mode": 0},
    "link": {"target": "/nowhere/x", "symbolic": False},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_served_and_refused_in_one_way(link: BlockingLink, kind: str) -> None:
    with pytest.raises(NotFound, match=r"^/nowhere/x: No such file or directory$"):
        link.call(f"file.{kind}", {"path": "/nowhere/x", **PARAMS.get(kind, {})})


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_done_for_a_user_there_is_not(link: BlockingLink, kind: str) -> None:
    with pytest.raises(NotFound, match="no user 'nosuchuser'"):
        link.call(f"file.{kind}", {"path": "/tmp", "user": "nosuchuser", **PARAMS.get(kind, {})})


def test_nothing_is_served_in_a_clone_that_is_nobody(tmp_path: Path) -> None:
    with running_agent(tmp_path) as agent, BlockingLink() as link:
        link.connect(agent.socket)
        with pytest.raises(WrongState, match="become"):
            link.call("file.stat", {"path": "/"})


def test_so_many_are_on_their_way_at_once_and_no_more(
    agent: AgentProcess, link: BlockingLink, tmp_path: Path
) -> None:
    requests = [begin_write(link, tmp_path / f"{number:02}") for number in range(MOST_AT_ONCE)]
    for attempt in (lambda: begin_write(link, tmp_path / "more"), lambda: listed(link, tmp_path)):
        with pytest.raises(NoSpace, match=f"{MOST_AT_ONCE} files"):
            attempt()
    # What takes no time is done all the same.
    assert link.call("file.stat", {"path": str(tmp_path)})["kind"] == "dir"
    requests.pop().reset(Cancelled("enough"))
    begin_write(link, tmp_path / "more").reset(Cancelled("enough"))
    for request in requests:
        request.end(BYTES)
        request.result()
    assert len(names(tmp_path)) == MOST_AT_ONCE - 1


def test_what_was_refused_or_is_over_counts_no_more(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    for _ in range(MOST_AT_ONCE + 1):
        with pytest.raises(NotFound):
            begin_write(link, tmp_path / "nowhere/f")
        with pytest.raises(NotFound):
            read(link, tmp_path / "nothing")
        read(link, tmp_path / "f")
    begin_write(link, tmp_path / "g").reset(Cancelled("enough"))
    link.ping()
    assert names(tmp_path) == ["f"]


def test_what_is_given_up_before_it_is_heard_counts_no_more(link: BlockingLink, tmp_path: Path) -> None:
    for _ in range(MOST_AT_ONCE + 1):
        for kind in ("write", "list", "read"):
            request = link.open(f"file.{kind}", {"path": str(tmp_path / "f")})
            link.send_pending()
            request.reset(Cancelled("never mind"))
    link.ping()
    begin_write(link, tmp_path / "g").reset(Cancelled("enough"))


def test_the_removal_of_a_tree_is_taken_before_it_is_done(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    request = link.open("file.remove", {"path": str(tmp_path / "a"), "recursive": True})
    request.wait_accepted()
    assert request.result() == {"removed": 2}
