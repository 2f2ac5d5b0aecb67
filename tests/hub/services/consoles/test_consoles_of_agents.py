"""Consoles of a real agent: what programs really show is what every viewer gets, and the next hub goes on with."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cloche_hub.domain.console import Console
from cloche_hub.domain.console_requests import parse_create_console
from cloche_hub.domain.flavors import flavor_named
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.domain.tokens import Scope, mint
from cloche_hub.errors import MachineFailed, NotFound
from cloche_hub.ports import Guest, MachineSpec
from cloche_hub.services.changes import Changes
from cloche_hub.services.clock import Clock
from cloche_hub.services.consoles.consoles import Consoles
from cloche_hub.services.consoles.live import LiveConsole
from cloche_hub.services.recorded import Recorder
from cloche_hub.services.records import Records
from cloche_hub.store.store import open_store
from cloche_term import Terminal, open_terminal, restore
from cloche_term.apart.terminals import open_terminals
from cloche_wire.aio import Channel
from tests.hub.domain.examples import MOMENT, sandbox
from tests.support.agent_process import AgentProcess, running_agent
from tests.support.consoles import Viewing, attach, create
from tests.support.fake_recordings import FakeRecordings
from tests.support.fake_screens import FakeScreens
from tests.support.hub import BOUND_S, ZYGOTE, RunningHub, running_hub, until, within
from tests.support.real_agent import AgentHypervisor, AgentImages, AgentMachine, linked

RUNS = sandbox(state=State.RUNNING, owner="ann")
TOKEN, _ = mint(name="ann's laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    with running_agent(tmp_path) as process:
        yield process


@pytest.fixture
def somebody(tmp_path: Path) -> Iterator[AgentProcess]:
    """An agent that serves one hub after another."""
    with running_agent(tmp_path, "--is-somebody") as process:
        yield process


@contextlib.asynccontextmanager
async def hub_of(folder: Path, agent: AgentProcess) -> AsyncIterator[RunningHub]:
    hypervisor = AgentHypervisor(agent)
    async with running_hub(folder / "home", hypervisor=hypervisor, images=AgentImages()) as hub:
        yield hub


def looks(terminal: Terminal) -> tuple[object, ...]:
    """Everything about how a terminal looks."""
    terminal.update()
    return (
        [terminal.row(y) for y in range(terminal.rows)],
        terminal.cursor,
        terminal.modes,
        terminal.title,
    )


def assert_same(one: Viewing, other: Viewing) -> None:
    """Two viewers see the same, cell by cell."""
    assert one.terminal is not None
    assert other.terminal is not None
    assert looks(one.terminal) == looks(other.terminal)


EDITOR = r"""
stty -echo
seq 1 60
printf '\033]2;editor\007\033[1;31mred\033[0m \033[4:3munder\033[0m\n'
read -r _
printf '\033[?1049h\033[2J\033[?25l\033[?2004h\033[3;5H\033[7mother screen\033[0m\033[9;1Hdone'
read -r _
printf '\033[?1049l\033[?25hback\n'
read -r _
"""


async def test_who_comes_later_sees_exactly_what_who_was_there_sees(
    tmp_path: Path, agent: AgentProcess
) -> None:
    async with hub_of(tmp_path, agent) as hub, hub.client() as client:
        await client.create(name="a")
        await create(client, argv=["sh", "-c", EDITOR], rows=12, cols=40)
        first = await attach(client, rows=12, cols=40)
        await first.until_shown("under")
        second = await attach(client, mode="watch", scrollback=1000)
        await second.until_shown("under")
        assert_same(first, second)
        assert first.terminal is not None
        assert second.terminal is not None
        assert second.terminal.lines(0, 20) == tuple(map(str, range(1, 21)))
        assert second.terminal.title == "editor"
        await first.type(b"\n")
        for viewer in (first, second):
            await viewer.until_shown("done")
        third = await attach(client, mode="watch")
        await third.until_shown("done")
        assert third.terminal is not None
        assert third.terminal.modes.is_alternate
        for viewer in (second, third):
            assert_same(first, viewer)
        await first.type(b"\n")
        for viewer in (first, second, third):
            await viewer.until_shown("back")
        for viewer in (second, third):
            assert_same(first, viewer)
        await first.type(b"\n")
        assert (await third.result())["exit_code"] == 0
        last = await attach(client, console="1", scrollback=1000, is_read=False)
        await last.result()
        assert_same(first, last)
        assert last.terminal is not None
        assert last.terminal.lines(0, 20) == second.terminal.lines(0, 20)


async def test_the_hub_answers_what_a_program_asks_its_terminal(tmp_path: Path, agent: AgentProcess) -> None:
    asks = r"stty raw -echo; printf '\033[6n'; head -c 6 | od -c; exec sleep 100"
    async with hub_of(tmp_path, agent) as hub, hub.client() as client:
        await client.create(name="a")
        await create(client, argv=["sh", "-c", asks])
        viewer = await attach(client, mode="watch")
        await viewer.until_shown("033   [   1   ;   1   R")


async def test_a_flood_reaches_a_slow_viewer_as_screens_and_the_interrupt_goes_through(
    tmp_path: Path, agent: AgentProcess
) -> None:
    async with hub_of(tmp_path, agent) as hub, hub.client() as client, hub.client() as other:
        await client.create(name="a")
        await create(client, argv=["sh", "-c", "echo ready; read -r _; seq 1 100000000"])
        driver, stuck = await attach(client), await attach(other, mode="watch", is_read=False)
        await driver.until_shown("ready")
        await driver.type(b"\n")
        await driver.until(lambda: driver.offset is not None and driver.offset > 3_000_000)
        await driver.type(b"\x03")
        assert (await driver.result())["signal"] == "INT"
        assert (await stuck.result())["signal"] == "INT"
        assert stuck.screens > 1
        assert stuck.text == driver.text


async def test_a_hang_up_reaches_the_program_and_its_end_is_told(tmp_path: Path, agent: AgentProcess) -> None:
    saves = "trap 'echo saved; exit 7' HUP; echo ready; while :; do sleep 0.05; done"
    async with hub_of(tmp_path, agent) as hub, hub.client() as client:
        await client.create(name="a")
        await create(client, argv=["sh", "-c", saves])
        viewer = await attach(client)
        await viewer.until_shown("ready")
        closed = await client.call("console.close", sandbox="a")
        assert closed["exit_code"] == 7
        assert (await viewer.result())["exit_code"] == 7
        assert viewer.text[-1] == "saved"


class OneSandbox:
    """A sandbox that runs, as consoles need it of `Sandboxes`."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    @contextlib.asynccontextmanager
    async def in_use(self, _sandbox_id: str) -> AsyncIterator[Guest]:
        yield self._guest

    def booted(self) -> list[tuple[Sandbox, bool]]:
        return []

    def live(self, *, owner: str | None) -> list[Sandbox]:
        del owner
        return [RUNS]


