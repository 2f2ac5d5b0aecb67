"""The consoles beside a view, or over all of it: up to four panes, and what can be done about them.

    area.open(sandbox_id)             its newest console, watched, in a pane that has the focus then
    area.show(world, topics)          as every view
    await area.run("console.full", "")

Which panes there are is decided in `model.console_panes`; how each console stands to the person, in its pane.

Rules:
- Opening watches. Keys go into a console only after somebody has asked for that.
- Nothing opens, closes or moves the focus by itself: a console that ends stays as it was, with the reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container

from cloche.errors import BadRequest, NotFound
from cloche_tui.actions import BY_ID
from cloche_tui.messages import ChoiceChanged
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.console_offers import words_for
from cloche_tui.model.console_panes import (
    Layout,
    Pane,
    Panes,
    from_plain,
    in_order,
    is_boot,
    newest_console,
    next_console,
    room_note,
    to_plain,
)
from cloche_tui.model.console_status import Keys, label
from cloche_tui.views.console_work import close_console, close_one_of, newest_of, save_console, search_in
from cloche_tui.views.view import Dashboard, View
from cloche_tui.widgets.console_grid import ConsoleGrid
from cloche_tui.widgets.console_pane import ConsolePane
from cloche_tui.widgets.pane_actions import PANE_ACTIONS
from cloche_tui.widgets.search_line import SearchLine

if TYPE_CHECKING:
    from cloche import ConsoleInfo
    from cloche_tui.model.world import World

_REMEMBERED = "consoles"
_NO_PANE = "no console is shown: enter on a sandbox opens one"


class ConsolesArea(Container):
    """The panes. While there is none it takes no room."""

    DEFAULT_CSS = """
    ConsolesArea { width: 1fr; height: 1fr; display: none; }
    ConsolesArea.-open { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._panes = Panes()
        self._is_restored = False
        self._grid, self._search = ConsoleGrid(), SearchLine()
        self._doers: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "console.open": self._open,
            "console.new": self._open_new,
            "console.next": self._next,
            "console.boot": self._boot,
            "console.search": self._find,
            "console.save": self._save,
            "console.leave": self._leave,
            "console.hide": self._hide,
            "console.close": self._close,
            "console.full": self._fill,
            "console.layout": self._arrange_as,
            "console.next_pane": self._step(1),
            "console.previous_pane": self._step(-1),
        }

    def compose(self) -> ComposeResult:
        """The panes, and the line for what is searched."""
        yield self._grid
        yield self._search

    @property
    def dashboard(self) -> Dashboard:
        """The app."""
        return cast("Dashboard", cast("Any", self.app))

    # As a view has it.

    def show(self, world: World, topics: AbstractSet[str]) -> None:
        """Shows what has changed, as `View.show`."""
        if "all" in topics:
            self._restore(world)
        if topics & {"all", "console"}:
            self._find_consoles(world)
        for _, pane in self._grid:
            if topics & {"all", "sandbox"}:
                pane.machine_changed(is_up=world.runs(pane.sandbox))
            if "link" in topics:
                pane.link_changed()
            if "tick" in topics:
                pane.look_after()

    def chosen(self) -> Chosen:
        """What actions would be about while the focus is here."""
        pane = self._panes.focused
        if pane is None:
            return Chosen()
        sandbox = self.dashboard.world.fleet.get(pane.sandbox)
        widget = self._grid.of(pane)
        status = widget.status
        info = status.info
        return Chosen(
            sandboxes=(pane.sandbox,),
            names=() if sandbox is None else (sandbox.name,),
            sandbox=pane.sandbox,
            console=widget.console,
            console_label=None if info is None else label(info),
            is_driving=status.has_keys,
            words=words_for(status),
        )

    async def run(self, action: str, argument: str) -> bool:
        """Does an action; False: it is none about consoles."""
        if (act := PANE_ACTIONS.get(action)) is not None:
            act(self._focused())
            return True
        doer = self._doers.get(action)
        if doer is None:
            return False
        await doer(argument)
        return True

    def open(self, sandbox: str, console: str | None = None, *, takes_focus: bool = True) -> None:
        """Watches a console.

        Args:
            sandbox: the id of the one it is in.
            console: its id; None: the newest open one, or what the machine says.
            takes_focus: whether its pane has the focus then.
        """
        self._arrange(self._panes.opened(sandbox, console or self._newest(sandbox), driven=self._driven))
        if takes_focus:
            self._focus_pane()

    @property
    def asks(self) -> Mapping[str, Sequence[str]]:
        """Who asks us to drive, by the ids of sandboxes."""
        asks: dict[str, list[str]] = {}
        for _, widget in self._grid:
            if (name := widget.status.asking) is not None:
                asks.setdefault(widget.sandbox, []).append(name)
        return asks

    def focus_pane(self, console: str) -> bool:
        """Gives the focus to the pane of a console; returns whether there is one."""
        for pane in self._panes.all:
            if self._grid.of(pane).console == console:
                self._arrange(self._panes.focusing(pane.key))
                self._focus_pane()
                return True
        return False

    # What there is.

    @property
    def _driven(self) -> AbstractSet[int]:
        return {key for key, pane in self._grid if pane.status.has_keys}

    def _consoles_of(self, sandbox: str) -> Iterable[ConsoleInfo]:
        return self.dashboard.world.consoles.of(sandbox)

    def _newest(self, sandbox: str) -> str | None:
        return None if (one := newest_console(self._consoles_of(sandbox))) is None else one.id

    def _focused(self) -> ConsolePane:
        """The pane that has the focus, or had it last.

        Raises:
            NotFound: there is none.
        """
        if self._panes.focused is None:
            raise NotFound(_NO_PANE)
        return self._grid.of(self._panes.focused)

    def _meant(self, argument: str) -> str:
        """The id of the sandbox that is meant: a named one, that of the focused pane, or the selected one.

        Raises:
            NotFound: there is none.
        """
        fleet = self.dashboard.world.fleet
        if argument:
            meant = fleet.named(argument)
            if meant is None:
                raise NotFound(f"there is no sandbox {argument!r}")
            return meant
        pane = self._panes.focused if self.has_focus_within else None
        meant = fleet.selected if pane is None else pane.sandbox
        if meant is None:
            raise NotFound("select a sandbox first")
        return meant

    def _find_consoles(self, world: World) -> None:
        """What had no console may have one now."""
        for pane in self._panes.all:
            newest = newest_console(world.consoles.of(pane.sandbox))
            widget = self._grid.of(pane)
            if widget.shows_nothing and newest is not None:
                self._panes = self._panes.showing(pane.key, newest.id)
                widget.show(newest.id)

    # Panes on the screen.

    def _arrange(self, panes: Panes, *, new: bool = False) -> None:
        """Makes the screen what the panes are.

        Args:
            panes: all of them.
            new: whether a new shell is opened in the focused one.
        """
        self._panes = panes
        self._grid.fit_panes(panes, lambda pane: self._made(pane, is_new=new and pane is panes.focused))
        self.set_class(bool(panes.all), "-open")
        if isinstance(self.parent, Container):
            self.parent.set_class(panes.covers, "-full")
        self.dashboard.remembered.set(_REMEMBERED, to_plain(self._panes))
        self.post_message(ChoiceChanged())

    def _made(self, pane: Pane, *, is_new: bool) -> ConsolePane:
        dashboard = self.dashboard
        sandbox = dashboard.world.fleet.get(pane.sandbox)
        return ConsolePane(
            dashboard.session,
            dashboard.terminals,
            pane.sandbox,
            pane.console,
            title=pane.sandbox if sandbox is None else sandbox.name,
            is_new=is_new,
            can_drive=not dashboard.is_readonly,
            is_machine_up=dashboard.world.runs(pane.sandbox),
            keys=Keys(*map(self._key_of, ("drive", "ask", "take", "give", "clipboard", "hide"))),
        )

    def _key_of(self, name: str) -> str:
        """What the key of an action about consoles is called; its command, if it has none."""
        action = BY_ID[f"console.{name}"]
        return next(iter(self.dashboard.keys.get(action.id, action.keys)), f":{action.command}")

    def _focus_pane(self) -> None:
        self._focused().focus()

    def _focus_list(self) -> None:
        for view in self.screen.query(View):
            if view.display:
                view.focus_main()

    def _restore(self, world: World) -> None:
        """Shows what was shown when the dashboard was left, once it is known what there still is."""
        if self._is_restored or not len(world.fleet):
            return
        self._is_restored = True
        if self._panes.all:
            return
        known = self.dashboard.remembered.get(_REMEMBERED, {})
        panes = from_plain(known, is_there=lambda sandbox: world.fleet.get(sandbox) is not None)
        for pane in panes.all:
            info = world.consoles.get(pane.console or "")
            if info is None or not info.is_open:
                newest = newest_console(world.consoles.of(pane.sandbox))
                panes = panes.showing(pane.key, None if newest is None else newest.id)
        # Nobody has asked for the focus, so the list has to be there to have it.
        self._arrange(panes.uncovered())

    @on(ConsolePane.Became)
    def _became(self, message: ConsolePane.Became) -> None:
        message.stop()
        for key, widget in self._grid:
            if widget is message.pane:
                self._panes = self._panes.showing(key, message.console)
        self.dashboard.remembered.set(_REMEMBERED, to_plain(self._panes))

    @on(ConsolePane.StatusChanged)
    def _status_changed(self, message: ConsolePane.StatusChanged) -> None:
        message.stop()
        self.post_message(ChoiceChanged())

    @on(events.DescendantFocus)
    def _follow_focus(self) -> None:
        for key, widget in self._grid:
            if widget.has_focus_within:
                self._panes = self._panes.focusing(key)
        self.post_message(ChoiceChanged())

    # What can be done.

    def _step(self, by: int) -> Callable[[str], Awaitable[None]]:
        async def do(_argument: str) -> None:
            panes, at_list = self._panes.stepped(by, at_list=not self.has_focus_within)
            self._arrange(panes)
            self._focus_list() if at_list else self._focus_pane()

        return do

    async def _open(self, argument: str) -> None:
        marked = () if argument or self.has_focus_within else self.dashboard.world.fleet.marks
        if len(marked) > 1:
            self._arrange(self._panes.together({sandbox: self._newest(sandbox) for sandbox in marked}))
            self._focus_pane()
        else:
            sandbox = self._meant(argument)
            self.open(sandbox, await newest_of(self.dashboard, sandbox) if argument else None)

    async def _open_new(self, argument: str) -> None:
        panes = self._panes.opened(self._meant(argument), None, driven=self._driven, is_new=True)
        self._arrange(panes, new=True)
        self._focus_pane()

    async def _next(self, _argument: str) -> None:
        sandbox = self._meant("")
        pane = self._panes.focused
        current = pane.console if pane is not None and pane.sandbox == sandbox else None
        found = next_console(self._consoles_of(sandbox), current)
        if found is None:
            raise NotFound("there is no other console; c opens one")
        self.open(sandbox, found.id)

    async def _boot(self, argument: str) -> None:
        sandbox = self._meant(argument)
        for console in in_order(self._consoles_of(sandbox)):
            if is_boot(console):
                self.open(sandbox, console.id)
                return
        raise NotFound("the machine says nothing any more")

    async def _find(self, text: str) -> None:
        pane = self._focused()
        if not text:
            self._search.ask(pane.view.matches.text if pane.view.matches is not None else "")
            return
        await search_in(self.dashboard, pane.view, text)

    @on(SearchLine.Wanted)
    async def _search_wanted(self, message: SearchLine.Wanted) -> None:
        message.stop()
        self._focus_pane()
        if message.text:
            await self._find(message.text)
        else:
            self._focused().view.clear_search()

    async def _save(self, argument: str) -> None:
        await save_console(self.dashboard, self._focused().view, argument)

    async def _leave(self, _argument: str) -> None:
        self._arrange(self._panes.uncovered())
        self._focus_list()

    async def _hide(self, _argument: str) -> None:
        self._focused()
        assert self._panes.focused is not None
        self._arrange(self._panes.closed(self._panes.focused.key))
        self._focus_pane() if self._panes.all else self._focus_list()

    async def _close(self, argument: str) -> None:
        if argument or not self.has_focus_within:
            await close_one_of(self.dashboard, argument or None, self._meant(argument.partition("/")[0]))
        else:
            await close_console(self.dashboard, self._focused().status.info)

    async def _fill(self, _argument: str) -> None:
        self._focused()
        self._arrange(self._panes.filled())
        self._focus_pane()

    async def _arrange_as(self, name: str) -> None:
        self._focused()
        if name and name not in list(Layout):
            raise BadRequest(f"there is no layout {name!r}: {', '.join(Layout)}")
        at_list = not self.has_focus_within
        self._arrange(self._panes.arranged(Layout(name)) if name else self._panes.turned())
        if at_list and self._panes.covers:
            self._focus_pane()
        if note := room_note(
            self._panes, f"{self._key_of('new')}, or {self._key_of('open')} on a sandbox, adds one"
        ):
            self.dashboard.say(note)
