"""Which control functions the fallback emulator obeys, and what it does otherwise than bittty.

bittty rebuilds whole DEC terminals: printers, macros, page memory, answerback, downloadable keys, fonts and clipboards
that a program may set and then have typed back. None of that belongs in a console that programs nobody trusts write to.

Rules:
- What is not in `_OPERATIONS` does not exist: a new release of bittty cannot switch anything on by itself.
- No answer contains text that a program has chosen.
- What one sequence costs is bounded by the screen's rows, not by its cells, so that a few bytes cannot stand for
  seconds of work: operations on rectangles are left out, selective erasing erases everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from bittty.present import ScrollbackCleared

from cloche_term.on_bittty.answers import BEL, ST, Answers
from cloche_term.terminal import MOST_TITLE_CHARACTERS

MOST_LINK_CHARACTERS = 2048

# Sequences that are others, or none, with a question mark: `CSI ? 1 ; 1 S` asks for colors, and scrolls nothing.
_PUBLIC: Final = (
    *("CHA", "HPA", "HPR", "VPA", "VPR", "CNL", "CPL", "HPB", "VPB", "CHT", "CBT", "TBC"),
    *("IL", "DL", "ICH", "DCH", "ECH", "SU", "SD", "REP", "DECSTBM", "DECSLRM", "XTWINOPS"),
)
_OPERATIONS: Final = frozenset(
    (
        *_PUBLIC,
        *("PRINT", "C0_BS", "C0_HT", "C0_LF", "C0_VT", "C0_FF", "C0_CR", "C0_CRLF", "C0_SO", "C0_SI"),
        *("IND", "RI", "NEL", "HTS", "SAVE", "RESTORE", "RIS", "DECSTR", "DECALN", "DECKPAM", "DECKPNM"),
        *("CUP", "HVP", "CUU", "CUD", "CUF", "CUB", "ED", "EL", "DECSED", "DECSEL"),
        *("SM", "RM", "DECSET", "DECRST", "XTSAVE", "XTRESTORE", "DECSCUSR", "SGR"),
        *("SS2", "SS3", "LS2", "LS3", "LS1R", "LS2R", "LS3R", "SCS_G0", "SCS_G1", "SCS_G2", "SCS_G3"),
        *("CPR", "DSR", "DA1", "DA2", "DECRQM", "DECRQSS", "XTVERSION", "XTMODKEYS"),
        *("KITTY_PUSH", "KITTY_POP", "KITTY_SET", "KITTY_QUERY", "OSC_HYPERLINK"),
        *("SET_ICON_AND_WINDOW_TITLE", "SET_WINDOW_TITLE", "OSC_SET_PALETTE", "OSC_RESET_PALETTE"),
        *("OSC_FOREGROUND", "OSC_BACKGROUND", "OSC_CURSOR"),
        *("OSC_RESET_FOREGROUND", "OSC_RESET_BACKGROUND", "OSC_RESET_CURSOR"),
    )
)

# Strings that may be questions.
_ASKING_STRINGS: Final = ("OSC_SET_PALETTE", "OSC_FOREGROUND", "OSC_BACKGROUND", "OSC_CURSOR")
# What DECRQSS tells: style, margins, cursor's shape, conformance and protection; and what it answers to all else.
_SETTINGS: Final = ("m", "r", "s", " q", '"p', '"q')
_NO_SETTING: Final = "\x1bP0$r\x1b\\"
_SAVE_TITLE, _RESTORE_TITLE, _REPORT_CELLS = 22, 23, 18
_ORIGIN = 6
_SCROLLBACK = 3
_ALTERNATE_CLEARED = 1049
_ALTERNATE_CLEARED_ON_LEAVING = 1047


def restrict(board: Any, answers: Answers) -> None:
    """Takes away what is not in the list, and replaces what bittty does otherwise than xterm."""
    registry: dict[str, Callable[[Any], None]] = board.registry
    for name in registry.keys() - _OPERATIONS:
        del registry[name]
    for name in _ASKING_STRINGS:
        registry[name] = _ended_alike(answers, registry[name])
    registry |= {
        "XTWINOPS": lambda operation: _window(board, operation.args[0]),
        "SET_ICON_AND_WINDOW_TITLE": lambda operation: board.title.set_both(_clean(operation.args[0])),
        "SET_WINDOW_TITLE": lambda operation: board.title.set_both(_clean(operation.args[0])),
        "OSC_HYPERLINK": lambda operation: _link(board, *operation.args),
        "ED": lambda operation: _erase_in_display(board, operation.args[0]),
        "DECSED": lambda operation: _erase_in_display(board, operation.args[0]),
        "DECSEL": registry["EL"],
        "DECSET": lambda operation: _set_private(board, operation.args[0], is_on=True),
        "DECRST": lambda operation: _set_private(board, operation.args[0], is_on=False),
        "ICH": lambda operation: board.blitter.insert_characters(
            operation.args[0], board.style.background_ansi()
        ),
        "DCH": lambda operation: _delete_characters(board, operation.args[0]),
        "ECH": lambda operation: _erase_characters(board, operation.args[0]),
        "CPR": lambda operation: _tell_cursor(board),
        "DECSLRM": lambda operation: _set_side_margins(board, operation),
        "DECALN": lambda operation: _align(board),
        "DECRQSS": _unless_unknown(board, registry["DECRQSS"]),
    }
    registry |= {name: _unless_private(registry[name]) for name in _PUBLIC}


def _unless_private(handle: Callable[[Any], None]) -> Callable[[Any], None]:
    def handled(operation: Any) -> None:
        if not operation.raw.startswith("\x1b[?"):
            handle(operation)

    return handled


def _ended_alike(answers: Answers, handle: Callable[[Any], None]) -> Callable[[Any], None]:
    def handled(operation: Any) -> None:
        answers.string_end = ST if operation.raw.endswith(ST) else BEL
        handle(operation)

    return handled


def _unless_unknown(board: Any, handle: Callable[[Any], None]) -> Callable[[Any], None]:
    """bittty repeats what was asked for and is not known: text of a program's choice."""

    def handled(operation: Any) -> None:
        if operation.args[0] in _SETTINGS:
            handle(operation)
        else:
            board.host.write(_NO_SETTING)

    return handled


