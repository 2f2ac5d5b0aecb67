"""The SDK for asyncio: `Hub`, `Sandbox`, `Process`. The blocking ones in `cloche` are these, wrapped."""

from __future__ import annotations

from cloche.aio.hub import Hub
from cloche.aio.pending import Pending
from cloche.aio.process import Output, Process
from cloche.aio.sandbox import Sandbox

__all__ = ["Hub", "Output", "Pending", "Process", "Sandbox"]
