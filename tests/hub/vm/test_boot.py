"""A cold boot, with a QEMU that is played by a small program."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from cloche_hub.errors import BuildFailed
from cloche_hub.ports import AwaitAgent
from cloche_hub.vm.boot import Boot, Users, booted, open_for
from cloche_hub.vm.boot_log import BootLog
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.facts import Host
from cloche_hub.vm.process import RunAs
from cloche_hub.vm.qemu import Qemu
from cloche_hub.vm.template import Shape
from cloche_hub.vm.uids import UserIds
from cloche_wire.errors import RemoteProtocolError
from tests.hub.vm.world import BOUND_S, BOUNDS, FLAVOR, IMAGE, World, open_descriptors
from tests.support.fake_qemu import greet


@contextlib.asynccontextmanager
async def boot(
    world: World, *faults: str, bounds: Bounds = BOUNDS, await_agent: AwaitAgent = greet
) -> AsyncIterator[Qemu]:
    host = world.host(*faults)
    shape = Shape(await host.qemu(), "x86_64", "tcg", IMAGE, FLAVOR)
    async with asyncio.timeout(BOUND_S):
        with contextlib.ExitStack() as stack:
            image = stack.enter_context(world.hold(IMAGE))
            number = image.descriptor
            it = Boot(shape, image, world.home / "booting", number, number, None, bounds)
            async with booted(it, Users(None, host), await_agent, BootLog()) as qemu:
                yield qemu


async def test_when_the_agent_is_ready_its_link_is_free_again(world: World) -> None:
    async with boot(world) as qemu:
        reader, writer = await qemu.open_link()
        await greet(reader, writer)
        writer.close()


async def test_its_folder_is_gone_with_it(world: World) -> None:
    before = open_descriptors()
    async with boot(world) as qemu:
        assert qemu.folder.path.exists()
    assert (world.left_overs(), world.processes(), open_descriptors()) == ([], [], before)


async def test_a_guest_that_panics_ends_the_wait_at_once_and_is_quoted(world: World) -> None:
    with pytest.raises(BuildFailed, match=r"guest-reset.; its console ends with:\n(.|\n)*Kernel panic"):
        async with boot(world, "boot-panic"):
            pass


async def test_an_agent_that_breaks_the_protocol_is_no_agent(world: World) -> None:
    async def refuse(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        raise RemoteProtocolError("this is not a hello")

    with pytest.raises(BuildFailed, match="its agent did not make sense: this is not a hello"):
        async with boot(world, await_agent=refuse):
            pass


async def test_an_agent_that_never_answers_is_given_up(world: World) -> None:
    with pytest.raises(BuildFailed, match="not ready within"):
        async with boot(world, "deaf", bounds=replace(BOUNDS, boot_s=0.3)):
            pass
    assert world.processes() == []


def test_a_machine_runs_as_we_do_unless_there_are_users_for_machines() -> None:
    users = Users(None, Host())
    assert users.example() is None
    with users.take("tcg") as (run_as, inherit):
        assert (run_as, inherit) == (None, [])


def test_each_machine_has_a_user_of_its_own_and_only_on_kvm_the_device_s_group(tmp_path: Path) -> None:
    device = tmp_path / "kvm"
    device.touch()
    device.chmod(0o660)
    users = Users(UserIds(5000, 5001, tmp_path / "uids"), Host(kvm_device=device))
    with users.take("tcg") as (first, _), users.take("kvm") as (second, inherit):
        assert (first, second) == (RunAs(5000), RunAs(5001, (device.stat().st_gid,)))
        assert len(inherit) == 1


def test_a_file_is_open_as_long_as_its_stack(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with contextlib.ExitStack() as stack:
        descriptor = open_for(stack, tmp_path / "file")
        assert os.read(descriptor, 1) == b"x"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
