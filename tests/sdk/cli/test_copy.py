"""`cloche cp`."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import pty
from pathlib import Path

import pytest

from tests.sdk.cli.conftest import Cloche, start
from tests.support.local_hub import LocalHub


@pytest.fixture
async def guest(hub: LocalHub, cloche: Cloche) -> Path:
    """The user's home in a sandbox `box`."""
    await cloche("create", "--name", "box")
    home = hub.tree("box") / "home/user"
    home.mkdir(parents=True)
    return home


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder the command line is in."""
    folder = tmp_path / "here"
    (folder / "d/e").mkdir(parents=True)
    (folder / "a").write_text("hello")
    (folder / "d/e/b").write_text("deep")
    monkeypatch.chdir(folder)
    return folder


def _holds(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


async def test_a_file_goes_in_and_comes_out(cloche: Cloche, guest: Path, here: Path) -> None:
    assert await cloche("cp", "a", "box:") == (0, "", "")
    assert await cloche("cp", "a", "box:other") == (0, "", "")
    assert _holds(guest) == {"a": "hello", "other": "hello"}
    assert await cloche("cp", "box:other", "back") == (0, "", "")
    assert (here / "back").read_text() == "hello"


async def test_folders_follow_the_rules_of_cp(cloche: Cloche, guest: Path, here: Path) -> None:
    await cloche("cp", "d", "box:new")
    await cloche("cp", "-r", "d", "box:new")
    await cloche("cp", "d/.", "box:")
    assert _holds(guest) == {"new/e/b": "deep", "new/d/e/b": "deep", "e/b": "deep"}
    await cloche("cp", "box:/home/user/new/", "d")
    await cloche("cp", "box:new/.", "fresh/")
    assert sorted(_holds(here)) == ["a", "d/e/b", "d/new/d/e/b", "d/new/e/b", "fresh/d/e/b", "fresh/e/b"]


async def test_several_go_into_a_folder_that_is_there(cloche: Cloche, guest: Path, here: Path) -> None:
    assert await cloche("cp", "a", "d", "box:.") == (0, "", "")
    assert _holds(guest) == {"a": "hello", "d/e/b": "deep"}
    ran = await cloche("cp", "a", "d", "box:nowhere")
    assert (ran.status, "box:nowhere: there is no such folder" in ran.err) == (125, True)


@pytest.mark.parametrize("words", [("a", "box:nowhere/"), ("a/", "box:x"), ("box:x", "nowhere/")])
async def test_a_slash_asks_for_a_folder(
    cloche: Cloche, guest: Path, here: Path, words: tuple[str, str]
) -> None:
    (guest / "x").write_text("")
    ran = await cloche("cp", *words)
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (125, "", 1)
    assert _holds(guest) == {"x": ""}


async def test_errors_are_one_line_that_names_the_file(cloche: Cloche, guest: Path, here: Path) -> None:
    (guest / "d").mkdir()
    (here / "x").mkdir()
    (guest / "x").write_text("")
    for words, line in (
        (("nowhere", "box:"), "cannot use nowhere: No such file or directory"),
        (("box:nowhere", "."), "nowhere: No such file or directory"),
        (("box:x", "a/b"), "/here/a: Not a directory"),
        (("a", "nosuch:"), "no sandbox 'nosuch'; `cloche ls` lists them"),
        (("d", "box:x"), "x: File exists"),
    ):
        ran = await cloche("cp", *words)
        assert (ran.status, ran.out, len(ran.err.splitlines())) == (125, "", 1), ran
        assert line in ran.err


async def test_both_sides_here_is_wrong_usage(cloche: Cloche, home: Path) -> None:
    ran = await cloche("cp", "a", "b")
    assert ran.status == 2
    assert "SANDBOX:PATH" in ran.err
    assert (await cloche("cp", "--json", "box:a", "-")).status == 2


async def test_standard_input_and_output(program: Cloche, guest: Path) -> None:
    assert await program("cp", "-", "box:in", stdin=b"hello\n") == (0, "", "")
    assert (guest / "in").read_text() == "hello\n"
    (guest / "d").mkdir()
    for place, behind in (("box:", "box:"), ("box:d", "box:d/")):
        ran = await program("cp", "-", place, stdin=b"hello\n")
        assert (ran.status != 0, f"give a file name behind {behind}" in ran.err) == (True, True)
    assert _holds(guest) == {"in": "hello\n"}
    assert await program("cp", "box:in", "-") == (0, "hello\n", "")
    ran = await program("cp", "box:.", "-")
    assert (ran.status, ran.out) == (125, "")


async def test_much_passes_through_pipes_untouched(guest: Path) -> None:
    content = os.urandom(3 << 20)
    async with asyncio.timeout(30):
        process = await start("cp", "-", "box:big", stdin=True)
        await process.communicate(content)
        process = await start("cp", "box:big", "-")
        out, err = await process.communicate()
    assert (err, hashlib.sha256(out).digest()) == (b"", hashlib.sha256(content).digest())


async def test_a_pipe_with_a_name_is_poured(cloche: Cloche, guest: Path, here: Path) -> None:
    os.mkfifo(here / "pipe")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(asyncio.to_thread((here / "pipe").write_text, "poured"))
        assert await cloche("cp", "pipe", "box:x") == (0, "", "")
    assert (guest / "x").read_text() == "poured"


async def test_json_says_what_was_copied(cloche: Cloche, guest: Path, here: Path) -> None:
    summary = json.loads((await cloche("cp", "a", "d", "box:", "--json")).out)
    assert summary.pop("duration_s") > 0
    assert summary == {"files": 2, "bytes": 9, "skipped": []}


async def test_what_is_left_out_is_told_and_is_status_1(cloche: Cloche, guest: Path, here: Path) -> None:
    (guest / "t").mkdir()
    (guest / "t/out").symlink_to("/etc/passwd")
    for number in range(25):
        os.mkfifo(guest / f"t/fifo{number}")
    ran = await cloche("cp", "box:t", ".")
    assert (ran.status, ran.out) == (1, "")
    lines = ran.err.splitlines()
    assert (len(lines), lines[-1]) == (21, "cloche: left out 6 more")
    summary = json.loads((await cloche("cp", "box:t", ".", "--json")).out)
    assert {"path": "box:t/out", "reason": "the link could lead out of what is copied"} in summary["skipped"]
    assert list((here / "t").iterdir()) == []


async def test_the_user_is_passed_on(cloche: Cloche, guest: Path, here: Path, hub: LocalHub) -> None:
    await cloche("cp", "--user", "root", "a", "box:/x")
    assert {params.get("user") for kind, params in hub.asked if kind.startswith("file.")} == {"root"}


async def _on_terminal(*words: str) -> tuple[int | None, bytes]:
    """Runs it with a terminal as its standard error; returns its status and what the terminal was shown."""
    ours, theirs = pty.openpty()
    try:
        process = await start(*words, stderr=theirs, env={"TERM": "xterm", "COLUMNS": "120"})
        os.close(theirs)
        shown = await asyncio.to_thread(_read_all, ours)
        await process.communicate()
        return process.returncode, shown
    finally:
        os.close(ours)


def _read_all(terminal: int) -> bytes:
    shown = b""
    # A terminal nobody holds open any more is an error to read.
    with contextlib.suppress(OSError):
        while True:
            shown += os.read(terminal, 65536)
    return shown


async def test_a_terminal_is_shown_progress_unless_it_is_not_wanted(guest: Path, here: Path) -> None:
    async with asyncio.timeout(30):
        status, shown = await _on_terminal("cp", "d", "box:x")
        assert (status, b"bytes" in shown, b"e/b" in shown) == (0, True, True)
        assert await _on_terminal("cp", "--quiet", "d", "box:y") == (0, b"")
