"""The whole hypervisor over a QEMU that is played by a small program: every failure, and every moment to cancel."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from cloche_hub.errors import BadRequest, BuildFailed, Conflict, MachineFailed, NotFound
from cloche_hub.ports import MachineExit, Progress
from cloche_hub.vm import clone, qemu, template_build, templates
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.template import Shape
from tests.hub.vm.world import BOUND_S, FLAVOR, IMAGE, World, open_descriptors, other_flavor, spec
from tests.support.fake_qemu import greet


@pytest.fixture(autouse=True)
def _nothing_is_left(world: World) -> Any:
    before = open_descriptors()
    yield
    assert world.processes() == []
    assert world.left_overs() == []
    assert open_descriptors() == before


async def test_a_machine_starts_answers_and_stops(world: World) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        machine = await hypervisor.start(spec())
        reader, writer = await machine.open_link()
        await greet(reader, writer)
        writer.close()
        assert await machine.stop(grace_s=0) == MachineExit("stopped", "stopped by the hub")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the templates that were made."""
    keys = []
    real = template_build.build_template

    async def build(shape: Shape, *args: Any, **kwargs: Any) -> None:
        keys.append(shape.key())
        await real(shape, *args, **kwargs)

    monkeypatch.setattr(templates, "build_template", build)
    return keys


async def test_many_who_prepare_the_same_share_one_making(world: World, made: list[str]) -> None:
    heard: list[list[Progress]] = [[] for _ in range(5)]
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        await asyncio.gather(*(hypervisor.prepare(IMAGE, FLAVOR, progress=steps.append) for steps in heard))
    assert len(made) == 1
    assert {steps[-1].message for steps in heard} == {"the template is ready"}


async def test_a_template_that_is_there_is_not_made_again_by_another_hub(
    world: World, made: list[str]
) -> None:
    for home in ("one", "other"):
        async with asyncio.timeout(BOUND_S), world.hypervisor(home=world.root / home) as hypervisor:
            await hypervisor.prepare(IMAGE, FLAVOR, progress=world.note)
    assert len(made) == 1


async def test_two_hubs_at_once_make_one_template(world: World, made: list[str]) -> None:
    async with (
        asyncio.timeout(BOUND_S),
        world.hypervisor() as one,
        world.hypervisor(home=world.root / "other") as other,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(one.prepare(IMAGE, FLAVOR, progress=world.note))
        tasks.create_task(other.prepare(IMAGE, FLAVOR, progress=world.note))
    assert len(made) == 1


async def test_a_template_of_another_qemu_is_never_loaded(world: World, made: list[str]) -> None:
    for stamp in (1, 2):
        async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
            os.utime(world.root / "fake-qemu", (stamp, stamp))
            await (await hypervisor.start(spec())).stop(grace_s=0)
    assert len(set(made)) == 2


async def test_an_image_that_is_not_there_is_named(world: World) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        with pytest.raises(NotFound, match="no image ffff"):
            await hypervisor.start(spec(image="ffff"))


async def test_a_machine_s_id_is_taken_as_long_as_it_runs(world: World) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        machine = await hypervisor.start(spec())
        with pytest.raises(Conflict):
            await hypervisor.start(spec())
        await machine.stop(grace_s=0)
        await (await hypervisor.start(spec())).stop(grace_s=0)


async def test_an_id_that_would_leave_the_folder_is_refused(world: World) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        with pytest.raises(BadRequest):
            await hypervisor.start(spec("../../etc"))


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        ("arguments", MachineFailed, "I do not like these arguments"),
        ("boot-panic", BuildFailed, "it ended while it booted .guest-reset.(.|\n)*Kernel panic"),
        ("unsaved", MachineFailed, "the fake was told to fail"),
        ("state", MachineFailed, "load of migration failed"),
    ],
)
async def test_what_goes_wrong_is_told_in_qemu_s_or_the_guest_s_words(
    world: World, fault: str, error: type[Exception], words: str
) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor(fault) as hypervisor:
        with pytest.raises(error, match=words):
            await hypervisor.start(spec())


@pytest.mark.parametrize(
    ("fault", "bounds", "words"),
    [
        ("deaf", Bounds(boot_s=0.3, answer_s=10), "not ready within 0 s(.|\n)*fake kernel booted"),
        ("stuck", Bounds(settle_s=0, start_s=0.3, answer_s=10), "did not run within"),
    ],
)
async def test_what_never_happens_ends_at_its_bound(
    world: World, fault: str, bounds: Bounds, words: str
) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor(fault, bounds=bounds) as hypervisor:
        with pytest.raises((MachineFailed, BuildFailed), match=words):
            await hypervisor.start(spec())
        assert all(template.machines == 0 for template in hypervisor._templates._loaded.values())


async def test_bounds_are_longer_in_software_emulation(world: World) -> None:
    bounds = Bounds(boot_s=0.001, settle_s=0, start_s=0.001, answer_s=0.001)
    async with asyncio.timeout(BOUND_S), world.hypervisor(bounds=bounds, tcg_scale=10_000) as hypervisor:
        await (await hypervisor.start(spec())).stop(grace_s=0)


STEPS: list[tuple[Any, str]] = [
    (template_build, "create_overlay"),
    (qemu, "_spawn"),
    (qemu.Qemu, "connect"),
    (template_build, "_settle"),
    (template_build, "_save"),
    (template_build, "copy_sparsely"),
    (template_build, "write_out"),
    (clone, "load_ram"),
    (clone, "start_qemu"),
    (clone, "_restore"),
]


