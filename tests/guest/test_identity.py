"""What a clone writes down of who it is. The kernel's part is held by the machine's tests: a host must not become."""

from __future__ import annotations

from pathlib import Path

from cloche_guest.identity import entropy_argument, files_of, move_files, write_files
from cloche_guest.messages import Identity

WHO = Identity(
    sandbox="sb_1",
    hostname="quiet-otter",
    machine_id="ab" * 16,
    entropy=bytes(range(64)),
    clock_ns=1,
    env={},
)


def test_the_files_name_the_host_and_the_machine() -> None:
    files = files_of(WHO)
    assert files["etc/hostname"] == "quiet-otter\n"
    assert files["etc/machine-id"] == "ab" * 16 + "\n"
    assert "127.0.0.1\tlocalhost\n127.0.1.1\tquiet-otter\n::1\tlocalhost" in files["etc/hosts"]


def test_a_host_with_a_domain_is_known_by_its_short_name_too() -> None:
    who = Identity("sb_1", "otter.example", "ab" * 16, bytes(64), 1, {})
    assert "127.0.1.1\totter.example otter\n" in files_of(who)["etc/hosts"]


def test_writing_replaces_what_the_template_had(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("a much longer name than the new one\n")
    write_files(WHO, str(tmp_path))
    assert (tmp_path / "etc/hostname").read_text() == "quiet-otter\n"
    assert {path.name for path in (tmp_path / "etc").iterdir()} == {"hostname", "machine-id", "hosts"}


def test_moved_files_lie_in_memory_and_are_written_there(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").write_text("127.0.0.1 localhost\n")
    for _ in range(2):
        move_files(str(tmp_path), str(tmp_path / "memory"))
    assert (tmp_path / "etc/hosts").read_text() == "127.0.0.1 localhost\n"
    write_files(WHO, str(tmp_path))
    assert (tmp_path / "etc/hostname").readlink() == tmp_path / "memory/hostname"
    assert (tmp_path / "memory/hostname").read_text() == "quiet-otter\n"
    assert (tmp_path / "etc/hosts").read_text() == (tmp_path / "memory/hosts").read_text()


def test_entropy_is_handed_over_with_its_bits_and_its_bytes_counted() -> None:
    # struct rand_pool_info of linux/random.h.
    assert entropy_argument(b"abcd") == b"\x20\0\0\0\x04\0\0\0abcd"
