"""What is read of a host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_hub.errors import Unsupported
from cloche_hub.vm.argv import Version
from cloche_hub.vm.facts import Host, boot_id
from cloche_hub.vm.process import RunAs
from tests.support.fake_qemu import write_fake_qemu

OTHER = RunAs(65534)


async def test_the_build_of_qemu_is_known_by_its_words_and_its_file(tmp_path: Path) -> None:
    program = write_fake_qemu(tmp_path)
    host = Host(arch="x86_64", program=program)
    build = await host.qemu()
    assert (build.program, build.version, build.text) == (
        program,
        Version(7, 2),
        "QEMU emulator version 7.2.99 (fake)",
    )
    os.utime(program, (1, 1))
    assert (await host.qemu()).identity != build.identity


async def test_a_build_that_has_not_changed_is_not_started_again(tmp_path: Path) -> None:
    host = Host(arch="x86_64", program=write_fake_qemu(tmp_path))
    assert await host.qemu() is await host.qemu()


async def test_a_missing_qemu_says_what_to_install() -> None:
    with pytest.raises(Unsupported, match="no-qemu is missing; install it"):
        await Host(arch="x86_64", program="no-qemu").qemu()


async def test_a_host_without_machines_says_so() -> None:
    with pytest.raises(Unsupported, match="no machines for riscv64"):
        await Host(arch="riscv64").qemu()


def test_without_the_device_there_is_no_kvm(tmp_path: Path) -> None:
    host = Host(kvm_device=tmp_path / "kvm")
    assert "there is no" in str(host.why_no_kvm(None))


@pytest.mark.parametrize(("mode", "may"), [(0o600, False), (0o660, True), (0o666, True), (0o640, False)])
def test_whether_another_user_may_use_kvm_is_told_by_the_device_s_mode(
    tmp_path: Path, mode: int, *, may: bool
) -> None:
    device = tmp_path / "kvm"
    device.touch()
    device.chmod(mode)
    assert (Host(kvm_device=device).why_no_kvm(OTHER) is None) == may


def test_what_to_do_about_kvm_is_commands_to_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "kvm"
    host = Host(kvm_device=device)
    assert host.kvm_fix(OTHER).endswith("then: modprobe kvm_intel || modprobe kvm_amd")
    device.touch(0o600)
    share = f"groupadd -f kvm && chgrp kvm {device} && chmod 660 {device}"
    assert host.kvm_fix(OTHER) == share
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert host.kvm_fix(None).startswith(f"as root, {share} && usermod -aG kvm ")
    device.chmod(0o660)
    assert host.kvm_fix(OTHER) == ""


def test_the_device_s_group_is_needed_unless_everybody_may(tmp_path: Path) -> None:
    device = tmp_path / "kvm"
    device.touch()
    device.chmod(0o660)
    assert Host(kvm_device=device).kvm_groups() == (device.stat().st_gid,)
    device.chmod(0o666)
    assert Host(kvm_device=device).kvm_groups() == ()


def test_this_boot_and_this_processor_have_a_name() -> None:
    assert boot_id() == boot_id() != ""
    assert len(Host().identity_for_kvm()) == 16
