"""Which accelerator machines run on: whether KVM works here, as proven, and how that is remembered.

/dev/kvm may be there and open and still not work (nested hosts): the only proof is a guest that comes up, with the
real kernel and the very arguments and processor model used later, under a deadline.

Rules:
- Without an image there is nothing to prove it with: the verdict is `unproven`, and nothing is claimed.
- A verdict counts for one kernel, one QEMU, one boot of the host; then it is proven anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cloche_hub.domain.flavors import DEFAULT_FLAVOR, FLAVORS
from cloche_hub.errors import BuildFailed, MachineFailed
from cloche_hub.ports import AwaitAgent, OnProgress, Progress
from cloche_hub.vm.argv import KVM, TCG
from cloche_hub.vm.boot import Boot, HeldImage, Users, booted
from cloche_hub.vm.boot_log import BootLog
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.facts import boot_id
from cloche_hub.vm.overlay import create_overlay
from cloche_hub.vm.sealed_ram import create_ram
from cloche_hub.vm.template import Shape

UNPROVEN = "unproven"
_NO_IMAGE = "no image has been booted yet to prove that KVM works; the first sandbox does"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What machines run on."""

    accelerator: str
    """kvm, tcg or unproven."""
    reason: str
    """One sentence."""


class Verdicts:
    """Proven verdicts, kept in a file that all hubs of this host share.

    Args:
        path: the file; a broken or missing one only means that KVM is proven again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, key: str) -> Verdict | None:
        """The verdict for a proof's key."""
        return self._read().get(key)

    def latest(self) -> Verdict | None:
        """The newest verdict of this boot of the host, whichever kernel proved it."""
        found = [verdict for key, verdict in self._read().items() if key.startswith(boot_id())]
        return found[-1] if found else None

    def keep(self, key: str, verdict: Verdict) -> None:
        """Remembers a verdict, and forgets those of earlier boots."""
        kept = {name: old for name, old in self._read().items() if name.startswith(boot_id())}
        # To the end: the order is that of the proofs.
        kept.pop(key, None)
        kept[key] = verdict
        draft = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({name: asdict(one) for name, one in kept.items()}))
        draft.rename(self._path)

    def _read(self) -> dict[str, Verdict]:
        try:
            return {key: Verdict(**entry) for key, entry in json.loads(self._path.read_text()).items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}


def proof_key(shape: Shape, kernel: Path) -> str:
    """What a proof holds for: this boot of the host, the kernel, QEMU and its arguments."""
    # One size of machine proves it for all of them.
    words = replace(shape, accelerator=KVM, flavor=FLAVORS[DEFAULT_FLAVOR]).words()
    parts = (shape.build.identity, shape.host, hashlib.sha256(kernel.read_bytes()).hexdigest(), words)
    return f"{boot_id()}/{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


async def choose_accelerator(
    verdicts: Verdicts,
    key: Callable[[], str],
    why_no_kvm: str | None,
    prove: Callable[[], Awaitable[Verdict]],
) -> Verdict:
    """The accelerator for machines of an image, proven now if it has not been.

    Args:
        verdicts: what is known.
        key: makes the proof's key; asked only if nothing speaks against KVM from the outset.
        why_no_kvm: what does.
        prove: boots a machine on KVM.
    """
    if why_no_kvm is not None:
        return Verdict(TCG, why_no_kvm)
    name = key()
    verdict = verdicts.find(name)
    if verdict is None:
        verdict = await prove()
        verdicts.keep(name, verdict)
    return verdict


def standing_verdict(verdicts: Verdicts, why_no_kvm: str | None) -> Verdict:
    """The verdict as last proven; nothing is booted for it."""
    if why_no_kvm is not None:
        return Verdict(TCG, why_no_kvm)
    return verdicts.latest() or Verdict(UNPROVEN, _NO_IMAGE)


async def prove_kvm(
    shape: Shape,
    image: HeldImage,
    *,
    machines: Path,
    users: Users,
    await_agent: AwaitAgent,
    bounds: Bounds,
    progress: OnProgress,
) -> Verdict:
    """Boots a machine on KVM and says whether it came up. Cancelling it leaves nothing behind."""
    progress(Progress("kvm", "proving that KVM works here", 0.0))
    bounds = replace(bounds, boot_s=bounds.prove_s)
    with contextlib.ExitStack() as stack:
        overlay = _nameless_overlay(machines, shape.disk_bytes)
        stack.callback(os.close, overlay)
        ram = create_ram("cloche-probe", shape.flavor.memory_mib << 20)
        stack.callback(os.close, ram)
        boot = Boot(replace(shape, accelerator=KVM), image, machines, overlay, ram, None, bounds)
        try:
            async with booted(boot, users, await_agent, BootLog()):
                return Verdict(KVM, "a guest came up on KVM")
        except (BuildFailed, MachineFailed) as error:
            first_line = error.message.splitlines()[0].rstrip(":")
            return Verdict(TCG, f"/dev/kvm is there, but no guest comes up on it: {first_line}")


def _nameless_overlay(folder: Path, size_bytes: int) -> int:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"probe-{secrets.token_hex(4)}.qcow2"
    try:
        return create_overlay(path, size_bytes)
    finally:
        path.unlink(missing_ok=True)
