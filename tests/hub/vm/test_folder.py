"""A machine's folder: taken by its lock, reached by its sockets however deep it lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.errors import BadRequest, Conflict
from cloche_hub.vm.folder import MachineFolder, Record, machine_folders

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
