"""A program on a real terminal device whose keyboard a console has, and how the terminal is left."""

from __future__ import annotations

import array
import fcntl
import os
import termios
from functools import partial

import pytest
from textual import constants, events
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.widgets import Static

from cloche_term.terminal import Modes
from cloche_tui.terminal_input import prompt_parser
from cloche_tui.terminal_input.driver import GrabDriver
from tests.tui.terminal_input.persons_terminal import persons_terminal
from tests.tui.terminal_input.test_grab import KEYS

TEXTUALS_KEYS, NO_KEYS = b"\x1b[=25;1u", b"\x1b[=0;1u"


class Program(App[None]):
    """Notes what it hears, from Textual and as a console.

    Attributes:
        heard: events, by name.
        typed: what was typed into the console.
        times_left: how often the way out was taken.
    """

    def __init__(self) -> None:
        super().__init__(driver_class=GrabDriver)
        self.heard: list[str] = []
        self.typed = b""
        self.times_left = 0

    @property
    def driver(self) -> GrabDriver:
        assert isinstance(self._driver, GrabDriver)
        return self._driver

    def compose(self) -> ComposeResult:
        yield Static("ready")

    def grab(self, modes: Modes | None = None) -> None:
        self.grabbed = self.driver.grab(self, modes or Modes())

    def has_typed(self, data: bytes) -> bool:
        return self.typed == data

    def take_bytes(self, data: bytes) -> None:
        self.typed += data

    def take_paste(self, text: str) -> None:
        self.typed += f"<paste {text}>".encode()

    def left(self) -> None:
        self.times_left += 1

    def on_key(self, event: events.Key) -> None:
        self.heard.append(event.key)

    def on_paste(self, event: events.Paste) -> None:
        self.heard.append(f"paste {event.text}")

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.heard.append(f"mouse {event.x} {event.y}")


def unread(descriptor: int) -> int:
    """How many bytes were typed that nobody has read."""
    count = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, count)
    return count[0]


@pytest.fixture(autouse=True)
def _short_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ESCDELAY", raising=False)


async def test_the_terminals_own_word_on_its_size_counts_and_not_what_another_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("LINES", "20")
    app = Program()
    async with persons_terminal(app, rows=30, cols=100) as person:
        await person.until(lambda: app.screen.size == (100, 30))
        person.resize(40, 120)
        await person.until(lambda: app.screen.size == (120, 40))


async def test_of_two_sizes_at_once_the_later_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.until(lambda: app.screen.size == (80, 24))
        told, read_size = [(50, 15)], os.get_terminal_size

        def read_and_resize(descriptor: int) -> os.terminal_size:
            size = read_size(descriptor)
            if told:
                person.resize(*reversed(told.pop()))
            return size

        monkeypatch.setattr(os, "get_terminal_size", read_and_resize)
        person.resize(40, 120)
        await person.until(lambda: not told)
        await person.until(lambda: app.screen.size == (50, 15))


async def test_a_size_is_not_asked_for_among_the_keys() -> None:
    async with persons_terminal(Program()) as person:
        await person.sees(b"ready")
        assert b"2048" not in person.seen


async def test_without_a_grab_keys_are_textuals() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        person.type(b"a\x1b[A\x1b")
        await person.until(lambda: app.heard == ["a", "up", "escape"])
    assert app.typed == b""


async def test_while_grabbed_every_key_is_the_programs_byte_for_byte_and_the_rest_textuals() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        app.grab()
        await person.sees(NO_KEYS)
        for key in KEYS.values():
            before = app.typed
            person.type(key)
            await person.until(partial(app.has_typed, before + key))
        person.type(b"\x1b[<0;5;3M\x1b[<0;5;3m")
        await person.until(lambda: app.heard == ["mouse 4 2"])
        app.typed = b""
        person.type("a\x1b[200~süß\x1d\x1b[201~b".encode())
        await person.until(lambda: app.typed == "a<paste süß\x1d>b".encode())
        assert app.times_left == 0


async def test_the_way_out_gives_the_keyboard_back_and_what_follows_is_textuals() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        app.grab()
        await person.sees(NO_KEYS)
        person.forget()
        person.type(b"ls\x1dq")
        await person.until(lambda: app.heard == ["q"])
        assert (app.typed, app.times_left, app.driver.is_grabbed) == (b"ls", 1, False)
        await person.sees(TEXTUALS_KEYS)
        person.type(b"\x1d")
        await person.until(lambda: app.heard == ["q", "ctrl+right_square_bracket"])
        assert app.times_left == 1


async def test_releasing_is_not_the_way_out_and_may_be_done_twice() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        app.grab()
        app.grabbed.release()
        app.grabbed.release()
        person.type(b"q")
        await person.until(lambda: app.heard == ["q"])
        assert app.times_left == 0


