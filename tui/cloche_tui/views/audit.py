"""What has happened: all of the audit as a list that follows, one event in full, and the way to where it happened.

Rules:
- The list is as long as what is wanted of the chain; rows come from the hub where somebody looks, and not before.
- Who selects an older event, scrolls away or reads one in full stands still, and is told how many have come since. Who
  goes to the newest follows again.
- An event is known by its number, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Static

from cloche.audit_search import AuditPage
from cloche.errors import BadRequest, CodedError
from cloche_tui.feed.audit_export import export_audit
from cloche_tui.feed.trail import TrailFeed
from cloche_tui.messages import ChoiceChanged
from cloche_tui.model.call_text import CallLine
from cloche_tui.model.call_text import Path as FoldPath
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.filtered import none_matches
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.model.trail import Trail
from cloche_tui.model.trail_text import cells, event_lines, place_of, status
from cloche_tui.own_files import typed_path
from cloche_tui.views.view import View
from cloche_tui.widgets.call_view import CallView
from cloche_tui.widgets.columns import Column
from cloche_tui.widgets.strip_table import StripTable
from cloche_tui.widgets.styles import text_of
from cloche_tui.widgets.table_paint import TableRow
from cloche_tui.widgets.work import begin

if TYPE_CHECKING:
    from cloche.filters import Filter
    from cloche_tui.model.world import World

_COLUMNS = (
    Column("number", "#", 7, most=9, rank=3, is_right=True),
    Column("at", "Time", 15),
    Column("event", "Event", 18, most=19),
    Column("actor", "Actor", 8, most=16, rank=2),
    Column("sandbox", "Sandbox", 8, most=18, rank=1),
    Column("about", "Detail", 8, most=400, rank=1),
)
_EMPTY: tuple[Line, ...] = ((Span("Nothing has happened yet."),),)
_SEARCHING: tuple[Line, ...] = ((Span("Searching …", Role.MUTED),),)
_BESIDE = 130
"""Places from which on list and event stand beside each other."""
_FRAME_S = 1 / 30


class AuditView(View):
    """See the module."""

    DEFAULT_CSS = """
    AuditView { layout: vertical; }
    AuditView #trail-main { height: 1fr; layout: vertical; }
    AuditView #trail { height: 1fr; }
    AuditView #trail-event { display: none; height: 1fr; border-top: solid $panel; padding: 0 1; }
    AuditView.-detailed #trail-event { display: block; }
    AuditView.-beside #trail-main { layout: horizontal; }
    AuditView.-beside #trail { width: 3fr; }
    AuditView.-beside #trail-event { width: 2fr; border-top: none; border-left: solid $panel; }
    AuditView #trail-status { height: 1; padding: 0 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "to_event", "To the event", show=False, id="audit.to_event"),
        Binding("left,h", "to_list", "To the list", show=False, id="audit.to_list"),
    ]
    name_of_view: ClassVar[str] = "audit"
    title: ClassVar[str] = "Audit"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self.trail = Trail()
        self._rows = _Rows(self.trail)
        self._table = StripTable(_COLUMNS, self._rows, on_select=self._select, empty=_SEARCHING, id="trail")
        self._event = CallView(id="trail-event")
        self._feed: TrailFeed | None = None
        self._wanted: Filter | None = None
        self._is_due = False
        self._selected: int | None = None
        self._top: tuple[int, int] | None = None
        """The event on the first line and its place then, as long as nothing is followed."""
        self._followed_to: int | None = None
        """The newest event that was gone to."""
        self._followed_y = 0
        """How far the table was scrolled then."""
        self._page: AuditPage | None = None
        """The event that is shown in full."""
        self._toggled: frozenset[FoldPath] = frozenset()
        self._exported: str | None = None

    # What it consists of.

    def compose(self) -> ComposeResult:
        """The list, the event, and where the list stands."""
        with Container(id="trail-main"):
            yield self._table
            yield self._event
        yield Static(id="trail-status", markup=False)

    def on_show(self) -> None:
        """Begins when somebody looks for the first time."""
        if self._feed is None:
            self._begin()

    def _begin(self) -> TrailFeed:
        self._feed = TrailFeed(self.dashboard.session, self.trail, self._changed)
        begin(self, self._feed.run, group="trail")
        return self._feed

    def on_resize(self, event: events.Resize) -> None:
        """There is room for both beside each other, or not."""
        self.set_class(event.size.width >= _BESIDE, "-beside")
        self._changed()

    def focus_main(self) -> None:
        """The list."""
        self.screen.set_focus(self._table)

    def action_to_event(self) -> None:
        """The event, to scroll in it."""
        if self.has_class("-detailed"):
            self.screen.set_focus(self._event)

    def action_to_list(self) -> None:
        """Back."""
        self.focus_main()

    # What is shown.

    def show(self, world: World, topics: AbstractSet[str]) -> None:
        """Times of events of another day have their date."""
        self._rows.now = world.now
        if topics & {"all", "link"} and self._feed is not None:
            self._changed()

    def set_filter(self, wanted: Filter | None) -> None:
        """Searches for what matches only. It takes its time: the line below the list says how far it is."""
        self._wanted = wanted
        (self._feed or self._begin()).want(wanted)
        self._changed()

    def chosen(self) -> Chosen:
        """The selected event, and its sandbox."""
        number = self._chosen
        row = None if number is None else self.trail.kept(number)
        if row is None or row.sandbox is None:
            return Chosen(event=number)
        name = row.sandbox_name or row.sandbox
        return Chosen((row.sandbox,), (name,), sandbox=row.sandbox, event=number)

    @property
    def _chosen(self) -> int | None:
        """The number of the selected event; None: none is, or the filter hides it."""
        number = self._selected
        return None if number is None or self.trail.index_of(number) is None else number

    def _changed(self) -> None:
        """Something has come: shown soon, and not more often than anybody can look."""
        if not self._is_due:
            self._is_due = True
            self.set_timer(_FRAME_S, self._update)

    def _update(self) -> None:
        self._is_due = False
        if not self.display:
            return
        trail, table = self.trail, self._table
        table.show_empty(self._if_empty())
        before = table.scroll_offset.y
        table.update()
        if trail.is_followed and len(trail):
            self._followed_to = trail.number_at(len(trail) - 1)
            table.go_to(len(trail) - 1)
            self._followed_y = table.scroll_offset.y
        elif self._top is not None and len(trail):
            # Older events were found: what is read stays where it is.
            number, place = self._top
            self._top = number, trail.nearest(number)
            if self._top[1] != place:
                table.scroll_to(y=before + self._top[1] - place, animate=False, force=True)
        self._ask_for_rows()
        self._show_status()

    def _if_empty(self) -> tuple[Line, ...]:
        feed = self._feed
        if feed is not None and feed.trouble is not None:
            return (line(Span(feed.trouble, Role.BAD)),)
        if self.trail.is_searching or not self.trail.head:
            return _SEARCHING
        return _EMPTY if self._wanted is None else none_matches("event", self._wanted.source)

    def _show_status(self) -> None:
        said = list(status(self.trail))
        if self._feed is not None and self._feed.trouble is not None:
            said.append(Span(f" · {' '.join(self._feed.trouble.split())}", Role.BAD))
        if self._exported is not None:
            said.append(Span(f" · {self._exported}", Role.ACCENT))
        self.query_one("#trail-status", Static).update(text_of(self.app, line(*said)))

    def _ask_for_rows(self) -> None:
        rows = self._table.visible_rows
        if self._feed is not None and len(rows):
            self._feed.look_at(rows.start, len(rows))

    @on(StripTable.Viewed)
    def _viewed(self, message: StripTable.Viewed) -> None:
        message.stop()
        # Lines that have come below are nobody's doing, nor is a window of another height.
        y = self._table.scroll_offset.y
        if not self.trail.is_followed or y < min(self._followed_y, self._table.max_scroll_y):
            self._stand_still()
        self._ask_for_rows()

    # Moving about.

    def _select(self, key: str) -> None:
        number = int(key)
        is_other, self._selected = number != self._selected, number
        if number == self._followed_to:
            # Nobody went there: it was the newest, and its row has come.
            pass
        elif self.trail.index_of(number) != len(self.trail) - 1:
            self._stand_still()
        elif not self.has_class("-detailed"):
            self._follow()
        if is_other:
            self.post_message(ChoiceChanged())
            if self.has_class("-detailed"):
                self.run_worker(self._show_event(number), group="event", exclusive=True)

    def _stand_still(self) -> None:
        self.trail.follow(is_on=False)
        self._followed_to = None
        rows = self._table.visible_rows
        self._top = (self.trail.number_at(rows.start), rows.start) if len(rows) else None
        self._show_status()

    @on(StripTable.Entered)
    async def _entered(self, message: StripTable.Entered) -> None:
        message.stop()
        await self.run("audit.detail", "")

    @on(StripTable.CellClicked)
    @on(StripTable.HeadingClicked)
    def _clicked(self, message: StripTable.CellClicked | StripTable.HeadingClicked) -> None:
        message.stop()

    # What can be done.

    async def run(self, action: str, argument: str) -> bool:
        """Does an action."""
        match action:
            case "audit.follow":
                if self.trail.is_followed:
                    self._stand_still()
                else:
                    self._follow()
            case "audit.detail":
                await self._detail()
            case "audit.go":
                await self._go()
            case "audit.export":
                await self._export(argument)
            case _:
                return False
        return True

    def _follow(self) -> None:
        if not self.trail.is_followed:
            self.trail.follow(is_on=True)
            self._top = None
            self._changed()

    async def _detail(self) -> None:
        if self._event.has_focus and self._event.fold_here is not None:
            self._fold(self._event.fold_here)
        elif self.has_class("-detailed"):
            self.remove_class("-detailed")
            self.focus_main()
        elif self._chosen is not None:
            self.add_class("-detailed")
            # What is read stands still.
            self._stand_still()
            await self._show_event(self._chosen)

    async def _show_event(self, number: int) -> None:
        assert self._feed is not None
        self._page, self._toggled = None, frozenset()
        try:
            self._page = await self._feed.event(number)
        except CodedError as error:
            why = CallLine(line(Span(error.message, Role.BAD)))
            self._event.show([why], is_other=True)
        self._write_event(is_other=True)

    def _write_event(self, *, is_other: bool) -> None:
        if self._page is not None:
            event = self._page.events[0]
            self._event.show(event_lines(event, self._page.names, toggled=self._toggled), is_other=is_other)

    @on(CallView.FoldAsked)
    def _fold_clicked(self, message: CallView.FoldAsked) -> None:
        message.stop()
        self._fold(message.path)

    def _fold(self, path: FoldPath) -> None:
        self._toggled ^= {path}
        self._write_event(is_other=False)
        self._event.go_to_fold(path)

    async def _go(self) -> None:
        """Goes to where the selected event happened."""
        if self._chosen is None or self._feed is None:
            raise BadRequest("select an event first")
        page = await self._feed.event(self._chosen)
        sandbox, console = place_of(page.events[0])
        if sandbox is None:
            raise BadRequest("this event is about no sandbox")
        world, name = self.dashboard.world, page.names.get(sandbox, sandbox)
        if world.fleet.get(sandbox) is None:
            raise BadRequest(f"{name} is not there any more; its recordings are: cloche record ls")
        if console is not None and console in world.consoles:
            self.dashboard.open_console(sandbox, console)
        else:
            world.fleet.select(sandbox)
            await self.dashboard.run_action_by_id("view.sandboxes")
            if world.fleet.selected != sandbox:
                self.dashboard.say(f"{name} is hidden by the filter of the sandboxes", Role.WARNING)

    async def _export(self, argument: str) -> None:
        if self._exported is not None:
            raise BadRequest("the audit is being exported already")
        target = _target(argument)
        self._tell_export(0)
        try:
            written = await export_audit(self.dashboard.session.hub, target, self._tell_export)
        finally:
            self._exported = None
            self._show_status()
        self.dashboard.say(f"wrote {target}: {written:,} events, verified by the hub", Role.GOOD)

    def _tell_export(self, written: int) -> None:
        of = f" of {self.trail.head:,}" if self.trail.head else ""
        self._exported = f"exporting {written:,}{of}"
        self._show_status()


def _target(name: str) -> Path:
    now = datetime.now().astimezone()
    return typed_path(name or f"cloche-audit-{now:%Y%m%d-%H%M%S}.jsonl")


class _Rows:
    """The list as a table asks for it."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.now = datetime.now().astimezone()

    def __len__(self) -> int:
        return len(self._trail)

    def row(self, index: int) -> TableRow | str:
        """A row; of one that is on its way, its key."""
        row = self._trail.row(index)
        return str(self._trail.number_at(index)) if row is None else TableRow(row.key, cells(row, self.now))

    def index_of(self, key: str) -> int | None:
        """Where it is."""
        return self._trail.index_of(int(key))
