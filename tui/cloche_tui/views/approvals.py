"""The inbox of all sandboxes: what waits for a decision, the call in full, and the decision.

Rules:
- A decision names the call that was selected as its key came; what is selected later is another matter.
- Nothing is decided by a key that may have been meant for something else: `model.guard` has the rules.
- A call is approved only when all of its parameters are here to be read.
- How it came out is the hub's to say. Somebody else may be first; then that is told, and nothing is lost.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from cloche import ApprovalInfo
from cloche.errors import BadRequest, CodedError, Conflict
from cloche_tui.messages import ChoiceChanged
from cloche_tui.model import inbox_text
from cloche_tui.model.chosen import Chosen
from cloche_tui.model.filtered import hidden, none_matches
from cloche_tui.model.guard import Cause
from cloche_tui.model.inbox_list import Decide, Held, InboxList
from cloche_tui.model.reasons import read_reasons, with_reason
from cloche_tui.model.roles import Line, Role, Span
from cloche_tui.views.view import View
from cloche_tui.widgets.call_detail import CallDetail
from cloche_tui.widgets.columns import Column
from cloche_tui.widgets.strip_table import StripTable
from cloche_tui.widgets.styles import text_of
from cloche_tui.widgets.table_paint import TableRow
from cloche_tui.widgets.typed_ahead import typed_s_ago

if TYPE_CHECKING:
    from cloche.aio.approvals import Approvals
    from cloche.filters import Filter
    from cloche_tui.dialogs.decision import DecisionDialog
    from cloche_tui.model.world import World

_COLUMNS = (
    Column("edge", "", 0),
    Column("when", "Decide in", 11),
    Column("sandbox", "Sandbox", 8, most=18, rank=1),
    Column("call", "Call", 12, most=400),
)
_EMPTY: tuple[Line, ...] = (
    (Span("Nothing waits for a decision."),),
    (),
    (Span("What a sandbox asks for and the policy holds comes up here.", Role.MUTED),),
    (Span("See the policy with: cloche policy show", Role.MUTED),),
)
_REASONS = "approvals.reasons"
_BESIDE = 100
"""Places from which on list and call stand beside each other."""


class ApprovalsView(View):
    """See the module.

    Args:
        clock: seconds that never go back.
    """

    DEFAULT_CSS = """
    ApprovalsView { layout: vertical; }
    ApprovalsView #inbox-hidden { dock: top; height: 1; padding: 0 1; display: none; background: $panel; }
    ApprovalsView #inbox-hidden.-said { display: block; }
    ApprovalsView #inbox { height: 2fr; min-height: 4; }
    ApprovalsView #detail { height: 5fr; border-top: solid $panel; }
    ApprovalsView.-empty #inbox { height: 1fr; }
    ApprovalsView.-empty #detail { display: none; }
    ApprovalsView.-beside { layout: horizontal; }
    ApprovalsView.-beside #inbox { width: 4fr; height: 1fr; }
    ApprovalsView.-beside #detail { width: 5fr; height: 1fr; border-top: none; border-left: solid $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "to_call", "To the call", show=False, id="approvals.to_call"),
        Binding("left,h", "to_list", "To the list", show=False, id="approvals.to_list"),
        Binding("J", "scroll_call(1)", "Scroll the call", show=False, id="approvals.call_down"),
        Binding("K", "scroll_call(-1)", "Scroll the call back", show=False, id="approvals.call_up"),
    ]
    name_of_view = "approvals"
    title = "Approvals"

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.list = InboxList()
        self._clock = clock
        self._world: World | None = None
        self._shown: str | None = None
        self._filter = ""
        self._whole: dict[tuple[str, str], ApprovalInfo] = {}
        """Calls whose parameters had to be asked for, by their id and state."""
        self._cells: dict[str, tuple[ApprovalInfo, Line, Line]] = {}
        self._dialog: DecisionDialog | None = None

    # What is shown.

    def compose(self) -> ComposeResult:
        """What is not shown, the list, and the call beside or below it."""
        yield Static(id="inbox-hidden", markup=False)
        yield StripTable(_COLUMNS, _Rows(self), on_select=self._select, empty=_EMPTY, id="inbox")
        yield CallDetail(id="detail")

    def on_mount(self) -> None:
        """Notices when the focus comes from elsewhere."""
        self.watch(self.screen, "focused", self._focus_moved, init=False)
        self.app.screen_change_signal.subscribe(self, self._screen_changed, immediate=True)

    def show(self, world: World, topics: AbstractSet[str]) -> None:
        """Shows what has changed."""
        self._world = world
        if topics & {"all", "approval"}:
            self.list.show(world.inbox, now=self._clock())
            self._whole = {
                key: one for key, one in self._whole.items() if world.inbox.get(one.id) is not None
            }
            self._cells = {
                one: known for one, known in self._cells.items() if world.inbox.get(one) is not None
            }
            self._detail.forget(lambda approval_id: world.inbox.get(approval_id) is not None)
        self._update()
        if self._dialog is not None:
            self._dialog.tell(world.inbox.get(self._dialog.approval.id), now=world.now)

    def set_filter(self, wanted: Filter | None) -> tuple[int, int]:
        """Shows what matches only."""
        assert self._world is not None
        matches = None if wanted is None else lambda one: wanted.matches(inbox_text.fields(one))
        self.list.filter(matches, self._world.inbox, now=self._clock())
        self._filter = "" if wanted is None else wanted.source
        self.query_one(StripTable).show_empty(none_matches("call", self._filter) if wanted else _EMPTY)
        self._update()
        return len(self.list.rows), self.list.known

    def chosen(self) -> Chosen:
        """The selected call, and its sandbox."""
        one = self.list.selected
        if one is None:
            return Chosen()
        return Chosen((one.sandbox,), (one.sandbox_name,), sandbox=one.sandbox, approval=one.id)

    def focus_main(self) -> None:
        """The list."""
        self.screen.set_focus(self.query_one(StripTable))

    # Moving about.

    def action_to_call(self) -> None:
        """The call: its cursor finds what is folded."""
        self.screen.set_focus(self._detail.call)

    def action_to_list(self) -> None:
        """Back."""
        self.focus_main()

    def action_scroll_call(self, rows: int) -> None:
        """Scrolls the call without leaving the list."""
        self._detail.call.scroll_relative(y=rows, animate=False)

    def on_resize(self, event: events.Resize) -> None:
        """There is room for both beside each other, or not."""
        self.set_class(event.size.width >= _BESIDE, "-beside")

    @property
    def _detail(self) -> CallDetail:
        return self.query_one(CallDetail)

    def _select(self, approval_id: str) -> None:
        self.list.select(approval_id, now=self._clock())
        self._update()

    def _focus_moved(self, before: Widget | None, after: Widget | None) -> None:
        if self._has(after) and not self._has(before):
            self.list.disturb(Cause.FOCUSED, now=self._clock())

    def _screen_changed(self, screen: Screen[Any]) -> None:
        if screen is self.screen:
            # Whatever dialog was open there: its keys went elsewhere until now.
            self.list.disturb(Cause.TYPED, now=self._clock())

    def _has(self, widget: Widget | None) -> bool:
        return widget is not None and self in widget.ancestors

    # What can be done.

    async def run(self, action: str, argument: str) -> bool:
        """Does an action on the selected call, or on the one that the argument names."""
        match action:
            case "approval.approve" | "approval.deny" | "approval.edit":
                await self._decide(action, argument)
            case "approval.fold":
                self._detail.fold_next()
            case "approval.console":
                if self.list.selected is not None:
                    self.dashboard.open_console(self.list.selected.sandbox)
            case _:
                return False
        return True

    async def _decide(self, action: str, named: str) -> None:
        # A key that has waited was meant for what was shown when it was typed.
        pressed = self._named(named) if named else self.list.press(now=self._clock() - typed_s_ago())
        if isinstance(pressed, Held):
            self._detail.tell(pressed.why, Role.WARNING)
            return
        approval = self._whole_of(pressed.approval)
        if action != "approval.deny" and not approval.has_params:
            self._detail.tell("nothing was decided: the parameters are not here yet", Role.WARNING)
            return
        match action:
            case "approval.approve":
                await self._approve(approval)
            case "approval.deny":
                await self._deny(approval)
            case _:
                await self._edit(approval)

    def _named(self, approval_id: str) -> Decide | Held:
        found = [one for one in self.list.rows if one.id.startswith(approval_id)]
        if len(found) != 1:
            raise BadRequest(
                f"{'no call is' if not found else 'several calls are'} called {approval_id!r} here"
            )
        waits = self.list.waits(found[0])
        return Decide(found[0]) if waits else Held("nothing was decided: this call does not wait any more")

    async def _approve(self, approval: ApprovalInfo) -> None:
        self._detail.tell("asking the hub …", Role.MUTED)
        try:
            decided = await self._send(approval, lambda hub: hub.approve(approval.id))
        except Conflict as error:
            why = inbox_text.too_late(error.message, error.details)
            self._detail.tell(f"nothing was decided here: {why}", Role.WARNING)
        except CodedError as error:
            self._detail.tell(f"nothing is known to be decided: {error.message}", Role.BAD)
        else:
            self._decided(decided)

    async def _deny(self, approval: ApprovalInfo) -> None:
        from cloche_tui.dialogs.deny import DenyDialog

        remembered = self.dashboard.remembered
        reasons = read_reasons(remembered.get(_REASONS, []))

        async def deny(reason: str) -> ApprovalInfo:
            denied = await self._send(approval, lambda hub: hub.deny(approval.id, reason))
            remembered.set(_REASONS, with_reason(reasons, reason))
            return denied

        await self._ask(DenyDialog(approval, deny, reasons=reasons, now=self.dashboard.world.now))

    async def _edit(self, approval: ApprovalInfo) -> None:
        from cloche_tui.dialogs.edit_call import EditCallDialog

        async def approve(params: Any) -> ApprovalInfo:
            return await self._send(approval, lambda hub: hub.approve(approval.id, params=params))

        await self._ask(EditCallDialog(approval, approve, now=self.dashboard.world.now, clock=self._clock))

    async def _ask(self, dialog: DecisionDialog) -> None:
        self._dialog = dialog
        try:
            decided = await self.dashboard.ask(dialog)
        finally:
            self._dialog = None
        if decided is not None:
            self._decided(decided)

    async def _send(
        self, approval: ApprovalInfo, request: Callable[[Approvals], Awaitable[ApprovalInfo]]
    ) -> ApprovalInfo:
        """Has the hub decide. No key decides the call once more meanwhile."""
        self.list.send(approval.id)
        try:
            return await request(self.dashboard.session.hub.approvals)
        except BaseException:
            self.list.fail(approval.id)
            raise

    def _decided(self, approval: ApprovalInfo) -> None:
        # The list learns of it as everybody does: from what the hub tells.
        self._detail.tell("")
        # An edit that is said to be done is not yet said to have let the call pass.
        done = "approved as edited:" if approval.state == "edited" else approval.state
        self.dashboard.say(f"{done} {approval.method} of {approval.sandbox_name}", Role.GOOD)
        self.list.leave(approval.id, now=self._clock())
        self._update()

    def _whole_of(self, approval: ApprovalInfo) -> ApprovalInfo:
        return self._whole.get((approval.id, approval.state), approval)

    # Painting.

    def row(self, approval: ApprovalInfo) -> TableRow:
        """A row of the list."""
        assert self._world is not None
        # Parameters may be long, and rows are asked for each second.
        known = self._cells.get(approval.id)
        if known is None or known[0] is not approval:
            known = self._cells[approval.id] = approval, *inbox_text.cells(approval)
        when = (inbox_text.when(approval, self._world.now),)
        return TableRow(approval.id, {"when": when, "sandbox": known[1], "call": known[2]})

    def _update(self) -> None:
        """Shows the list, and what is selected in it."""
        one = self.list.selected
        if self._world is None or not self.display:
            return
        self.query_one(StripTable).update(select=None if one is None else one.id)
        self.set_class(one is None, "-empty")
        self._show_hidden()
        whole = None if one is None else self._whole_of(one)
        self._detail.show(whole, now=self._world.now)
        shown = None if one is None else one.id
        if shown != self._shown:
            self._shown = shown
            self.post_message(ChoiceChanged())
        if whole is not None and not whole.has_params and (whole.id, whole.state) not in self._whole:
            self._whole[whole.id, whole.state] = whole
            self.run_worker(self._fetch(whole), group="whole")

    def _show_hidden(self) -> None:
        """Nobody is to take what is shown for all that waits."""
        note = self.query_one("#inbox-hidden", Static)
        told = hidden(self.list.hidden, "waiting call", self._filter)
        note.update(text_of(self.app, told), layout=False)
        note.set_class(bool(told), "-said")

    async def _fetch(self, approval: ApprovalInfo) -> None:
        """Has the parameters that were left out; if that fails, it is tried again when the view is next shown anew."""
        key = approval.id, approval.state
        try:
            self._whole[key] = await self.dashboard.session.hub.approvals.get(approval.id)
        except CodedError as error:
            self._whole.pop(key, None)
            self._detail.tell(f"its parameters cannot be had now: {error.message}", Role.BAD)
            return
        if self.list.selected is not None and self.list.selected.id == approval.id:
            # Nobody has read yet what comes up now.
            self.list.disturb(Cause.ARRIVED, now=self._clock())
        self._update()


class _Rows:
    """The list as a table asks for it."""

    def __init__(self, view: ApprovalsView) -> None:
        self._view = view

    def __len__(self) -> int:
        return len(self._view.list.rows)

    def row(self, index: int) -> TableRow:
        """A row."""
        return self._view.row(self._view.list.rows[index])

    def index_of(self, key: str) -> int | None:
        """Where it is."""
        return next((place for place, one in enumerate(self._view.list.rows) if one.id == key), None)