async def refuse(_channel: Channel) -> None:
    raise NotFound("nobody calls here")


@contextlib.asynccontextmanager
async def service(
    folder: Path, agent: AgentProcess, screens: FakeScreens
) -> AsyncIterator[tuple[Consoles, Guest, AgentMachine]]:
    """The consoles of one hub that is killed at the end: its guest hears nothing of it."""
    folder.mkdir()
    machine = AgentMachine(MachineSpec(RUNS.id, "image", flavor_named("small")), agent)
    async with (
        open_store(folder) as store,
        linked(machine, refuse) as guest,
        open_terminals(zygote=ZYGOTE) as terminals,
    ):
        recorder = Recorder(store, Records(store))
        consoles = Consoles(
            OneSandbox(guest),  # type: ignore[arg-type]
            recorder,
            terminals,
            screens,
            FakeRecordings(),
            Changes(),
            Clock(),
        )
        async with consoles.running():
            try:
                yield consoles, guest, machine
            finally:
                machine.kill_hub()
                guest.fail(MachineFailed("killed"))


async def opened(consoles: Consoles, script: str) -> Console:
    """A console that a hub opens."""
    request = parse_create_console({"sandbox": "a", "argv": ["sh", "-c", script], "rows": 10, "cols": 40})
    return await within(consoles.create(request, RUNS, token=TOKEN))


