"""Which accelerator, and how that is known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from cloche_hub.vm.argv import KVM, TCG
from cloche_hub.vm.boot import Users
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.facts import boot_id
from cloche_hub.vm.probe import (
    UNPROVEN,
    Verdict,
    Verdicts,
    choose_accelerator,
    proof_key,
    prove_kvm,
    standing_verdict,
)
from cloche_hub.vm.template import Shape
from tests.hub.vm.world import BOUND_S, BOUNDS, FLAVOR, IMAGE, World, open_descriptors, other_flavor
from tests.support.fake_qemu import greet

WORKS = Verdict(KVM, "a guest came up on KVM")
BROKEN = Verdict(TCG, "no guest comes up")


@pytest.fixture
def verdicts(tmp_path: Path) -> Verdicts:
    return Verdicts(tmp_path / "cache" / "kvm.json")


async def _shape(world: World, *faults: str) -> Shape:
    return Shape(await world.host(*faults).qemu(), "x86_64", KVM, IMAGE, FLAVOR, "host")


async def _prove(world: World, *faults: str, bounds: Bounds = BOUNDS) -> Verdict:
    with world.hold(IMAGE) as image:
        return await prove_kvm(
            await _shape(world, *faults),
            image,
            machines=world.home / "booting",
            users=Users(None, world.host(*faults)),
            await_agent=greet,
            bounds=bounds,
            progress=world.note,
        )


async def test_a_guest_that_comes_up_proves_it(world: World) -> None:
    async with asyncio.timeout(BOUND_S):
        assert await _prove(world) == WORKS


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("arguments", "I do not like these arguments"),
        ("boot-panic", "it ended while it booted"),
        ("deaf", "not ready within 0 s"),
    ],
)
async def test_a_guest_that_does_not_come_up_disproves_it_and_leaves_nothing(
    world: World, fault: str, words: str
) -> None:
    before = open_descriptors()
    bounds = replace(BOUNDS, prove_s=0.4)
    async with asyncio.timeout(BOUND_S):
        verdict = await _prove(world, fault, bounds=bounds)
    assert verdict.accelerator == TCG
    assert words in verdict.reason
    assert "\n" not in verdict.reason
    assert (world.processes(), world.left_overs(), open_descriptors()) == ([], [], before)


async def test_it_is_proven_once_and_remembered(verdicts: Verdicts) -> None:
    proofs = []

    async def prove() -> Verdict:
        proofs.append(1)
        return BROKEN

    for _ in range(3):
        assert await choose_accelerator(verdicts, lambda: f"{boot_id()}/key", None, prove) == BROKEN
    assert len(proofs) == 1


async def test_where_something_speaks_against_it_nothing_is_booted(verdicts: Verdicts) -> None:
    async def prove() -> Verdict:
        raise AssertionError

    def key() -> str:
        raise AssertionError

    verdict = await choose_accelerator(verdicts, key, "there is no /dev/kvm", prove)
    assert verdict == Verdict(TCG, "there is no /dev/kvm")


def test_before_any_proof_nothing_is_claimed(verdicts: Verdicts) -> None:
    assert standing_verdict(verdicts, None).accelerator == UNPROVEN
    assert standing_verdict(verdicts, "there is no /dev/kvm").accelerator == TCG


def test_the_newest_proof_of_this_boot_counts(verdicts: Verdicts) -> None:
    verdicts.keep(f"{boot_id()}/one", WORKS)
    verdicts.keep(f"{boot_id()}/other", BROKEN)
    assert standing_verdict(verdicts, None) == BROKEN
    verdicts.keep(f"{boot_id()}/one", WORKS)
    assert standing_verdict(verdicts, None) == WORKS


def test_proofs_of_another_boot_are_forgotten(verdicts: Verdicts) -> None:
    verdicts.keep("another-boot/one", WORKS)
    assert verdicts.latest() is None
    verdicts.keep(f"{boot_id()}/one", BROKEN)
    assert verdicts.find("another-boot/one") is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', '{"a": {"x": "y"}}'])
def test_a_broken_file_only_means_to_prove_it_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "kvm.json").write_text(content.replace('"a"', f'"{boot_id()}/a"'))
    verdicts = Verdicts(tmp_path / "kvm.json")
    assert verdicts.find(f"{boot_id()}/a") is None
    assert verdicts.latest() is None
    verdicts.keep(f"{boot_id()}/a", WORKS)
    assert verdicts.find(f"{boot_id()}/a") == WORKS


async def test_a_proof_holds_for_every_size_of_machine_but_for_one_kernel(world: World) -> None:
    shape = await _shape(world)
    key = proof_key(shape, world.files.kernel)
    assert proof_key(replace(shape, flavor=other_flavor(8), accelerator=TCG), world.files.kernel) == key
    assert key.startswith(boot_id())
    world.files.kernel.write_bytes(b"another kernel")
    assert proof_key(shape, world.files.kernel) != key
