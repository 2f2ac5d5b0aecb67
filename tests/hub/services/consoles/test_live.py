"""An open console between its guest and its viewers: who gets what, who types, and what a guest may say of itself."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain import driving
from cloche_hub.domain.console import Console, Viewer, ViewerMode
from cloche_hub.domain.driving import AttachMode
from cloche_hub.ports import Entry, Size
from cloche_hub.services.consoles import live as live_module
from cloche_hub.services.consoles.display import Copy, screen_of_copy
from cloche_hub.services.consoles.guest_terminal import GuestTerminal
from cloche_hub.services.consoles.live import NOT_DRIVING, LiveConsole
from cloche_hub.services.fair import FairTurns
from cloche_term import open_terminal
from cloche_wire.aio import Channel
from tests.hub.domain.examples import console, viewer
from tests.support.console_channels import Ends, channel_ends
from tests.support.consoles import Viewing
from tests.support.hub import until, within
from tests.support.links import quiet


class Scene:
    """A live console with a guest in memory, and what it has told."""

    def __init__(self, folder: Path, guest: Ends, stack: contextlib.AsyncExitStack) -> None:
        self.entries: list[Entry] = []
        self.marks: list[str] = []
        self.consoles: list[Console] = []
        self.guest: Channel = guest.offered
        self._folder, self._stack = folder, stack
        self.live = LiveConsole(
            console(rows=5, cols=20),
            open_terminal(5, 20),
            fair=FairTurns(),
            on_changed=self.consoles.append,
        )
        terminal = GuestTerminal(guest.opened, check_start=dict, on_output=self.live.output)
        self.live.connect(terminal, add=self.entries.append, mark=self.marks.append)
        self.guest.accept()

    async def join(self, mode: str = "drive", **fields: Any) -> Viewing:
        """A viewer who has its screen."""
        ends = await self._stack.enter_async_context(channel_ends(self._folder))
        who: Viewer = viewer(1, **{"id": "", "rows": 5, "cols": 20, **fields})
        line, _step = self.live.join(who, ends.offered, AttachMode(mode), scrollback=0)
        line.accept({"console": {}, "viewer": line.viewer_id})
        viewing = Viewing(ends.opened, await within(ends.opened.wait_accepted()))
        await viewing.until_whole()
        return viewing

    async def show(self, data: bytes) -> None:
        """The guest shows something, and the emulator has seen it."""
        self.live.output(data)
        await within(self.live.wait_fed())


@contextlib.asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    async with contextlib.AsyncExitStack() as stack:
        made = Scene(folder, await stack.enter_async_context(channel_ends(folder)), stack)
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
        assert (made.live.offset, made.live.terminal.text()[0]) == (6, "ab")


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
        assert slow.text == [row for row in made.live.terminal.text() if row]


async def test_a_screen_that_is_dear_to_make_is_made_of_a_copy_and_what_comes_meanwhile_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, made_of = threading.Event(), screen_of_copy

    def make(copy: Copy, *, scrollback: int) -> list[bytes]:
        gate.wait(10)
        return made_of(copy, scrollback=scrollback)

    monkeypatch.setattr(live_module, "screen_of_copy", make)
    async with scene(tmp_path) as made:
        await made.show(b"".join(b"line %d\r\n" % number for number in range(20)))
        ends = await made._stack.enter_async_context(channel_ends(tmp_path))
        line, _ = made.live.join(viewer(1, id=""), ends.offered, AttachMode.WATCH, scrollback=100)
        line.accept({"console": {}, "viewer": line.viewer_id})
        other = await made.join("watch")
        await until(lambda: line.backlog._is_held)
        await made.show(b"meanwhile")
        await other.until_shown("meanwhile")
        gate.set()
        later = Viewing(ends.opened, await within(ends.opened.wait_accepted()))
        await later.until_shown("meanwhile")
        assert later.terminal is not None
        assert later.text == other.text
        assert later.terminal.scrollback_rows == 16
        assert later.offset == other.offset


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
        assert made.live.snapshot()[0] == 42


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
        made.live.show_screens()
        await until(lambda: line.is_drained)
