"""A console in a sandbox as a program holds it; the terminal is a real one, right here."""

from __future__ import annotations

import asyncio
import re

import pytest

from cloche.aio import Console, Hub, Sandbox
from cloche.console_events import Asked, ConsoleEvent, Live, Notice, Output, Resized, ScreenBegins, Viewers
from cloche.errors import BadRequest, CodedError, InternalError, NotFound, TimedOut, WrongState
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import answer, refuse

PLAIN = {"PS1": "$ ", "ENV": ""}


async def _until(console: Console, wanted: bytes) -> bytes:
    """What it shows up to `wanted`."""
    seen = b""
    while wanted not in seen:
        piece = await console.read()
        assert piece, f"it ended with {seen!r}"
        seen += piece
    return seen


async def _next(console: Console, kind: type[ConsoleEvent]) -> ConsoleEvent:
    """The next event of a kind."""
    async with asyncio.timeout(10):
        async for event in console.events():
            if isinstance(event, kind):
                return event
    raise AssertionError("it ended")


# What it shows.


async def test_what_is_typed_reaches_a_real_terminal_and_its_answer_comes_back(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", 'test -t 0 && read line && echo "<$line>"']) as console:
        assert console.id.startswith("con_")
        await console.write("hi\n")
        assert b"<hi>" in b"".join([piece async for piece in console])
        ended = await console.wait()
    assert (ended.exit_code, ended.signal, ended.timed_out) == (0, None, False)


async def test_what_was_shown_can_be_read_after_waiting_for_the_end(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "echo done"]) as console:
        assert (await console.wait()).ok
        assert b"done" in b"".join([piece async for piece in console])
        assert await console.read() == b""


async def test_what_nobody_reads_keeps_nobody_from_waiting_for_the_end(sandbox: Sandbox) -> None:
    async with asyncio.timeout(30), sandbox.console(["seq", "200000"]) as console:
        assert (await console.wait()).ok
        assert sum([len(piece) async for piece in console]) < 1 << 20


async def test_its_events_begin_with_the_screen(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "read a; echo hi"], rows=5, cols=30) as console:
        events = []
        async for event in console.events():
            events.append(event)
            if isinstance(event, Live):
                await console.write("\n")
        assert events[0] == ScreenBegins(5, 30, 0)
        live = events.index(next(event for event in events if isinstance(event, Live)))
        assert {type(event) for event in events[1:live]} == {Output}
        assert b"hi" in b"".join(event.data for event in events[live:] if isinstance(event, Output))


async def test_the_screen_is_shown_anew_to_who_asks_for_it(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "printf hi; read a"]) as console:
        await console.until("hi")
        await _next(console, Live)
        await console.refresh()
        assert await _next(console, ScreenBegins) == ScreenBegins(24, 80, 0)
        assert b"hi" in await _until(console, b"hi")


# What it is told.


async def test_the_window_has_the_size_it_was_opened_with_and_then_the_one_it_is_given(
    sandbox: Sandbox,
) -> None:
    script = "stty size; trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done"
    async with sandbox.console(["sh", "-c", script], rows=30, cols=100) as console:
        assert "30 100" in (await console.until("ready")).text
        await console.resize(40, 120)
        assert await _next(console, Resized) == Resized(40, 120)
        assert (console.info.rows, console.info.cols) == (40, 120)
        assert b"40 120" in b"".join([piece async for piece in console])


async def test_a_signal_reaches_the_program(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "echo ready; sleep 60"]) as console:
        await console.until("ready")
        await console.signal("KILL")
        assert (await console.wait()).signal == "KILL"
        await console.signal("KILL")  # nothing is there to be told


async def test_typing_to_a_program_that_has_ended_says_so(sandbox: Sandbox) -> None:
    async with sandbox.console(["true"]) as console:
        await console.wait()
        with pytest.raises(WrongState, match="has ended and reads no more"):
            await console.write(b"x")


async def test_a_size_that_is_none_is_refused(sandbox: Sandbox) -> None:
    async with sandbox.console(["cat"]) as console:
        for rows, cols in ((0, 80), (24, 1001), (51, 1000)):
            with pytest.raises(BadRequest, match="cells at most"):
                await console.resize(rows, cols)
        for viewer in ("", 5):
            with pytest.raises(BadRequest, match="no viewer's id"):
                await console.give(viewer)  # type: ignore[arg-type]
        assert console.is_driving


# Who drives.


async def test_one_drives_and_the_others_watch_until_they_are_let(sandbox: Sandbox, hub: LocalHub) -> None:
    async with sandbox.console(["cat"], rows=20, cols=60) as mine:
        assert (mine.viewer, mine.is_driving) == ("v1", True)
        hub.consoles.who = "bob"
        async with sandbox.attach(rows=40, cols=100) as other:
            assert (other.viewer, other.is_driving, other.info.rows) == ("v2", False, 20)
            with pytest.raises(WrongState, match="you are watching"):
                await other.write("lost")
            await other.ask()
            asked = await _next(mine, Asked)
            assert isinstance(asked, Asked)
            assert (asked.viewer.id, asked.viewer.name) == ("v2", "bob")
            await mine.give(asked.viewer.id)
            assert await _next(other, Resized) == Resized(40, 100)
            assert await _next(other, Notice) == Notice("bob drives now (given)")
            assert (other.is_driving, [viewer.id for viewer in other.info.viewers]) == (True, ["v1", "v2"])
            await other.write("typed\n")
            assert "lost" not in (await mine.until("typed")).text
            # What is seen of the screen says who drives, also to who reads nothing.
            assert not mine.is_driving
            await mine.take()
            assert await _next(other, Notice) == Notice("admin drives now (taken)")
            assert not other.is_driving
        gone = await _next(mine, Viewers)
        while mine.info.viewers[1:]:
            gone = await _next(mine, Viewers)
        assert gone == Viewers(mine.info.viewers, "v1")


