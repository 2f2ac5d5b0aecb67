"""A machine's folder: taken by its lock, reached by its sockets however deep it lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_hub.errors import BadRequest, Conflict, MachineFailed
from cloche_hub.vm.folder import MachineFolder, Record, machine_folders
from cloche_hub.vm.process import start_ticks

RECORD = Record("sb_1", 42, 4711, "tcg", "1" * 32, "small", "2026-01-01T00:00:00+00:00")


def test_a_live_machine_s_folder_is_never_taken(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    assert folder.is_live()
    with pytest.raises(Conflict, match="sb_1"):
        MachineFolder.create(tmp_path, "sb_1")
    lock.close()
    assert not folder.is_live()


def test_what_a_dead_machine_left_makes_room_for_the_next(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    folder.disk.write_bytes(b"old")
    lock.close()
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    assert not folder.disk.exists()
    lock.close()


@pytest.mark.parametrize("machine_id", ["", "..", "a/b", "/etc", "sb 1", "x" * 64, "SB"])
def test_an_id_that_is_no_plain_name_is_refused(tmp_path: Path, machine_id: str) -> None:
    with pytest.raises(BadRequest):
        MachineFolder.create(tmp_path / "machines", machine_id)
    assert not (tmp_path / "machines").exists()


def test_nobody_else_can_look_into_it(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    lock.close()
    assert folder.path.stat().st_mode & 0o777 == 0o700


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    lock.close()
    folder.write_record(RECORD)
    assert folder.read_record() == RECORD


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}'])
def test_a_broken_record_is_no_record(tmp_path: Path, content: str) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    lock.close()
    (folder.path / "machine.json").write_text(content)
    assert folder.read_record() is None


def test_sockets_work_in_a_folder_deeper_than_an_address_is_long(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path.joinpath(*["deep" * 10] * 4), "sb_1")
    with lock, folder.listen("qmp") as listening, folder.connect("qmp") as connection:
        served, _ = listening.accept()
        with served:
            served.sendall(b"hello")
            connection.settimeout(10)
            assert connection.recv(10) == b"hello"


def test_a_socket_nobody_listens_on_can_not_be_connected_to(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    lock.close()
    folder.listen("qmp").close()
    with pytest.raises(ConnectionRefusedError):
        folder.connect("qmp")


def test_removing_it_frees_its_disk_and_twice_is_once(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    lock.close()
    folder.disk.write_bytes(b"x" * 8192)
    assert folder.disk_bytes() == 8192
    assert folder.remove() == 8192
    assert folder.remove() == 0
    assert machine_folders(tmp_path) == []


def test_a_folder_of_machines_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert machine_folders(tmp_path / "machines") == []


def test_a_folder_that_others_may_write_in_is_nobody_s_machine(tmp_path: Path) -> None:
    planted = tmp_path / "sb_planted"
    planted.mkdir()
    planted.chmod(0o777)
    (tmp_path / "sb_link").symlink_to(tmp_path)
    folder, lock = MachineFolder.create(tmp_path, "sb_ours")
    lock.close()
    assert [one.path for one in machine_folders(tmp_path)] == [folder.path]


def test_machines_are_refused_a_place_that_others_may_write_in(tmp_path: Path) -> None:
    parent = tmp_path / "machines"
    parent.mkdir()
    parent.chmod(0o777)
    with pytest.raises(MachineFailed, match="chmod 700"):
        MachineFolder.create(parent, "sb_one")


def test_the_place_of_machines_is_ours_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder, lock = MachineFolder.create(tmp_path / "machines", "sb_one")
    finally:
        os.umask(before)
    lock.close()
    assert [path.stat().st_mode & 0o777 for path in (folder.path, folder.path.parent)] == [0o700, 0o700]


def test_a_machine_that_has_given_up_its_lock_still_lives_while_its_process_does(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_one")
    lock.close()
    assert not folder.is_live()
    folder.write_record(
        Record("sb_one", os.getpid(), start_ticks(os.getpid()), "tcg", "image", "small", "now")
    )
    assert folder.is_live()
    folder.write_record(Record("sb_one", os.getpid(), 1, "tcg", "image", "small", "now"))
    assert not folder.is_live()
