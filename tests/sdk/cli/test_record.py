"""`cloche record`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub
from tests.support.local_recordings import LocalRecording
from tests.support.terminal import cloche_in_terminal


@pytest.fixture
def recording(hub: LocalHub) -> LocalRecording:
    """A recording of a hub's console, and one that is under way."""
    made = hub.recordings.add(of="con_1", sandbox="sb_1", command=["make", "-j4"], title="building\x1b[2J")
    made.output(b"compiling\r\n\x1b[6nerror: no rule\r\n")
    made.finish()
    hub.recordings.add(of="con_2", sandbox="sb_2", sandbox_name="other")
    return made


async def test_recordings_are_listed_newest_first(cloche: Cloche, recording: LocalRecording) -> None:
    ran = await cloche("record", "ls")
    assert (ran.status, ran.err) == (0, "")
    heading, under_way, finished = ran.out.splitlines()
    assert heading.split() == ["ID", "KIND", "SANDBOX", "STARTED", "LENGTH", "SIZE", "COMMAND", "TITLE"]
    assert under_way.split()[0] == "rec_0002"
    assert "under way" in under_way
    assert "a shell" in under_way
    assert "make -j4" in finished
    assert "building\\x1b[2J" in finished


async def test_recordings_of_one_sandbox_and_so_many_are_listed(
    cloche: Cloche, recording: LocalRecording
) -> None:
    infos = json.loads((await cloche("record", "ls", "box", "--json")).out)
    assert [info["id"] for info in infos] == ["rec_0001"]
    ran = await cloche("record", "ls", "--lines", "1")
    assert ran.err == "cloche: … 1 more; narrow with a sandbox, or ask for more with --lines\n"


async def test_a_recording_is_written_to_a_file_or_standard_output(
    cloche: Cloche, recording: LocalRecording, tmp_path: Path
) -> None:
    assert (await cloche("record", "export", "rec_0001")).out.encode() == recording.text
    file = tmp_path / "session.cast"
    assert await cloche("record", "export", "rec_0001", str(file)) == (0, "", "")
    assert file.read_bytes() == recording.text


async def test_a_recording_that_is_not_there_leaves_no_file(
    cloche: Cloche, hub: LocalHub, tmp_path: Path
) -> None:
    file = tmp_path / "session.cast"
    ran = await cloche("record", "export", "rec_9", str(file))
    assert (ran.status, ran.err) == (125, "cloche: no recording 'rec_9'; `cloche record ls` lists them\n")
    assert not file.exists()


async def test_lines_are_found_with_their_times(cloche: Cloche, recording: LocalRecording) -> None:
    ran = await cloche("record", "search", "no rule")
    assert ran == (0, "rec_0001     0:00  \\x1b[6nerror: no rule\n", "")
    hits = json.loads((await cloche("record", "search", "compiling", "--json")).out)
    assert hits == [{"recording": "rec_0001", "at_s": 0.25, "line": "compiling"}]


async def test_nothing_found_is_told_by_the_exit_status(cloche: Cloche, recording: LocalRecording) -> None:
    assert await cloche("record", "search", "elephant") == (1, "", "")
    ran = await cloche("record", "search", "")
    assert (ran.status, ran.err) == (125, "cloche: there is nothing to look for\n")


async def test_a_hub_s_recording_is_played(recording: LocalRecording) -> None:
    async with cloche_in_terminal(
        "record", "play", "rec_0001", "--speed", "100", rows=24, cols=80
    ) as terminal:
        assert await terminal.ends() == 0
    assert b"error: no rule" in terminal.seen
    assert terminal.answers == b""


async def test_playing_wants_a_terminal_and_says_what_to_use(program: Cloche) -> None:
    ran = await program("record", "play", "rec_1")
    assert (ran.status, ran.err) == (
        125,
        "cloche: playing needs a terminal for its input and output; `cloche record export` has the text\n",
    )  # fmt: skip


@pytest.mark.parametrize("option", [("--speed", "0"), ("--idle-limit", "soon")])
async def test_a_pace_that_makes_no_sense_is_refused(cloche: Cloche, option: tuple[str, str]) -> None:
    async with cloche_in_terminal("record", "play", "rec_1", *option) as terminal:
        assert await terminal.ends() == 2


async def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with cloche_in_terminal("record", "play", str(tmp_path / "no.cast")) as terminal:
        assert await terminal.ends() == 125
    assert "no.cast" in terminal.screen
