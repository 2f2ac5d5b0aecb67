"""A person at a real terminal device drives a console: from the keys they press to what is typed."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial

from cloche_term.apart.terminals import ApartTerminal, Terminals
from cloche_term.terminal import Modes
from cloche_tui.terminal_input.driver import GrabDriver
from cloche_tui.widgets.terminal_driving import AGAIN_WITHIN_S, WAY_OUT_KEY, Driving
from cloche_tui.widgets.terminal_view import TerminalView
from tests.tui.support import HostApp
from tests.tui.terminal_input.persons_terminal import Person, persons_terminal
from tests.tui.terminal_input.test_grab import KEYS


class AtTheTerminal:
    """A person, a view, and what it shows."""

    def __init__(self, person: Person, host: HostApp, view: TerminalView, terminal: ApartTerminal) -> None:
        self.person, self.host, self.view, self.terminal = person, host, view, terminal

    @property
    def typed(self) -> bytes:
        return b"".join(one.data for one in self.host.heard if isinstance(one, TerminalView.Typed))

    def has_typed(self, data: bytes) -> bool:
        return self.typed == data

    async def feed(self, data: bytes) -> None:
        before = self.view.picture.modes
        await self.terminal.feed(data)
        self.view.touch()
        await self.person.until(lambda: self.view.picture.modes != before)

    async def types(self, keys: bytes, *, comes_to: bytes) -> None:
        """Types, and waits for all that was typed so far to be this."""
        self.person.type(keys)
        await self.person.until(partial(self.has_typed, comes_to))


@contextlib.asynccontextmanager
async def driving(terminals: Terminals) -> AsyncIterator[AtTheTerminal]:
    """Somebody at a terminal who drives a console."""
    terminal, view = await terminals.open(10, 40), TerminalView()
    host = HostApp(view, TerminalView(id="other"))
    host.driver_class = GrabDriver
    host.listens_to = (TerminalView.Typed, TerminalView.Released, TerminalView.DriveAgain)
    async with persons_terminal(host) as person:
        await person.until(lambda: view.is_seen)
        view.attach(terminal)
        view.focus()
        await person.until(lambda: bool(view.picture.runs(0)) and view.has_focus)
        view.drive()
        await person.sees(b"\x1b[=0;1u")
        yield AtTheTerminal(person, host, view, terminal)


async def test_every_key_is_typed_byte_for_byte(terminals: Terminals) -> None:
    async with driving(terminals) as at:
        for key in KEYS.values():
            await at.types(key, comes_to=at.typed + key)


async def test_keys_take_the_form_the_program_switches_to(terminals: Terminals) -> None:
    async with driving(terminals) as at:
        await at.feed(b"\x1b[?1h\x1b=")
        await at.person.sees(b"\x1b=\x1b[=0;1u")
        await at.types(b"\x1b[A\x1b[H\x1bOM", comes_to=b"\x1bOA\x1bOH\x1bOM")
        await at.feed(b"\x1b[>1u")
        await at.person.sees(b"\x1b[=1;1u")
        await at.types(b"\x1b\x01", comes_to=b"\x1bOA\x1bOH\x1bOM\x1b[97;7u")


async def test_the_way_out_ends_it_and_twice_at_once_types_its_key(terminals: Terminals) -> None:
    async with driving(terminals) as at:
        at.person.type(b"a\x1d")
        await at.person.until(lambda: not at.view.is_driving)
        await at.person.sees(b"\x1b[=25;1u")
        await at.types(b"\x1b[93;5u", comes_to=b"a\x1d")
        assert at.view.is_driving
        await at.types(b"b", comes_to=b"a\x1db")


async def test_what_is_pasted_is_typed_as_a_paste_and_before_the_next_key(terminals: Terminals) -> None:
    async with driving(terminals) as at:
        await at.feed(b"\x1b[?2004h")
        await at.types(
            b"\x1b[200~one\x1dtwo\x1b[201~x",
            comes_to=b"\x1b[200~one\x1dtwo\x1b[201~x".replace(b"\x1d", b"\x1d"),
        )


async def test_the_mouse_is_told_where_it_is_in_the_console(terminals: Terminals) -> None:
    async with driving(terminals) as at:
        await at.feed(b"\x1b[?1000h\x1b[?1006h")
        await at.types(b"\x1b[<0;5;3M\x1b[<0;5;3m", comes_to=b"\x1b[<0;5;3M\x1b[<0;5;3m")


async def test_a_window_that_loses_the_focus_and_gets_it_again_goes_on_driving(terminals: Terminals) -> None:
    async with driving(terminals) as at:
        at.person.type(b"\x1b[O")
        await at.person.until(lambda: not at.view.has_focus)
        await at.types(b"a", comes_to=b"a")
        at.person.type(b"\x1b[I")
        await at.person.until(lambda: at.view.has_focus)
        await at.types(b"\x1b", comes_to=b"a\x1b")
        assert at.view.is_driving


async def test_two_consoles_have_the_keyboard_one_after_the_other(terminals: Terminals) -> None:
    async with driving(terminals) as at:
        other = at.host.query_one("#other", TerminalView)
        other.attach(await terminals.open(10, 40))
        other.drive()
        await at.person.until(lambda: not at.view.is_driving and other.has_focus)
        await at.types(b"\x1b[A", comes_to=b"\x1b[A")
        assert other.is_driving


def test_the_way_out_again_is_for_the_program_only_at_once_and_after_the_way_out() -> None:
    driving = Driving(TerminalView())
    assert not driving.wants_back(WAY_OUT_KEY, 0.0)
    driving.begin(None, Modes())
    assert driving.takes_keys
    driving.leave(10.0)
    assert not driving.wants_back("q", 10.1)
    assert not driving.wants_back(WAY_OUT_KEY, 10.2)
    driving.leave(20.0)
    assert driving.wants_back(WAY_OUT_KEY, 20.0 + AGAIN_WITHIN_S)
    driving.leave(30.0)
    assert not driving.wants_back(WAY_OUT_KEY, 30.1 + AGAIN_WITHIN_S)
