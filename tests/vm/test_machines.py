"""Real clones of real templates: what only the real QEMU and a real guest can show."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cloche_hub.domain.flavors import DEFAULT_FLAVOR, FLAVORS
from cloche_hub.ports import Image, Machine, MachineExit, MachineSpec
from cloche_hub.vm.hypervisor import QemuHypervisor
from cloche_hub.vm.machine import QemuMachine
from tests.support.machines import guest_of, run_in
from tests.vm.conftest import BOUND_S

pytestmark = pytest.mark.machine
MIB = 1 << 20


@contextlib.asynccontextmanager
async def started(
    hypervisor: QemuHypervisor, image: Image, name: str = "one", *, flavor: str = DEFAULT_FLAVOR
) -> AsyncIterator[QemuMachine]:
    """A clone for the time of a context."""
    async with asyncio.timeout(BOUND_S):
        machine = await hypervisor.start(MachineSpec(f"sb_{name}", image.digest, FLAVORS[flavor]))
        try:
            yield machine
        finally:
            await machine.stop(grace_s=0)


async def output(machine: Machine, *argv: str) -> str:
    """What a command in a machine printed."""
    async with guest_of(machine) as guest:
        finished = await run_in(guest, *argv)
        assert finished.exit_code == 0, finished
        return finished.stdout.decode()


def pid_of(machine: QemuMachine) -> int:
    return machine._qemu.process.pid


async def test_commands_run_in_a_clone(hypervisor: QemuHypervisor, minimal_image: Image) -> None:
    async with started(hypervisor, minimal_image) as machine:
        assert await output(machine, "python3", "-c", "print(6 * 7)") == "42\n"


async def test_clones_do_not_see_each_other_s_disk(hypervisor: QemuHypervisor, minimal_image: Image) -> None:
    async with (
        started(hypervisor, minimal_image, "one") as one,
        started(hypervisor, minimal_image, "two") as other,
    ):
        before = (await one.use()).disk_bytes
        await output(one, "sh", "-c", "head -c 20000000 /dev/urandom > /root/mine; sync")
        assert (await one.use()).disk_bytes - before >= 20_000_000
        assert "mine" not in await output(other, "ls", "/root")
    async with started(hypervisor, minimal_image, "three") as third:
        assert "mine" not in await output(third, "ls", "/root")


async def test_clones_do_not_see_each_other_s_memory(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image, "one") as one:
        await output(one, "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x > /dev/shm/mine")
        async with started(hypervisor, minimal_image, "two") as other:
            assert await output(other, "ls", "/dev/shm") == ""


async def test_clones_draw_different_random_numbers(hypervisor: QemuHypervisor, minimal_image: Image) -> None:
    async with (
        started(hypervisor, minimal_image, "one") as one,
        started(hypervisor, minimal_image, "two") as other,
    ):
        draw = ("python3", "-c", "import os; print(os.urandom(16).hex())")
        assert await output(one, *draw) != await output(other, *draw)


async def test_idle_clones_share_most_of_their_memory(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with (
        started(hypervisor, minimal_image, "one") as one,
        started(hypervisor, minimal_image, "two") as other,
    ):
        for machine in (one, other):
            async with guest_of(machine):
                pass
        uses = [await machine.use() for machine in (one, other)]
    # A machine with 512 MiB of its own would use at least what its guest has touched, some 100 MiB.
    assert max(use.memory_pss_bytes for use in uses) < 80 * MIB


async def test_a_clone_with_two_processors_uses_both(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image, flavor="medium") as machine:
        async with guest_of(machine) as guest:
            assert (await run_in(guest, "nproc")).stdout == b"2\n"
            both = await asyncio.gather(*(run_in(guest, "taskset", "-c", str(cpu), "true") for cpu in (0, 1)))
        assert [one.exit_code for one in both] == [0, 0]


async def test_a_guest_that_panics_is_told_apart_and_quoted(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image) as machine:
        async with asyncio.TaskGroup() as tasks:
            ending = tasks.create_task(machine.wait_exit())
            crashing = tasks.create_task(_crash(machine))
            how = await ending
            crashing.cancel()
        assert how.reason == "guest_panic"
        assert "Kernel panic" in how.detail
        assert b"Kernel panic" in await machine.boot_log(max_bytes=MIB)


async def _crash(machine: Machine, *, after: str = "") -> None:
    # The link goes away with the guest.
    with contextlib.suppress(Exception):
        async with guest_of(machine) as guest:
            await run_in(guest, "sh", "-c", f"{after}echo c > /proc/sysrq-trigger")


async def test_a_qemu_that_is_killed_from_outside_has_crashed(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image) as machine:
        os.kill(pid_of(machine), signal.SIGKILL)
        assert await machine.wait_exit() == MachineExit("crashed", "QEMU died of SIGKILL")


async def test_a_guest_that_floods_its_console_costs_neither_memory_nor_disk_nor_its_agent(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image) as machine, guest_of(machine) as guest:
        flood = "setsid sh -c 'yes flood > /dev/console' >/dev/null 2>&1 & head -c 200000 /dev/zero > /dev/console"
        assert (await run_in(guest, "sh", "-c", flood)).exit_code == 0
        assert (await run_in(guest, "echo", "alive")).stdout == b"alive\n"
        log = await machine.boot_log(max_bytes=1 << 30)
        assert len(log) <= 128 << 10
        assert b"flood" in log
        assert (await machine.use()).disk_bytes < 20 * MIB
        files = {path.name for path in machine._qemu.folder.path.iterdir()}
        assert files == {"lock", "machine.json", "disk.qcow2", "qmp.sock", "agent.sock"}


async def test_a_flooded_console_is_followed_until_the_guest_is_dead_and_its_last_words_are_heard(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image) as machine:
        heard = b""
        async with contextlib.aclosing(machine.follow_boot_log()) as console, asyncio.TaskGroup() as tasks:
            crashing = tasks.create_task(_crash(machine, after="yes flood | head -c 300000 > /dev/console; "))
            async for output in console:
                assert len(output.data) <= 128 << 10
                heard = (heard + output.data)[-MIB:]
            crashing.cancel()
        assert b"flood" in heard
        assert b"Kernel panic" in heard
        assert (await machine.wait_exit()).reason == "guest_panic"


async def test_the_boot_log_of_a_clone_begins_with_its_template_s_boot(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image) as machine:
        assert b"Linux version" in await machine.boot_log(max_bytes=MIB)


async def test_a_machine_outlives_its_hub_and_the_next_one_ends_it(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image) as machine:
        record = machine._qemu.folder.read_record()
        assert record is not None
        assert record.pid == pid_of(machine)
        # To another hypervisor over the same home it is a stray.
        hypervisor._machines.clear()
        (stray,) = await hypervisor.find_strays()
        assert (stray.machine_id, stray.pid) == ("sb_one", record.pid)
        await hypervisor.end_stray("sb_one")
        assert (await machine.wait_exit()).reason == "crashed"
        assert not Path(f"/proc/{record.pid}").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give machines users of their own")
async def test_a_machine_has_no_rights_and_a_user_of_its_own(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with (
        started(hypervisor, minimal_image, "one") as one,
        started(hypervisor, minimal_image, "two") as other,
    ):
        status = [_status(pid_of(machine)) for machine in (one, other)]
    for fields in status:
        assert fields["CapEff"] == fields["CapPrm"] == fields["CapBnd"] == "0000000000000000"
        assert (fields["NoNewPrivs"], fields["Groups"]) == ("1", "")
        # 2: system calls are filtered.
        assert fields["Seccomp"] == "2"
    uids = {fields["Uid"] for fields in status}
    assert len(uids) == 2
    assert all(int(uid.split()[0]) >= 1_900_000_000 for uid in uids)


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


async def test_a_machine_has_only_the_files_it_needs_open(
    hypervisor: QemuHypervisor, minimal_image: Image
) -> None:
    async with started(hypervisor, minimal_image) as machine:
        folder = Path(f"/proc/{pid_of(machine)}/fd")
        targets = set()
        for entry in folder.iterdir():
            # It opens and closes some of its own while it runs.
            with contextlib.suppress(FileNotFoundError):
                targets.add(str(entry.readlink()))
    files = {
        Path(target).name for target in targets if target.startswith("/") and not target.startswith("/dev")
    }
    # Disks: its own, its template's, the image's. Locks: its own, its user's, its template's, the image's.
    named = {
        "disk.qcow2",
        "rootfs.ext4",
        "lock",
        "memfd:cloche-ram (deleted)",
        "memfd:cloche-kernel (deleted)",
        "state",
    }
    locks = {name for name in files if name.endswith((".use", ".lock")) or name.isdigit()}
    assert files - named - locks == set()
