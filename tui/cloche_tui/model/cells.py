"""Which characters of a line stand in which of its cells. Pure.

A terminal says how many cells a run of text covers, not which character covers which. Most are one cell each; a wide one
takes two, what combines with the one before takes none, and emoji that are joined may take two together or each.

Rule: glyphs cover exactly the cells that were said, in order and without gaps.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

_JOINER, _EMOJI_FORM = "\u200d", "\ufe0f"
_REGIONS = range(0x1F1E6, 0x1F200)
"""Letters of which two are a flag."""
_TONES = range(0x1F3FB, 0x1F400)
_PLAIN = re.compile("[\x20-\x7e]*")


class Glyph(NamedTuple):
    """What a person sees as one character."""

    text: str
    col: int
    """The first cell it covers."""
    cells: int


class Told(Protocol):
    """A run as a terminal tells it."""

    @property
    def text(self) -> str: ...
    @property
    def cells(self) -> int: ...


def glyphs_of(runs: Iterable[Told]) -> tuple[Glyph, ...]:
    """The glyphs of a row."""
    glyphs: list[Glyph] = []
    col = 0
    for run in runs:
        glyphs += glyphs_in(run.text, run.cells, col)
        col += run.cells
    return tuple(glyphs)


@lru_cache(maxsize=4096)
def glyphs_in(text: str, cells: int | None = None, col: int = 0) -> tuple[Glyph, ...]:
    """The glyphs of a text.

    Args:
        text: without control characters.
        cells: how many it covers; None: as many as its characters usually do.
        col: the first one.
    """
    if cells in (None, len(text)) and _PLAIN.fullmatch(text):
        return tuple(Glyph(character, col + at, 1) for at, character in enumerate(text))
    single = _clusters(text, joins=False)
    if cells is None or sum(width for _, width in single) == cells:
        return _placed(single, col)
    joined = _clusters(text, joins=True)
    if sum(width for _, width in joined) == cells:
        return _placed(joined, col)
    return _placed(_forced(single, cells), col)


def width_of(text: str) -> int:
    """How many cells a text usually covers."""
    return len(text) if text.isascii() else sum(width for _, width in _clusters(text, joins=False))


def cut_cells(text: str, cells: int, first: int, last: int) -> str:
    """The part of a text of so many cells that is in cells `first` to `last` (not included); half a glyph is blank."""
    if first <= 0 and last >= cells:
        return text
    if len(text) == cells and text.isascii():
        return text[first:last]
    kept = ""
    for glyph in glyphs_in(text, cells):
        end = glyph.col + glyph.cells
        if first <= glyph.col and end <= last:
            kept += glyph.text
        else:
            kept += " " * max(min(end, last) - max(glyph.col, first), 0)
    return kept


def glyph_at(glyphs: Sequence[Glyph], col: int) -> Glyph | None:
    """The glyph that covers a cell, if any does."""
    return next((glyph for glyph in glyphs if glyph.col <= col < glyph.col + glyph.cells), None)


def _placed(clusters: Iterable[tuple[str, int]], col: int) -> tuple[Glyph, ...]:
    placed = []
    for text, width in clusters:
        if not width:
            # There is nothing before it to combine with.
            continue
        placed.append(Glyph(text, col, width))
        col += width
    return tuple(placed)


def _clusters(text: str, *, joins: bool) -> list[tuple[str, int]]:
    """Characters with what combines with them, and how many cells each takes.

    Args:
        text: any.
        joins: whether emoji that are joined take the place of one.
    """
    clusters: list[tuple[str, int]] = []
    for character in text:
        width = _places(character)
        before, before_width = clusters[-1] if clusters else ("", 0)
        if before and (width == 0 or (joins and _goes_on(before, character))):
            is_emoji = joins and (character == _EMOJI_FORM or ord(character) in _REGIONS)
            clusters[-1] = before + character, 2 if is_emoji else max(before_width, joins * width)
        else:
            clusters.append((character, width))
    return clusters


def _goes_on(before: str, character: str) -> bool:
    is_flag = len(before) == 1 and ord(before) in _REGIONS and ord(character) in _REGIONS
    return before.endswith(_JOINER) or is_flag or ord(character) in _TONES


def _forced(clusters: Sequence[tuple[str, int]], cells: int) -> list[tuple[str, int]]:
    """The clusters in exactly so many cells: the last ones give way, or have blanks behind them."""
    forced, room = list[tuple[str, int]](), cells
    for text, width in clusters:
        if width > room:
            break
        forced.append((text, width))
        room -= width
    return [*forced, *[(" ", 1)] * room]


@lru_cache(maxsize=4096)
def _places(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
