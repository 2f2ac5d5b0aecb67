"""One viewer's line: what is sent at once, what waits, when a screen is wanted, and where keys go."""

from __future__ import annotations

from pathlib import Path

import msgpack

from cloche_hub.services.consoles.line import KEYS, Line
from cloche_hub.services.consoles.messages import notice, output
from cloche_wire.errors import Cancelled
from tests.support.console_channels import Ends, channel_ends
from tests.support.links import quiet

MESSAGES = 0


class Heard:
    """A line, and what it has told its console."""

    def __init__(self, ends: Ends) -> None:
        self.typed: list[bytes] = []
        self.ready = 0
        self.line = Line("v1", ends.offered, on_typed=self._take, on_ready=self._be_ready, scrollback=9)

    def _take(self, line: Line, data: bytes) -> None:
        assert line is self.line
        self.typed.append(data)

    def _be_ready(self) -> None:
        self.ready += 1


async def read_all(ends: Ends) -> list[dict[str, object]]:
    """All messages that are on their way to the client."""
    await quiet()
    unpacker = msgpack.Unpacker()
    while ends.opened._inbox._buffers[MESSAGES]:
        unpacker.feed(await ends.opened.read(MESSAGES))
        await quiet()
    return list(unpacker)


async def test_nothing_is_sent_before_the_channel_is_taken_and_then_a_screen_is_wanted(
    tmp_path: Path,
) -> None:
    async with channel_ends(tmp_path) as ends:
        heard = Heard(ends)
        heard.line.output(output(b"x"), 1)
        assert heard.ready == 0
        heard.line.accept({"viewer": "v1"})
        assert heard.line.wants_screen
        assert (heard.ready, heard.line.scrollback) == (1, 9)
        assert await ends.opened.wait_accepted() == {"viewer": "v1"}
        heard.line.show([output(b"S")])
        heard.line.output(output(b"y"), 1)
        assert heard.line.is_drained
        assert heard.line.scrollback == 0
        assert await read_all(ends) == [{"output": b"S"}, {"output": b"y"}]


async def test_who_does_not_read_costs_a_window_and_the_bound_and_gets_a_screen_when_it_reads(
    tmp_path: Path,
) -> None:
    async with channel_ends(tmp_path, window=4096) as ends:
        heard = Heard(ends)
        heard.line.accept({})
        heard.line.show([output(b"S")])
        for _ in range(5000):
            heard.line.output(output(b"x" * 100), 100)
        line = heard.line
        assert line.backlog.bytes <= 256 << 10
        assert line.backlog.needs_screen
        ready = heard.ready
        await read_all(ends)
        assert line.wants_screen
        assert heard.ready > ready
        assert line.backlog.lost_bytes > 400_000


async def test_what_is_typed_goes_to_the_console_and_is_consumed_when_it_is_taken(tmp_path: Path) -> None:
    async with channel_ends(tmp_path) as ends:
        heard = Heard(ends)
        heard.line.accept({})
        await ends.opened.wait_accepted()
        window = ends.opened.credit(KEYS)
        await ends.opened.write(KEYS, b"k" * window)
        await quiet()
        assert b"".join(heard.typed) == b"k" * window
        assert ends.opened.credit(KEYS) == 0
        heard.line.consumed(window)
        await quiet()
        assert ends.opened.credit(KEYS) == window


async def test_messages_are_read_as_on_any_channel(tmp_path: Path) -> None:
    async with channel_ends(tmp_path) as ends:
        heard = Heard(ends)
        heard.line.accept({})
        await ends.opened.wait_accepted()
        await ends.opened.send_message({"ask": True})
        ends.opened.end(MESSAGES)
        assert [message async for message in ends.offered.messages()] == [{"ask": True}]


async def test_a_notice_is_told_behind_the_screen_that_is_needed_first(tmp_path: Path) -> None:
    async with channel_ends(tmp_path) as ends:
        heard = Heard(ends)
        heard.line.accept({})
        heard.line.tell(notice("n"))
        heard.line.show([output(b"S")])
        heard.line.refresh()
        assert heard.line.wants_screen
        assert await read_all(ends) == [{"output": b"S"}, {"notice": "n"}]


async def test_a_line_is_drained_when_its_client_is_gone_or_there_will_be_no_screen(tmp_path: Path) -> None:
    async with channel_ends(tmp_path) as ends:
        heard = Heard(ends)
        heard.line.accept({})
        assert not heard.line.is_drained
        heard.line.stop()
        await heard.line.wait_drained()
    async with channel_ends(tmp_path) as ends:
        heard = Heard(ends)
        heard.line.accept({})
        await ends.opened.wait_accepted()
        ends.opened.reset(Cancelled("left"))
        await quiet()
        await heard.line.wait_drained()


async def test_a_first_screen_that_is_not_read_in_time_is_given_up(tmp_path: Path) -> None:
    async with channel_ends(tmp_path, window=64) as ends:
        heard = Heard(ends)
        heard.line.accept({"viewer": "v1"})
        heard.line.show([output(b"S" * 40), output(b"T" * 40), output(b"U" * 40)])
        await heard.line.wait_shown(0.001)
        assert heard.line.backlog.needs_screen
        # What has been begun comes to its end, and then a screen is wanted again.
        assert await read_all(ends) == [{"output": b"S" * 40}, {"output": b"T" * 40}]
        assert heard.line.wants_screen


async def test_a_screen_is_wanted_only_when_most_of_what_was_sent_has_been_read(tmp_path: Path) -> None:
    async with channel_ends(tmp_path, window=4096) as ends:
        heard = Heard(ends)
        heard.line.accept({})
        heard.line.show([output(b"S")])
        for _ in range(5000):
            heard.line.output(output(b"x" * 100), 100)
        await quiet()
        unread = len(await ends.opened.read(MESSAGES, consume=False))
        ends.opened.consume(MESSAGES, 600)
        await quiet()
        assert heard.line.backlog.is_empty
        assert not heard.line.wants_screen
        ends.opened.consume(MESSAGES, unread - 600)
        await quiet()
        assert heard.line.wants_screen
