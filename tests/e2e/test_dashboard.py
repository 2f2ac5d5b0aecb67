"""The dashboard in a real terminal, in front of real machines: keys in, screen out.

Rule: what is asserted is what a person sees, what a program in the guest got, or how the terminal is left.
"""

from __future__ import annotations

import contextlib
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cloche.callback_messages import CallbackCall
from cloche.errors import CodedError
from cloche_term import open_terminal
from tests.e2e.guarded import connected
from tests.support.cutting_proxy import CuttingProxy
from tests.support.real_hub import RealHub
from tests.support.terminal import CLOCHE, Terminal, program_in_terminal
from tests.tui.terminal_input.test_grab import KEYS

pytestmark = pytest.mark.machine

ROWS, COLS = 30, 120
WAY_OUT = b"\x1d"

LISTENER = """
import os, sys, tty
tty.setraw(0)
heard = open("heard", "wb", buffering=0)
print(sys.argv[1] + "listening", end="\\r\\n", flush=True)
count = 0
while True:
    data = os.read(0, 65536)
    heard.write(data)
    count += len(data)
    print(f"\\rheard {count} bytes", end="", flush=True)
"""
"""Switches on what it is told, and writes down what is typed."""

WATCHER = """
import os, signal, time
def show(*_):
    size = os.get_terminal_size()
    print(f"\\r\\n{size.lines} by {size.columns}", flush=True)
signal.signal(signal.SIGWINCH, show)
show()
while True:
    time.sleep(100)
"""
"""Tells the size of its window, and each new one."""

CRASHING = """
import sys
from cloche_tui.app import DashboardApp
from cloche_tui.start import Start, start_dashboard
def fail(app, _argument):
    raise ZeroDivisionError("on purpose")
DashboardApp.open_commands = fail
sys.exit(start_dashboard(Start()))
"""
"""The dashboard, with a defect in what `:` does."""


@pytest.fixture(scope="module")
def hub_with_box(guarded_hub: RealHub) -> Iterator[RealHub]:
    """A hub with a sandbox called box."""
    created = guarded_hub.cloche("create", "--name", "box")
    assert created.status == 0, created.err
    yield guarded_hub
    guarded_hub.cloche("rm", "box")


@contextlib.asynccontextmanager
async def dashboard(hub: RealHub, folder: Path, *argv: str, **env: str) -> AsyncIterator[Terminal]:
    """The dashboard as it is started for the first time, as soon as it shows the sandbox."""
    own = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    command = argv or (*CLOCHE, "tui")
    async with program_in_terminal(command, ROWS, COLS, env={**hub.env, **own, **env}, bound_s=50) as at:
        at.take(b"before\r\n")
        await at.has_on_screen("running  box ", "? help")
        yield at


@contextlib.asynccontextmanager
async def driven_listener(hub: RealHub, folder: Path, wants: str = "", **env: str) -> AsyncIterator[Terminal]:
    """The dashboard with a listener that is driven.

    Args:
        hub: where.
        folder: for what the dashboard remembers.
        wants: what the listener switches on in its terminal.
        env: variables of the dashboard's.
    """
    async with (
        console(hub, "python3", "-c", LISTENER, wants, says="listening"),
        dashboard(hub, folder, **env) as at,
    ):
        at.type(b"\r")
        await at.has_on_screen("watching", "listening")
        at.type(b"\r")
        await at.has_on_screen("DRIVING", "ctrl+] leaves")
        yield at


@contextlib.asynccontextmanager
async def console(hub: RealHub, *argv: str, says: str) -> AsyncIterator[str]:
    """A new console in the box, which nobody drives; its name."""
    async with connected(hub.address, hub.token) as client:
        box = await client.sandbox("box")
        async with box.console(argv, keep=True) as opened:
            await opened.until(says)
        yield opened.info.name
        with contextlib.suppress(CodedError):
            await box.close_console(opened.id)


async def heard(hub: RealHub) -> bytes:
    """What the listener in the box has heard so far."""
    async with connected(hub.address, hub.token) as client:
        return await (await client.sandbox("box")).files.read("heard")


def place_of(text: str, at: Terminal) -> tuple[int, int]:
    """The row and column of a text on the screen, from 1."""
    for row, line in enumerate(at.screen.split("\n"), 1):
        if text in line:
            return row, line.index(text) + 1
    raise AssertionError(f"{text!r} is not on the screen:\n{at.screen}")


