"""A terminal emulator as everybody here sees it: bytes in; rows of styled text, answers and typed bytes out.

This is the interface and its values. The emulators behind it are `on_ghostty` and `on_bittty`; `opening` chooses.
A terminal is not a process and not a widget: it neither reads nor writes anything, waits for nothing and knows no
clock. It belongs to one thread at a time.

Rules:
- Rows and columns count from 0; sizes are (rows, cols), each 1…1000.
- *The view* is what `row`, `update`, `cursor` and `text` speak of. It is the screen, unless a person has scrolled
  back (`scroll`); then it stays on the same lines whatever is written, until `scroll_to_end` or a scroll to the end.
- *Lines* are numbered from the console's beginning: the first one ever written is 0. `first_line` is the number of the
  primary screen's first row, `first_line + y` that of its row `y`, and `first_line - 1` the newest of the scrollback.
  A resize may number what has been scrolled off anew, for a narrower screen makes more rows of it: also below 0.
- Whatever a program writes is shown or ignored: `feed` never raises because of it, and what is kept of it is bounded.
  Its time is not: on a screen of the largest size a few bytes can rewrite a million cells (about 1 ms), so whoever feeds
  a hostile program's output from an event loop does it in small pieces, or keeps screens to sizes that people have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple, Protocol

from cloche_term.keys import Key

SMALLEST_SIZE = 1
LARGEST_SIZE = 1000
DEFAULT_SCROLLBACK_LINES = 10_000
MOST_SCROLLBACK_BYTES = 16 * 1024 * 1024
"""What the scrollback of one terminal may take, however many lines it was given."""
MOST_ANSWER_BYTES = 4096
"""What one `feed` answers at most; whole answers beyond are dropped."""
MOST_TITLE_CHARACTERS = 256
MOST_MATCHES = 1000

Color = int | tuple[int, int, int] | None
"""None is the terminal's own; an int an entry of the 256-color palette; a triple red, green, blue (0…255)."""


class Underline(Enum):
    """How text is underlined (SGR 4:n)."""

    NONE = 0
    SINGLE = 1
    DOUBLE = 2
    CURLY = 3
    DOTTED = 4
    DASHED = 5


@dataclass(frozen=True, slots=True)
class Style:
    """How a run of cells looks."""

    foreground: Color = None
    background: Color = None
    underline_color: Color = None
    is_bold: bool = False
    is_faint: bool = False
    is_italic: bool = False
    is_blinking: bool = False
    is_inverse: bool = False
    is_invisible: bool = False
    is_struck: bool = False
    is_overlined: bool = False
    underline: Underline = Underline.NONE
    is_link: bool = False
    """A hyperlink (OSC 8): `Terminal.link` says where to."""


PLAIN = Style()


class Run(NamedTuple):
    """Neighbouring cells of one style. A tuple, since a busy screen makes tens of thousands a second."""

    text: str
    style: Style
    cells: int
    """How many cells it covers: a wide character takes two, a combining one none."""


class CursorShape(StrEnum):
    """How the cursor is drawn (DECSCUSR)."""

    BLOCK = "block"
    UNDERLINE = "underline"
    BAR = "bar"


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the cursor is in the view; not visible when it is hidden or scrolled out of the view."""

    row: int
    col: int
    is_visible: bool
    shape: CursorShape
    blinks: bool


class MouseTracking(StrEnum):
    """Which moves of the mouse the program wants to hear of."""

    OFF = "off"
    PRESSES = "presses"  # mode 9
    BUTTONS = "buttons"  # mode 1000
    DRAGS = "drags"  # mode 1002
    MOVES = "moves"  # mode 1003


@dataclass(frozen=True, slots=True)
class Modes:
    """What the program has switched on."""

    is_alternate: bool = False
    application_cursor: bool = False
    application_keypad: bool = False
    bracketed_paste: bool = False
    focus_events: bool = False
    mouse: MouseTracking = MouseTracking.OFF
    alternate_scroll: bool = False
    """The wheel is cursor keys while the alternate screen is on and the mouse is not tracked (mode 1007)."""
    is_held: bool = False
    """A synchronized update is under way (mode 2026): painting may wait for its end, for a second at most."""
    is_reversed: bool = False
    """Foreground and background are swapped on the whole screen (DECSCNM)."""
    kitty_keyboard: int = 0
    """The flags of the kitty keyboard protocol; 0: off."""


class MouseAction(StrEnum):
    """What the mouse did."""

    PRESS = "press"
    RELEASE = "release"
    MOVE = "move"


class MouseButton(StrEnum):
    """With what; a turn of the wheel is a press of its button."""

    NONE = "none"
    LEFT = "left"
    MIDDLE = "middle"
    RIGHT = "right"
    WHEEL_UP = "wheel_up"
    WHEEL_DOWN = "wheel_down"
    WHEEL_LEFT = "wheel_left"
    WHEEL_RIGHT = "wheel_right"


@dataclass(frozen=True, slots=True)
class Mouse:
    """One event of the mouse, in cells of the view. On MOVE, `button` is the one held down."""

    action: MouseAction
    button: MouseButton
    row: int
    col: int
    ctrl: bool = False
    alt: bool = False
    shift: bool = False


class Match(NamedTuple):
    """Where a search has found its text: a line's number, and the cells it covers there."""

    line: int
    col: int
    cells: int


