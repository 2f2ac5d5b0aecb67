"""A bittty board and its scrollback as JSON, and back: cells, cursors, modes, margins, colors, titles, keyboard.

Not a dump: nothing is parsed or printed, so that what comes back is cell for cell what was there.
Rule: what is read here was written here, by the same version of bittty (`snapshots` checks both).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bittty.devices.cursor import SavedCursor
from bittty.style import Color, Style
from bittty.terminals.scrollback import ScrollbackLine

from cloche_term.on_bittty.history import History
from cloche_term.on_bittty.rows import Cell

_STYLE_FIELDS = (
    *(
        "bold",
        "dim",
        "italic",
        "underline",
        "underline_style",
        "blink",
        "reverse",
        "conceal",
        "strike",
        "overline",
    ),
    *("hyperlink", "hyperlink_id"),
)
_COLOR_FIELDS = ("fg", "bg", "underline_color")
_CURSOR_COLORS = ("foreground", "background", "cursor")
_MARGINS = ("scroll_top", "scroll_bottom", "left_margin", "right_margin")


class _Styles:
    """The styles that occur, each once."""

    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []
        self._numbers: dict[Any, int] = {}

    def number(self, style: Any) -> int:
        """Which of the values this one is."""
        if style not in self._numbers:
            self._numbers[style] = len(self.values)
            self.values.append(_style_to_json(style))
        return self._numbers[style]


def to_json(board: Any, history: History) -> dict[str, Any]:
    """All of a board and its scrollback, as values JSON has."""
    blitter, cursor, keyboard = board.blitter, board.cursor, board.keyboard
    styles = _Styles()
    return {
        "dropped": history.dropped,
        "history": [_row_to_json(styles, row.cells, row.is_wrapped) for row in history],
        "pages": [_page_to_json(styles, page) for page in (blitter.primary_page, blitter.alt_page)],
        "is_alternate": blitter.in_alt_screen,
        "modes": [list(state) for state in board.modes.restorable_states()],
        "saved_modes": list(board.modes._saved_private_modes.items()),  # noqa: SLF001
        "application_keypad": board.modes.application_keypad,
        "margins": [getattr(blitter, name) for name in _MARGINS],
        "cursor": [cursor.display_x, cursor.y, cursor.wrap_pending, cursor.shape],
        "saved": [_saved_to_json(styles, cursor.saved[which]) for which in (False, True)],
        "tab_stops": sorted(cursor.tab_stops),
        "pen": styles.number(board.style.current),
        "charsets": list(board.charset.save()),
        "single_shift": board.charset.single_shift,
        "repeatable": blitter.last_printed_char,
        "titles": [board.title.title, *(title for title, _ in board.title._stack)],  # noqa: SLF001
        "palette": _palette_to_json(board.palette),
        "kitty": [[*keyboard._kitty[which].stack, keyboard._kitty[which].flags] for which in (False, True)],  # noqa: SLF001
        "modified_keys": list(keyboard.modify_keys.values),
        "styles": styles.values,
    }


def from_json(board: Any, history: History, stored: dict[str, Any]) -> None:
    """Puts what `to_json` returned into a fresh board of the same size, and an empty scrollback.

    Raises:
        KeyError, TypeError, ValueError, IndexError: `to_json` has not written this.
    """
    styles = [_style_from_json(value) for value in stored["styles"]]
    blitter, cursor, keyboard = board.blitter, board.cursor, board.keyboard
    history.dropped = stored["dropped"]
    for row in stored["history"]:
        cells, is_wrapped = _row_from_json(styles, row)
        history.append(cells, is_wrapped=is_wrapped)
    for page, rows in zip((blitter.primary_page, blitter.alt_page), stored["pages"], strict=True):
        _page_from_json(styles, page, rows)
    blitter.switch_screen(stored["is_alternate"])
    for private, number, is_on in stored["modes"]:
        board.modes.set_mode(number, is_on, private=private)
    board.modes._saved_private_modes = {number: value for number, value in stored["saved_modes"]}  # noqa: SLF001, C416 pairs are lists
    board.modes.application_keypad = stored["application_keypad"]
    for name, value in zip(_MARGINS, stored["margins"], strict=True):
        setattr(blitter, name, value)
    x, y, is_pending, cursor.shape = stored["cursor"]
    cursor.set_position(x, y)
    if is_pending:
        cursor.arm_pending_wrap()
    cursor.saved = {bool(i): _saved_from_json(styles, saved) for i, saved in enumerate(stored["saved"])}
    cursor.tab_stops = set(stored["tab_stops"])
    board.style.current = styles[stored["pen"]]
    board.charset.restore(stored["charsets"])
    board.charset.single_shift = stored["single_shift"]
    blitter.last_printed_char = stored["repeatable"]
    title, *stack = stored["titles"]
    board.title.title = board.title.icon_title = title
    board.title._stack = [(pushed, pushed) for pushed in stack]  # noqa: SLF001
    _palette_from_json(board.palette, stored["palette"])
    for which, (*pushed, flags) in zip((False, True), stored["kitty"], strict=True):
        keyboard._kitty[which].stack[:], keyboard._kitty[which].flags = pushed, flags  # noqa: SLF001
    keyboard.modify_keys.values[:] = stored["modified_keys"]


def _row_to_json(styles: _Styles, cells: Sequence[Cell], is_wrapped: bool) -> list[Any]:  # noqa: FBT001 a value to write
    line = ScrollbackLine.of(cells)
    changes = [[first, styles.number(style)] for first, style in line.runs]
    return [line.text, list(line.shape) if line.shape else None, len(line), changes, is_wrapped]


def _row_from_json(styles: Sequence[Any], row: Sequence[Any]) -> tuple[list[Cell], bool]:
    text, shape, size, changes, is_wrapped = row
    ends = [first for first, _ in changes[1:]] + [size]
    painted = (
        tuple(
            styles[number]
            for (first, number), end in zip(changes, ends, strict=True)
            for _ in range(end - first)
        )
        if changes
        else ()
    )
    line = ScrollbackLine(text, painted, tuple(shape) if shape else None)
    return line.cells(0, size), bool(is_wrapped)


def _page_to_json(styles: _Styles, page: Any) -> list[Any]:
    return [_row_to_json(styles, page.grid[y], page.wrapped_lines[y]) for y in range(page.height)]


def _page_from_json(styles: Sequence[Any], page: Any, rows: Iterable[Any]) -> None:
    for y, row in enumerate(rows):
        page.grid[y], page.wrapped_lines[y] = _row_from_json(styles, row)


def _saved_to_json(styles: _Styles, saved: Any) -> list[Any]:
    return [
        saved.x,
        saved.y,
        saved.wrap_pending,
        styles.number(saved.style),
        saved.origin_mode,
        list(saved.charsets),
    ]


def _saved_from_json(styles: Sequence[Any], saved: Sequence[Any]) -> SavedCursor:
    x, y, is_pending, number, is_origin, (shift, right, designations) = saved
    return SavedCursor(x, y, is_pending, styles[number], is_origin, (shift, right, tuple(designations)))


def _palette_to_json(palette: Any) -> list[Any]:
    defaults = palette._default_colors  # noqa: SLF001
    changed = [[i, list(now)] for i, now in enumerate(palette.colors) if now != defaults[i]]
    return [changed, *(list(getattr(palette, name)) for name in _CURSOR_COLORS)]


def _palette_from_json(palette: Any, stored: Sequence[Any]) -> None:
    changed, *rest = stored
    for index, color in changed:
        palette.colors[index] = tuple(color)
    for name, color in zip(_CURSOR_COLORS, rest, strict=True):
        setattr(palette, name, tuple(color))


def _style_to_json(style: Any) -> dict[str, Any]:
    fields = {name: value for name in _STYLE_FIELDS if (value := getattr(style, name)) is not None}
    colors = {
        name: [color.mode, color.value]
        for name in _COLOR_FIELDS
        if (color := getattr(style, name)) is not None
    }
    return fields | colors


def _style_from_json(stored: dict[str, Any]) -> Any:
    colors = {
        name: Color(mode, tuple(value) if isinstance(value, list) else value)
        for name in _COLOR_FIELDS
        if name in stored
        for mode, value in [stored[name]]
    }
    return Style(**stored | colors)