async def seconds_pass(count: int, at: Terminal) -> None:
    """Waits until the time that is left for a decision has changed so often."""

    def left() -> str:
        found = re.search(r"\d:\d\d left", at.screen)
        assert found is not None, at.screen
        return found[0]

    for _ in range(count):
        before = left()
        await at.until(lambda before=before: left() != before)  # type: ignore[misc]


async def test_enter_watches_then_drives_and_what_is_typed_is_the_programs_until_the_way_out(
    hub_with_box: RealHub, tmp_path: Path
) -> None:
    async with (
        console(hub_with_box, "python3", "-c", LISTENER, "", says="listening") as name,
        dashboard(hub_with_box, tmp_path) as at,
    ):
        at.type(b"\r")
        await at.has_on_screen(f"watching  box/{name}", "listening", "nobody drives: enter drives")
        at.type(b"\r")
        await at.has_on_screen(f"DRIVING  box/{name}", "ctrl+] leaves")
        # Of these, all mean something to the dashboard elsewhere.
        at.type(b"q:/?1\x1b")
        await at.has_on_screen("heard 6 bytes ")
        at.type(WAY_OUT)
        await at.has_on_screen(f"watching  box/{name}")
        at.type(b"?")
        await at.has_on_screen("help")
        assert await heard(hub_with_box) == b"q:/?1\x1b"


async def test_every_key_reaches_the_program_byte_for_byte(hub_with_box: RealHub, tmp_path: Path) -> None:
    async with driven_listener(hub_with_box, tmp_path) as at:
        expected = b""
        for key in KEYS.values():
            at.type(key)
            expected += key
            await at.has_on_screen(f"heard {len(expected)} bytes ")
        # Twice at once, the way out is a key as every other, and nobody has left.
        at.type(WAY_OUT + WAY_OUT)
        await at.has_on_screen(f"heard {len(expected) + 1} bytes ", "DRIVING")
        at.type(b"z")
        await at.has_on_screen(f"heard {len(expected) + 2} bytes ")
        assert await heard(hub_with_box) == expected + WAY_OUT + b"z"


async def test_keys_pastes_and_the_mouse_reach_a_program_as_it_has_asked_for_them(
    hub_with_box: RealHub, tmp_path: Path
) -> None:
    wanted = "\x1b[?1h\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b[?1004h"
    async with driven_listener(hub_with_box, tmp_path, wanted) as at:
        row, col = place_of("listening", at)
        said = {
            b"": b"\x1b[I",
            b"\x1b[A": b"\x1bOA",
            b"\x1b[H": b"\x1bOH",
            b"\x1b[1;5D": b"\x1b[1;5D",
            b"\x1b[200~two\nlines\x1b[201~": b"\x1b[200~two\nlines\x1b[201~",
            b"\x1b[<0;%d;%dM" % (col + 2, row + 1): b"\x1b[<0;3;2M",
            b"\x1b[<0;%d;%dm" % (col + 2, row + 1): b"\x1b[<0;3;2m",
            b"\x1b[<64;%d;%dM" % (col, row): b"\x1b[<64;1;1M",
            b"\x1b[O": b"\x1b[O",
        }
        expected = b""
        for typed, means in said.items():
            at.type(typed)
            expected += means
            await at.has_on_screen(f"heard {len(expected)} bytes ")
        assert await heard(hub_with_box) == expected


async def test_what_a_program_asks_for_is_approved_with_one_key_and_it_goes_on(
    hub_with_box: RealHub, tmp_path: Path
) -> None:
    asks = 'echo asks; cloche-callback pay.send \'{"to": "ann"}\'; echo went-$((40+2)); exec cat'
    async with connected(hub_with_box.address, hub_with_box.token) as client:
        box = await client.sandbox("box")

        @box.callback("pay.*")
        async def pay(call: CallbackCall) -> object:
            return {"paid": call.params["to"]}

        async with (
            pay,
            dashboard(hub_with_box, tmp_path) as at,
            console(hub_with_box, "sh", "-c", asks, says="asks") as name,
        ):
            # Wherever one is, the heading tells.
            await at.has_on_screen("2 Approvals ●1")
            at.type(b"2")
            await at.has_on_screen("pay.send", '"to": "ann"', "money leaves the house")
            # A key that comes sooner may have been meant for what was there before.
            await seconds_pass(2, at)
            at.type(b"a")
            await at.has_on_screen("approved")
            at.type(b"1")
            await at.has_on_screen("running  box ")
            at.type(b"\r")
            await at.has_on_screen(f"box/{name}", '{"paid": "ann"}', "went-42")


