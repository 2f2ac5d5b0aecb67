"""The agent as an ordinary process: for tests, on the host, where it must not touch what is not its own."""

from __future__ import annotations

from collections.abc import Callable

from cloche_guest import identity
from cloche_guest.messages import Identity


class OrdinaryProcess:
    """Stands in for a machine.

    Args:
        root: where the files of an identity go; None: nowhere.
        on_power_off: what powering off does.
    """

    def __init__(self, root: str | None, on_power_off: Callable[[], None]) -> None:
        self._root, self._on_power_off = root, on_power_off

    def take_on(self, who: Identity) -> None:
        """See `agent.System`. Generator, clock and host name stay the host's."""
        if self._root is not None:
            identity.write_files(who, self._root)

    def power_off(self) -> None:
        """See `agent.System`."""
        self._on_power_off()
