"""Copies what a person wants copied between this host and sandboxes, one after another in each sandbox.

    carrier = Carrier(lambda: session.hub, transfers, on_change)
    await carrier.carry_out(sandbox_id)     # in a worker: returns when nothing of that sandbox waits any more
    carrier.cancel(transfer_id)

Rules:
- The bytes are the SDK's to move: nothing is half-written on either side, and what cannot be copied as what it is is left
  out and told.
- SAFETY: a download makes what the guest names in the folder that a person has chosen, and nowhere else: the name is one
  component, and a link that stands in its place here is not followed.
- What has come to be in the way since a person was asked is not replaced.
- Everything is changed on the loop, so whoever shows the transfers sees them whole.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable

from cloche.aio import Files, Hub
from cloche.errors import CodedError, Conflict, NotFound, WrongState
from cloche.printable import printable
from cloche.threads import in_thread
from cloche.transfer import Copied, check_name
from cloche_tui.feed.files import coded, files_of
from cloche_tui.model.transfers import Direction, State, Transfer, Transfers, Wanted

_IN_THE_WAY = "something of that name has come to be there; copy it again to replace it"


class Carrier:
    """See the module.

    Args:
        hub: the connection to ask now; raises CodedError while there is none.
        transfers: what is wanted, and what has become of it.
        on_change: called with a transfer that has begun or ended. Must not block.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        hub: Callable[[], Hub],
        transfers: Transfers,
        on_change: Callable[[Transfer], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub, self._transfers, self._on_change, self._clock = hub, transfers, on_change, clock
        self._running: dict[int, asyncio.Task[None]] = {}
        self._busy: set[str] = set()

    async def carry_out(self, sandbox: str) -> None:
        """Carries out all that waits of a sandbox. Does nothing if somebody does already.

        Cancelling gives up what runs, and leaves what waits.
        """
        if sandbox in self._busy:
            return
        self._busy.add(sandbox)
        try:
            while (transfer := self._transfers.next_of(sandbox)) is not None:
                self._transfers.start(transfer.id, now=self._clock())
                self._on_change(transfer)
                try:
                    async with asyncio.TaskGroup() as tasks:
                        # A task of its own: it can be given up without those that wait.
                        self._running[transfer.id] = tasks.create_task(self._carry(transfer))
                finally:
                    self._end(transfer)
        finally:
            self._busy.discard(sandbox)

    def cancel(self, transfer_id: int) -> None:
        """Gives up a transfer. What is complete of it stays; of one that has ended this changes nothing."""
        transfer = self._transfers.get(transfer_id)
        if transfer is None or transfer.is_over:
            return
        if transfer.state is State.WAITING:
            self._transfers.cancel(transfer_id)
            self._on_change(transfer)
        elif transfer_id in self._running:
            self._running[transfer_id].cancel()

    async def _carry(self, transfer: Transfer) -> None:
        try:
            self._transfers.finish(transfer.id, await self._copy(transfer))
        except CodedError as error:
            self._transfers.fail(transfer.id, error.message)
        except OSError as error:
            self._transfers.fail(transfer.id, coded(error).message)

    def _end(self, transfer: Transfer) -> None:
        del self._running[transfer.id]
        known = self._transfers.get(transfer.id)
        if known is not None and not known.is_over:
            # Given up, perhaps before it had its first turn.
            self._transfers.cancel(transfer.id)
        self._on_change(transfer)

    async def _copy(self, transfer: Transfer) -> Copied:
        wanted = transfer.wanted
        # SAFETY: whoever made it, a name with a slash or `..` would lead out of the folder.
        check_name(wanted.name)
        files = await files_of(self._hub(), transfer.sandbox)

        def on_progress(done: int, total: int, path: str) -> None:
            self._transfers.progress(transfer.id, done, total, path, now=self._clock())

        if wanted.direction is Direction.UP:
            await _require_free_there(files, wanted)
            return await files.upload(wanted.source, wanted.target, on_progress=on_progress)
        await in_thread(lambda: _require_free_here(wanted))
        return await files.download(wanted.source, wanted.target, on_progress=on_progress)


async def _require_free_there(files: Files, wanted: Wanted) -> None:
    if wanted.may_replace:
        return
    try:
        await files.stat(wanted.target, follow=False)
    except NotFound:
        return
    raise Conflict(_IN_THE_WAY)


def _require_free_here(wanted: Wanted) -> None:
    try:
        status = os.lstat(wanted.target)
    except FileNotFoundError:
        return
    # SAFETY: the SDK follows a link that is named to it, as a person's own. This name is the guest's: it must not choose
    # which link of this host is followed.
    if stat.S_ISLNK(status.st_mode):
        raise WrongState(
            f"{printable(wanted.target)}: a link is there, which could lead anywhere; take it away first"
        )
    if not wanted.may_replace:
        raise Conflict(_IN_THE_WAY)
