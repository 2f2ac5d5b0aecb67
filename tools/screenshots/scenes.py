"""The scenes: what a person presses until there is something worth a picture.

Rule: a scene waits for what it is a picture of; it never just hopes that a moment is enough.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from textual.pilot import Pilot
from textual.widgets import Input

from cloche_tui.app import DashboardApp
from cloche_tui.start import Start, make_app
from cloche_wire.aio.bounds import within
from tools.screenshots.pictures import with_local_fonts, with_stable_names
from tools.screenshots.stage import Stage

_BOUND_S = 25.0
_SETTLED_S = 1.2
"""Longer than anything on the screen is under way once what is waited for is there."""
_KEYS = {" ": "space", "/": "slash", "|": "vertical_line", ".": "full_stop", "-": "minus", ":": "colon"}
WIDE = (150, 40)
USUAL = (120, 36)
SMALL = (80, 24)


class Person:
    """Who sits in front of the dashboard."""

    def __init__(self, app: DashboardApp, pilot: Pilot[None], stage: Stage) -> None:
        self.app, self.stage, self._pilot = app, stage, pilot

    async def press(self, *keys: str) -> None:
        """Presses keys, one behind the other."""
        await self._pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Types a text."""
        await self._pilot.press(*(_KEYS.get(letter, letter) for letter in text))

    async def sees(self, *wanted: str) -> None:
        """Returns when all of this is on the screen.

        Raises:
            TimeoutError: it does not come; the message has what is there instead.
        """
        try:
            async with within(_BOUND_S):
                while not all(text in self.app.screen_text() for text in wanted):  # noqa: ASYNC110 - nobody tells of it
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise TimeoutError(f"{wanted} is not shown:\n{self.app.screen_text()}") from None

    async def rests(self, seconds: float = _SETTLED_S) -> None:
        """Presses nothing for a moment."""
        await asyncio.sleep(seconds)
        await self._pilot.pause()

    async def commands(self, line: str) -> None:
        """Types a command."""
        await self.press("colon")
        await self.type(line)
        await self.press("enter")
        await self.rests(0.5)

    async def selects(self, name: str) -> None:
        """Goes to a sandbox of the table."""
        await self.press("slash")
        await self.type(name)
        await self.press("enter")
        await self.rests(0.3)
        await self.press("slash")
        await self.press("escape")


@dataclass(frozen=True)
class Scene:
    """A picture to be taken."""

    name: str
    act: Callable[[Person], Awaitable[None]]
    size: tuple[int, int] = USUAL
    start: Start = field(default_factory=Start)
    variables: tuple[tuple[str, str], ...] = ()


async def play(stage: Stage, scene: Scene) -> str:
    """The SVG of a scene."""
    # What one scene leaves to be remembered is not there in the next.
    os.environ |= {"XDG_STATE_HOME": str(stage.home / "state" / scene.name), **dict(scene.variables)}
    try:
        app = make_app(scene.start)
    finally:
        for name, _ in scene.variables:
            os.environ.pop(name)
    app.animation_level = "none"
    async with app.run_test(size=scene.size) as pilot:
        person = Person(app, pilot, stage)
        await scene.act(person)
        await person.rests()
        for line in app.screen.query(Input):
            line.cursor_blink = False
        svg = app.export_screenshot(title="cloche tui")
        app.leave()
    # The folder's name is another in each run.
    svg = svg.replace(stage.home.parent.name.rpartition("-")[2], "pictures")
    return with_stable_names(with_local_fonts(svg), scene.name)


async def _sandboxes(person: Person) -> None:
    await person.sees("invoices", "notebook")
    # Some samples of what they use, for the bars.
    await person.rests(12)
    await person.press("j", "j")


async def _no_sandboxes(person: Person) -> None:
    await person.sees("There are no sandboxes")


async def _no_approvals(person: Person) -> None:
    await person.press("2")
    await person.sees("Nothing waits")


async def _console(person: Person) -> None:
    await person.sees("agent-7")
    await person.selects("agent-7")
    await person.press("enter")
    await person.sees("Counter")
    await person.press("enter")
    await person.rests()
    await person.type("jjllvw")
    await person.sees("VISUAL")


