"""Whether what is typed goes into a console, and how it gets there.

Where the driver can give the keyboard away (`GrabDriver`), bytes come from it as they are. Elsewhere, in a browser or in
a test without a terminal, Textual's keys come, and are encoded by the terminal.
"""

from __future__ import annotations

from textual.driver import Driver

from cloche_term.terminal import Modes
from cloche_tui.terminal_input.driver import Grab, GrabDriver, Taker

WAY_OUT_KEY = "ctrl+right_square_bracket"
WAY_OUT = b"\x1d"
AGAIN_WITHIN_S = 0.5
"""How soon after the way out its key has to be pressed again to be typed."""


class Driving:
    """One console's hold on the keyboard.

    Args:
        taker: is told what is typed.
    """

    def __init__(self, taker: Taker) -> None:
        self._taker = taker
        self._grab: Grab | None = None
        self._left_at = float("-inf")
        self.is_on = False
        """Whether what is typed is for the console."""

    @property
    def takes_keys(self) -> bool:
        """Whether Textual's keys are for the console, since nobody else tells of any."""
        return self.is_on and self._grab is None

    def begin(self, driver: Driver | None, modes: Modes) -> None:
        """Takes the keyboard."""
        self.is_on = True
        if isinstance(driver, GrabDriver):
            self._grab = driver.grab(self._taker, modes)

    def follow(self, modes: Modes) -> None:
        """The program has other modes."""
        if self._grab is not None:
            self._grab.follow(modes)

    def end(self) -> None:
        """Gives the keyboard back. Idempotent."""
        self.is_on = False
        if self._grab is not None:
            self._grab.release()
            self._grab = None

    def leave(self, now: float) -> None:
        """Gives the keyboard back, since the person has taken the way out."""
        self.end()
        self._left_at = now

    def wants_back(self, key: str, now: float) -> bool:
        """Whether this key, pressed while nobody drives, is the second one of the way out, and so for the program."""
        is_again = key == WAY_OUT_KEY and now - self._left_at <= AGAIN_WITHIN_S
        self._left_at = float("-inf")
        return is_again and not self.is_on
