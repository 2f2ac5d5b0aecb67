"""Folders as they are listed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_guest.files.listing import MOST_ENTRIES
from cloche_wire.errors import Cancelled, NotFound, WrongState
from tests.guest.files.folder import batches, listed
from tests.support.agent_process import AgentProcess
from tests.support.blocking_link import BlockingLink


def test_a_folder_lists_what_is_in_it_and_follows_nothing(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_bytes(b"123")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "pipe")
    entries = listed(link, tmp_path)
    assert [(one["name"], one["kind"], one.get("target")) for one in entries] == [
        (".hidden", "file", None),
        ("folder", "dir", None),
        ("link", "link", "/nowhere"),
        ("pipe", "other", None),
    ]
    assert entries[0] == link.call("file.stat", {"path": str(tmp_path / ".hidden"), "follow": False})


def test_an_empty_folder_has_no_entries(link: BlockingLink, tmp_path: Path) -> None:
    assert listed(link, tmp_path) == []


def test_a_link_to_a_folder_lists_the_folder_by_the_links_name(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").touch()
    (tmp_path / "link").symlink_to("folder")
    assert [one["path"] for one in listed(link, tmp_path / "link")] == [str(tmp_path / "link/file")]


def test_a_name_that_is_no_text_is_listed_as_bytes(link: BlockingLink, tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.close(os.open(raw, os.O_CREAT | os.O_WRONLY))
    (tmp_path / "link").symlink_to("\udcfd")
    odd, told = listed(link, tmp_path)
    assert (odd["name"], odd["path"]) == (b"\xff\xfe", raw)
    assert (told["name"], told["target"]) == ("link", b"\xfd")


def test_a_large_folder_comes_in_batches(link: BlockingLink, tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"{number:04}").touch()
    request = link.open("file.list", {"path": str(tmp_path)})
    assert request.result() == {"entries": 1000}
    came = batches(request)
    assert sorted(one["name"] for batch in came for one in batch) == [f"{n:04}" for n in range(1000)]
    assert max(len(batch) for batch in came) <= MOST_ENTRIES


def test_long_names_make_smaller_batches(link: BlockingLink, tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number:03}").symlink_to("x" * 4000)
    request = link.open("file.list", {"path": str(tmp_path)})
    request.result()
    assert max(len(batch) for batch in batches(request)) < 10


def test_a_listing_waits_for_its_reader_and_goes_with_it(
    agent: AgentProcess, link: BlockingLink, tmp_path: Path
) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}").touch()
    assert len(listed(link, tmp_path, window=1000)) == 200
    link.ping()
    before = agent.open_files()
    stalled = link.open("file.list", {"path": str(tmp_path)}, window=1000)
    stalled.is_reading = False
    stalled.wait_accepted()
    link.wait_until(lambda: len(stalled.outputs.get(0, b"")) == 1000, "the whole window")
    stalled.reset(Cancelled("enough"))
    link.ping()
    assert agent.open_files() == before


def test_what_is_no_folder_is_refused(link: BlockingLink, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WrongState, match="Not a directory"):
        listed(link, tmp_path / "pipe")
    with pytest.raises(NotFound, match="No such file"):
        listed(link, tmp_path / "nothing")