async def _grid(person: Person) -> None:
    await person.sees("notebook")
    await person.selects("agent-7")
    await person.press("enter")
    await person.sees("Counter")
    await person.commands("layout grid")
    for name in ("pr-4127", "notebook", "crawler"):
        await person.commands(f"open {name}")
    await person.sees("Counter", "Load average", "median", "robots")
    await person.press("tab", "enter")


async def _full(person: Person) -> None:
    await person.sees("pr-4127")
    await person.selects("pr-4127")
    await person.press("enter")
    await person.sees("Load average")
    await person.press("f")
    await person.press("enter")
    await person.rests(3)


async def _approvals(person: Person) -> None:
    await person.sees("invoices")
    await person.press("2")
    await person.sees("pay.send", "mail.send", "pay.refund")
    await person.press("o")
    await person.sees("due today")
    await person.rests()
    await person.press("escape")


async def _edit(person: Person) -> None:
    await person.press("2")
    await person.sees("pay.refund")
    await _choose_refund(person)
    await person.rests()
    await person.press("e")
    await person.sees("19.9")
    await person.rests()
    area = person.app.screen.query_one("TextArea")
    area.load_text(area.text.replace("19.9", "9.9"))  # type: ignore[attr-defined]
    await person.press("ctrl+s")
    await person.rests()


async def _choose_refund(person: Person) -> None:
    await person.press("j")


async def _deny(person: Person) -> None:
    await person.press("2")
    await person.sees("pay.send")
    await person.rests()
    await person.press("d")
    await person.sees("Deny")
    await person.type("first payment to this payee: call them")


async def _audit(person: Person) -> None:
    await person.press("3")
    await person.sees("approval.requested")
    await person.press("slash")
    await person.type("/callback|approval|exec/")
    await person.press("enter")
    await person.rests()
    await person.press("k", "k", "enter")


async def _help(person: Person) -> None:
    await person.sees("invoices")
    await person.press("?")
    await person.rests()


async def _create(person: Person) -> None:
    await person.sees("invoices")
    await person.press("n")
    await person.rests()


async def _destroy(person: Person) -> None:
    await person.sees("invoices")
    await person.press("j", "space", "space", "ctrl+d")
    await person.rests()


async def _palette(person: Person) -> None:
    await person.sees("invoices")
    await person.press("ctrl+p")
    await person.rests()


async def _files(person: Person) -> None:
    await person.sees("agent-7")
    await person.selects("agent-7")
    await person.press("4")
    await person.sees("pairs.py", "october.csv")
    await person.press("j", "j", "space", "space")


async def _lost(person: Person) -> None:
    await person.sees("agent-7")
    await person.selects("agent-7")
    await person.press("enter")
    await person.sees("Counter")
    person.stage.road.cut()
    await person.sees("connection lost")
    await person.rests(4)


BEFORE = (
    Scene("empty-sandboxes", _no_sandboxes, SMALL),
    Scene("empty-approvals", _no_approvals, SMALL),
)
"""With a hub that has nothing yet."""
SCENES = (
    Scene("sandboxes", _sandboxes, (140, 36)),
    Scene("sandboxes-small", _sandboxes, SMALL),
    Scene("sandboxes-light", _sandboxes, (140, 36), start=Start(theme="cloche-light")),
    Scene("sandboxes-mono", _sandboxes, (140, 36), variables=(("NO_COLOR", "1"),)),
    Scene("console", _console, WIDE),
    Scene("grid", _grid, (180, 48)),
    Scene("full-screen", _full, (100, 30)),
    Scene("approvals", _approvals, WIDE),
    Scene("edit", _edit),
    Scene("deny", _deny),
    Scene("audit", _audit),
    Scene("help", _help),
    Scene("create", _create),
    Scene("destroy", _destroy),
    Scene("palette", _palette),
    Scene("files", _files, WIDE),
)
"""With a hub that is at work."""
LAST = (Scene("connection-lost", _lost, WIDE),)
"""After these nobody reaches the hub."""
