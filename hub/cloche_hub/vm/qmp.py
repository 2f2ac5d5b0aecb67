"""QEMU's monitor (QMP), thinly: commands with a bound, events as calls, every failure a MachineFailed.

The only module that knows the package `qemu.qmp`.
Rules:
- QEMU reads its monitor byte by byte, some 4 µs each: commands are few and short.
- Events are handled as they come and never kept: a guest can cause any number of them.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable, Mapping
from typing import Any

from qemu.qmp import EventListener, Message, QMPClient, QMPError, Runstate

from cloche_hub.errors import MachineFailed
from cloche_wire.aio.bounds import within

# The package logs what it also raises; what is raised reaches somebody who knows which machine it was.
_package_log = logging.getLogger("qemu.qmp")
_package_log.addHandler(logging.NullHandler())
_package_log.propagate = False

_LONGEST_MESSAGE = 1 << 20
_CLOSE_S = 1.0

OnEvent = Callable[[str, Mapping[str, Any]], None]


class Monitor:
    """A connection to one QEMU's monitor.

    Args:
        on_event: called with the name and the data of each event, in the event loop; must not block or raise.
    """

    def __init__(self, on_event: OnEvent) -> None:
        # SAFETY: whoever has taken over QEMU speaks here: messages are bounded, events are not stored.
        self._client = QMPClient(readbuflen=_LONGEST_MESSAGE)
        self._client.events.event_filter = _never
        self._client.register_listener(EventListener(event_filter=_calling(on_event)))

    async def connect(self, connection: socket.socket, *, bound_s: float) -> None:
        """Takes over a connected socket and waits until QEMU is ready for commands.

        Raises:
            MachineFailed: it is not, within the bound.
        """
        try:
            async with within(bound_s):
                await self._client.connect(connection)
        except (QMPError, OSError, EOFError, TimeoutError) as error:
            raise MachineFailed(f"QEMU's monitor does not answer: {_words(error)}") from None

    async def execute(
        self, command: str, arguments: Mapping[str, object] | None = None, *, bound_s: float
    ) -> Any:
        """Runs a command and returns its answer. Cancelling it leaves open whether it was carried out.

        Raises:
            MachineFailed: QEMU refused it, or did not answer within the bound.
        """
        try:
            async with within(bound_s):
                # A plain dict in, whatever QEMU says out: the callers know each command's answer.
                return await self._client.execute(command, dict(arguments) if arguments else None)
        except (QMPError, OSError, EOFError, TimeoutError) as error:
            raise MachineFailed(f"QEMU did not carry out {command}: {_words(error)}") from None

    async def hand_over(self, descriptor: int, name: str, *, bound_s: float) -> None:
        """Gives QEMU a copy of a descriptor, under a name for later commands.

        Raises:
            MachineFailed: as `execute`.
        """
        try:
            self._client.send_fd_scm(descriptor)
        except (QMPError, OSError) as error:
            raise MachineFailed(f"QEMU did not take a descriptor: {_words(error)}") from None
        await self.execute("getfd", {"fdname": name}, bound_s=bound_s)

    async def close(self) -> None:
        """Ends the connection; QEMU runs on. Idempotent."""
        if self._client.runstate is Runstate.IDLE:
            return
        # What it raises is why the connection ended, which no longer matters.
        with contextlib.suppress(QMPError, OSError, EOFError, TimeoutError):
            async with within(_CLOSE_S):
                await self._client.disconnect()


def _never(_event: Message) -> bool:
    return False


def _calling(on_event: OnEvent) -> Callable[[Message], bool]:
    def handle(event: Message) -> bool:
        data = event.get("data")
        on_event(str(event.get("event")), data if isinstance(data, Mapping) else {})
        return False

    return handle


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__
