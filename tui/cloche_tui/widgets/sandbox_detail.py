"""The selected sandbox in some detail: one line where there is little room, else several with the course of what it costs."""

from __future__ import annotations

from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from cloche_tui.model.figures import percent, round_top, size
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.model.sandbox_rows import Row
from cloche_tui.model.sandbox_text import details
from cloche_tui.widgets.sparkline import Sparkline
from cloche_tui.widgets.styles import text_of

_SEVERAL = 4
"""Lines from which there are several."""
_WIDE = 100
_BETWEEN: Line = (Span("   "),)


class SandboxDetail(Horizontal):
    """See the module. How high it is, its owner says."""

    DEFAULT_CSS = """
    SandboxDetail { height: 1; background: $surface; padding: 0 1; }
    SandboxDetail #detail-lines { width: 1fr; height: 100%; text-wrap: nowrap; text-overflow: ellipsis; }
    SandboxDetail Sparkline { width: 24; height: 100%; margin-left: 2; display: none; }
    SandboxDetail.-charts Sparkline { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._row: Row | None = None
        self._shown: tuple[Line, ...] = ()
        self._now: datetime | None = None

    def compose(self) -> ComposeResult:
        """The lines, and two courses beside them."""
        yield Static(id="detail-lines", markup=False)
        yield Sparkline(id="cpu")
        yield Sparkline(id="memory")

    def show(self, row: Row | None, now: datetime) -> None:
        """Shows a sandbox; None: none is selected."""
        self._row, self._now = row, now
        self._show_lines()
        cpu, memory, usage = (row.cpu, row.memory, row.usage) if row is not None else ((), (), None)
        share = percent(usage.cpu_percent if usage is not None else None)
        self.query_one("#cpu", Sparkline).show(
            line("CPU ", Span(share, Role.ACCENT)), cpu, top=max(100.0, *cpu, 0.0)
        )
        amount = size(usage.memory_pss_bytes) if usage is not None else percent(None)
        self.query_one("#memory", Sparkline).show(
            line("memory ", Span(amount, Role.ACCENT)), memory, top=round_top(memory)
        )

    def on_resize(self) -> None:
        """More room has more lines, and courses."""
        self.set_class(self.size.height >= _SEVERAL and self.size.width >= _WIDE, "-charts")
        self._show_lines()

    def _show_lines(self) -> None:
        if self._row is None or self._now is None:
            lines: tuple[Line, ...] = ()
        else:
            lines = tuple(details(self._row, self._now))
            if self.size.height < _SEVERAL:
                lines = (tuple(span for each in lines for span in (*each, *_BETWEEN)),)
        if lines != self._shown:
            self._shown = lines
            # Its size is not its text's: nothing else has to be laid out anew.
            self.query_one("#detail-lines", Static).update(text_of(self.app, *lines), layout=False)
