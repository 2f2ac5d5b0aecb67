"""Files in a real machine: as its ordinary user, on its own disk, until that is full."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from cloche_hub.ports import Image
from cloche_wire.errors import Forbidden, NoSpace, WrongState
from tests.guest.files.folder import listed, read, write
from tests.support.blocking_link import BlockingLink
from tests.support.real_machines import real_machines

pytestmark = pytest.mark.machine

BOUND_S = 60.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def port(minimal_image: Image, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    """The socket of a clone that has become somebody and serves one test after another."""
    async with real_machines(tmp_path_factory.mktemp("vm"), minimal_image) as machines:
        yield await machines.start_somebody()


@pytest.fixture
def link(port: Path) -> Iterator[BlockingLink]:
    """A link to the clone."""
    with BlockingLink(timeout_s=BOUND_S) as opened:
        opened.connect(port)
        yield opened


def test_a_file_goes_to_the_ordinary_users_home_and_back(link: BlockingLink) -> None:
    data = os.urandom(1 << 20)
    entry = write(link, "folder/f", data, parents=True)
    home = link.run("sh", "-c", "echo $HOME").stdout.decode().strip()
    assert (entry["path"], entry["uid"], entry["mode"]) == (f"{home}/folder/f", 1000, 0o644)
    assert read(link, "folder/f") == data
    assert link.run("sha256sum", f"{home}/folder/f").exit_code == 0
    assert link.call("file.remove", {"path": "folder", "recursive": True}) == {"removed": 2}


def test_the_ordinary_user_may_not_do_what_root_may(link: BlockingLink) -> None:
    with pytest.raises(Forbidden, match="/etc/shadow: Permission denied"):
        read(link, "/etc/shadow")
    assert b"user:" in read(link, "/etc/shadow", user="root")
    with pytest.raises(Forbidden, match="/etc/passwd: Permission denied"):
        write(link, "/etc/passwd", b"me::0:0::/:/bin/sh\n")
    assert write(link, "/root/f", b"x", user="root")["uid"] == 0
    # The identity is the agent's own again.
    assert link.run("id", "-u", user="root").stdout == b"0\n"


def test_pipes_and_devices_are_refused_at_once(link: BlockingLink) -> None:
    assert link.run("mkfifo", "/tmp/pipe").exit_code == 0
    for path in ("/tmp/pipe", "/dev/console", "/dev/zero"):
        with pytest.raises(WrongState, match=f"{path}: it is no regular file"):
            read(link, path, user="root")
        with pytest.raises(WrongState, match=f"{path}: it is no regular file"):
            write(link, path, b"x", user="root")


def test_the_kernels_own_files_are_read_to_their_end(link: BlockingLink) -> None:
    assert read(link, "/proc/self/status", user="root").startswith(b"Name:")
    assert read(link, "/proc/meminfo").startswith(b"MemTotal:")
    # A regular file by its looks, whose reader waits for the kernel's next line; ours does not.
    with pytest.raises(WrongState, match="/proc/kmsg: it has nothing to read now"):
        read(link, "/proc/kmsg", user="root")


FILL = """
import os
with open("filler", "wb") as file:
    there = os.statvfs(".")
    os.posix_fallocate(file.fileno(), 0, (there.f_bavail * there.f_frsize) - (1 << 20))
"""


def test_a_full_disk_is_said_and_leaves_nothing(link: BlockingLink) -> None:
    write(link, "f", b"old")
    filled = link.run("python3", "-I", "-S", "-c", FILL)
    assert filled.exit_code == 0, filled.stderr
    with pytest.raises(NoSpace, match="/f: the machine's disk is full"):
        # Root's reserve is not the user's: the agent writes as who asks.
        write(link, "f", bytes(4 << 20))
    link.ping()
    assert [one["name"] for one in listed(link, ".") if one["name"].startswith(".cloche")] == []
    assert read(link, "f") == b"old"
    assert link.call("file.remove", {"path": "filler", "recursive": False}) == {"removed": 1}
    assert write(link, "f", bytes(4 << 20))["size_bytes"] == 4 << 20
