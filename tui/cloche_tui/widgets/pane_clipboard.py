"""What the program of one pane wants on the clipboard: whether the person was told, and what becomes of it.

Rules:
- SAFETY: nothing is copied that the person was not told of, nor before there was time to read it: a program that asks
  just before a key is pressed gets nothing by it.
- What is copied was asked for; the next request asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from cloche_tui.model.clipboard import CopyRequest, CopyRequests
from cloche_tui.model.clipboard_text import asked, copied, missed
from cloche_tui.model.console_status import ConsoleStatus, Keys, Size, label, tells_of_copying

READ_S = 0.5
"""How long the person was told of something before a key lets it."""


class PaneClipboard:
    """The person's consent to what one program wants copied."""

    def __init__(self) -> None:
        self._told: CopyRequest | None = None
        self._told_at = float("-inf")
        self._unseen: CopyRequest | None = None
        """The last one that stood while the pane was hidden."""

    def shown(self, status: ConsoleStatus, window: Size, keys: Keys, notice: str) -> None:
        """The last line of the pane is this now, as `console_status.foot`."""
        if status.copying is None or tells_of_copying(status, window, keys, notice=notice):
            self._tell(status.copying)

    def missed(self, request: CopyRequest | None, *, is_seen: bool) -> str:
        """What is to be said of a request that came and went while nobody saw the pane; empty: nothing. Told once.

        Args:
            request: what stands now.
            is_seen: whether the pane is on the screen now.
        """
        if request is not None:
            self._unseen = None if is_seen or request.refusal else request
        if not is_seen or self._unseen is None:
            return ""
        gone, self._unseen = self._unseen, None
        return missed(gone)

    def let(
        self, requests: CopyRequests, status: ConsoleStatus, keys: Keys, copy: Callable[[str], None]
    ) -> str:
        """The person lets what is asked for be copied.

        Args:
            requests: of the console.
            status: of the console, now.
            keys: what the keys are called.
            copy: puts a text on the clipboard.

        Returns:
            What became of it, for the person.
        """
        request = status.copying
        if request is None or status.info is None:
            return "no program here wants to copy anything"
        if request.refusal:
            return f"not copied: {request.refusal}"
        if request != self._told:
            # There was no room for it.
            self._tell(request)
            return asked(request, label(status.info), keys.clipboard)
        if monotonic() - self._told_at < READ_S:
            return f"it has only just asked: read it, then {keys.clipboard} again"
        copy(request.text)
        requests.done()
        return copied(request, label(status.info))

    def _tell(self, request: CopyRequest | None) -> None:
        if request != self._told:
            self._told, self._told_at = request, monotonic()
