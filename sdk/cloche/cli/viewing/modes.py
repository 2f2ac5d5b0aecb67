"""What a console's programs have switched in our terminal, and what switches it back. Pure.

A program may leave anything on when it is cut off: another screen, the mouse, colours. `filtering` lets through only
what is known here and notes it here; `undo` puts the terminal back.

Rule: only what is known here is remembered, so that a hostile program's output costs no memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

HELD = "?2026"
OFF_BY_DEFAULT = (
    "?47", "?1047", "?1049",  # the other screen
    "?5",  # reverse video
    "?6", "?69",  # the cursor and the margins bound to a part of the screen
    "?12",  # the cursor blinks
    "?45",  # backspace goes on in the line above
    HELD,  # output held back
    "?2027",  # how wide joined characters are
    "4",  # letters pushed aside instead of written over
    "20",  # a line's end that is two characters
)  # fmt: skip
"""Modes of what is shown that a terminal does not have of itself."""
ON_BY_DEFAULT = ("?7", "?25")
"""Wrapping at the margin, the cursor."""
REPORTING = ("?9", "?1000", "?1002", "?1003", "?1004")
"""Modes in which a terminal types by itself: the mouse, and whether it has the keyboard."""
OF_KEYS = (
    "?1", "?66",  # cursor keys and the numeric keypad as applications have them
    *REPORTING, "?1005", "?1006", "?1015", "?1016",  # forms of the mouse's reports
    "?1007",  # the wheel as keys
    "?2004",  # what is pasted is marked
)  # fmt: skip
"""Modes of what is typed; a terminal has none of them of itself."""
ALTERNATE = ("?47", "?1047", "?1049")

_ALL_OFF = (*OF_KEYS, *OFF_BY_DEFAULT)
_PLAIN = "\x1b7\x1b[r\x1b8\x1b[0m\x1b[10m\x1b>\x0f\x1b(B\x1b)B"
_MOST_KEPT = 16


@dataclass(slots=True)
class KeyboardFlags:
    """One screen's stack of keyboard modes, as kitty's protocol has them.

    The program's stack is kept here, and the terminal's own has one entry of ours while it is in use: whatever a
    program pushes and pops, what was there before stays.
    """

    flags: int = 0
    _stack: list[int] = field(default_factory=list)

    def push(self, flags: int) -> str:
        """Returns what tells the terminal, as all of these do."""
        self._stack = [*self._stack, self.flags][-_MOST_KEPT:]
        return self.switch(flags)

    def pop(self, count: int) -> str:
        """Takes back so many pushes."""
        flags = self.flags
        for _ in range(min(count, _MOST_KEPT + 1)):
            flags = self._stack.pop() if self._stack else 0
        return self.switch(flags)

    def switch(self, flags: int) -> str:
        """Sets the flags there are now."""
        before, self.flags = self.flags, flags & 31
        if self.flags == before:
            return ""
        if before == 0:
            return f"\x1b[>{self.flags}u"
        return f"\x1b[={self.flags};1u" if self.flags else "\x1b[<u"


@dataclass(slots=True)
class Modes:
    """What has been switched in a terminal."""

    _switched: dict[str, bool] = field(default_factory=dict)
    _keyboards: tuple[KeyboardFlags, KeyboardFlags] = field(
        default_factory=lambda: (KeyboardFlags(), KeyboardFlags())
    )
    colours: set[str] = field(default_factory=set)
    """Numbers of the commands that put back the colours that were changed."""
    has_link: bool = False
    has_shape: bool = False
    """Whether the cursor has another shape."""
    has_title: bool = False
    """Whether the title was changed, and the one before is on the terminal's stack."""
    has_long_keys: bool = False
    """Whether keys with modifiers are sent in xterm's longer form."""

    def switch(self, mode: str, *, is_on: bool) -> None:
        """A mode of the tables above was switched."""
        if mode in ALTERNATE:
            # Any of them leaves what any of them entered.
            self._switched.update(dict.fromkeys(ALTERNATE, False))
        self._switched[mode] = is_on

    @property
    def is_alternate(self) -> bool:
        """Whether the other screen is shown."""
        return any(self._switched.get(mode) for mode in ALTERNATE)

    @property
    def is_held(self) -> bool:
        """Whether the terminal holds back what is written, until the program's update of its screen is whole."""
        return self._switched.get(HELD, False)

    @property
    def is_reporting(self) -> bool:
        """Whether the terminal types by itself, so that something may be on its way."""
        return any(self._switched.get(mode) for mode in REPORTING)

    @property
    def keyboard(self) -> KeyboardFlags:
        """The keyboard modes of the screen that is shown."""
        return self._keyboards[self.is_alternate]

    def undo(self, *, title: bool = True) -> bytes:
        """What puts the terminal back, and forgets what was to be put back.

        Args:
            title: whether the title, too.
        """
        undone = [self._undo_keyboards()]
        undone += [f"\x1b[{mode}l" for mode in _ALL_OFF if self._switched.get(mode)]
        undone += [f"\x1b[{mode}h" for mode in ON_BY_DEFAULT if self._switched.get(mode) is False]
        undone += [self._keyboards[False].switch(0)]
        undone += [f"\x1b]{number}\x1b\\" for number in sorted(self.colours)]
        undone += ["\x1b]8;;\x1b\\"] * self.has_link + ["\x1b[0 q"] * self.has_shape
        undone += ["\x1b[>4m"] * self.has_long_keys
        undone += ["\x1b[23;0t"] * (self.has_title and title)
        self._forget(has_title=self.has_title and not title)
        # Colours of text, the numeric keypad, the character sets, the scrolling region are put back without being
        # watched: it costs nothing. The region moves the cursor, which is saved around it.
        return ("".join(undone) + _PLAIN).encode()

    def _undo_keyboards(self) -> str:
        """Puts back the other screen's keyboard, while it is shown or by showing it."""
        other = self._keyboards[True]
        if not other.flags:
            return ""
        return other.switch(0) if self.is_alternate else f"\x1b[?1049h{other.switch(0)}\x1b[?1049l"

    def _forget(self, *, has_title: bool) -> None:
        self._switched.clear()
        self.colours.clear()
        self._keyboards = (KeyboardFlags(), KeyboardFlags())
        self.has_link = self.has_shape = self.has_long_keys = False
        self.has_title = has_title
