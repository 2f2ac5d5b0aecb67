"""`cloche files ls | cat | rm | mkdir | stat`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub


@pytest.fixture
async def guest(hub: LocalHub, cloche: Cloche) -> Path:
    """The user's home in a sandbox `box`, with a file, a folder and a link."""
    await cloche("create", "--name", "box")
    home = hub.tree("box") / "home/user"
    (home / "d").mkdir(parents=True)
    (home / "a").write_text("hello\n")
    (home / "a").chmod(0o640)
    (home / "l").symlink_to("a")
    return home


async def test_a_folder_is_listed_by_name(cloche: Cloche, guest: Path) -> None:
    (guest / "bad\nname").write_text("")
    ran = await cloche("files", "ls", "box")
    heading, *lines = ran.out.splitlines()
    assert heading.split() == ["MODE", "UID", "SIZE", "CHANGED", "NAME"]
    assert [(line.split()[0], line.split()[-1]) for line in lines] == [
        ("-rw-r-----", "a"),
        ("-rw-r--r--", "bad\\nname"),
        ("drwxr-xr-x", "d"),
        ("lrwxrwxrwx", "a"),
    ]
    assert lines[-1].endswith("l → a")
    assert await cloche("files", "ls", "box", "d") == (0, "", "")
    names = [entry["name"] for entry in json.loads((await cloche("files", "ls", "box", "--json")).out)]
    assert names == ["a", "bad\nname", "d", "l"]


async def test_files_are_written_out_as_they_are(program: Cloche, guest: Path) -> None:
    (guest / "b").write_bytes(b"\x1b[2J\n")
    assert await program("files", "cat", "box", "a", "b") == (0, "hello\n\x1b[2J\n", "")
    ran = await program("files", "cat", "box", "nowhere")
    assert (ran.status, ran.err) == (125, "cloche: nowhere: No such file or directory\n")


async def test_a_terminal_gets_what_is_unprintable_made_visible(
    cloche: Cloche, guest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (guest / "b").write_bytes(b"\x1b[2J\r\nend\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert (await cloche("files", "cat", "box", "b")).out == "\\x1b[2J\nend\n"


async def test_folders_are_made_and_things_removed(cloche: Cloche, guest: Path) -> None:
    assert await cloche("files", "mkdir", "box", "-p", "x/y") == (0, "", "")
    assert (await cloche("files", "mkdir", "box", "x")).status == 125
    assert (await cloche("files", "rm", "box", "x")).status == 125
    assert await cloche("files", "rm", "box", "-r", "x", "d", "l") == (0, "", "")
    assert (await cloche("files", "mkdir", "box", "y")).status == 0
    ran = await cloche("files", "rm", "box", "-r", "y", "--json")
    assert (ran.status, json.loads(ran.out)) == (0, {"removed": ["y"]})
    assert [path.name for path in guest.iterdir()] == ["a"]


async def test_what_is_at_a_path_is_shown_without_following_it(cloche: Cloche, guest: Path) -> None:
    out = (await cloche("files", "stat", "box", "a")).out
    told = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (told["path"], told["size"], told["mode"]) == ("/home/user/a", "6 bytes", "-rw-r----- (0640)")
    assert told["owner"] == f"{os.getuid()}:{os.getgid()}"
    assert "target   a\n" in (await cloche("files", "stat", "box", "l")).out
    assert json.loads((await cloche("files", "stat", "box", "l", "--json")).out)["target"] == "a"
