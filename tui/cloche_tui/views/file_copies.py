"""What is copied between this host and sandboxes: carried out whichever view is shown, told in some lines below the folders.

Rule: what a person gives up is named by its id; what runs in the sandbox that is shown comes before all else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from cloche.aio import Hub
from cloche.errors import TooLarge
from cloche_tui.feed.transfers import Carrier
from cloche_tui.model.transfers import MOST_UNDER_WAY, Transfer, Transfers, Wanted
from cloche_tui.widgets.transfer_list import TransferList


class FileCopies(TransferList):
    """See the module.

    Args:
        hub: the connection to ask now; raises CodedError while there is none.
        on_drained: told of the last transfer of a sandbox for which nothing is to be copied any more.
    """

    def __init__(self, hub: Callable[[], Hub], on_drained: Callable[[Transfer], object]) -> None:
        self.transfers = Transfers()
        super().__init__(self.transfers, clock=time.monotonic)
        self._carrier = Carrier(hub, self.transfers, self._changed)
        self._on_drained = on_drained

    def require_room(self, count: int) -> None:
        """That so many more can be copied.

        Raises:
            TooLarge: they cannot.
        """
        if len(self.transfers.under_way()) + count > MOST_UNDER_WAY:
            raise TooLarge(f"no more than {MOST_UNDER_WAY} can be on their way; copy the folder they are in")

    def begin(self, sandbox: str, sandbox_name: str, wanted: Iterable[Wanted]) -> None:
        """Copies it as soon as what waits already is copied."""
        self.transfers.add(sandbox, sandbox_name, wanted)
        self.show()
        self.run_worker(self._carrier.carry_out(sandbox), group="copies")

    def give_up(self, sandbox: str | None, *, everything: bool = False) -> None:
        """Gives up the transfer a person has gone to, else what runs. Where nothing is under way, what has ended is put away.

        Args:
            sandbox: the id of the one that is shown.
            everything: whether all are given up, whatever sandbox they are of.
        """
        under_way = self.transfers.under_way()
        if not under_way:
            self.transfers.put_away()
            self.show()
        elif everything:
            # What waits first: else it would begin as soon as what runs has made room.
            for one in reversed(under_way):
                self._carrier.cancel(one.id)
        elif self.has_focus_within and self.selected is not None:
            self._carrier.cancel(self.selected)
        else:
            self._carrier.cancel((self.transfers.under_way(sandbox) or under_way)[0].id)

    def _changed(self, transfer: Transfer) -> None:
        if not self.is_attached:
            return
        self.show()
        if not self.transfers.under_way(transfer.sandbox):
            self._on_drained(transfer)
