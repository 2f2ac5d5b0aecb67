"""Writes what comes on a stream into a file: see `replacing`.

Rule: bytes are acknowledged when the kernel has taken them, so a sender is never ahead of the disk by more than its
window; the stream's end puts the file in its place, and anything else leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable

from cloche_guest.files.entries import entry
from cloche_guest.files.messages import WriteRequest
from cloche_guest.files.reading import BYTES
from cloche_guest.files.refusals import naming
from cloche_guest.files.replacing import Replacement
from cloche_guest.users import Account, acting_as
from cloche_guest.works import Surroundings


class Writing:
    """One file that is being written; accepts its channel. Implements works.Work.

    Args:
        around: where it runs.
        channel: its channel, still offered.
        account: whom it acts as.
        path: the file's.
        request: how it is to be written.
        on_end: called once when it is over, however it ended; not if this raises.

    Raises:
        CodedError: it can not be written.
    """

    def __init__(
        self,
        around: Surroundings,
        channel: int,
        account: Account,
        path: bytes,
        request: WriteRequest,
        *,
        on_end: Callable[[], None],
    ) -> None:
        self._around, self._connection, self._channel = around, around.connection, channel
        self._account, self._path, self._on_end = account, path, on_end
        with naming(path), acting_as(account):
            self._file: Replacement | None = Replacement(
                path, mode=request.mode, exclusive=request.exclusive, parents=request.parents
            )
        try:
            self._connection.accept(channel)
        except BaseException:  # the hub has given it up already
            self._abandon()
            raise

    def received(self, stream: int, data: bytes) -> None:
        """More of the file; raises CodedError where there is no room for it."""
        if stream == BYTES and self._file is not None:
            with naming(self._path), acting_as(self._account):
                self._file.write(data)
        self._connection.consume(self._channel, stream, len(data))

    def ended(self, stream: int) -> None:
        """The file is complete; raises CodedError where it can not be put in its place."""
        if stream != BYTES or self._file is None:
            return
        with naming(self._path), acting_as(self._account):
            status = self._file.commit()
        self._file = None
        self._connection.close(self._channel, entry(self._path, status))
        self.kill()

    def acknowledged(self, _stream: int) -> None:
        """Nothing is sent."""

    def kill(self) -> None:
        """Leaves everything as it was, unless it is complete. To be called once."""
        self._around.works.remove(self._channel)
        self._on_end()
        self._abandon()

    def _abandon(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with acting_as(self._account):
                file.abandon()
