"""A console's place in one window: what is to be written there as things happen. Pure; `attached` and `playing` act.

    same size, or we drive    passed through, as `filtering` allows
    another size              painted from an own emulator, as `painting` does

Rules:
- The screen is to be told anew whenever what is shown may not be it: after the window or the console has changed its
  size, after a line of ours was over it, when the keyboard is ours from now on or no longer is, when we were too slow.
- How it is shown is decided when a screen begins, and stays until the next one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cloche.cli.columns import cut, padded
from cloche.cli.output import clean_line
from cloche.cli.viewing.emulator import guest_terminal
from cloche.cli.viewing.filtering import CLEAR, GuestOutput
from cloche.cli.viewing.modes import HELD
from cloche.console_events import Live, Output, Resized, ScreenBegins

if TYPE_CHECKING:
    from cloche.cli.viewing.painting import Painter
    from cloche.console_events import ConsoleEvent
    from cloche_term import Terminal

_HOLD, _LET_GO = b"\x1b[?2026h", b"\x1b[?2026l"
_ENTER, _LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
_AS_BEFORE = b"\x1b[0 q\x1b[?25h\x1b[?5l\x1b[0m"


class Size(NamedTuple):
    """Of a window or a console."""

    rows: int
    cols: int


class View:
    """What one window shows of one console; what its moves return is to be written, in their order."""

    def __init__(
        self, window: Size, *, is_driving: bool, encoding: str = "utf-8", source: Terminal | None = None
    ) -> None:
        """Begins with a window that shows something else.

        Args:
            window: its size.
            is_driving: whether its keyboard is the console's.
            encoding: the terminal's.
            source: the terminal that the console is in, if it is at hand: nobody else calls its `update`, somebody
                else feeds, resizes and closes it. None: it is far away, and painted from an emulator of our own.
        """
        self._window, self._is_driving, self._encoding = window, is_driving, encoding
        self._output = GuestOutput(encoding=encoding)
        self._console = self._begun_at = window
        self._has_keys = is_driving
        self._source = source
        self._terminal: Terminal | None = None
        self._painter: Painter | None = None
        self._has_begun = self._has_made_room = self._is_whole = False
        self._is_stale = self._is_skipping = False
        self._is_awaiting = self._is_covered = False
        self._line: str | None = None

    @property
    def is_painted(self) -> bool:
        """Whether the console is painted, by `frame`."""
        return self._painter is not None

    @property
    def is_emulated(self) -> bool:
        """Whether output is emulated here, which takes long."""
        return self._terminal is not None and self._source is None and not self._is_skipping

    @property
    def is_in_update(self) -> bool:
        """Whether the program is in the middle of changing its screen, so that showing it may wait a moment."""
        return self._output.modes.is_held if self._terminal is None else self._terminal.modes.is_held

    @property
    def is_reporting(self) -> bool:
        """Whether the terminal may be typing by itself."""
        return self._output.modes.is_reporting

    def take(self, event: ConsoleEvent) -> bytes:
        """Something has happened."""
        match event:
            case ScreenBegins(rows, cols):
                return self._begin(Size(rows, cols))
            case Output(data) if self._terminal is not None:
                if self.is_emulated:
                    # What it answers is nobody's: the hub's own emulator has answered.
                    self._terminal.feed(data)
            case Output(data):
                return self._output.passed(data)
            case Live():
                return self._show()
            case Resized(rows, cols):
                self._console = Size(rows, cols)
                if self._terminal is not None and self._source is None:
                    self._terminal.resize(rows, cols)
                    # Lines that come back from above the screen are not known here.
                    self._is_stale = True
                self._paint_anew()
        return b""

    def skip(self) -> None:
        """We are too slow: of an emulated console nothing is shown until the screen begins anew."""
        if self.is_emulated and self._is_whole:
            self._is_stale = self._is_skipping = True

    def drive(self, *, is_driving: bool) -> None:
        """The keyboard is the console's from now on, or no longer is."""
        self._is_driving = is_driving

    def resize(self, window: Size) -> None:
        """The window has another size."""
        self._window = window
        self._paint_anew()

    def spoil(self) -> None:
        """Something else has been written into the window."""
        self._is_covered = not self.is_painted
        self._paint_anew()

    def needs_screen(self) -> bool:
        """Whether the screen is to be told anew; said once, until it is."""
        is_right = (
            self.is_painted is self._is_to_be_painted()
            and self._has_keys is self._is_driving
            and not (self._is_covered or self._is_stale)
            and (self.is_painted or self._begun_at == self._window)
        )
        # The console is about to have the size of who drives.
        is_growing = self._is_driving and self._console != self._window
        if not self._has_begun or self._is_awaiting or is_right or is_growing:
            return False
        self._is_awaiting = True
        return True

    def announce(self, line: str) -> bytes:
        """Writes a line over the last one, until `withdraw`; a painted console has it as its status."""
        self._line = line
        if self.is_painted or not self._has_begun:
            return b""
        room = self._window.cols - 1
        shown = padded(cut(clean_line(line), room), room).encode(self._encoding, "replace")
        # Saved and put back are the cursor's place, its colours and its character sets.
        return b"\x1b7\x1b[?6l\x1b(B\x0f\x1b[0;7m\x1b[%dH%b\x1b[0m\x1b8" % (self._window.rows, shown)

    def withdraw(self) -> None:
        """The line was there for long enough."""
        self._is_covered = self._is_covered or (self._line is not None and not self.is_painted)
        self._line = None

    def frame(self, status: str) -> bytes:
        """Paints what has changed, where the console is painted."""
        if self._painter is None or not self._is_whole:
            return b""
        return self._painter.frame(self._line or status)

    def let_go(self) -> bytes:
        """The moment is over: an update that is never whole must not keep a terminal from showing anything."""
        if not self._output.modes.is_held:
            return b""
        self._output.modes.switch(HELD, is_on=False)
        return _LET_GO

    def close(self) -> bytes:
        """Gives the terminal back, the cursor below what was shown."""
        if not self._has_begun:
            return b""
        left = self._leave(title=True)
        # Nothing was shown on the terminal's own screen where all was painted.
        return _LET_GO + left + (b"\r\n\x1b[J" if self._has_made_room else b"")

    def _is_to_be_painted(self) -> bool:
        return not self._is_driving and self._console != self._window

    def _begin(self, console: Size) -> bytes:
        """Forgets what was shown."""
        self._console = self._begun_at = console
        stays_painted = self.is_painted and self._is_to_be_painted()
        told = self._leave(title=False) if self._has_begun and not stays_painted else b""
        self._has_keys = self._is_driving
        self._has_begun, self._is_whole = True, False
        self._is_awaiting = self._is_covered = self._is_stale = self._is_skipping = False
        self._output = self._output.anew(keys=self._has_keys)
        if self._is_to_be_painted():
            self._begin_painting()
            return b"" if stays_painted else told + _HOLD + _ENTER + CLEAR
        if not self._has_made_room:
            # What is on the screen goes where scrolling back finds it.
            self._has_made_room = True
            told += b"\r\n" * self._window.rows
        return told + _HOLD + CLEAR

    def _show(self) -> bytes:
        """The screen is whole."""
        self._is_whole = True
        line = b"" if self._line is None else self.announce(self._line)
        # What is painted is let go by its first frame.
        return line if self.is_painted else line + _LET_GO

    def _leave(self, *, title: bool) -> bytes:
        if self._terminal is None:
            return self._output.modes.undo(title=title)
        self._drop_terminal()
        self._painter = None
        return _AS_BEFORE + _LEAVE + (self._output.modes.undo() if title else b"")

    def _begin_painting(self) -> None:
        # It takes a moment to load, and most consoles need none.
        from cloche.cli.viewing.painting import Painter

        self._drop_terminal()
        self._terminal = self._source or guest_terminal(*self._console)
        if self._painter is None:
            self._painter = Painter(self._terminal, *self._window)
        else:
            self._painter.show(self._terminal)

    def _drop_terminal(self) -> None:
        if self._terminal is not None and self._source is None:
            self._terminal.close()
        self._terminal = None

    def _paint_anew(self) -> None:
        if self._painter is not None:
            self._painter.fit(*self._window)