async def test_who_has_lost_the_keyboard_to_another_cannot_give_it_back() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        app.grab()
        earlier = app.grabbed
        app.grab(Modes(kitty_keyboard=1))
        earlier.release()
        earlier.follow(Modes(kitty_keyboard=2))
        person.type(b"\x1b")
        await person.until(lambda: app.typed == b"\x1b[27u")
        assert b"\x1b[=2;1u" not in person.seen


async def test_the_terminal_and_the_keys_follow_the_programs_modes() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        app.grab()
        await person.sees(b"\x1b>" + NO_KEYS)
        app.grabbed.follow(Modes(application_cursor=True, application_keypad=True, kitty_keyboard=0))
        await person.sees(b"\x1b=" + NO_KEYS)
        person.type(b"\x1b[A\x1bOp")
        await person.until(lambda: app.typed == b"\x1bOA\x1bOp")
        app.grabbed.follow(Modes(kitty_keyboard=3))
        await person.sees(b"\x1b[=3;1u")


async def test_of_keys_that_tell_more_than_textual_asked_for_it_hears_what_it_can_read() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        person.type(b"\x1b[97;5:3u\x1b[98;1:1u\x1b[67:99;2uq")
        await person.until(lambda: app.heard[-1:] == ["q"])
        assert app.heard[0] == "b"
        assert len(app.heard) == 3


async def test_a_key_that_textual_cannot_read_does_not_end_the_dashboard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that Textual waits for the rest of it, which makes it unreadable.
    monkeypatch.setenv("ESCDELAY", "5000")
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 5.0)
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        person.type(b"\x1b[97:65")
        await person.until(lambda: unread(app.driver.fileno) == 0)
        person.type(b";2u")
        await person.until(lambda: unread(app.driver.fileno) == 0)
        person.type(b"q")
        await person.until(lambda: app.heard[-1:] == ["q"])


async def test_when_the_program_ends_while_grabbed_the_terminal_is_put_back() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        assert not termios.tcgetattr(person.ours)[3] & termios.ECHO
        app.grab(Modes(kitty_keyboard=31, application_keypad=True))
        await person.sees(b"\x1b=\x1b[=31;1u")
        person.forget()
        app.exit()
        await person.sees(b"\x1b[?25h")
        # One entry was pushed at the beginning, and it is the only one taken off.
        assert person.seen.count(b"\x1b[<u") == 1
        assert b"\x1b>" in person.seen
        await person.until(lambda: not app._running)
        assert termios.tcgetattr(person.ours)[3] & termios.ECHO


async def test_when_the_program_crashes_while_grabbed_the_terminal_is_put_back() -> None:
    app = Program()

    def crash() -> None:
        raise ZeroDivisionError

    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        app.grab(Modes(application_keypad=True))
        await person.sees(b"\x1b=")
        person.forget()
        app.call_later(crash)
        await person.sees(b"\x1b[?25h")
        assert b"\x1b>" in person.seen
        assert b"\x1b[<u" in person.seen
    assert app.return_code == 1
    assert isinstance(app._exception, ZeroDivisionError)


async def test_a_suspended_program_leaves_a_usual_terminal_and_has_the_keyboard_again_afterwards() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        app.grab(Modes(kitty_keyboard=1))
        await person.sees(b"\x1b[=1;1u")
        person.forget()
        driver: Driver = app.driver
        driver.suspend_application_mode()
        # More often than Textual would wait for, since nobody writes now.
        for flags in range(1, 60):
            app.grabbed.follow(Modes(kitty_keyboard=flags % 2 * 4))
        app.grabbed.follow(Modes(kitty_keyboard=5))
        await person.sees(b"\x1b[?25h")
        assert person.seen.count(b"\x1b[<u") == 1
        assert b"\x1b[=5;1u" not in person.seen
        person.forget()
        driver.resume_application_mode()
        await person.sees(b"\x1b[=5;1u")
        assert person.seen.index(b"\x1b[>25u") < person.seen.index(b"\x1b[=5;1u")
        person.type(b"x")
        await person.until(lambda: app.typed == b"x")


async def test_a_terminal_that_is_gone_ends_the_program() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        # What is read of a terminal that is gone is the end; so is this.
        settings = termios.tcgetattr(person.ours)
        settings[3] |= termios.ICANON
        termios.tcsetattr(person.ours, termios.TCSANOW, settings)
        person.type(b"\x04")
        await person.until(lambda: not app._running)


async def test_esc_alone_takes_a_moment_only() -> None:
    app = Program()
    async with persons_terminal(app) as person:
        await person.sees(b"ready")
        person.type(b"\x1b")
        await person.until(lambda: app.heard == ["escape"])
    assert prompt_parser.ESCAPE_WAIT_S < 0.05
