"""Stored screens become terminals again."""

from __future__ import annotations

import contextlib

import msgpack
import pytest
from structlog.testing import capture_logs

from cloche_hub.errors import StoreFailed
from cloche_hub.ports import Size, StoredScreen
from cloche_hub.services.consoles import stored as stored_module
from cloche_hub.services.consoles.stored import ReopenStored, load_look, load_screen, reopen_blank, restored
from cloche_term import TerminalLost, open_terminal
from cloche_term.apart.terminals import Terminals
from tests.hub.domain.examples import console
from tests.support.fake_screens import FakeScreens
from tests.support.hub import until
from tests.term.apart.hostile import CRASH, LABOUR

SIZE = Size(4, 20)


def snapshot_of(data: bytes) -> bytes:
    with contextlib.closing(open_terminal(4, 20)) as terminal:
        terminal.feed(data)
        return terminal.snapshot()


@pytest.mark.parametrize(
    ("stored", "row", "size"),
    [
        (StoredScreen(0, None, ()), "", (4, 20)),
        (StoredScreen(0, None, (b"ab", Size(6, 30), b"c")), "abc", (6, 30)),
        (StoredScreen(2, snapshot_of(b"ab"), (b"c",)), "abc", (4, 20)),
    ],
)
async def test_a_stored_screen_is_what_was_shown(
    stored: StoredScreen, row: str, size: tuple[int, int], terminals: Terminals
) -> None:
    terminal = await restored(terminals, stored, SIZE)
    look = await terminal.look()
    assert (look.lines[0], (look.rows, look.cols)) == (row, size)


async def test_a_stored_screen_that_crashes_is_no_terminal(terminals: Terminals) -> None:
    with pytest.raises(TerminalLost):
        await restored(terminals, StoredScreen(0, None, (b"one", CRASH, b"two")), Size(24, 80))


async def test_a_stored_screen_is_not_waited_for_for_ever(
    terminals: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What workers come from may have to be started first.
    await terminals.open(1, 1)
    monkeypatch.setattr(stored_module, "RESTORE_S", 0.2)
    with pytest.raises(TimeoutError):
        await restored(terminals, StoredScreen(0, None, (LABOUR,)), Size(1000, 1000))
    assert all(terminal.is_lost for terminal in terminals._open if terminal.state.rows == 1000)


async def test_a_lost_terminal_is_opened_again_from_what_is_stored_or_empty(terminals: Terminals) -> None:
    screens = FakeScreens()
    reopen = ReopenStored(terminals, screens, "con_1")
    screens.kept["con_1"] = StoredScreen(2, snapshot_of(b"hi"), (b"!",))
    again = await reopen(SIZE, is_blank=False)
    assert ((await again.terminal.look()).lines[0], again.seen) == ("hi!", 3)
    blank = await reopen(Size(7, 9), is_blank=True)
    assert (blank.terminal.state.rows, blank.terminal.state.cols, blank.seen) == (7, 9, 0)
    assert (await reopen_blank(terminals, SIZE)).seen == 0
    del screens.kept["con_1"]
    assert (await reopen(SIZE, is_blank=False)).seen == 0


@pytest.mark.parametrize(
    "stored", [StoredScreen(2, b"another emulator's", ()), StoredScreen(0, None, (CRASH,))]
)
async def test_a_terminal_that_what_is_stored_does_not_make_is_opened_empty(
    stored: StoredScreen, terminals: Terminals
) -> None:
    screens = FakeScreens()
    screens.kept["con_1"] = stored
    with capture_logs() as logs:
        again = await ReopenStored(terminals, screens, "con_1")(Size(24, 80), is_blank=False)
    assert ((await again.terminal.look()).lines[0], again.seen) == ("", 0)
    assert [log["event"] for log in logs] == ["stored_screen_lost"]


async def test_an_ended_console_shows_what_it_showed_last(terminals: Terminals) -> None:
    screens = FakeScreens()
    ended = console()
    screens.kept[ended.id] = StoredScreen(2, snapshot_of(b"hi"), ())
    packed = await load_screen(terminals, screens, ended, scrollback=0)
    messages = [msgpack.unpackb(one) for one in packed]
    assert messages[0] == {"screen": {"rows": 4, "cols": 20, "lost_bytes": 0}}
    assert b"hi" in messages[1]["output"]
    assert messages[-1] == {"live": 0}
    look = await load_look(terminals, screens, ended)
    assert look is not None
    assert look.lines[0] == "hi"
    await until(lambda: all(terminal.has_ended for terminal in terminals._open))


async def test_who_wants_a_screen_that_could_not_be_kept_is_told_so(terminals: Terminals) -> None:
    packed = await load_screen(terminals, FakeScreens(), console(), scrollback=0)
    assert [next(iter(msgpack.unpackb(one))) for one in packed] == ["screen", "live", "notice"]


async def test_a_screen_that_cannot_be_read_is_none(
    monkeypatch: pytest.MonkeyPatch, terminals: Terminals
) -> None:
    screens = FakeScreens()
    screens.kept[console().id] = StoredScreen(2, b"another emulator's", ())
    with capture_logs() as logs:
        assert await load_look(terminals, screens, console()) is None

        async def fail(_console_id: str) -> None:
            raise StoreFailed("broken")

        monkeypatch.setattr(screens, "load", fail)
        assert await load_look(terminals, screens, console()) is None
    assert [log["event"] for log in logs] == ["last_screen_lost"] * 2
