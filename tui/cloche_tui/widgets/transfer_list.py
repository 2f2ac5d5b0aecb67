"""What is being copied, what waits to be, and how it ended: some lines that are there while there is anything to tell."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical

from cloche_tui.model import transfer_text
from cloche_tui.model.transfers import Pace, Transfer, Transfers
from cloche_tui.widgets.columns import Column
from cloche_tui.widgets.strip_table import StripTable
from cloche_tui.widgets.table_paint import TableRow

INTERVAL_S = 0.25
"""Between two looks at how far they are."""
_MOST_LINES = 6
_COLUMNS = (
    Column("state", "Copies", 10),
    Column("what", "What", 16, most=50),
    Column("bar", "", transfer_text.BAR, rank=2),
    Column("figures", "How far", 24, most=400, rank=1),
)


class TransferList(Vertical):
    """See the module.

    Args:
        transfers: what is shown.
        clock: seconds that never go back; the one by which the transfers are told the time.
    """

    DEFAULT_CSS = """
    TransferList { height: auto; display: none; border-top: solid $panel; }
    TransferList.-some { display: block; }
    """

    def __init__(self, transfers: Transfers, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._transfers, self._clock = transfers, clock

    def compose(self) -> ComposeResult:
        """The table."""
        yield StripTable(_COLUMNS, _Rows(self))

    def on_mount(self) -> None:
        """Looks how far they are while anything moves."""
        self._looking = self.set_interval(INTERVAL_S, self._look, pause=True)

    @property
    def table(self) -> StripTable:
        """What can have the focus."""
        return self.query_one(StripTable)

    @property
    def selected(self) -> int | None:
        """The transfer a person has gone to; None: to none, or it is not told of any more."""
        key = self.table.selected_key
        return int(key) if key is not None and self._transfers.get(int(key)) is not None else None

    def show(self) -> None:
        """Shows them as they are."""
        count = len(self._transfers)
        self.set_class(count > 0, "-some")
        self.table.styles.height = min(count, _MOST_LINES - 1) + 1
        self.table.update()
        if self._transfers.under_way():
            self._looking.resume()
        else:
            self._looking.pause()

    def _look(self) -> None:
        if self.is_on_screen:
            self.table.update()

    def story(self) -> str:
        """All that is known of the transfer a person has gone to; empty: to none."""
        transfer = None if self.selected is None else self._transfers.get(self.selected)
        return "" if transfer is None else transfer_text.story(transfer, self._pace(transfer))

    def row(self, transfer_id: int) -> TableRow:
        """A row of the table."""
        transfer = self._transfers.get(transfer_id)
        assert transfer is not None
        return TableRow(str(transfer_id), transfer_text.cells(transfer, self._pace(transfer)))

    def _pace(self, transfer: Transfer) -> Pace | None:
        return self._transfers.pace(transfer.id, now=self._clock())


class _Rows:
    """The transfers as a table asks for them."""

    def __init__(self, shown: TransferList) -> None:
        self._shown = shown

    def __len__(self) -> int:
        return len(self._shown._transfers)  # noqa: SLF001 - its own other half

    def row(self, index: int) -> TableRow:
        """A row."""
        return self._shown.row(self._shown._transfers.order[index])  # noqa: SLF001

    def index_of(self, key: str) -> int | None:
        """Where it is."""
        order = self._shown._transfers.order  # noqa: SLF001
        return order.index(int(key)) if int(key) in order else None