@pytest.mark.parametrize(
    "step", STEPS, ids=[f"{where.__name__.rpartition('.')[2]}.{name}" for where, name in STEPS]
)
async def test_a_start_that_is_cancelled_at_any_step_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str]
) -> None:
    reached = asyncio.Event()
    loop = asyncio.get_running_loop()
    where, name = step

    def noting(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            # From a thread, too: one step runs in one.
            loop.call_soon_threadsafe(reached.set)
            return real(*args, **kwargs)

        return call

    monkeypatch.setattr(where, name, noting(getattr(where, name)))
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor, asyncio.TaskGroup() as tasks:
        starting = tasks.create_task(hypervisor.start(spec()))
        await reached.wait()
        starting.cancel()
        await asyncio.wait([starting])
        assert starting.cancelled()
        assert world.processes() == []
        assert world.left_overs() == []
        monkeypatch.undo()
        await (await hypervisor.start(spec())).stop(grace_s=0)


@pytest.mark.parametrize("turns", range(0, 60, 6))
async def test_a_start_that_is_cancelled_after_any_number_of_turns_leaves_nothing(
    world: World, turns: int
) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        await hypervisor.prepare(IMAGE, FLAVOR, progress=world.note)
        async with asyncio.TaskGroup() as tasks:
            starting = tasks.create_task(hypervisor.start(spec()))
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
            await asyncio.wait([starting])
        if not starting.cancelled():
            # On a busy host it may be done after a few turns.
            await starting.result().stop(grace_s=0)
        assert world.processes() == []
        assert world.left_overs() == []


async def test_an_error_inside_reaches_the_caller_as_it_is(world: World) -> None:
    with pytest.raises(InterruptedError):
        async with asyncio.timeout(BOUND_S), world.hypervisor():
            raise InterruptedError


async def test_status_boots_nothing(world: World) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        status = await hypervisor.status()
    assert (status.accelerator, status.version, status.arch) == ("tcg", "7.2", "x86_64")
    assert "no-kvm" in status.reason


async def test_a_host_without_qemu_has_a_status_that_says_so(world: World) -> None:
    hypervisor = world.hypervisor()
    hypervisor._host._program = "no-such-qemu"
    status = await hypervisor.status()
    assert (status.version, status.accelerator) == ("", "tcg")
    assert "no-such-qemu is missing" in status.reason


async def test_what_is_used_is_kept_and_the_rest_is_pruned(world: World) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        await hypervisor.prepare(IMAGE, other_flavor(8), progress=world.note)
        machine = await hypervisor.start(spec())
        before = {(use.kind, use.name, use.in_use) for use in await hypervisor.uses()}
        assert await hypervisor.prune() > 0
        after = {(use.kind, use.name, use.in_use) for use in await hypervisor.uses()}
        await machine.stop(grace_s=0)
        # What was pruned is made again when it is needed.
        await hypervisor.prepare(IMAGE, other_flavor(8), progress=world.note)
    assert before == {
        ("template", f"{IMAGE[:12]} tiny", True),
        ("template", f"{IMAGE[:12]} tiny8", False),
        ("machine", "sb_one", True),
    }
    assert after == {("template", f"{IMAGE[:12]} tiny", True), ("machine", "sb_one", True)}


async def test_a_hub_that_lets_go_leaves_its_machines_running_and_the_next_one_finds_them(
    world: World,
) -> None:
    async with asyncio.timeout(BOUND_S):
        async with world.hypervisor() as hypervisor:
            machine = await hypervisor.start(spec())
            pid = machine._qemu.process.pid
            assert await hypervisor.find_strays() == []
        with pytest.raises(MachineFailed, match="let go"):
            await machine.wait_exit()
        assert world.processes() == [pid]
        async with world.hypervisor() as hypervisor:
            (stray,) = await hypervisor.find_strays()
            assert (stray.machine_id, stray.pid, stray.accelerator) == ("sb_one", pid, "tcg")
            await hypervisor.prune()
            assert world.processes() == [pid]
            await hypervisor.end_stray("sb_one")
            await hypervisor.end_stray("sb_one")
            assert await hypervisor.find_strays() == []


async def test_a_new_hub_ends_what_a_killed_one_was_booting(world: World) -> None:
    async with asyncio.timeout(BOUND_S):
        async with world.hypervisor() as hypervisor:
            await (await hypervisor.start(spec())).stop(grace_s=0)
            machine = await hypervisor.start(spec("boot-left"))
        (world.home / "machines" / "boot-left").rename(world.home / "booting" / "boot-left")
        assert len(world.processes()) == 1
        async with world.hypervisor():
            assert world.processes() == []
    assert not machine._qemu.folder.path.exists()


async def test_the_memory_of_a_template_is_let_go_when_others_were_used_since(world: World) -> None:
    async with asyncio.timeout(BOUND_S), world.hypervisor() as hypervisor:
        before = open_descriptors()
        for memory_mib in (8, 12, 16, 20, 24):
            await hypervisor.prepare(IMAGE, other_flavor(memory_mib), progress=world.note)
        # Three templates stay, each with its memory and its kernel.
        assert open_descriptors() == before + 6
