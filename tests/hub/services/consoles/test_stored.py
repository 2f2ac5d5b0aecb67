"""Stored screens become terminals again."""

from __future__ import annotations

import contextlib

import msgpack
import pytest
from structlog.testing import capture_logs

from cloche_hub.errors import StoreFailed
from cloche_hub.ports import Size, StoredScreen
from cloche_hub.services.consoles.stored import load_screen, load_terminal, restored
from cloche_term import open_terminal
from tests.hub.domain.examples import console
from tests.support.fake_screens import FakeScreens

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
def test_a_stored_screen_is_what_was_shown(stored: StoredScreen, row: str, size: tuple[int, int]) -> None:
    with contextlib.closing(restored(stored, SIZE)) as terminal:
        assert (terminal.text()[0], (terminal.rows, terminal.cols)) == (row, size)


async def test_an_ended_console_shows_what_it_showed_last() -> None:
    screens = FakeScreens()
    ended = console()
    screens.kept[ended.id] = StoredScreen(2, snapshot_of(b"hi"), ())
    messages = [msgpack.unpackb(packed) for packed in await load_screen(screens, ended, scrollback=0)]
    assert messages[0] == {"screen": {"rows": 4, "cols": 20, "lost_bytes": 0}}
    assert b"hi" in messages[1]["output"]
    assert messages[-1] == {"live": 0}


async def test_who_wants_a_screen_that_could_not_be_kept_is_told_so() -> None:
    messages = [
        msgpack.unpackb(packed) for packed in await load_screen(FakeScreens(), console(), scrollback=0)
    ]
    assert [next(iter(message)) for message in messages] == ["screen", "live", "notice"]


async def test_a_screen_that_cannot_be_read_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    screens = FakeScreens()
    screens.kept[console().id] = StoredScreen(2, b"another emulator's", ())
    with capture_logs() as logs:
        assert await load_terminal(screens, console()) is None

        async def fail(_console_id: str) -> None:
            raise StoreFailed("broken")

        monkeypatch.setattr(screens, "load", fail)
        assert await load_terminal(screens, console()) is None
    assert [log["event"] for log in logs] == ["last_screen_lost"] * 2