def _erase_in_display(board: Any, extent: int) -> None:
    if extent == _SCROLLBACK:
        board.present(ScrollbackCleared())  # and nothing else: a wrap stays pending
    else:
        board.blitter.clear_screen(extent)


def _delete_characters(board: Any, count: int) -> None:
    blitter, cursor = board.blitter, board.cursor
    blitter.delete_characters(count)
    is_inside = blitter.left_margin <= cursor.x <= blitter.right_margin
    if is_inside and blitter.scroll_top <= cursor.y <= blitter.scroll_bottom:
        first = max(cursor.x, blitter.right_margin + 1 - count)
        blitter.clear_rect(first, cursor.y, blitter.right_margin, cursor.y, board.style.background_ansi())


def _erase_characters(board: Any, count: int) -> None:
    cursor = board.cursor
    cursor.cancel_pending_wrap()
    board.blitter.clear_rect(
        cursor.x, cursor.y, cursor.x + count - 1, cursor.y, board.style.background_ansi()
    )


def _tell_cursor(board: Any) -> None:
    """Where the cursor is, from the margins' corner in origin mode."""
    origin = (board.blitter.scroll_top, board.blitter.left_margin) if board.modes.origin_mode else (0, 0)
    board.host.write(f"\x1b[{board.cursor.y - origin[0] + 1};{board.cursor.display_x - origin[1] + 1}R")


def _set_side_margins(board: Any, operation: Any) -> None:
    """Nothing where side margins are off: only without parameters does this save the cursor."""
    if board.modes.left_right_margin_mode:
        board.blitter.apply_left_right_margins(operation)


def _align(board: Any) -> None:
    board.blitter.set_scroll_region(0, board.height - 1)
    board.blitter.reset_left_right_margins()
    board.cursor.set_position(0, 0)
    board.blitter.alignment_test()


def _clean(title: str) -> str:
    return "".join(filter(str.isprintable, title))[:MOST_TITLE_CHARACTERS]


def _link(board: Any, uri: str, identity: str) -> None:
    """A link too long to keep is none: each cell of a screen and its scrollback may have one."""
    is_kept = len(uri) <= MOST_LINK_CHARACTERS and uri.isprintable()
    board.style.set_hyperlink(uri if is_kept else "", identity[:MOST_LINK_CHARACTERS])


def _window(board: Any, parameters: tuple[int | None, ...]) -> None:
    """The window operations that concern nobody else: the stack of titles, and the size in cells."""
    operation = parameters[0] if parameters else None
    if operation == _SAVE_TITLE:
        board.title.push()
    elif operation == _RESTORE_TITLE:
        board.title.pop()
    elif operation == _REPORT_CELLS:
        board.host.write(f"\x1b[8;{board.height};{board.width}t")


def _set_private(board: Any, numbers: tuple[int | None, ...], *, is_on: bool) -> None:
    """DECSET and DECRST; the alternate screen is cleared where xterm clears it."""
    for number in numbers:
        if number == _ALTERNATE_CLEARED_ON_LEAVING and board.blitter.in_alt_screen and not is_on:
            _clear_alternate(board)
        board.modes.set_private_modes((number,), is_on)
        if number == _ORIGIN:
            board.cursor.move_to(0, 0)
        if number == _ALTERNATE_CLEARED and is_on:
            _clear_alternate(board)


def _clear_alternate(board: Any) -> None:
    page = board.blitter.alt_page
    page.clear_region(0, 0, page.width - 1, page.height - 1)
    page.reset_wrapped_lines()
