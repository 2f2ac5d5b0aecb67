"""What the hub's link to a guest may carry. A value: what is asked of a guest must fit, and is refused before if not."""

from __future__ import annotations

from cloche_wire.limits import Limits

GUEST_LIMITS = Limits(max_channels=16, max_frame=256 << 10, max_message=512 << 10)
"""The guest opens next to nothing and needs no large frames: what it may cost the hub is kept small."""
