"""The machine inside the fallback emulator: a bittty board of the kind of terminal a console is.

It is told what to obey by `operations`, and answers into `answers`.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from bittty import Board, Model, TerminalCaps
from bittty import mode_profiles as modes
from bittty.options import EDITING, KITTY_KEYBOARD, XTERM_MODIFY_KEYS
from bittty.palette import PaletteDefaults

from cloche_term.on_bittty.answers import Answers
from cloche_term.on_bittty.operations import restrict

# It logs each sequence it does not know, with what a program has written.
logging.getLogger("bittty").setLevel(logging.WARNING)

FOREGROUND: Final = (224, 224, 224)
BACKGROUND: Final = (12, 12, 12)

_MODEL: Final = Model(
    name="cloche",
    da1_response="\x1b[?62;22c",  # a VT220 with color
    da2_response="\x1b[>1;10;0c",
    da3_response=None,
    mode_capabilities=frozenset(
        (
            *(modes.ANSI_INSERT, modes.ANSI_NEWLINE, modes.DEC_CURSOR_APPLICATION, modes.DEC_REVERSE_SCREEN),
            *(modes.DEC_ORIGIN, modes.DEC_AUTOWRAP, modes.DEC_CURSOR_VISIBLE, modes.DEC_NUMERIC_KEYPAD),
            *(
                modes.DEC_LEFT_RIGHT_MARGINS,
                modes.DEC_BACKARROW,
                modes.XTERM_CURSOR_BLINK,
                modes.XTERM_REVERSE_WRAP,
            ),
            *(modes.XTERM_ALT_SCREEN_47, modes.XTERM_ALT_SCREEN_1047, modes.XTERM_ALT_SCREEN_1049),
            *(modes.XTERM_SAVE_CURSOR_1048, modes.XTERM_ALTERNATE_SCROLL, modes.XTERM_FOCUS),
            *(
                modes.XTERM_MOUSE_X10,
                modes.XTERM_MOUSE_NORMAL,
                modes.XTERM_MOUSE_BUTTON,
                modes.XTERM_MOUSE_ANY,
            ),
            *(modes.XTERM_MOUSE_UTF8, modes.XTERM_MOUSE_SGR, modes.URXVT_MOUSE),
            *(modes.XTERM_META_ESCAPE, modes.XTERM_ALT_ESCAPE, modes.XTERM_BRACKETED_PASTE),
            *(modes.XTERM_SYNC_OUTPUT, modes.UNICODE_GRAPHEME_CLUSTERING),
        )
    ),
    control_capabilities=EDITING | {KITTY_KEYBOARD, XTERM_MODIFY_KEYS},
    power_on_modes=frozenset({1007, 1036, 1039}),  # the wheel types cursor keys; Alt and Meta send ESC
    palette=PaletteDefaults(foreground=FOREGROUND, background=BACKGROUND, cursor=FOREGROUND),
    reflows=False,  # `resizing` wraps lines anew, together with the scrollback's
)


def make_board(rows: int, cols: int, answers: Answers) -> Any:
    """Makes a board of this size that sends its answers there."""
    board = Board(width=cols, height=rows, model=_MODEL)
    board.host.attach(answers)
    board.title.title = board.title.icon_title = ""
    # Combining characters take no cell of their own, which bittty does for whole clusters only.
    board.set_caps(TerminalCaps(grapheme_mode="permanently-set"))
    restrict(board, answers)
    return board
