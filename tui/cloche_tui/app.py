"""The dashboard put together: what comes from the hub changes the model, what the person does becomes an action.

Rules:
- Only the app changes the model, on the loop, between two frames. Views show it; workers wait for the hub.
- An action is refused here, with a reason, or done by the view that has it. None is done by a key that was meant for
  a console: while one is driven no key comes here at all.
- Nothing that comes unasked moves the focus.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, TextArea

from cloche.errors import BadRequest, CodedError
from cloche.filters import parse_filter
from cloche_tui import app_actions
from cloche_tui.actions import BY_COMMAND, BY_ID, Action, Need, Place, Situation, meant_by, possible, refusal
from cloche_tui.feed.session import Connect, Session
from cloche_tui.frame import Options
from cloche_tui.kept_filters import KeptFilters
from cloche_tui.messages import Begun, ChoiceChanged, EventsArrived, LinkChanged, RunAction
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.commands import History, read_command
from cloche_tui.model.roles import Role
from cloche_tui.model.world import World
from cloche_tui.remembered import Remembered
from cloche_tui.views.approvals import ApprovalsView
from cloche_tui.views.audit import AuditView
from cloche_tui.views.consoles import ConsolesArea
from cloche_tui.views.files import FilesView
from cloche_tui.views.sandboxes import SandboxesView
from cloche_tui.views.view import ALL, TICK, View
from cloche_tui.widgets.attention import Attention
from cloche_tui.widgets.banner import Banner
from cloche_tui.widgets.bars import CommandBar, FilterBar, is_end_of_line
from cloche_tui.widgets.footer import WHILE_DRIVING, Footer
from cloche_tui.widgets.heading import Heading
from cloche_tui.widgets.pane_actions import holds_keys_back
from cloche_tui.widgets.typed_ahead import TypedAhead, typed
from cloche_tui.widgets.work import begin

if TYPE_CHECKING:
    from cloche_term.apart.terminals import Terminals

_TICK_S = 1.0
_DECIDING = "deciding"


class DashboardApp(app_actions.Desk):
    """The dashboard.

    Args:
        connect: makes connections to the hub.
        remembered: what the last one left.
        keys: of each action by its id, as the person wants them.
        options: how it was started.
    """

    CSS_PATH = "app.tcss"

    def __init__(
        self,
        connect: Connect,
        remembered: Remembered,
        keys: Mapping[str, tuple[str, ...]],
        options: Options | None = None,
        **textual: Any,
    ) -> None:
        super().__init__(**textual)
        self.options = options or Options()
        self.is_readonly = self.options.is_readonly
        self.session = Session(connect, self.post_message)
        self.remembered, self.keys = remembered, keys
        self.world = World(self.session.state, now=datetime.now(UTC))
        self._terminals: Terminals | None = None
        self._leaving = asyncio.Event()
        self._filters_kept, self._typed_ahead = KeptFilters(remembered), TypedAhead()
        self._focus_before: Widget | None = None
        self._through_console: events.Key | None = None
        self._console_first = self.options.console
        calls = self.options.has_bell
        self._attention = Attention(self.put_out, name="Cloche", rings=calls, notifies=calls)

    # What it consists of.

    def compose(self) -> ComposeResult:
        """The lines above and below, and the views with the consoles beside them."""
        yield Heading()
        yield Banner()
        with Container(id="main"):
            with ContentSwitcher(initial=self.options.view, id="views"):
                yield SandboxesView(id="sandboxes")
                yield ApprovalsView(id="approvals")
                yield AuditView(id="audit")
                yield FilesView(id="files")
            yield ConsolesArea(id="consoles")
        with Container(id="last-line"):
            yield FilterBar(History())
            yield CommandBar(History(), partial(app_actions.completions, self))
            yield Footer()

    def on_mount(self) -> None:
        """Begins."""
        begin(self, self._hold_terminals, group="terminals")
        begin(self, self.session.run, group="session")
        self.set_interval(_TICK_S, self._tick)
        self._show(ALL)
        self._filters_kept.take_up(self.views)
        self.view.focus_main()

    async def _hold_terminals(self) -> None:
        # Imported when the first frame is on its way: nothing of it is needed for that.
        from cloche_term.apart.terminals import open_terminals
        from cloche_term.apart.zygote import Zygote

        with contextlib.closing(Zygote(nice=0, is_quiet=True)) as zygote:
            async with open_terminals(zygote=zygote) as opened:
                self._terminals = opened
                await self._leaving.wait()

    @property
    def terminals(self) -> Terminals:
        """Where emulators come from."""
        assert self._terminals is not None
        return self._terminals

    @property
    def views(self) -> Sequence[View]:
        """All views."""
        return list(self.query(View))

    @property
    def view(self) -> View:
        """The one that is shown."""
        shown = self.query_one("#views", ContentSwitcher).visible_content
        assert isinstance(shown, View)
        return shown

    @property
    def consoles(self) -> ConsolesArea:
        """The consoles beside it."""
        return self.query_one(ConsolesArea)

    # What comes from the hub.

    @on(Begun)
    def _begin(self) -> None:
        self.world.begin()

    @on(EventsArrived)
    def _apply(self, message: EventsArrived) -> None:
        topics = self.world.apply(message.events)
        self._show(topics)
        if "all" in topics and (first := self._console_first):
            self._console_first = None
            begin(self, partial(app_actions.open_first, self, first), group="actions")

    @on(LinkChanged)
    def _link(self, message: LinkChanged) -> None:
        self.world.link = message.state
        self._show(frozenset({"link"}))

    def _tick(self) -> None:
        self.look_for_themes()
        self._show(TICK)
        if self._typed_ahead.tick():
            self.call_later(self._let_keys_go)

    def _show(self, topics: frozenset[str]) -> None:
        if self._leaving.is_set() or not self.is_up:
            return
        self.world.now = datetime.now(UTC)
        self.query_one(Banner).show(self.world.link, now=self.world.now)
        for view in self.views:
            view.show(self.world, topics)
        self.consoles.show(self.world, topics)
        self.query_one(SandboxesView).show_asks(self.consoles.asks)
        self._attention.show(self.world.inbox, now=time.monotonic())
        app_actions.show_heading(self)
        self._show_footer()

    # What can be done, and what is done.

    def situation(self) -> Situation:
        """Where the focus is, and what is chosen there."""
        at_console = self.consoles.has_focus_within
        return Situation(
            place=Place.CONSOLE if at_console else Place(self.view.id or ""),
            chosen=self.chosen(),
            is_connected=self.session.is_up,
            is_readonly=self.is_readonly,
        )

    def chosen(self) -> Chosen:
        """What actions would be about now."""
        return self.consoles.chosen() if self.consoles.has_focus_within else self.view.chosen()

    def _show_footer(self) -> None:
        footer, now = self.query_one(Footer), self.situation()
        footer.filter = self._filters_kept.of(self.view)
        footer.driving = WHILE_DRIVING if now.chosen.is_driving else ""
        there = [action for action in possible(now) if action.word(now.chosen)]
        keys = {action.id: self.keys.get(action.id, action.keys) for action in there}
        footer.hints = [
            (keys[action.id][0], action.word(now.chosen), action.id)
            for action in sorted(there, key=lambda action: len(action.places))
            if keys[action.id]
        ]

    async def on_event(self, event: events.Event) -> None:
        """Takes the keys that mean something here, before any widget gets them.

        In the order in which they come: who types `/web` means the line that `/` has opened, with all of it.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            if not self._typed_ahead.keeps(event) and not await self._take_key(event):
                await self._pass_on(event)
            return
        if event is self._through_console and await self._take_key(event):
            # It comes by once more, on its way up: nothing in the console wanted it.
            return
        await super().on_event(event)
        if self._typed_ahead.has_passed(event):
            await self._let_keys_go()

    async def _pass_on(self, key: events.Key) -> None:
        """Gives a key to what has the focus. What is typed behind it waits until it is known what it does."""
        focused = self.focused
        at_console = self.screen is self.screen_stack[0] and self.consoles.has_focus_within
        self._through_console = key if at_console else None
        await super().on_event(key)
        if key.is_forwarded and not at_console:
            self._typed_ahead.follow(key, focused or self.screen, ends_line=is_end_of_line(key, focused))

    async def _take_key(self, event: events.Key) -> bool:
        """Does what a key means here; False: nothing."""
        if (action := self._meant(event)) is not None:
            event.stop()
            with typed(event):
                await self._do(action.id)
        return action is not None

    async def _do(self, action_id: str, argument: str = "") -> None:
        """Does an action at once if it waits for nobody, else by a worker."""
        if app_actions.is_quick(action_id):
            await self.run_action_by_id(action_id, argument)
        else:
            self.begin_action(action_id, argument)

    def _meant(self, event: events.Key) -> Action | None:
        if self.screen is not self.screen_stack[0] or isinstance(self.focused, Input | TextArea):
            return None
        now = self.situation()
        if now.chosen.is_driving or holds_keys_back(self.focused):
            return None
        key = event.character if event.is_printable and event.character not in (None, " ") else event.key
        return meant_by(str(key), now.place, self.keys)

    @on(RunAction)
    def _wanted(self, message: RunAction) -> None:
        self.begin_action(message.id, message.argument)

    @on(ChoiceChanged)
    def _chose(self) -> None:
        if self.is_up:
            self._show_footer()

    def on_descendant_focus(self) -> None:
        """Other keys mean something now."""
        if self.is_up:
            self._show_footer()
            app_actions.make_room(self)

    def begin_action(self, action_id: str, argument: str) -> None:
        """Has an action done by a worker."""
        group = _DECIDING if Need.APPROVAL in BY_ID[action_id].needs else "actions"
        if group == _DECIDING and any(
            worker.group == _DECIDING and not worker.is_finished for worker in self.workers
        ):
            # A key behind another one may have been typed for the dialog that is about to open.
            self.say("one decision at a time", Role.WARNING)
            return
        begin(self, partial(self.run_action_by_id, action_id, argument), group=group)

    async def run_action_by_id(self, action_id: str, argument: str = "") -> None:
        """Does an action, or says why it cannot be done."""
        action, now = BY_ID[action_id], self.situation()
        if (why := refusal(action, now, is_named=bool(argument))) is not None:
            self.say(why, Role.WARNING)
            return
        try:
            doers: list[ConsolesArea | View] = [self.consoles, self.view, *self.views]
            for doer in doers:
                if await doer.run(action_id, argument):
                    return
            await app_actions.run(self, action_id, argument)
        except CodedError as error:
            self.say(error.message, Role.BAD)

    def show_view(self, name: str) -> None:
        """Shows another view, and gives it the focus."""
        self.query_one("#views", ContentSwitcher).current = name
        self.view.show(self.world, ALL)
        self.view.focus_main()
        app_actions.show_heading(self)

    def open_console(self, sandbox: str, console: str | None = None) -> None:
        """Shows a console in a pane, which has the focus then."""
        self.consoles.open(sandbox, console)

    def open_filter(self, text: str = "") -> None:
        """Asks what the list is to show; as it was asked last if nothing else is given."""
        text = text or self._filters_kept.of(self.view)
        self._open_line(self.query_one(FilterBar), text)
        self.set_filter(text)

    @on(FilterBar.Changed)
    def _filter(self, message: FilterBar.Changed) -> None:
        self.set_filter(message.text)

    def set_filter(self, text: str) -> None:
        """Shows what matches this; empty: all there is."""
        bar = self.query_one(FilterBar)
        try:
            counts = self.view.set_filter(parse_filter(text))
        except BadRequest as error:
            bar.tell(error.message, Role.BAD)
            return
        bar.tell("" if counts is None else "{}/{}".format(*counts))
        self._filters_kept.keep(self.view, text)

    async def _let_keys_go(self) -> None:
        """What was typed behind a line's end means what it means where the line's end has led."""
        for key in self._typed_ahead.let_go():
            await self.on_event(key)

    @on(FilterBar.Left)
    def _leave_filter(self, message: FilterBar.Left) -> None:
        if self.query_one(FilterBar).gives_way(message):
            if not message.is_kept:
                self.set_filter("")
            self._give_focus_back()
        self.call_after_refresh(self._let_keys_go)

    def open_commands(self, text: str = "") -> None:
        """Asks for a command."""
        self._open_line(self.query_one(CommandBar), text)

    @on(CommandBar.Typed)
    async def _command(self, message: CommandBar.Typed) -> None:
        self.query_one(CommandBar).close()
        self._give_focus_back()
        try:
            name, argument = read_command(message.line, BY_COMMAND)
            await self._do(BY_COMMAND[name].id, argument)
        except BadRequest as error:
            self.say(error.message, Role.BAD)
        self.call_after_refresh(self._let_keys_go)

    @on(CommandBar.Left)
    def _leave_commands(self) -> None:
        self.query_one(CommandBar).close()
        self._give_focus_back()
        self.call_after_refresh(self._let_keys_go)

    def _open_line(self, line: FilterBar | CommandBar, text: str) -> None:
        self._focus_before = self.focused
        # In its place, so that nothing else moves.
        self.query_one(Footer).display = False
        line.open(text)

    def _give_focus_back(self) -> None:
        """At once: what a command is about depends on it."""
        self.query_one(Footer).display = True
        before, self._focus_before = self._focus_before, None
        if before is not None and before.is_attached and before.screen is self.screen:
            self.screen.set_focus(before)
        else:
            self.view.focus_main()

    def leave(self) -> None:
        """Ends the program; consoles and sandboxes go on."""
        self._attention.close()
        self._leaving.set()
        super().leave()
