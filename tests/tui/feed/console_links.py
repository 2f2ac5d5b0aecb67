"""Consoles of a real hub on fakes, as the dashboard has them: a session, emulators apart, and what a person is told.

async with dashboard(hub, terminals) as mine:
    console = mine.look_into(info)
    await console.until_shown("$ ")
    console.link.drive()
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from textual.message import Message

from cloche import ConsoleInfo
from cloche.aio import Hub
from cloche.aio.pending import Pending
from cloche.link_news import OnLink
from cloche_term import TerminalLost
from cloche_term.apart.terminals import Terminals
from cloche_tui.feed.console import ConsoleLink
from cloche_tui.feed.session import Patience, Session
from cloche_tui.messages import LinkChanged
from cloche_tui.model.console_status import Phase, Size
from cloche_wire.errors import ungrouped
from tests.support.hub import BOUND_S, RunningHub, until, within

SIZE = Size(10, 40)
QUICK = Patience(first_s=0.01, longest_s=0.02, refused_s=0.03)


class Watched:
    """A link at work, and what it has told.

    Attributes:
        said: each line for the person.
        touches: how often something may have looked different.
    """

    def __init__(
        self,
        session: Session,
        terminals: Terminals,
        sandbox: str,
        console: str | None,
        tasks: asyncio.TaskGroup,
        *,
        size: Size = SIZE,
        can_drive: bool = True,
    ) -> None:
        self.said: list[str] = []
        self.touches = 0
        self.link = ConsoleLink(
            session,
            terminals,
            sandbox,
            console,
            size=size,
            on_touch=self._touched,
            on_said=self.said.append,
            can_drive=can_drive,
        )
        self.running = tasks.create_task(self.link.run())

    def _touched(self) -> None:
        self.touches += 1

    @property
    def phase(self) -> Phase:
        return self.link.phase

    @property
    def reason(self) -> str:
        return self.link.status.reason

    async def text(self) -> str:
        """What its terminal shows; empty where there is none."""
        if self.link.terminal is None:
            return ""
        with contextlib.suppress(TerminalLost):  # another one takes its place
            return "\n".join((await self.link.terminal.look()).lines)
        return ""

    async def until_shown(self, text: str) -> None:
        """Waits until its terminal shows a text."""
        async with asyncio.timeout(BOUND_S):
            while text not in await self.text():
                await asyncio.sleep(0.001)

    async def until_driving(self) -> None:
        """Waits until keys reach its program."""
        await until(lambda: self.link.is_driving)

    async def until_phase(self, phase: Phase) -> None:
        """Waits until it is so far."""
        await until(lambda: self.phase is phase)

    async def leave(self) -> None:
        """Detaches, as a pane that is closed does."""
        self.running.cancel()
        await within(asyncio.wait({self.running}))
        self.link.close()


class Desk:
    """One person's dashboard: a session, and the consoles that are looked into."""

    def __init__(self, address: str, token: str, terminals: Terminals, tasks: asyncio.TaskGroup, *, reconnect_s: float) -> None:  # fmt: skip
        def connect(on_link: OnLink) -> Pending[Hub]:
            return Hub.connect(address, token, reconnect_s=reconnect_s, on_link=on_link)

        self.session = Session(connect, self._post, patience=QUICK)
        self.watched: list[Watched] = []
        self.on_link_changed: list[Callable[[], None]] = []
        self._terminals, self._tasks = terminals, tasks

    def look_into(self, console: ConsoleInfo, *, size: Size = SIZE, can_drive: bool = True) -> Watched:
        """Watches a console."""
        return self._watch(console.sandbox, console.id, size=size, can_drive=can_drive)

    def open_shell(self, sandbox: str, *, size: Size = SIZE) -> Watched:
        """Opens a new one, to drive it."""
        return self._watch(sandbox, None, size=size, can_drive=True)

    def _watch(self, sandbox: str, console: str | None, *, size: Size, can_drive: bool) -> Watched:
        watched = Watched(
            self.session, self._terminals, sandbox, console, self._tasks, size=size, can_drive=can_drive
        )
        self.watched.append(watched)
        return watched

    def _post(self, message: Message) -> None:
        if isinstance(message, LinkChanged):
            for one in self.watched:
                one.link.link_changed()
            for hear in self.on_link_changed:
                hear()


@contextlib.asynccontextmanager
async def dashboard(
    hub: RunningHub,
    terminals: Terminals,
    *,
    address: str | None = None,
    token: str | None = None,
    reconnect_s: float = 10.0,
) -> AsyncIterator[Desk]:
    """Somebody's dashboard.

    Args:
        hub: which it is connected to.
        terminals: where its emulators come from.
        address: of what stands in front of the hub.
        token: whose; the administrator's if not given.
        reconnect_s: how long a lost link is looked for before a new session begins.
    """
    with ungrouped():
        async with asyncio.TaskGroup() as tasks:
            desk = Desk(address or hub.address, token or hub.admin, terminals, tasks, reconnect_s=reconnect_s)
            running = tasks.create_task(desk.session.run())
            try:
                await within(desk.session.wait_hub())
                yield desk
            finally:
                for one in desk.watched:
                    await one.leave()
                running.cancel()


async def shell(hub: Hub, sandbox: str = "box") -> ConsoleInfo:
    """A console that runs and that nobody looks at."""
    console = await (await hub.sandbox(sandbox)).console(keep=True, rows=SIZE.rows, cols=SIZE.cols)
    async with console:
        return console.info
