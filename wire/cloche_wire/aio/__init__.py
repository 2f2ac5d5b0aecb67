"""The one asyncio driver of the protocol: transports below, a peer on each link, channels for everybody else."""

from __future__ import annotations

from cloche_wire.aio.channel import Channel, Sink
from cloche_wire.aio.heartbeat import Heartbeat
from cloche_wire.aio.judge import Judge
from cloche_wire.aio.peer import Handler, Peer
from cloche_wire.aio.splice import Gate, Tap, splice
from cloche_wire.aio.transports import MemoryTransport, StreamTransport, Transport, WebSocketTransport

__all__ = [
    "Channel",
    "Gate",
    "Handler",
    "Heartbeat",
    "Judge",
    "MemoryTransport",
    "Peer",
    "Sink",
    "StreamTransport",
    "Tap",
    "Transport",
    "WebSocketTransport",
    "splice",
]