class Terminal(Protocol):
    """One terminal. After `close` nothing else may be called."""

    @property
    def backend(self) -> str:
        """Which emulator this is: `ghostty` or `bittty`."""

    @property
    def rows(self) -> int: ...

    @property
    def cols(self) -> int: ...

    def feed(self, data: bytes) -> bytes:
        """Takes what the program has written.

        Returns:
            What the terminal answers (device attributes, cursor position, colors, modes): to be typed to the program.
            At most `MOST_ANSWER_BYTES`; what goes beyond is dropped in whole answers.
        """

    def resize(self, rows: int, cols: int) -> None:
        """Gives the screen another size; the primary screen's lines are wrapped anew. A program cannot do this.

        Raises:
            ValueError: A side is not 1…1000.
        """

    def update(self) -> Sequence[int]:
        """Returns the view's rows that look different since the last call, in order; all of them at the first."""

    def row(self, y: int) -> tuple[Run, ...]:
        """Row `y` of the view as it was at the last `update`, of which there must have been one.

        Its runs cover all its cells, blank ones as spaces; no two neighbours have one style, and no text a control.
        """

    def text(self) -> tuple[str, ...]:
        """The screen's rows as they are now, without trailing blanks; not the view's."""

    def link(self, row: int, col: int) -> str:
        """Where the hyperlink of this cell of the view leads to; empty where there is none."""

    @property
    def cursor(self) -> Cursor:
        """The cursor as it is now, in the view."""

    @property
    def modes(self) -> Modes:
        """The modes as they are now."""

    @property
    def title(self) -> str:
        """The window's title, at most `MOST_TITLE_CHARACTERS`, without control characters."""

    @property
    def first_line(self) -> int:
        """The number of the primary screen's first row: how many lines have been scrolled off it, ever.

        It goes on when old scrollback is dropped or cleared. A resize that takes lines back lowers it. While the
        alternate screen is on it stands still.
        """

    @property
    def scrollback_rows(self) -> int:
        """How many lines are kept above the screen that is on; the alternate screen has none."""

    def lines(self, start: int, stop: int) -> tuple[str, ...]:
        """The text of lines `start` to `stop` (not included) of the screen that is on, without trailing blanks.

        What is not kept any more, or is not there yet, is left out.
        """

    @property
    def view_line(self) -> int:
        """The number of the view's first line; equal to `first_line` while the view is the screen."""

    def scroll(self, lines: int) -> None:
        """Moves the view by so many lines: up into the scrollback where negative, down where positive."""

    def scroll_to(self, line: int) -> None:
        """Moves the view so that this line is its first, as far as the scrollback reaches."""

    def scroll_to_end(self) -> None:
        """Moves the view to the screen, where it follows what is written."""

    def search(self, text: str, *, limit: int = MOST_MATCHES) -> tuple[Match, ...]:
        """Finds a text in scrollback and screen, whatever the case of its ASCII letters, also where a line was wrapped.

        Returns:
            The newest `limit` matches, oldest first.
        """

    def encode_key(self, key: Key) -> bytes:
        """What this key types in the modes that are on; nothing where it types nothing."""

    def encode_mouse(self, mouse: Mouse) -> bytes:
        """What this move of the mouse types; nothing where the program does not want to hear of it."""

    def encode_paste(self, text: str) -> bytes:
        """What a paste types: in brackets if the program asked for them, and without what could end those early."""

    def encode_focus(self, *, has_focus: bool) -> bytes:
        """What getting or losing the focus types; nothing where the program does not want to hear of it."""

    def dump(self, *, scrollback_lines: int) -> bytes:
        """Bytes that make this very screen in any terminal of this size that was just reset.

        Scrollback (its newest `scrollback_lines`), the primary screen, the alternate one if it is on; colors, cursor,
        modes, title, and the beginning of a sequence that has only half arrived. That the screen is held back
        (`Modes.is_held`) is left out, so that it shows at once.
        """

    def snapshot(self) -> bytes:
        """Everything, scrollback and half-received sequences included, for `restore` with the same emulator."""

    def close(self) -> None:
        """Gives back what it holds. Idempotent; nothing else may be asked of it afterwards."""


def check_size(rows: int, cols: int) -> None:
    """Refuses a size no terminal has.

    Raises:
        ValueError: A side is not 1…1000.
    """
    if not (SMALLEST_SIZE <= rows <= LARGEST_SIZE and SMALLEST_SIZE <= cols <= LARGEST_SIZE):
        raise ValueError(
            f"a terminal of {rows} rows and {cols} columns: each must be {SMALLEST_SIZE} to {LARGEST_SIZE}"
        )
