"""One approval in full: who asks and until when, the call, and a line about what came of a key.

What it shows it is given. What is folded in a call is remembered for each call, for as long as the owner keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import chain

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from cloche import ApprovalInfo
from cloche_tui.model.call_text import CallLine, Path, call_lines, cut_lines
from cloche_tui.model.edits import hub_diff
from cloche_tui.model.inbox_text import about
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.widgets.call_view import CallView
from cloche_tui.widgets.styles import text_of
from cloche_tui.widgets.wrapping import wrap

_NAMES = 9
"""Places of the names before what is said about a call."""
_CHANGED = "What was changed before it was approved"


class CallDetail(Vertical):
    """See the module."""

    DEFAULT_CSS = """
    CallDetail { padding: 0 1; }
    CallDetail #about { height: auto; margin-bottom: 1; }
    CallDetail #told { height: auto; max-height: 3; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._shown: ApprovalInfo | None = None
        self._toggled: dict[str, frozenset[Path]] = {}
        self._written: dict[str, Sequence[Line]] = {}
        self._about: Sequence[Line] = ()

    def compose(self) -> ComposeResult:
        """From above."""
        yield Static(id="about", markup=False)
        yield CallView(id="call")
        yield Static(id="told", markup=False)

    @property
    def call(self) -> CallView:
        """The call itself."""
        return self.query_one(CallView)

    def show(self, approval: ApprovalInfo | None, *, now: datetime) -> None:
        """Shows an approval; None: none."""
        if approval is not self._shown:
            is_other = self._shown is None or approval is None or approval.id != self._shown.id
            self._shown = approval
            if is_other:
                self.tell("")
            self._show_call(is_other=is_other)
        self._about = () if approval is None else [_named(name, text) for name, text in about(approval, now)]
        self._show_about()

    def on_resize(self) -> None:
        """Other rows."""
        self._show_about()

    def tell(self, text: str, role: Role = Role.PLAIN) -> None:
        """Shows a line below the call, until another call is shown."""
        self._write("told", [line(Span(" ".join(text.split()), role))] if text else [])

    def fold_next(self) -> None:
        """Folds or unfolds what the cursor is at; without one, unfolds what is folded first, or goes to the call."""
        path = self.call.fold_here
        if path is None:
            self.call.focus()
        else:
            self._toggle(path)

    def forget(self, is_wanted: Callable[[str], bool]) -> None:
        """Forgets what was folded in calls that are not wanted any more."""
        self._toggled = {one: paths for one, paths in self._toggled.items() if is_wanted(one)}

    @on(CallView.FoldAsked)
    def _fold_clicked(self, message: CallView.FoldAsked) -> None:
        message.stop()
        self._toggle(message.path)

    def _toggle(self, path: Path) -> None:
        if self._shown is not None:
            self._toggled[self._shown.id] = self._toggled.get(self._shown.id, frozenset()) ^ {path}
            self._show_call(is_other=False)
            self.call.go_to_fold(path)

    def _show_call(self, *, is_other: bool) -> None:
        one = self._shown
        if one is None:
            self.call.show(())
            return
        lines: Iterable[CallLine] = (
            call_lines(one.method, one.params, toggled=self._toggled.get(one.id, frozenset()))
            if one.has_params
            else cut_lines(one.method, one.params_bytes, one.params_sha256)
        )
        if one.diff:
            difference = [CallLine(changed, indent=2) for changed in hub_diff(one.diff)]
            lines = chain(lines, (CallLine(()), CallLine((Span(_CHANGED, Role.HEADING),))), difference)
        self.call.show(lines, is_other=is_other)

    def _show_about(self) -> None:
        width = self.content_size.width
        if width <= 2 * _NAMES:
            self._write("about", self._about)
            return
        self._write(
            "about", [_aligned(row) for one in self._about for row in wrap(one, width, indent=_NAMES)]
        )

    def _write(self, place: str, lines: Sequence[Line]) -> None:
        # Each second, and mostly nothing has changed: a widget that is written anew is laid out anew.
        if self._written.get(place) == lines:
            return
        self._written[place] = lines
        self.query_one(f"#{place}", Static).update(text_of(self.app, *lines))


def _aligned(row: Line) -> Line:
    """A row that goes on with what the one above had no room for, without the blank it was broken at."""
    if len(row) > 1 and row[0].text == " " * _NAMES:
        return (row[0], Span(row[1].text.lstrip(), row[1].role), *row[2:])
    return row


def _named(name: str, text: Line) -> Line:
    return (Span(name.ljust(_NAMES), Role.MUTED), *text)