async def test_a_program_follows_the_size_of_the_operators_terminal(
    hub_with_box: RealHub, tmp_path: Path
) -> None:
    async with (
        console(hub_with_box, "python3", "-c", WATCHER, says="24 by 80"),
        dashboard(hub_with_box, tmp_path) as at,
    ):
        at.type(b"\rf")
        await at.has_on_screen("watching", "24 by 80")
        at.type(b"\r")
        # All but a line above it and one below, and its edge.
        await at.has_on_screen("DRIVING", f"{ROWS - 4} by {COLS - 2}")
        at.resize(24, 80)
        await at.has_on_screen("DRIVING", "20 by 78", "ctrl+] leaves")
        at.resize(50, 150)
        await at.has_on_screen("DRIVING", "46 by 148", "ctrl+] leaves")


async def test_a_cut_link_comes_back_by_itself_with_the_exact_screen(
    hub_with_box: RealHub, tmp_path: Path
) -> None:
    way = {"CLOCHE_HUB": f"unix://{tmp_path}/proxy.sock", "CLOCHE_TOKEN": hub_with_box.token}
    async with contextlib.AsyncExitStack() as network:
        await network.enter_async_context(CuttingProxy(tmp_path / "proxy.sock", hub_with_box.socket))
        async with driven_listener(hub_with_box, tmp_path, **way) as at:
            at.type(b"abc")
            await at.has_on_screen("heard 3 bytes ")
            await network.aclose()
            await at.has_on_screen("connection lost", "NOT CONNECTED")
            # The banner says it in as many words as there is room for.
            await at.until(lambda: re.search(r"^ ! (connection )?lost ", at.screen, re.MULTILINE) is not None)
            at.type(b"d")
            await at.has_on_screen("what you type goes nowhere")
            await network.enter_async_context(CuttingProxy(tmp_path / "proxy.sock", hub_with_box.socket))
            await at.has_on_screen("DRIVING", "listening", "heard 3 bytes ")
            await at.lacks("connection lost")
            at.type(b"e")
            await at.has_on_screen("DRIVING", "listening", "heard 4 bytes ")
            assert await heard(hub_with_box) == b"abce"


async def test_a_killed_hub_is_told_keys_are_blocked_and_the_next_one_is_found(
    own_hub: RealHub, tmp_path: Path
) -> None:
    own_hub.start()
    assert own_hub.cloche("create", "--name", "box").status == 0
    async with driven_listener(own_hub, tmp_path) as at:
        at.type(b"abc")
        await at.has_on_screen("heard 3 bytes ")
        own_hub.kill()
        await at.has_on_screen("connection lost", "NOT CONNECTED")
        # The banner says it in as many words as there is room for.
        await at.until(lambda: re.search(r"^ ! (connection )?lost ", at.screen, re.MULTILINE) is not None)
        at.type(b"d")
        await at.has_on_screen("not connected: what you type goes nowhere", "listening", "heard 3 bytes ")
        own_hub.start()
        # A machine does not outlive its hub; what its console has shown does.
        await at.lacks("connection lost", "NOT CONNECTED")
        await at.has_on_screen("failed   box ", "listening", "heard 3 bytes ")
    own_hub.cloche("rm", "box")


@pytest.mark.parametrize(
    ("how", "status", "says"),
    [
        pytest.param(b"q", 0, "", id="a key"),
        pytest.param(signal.SIGTERM, 0, "", id="a signal"),
        pytest.param(signal.SIGHUP, 0, "", id="a hang-up"),
        pytest.param(b":", 125, "cloche: a defect: ZeroDivisionError: on purpose", id="a defect"),
    ],
)
async def test_however_it_ends_the_terminal_is_as_it_was(
    how: bytes | signal.Signals, status: int, says: str, hub_with_box: RealHub, tmp_path: Path
) -> None:
    program = [sys.executable, "-c", CRASHING] if says else []
    modes = open_terminal(ROWS, COLS).modes
    async with dashboard(hub_with_box, tmp_path, *program) as at:
        at.type(b"c")
        await at.has_on_screen("DRIVING", "$ ")
        if isinstance(how, bytes):
            at.type(WAY_OUT)
            await at.has_on_screen("watching")
            at.type(how)
        else:
            at.process.send_signal(how)
        assert await at.ends() == status
        assert at.screen.startswith("before")
        assert at.screen.removeprefix("before").strip().startswith(says)
        assert at.modes == modes
        assert (at.shows_cursor, at.settings) == (True, at.first_settings)
