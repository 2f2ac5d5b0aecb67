"""The SDK for asyncio: `Hub`, `Sandbox`, `Process`, `Console`. The blocking ones in `cloche` are these, wrapped."""

from __future__ import annotations

from cloche.aio.approvals import Approvals
from cloche.aio.callbacks import CallbackHandler
from cloche.aio.console import Console
from cloche.aio.files import Files
from cloche.aio.hub import Hub
from cloche.aio.pending import Pending
from cloche.aio.policy import Policy
from cloche.aio.process import Output, Process
from cloche.aio.recordings import Recordings
from cloche.aio.sandbox import Sandbox
from cloche.aio.tokens import Tokens

__all__ = [
    "Approvals",
    "CallbackHandler",
    "Console",
    "Files",
    "Hub",
    "Output",
    "Pending",
    "Policy",
    "Process",
    "Recordings",
    "Sandbox",
    "Tokens",
]
