"""QEMU's arguments, as tables of whole values."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

from cloche_hub.errors import Unsupported
from cloche_hub.vm.argv import (
    ARCHES,
    KVM,
    TCG,
    Disk,
    Invocation,
    Version,
    arch_named,
    arguments,
    kernel_stub,
    parse_version,
    state_uri,
    translation_cache_mib,
)

TEMPLATE = Invocation(
    name="boot-1",
    arch="x86_64",
    accelerator=TCG,
    version=Version(7, 2),
    vcpus=1,
    memory_mib=512,
    ram=10,
    kernel=11,
    initrd=12,
    disks=(Disk(13, "qcow2"), Disk(14, "raw")),
    qmp=15,
    agent=16,
    state=17,
)
CLONE = replace(
    TEMPLATE, name="sb_1", initrd=None, disks=(Disk(13, "qcow2"), Disk(18, "qcow2"), Disk(14, "raw")), is_clone=True
)  # fmt: skip


def option(words: list[str], name: str) -> str:
    """The one value of an option."""
    values = [value for word, value in itertools.pairwise(words) if word == name]
    assert len(values) == 1, values
    return values[0]


def options(words: list[str], name: str) -> list[str]:
    """All values of an option."""
    return [value for word, value in itertools.pairwise(words) if word == name]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)", Version(7, 2)),
        ("QEMU emulator version 10.0.2", Version(10, 0)),
    ],
)
def test_the_version_is_read_from_what_qemu_prints(text: str, version: Version) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("text", "reason"), [("QEMU emulator version 6.2.0", "7.2 or newer"), ("bash 5", "like QEMU")]
)
def test_what_is_too_old_or_not_qemu_is_refused(text: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        parse_version(text)


def test_versions_compare_as_numbers() -> None:
    assert Version(10, 0) > Version(9, 1) > Version(7, 2)


def test_a_template_on_x86() -> None:
    words = arguments(TEMPLATE)
    assert option(words, "-machine") == (
        "q35,memory-backend=ram,hpet=off,usb=off,sata=off,smbus=off,vmport=off,i8042=off,graphics=off,smm=off"
    )
    assert option(words, "-accel") == "tcg,tb-size=64"
    assert option(words, "-cpu") == "max"
    assert option(words, "-append") == (
        "console=ttyS0 8250.nr_uarts=1 reboot=t panic=-1 nowatchdog sysctl.vm.compaction_proactiveness=0 "
        "mitigations=off tsc=reliable"
    )
    assert options(words, "-object")[0] == (
        "memory-backend-file,id=ram,size=512M,mem-path=/proc/self/fd/10,share=on,merge=off,dump=off"
    )
    assert "-incoming" not in words


def test_the_sandbox_is_always_on() -> None:
    for it in (TEMPLATE, CLONE, replace(CLONE, arch="aarch64", accelerator=KVM)):
        assert option(arguments(it), "-sandbox") == (
            "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
        )


def test_a_clone_maps_its_memory_privately_and_waits_for_its_state() -> None:
    words = arguments(CLONE)
    assert ",share=off," in options(words, "-object")[0]
    assert option(words, "-incoming") == "defer"
    assert "-initrd" not in words


def test_a_clone_has_the_devices_of_its_template() -> None:
    assert options(arguments(CLONE), "-device") == options(arguments(TEMPLATE), "-device")
    assert option(arguments(CLONE), "-machine") == option(arguments(TEMPLATE), "-machine")


def test_the_layers_of_the_disk_lie_over_each_other_and_only_the_first_is_written_to() -> None:
    def layer(number: int, form: str) -> dict[str, object]:
        file = {"driver": "file", "filename": f"/dev/fdset/{number}", "locking": "off", "drop-cache": False}
        return {"driver": form, "file": file}

    top = layer(13, "qcow2")
    top["file"]["cache"] = {"no-flush": True}  # type: ignore[index]
    expected = top | {"node-name": "disk", "discard": "unmap", "cache": {"no-flush": True}}
    expected["backing"] = layer(18, "qcow2") | {
        "read-only": True,
        "backing": layer(14, "raw") | {"read-only": True},
    }
    assert json.loads(option(arguments(CLONE), "-blockdev")) == expected
    assert options(arguments(CLONE), "-add-fd") == ["fd=13,set=13", "fd=18,set=18", "fd=14,set=14"]


def test_qemu_is_given_descriptors_and_no_paths() -> None:
    paths = [word for word in arguments(CLONE) if "/" in word and "/dev/fdset/" not in word]
    assert all("/proc/self/fd/" in word for word in paths), paths


@pytest.mark.parametrize(
    ("arch", "accelerator", "machine", "cpu", "console"),
    [
        ("x86_64", KVM, "q35,memory-backend=ram,hpet=off", "host", "console=ttyS0"),
        ("aarch64", KVM, "virt,memory-backend=ram,gic-version=host,acpi=off", "host", "console=ttyAMA0"),
        (
            "aarch64",
            TCG,
            "virt,memory-backend=ram,gic-version=3,acpi=off",
            "max,pauth-impdef=on",
            "console=ttyAMA0",
        ),
    ],
)
def test_what_depends_on_architecture_and_accelerator(
    arch: str, accelerator: str, machine: str, cpu: str, console: str
) -> None:
    words = arguments(replace(TEMPLATE, arch=arch, accelerator=accelerator))
    assert option(words, "-machine").startswith(machine)
    assert option(words, "-cpu") == cpu
    assert option(words, "-append").startswith(console)


@pytest.mark.parametrize("arch", ARCHES)
def test_a_guest_on_kvm_keeps_its_mitigations(arch: str) -> None:
    words = arguments(replace(TEMPLATE, arch=arch, accelerator=KVM))
    assert "mitigations=off" not in option(words, "-append")
    assert option(words, "-accel") == "kvm"


@pytest.mark.parametrize(
    ("version", "uri", "sets"),
    [
        (Version(7, 2), "fd:17", 2),
        (Version(8, 2), "fd:17", 2),
        (Version(9, 0), "fd:17", 2),
        (Version(9, 1), "file:/dev/fdset/17", 3),
        (Version(10, 1), "file:/dev/fdset/17", 3),
    ],
)
def test_the_state_is_named_as_the_version_wants_it(version: Version, uri: str, sets: int) -> None:
    assert state_uri(version, 17) == uri
    assert len(options(arguments(replace(TEMPLATE, version=version)), "-add-fd")) == sets


def test_more_processors_get_a_larger_translation_cache() -> None:
    assert [translation_cache_mib(count) for count in (1, 2, 4)] == [64, 96, 160]


def test_an_unknown_architecture_is_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="riscv64"):
        arch_named("riscv64")


def test_the_stub_of_an_x86_kernel_is_its_setup_code_and_a_little_more() -> None:
    kernel = bytearray(1 << 20)
    kernel[0x1F1] = 27
    kernel[0x202:0x206] = b"HdrS"
    assert kernel_stub(bytes(kernel)) == bytes(kernel[: 28 * 512 + 4096])


def test_what_has_no_x86_header_is_not_cut() -> None:
    assert kernel_stub(b"\x7fELF" * 4096) == b"\x7fELF" * 4096
