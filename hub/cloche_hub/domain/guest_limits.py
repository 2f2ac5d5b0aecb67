"""What the hub's link to a guest may carry. A value: what is asked of a guest must fit, and is refused before if not."""

from __future__ import annotations

from cloche_wire.limits import Limits

MOST_CALLBACKS = 256
"""Callbacks of one sandbox at once; more are refused one by one."""

GUEST_LIMITS = Limits(
    max_channels=MOST_CALLBACKS, max_frame=256 << 10, max_message=512 << 10, least_peer_window=64 << 10
)
"""The guest opens callbacks only and needs no large frames: what it may cost the hub is kept small.

Its agent uses no less than 64 KiB of a window, so that it is not woken for an acknowledgement of every few lines.
"""
