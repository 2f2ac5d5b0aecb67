"""The sandboxes: a table that stands still under a person's hand, the selected one in detail, and what ends or makes them.

Rules:
- The fleet of the model says what is shown, in which order, and what is selected; the table tells it what a person does.
- What is destroyed is named by ids that were read before the question was asked. The question shows what is lost.
- Where the selected sandbox went by itself, the first key that would destroy its neighbour only says so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.timer import Timer
from textual.widgets import Static

from cloche.errors import BadRequest
from cloche_tui.messages import ChoiceChanged, RunAction
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.filtered import none_matches
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.model.sandbox_rows import ORDERS, attention_of
from cloche_tui.views.sandbox_table import COLUMNS, SORTED_BY, FleetRows
from cloche_tui.views.sandbox_work import create_sandbox, destroy_sandboxes
from cloche_tui.views.view import View
from cloche_tui.widgets.sandbox_detail import SandboxDetail
from cloche_tui.widgets.strip_table import StripTable
from cloche_tui.widgets.styles import text_of

if TYPE_CHECKING:
    from cloche.filters import Filter
    from cloche_tui.model.fleet import Fleet
    from cloche_tui.model.world import World

_USAGE = frozenset({"usage"})
_PACE_S = 0.5
"""What sandboxes cost is shown anew twice a second, however often it is told."""
_TALL = 28
"""Lines of the view from which the detail has several."""
_LOW = 10


class SandboxesView(View):
    """See the module.

    Args:
        pace_s: between two looks at what sandboxes cost.
    """

    DEFAULT_CSS = """
    SandboxesView { layout: vertical; }
    SandboxesView #sandboxes-note { height: 1; display: none; background: $panel; padding: 0 1; }
    SandboxesView #sandboxes-note.-said { display: block; }
    SandboxesView.-tall SandboxDetail { height: 6; }
    SandboxesView.-low SandboxDetail { display: none; }
    """
    name_of_view: ClassVar[str] = "sandboxes"
    title: ClassVar[str] = "Sandboxes"

    def __init__(self, *, id: str | None = None, pace_s: float = _PACE_S) -> None:  # noqa: A002
        super().__init__(id=id)
        self._pace_s = pace_s
        self._rows = FleetRows()
        self._table = StripTable(COLUMNS, self._rows, on_select=self._select, id="sandboxes-table")
        self._detail, self._note = (
            SandboxDetail(id="sandboxes-detail"),
            Static(id="sandboxes-note", markup=False),
        )
        self._noted: Line = ()
        self._asks: Mapping[str, Sequence[str]] = {}
        self._made: str | None = None
        """The id of one that was made here, to be selected as soon as the hub tells of it."""
        self._painted_at = float("-inf")
        self._later: Timer | None = None

    def compose(self) -> ComposeResult:
        """The table, a line about how it is shown, and the selected one."""
        yield self._table
        yield self._note
        yield self._detail

    def on_resize(self) -> None:
        """More room has more detail."""
        self.set_class(self.size.height >= _TALL, "-tall")
        self.set_class(self.size.height < _LOW, "-low")

    # What is shown.

    @property
    def _fleet(self) -> Fleet:
        assert self._rows.world is not None
        return self._rows.world.fleet

    def show(self, world: World, topics: AbstractSet[str]) -> None:
        """Shows what has changed; what sandboxes cost at most at its pace."""
        if self._rows.world is not world:
            self._rows.world = world
            self._take_remembered_order()
        if topics & {"all", "console", "approval"}:
            self._note_attention()
        if topics <= _USAGE and (wait_s := self._painted_at + self._pace_s - time.monotonic()) > 0:
            if self._later is None:
                self._later = self.set_timer(wait_s, self._repaint)
            return
        self._repaint()

    def show_asks(self, asks: Mapping[str, Sequence[str]]) -> None:
        """Who has asked to drive, by the ids of sandboxes."""
        if asks != self._asks:
            self._asks = dict(asks)
            if self._rows.world is not None:
                self._note_attention()
                self._repaint()

    def _note_attention(self) -> None:
        world = self._rows.world
        assert world is not None
        world.fleet.note(attention_of(world.consoles.values(), world.inbox.pending, self._asks))

    def _repaint(self) -> None:
        if self._later is not None:
            self._later.stop()
            self._later = None
        self._painted_at = time.monotonic()
        fleet, before = self._fleet, self._table.selected_key
        if self._made is not None and fleet.get(self._made) is not None:
            fleet.select(self._made)
            self._made = None
        sort, is_descending = fleet.sort
        self._table.show_sort(sort, is_descending=is_descending)
        self._table.show_empty(self._if_empty())
        if fleet.selected is None:
            self._table.select(None)
        self._table.update(select=fleet.selected)
        self._show_detail()
        self._show_note()
        if self._table.selected_key != before:
            self.post_message(ChoiceChanged())

    def _show_detail(self) -> None:
        fleet, world = self._fleet, self._rows.world
        assert world is not None
        self._detail.show(fleet.row(fleet.selected) if fleet.selected is not None else None, world.now)

    def _show_note(self) -> None:
        """How the table is shown, where that is not as usual."""
        fleet, told = self._fleet, list[str | Span]()
        if fleet.is_frozen:
            new = f", {fleet.new_since_frozen} new" if fleet.new_since_frozen else ""
            told.append(Span(f"❄ standing still{new}  ", Role.WARNING))
        if fleet.marks:
            hidden = f", {fleet.hidden_marks} of them hidden by the filter" if fleet.hidden_marks else ""
            told.append(Span(f"✓ {len(fleet.marks)} marked{hidden}", Role.ACCENT))
        noted = line(*told)
        if noted != self._noted:
            self._noted = noted
            self._note.update(text_of(self.app, noted), layout=False)
            self._note.set_class(bool(noted), "-said")

    def _if_empty(self) -> Sequence[Line]:
        fleet = self._fleet
        if len(fleet):
            return none_matches("sandbox", fleet.filtered_by)
        if not fleet.is_known:
            return (line(Span("Waiting for the hub to tell what there is …", Role.MUTED)),)
        key = () if self.dashboard.is_readonly else (line(Span("n", Role.ACCENT), " makes one here"),)
        return (
            line("There are no sandboxes."),
            (),
            *key,
            line(Span("cloche create", Role.ACCENT), " makes one from a shell"),
        )

    # What a view is asked for.

    def set_filter(self, wanted: Filter | None) -> tuple[int, int]:
        """Shows what matches only."""
        if self._rows.world is None:
            return 0, 0
        counted = self._fleet.set_filter(wanted)
        self._repaint()
        return counted

    def chosen(self) -> Chosen:
        """The marked sandboxes, else the selected one."""
        if self._rows.world is None:
            return Chosen()
        fleet = self._fleet
        ids = fleet.chosen
        selected = fleet.get(fleet.selected)
        return Chosen(
            sandboxes=ids,
            names=tuple(row.info.name for row in fleet.live_rows(ids)),
            sandbox=selected.id if selected is not None else None,
        )

    def focus_main(self) -> None:
        """Gives the focus to the table."""
        self.screen.set_focus(self._table)

    async def run(self, action: str, argument: str) -> bool:
        """Does an action of the table's, or of sandboxes.

        Raises:
            BadRequest: the argument will not do.
            CodedError: the hub is away.
        """
        match action:
            case "sandbox.create":
                await self._create(argument)
            case "sandbox.destroy":
                await self._destroy(argument)
            case "sandbox.mark":
                self._mark(self._fleet.selected)
                self._table.action_move(1)
            case "sandbox.mark_all":
                self._fleet.mark_all()
            case "sandbox.clear_marks":
                self._fleet.clear_marks()
            case "table.sort":
                self._sort(argument)
            case "table.reverse":
                self._fleet.reverse()
            case "table.freeze":
                self._fleet.freeze(on=not self._fleet.is_frozen)
            case _:
                return False
        self._after_action(action)
        return True

    def _after_action(self, action: str) -> None:
        if action in ("table.sort", "table.reverse"):
            self._remember_order()
        self._repaint()
        self.post_message(ChoiceChanged())

    # What a person does in the table.

    def _select(self, sandbox_id: str) -> None:
        before = self._fleet.selected
        self._fleet.select(sandbox_id)
        self._show_detail()
        if before != sandbox_id:
            self.post_message(ChoiceChanged())

    def _mark(self, sandbox_id: str | None) -> None:
        if sandbox_id is not None:
            self._fleet.mark(sandbox_id)

    @on(StripTable.CellClicked)
    def _click(self, message: StripTable.CellClicked) -> None:
        message.stop()
        if message.column == "mark":
            self._mark(message.key)
            self._after_action("sandbox.mark")

    @on(StripTable.Entered)
    def _enter(self, message: StripTable.Entered) -> None:
        message.stop()
        self.post_message(RunAction("console.open"))

    @on(StripTable.HeadingClicked)
    def _click_heading(self, message: StripTable.HeadingClicked) -> None:
        message.stop()
        key = SORTED_BY.get(message.column, message.column)
        if key == self._fleet.sort[0]:
            self._fleet.reverse()
        elif key in ORDERS:
            self._fleet.sort_by(key)
        self._after_action("table.sort")

    @on(StripTable.Viewed)
    def _viewed(self, message: StripTable.Viewed) -> None:
        message.stop()

    # The order.

    def _sort(self, wanted: str) -> None:
        """By a named column, or the next one that is on the screen."""
        if not wanted:
            shown = [key for key in ORDERS if key in self._table.shown_columns]
            at = shown.index(self._fleet.sort[0]) if self._fleet.sort[0] in shown else -1
            wanted = shown[(at + 1) % len(shown)]
        if wanted not in ORDERS:
            raise BadRequest(f"there is no column {wanted!r} to sort by; there are: {', '.join(ORDERS)}")
        self._fleet.sort_by(wanted)

    def _take_remembered_order(self) -> None:
        remembered = self.dashboard.remembered
        key = remembered.get("sandboxes.sort", "name")
        if key in ORDERS:
            self._fleet.sort_by(key, is_descending=remembered.get("sandboxes.is_descending", False))

    def _remember_order(self) -> None:
        key, is_descending = self._fleet.sort
        self.dashboard.remembered.set("sandboxes.sort", key)
        self.dashboard.remembered.set("sandboxes.is_descending", is_descending)

    # Making and ending sandboxes.

    async def _create(self, recipe: str) -> None:
        info = await create_sandbox(self.dashboard, recipe)
        self._made = info.id if info is not None else None

    async def _destroy(self, reference: str) -> None:
        fleet = self._fleet
        if not reference and not fleet.marks and fleet.has_slipped:
            selected = fleet.get(fleet.selected)
            fleet.settle()
            if selected is not None:
                self.dashboard.say(
                    f"what was selected is gone; now it is {selected.name}: once more destroys that",
                    Role.WARNING,
                )
            return
        named = fleet.named(reference) if reference else None
        if reference and named is None:
            raise BadRequest(f"there is no sandbox {reference!r}")
        doomed = fleet.live_rows((named,) if named is not None else fleet.chosen)
        await destroy_sandboxes(self.dashboard, doomed)
