"""Waits that fit the accelerator."""

from __future__ import annotations

from cloche_hub.vm.argv import KVM, TCG
from cloche_hub.vm.bounds import Bounds


def test_everything_may_take_longer_in_software_emulation() -> None:
    bounds = Bounds(boot_s=1, prove_s=2, settle_s=3, save_s=4, start_s=5, answer_s=6)
    assert bounds.scaled(TCG, 4.0) == Bounds(
        boot_s=4, prove_s=8, settle_s=12, save_s=16, start_s=20, answer_s=24
    )


def test_on_kvm_they_stay() -> None:
    assert Bounds().scaled(KVM, 4.0) == Bounds()
