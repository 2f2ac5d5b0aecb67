"""Recordings played in a real terminal, as a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cloche.cli.viewing.playing import Pace
from tests.support.terminal import cloche_in_terminal


def _cast(folder: Path, *events: tuple[float, str, str], rows: int = 30, cols: int = 100) -> str:
    path = folder / "session.cast"
    header = {"version": 2, "width": cols, "height": rows, "title": "box/1"}
    path.write_text("\n".join(json.dumps(line) for line in (header, *events)))
    return str(path)


@pytest.mark.parametrize(
    ("pace", "gap", "wait"),
    [(Pace(), 3.0, 3.0), (Pace(4.0), 3.0, 0.75), (Pace(2.0, 1.0), 3.0, 0.5), (Pace(2.0, 1.0), 0.5, 0.25)],
)
def test_the_pace_is_faster_and_idles_no_longer_than_asked(pace: Pace, gap: float, wait: float) -> None:
    assert pace.wait_s(gap) == wait


async def test_it_is_played_to_its_end_and_the_terminal_is_given_back(tmp_path: Path) -> None:
    cast = _cast(
        tmp_path,
        (0.0, "o", "one\r\n"),
        (0.1, "o", "\x1b[?1049htwo\x1b[?1000h\x1b[6n"),
        (9999.0, "o", "three"),
    )
    async with cloche_in_terminal("record", "play", cast, "--idle-limit", "1ms") as terminal:
        assert await terminal.ends() == 0
    for shown in (b"one", b"two", b"three"):
        assert shown in terminal.seen
    assert b"\x1b[?1000h" not in terminal.seen
    assert (terminal.answers, terminal.is_alternate) == (b"", False)


async def test_space_pauses_and_a_dot_is_the_next_step_and_q_quits(tmp_path: Path) -> None:
    cast = _cast(tmp_path, (0.0, "o", "one\r\n"), (5000.0, "o", "two\r\n"), (9999.0, "o", "three\r\n"))
    async with cloche_in_terminal("record", "play", cast) as terminal:
        await terminal.has_on_screen("one", "space pauses, q quits")
        terminal.type(b" ")
        await terminal.has_on_screen("paused at 0:00")
        terminal.type(b".")
        await terminal.has_on_screen("two")
        terminal.type(b"q")
        assert await terminal.ends() == 0
    assert b"three" not in terminal.seen


async def test_a_recording_of_another_size_is_painted_and_stays_at_its_end(tmp_path: Path) -> None:
    cast = _cast(tmp_path, (0.0, "o", "one"), (0.0, "r", "20x4"), (0.0, "o", "\r\ntwo"), rows=3, cols=10)
    async with cloche_in_terminal("record", "play", cast) as terminal:
        await terminal.has_on_screen("one" + " " * 17 + "│\ntwo", "the end · any key leaves")
        await terminal.has_on_screen("0:00 · box/1 · 20x4 · space pauses")
        terminal.type(b" ")
        assert await terminal.ends() == 0


async def test_the_window_may_change_while_it_is_played(tmp_path: Path) -> None:
    cast = _cast(tmp_path, (0.0, "o", "one\r\n"), (9999.0, "o", "two"))
    async with cloche_in_terminal("record", "play", cast) as terminal:
        await terminal.has_on_screen("one")
        terminal.resize(10, 60)
        await terminal.has_on_screen("one", "0:00 · box/1 · 100x30 · space pauses, q quits")
        terminal.resize(30, 100)
        await terminal.until(lambda: not terminal.is_alternate)
        terminal.type(b"q")
        assert await terminal.ends() == 0


async def test_ctrl_c_leaves_as_any_interrupted_command_does(tmp_path: Path) -> None:
    cast = _cast(tmp_path, (0.0, "o", "one\r\n"), (9999.0, "o", "two"))
    async with cloche_in_terminal("record", "play", cast) as terminal:
        await terminal.has_on_screen("one")
        terminal.type(b"\x03")
        assert await terminal.ends() == 130


@pytest.mark.parametrize("size", [(30, 100), (10, 90)])
async def test_that_it_is_paused_is_seen_beside_a_marker_and_after_a_step(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    cast = _cast(
        tmp_path,
        (0.0, "o", "one\r\n"),
        (5000.0, "m", "bob drives now"),
        (5001.0, "o", "\x1b[999Htwo"),
        (9999.0, "o", "three"),
        rows=size[0],
        cols=size[1],
    )
    async with cloche_in_terminal("record", "play", cast) as terminal:
        await terminal.has_on_screen("one", "q quits")
        terminal.type(b" ")
        await terminal.has_on_screen("paused at 0:00", "q quits")
        terminal.type(b".")
        await terminal.has_on_screen("paused at 1:23:20 · bob drives now", ". is the next step")
        terminal.type(b".")
        await terminal.has_on_screen("paused at 1:23:21", ". is the next step")
        terminal.type(b" ")
        await terminal.has_on_screen("space pauses")
        assert "paused at" not in terminal.screen
        terminal.type(b"q")
        assert await terminal.ends() == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [("", "there is nothing in this recording"), ("hello\n", "line 1 is not as asciicast v2 has it")],
)
async def test_what_is_no_recording_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "x.cast"
    path.write_text(text)
    async with cloche_in_terminal("record", "play", str(path)) as terminal:
        assert await terminal.ends() == 125
    assert line in terminal.screen