# Its screen.


async def test_a_shell_is_driven_prompt_by_prompt(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh"], env=PLAIN) as console:
        await console.until("$ ")
        await console.write("echo $((6 * 7))\n")
        assert (await console.until("$ ")).lines[:3] == ("$ echo $((6 * 7))", "42", "$")
        await console.write("seq 50; echo end-$((1 + 1))\n")
        screen = await console.until(re.compile(r"end-(\d+)"))
        assert screen.match is not None
        assert (screen.match[1], screen.first_line > 0) == ("2", True)
        await console.until("$ ")
        await console.write("exit 3\n")
        assert (await console.wait()).exit_code == 3


async def test_a_full_screen_program_is_waited_for_and_what_was_behind_it_comes_back(
    sandbox: Sandbox,
) -> None:
    script = "printf 'one '; read a; printf '\\033[?1049h\\033[HMENU'; read b; printf '\\033[?1049lone more'; read c"
    async with sandbox.console(["sh", "-c", script]) as console:
        await console.until("one ")
        await console.write("\n")
        assert (await console.until("MENU")).is_alternate
        await console.until("MENU")
        await console.write("\n")
        screen = await console.until("one ")
        assert (screen.is_alternate, screen.match is not None and screen.match.start() > 0) == (False, True)


async def test_the_newest_screen_is_kept_and_a_look_changes_nothing_else(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "printf '\\033]2;mine\\007hi'; read a"], rows=5) as console:
        with pytest.raises(WrongState, match="not looked at yet"):
            _ = console.screen
        found = await console.until("hi")
        assert console.screen is found
        looked = await console.look()
        assert (looked, looked.match, console.screen is looked) == (found, None, True)
        assert (looked.text, looked.title, looked.rows, looked.cursor.col) == ("hi", "mine", 5, 2)
        with pytest.raises(TimedOut):
            await console.until("hi", timeout_s=0.05)


async def test_what_is_not_shown_in_time_is_an_error_with_the_screen(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "echo Password:; read a"]) as console:
        await console.until("Password:")
        with pytest.raises(TimedOut) as caught:
            await console.until("welcome", timeout_s=0.05)
    assert caught.value.message == (
        "the console did not show 'welcome' within 0.05 s; its screen ends with\n  | Password:"
    )


async def test_a_console_that_ends_without_showing_it_is_another_error(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "echo no such thing"]) as console:
        with pytest.raises(WrongState, match=r"before it ended; its screen ends with\n  \| no such thing"):
            await console.until("welcome", timeout_s=None)


async def test_what_an_ended_console_shows_is_found(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "echo bye"], keep=True) as console:
        await console.wait()
        assert (await console.until("bye")).state == "ended"


async def test_an_error_of_the_hub_reaches_who_looks(sandbox: Sandbox, hub: LocalHub) -> None:
    async with sandbox.console(["cat"]) as console:
        hub.handlers["console.screen"] = refuse(NotFound("no such console"))
        for look in (console.look(), console.until("x")):
            with pytest.raises(NotFound):
                await look
        hub.handlers["console.screen"] = answer({})
        with pytest.raises(InternalError, match="told no screen"):
            await console.look()


# Its end.


async def test_leaving_it_closes_it(sandbox: Sandbox) -> None:
    async with sandbox.console(["cat"]) as console:
        pass
    with pytest.raises(Exception, match="left the console"):
        await console.wait()
    assert [info.state for info in await sandbox.consoles(ended=True) if info.kind == "pty"] == ["ended"]


async def test_leaving_one_that_is_kept_or_was_attached_to_detaches(sandbox: Sandbox, client: Hub) -> None:
    async with sandbox.console(["cat"], name="mine", keep=True):
        pass
    async with sandbox.attach("mine") as console:
        await console.write("still here\n")
        await console.until("still here")
        assert repr(console) == f"<Console box/mine ({console.id}), open>"
    assert [info.is_open for info in await sandbox.consoles() if info.name == "mine"] == [True]


async def test_leaving_fails_only_if_nothing_else_already_has(sandbox: Sandbox, hub: LocalHub) -> None:
    closing = hub.handlers["console.close"]
    hub.handlers["console.close"] = refuse(InternalError("who knows"))
    with pytest.raises(CodedError, match="who knows"):
        async with sandbox.console(["cat"]):
            pass
    with pytest.raises(LookupError):
        async with sandbox.console(["cat"]):
            raise LookupError
    hub.handlers["console.close"] = refuse(NotFound("its sandbox is gone"))
    async with sandbox.console(["cat"]):
        pass
    hub.handlers["console.close"] = closing
