"""Machines that outlived their hub: found, and never mistaken for something else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloche_hub.ports import StrayMachine
from cloche_hub.vm.folder import MachineFolder, Record
from cloche_hub.vm.process import start_ticks
from cloche_hub.vm.qemu import MACHINE_VARIABLE
from cloche_hub.vm.strays import end_stray, find_strays, sweep

BOUND_S = 10.0


class Stray:
    """A process with a machine's folder and lock."""

    def __init__(self, parent: Path, *, name: str = "sb_1") -> None:
        self.folder, lock = MachineFolder.create(parent, name)
        with lock:
            environment = {MACHINE_VARIABLE: str(self.folder.path), "PATH": os.environ["PATH"]}
            self.process = subprocess.Popen(["sleep", "60"], pass_fds=[lock.fileno()], env=environment)

    def record(self, *, start: int | None = None) -> None:
        """Writes down which process it is."""
        born = start_ticks(self.process.pid) if start is None else start
        self.folder.write_record(Record("sb_1", self.process.pid, born, "tcg", "1" * 32, "small", "now"))


@pytest.fixture
def stray(tmp_path: Path) -> Iterator[Stray]:
    one = Stray(tmp_path)
    yield one
    one.process.kill()
    with contextlib.suppress(ChildProcessError):
        one.process.wait()


async def _end(folder: MachineFolder) -> None:
    async with asyncio.timeout(BOUND_S):
        await end_stray(folder)


def test_a_machine_nobody_owns_is_found_by_its_record(stray: Stray, tmp_path: Path) -> None:
    stray.record()
    assert find_strays(tmp_path, owned=set()) == [StrayMachine("sb_1", stray.process.pid, "tcg")]
    assert find_strays(tmp_path, owned={"sb_1"}) == []


def test_a_machine_whose_hub_was_killed_before_it_wrote_the_record_is_found_all_the_same(
    stray: Stray, tmp_path: Path
) -> None:
    assert find_strays(tmp_path, owned=set()) == [StrayMachine("sb_1", stray.process.pid, "unknown")]


@pytest.mark.parametrize("is_recorded", [True, False])
async def test_ending_it_leaves_neither_process_nor_folder(
    stray: Stray, tmp_path: Path, *, is_recorded: bool
) -> None:
    if is_recorded:
        stray.record()
    await _end(stray.folder)
    assert not Path(f"/proc/{stray.process.pid}").exists()
    assert list(tmp_path.iterdir()) == []
    await _end(stray.folder)


async def test_a_process_that_has_only_got_the_same_number_is_left_alone(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        with lock:
            folder.write_record(Record("sb_1", bystander.pid, 1, "tcg", "1" * 32, "small", "now"))
            assert find_strays(tmp_path, owned=set()) == []
            await _end(folder)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


async def test_a_dead_machine_s_folder_is_no_stray_and_is_swept(tmp_path: Path) -> None:
    folder, lock = MachineFolder.create(tmp_path, "sb_1")
    folder.disk.write_bytes(b"x" * 4096)
    lock.close()
    assert find_strays(tmp_path, owned=set()) == []
    assert sweep(tmp_path, owned={"sb_1"}) == 0
    assert sweep(tmp_path, owned=set()) == 4096


def test_a_live_machine_is_not_swept(stray: Stray, tmp_path: Path) -> None:
    assert sweep(tmp_path, owned=set()) == 0
    assert stray.folder.path.exists()
