"""What the app and its views ask of each other."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast

from textual.containers import Container
from textual.screen import ModalScreen

from cloche_tui.model.chosen import Chosen
from cloche_tui.model.roles import Role

if TYPE_CHECKING:
    from cloche.filters import Filter
    from cloche_term.apart.terminals import Terminals
    from cloche_tui.feed.session import Session
    from cloche_tui.model.world import World
    from cloche_tui.remembered import Remembered

T = TypeVar("T")

ALL = frozenset({"all"})
"""The topics of a first look: everything is to be shown anew."""
TICK = frozenset({"tick"})
"""A second has passed: ages, countdowns."""


class Dashboard(Protocol):
    """The app, as views and widgets see it."""

    @property
    def session(self) -> Session:
        """The connection to the hub."""

    @property
    def world(self) -> World:
        """What is known. Only the app changes it."""

    @property
    def terminals(self) -> Terminals:
        """Where emulators come from."""

    @property
    def remembered(self) -> Remembered:
        """What the next start finds again."""

    @property
    def keys(self) -> Mapping[str, tuple[str, ...]]:
        """The keys of actions by their ids, as the person wants them; an action that is missing has the registry's."""

    @property
    def is_readonly(self) -> bool:
        """Whether nothing may be changed from here."""

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        """Shows a line for some seconds. Foreign text in it is shown as it is, never as markup."""

    async def run_action_by_id(self, action_id: str, argument: str = "") -> None:
        """Does an action, or says why it cannot be done."""

    async def ask(self, dialog: ModalScreen[T]) -> T | None:
        """Shows a dialog and waits for its answer; None: it was left without one. For a worker only."""

    def open_console(self, sandbox: str, console: str | None = None) -> None:
        """Shows a console in a pane; None: the sandbox's newest open one."""


class View(Container):
    """A whole view. It shows the model and does actions of its own; it never changes the model."""

    name_of_view: ClassVar[str] = ""
    title: ClassVar[str] = ""

    @property
    def dashboard(self) -> Dashboard:
        """The app."""
        return cast("Dashboard", cast("Any", self.app))

    def show(self, world: World, topics: AbstractSet[str]) -> None:
        """Shows what has changed.

        Args:
            world: what is known.
            topics: sandbox, console, approval, usage, link, tick; or all.
        """
        raise NotImplementedError

    def set_filter(self, wanted: Filter | None) -> tuple[int, int] | None:
        """Shows what matches only; returns how many that are, of how many; None where the view finds out by and by."""
        raise NotImplementedError

    def chosen(self) -> Chosen:
        """What actions would be about now."""
        raise NotImplementedError

    async def run(self, action: str, argument: str) -> bool:
        """Does an action, in a worker; False: it is none of this view's."""
        raise NotImplementedError

    def focus_main(self) -> None:
        """Gives the focus to what the view is about."""
        raise NotImplementedError
