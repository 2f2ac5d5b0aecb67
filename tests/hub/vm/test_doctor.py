"""What is said of a host, from facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloche_hub.vm.doctor import FAIL, OK, WARN, Facts, examine, findings, report_text
from cloche_hub.vm.probe import Verdict

GIB = 1 << 30
GOOD = Facts(
    arch="x86_64",
    qemu="QEMU emulator version 7.2.22",
    qemu_trouble="",
    verdict=Verdict("kvm", "a guest came up on KVM"),
    kvm_fix="",
    programs=frozenset({"mmdebstrap", "setpriv"}),
    free_disk_bytes=100 * GIB,
    cache="/var/cache/cloche",
    available_memory_bytes=16 * GIB,
    is_root=True,
    has_cgroup2=True,
)


def _states(facts: Facts) -> dict[str, str]:
    return {finding.name: finding.state for finding in findings(facts)}


def test_a_good_host_has_nothing_to_do() -> None:
    assert set(_states(GOOD).values()) == {OK}
    assert all(not finding.fix for finding in findings(GOOD))


@pytest.mark.parametrize(
    ("facts", "name", "state"),
    [
        (replace(GOOD, qemu="", qemu_trouble="qemu-system-x86_64 is missing"), "qemu", FAIL),
        (replace(GOOD, verdict=Verdict("tcg", "there is no /dev/kvm")), "kvm", WARN),
        (replace(GOOD, verdict=Verdict("unproven", "no image yet")), "kvm", OK),
        (replace(GOOD, programs=frozenset({"setpriv"})), "mmdebstrap", FAIL),
        (replace(GOOD, free_disk_bytes=GIB), "disk", FAIL),
        (replace(GOOD, free_disk_bytes=5 * GIB), "disk", WARN),
        (replace(GOOD, available_memory_bytes=GIB // 2), "memory", FAIL),
        (replace(GOOD, available_memory_bytes=2 * GIB), "memory", WARN),
        (replace(GOOD, is_root=False), "privileges", WARN),
        (replace(GOOD, programs=frozenset({"mmdebstrap"})), "privileges", FAIL),
        (replace(GOOD, has_cgroup2=False), "cgroup", WARN),
    ],
)
def test_what_is_wrong_is_found_and_nothing_else(facts: Facts, name: str, state: str) -> None:
    assert _states(facts) == _states(GOOD) | {name: state}


def test_kvm_says_apart_what_is_the_case_and_what_to_do() -> None:
    facts = replace(GOOD, verdict=Verdict("tcg", "only root may open /dev/kvm"), kvm_fix="chmod 660 /dev/kvm")
    kvm = next(finding for finding in findings(facts) if finding.name == "kvm")
    assert (kvm.found, kvm.fix) == ("only root may open /dev/kvm", "chmod 660 /dev/kvm")


def test_a_failure_says_what_it_means_and_what_to_do() -> None:
    text = report_text(findings(replace(GOOD, qemu="", qemu_trouble="qemu-system-x86_64 is missing")))
    assert "FAIL  qemu: qemu-system-x86_64 is missing\n      no machine can run\n      to do: apt-get" in text


async def test_this_host_can_be_examined_and_the_findings_are_plain_values() -> None:
    found = await examine()
    assert [finding.name for finding in found] == [
        "qemu", "kvm", "mmdebstrap", "disk", "memory", "privileges", "cgroup",
    ]  # fmt: skip
    assert all(set(finding.as_map()) == {"name", "state", "found", "means", "fix"} for finding in found)
