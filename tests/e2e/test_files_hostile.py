"""Files of real machines where things go wrong: a full disk, odd names and paths, and what is no file."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cloche import aio
from cloche.errors import BadRequest, CodedError, Forbidden, NoSpace, NotFound, WrongState
from tests.e2e.guarded import connected, happened, still_serves, within
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine

_SIZE = 12 << 20

_ODD_NAMES = ["two\nlines", "\x1b[2Jred\x07", " ", "-rf", "*", "'q\"", "日本", "x" * 255]

_IMPOSSIBLE_PATHS = ["", "nul\0", "x" * 5000, "x/" * 2048, "x" * 256, "\ud800"]

_NO_FILES = "mkfifo fifo; ln -s /dev/zero zero; ln -s loop loop; mkdir folder"

# Leaves 4 MiB to the ordinary user.
_FILL = "fallocate -l $(($(stat -f -c '%a * %S' /) - (4 << 20))) /filler"


@pytest.fixture
async def sandbox(guarded_hub: RealHub) -> AsyncIterator[aio.Sandbox]:
    """One whose files are there to be spoilt."""
    async with connected(guarded_hub.address, guarded_hub.token) as hub, hub.create() as made:
        yield made


async def test_a_full_disk_refuses_a_file_and_keeps_nothing_of_it(
    guarded_hub: RealHub, sandbox: aio.Sandbox
) -> None:
    files = sandbox.files
    await files.write("precious", b"as it was")
    await within(sandbox.run(_FILL, user="root", check=True))
    before = [entry.name for entry in await files.list()]
    for path in ("precious", "deep/er/new"):
        with pytest.raises(NoSpace, match="the machine's disk is full"):
            await within(files.write(path, _pieces(), parents=True))
    # Neither the hidden beginnings of files nor folders made for them are left.
    assert [entry.name for entry in await files.list()] == before
    assert await files.read("precious") == b"as it was"
    async with connected(guarded_hub.address, guarded_hub.token) as hub:
        failed = await happened(hub, sandbox.id, "file.failed", path="precious")
    assert failed.detail["code"] == "no_space"
    await still_serves(sandbox)
    await files.write("small", b"x" * 1000)
    await files.remove("/filler", user="root")
    assert (await within(files.write("new", _pieces()))).size_bytes == _SIZE


async def test_paths_are_the_guests_and_its_user_is_the_limit(
    guarded_hub: RealHub, sandbox: aio.Sandbox
) -> None:
    files = sandbox.files
    assert (await files.stat("../../../../../../etc/../etc/passwd")).path == "/etc/passwd"
    assert await files.read("../../etc/passwd") == await files.read("/etc/passwd")
    for of_the_host in (guarded_hub.home / "admin.token", guarded_hub.socket):
        with pytest.raises(NotFound):
            await files.stat(f"../../../../..{of_the_host}")
    await files.symlink("way out", "/etc/shadow")
    for refused in (
        files.read("way out"),
        files.write("way out", b""),
        files.write("../../etc/new", b""),
        files.remove("/etc/passwd"),
        files.chmod("/etc/passwd", 0o666),
        files.rename("/etc/passwd", "/etc/gone"),
        files.list("/root"),
    ):
        with pytest.raises(Forbidden):
            await within(refused)


async def test_names_may_be_odd_and_errors_about_them_stay_on_one_line(sandbox: aio.Sandbox) -> None:
    files = sandbox.files
    for name in _ODD_NAMES:
        await files.write(name, name.encode())
        assert await files.read(name) == name.encode()
    assert {*_ODD_NAMES} <= {entry.name for entry in await files.list()}
    with pytest.raises(NotFound) as caught:
        await files.read("none\n\x1b[2J")
    assert caught.value.message.isprintable()
    for path in _IMPOSSIBLE_PATHS:
        for refused in (files.read(path), files.write(path, b""), files.remove(path), files.list(path)):
            with pytest.raises(BadRequest):
                await within(refused)


async def test_a_name_that_is_no_text_is_seen_and_can_not_be_asked_for(sandbox: aio.Sandbox) -> None:
    await sandbox.run("mkdir d; printf x > d/$(printf 'caf\\351')", check=True)
    (entry,) = await sandbox.files.list("d")
    assert (entry.name, entry.unusable) == ("caf\\xe9", True)
    with pytest.raises(NotFound):
        await sandbox.files.read(f"d/{entry.name}")
    with pytest.raises(BadRequest):
        await sandbox.files.read("d/caf\udce9")
    assert await sandbox.files.remove("d", recursive=True) == 2


async def test_what_is_no_file_is_refused_at_once(sandbox: aio.Sandbox) -> None:
    await sandbox.run(_NO_FILES, check=True)
    for path in ("fifo", "zero", "/dev/zero", "folder", "/run/cloche/callback.sock", "/proc/1/fd/0"):
        for refused in (sandbox.files.read(path), sandbox.files.write(path, b"")):
            with pytest.raises(CodedError) as caught:
                await within(refused)
            assert isinstance(caught.value, WrongState | Forbidden), path
    with pytest.raises(BadRequest):
        await sandbox.files.read("loop")
    # What says that it is empty, and is not.
    assert b"Pid:\t1\n" in await sandbox.files.read("/proc/1/status")
    await still_serves(sandbox)


async def _pieces() -> AsyncIterator[bytes]:
    for _ in range(_SIZE >> 20):
        yield bytes(1 << 20)
