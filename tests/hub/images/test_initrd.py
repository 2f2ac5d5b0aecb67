"""The initrd: an archive other programs read, the same for the same input."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cloche_hub.errors import BuildFailed
from cloche_hub.images.arches import ARCHES
from cloche_hub.images.initrd import Entry, check_busybox, cpio_archive, init_script, make_initrd

_BUSYBOX = Path("/bin/busybox")


def _initrd() -> bytes:
    return make_initrd(
        busybox=b"BUSYBOX", modules=[("b.ko", b"B" * 5), ("a.ko", b"A")], agent=b"AGENT", agent_hash="ab" * 32
    )


def _elf(*, machine: int = 62, segment: int = 1) -> bytes:
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    header[18:20] = machine.to_bytes(2, "little")
    header[32:40] = (64).to_bytes(8, "little")
    header[54:56] = (56).to_bytes(2, "little")
    header[56:58] = (1).to_bytes(2, "little")
    return bytes(header) + segment.to_bytes(4, "little") + bytes(52)


def test_an_archive_is_written_to_the_byte_as_the_format_asks() -> None:
    archive = cpio_archive([Entry("a", 0o100644, b"xyz")])

    assert archive == (
        b"070701000000010000" + b"81A4" + b"0000000000000000" + b"00000001" + b"00000000" + b"00000003"
        b"00000000000000000000000000000000" + b"00000002" + b"00000000" + b"a\0" + b"xyz\0"
        b"0707010000000200000000" + b"0000000000000000" + b"00000001" + b"00000000" + b"00000000"
        b"00000000000000000000000000000000" + b"0000000B" + b"00000000" + b"TRAILER!!!\0\0\0\0"
    )


def test_every_member_begins_at_a_multiple_of_four() -> None:
    archive = cpio_archive([Entry("n" * length, 0o100644, b"d" * length) for length in range(1, 9)])

    starts = [at for at in range(0, len(archive), 4) if archive.startswith(b"070701", at)]
    assert len(starts) == 9
    assert len(archive) % 4 == 0


def test_the_same_input_gives_the_same_bytes() -> None:
    assert _initrd() == _initrd()


@pytest.mark.skipif(not _BUSYBOX.exists(), reason="busybox is not installed")
def test_another_program_reads_the_archive(tmp_path: Path) -> None:
    done = subprocess.run(
        [_BUSYBOX, "cpio", "-idv"], input=_initrd(), cwd=tmp_path, capture_output=True, check=True
    )

    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert names >= {
        "init",
        "bin/busybox",
        "modules/a.ko",
        "modules/b.ko",
        "agent/agent.pyz",
        "dev",
        "root",
    }, done
    assert (tmp_path / "modules/b.ko").read_bytes() == b"BBBBB"
    assert (tmp_path / "agent/agent.sha256").read_text() == "ab" * 32 + "\n"
    assert (tmp_path / "init").stat().st_mode & 0o777 == 0o755


def test_the_modules_are_loaded_in_the_order_given() -> None:
    assert "for module in b.ko a.ko; do" in init_script(["b.ko", "a.ko"])


@pytest.mark.skipif(not _BUSYBOX.exists(), reason="busybox is not installed")
def test_the_script_is_one_the_guest_s_shell_can_read() -> None:
    done = subprocess.run(
        [_BUSYBOX, "sh", "-n"], input=init_script(["a.ko"]).encode(), capture_output=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["a b.ko", "$(reboot).ko", "a;b.ko", "", "../a/b.ko"])
def test_a_module_name_that_a_shell_could_misread_is_refused(name: str) -> None:
    with pytest.raises(BuildFailed, match="odd name"):
        init_script([name])


def test_a_static_busybox_of_the_architecture_is_taken() -> None:
    check_busybox(_elf(), elf_machine=ARCHES["x86_64"].elf_machine, where="bb")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"#!/bin/sh", "bb is no 64-bit program; install the package busybox-static"),
        (_elf(machine=183), "bb is for another processor architecture"),
        (_elf(segment=3), "bb is dynamically linked; install the package busybox-static"),
    ],
)
def test_a_busybox_the_guest_could_not_start_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(BuildFailed, match=message):
        check_busybox(data, elf_machine=62, where="bb")
