"""Files between this host and a real machine, through a real hub."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from pathlib import Path

import pytest

from cloche import aio
from cloche.errors import Conflict, Forbidden, NotFound, WrongState
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine


async def test_a_tree_goes_into_a_machine_and_comes_back(
    client_env: RealHub, box: str, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    (source / "d/locked").mkdir(parents=True)
    (source / "d/tool").write_bytes(os.urandom(3 << 20))
    (source / "d/tool").chmod(0o755)
    (source / "d/locked/empty").write_text("")
    (source / "d/locked").chmod(0o555)
    (source / "link").symlink_to("./d//tool")
    for number in range(100):
        (source / f"ä {number}").write_text(str(number))
    async with aio.Hub.connect() as hub, asyncio.timeout(100):
        sandbox = await hub.sandbox(box)
        sent = await sandbox.files.upload(source, "tree")
        assert (sent.files, sent.skipped) == (102, ())
        told = await sandbox.run("cd tree && ls -ld d/locked d/tool && readlink link && sha256sum < d/tool")
        back = await sandbox.files.download("tree", tmp_path / "back")
        assert (back.files, back.bytes, back.skipped) == (sent.files, sent.bytes, ())
        # Its own user cannot remove what is in a folder it may not change.
        there = (await sandbox.files.stat("tree")).path
        await sandbox.files.remove(there, recursive=True, user="root")
    locked, tool, target, digest = told.stdout.splitlines()
    assert (locked[:10], tool[:10], target) == ("dr-xr-xr-x", "-rwxr-xr-x", "./d//tool")
    assert digest.split()[0] == hashlib.sha256((source / "d/tool").read_bytes()).hexdigest()
    for path in source.rglob("*"):
        twin = tmp_path / "back" / path.relative_to(source)
        assert stat.filemode(twin.lstat().st_mode) == stat.filemode(path.lstat().st_mode)
        if path.is_file():
            assert twin.read_bytes() == path.read_bytes()


async def test_what_the_machine_refuses_is_told_by_kind(client_env: RealHub, box: str) -> None:
    async with aio.Hub.connect() as hub, asyncio.timeout(60):
        files = (await hub.sandbox(box)).files
        for expected, attempt in (
            (NotFound, files.read("nowhere")),
            (Forbidden, files.read("/etc/shadow")),
            (Forbidden, files.write("/etc/motd", "x")),
            (Conflict, files.make_dir("/etc")),
            (WrongState, files.read("/etc")),
            (WrongState, files.read("/dev/null")),
        ):
            with pytest.raises(expected):
                await attempt
        assert await files.read_text("/proc/sys/kernel/ostype") == "Linux\n"


def test_copies_on_the_command_line(real_hub: RealHub, box: str, tmp_path: Path) -> None:
    real_hub.cloche("exec", box, "--", "sh", "-c", "mkdir t; ln -s /etc t/out; mkfifo t/pipe; echo hi >t/a")
    ran = real_hub.cloche("cp", "box:t", str(tmp_path / "t"))
    assert ran.status == 1
    assert sorted(ran.err.splitlines()) == [
        "cloche: left out box:t/out: the link could lead out of what is copied",
        "cloche: left out box:t/pipe: it is no file, folder or link",
    ]
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["a"]
    content = os.urandom(1 << 20)
    assert real_hub.cloche("cp", "-", "box:t/b", stdin=content).status == 0
    assert real_hub.cloche("cp", "box:t/b", "-").out == content
    ran = real_hub.cloche("cp", "box:/etc/shadow", str(tmp_path))
    assert (ran.status, "/etc/shadow: Permission denied" in ran.err) == (125, True)
