"""Calls for the person when a call begins to wait: the terminal's bell, a notification of the desktop, the window's title.

    attention = Attention(write, name="Cloche")     # write: puts a sequence out to the terminal
    attention.show(world.inbox, now=monotonic())    # whenever the inbox may have changed, and each second
    attention.close()                               # the title is the shell's again

Rules:
- What waited when the dashboard began, or is told again after a connection was lost, rings for nobody.
- Whoever lets a guest ask a hundred times hears of it once in `QUIET_S`, with the number.
- SAFETY: what is put out goes around Textual, straight to the terminal: guests' and users' texts in it are printable,
  and of bounded length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cloche import ApprovalInfo
from cloche.printable import printable
from cloche_tui.model.figures import count, cut
from cloche_tui.model.inbox import Inbox

QUIET_S = 3.0
"""Between one call for the person and the next."""
_LONGEST = 120
"""Characters of a notification or a title."""
_BELL = "\a"


class Attention:
    """See the module.

    Args:
        write: puts a sequence out to the terminal.
        name: what the title says when nothing waits.
        rings, notifies, titles: whether each of the three is wanted; all can be changed at any time.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        name: str,
        rings: bool = True,
        notifies: bool = True,
        titles: bool = True,
    ) -> None:
        self.rings, self.notifies, self.titles = rings, notifies, titles
        self._write, self._name = write, name
        self._seen: set[str] | None = None
        self._new: set[str] = set()
        self._called_at = float("-inf")
        self._title: str | None = None

    def show(self, inbox: Inbox, *, now: float) -> None:
        """Calls for the person if something new waits.

        Args:
            inbox: as it is.
            now: seconds of a clock that never goes back.
        """
        if inbox.is_known:
            self._call(inbox.pending, now)
        self._entitle(inbox.waiting)

    def close(self) -> None:
        """Leaves the title as it was found."""
        if self._title is not None:
            self._title = None
            self._write(_osc("2", ""))
            self._write("\033[23;2t")

    def _call(self, pending: Sequence[ApprovalInfo], now: float) -> None:
        ids = {one.id for one in pending}
        if self._seen is None:
            self._seen = ids
        self._new = (self._new & ids) | (ids - self._seen)
        self._seen |= ids
        if not self._new or now - self._called_at < QUIET_S:
            return
        self._called_at = now
        news = [one for one in pending if one.id in self._new]
        self._new = set()
        if self.rings:
            self._write(_BELL)
        if self.notifies:
            self._write(_osc("9", _told(news, len(pending))))

    def _entitle(self, waiting: int) -> None:
        if not self.titles:
            self.close()
            return
        title = f"({waiting}) {self._name}" if waiting else self._name
        if title != self._title:
            if self._title is None:
                # The terminal keeps the title that it had.
                self._write("\033[22;2t")
            self._title = title
            self._write(_osc("2", title))


def _told(news: Sequence[ApprovalInfo], waiting: int) -> str:
    first = news[0]
    if len(news) > 1:
        return f"Cloche: {count(len(news), 'new call')}, {waiting} waiting; first {first.method} of {first.sandbox_name}"
    more = f" ({waiting} waiting)" if waiting > 1 else ""
    return f"Cloche: {first.sandbox_name} asks for {first.method}{more}"


def _osc(number: str, text: str) -> str:
    return f"\033]{number};{cut(printable(text), _LONGEST)}\a"
