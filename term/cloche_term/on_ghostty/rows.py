"""A row of cells as runs of styled text, the fast way.

A row's cells come in one call as 64-bit words. A run ends where the bits of style and link change, so a style is
fetched once a run, and the text of a cell only where it is more than one code point. Nothing here is asked of the
library cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloche_term.on_ghostty.library import (
    CODEPOINT_MASK,
    CONTENT_MASK,
    CONTENT_SHIFT,
    LINK_MASK,
    LINK_SHIFT,
    NULL,
    STYLE_MASK,
    STYLE_SHIFT,
    TAG_MASK,
    TAG_SHIFT,
    WIDE_MASK,
    WIDE_SHIFT,
    check,
    ffi,
    lib,
    new,
    sized,
)
from cloche_term.terminal import PLAIN, Color, Run, Style, Underline

MOST_GRAPHEME_BYTES = 256
"""What one cell may hold: a base character and what combines with it; beyond, the base alone."""
_MOST_STYLES = 4096
"""A guest may invent any number of styles; then the table of known ones is begun anew."""

_STYLE_BITS = (STYLE_MASK << STYLE_SHIFT) | (LINK_MASK << LINK_SHIFT)
_UNUSUAL_BITS = (TAG_MASK << TAG_SHIFT) | (WIDE_MASK << WIDE_SHIFT)
_COLORED = 1 << 64
"""A color and no style: bits that no style could have."""
_COLOR_BITS = (TAG_MASK << TAG_SHIFT) | (CONTENT_MASK << CONTENT_SHIFT)

_WORD_BYTES = 8
_SPACE = 0x20
_GRAPHEME = lib.GHOSTTY_CELL_CONTENT_CODEPOINT_GRAPHEME
_PALETTE = lib.GHOSTTY_CELL_CONTENT_BG_COLOR_PALETTE
_TAIL = lib.GHOSTTY_CELL_WIDE_SPACER_TAIL
_WIDE = lib.GHOSTTY_CELL_WIDE_WIDE
_FILLER = lib.GHOSTTY_CELL_WIDE_SPACER_HEAD
_CONTROLS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")
_UNDERLINES = {underline.value: underline for underline in Underline}


def joined(characters: Iterable[str]) -> str:
    """Text to show: what would be a control to who shows it (the library puts DEL and C1 in cells) is a blank."""
    text = "".join(characters)
    return text if text.isprintable() else text.translate(_CONTROLS)


def color_of(color: Any) -> Color:
    """A `GhosttyStyleColor`."""
    if color.tag == lib.GHOSTTY_STYLE_COLOR_PALETTE:
        return int(color.value.palette)
    if color.tag == lib.GHOSTTY_STYLE_COLOR_RGB:
        rgb = color.value.rgb
        return (rgb.r, rgb.g, rgb.b)
    return None


class RowReader:
    """Reads rows from a render state's iterator. `close` gives back its native parts."""

    def __init__(self) -> None:
        self._cells = new("GhosttyRenderStateRowCells*")
        check(lib.ghostty_render_state_row_cells_new(NULL, self._cells), "making cells")
        self._words = new("GhosttyCellsView*")
        self._style = sized("GhosttyStyle")
        self._style_bytes = ffi.buffer(self._style)
        self._grapheme_bytes = new("uint8_t[]", MOST_GRAPHEME_BYTES)
        self._grapheme = new("GhosttyBuffer*")
        self._grapheme.ptr = self._grapheme_bytes
        self._grapheme.cap = MOST_GRAPHEME_BYTES
        self.has_filler = False
        """Whether the row last read ends in a blank where a wide character had no room."""
        self.begins_wide = False
        """Whether the row last read begins with a wide character."""
        self._styles: dict[tuple[bytes, bool], Style] = {}

    def close(self) -> None:
        """Gives back the cells."""
        lib.ghostty_render_state_row_cells_free(self._cells[0])

    def read(self, iterator: Any) -> tuple[Run, ...]:
        """The runs of the row the iterator stands on; they cover all its cells."""
        words, cols = self._load(iterator)
        used = len(words)
        runs: list[Run] = []
        characters: list[str] = []
        begins, bits, style = 0, 0, PLAIN
        # The hot loop: a plain narrow character of the run's own style costs a mask, a comparison and an append.
        for x, word in enumerate(words):
            its_bits = word & _STYLE_BITS
            if word & _UNUSUAL_BITS:
                if (word >> WIDE_SHIFT) & WIDE_MASK == _TAIL and x and _is_wide(words[x - 1]):
                    continue  # the wide character before it covers this cell
                if (word >> TAG_SHIFT) & TAG_MASK >= _PALETTE:
                    its_bits = word & _COLOR_BITS | _COLORED
                character = self._unusual(word, x)
            else:
                character = chr((word >> CONTENT_SHIFT) & CODEPOINT_MASK or _SPACE)
            if its_bits != bits:
                bits, its_style = its_bits, self._style_at(word, x, its_bits)
                if its_style != style:  # a blank with a style and one with a color alone look the same
                    if characters:
                        runs.append(Run(joined(characters), style, x - begins))
                        characters = []
                    begins, style = x, its_style
            characters.append(character)
        if style == PLAIN:
            characters.append(" " * (cols - used))
            used = cols
        if characters:
            runs.append(Run(joined(characters), style, used - begins))
        if used < cols:
            runs.append(Run(" " * (cols - used), PLAIN, cols - used))
        return tuple(runs)

    def _load(self, iterator: Any) -> tuple[list[int], int]:
        """The row's cells up to the last one that is not blank, and how many there are in all."""
        code = lib.ghostty_render_state_row_get(
            iterator, lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW, self._words
        )
        check(code, "reading a row")
        lib.ghostty_render_state_row_get(iterator, lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS, self._cells)
        raw = bytes(ffi.buffer(self._words.ptr, self._words.len * _WORD_BYTES))
        cols = self._words.len
        # Cells nobody has written are zero: most of most rows is skipped at once.
        used = -(-len(raw.rstrip(b"\0")) // _WORD_BYTES)
        words = memoryview(raw).cast("Q")[:used].tolist()
        self.has_filler = used == cols and (words[-1] >> WIDE_SHIFT) & WIDE_MASK == _FILLER
        self.begins_wide = used > 0 and _is_wide(words[0]) and _codepoint(words[0]) > _SPACE
        return words, cols

    def _unusual(self, word: int, x: int) -> str:
        """The text of a cell that is wide, combined of several code points, or only coloured."""
        tag = (word >> TAG_SHIFT) & TAG_MASK
        if tag >= _PALETTE:
            return " "
        codepoint = _codepoint(word)
        if codepoint <= _SPACE and _is_wide(word):
            return "  "  # a character set has made a blank of a wide character
        if tag == _GRAPHEME:
            lib.ghostty_render_state_row_cells_select(self._cells[0], x)
            code = lib.ghostty_render_state_row_cells_get(
                self._cells[0], lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_UTF8, self._grapheme
            )
            if code == lib.GHOSTTY_SUCCESS:
                return bytes(ffi.buffer(self._grapheme_bytes, self._grapheme.len)).decode(errors="replace")
        return chr(codepoint or _SPACE)

    def _style_at(self, word: int, x: int, bits: int) -> Style:
        """The style of the run that begins with this cell."""
        if not bits:
            return PLAIN
        tag = (word >> TAG_SHIFT) & TAG_MASK
        if tag >= _PALETTE:
            content = (word >> CONTENT_SHIFT) & CONTENT_MASK
            if tag == _PALETTE:
                return Style(background=content & 0xFF)
            return Style(background=(content & 0xFF, (content >> 8) & 0xFF, (content >> 16) & 0xFF))
        lib.ghostty_render_state_row_cells_select(self._cells[0], x)
        code = lib.ghostty_render_state_row_cells_get(
            self._cells[0], lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE, self._style
        )
        check(code, "reading a style")
        key = (bytes(self._style_bytes), bool((word >> LINK_SHIFT) & LINK_MASK))
        known = self._styles.get(key)
        if known is None:
            if len(self._styles) >= _MOST_STYLES:
                self._styles.clear()
            known = self._styles[key] = _made_style(self._style, is_link=key[1])
        return known


def _codepoint(word: int) -> int:
    return int((word >> CONTENT_SHIFT) & CODEPOINT_MASK)


def _is_wide(word: int) -> bool:
    return bool((word >> WIDE_SHIFT) & WIDE_MASK == _WIDE)


def _made_style(style: Any, *, is_link: bool) -> Style:
    return Style(
        foreground=color_of(style.fg_color),
        background=color_of(style.bg_color),
        underline_color=color_of(style.underline_color),
        is_bold=bool(style.bold),
        is_faint=bool(style.faint),
        is_italic=bool(style.italic),
        is_blinking=bool(style.blink),
        is_inverse=bool(style.inverse),
        is_invisible=bool(style.invisible),
        is_struck=bool(style.strikethrough),
        is_overlined=bool(style.overline),
        underline=_UNDERLINES.get(style.underline, Underline.SINGLE),
        is_link=is_link,
    )
