"""What a side makes of what the other says of itself and of its errors, before anybody acts on it.

Rule: a peer that is given no judge takes the other side at its word.
"""

from __future__ import annotations

from typing import Protocol

from cloche_wire.errors import CodedError, LinkLost, RemoteProtocolError
from cloche_wire.events import Greeted


class Judge(Protocol):
    """Weighs the other side's words. Must not block."""

    def greeted(self, greeting: Greeted) -> None:
        """Sees each hello before anybody else does.

        Raises:
            RemoteProtocolError: this is not whom the link is for; it is dropped, and all channels fail.
        """
        ...

    def error(self, said: CodedError) -> CodedError:
        """The error to tell for one that the other side has named."""
        ...

    def breach(self, error: RemoteProtocolError) -> CodedError:
        """What all channels fail with after the other side has broken the protocol."""
        ...


class Trusting:
    """Takes everything as it is said."""

    def greeted(self, greeting: Greeted) -> None:
        """Lets everybody in."""

    def error(self, said: CodedError) -> CodedError:
        """The error itself."""
        return said

    def breach(self, error: RemoteProtocolError) -> CodedError:
        """The link is lost."""
        return LinkLost(f"the other side broke the protocol: {error}")
