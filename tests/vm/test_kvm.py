"""Whether KVM works is proven on the real device, with the real kernel, under a deadline."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from cloche_hub.domain.flavors import DEFAULT_FLAVOR, FLAVORS
from cloche_hub.guestlink.link import await_agent
from cloche_hub.images.images import ImageCache
from cloche_hub.ports import Image
from cloche_hub.vm.argv import KVM
from cloche_hub.vm.boot import Users
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.facts import Host
from cloche_hub.vm.probe import prove_kvm
from cloche_hub.vm.template import Shape
from cloche_wire.rendezvous import locations
from tests.hub.vm.world import open_descriptors

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(not os.access("/dev/kvm", os.R_OK | os.W_OK), reason="no /dev/kvm that we may open"),
]

_PROVE_S = 20.0


async def test_a_verdict_is_reached_in_time_and_leaves_no_process(
    tmp_path: Path, minimal_image: Image
) -> None:
    host, before = Host(), open_descriptors()
    shape = Shape(await host.qemu(), host.arch, KVM, minimal_image.digest, FLAVORS[DEFAULT_FLAVOR])
    async with asyncio.timeout(_PROVE_S + 20), ImageCache(locations().cache) as images:
        with images.hold(minimal_image.digest) as image:
            verdict = await prove_kvm(
                shape,
                image,
                machines=tmp_path / "booting",
                users=Users(None, host),
                await_agent=await_agent,
                bounds=Bounds(prove_s=_PROVE_S),
                progress=lambda _step: None,
            )
    # Which one it is depends on the host; that there is one does not.
    assert verdict.accelerator in ("kvm", "tcg")
    assert verdict.reason
    assert list((tmp_path / "booting").iterdir()) == []
    assert open_descriptors() == before
