"""A bittty board as the bytes that make it again, in any terminal of its size that was just reset.

Pure writing: it reads the board and changes nothing. Rules for what is written:
- Rows are printed one below the other, so that scrollback comes to be by scrolling, and lines that were wrapped are
  wrapped by the terminal that reads them.
- Everything that moves the cursor or changes how text is placed (margins, origin, insert, wraparound) comes after all
  text; then the cursor; last the beginning of a sequence that has not ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bittty.style import Style
from bittty.video import CONTINUATION

from cloche_term.on_bittty.history import History
from cloche_term.on_bittty.rows import Cell
from cloche_term.on_bittty.wrapping import BLANK, Row, begins_wide, ends_at

_PLAIN = Style()

# Modes that are told when they differ from a terminal just reset: attribute of the board's modes, what it is then,
# and the sequences that set and reset it.
_MODES = (
    ("cursor_application_mode", False, "\x1b[?1h"),
    ("reverse_screen", False, "\x1b[?5h"),
    ("auto_wrap", True, "\x1b[?7l"),
    ("cursor_visible", True, "\x1b[?25l"),
    ("reverse_wraparound", False, "\x1b[?45h"),
    ("backarrow_key_sends_bs", False, "\x1b[?67h"),
    ("focus_reporting", False, "\x1b[?1004h"),
    ("meta_sends_escape", True, "\x1b[?1036l"),
    ("alt_sends_escape", True, "\x1b[?1039l"),
    ("bracketed_paste", False, "\x1b[?2004h"),
    ("synchronized_output", False, "\x1b[?2026h"),
    ("insert_mode", False, "\x1b[4h"),
    ("linefeed_newline_mode", False, "\x1b[20h"),
)
_MOUSE = {"x10": 9, "normal": 1000, "button": 1002, "any": 1003, "utf8": 1005, "sgr": 1006, "urxvt": 1015}
_SHAPES = {"block": 1, "underline": 3, "bar": 5}
_FLAGS = (
    ("bold", "1"),
    ("dim", "2"),
    ("italic", "3"),
    ("blink", "5"),
    ("reverse", "7"),
    ("conceal", "8"),
    ("strike", "9"),
    ("overline", "53"),
)
_UNDERLINES = {None: "4", "double": "21", "curly": "4:3", "dotted": "4:4", "dashed": "4:5"}
_SHIFTS = ("\x0f", "\x0e", "\x1bn", "\x1bo")
_DESIGNATIONS = "()*+"


def write(board: Any, history: History, unfinished: bytes, *, scrollback_lines: int) -> bytes:
    """Writes the board.

    Args:
        board: What to write.
        history: Its scrollback.
        unfinished: The beginning of a sequence that has not ended.
        scrollback_lines: How many of the newest rows of the scrollback to write.
    """
    primary, alternate = board.blitter.primary_page, board.blitter.alt_page
    rows = [*_history_rows(history, scrollback_lines), *_page_rows(primary)]
    parts = [_tab_stops(board), _palette(board)]
    parts.append(f"\x1b]2;{board.title.title}\x1b\\" if board.title.title else "")
    parts += [
        *_scrolled(rows, board.width),
        _saved(board, alternate=False),
        _keyboard(board, alternate=False),
    ]
    if board.blitter.in_alt_screen:
        # 1049 saves the primary screen's cursor as it enters: it must be where the saved one is.
        parts += [
            _saved(board, alternate=False) or "\x1b[H",
            "\x1b[?1049h",
            *_placed(alternate),
            _saved(board, alternate=True),
        ]
        parts.append(_keyboard(board, alternate=True))
    parts += [_margins(board), *_modes(board), _cursor(board)]
    return "".join(parts).encode(errors="replace") + unfinished


def _history_rows(history: History, most: int) -> Iterator[Row]:
    for index in range(max(0, len(history) - most), len(history)):
        row = history[index]
        yield Row(row.cells, row.is_wrapped)


def _page_rows(page: Any) -> Iterator[Row]:
    for y in range(page.height):
        yield Row(page.grid[y], page.wrapped_lines[y])


def _scrolled(rows: Sequence[Row], cols: int) -> Iterator[str]:
    """Rows one below the other; the cursor ends in the last of them."""
    pen = _Pen()
    has_wrapped = False
    for number, row in enumerate(rows):
        following = rows[number + 1] if number + 1 < len(rows) else None
        cells = row.cells[:cols]
        goes_on = row.is_wrapped and following is not None and _fills(cells, following.cells, cols)
        if goes_on and len(cells) == cols and _is_filler(cells, following.cells if following else ()):
            cells = cells[:-1]
        end = len(cells) if goes_on else ends_at(cells)
        yield from pen.write(cells[:end])
        if has_wrapped and end < cols and not goes_on:
            # The row came to be by wrapping, and with it its cells took the background of the text.
            yield pen.change(_PLAIN) + "\x1b[K"
        if following is not None and not goes_on:
            yield pen.change(_PLAIN) + "\r\n"
        has_wrapped = goes_on
    yield pen.change(_PLAIN)


def _fills(cells: Sequence[Cell], following: Sequence[Cell], cols: int) -> bool:
    """Whether the terminal itself goes to the next row between these two: only text makes it do so."""
    if not ends_at(following):
        return False
    return len(cells) == cols or (len(cells) == cols - 1 and begins_wide(following))


def _is_filler(cells: Sequence[Cell], following: Sequence[Cell]) -> bool:
    """Whether the last cell is blank only because the wide character that follows had no room."""
    return cells[-1] == BLANK and begins_wide(following)


def _placed(page: Any) -> Iterator[str]:
    """Each row of a page at its place."""
    pen = _Pen()
    for y, cells in enumerate(page.grid):
        end = ends_at(cells)
        if end:
            yield f"\x1b[{y + 1};1H"
            yield from pen.write(cells[:end])
    yield pen.change(_PLAIN)


class _Pen:
    """Writes cells, changing the style where it changes."""

    def __init__(self) -> None:
        self._style: Any = _PLAIN

    def change(self, style: Any) -> str:
        """What makes this the style of the text that follows."""
        if style is self._style or style == self._style:
            return ""
        written = _hyperlink(self._style, style) + _rendition(style)
        self._style = style
        return written

    def write(self, cells: Iterable[Cell]) -> Iterator[str]:
        """The cells of one row."""
        is_unsure = False
        for x, (style, text) in enumerate(cells):
            if text == CONTINUATION:
                continue
            if is_unsure:
                # Terminals differ in how wide they think a character of several code points is.
                yield f"\x1b[{x + 1}G"
            if style is not self._style:
                yield self.change(style)
            yield text
            is_unsure = len(text) > 1


def _rendition(style: Any) -> str:
    parameters = ["0", *(code for name, code in _FLAGS if getattr(style, name))]
    if style.underline:
        parameters.append(_UNDERLINES[style.underline_style])
    for color, base in ((style.fg, 38), (style.bg, 48), (style.underline_color, 58)):
        if color is None or color.mode == "default":
            continue
        if color.mode == "rgb":
            parameters.append(";".join(map(str, (base, 2, *color.value))))
        elif color.value < 8 and base != 58:
            parameters.append(str(base - 8 + color.value))
        else:
            parameters.append(f"{base};5;{color.value}")
    return f"\x1b[{';'.join(parameters)}m"


def _hyperlink(before: Any, after: Any) -> str:
    if (before.hyperlink, before.hyperlink_id) == (after.hyperlink, after.hyperlink_id):
        return ""
    identity = f"id={after.hyperlink_id}" if after.hyperlink_id else ""
    return f"\x1b]8;{identity};{after.hyperlink or ''}\x1b\\"


def _tab_stops(board: Any) -> str:
    stops = board.cursor.tab_stops
    if stops == set(range(8, board.width, 8)):
        return ""
    return "\x1b[3g" + "".join(f"\x1b[{stop + 1}G\x1bH" for stop in sorted(stops)) + "\r"


def _palette(board: Any) -> str:
    palette = board.palette
    names = (("foreground", 10), ("background", 11), ("cursor", 12))
    changed = [
        f"4;{index};{_color(now)}"
        for index, (now, then) in enumerate(zip(palette.colors, palette._default_colors, strict=True))  # noqa: SLF001
        if now != then
    ]
    defaults = board.model.palette
    changed += [
        f"{number};{_color(getattr(palette, name))}"
        for name, number in names
        if getattr(palette, name) != getattr(defaults, name)
    ]
    return "".join(f"\x1b]{change}\x1b\\" for change in changed)


def _color(rgb: tuple[int, int, int]) -> str:
    return "rgb:" + "/".join(f"{value:02x}" for value in rgb)


def _saved(board: Any, *, alternate: bool) -> str:
    """The cursor saved on a screen (DECSC)."""
    saved = board.cursor.saved[alternate]
    unsaved = type(saved)()
    if saved == unsaved:
        return ""
    pen = _Pen()
    place = f"\x1b[{saved.y + 1};{saved.x + 1}H"
    written = _charsets(saved.charsets) + pen.change(saved.style) + place + "\x1b7"
    return written + pen.change(_PLAIN) + _charsets(unsaved.charsets)


def _charsets(charsets: tuple[int, int, Sequence[str]]) -> str:
    shift, _, designated = charsets
    known = [designation if designation in ("B", "0", "A") else "B" for designation in designated]
    return "".join(f"\x1b{_DESIGNATIONS[i]}{known[i]}" for i in range(4)) + _SHIFTS[shift]


def _keyboard(board: Any, *, alternate: bool) -> str:
    flags = board.keyboard._kitty[alternate].flags  # noqa: SLF001
    return f"\x1b[={flags}u" if flags else ""


def _margins(board: Any) -> str:
    blitter = board.blitter
    written = ""
    if board.modes.left_right_margin_mode:
        written += f"\x1b[?69h\x1b[{blitter.left_margin + 1};{blitter.right_margin + 1}s"
    if (blitter.scroll_top, blitter.scroll_bottom) != (0, blitter.rows - 1):
        written += f"\x1b[{blitter.scroll_top + 1};{blitter.scroll_bottom + 1}r"
    return written


def _modes(board: Any) -> Iterator[str]:
    for attribute, at_reset, sequence in _MODES:
        if getattr(board.modes, attribute) != at_reset:
            yield sequence
    # Terminals differ in what this is at the beginning.
    yield "\x1b[?1007h" if board.modes.alternate_scroll_mode else "\x1b[?1007l"
    for selected in (board.mouse.protocol.value, board.mouse.encoding.value):
        if number := _MOUSE.get(selected):
            yield f"\x1b[?{number}h"
    yield "\x1b=" if board.modes.application_keypad else ""
    if board.keyboard.modify_keys[4]:
        yield f"\x1b[>4;{board.keyboard.modify_keys[4]}m"
    shape = _SHAPES[board.cursor.shape] + (not board.modes.cursor_blinking)
    yield f"\x1b[{shape} q"


def _cursor(board: Any) -> str:
    """The cursor, with how it writes; printing the last character again is what leaves a wrap pending."""
    cursor, blitter, style = board.cursor, board.blitter, board.style.current
    x, y = cursor.display_x, cursor.y
    pen = _Pen()
    written, top, left, is_inside = "", 0, 0, True
    if board.modes.origin_mode:
        written, top, left = "\x1b[?6h", blitter.scroll_top, blitter.left_margin
        # A cursor that was outside of the margins before cannot be put there again.
        is_inside = top <= y <= blitter.scroll_bottom and left <= x <= blitter.right_margin
    if cursor.wrap_pending and is_inside:
        head = blitter.current_page.owner_x(x, y)
        last = "".join(pen.write([blitter.current_page.grid[y][head]]))
        written += f"\x1b[{y - top + 1};{head - left + 1}H{last}"
    else:
        written += f"\x1b[{max(0, y - top) + 1};{max(0, x - left) + 1}H"
    return written + pen.change(style) + _charsets(board.charset.save())
