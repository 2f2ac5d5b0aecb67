"""What works on this host and what does not, each with what it means and what to do: for `cloche doctor`.

`findings` is pure: facts in, findings out. `examine` only gathers the facts; it changes nothing and boots nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cloche_hub.errors import Unsupported
from cloche_hub.vm.argv import KVM, TCG
from cloche_hub.vm.facts import Host
from cloche_hub.vm.probe import UNPROVEN, Verdict, Verdicts, standing_verdict
from cloche_hub.vm.process import RunAs
from cloche_wire.rendezvous import locations

OK, WARN, FAIL = "ok", "warn", "fail"

_GIB = 1 << 30
# An image, its template and room to work.
_DISK_NEEDED, _DISK_WANTED = 3 * _GIB, 10 * _GIB
# One small machine and the hub; a handful of them.
_MEMORY_NEEDED, _MEMORY_WANTED = 1 * _GIB, 4 * _GIB


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: str
    """ok, warn (it works, but less well) or fail (it does not work)."""
    found: str
    """What is the case."""
    means: str
    """What follows from it."""
    fix: str
    """What to do; empty if nothing."""

    def as_map(self) -> dict[str, str]:
        """Plain values, for programs."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found on this host."""

    arch: str
    qemu: str
    """QEMU's own words about its version; empty if it can not be used."""
    qemu_trouble: str
    verdict: Verdict
    kvm_fix: str
    """What to do about KVM; empty if nothing."""
    programs: frozenset[str]
    """Those of `PROGRAMS` that are there."""
    free_disk_bytes: int
    cache: str
    available_memory_bytes: int
    is_root: bool
    has_cgroup2: bool


PROGRAMS = ("mmdebstrap", "setpriv")


def findings(facts: Facts) -> Sequence[Finding]:
    """What the facts mean."""
    return (
        _qemu(facts),
        _kvm(facts),
        _mmdebstrap(facts),
        _disk(facts),
        _memory(facts),
        _privileges(facts),
        _cgroup(facts),
    )


def report_text(found: Sequence[Finding]) -> str:
    """The findings for a person."""
    marks = {OK: "ok  ", WARN: "warn", FAIL: "FAIL"}
    lines = []
    for finding in found:
        lines.append(f"{marks[finding.state]}  {finding.name}: {finding.found}")
        if finding.state != OK:
            lines.append(f"      {finding.means}")
        if finding.fix:
            lines.append(f"      to do: {finding.fix}")
    return "\n".join(lines)


async def examine() -> Sequence[Finding]:
    """Looks at this host."""
    host = Host()
    places = locations()
    try:
        qemu, trouble = (await host.qemu()).text, ""
    except Unsupported as error:
        qemu, trouble = "", error.message
    return findings(_gather(host, places.cache, qemu, trouble))


def _gather(host: Host, cache: Path, qemu: str, trouble: str) -> Facts:
    is_root = os.geteuid() == 0
    # A machine of root's hub runs as another user: whether that one may use KVM is what counts.
    run_as = RunAs(65534) if is_root else None
    disk = os.statvfs(_nearest_existing(cache))
    return Facts(
        arch=host.arch,
        qemu=qemu,
        qemu_trouble=trouble,
        verdict=standing_verdict(Verdicts(cache / "kvm.json"), host.why_no_kvm(run_as)),
        kvm_fix=host.kvm_fix(run_as),
        programs=frozenset(name for name in PROGRAMS if shutil.which(name)),
        free_disk_bytes=disk.f_bavail * disk.f_frsize,
        cache=str(cache),
        available_memory_bytes=_available_memory(),
        is_root=is_root,
        has_cgroup2=Path("/sys/fs/cgroup/cgroup.controllers").exists(),
    )


def _nearest_existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _available_memory() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def _qemu(facts: Facts) -> Finding:
    if facts.qemu:
        return Finding("qemu", OK, facts.qemu, "machines can run", "")
    package = "qemu-system-arm" if facts.arch == "aarch64" else "qemu-system-x86"
    fix = f"apt-get install --no-install-recommends {package}"
    return Finding("qemu", FAIL, facts.qemu_trouble, "no machine can run", fix)


def _kvm(facts: Facts) -> Finding:
    verdict = facts.verdict
    if verdict.accelerator == KVM:
        return Finding("kvm", OK, verdict.reason, "machines run at the processor's speed", "")
    if verdict.accelerator == UNPROVEN:
        means = "the first sandbox proves it; if it does not work, machines run in software emulation (tcg)"
        return Finding("kvm", OK, verdict.reason, means, "")
    assert verdict.accelerator == TCG
    means = "machines run in software emulation (tcg): they work, but compute about ten times slower"
    return Finding("kvm", WARN, verdict.reason, means, facts.kvm_fix)


def _mmdebstrap(facts: Facts) -> Finding:
    if "mmdebstrap" in facts.programs:
        return Finding("mmdebstrap", OK, "installed", "images can be built", "")
    fix = "apt-get install --no-install-recommends mmdebstrap"
    return Finding("mmdebstrap", FAIL, "missing", "no image can be built", fix)


def _disk(facts: Facts) -> Finding:
    free = facts.free_disk_bytes
    found = f"{free / _GIB:.1f} GiB free in {facts.cache}"
    if free < _DISK_NEEDED:
        return Finding(
            "disk", FAIL, found, "images and templates do not fit", "free some, or move CLOCHE_CACHE"
        )
    if free < _DISK_WANTED:
        return Finding("disk", WARN, found, "room for few images", "free some, or move CLOCHE_CACHE")
    return Finding("disk", OK, found, "images and templates fit", "")


def _memory(facts: Facts) -> Finding:
    free = facts.available_memory_bytes
    found = f"{free / _GIB:.1f} GiB available"
    if free < _MEMORY_NEEDED:
        return Finding("memory", FAIL, found, "not enough for one machine", "end other programs")
    if free < _MEMORY_WANTED:
        return Finding("memory", WARN, found, "enough for a few small machines", "")
    return Finding("memory", OK, found, "enough for many small machines", "")


def _privileges(facts: Facts) -> Finding:
    if not facts.is_root:
        means = "machines run as you: one that breaks out of QEMU and its system call filter has your rights"
        return Finding("privileges", WARN, "the hub would not run as root", means, "")
    if "setpriv" not in facts.programs:
        fix = "apt-get install util-linux"
        return Finding("privileges", FAIL, "setpriv is missing", "machines can not give up root", fix)
    found = "the hub would run as root, each machine as a user of its own"
    return Finding("privileges", OK, found, "machines are cut off from each other and from the hub", "")


def _cgroup(facts: Facts) -> Finding:
    if facts.has_cgroup2:
        return Finding("cgroup", OK, "version 2", "the host can bound what machines use together", "")
    means = "only each machine's own size bounds what it uses"
    return Finding("cgroup", WARN, "no version 2 hierarchy", means, "")
