"""Text that is copied from a terminal, also from lines that are not in the view."""

from __future__ import annotations

from cloche_term.apart.terminals import ApartTerminal, Terminals
from cloche_tui.model.picture import Picture
from cloche_tui.model.selection import Bounds, Place
from cloche_tui.widgets.terminal_copying import copied_text


async def shown(
    terminals: Terminals, data: str, *, rows: int = 3, scrollback: int = 100
) -> tuple[ApartTerminal, Picture]:
    terminal, picture = await terminals.open(rows, 10, scrollback_lines=scrollback), Picture()
    await terminal.feed(data.encode())
    picture.apply(await terminal.paint())
    return terminal, picture


async def test_lines_above_the_view_are_copied_too(terminals: Terminals) -> None:
    terminal, picture = await shown(terminals, "\r\n".join(f"line {number}" for number in range(6)))
    assert picture.view_line == 3
    assert await copied_text(terminal, picture, Bounds(Place(1, 5), Place(4, 4))) == "1\nline 2\nline 3\nline"


async def test_without_a_selection_the_view_is_copied_without_its_empty_end(terminals: Terminals) -> None:
    terminal, picture = await shown(terminals, "one\r\ntwo")
    assert await copied_text(terminal, picture, None) == "one\ntwo"


async def test_what_was_wrapped_is_one_line_unless_a_program_has_painted_it(terminals: Terminals) -> None:
    terminal, picture = await shown(terminals, "0123456789abc")
    assert await copied_text(terminal, picture, None) == "0123456789abc"
    terminal, picture = await shown(terminals, "\x1b[?1049h0123456789\r\nabc")
    assert await copied_text(terminal, picture, None) == "0123456789\nabc"


async def test_what_is_not_kept_any_more_is_left_out(terminals: Terminals) -> None:
    terminal, picture = await shown(
        terminals, "".join(f"{number}\r\n" for number in range(50_000)), scrollback=1
    )
    assert picture.oldest_line > 2
    text = await copied_text(terminal, picture, Bounds(Place(0, 0), Place(picture.view_line, 9)))
    assert text.splitlines()[0] == str(picture.oldest_line)
    assert await copied_text(terminal, picture, Bounds(Place(0, 0), Place(1, 5))) == ""


async def test_a_wide_character_is_copied_by_either_half(terminals: Terminals) -> None:
    terminal, picture = await shown(terminals, "a日b")
    assert await copied_text(terminal, picture, Bounds(Place(0, 1), Place(0, 3))) == "日"
