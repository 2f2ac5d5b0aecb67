"""An open console between its guest and its viewers: who gets what, who types, and what a guest may say of itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from cloche_hub.domain import driving
from cloche_hub.domain.console import Console, Viewer, ViewerMode
from cloche_hub.domain.driving import AttachMode
from cloche_hub.ports import Entry, Size
from cloche_hub.services.consoles.emulator import MOST_LOSSES, SPENT, Reopened
from cloche_hub.services.consoles.guest_terminal import GuestTerminal
from cloche_hub.services.consoles.live import NOT_DRIVING, LiveConsole
from cloche_hub.services.consoles.stored import reopen_blank
from cloche_hub.services.fair import FairTurns
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_wire.aio import Channel
from tests.hub.domain.examples import console, viewer
from tests.support.console_channels import Ends, channel_ends
from tests.support.consoles import Viewing
from tests.support.hub import ZYGOTE, until, within
from tests.support.links import quiet
from tests.term.apart.hostile import CRASH

CRASH_SMALL = CRASH.replace(b"1;8r", b"1;4r")
"""For a screen of five rows."""


class Scene:
    """A live console with a guest in memory, and what it has told."""

    def __init__(
        self,
        folder: Path,
        guest: Ends,
        terminal: ApartTerminal,
        terminals: Terminals,
        stack: contextlib.AsyncExitStack,
    ) -> None:
        self.entries: list[Entry] = []
        self.marks: list[str] = []
        self.gaps: list[int] = []
        """How many entries there were at each."""
        self.spent: list[str] = []
        self.consoles: list[Console] = []
        self.guest: Channel = guest.offered
        self._folder, self._stack = folder, stack

        async def reopen(size: Size, *, is_blank: bool) -> Reopened:
            del is_blank
            return await reopen_blank(terminals, size)

        self.live = LiveConsole(
            console(rows=5, cols=20),
            terminal,
            reopen=reopen,
            fair=FairTurns(),
            on_changed=self.consoles.append,
            on_spent=self.spent.append,
        )
        self.live.connect(
            GuestTerminal(guest.opened, check_start=dict, on_output=self.live.output),
            add=self.entries.append,
            mark=self.marks.append,
            gap=lambda: self.gaps.append(len(self.entries)),
        )
        self.guest.accept()

    async def join(
        self, mode: str = "drive", *, scrollback: int = 0, backend: str | None = None, **fields: Any
    ) -> Viewing:
        """A viewer who has its screen."""
        ends = await self._stack.enter_async_context(channel_ends(self._folder))
        who: Viewer = viewer(1, **{"id": "", "rows": 5, "cols": 20, **fields})
        line, _step = self.live.join(who, ends.offered, AttachMode(mode), scrollback=scrollback)
        line.accept({"console": {}, "viewer": line.viewer_id})
        accepted = await within(ends.opened.wait_accepted())
        viewing = Viewing(ends.opened, accepted, backend=backend)
        await viewing.until_whole()
        return viewing

    async def show(self, data: bytes) -> None:
        """The guest shows something, and the emulator has seen it."""
        self.live.output(data)
        await within(self.live.wait_fed())

    async def text(self) -> list[str]:
        """The rows of its screen that are not blank."""
        return [row for row in (await within(self.live.look())).look.lines if row]


@contextlib.asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    async with contextlib.AsyncExitStack() as stack:
        terminals = await stack.enter_async_context(open_terminals(zygote=ZYGOTE))
        guest = await stack.enter_async_context(channel_ends(folder))
        made = Scene(folder, guest, await terminals.open(5, 20), terminals, stack)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(made.live.run())
            try:
                yield made
            finally:
                running.cancel()
                made.live.close()


async def test_all_viewers_get_what_is_shown_in_the_same_turn_and_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(tmp_path) as made:
        viewers = [await made.join() for _ in range(20)]
        for one in viewers:
            while len(one.viewers) < 20:
                await one.next()
        sent: list[bytes] = []
        for line in made.live._lines.values():
            monkeypatch.setattr(line._channel, "send", lambda _stream, piece: sent.append(piece.obj))
        before = made.live.offset
        made.live.output(b"x" * 100)
        assert (len(sent), len({id(packed) for packed in sent})) == (20, 1)
        # The emulator comes later.
        assert made.live.offset == before


async def test_what_is_shown_goes_to_the_emulator_then_to_what_stores_it_and_answers_to_the_guest(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as made:
        await made.show(b"ab\x1b[6n")
        assert made.entries == [b"ab\x1b[6n"]
        assert await within(made.guest.read(1)) == b"\x1b[1;3R"
        assert (made.live.offset, await made.text()) == (6, ["ab"])


async def test_of_many_titles_a_few_are_told_and_the_last(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        for number in range(200):
            made.live.output(b"\x1b]2;%d\x07" % number)
            await within(made.live._display.wait_fed())
        await until(lambda: made.live.console.title == "199")
        assert len({console.title for console in made.consoles}) < 100


async def test_a_hostile_title_is_told_clean_and_only_when_it_is_another(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        await made.show(b"\x1b]2;\xe2\x80\xaeevil\x1b\\")
        told = made.live.console.title
        assert "\u202e" not in told
        assert told.endswith("evil")
        changes = len(made.consoles)
        await made.show(b"more")
        assert len(made.consoles) == changes
        await made.show(b"\x1b]2;" + b"x" * 5000 + b"\x07")
        assert len(made.live.console.title) <= 256


async def test_keys_of_the_driver_are_typed_and_those_of_others_are_dropped_with_one_notice(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as made:
        ann, ben = await made.join(), await made.join()
        assert (made.live.console.driver, ben.driver) == (ann.id, ann.id)
        await ann.type(b"ls")
        for _ in range(3):
            await ben.type(b"rm")
        await ben.until(lambda: NOT_DRIVING in ben.notices)
        assert await within(made.guest.read(1)) == b"ls"
        await quiet()
        made.live.notice("end")
        await ben.until(lambda: "end" in ben.notices)
        assert ben.notices.count(NOT_DRIVING) == 1
        # More than a window: what is dropped is consumed, too.
        await ben.type(b"x" * 10_000)


async def test_a_hand_over_is_announced_marked_and_moves_the_keyboard(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        ann, ben = await made.join(name="ann"), await made.join(name="ben", rows=9, cols=33)
        made.live.apply(driving.ask(made.live.console, ben.id))
        asked = await ann.until_told("asked")
        assert asked["id"] == ben.id
        made.live.apply(driving.give(made.live.console, ann.id, ben.id))
        for one in (ann, ben):
            while "ben drives now (given)" not in one.notices:
                await one.next()
            assert (one.driver, one.terminal and one.terminal.rows, one.terminal and one.terminal.cols) == (
                ben.id,
                9,
                33,
            )
        assert made.marks == ["ann drives now", "ben drives now (given)"]
        await ann.type(b"no")
        await ben.type(b"yes")
        assert await within(made.guest.read(1)) == b"yes"
        messages = made.guest.messages()
        assert await within(anext(messages)) == {"resize": {"rows": 9, "cols": 33}}
        assert (made.live.console.rows, made.live.console.cols) == (9, 33)
        assert Size(9, 33) in made.entries


async def test_what_the_last_driver_pasted_is_not_typed_after_it_was_taken_over(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        ann, ben = await made.join(), await made.join("watch")
        await ann.type(b"a" * 4096)
        await ann.type(b"b" * 2000)
        await quiet()
        made.live.apply(driving.take(made.live.console, ben.id))
        await ben.type(b"c")
        typed = b""
        while not typed.endswith(b"c"):
            typed += await within(made.guest.read(1))
        assert typed == b"a" * 4096 + b"c"


async def test_who_types_in_vain_is_told_again_after_a_hand_over(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        ann, ben, cyd = [await made.join(mode) for mode in ("drive", "watch", "watch")]
        await cyd.type(b"x")
        await cyd.until(lambda: cyd.notices.count(NOT_DRIVING) == 1)
        made.live.apply(driving.give(made.live.console, ann.id, ben.id))
        await cyd.type(b"x")
        await cyd.until(lambda: cyd.notices.count(NOT_DRIVING) == 2)


async def test_when_the_driver_leaves_nobody_drives_and_the_size_stays(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        ann, ben = await made.join(rows=7, cols=30), await made.join("watch")
        made.live.leave(ann.id)
        made.live.leave(ann.id)
        await ben.until(lambda: ben.driver is None and len(ben.viewers) == 1)
        assert (made.live.console.driver, made.live.console.rows) == (None, 7)
        made.live.apply(driving.ask(made.live.console, ben.id))
        await ben.until(lambda: ben.driver == ben.id)
        assert made.live.console.viewers[0].mode is ViewerMode.DRIVING


async def test_a_signal_reaches_the_guest(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        made.live.signal("INT")
        assert await within(anext(made.guest.messages())) == {"signal": "INT"}


async def test_who_wants_the_screen_again_gets_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        ann = await made.join()
        await made.show(b"shown")
        made.live.refresh(ann.id)
        made.live.refresh("v99")
        made.live.tell("v99", "nobody hears")
        await ann.until(lambda: ann.screens == 2)
        await ann.until_shown("shown")
        assert ann.lost_bytes == 0


async def test_who_is_behind_gets_the_newest_screen_and_hears_how_much_it_missed(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        slow, quick = await made.join("watch"), await made.join("watch")
        for number in range(10_000):
            made.live.output(f"\r\n{number:060}".encode())
            if number % 50 == 0:
                await quick.until(lambda: quick.offset == made.live._display.received or quick.screens > 1)
        await within(made.live.wait_fed())
        assert made.live._lines[slow.id].backlog.bytes <= 256 << 10
        await slow.until(lambda: slow.screens == 2 and slow.text and slow.text[-1].endswith("9999"))
        assert slow.lost_bytes > 200_000
        assert slow.text == await made.text()


async def test_what_comes_while_a_screen_with_scrollback_is_made_follows_it_and_plain_ones_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, dump = asyncio.Event(), ApartTerminal.dump
    making: list[int] = []

    async def slowly(terminal: ApartTerminal, *, scrollback_lines: int) -> bytes:
        if scrollback_lines:
            making.append(scrollback_lines)
            await gate.wait()
        return await dump(terminal, scrollback_lines=scrollback_lines)

    async with scene(tmp_path) as made, asyncio.TaskGroup() as tasks:
        await made.show(b"".join(b"line %d\r\n" % number for number in range(20)))
        other = await made.join("watch")
        monkeypatch.setattr(ApartTerminal, "dump", slowly)
        coming = [tasks.create_task(made.join("watch", scrollback=lines)) for lines in (100, 7)]
        await until(lambda: making)
        made.live.output(b"meanwhile")
        await other.until_shown("meanwhile")
        gate.set()
        for later in [await within(task) for task in coming]:
            await later.until_shown("meanwhile")
            assert later.terminal is not None
            assert later.text == other.text
            assert later.terminal.scrollback_rows == 16
            assert later.offset == other.offset
        assert making == [100]


async def test_who_wants_more_scrollback_than_is_being_shown_gets_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, dump = asyncio.Event(), ApartTerminal.dump
    making: list[int] = []

    async def slowly(terminal: ApartTerminal, *, scrollback_lines: int) -> bytes:
        making.append(scrollback_lines)
        await gate.wait()
        return await dump(terminal, scrollback_lines=scrollback_lines)

    async with scene(tmp_path) as made, asyncio.TaskGroup() as tasks:
        await made.show(b"".join(b"line %d\r\n" % number for number in range(20)))
        monkeypatch.setattr(ApartTerminal, "dump", slowly)
        few = tasks.create_task(made.join("watch", scrollback=3))
        await until(lambda: making)
        many = tasks.create_task(made.join("watch", scrollback=10))
        await until(lambda: len(made.live._wanting(scrollback=True)) == 2)
        gate.set()
        rows = [(await within(task)).terminal for task in (few, many)]
        assert [terminal and terminal.scrollback_rows for terminal in rows] == [3, 10]


async def test_a_terminal_that_is_lost_is_told_marked_and_stored_and_viewers_go_on(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        ann = await made.join(backend="bittty")
        with capture_logs() as logs:
            await made.show(b"\x1b]2;one\x07")
            await made.show(CRASH_SMALL)
            await made.show(b"\x1b[H\x1b[Jon")
        await ann.until_shown("on")
        (told,) = made.marks[1:]
        assert told in ann.notices
        assert f"miss {8 + len(CRASH_SMALL)} bytes" in told
        assert (ann.screens, made.gaps, made.spent) == (1, [1], [])
        assert await made.text() == ["on"]
        (log,) = logs
        assert (log["event"], log["missing_bytes"]) == ("console_terminal_lost", 8 + len(CRASH_SMALL))


async def test_a_console_that_loses_its_terminal_again_and_again_is_spent(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        for number in range(MOST_LOSSES + 1):
            assert made.spent == []
            await made.show(CRASH_SMALL)
            assert len(made.gaps) == number + 1
        assert made.spent == [SPENT]
        await made.show(b"more")
        assert (len(made.gaps), made.entries[-1], await made.text()) == (MOST_LOSSES + 1, b"more", [])


async def test_who_waits_hears_when_all_have_left(tmp_path: Path) -> None:
    async with scene(tmp_path) as made, asyncio.TaskGroup() as tasks:
        ann = await made.join()
        left = tasks.create_task(made.live.wait_left())
        await quiet()
        assert not left.done()
        made.live.leave(ann.id)
        await within(left)


async def test_what_is_missing_is_told_to_whoever_comes(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        made.live.lose(42)
        ann = await made.join()
        await ann.until(lambda: "42 bytes of what it showed are lost" in ann.notices)
        assert ann.offset == 42
        assert (await within(made.live.snapshot()))[0] == 42


async def test_who_only_looks_is_woken_by_what_is_shown(tmp_path: Path) -> None:
    async with scene(tmp_path) as made, asyncio.TaskGroup() as tasks:
        revision = made.live.revision
        changed = tasks.create_task(made.live.wait_changed(revision))
        await made.show(b"x")
        await within(changed)
        assert made.live.revision != revision
        assert not made.live.is_closed
        made.live.close()
        assert made.live.is_closed


async def test_a_line_whose_console_is_closed_waits_for_no_screen(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        ann = await made.join()
        line = made.live._lines[ann.id]
        line.refresh()
        made.live.close()
        await within(line.wait_drained())
        await within(made.live.show_screens(scrollback=False))
        await until(lambda: line.is_drained)