def live_of(consoles: Consoles, console: Console) -> LiveConsole:
    """A console that is open."""
    live = consoles.live(console.id)
    assert live is not None
    return live


async def until_text(live: LiveConsole, text: str) -> None:
    """Waits until a console shows a text."""
    async with asyncio.timeout(BOUND_S):
        while text not in "".join((await live.look()).look.lines):
            await live.wait_changed(live.revision)


@contextlib.asynccontextmanager
async def terminal_of(live: LiveConsole) -> AsyncIterator[Terminal]:
    """A copy of a console's terminal."""
    _, snapshot = await within(live.snapshot())
    with contextlib.closing(restore(snapshot)) as terminal:
        yield terminal


def copy_of(screens: FakeScreens) -> FakeScreens:
    """What is on the disk now, and stays there when the hub is killed."""
    copied = FakeScreens()
    copied.kept = dict(screens.kept)
    return copied


SHOW = r"printf '\033[1mone\033[0m '; read -r a; seq 1 3000; printf 'end %s' $a; read -r b; exit $b"


async def test_the_next_hub_goes_on_with_the_same_screen_and_not_a_byte_is_lost(
    tmp_path: Path, somebody: AgentProcess
) -> None:
    screens = FakeScreens()
    async with service(tmp_path / "one", somebody, screens) as (consoles, _, _):
        console = await opened(consoles, SHOW)
        live = live_of(consoles, console)
        await until_text(live, "one")
        await until(lambda: screens.kept[console.id].end == live.offset)
        # Typed, shown in part, and not stored any more.
        screens.is_full = True
        assert live._guest is not None
        live._guest.type(b"x\n", lambda _count: None)
        await until(lambda: live.offset > 1000)
        left = copy_of(screens)
        before = console
    assert left.kept[console.id].end < 100
    async with service(tmp_path / "two", somebody, left) as (consoles, guest, _):
        again = await within(consoles.take_over(before, guest))
        assert (again.id, again.name, again.viewers) == (before.id, "1", ())
        live = live_of(consoles, again)
        await until_text(live, "end x")
        expected = b"\x1b[1mone\x1b[0m x\r\n" + b"".join(b"%d\r\n" % n for n in range(1, 3001)) + b"end x"
        with contextlib.closing(open_terminal(10, 40)) as terminal:
            terminal.feed(expected)
            assert live.offset == len(expected)
            first = terminal.first_line
            async with terminal_of(live) as ours:
                assert looks(ours) == looks(terminal)
                assert ours.lines(0, first) == terminal.lines(0, first)
        await until(lambda: left.kept[console.id].end == live.offset)
        assert live._guest is not None
        live._guest.type(b"5\n", lambda _count: None)
        await until(lambda: consoles.live(again.id) is None)
        (ended,) = consoles.list(owner=None, ended=True)
        assert (ended.exit_code, ended.id) == (5, before.id)


async def test_a_console_the_guest_does_not_have_cannot_be_taken_over(
    tmp_path: Path, somebody: AgentProcess
) -> None:
    screens = FakeScreens()
    async with service(tmp_path / "one", somebody, screens) as (consoles, guest, _):
        console = await opened(consoles, "exit 0")
        await until(lambda: consoles.live(console.id) is None)
        with pytest.raises(NotFound):
            await within(consoles.take_over(console, guest))
        await asyncio.sleep(0)
