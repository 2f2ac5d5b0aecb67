"""Every bound of the protocol in one value, so that tests reach each of them with a few bytes.

The defaults suit a client's link; the hub tightens some for guests.

Rule: what a peer that reads nothing can make us keep is `max_unacknowledged`, and `least_window` for each stream.
Rule: what a peer that confirms nothing can make us keep is `max_results`, one frame, and `short_result` a channel.
Rule: a hello has up to 60 bytes for each channel, twice as many of the peer's as it may have, and must fit a frame.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_STREAMS = 4
"""Streams a channel has each way, numbered from 0: stream 0 carries messages, the others bytes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds one side of a link holds the other to, and keeps itself."""

    max_frame: int = 1 << 20
    """Bytes of one encoded frame."""
    max_message: int = 2 << 20
    """Bytes of one link message (frames that travel together); at least `max_frame`, below 16 MiB."""
    max_frames: int = 4096
    """Frames of one link message: what a peer can have us do before anybody else has a turn."""
    max_channels: int = 1024
    """Channels the peer may have open at once; more are refused one by one."""
    max_own_channels: int = 1024
    """Channels we open at once: at most what the peer's `max_channels` allows."""
    max_items: int = 8192
    """Elements of one array or map: a length header alone makes a decoder allocate."""
    window: int = 256 << 10
    """Bytes a stream may carry beyond what its receiver has consumed."""
    max_peer_window: int = 1 << 20
    """What we keep unacknowledged a stream at most, whatever window the peer offers."""
    max_unacknowledged: int = 32 << 20
    """What we keep unacknowledged for the whole peer, beyond `least_window` a stream: with more, windows get smaller."""
    max_results: int = 16 << 20
    """Bytes of results and refusals that the peer has not confirmed: with so many, only short ones are kept besides."""
    short_result: int = 4 << 10
    """Bytes of one that is kept in any case."""
    least_window: int = 8 << 10
    """What we use of a larger window at least, when we send."""
    least_peer_window: int = 8 << 10
    """What the peer uses of a larger window at least: its `least_window`. We acknowledge often enough for it."""
    chunk: int = 64 << 10
    """Bytes of one DATA frame's payload: how long one channel may hold the link before the next has its turn."""
