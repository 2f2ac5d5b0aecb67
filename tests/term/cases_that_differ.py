"""Where an emulator shows something else than a case says: what it shows instead, asserted, so that a fix is noticed.

`term/README.md` tells people the same; a test holds that it names each of these cases.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.term.cases import Shown

DIFFERENCES: Mapping[tuple[str, str], Shown] = {
    ("ghostty", "DECSTR shows the cursor, stops inserting and leaves the text"): Shown(
        text=("xaaaaa", "bbbbb", "ccccc", "ddddd"), cursor_is_visible=False
    ),
    ("ghostty", "DEL shows nothing"): Shown(text=("a b",)),
    ("ghostty", "titles are pushed and popped (XTWINOPS 22, 23)"): Shown(title="two"),
    (
        "bittty",
        "an emoji of several joined ones takes the cells of all of them where clusters are not asked for",
    ): Shown(cursor=(0, 3)),
    ("bittty", "an ESC sequence with intermediates that nobody knows shows nothing"): Shown(text=("aBbZc",)),
    ("bittty", "a control character after an ESC acts at once, and the sequence goes on"): Shown(
        text=("cb7",)
    ),
}
