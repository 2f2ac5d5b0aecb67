"""What is put back in a terminal."""

from __future__ import annotations

from cloche.cli.viewing.modes import KeyboardFlags, Modes

ALWAYS = b"\x1b7\x1b[r\x1b8\x1b[0m\x1b[10m\x1b>\x0f\x1b(B\x1b)B"


def _after(*switched: tuple[str, bool]) -> Modes:
    modes = Modes()
    for mode, is_on in switched:
        modes.switch(mode, is_on=is_on)
    return modes


def test_what_is_always_put_back_costs_nothing_to_watch() -> None:
    assert Modes().undo() == ALWAYS


def test_what_is_on_is_switched_off_and_what_is_off_on() -> None:
    modes = _after(("?2004", True), ("?25", False), ("?7", False), ("?7", True), ("4", True), ("?5", False))
    assert modes.undo() == b"\x1b[?2004l\x1b[4l\x1b[?25h" + ALWAYS
    assert modes.undo() == ALWAYS


def test_any_of_the_other_screens_leaves_what_any_of_them_entered() -> None:
    assert _after(("?1049", True)).is_alternate
    modes = _after(("?1049", True), ("?47", False))
    assert not modes.is_alternate
    assert modes.undo() == ALWAYS


def test_a_terminal_that_types_by_itself_is_known() -> None:
    assert _after(("?1003", True)).is_reporting
    assert _after(("?1004", True)).is_reporting
    assert not _after(("?1003", True), ("?1003", False), ("?2004", True)).is_reporting


def test_a_terminal_that_holds_back_is_known() -> None:
    assert _after(("?2026", True)).is_held
    assert not _after(("?2026", True), ("?2026", False)).is_held


def test_colours_links_shape_keys_and_title_are_put_back() -> None:
    modes = Modes(has_link=True, has_shape=True, has_long_keys=True, has_title=True)
    modes.colours |= {"111", "104"}
    expected = (
        b"\x1b]104\x1b\\\x1b]111\x1b\\\x1b]8;;\x1b\\\x1b[0 q\x1b[>4m\x1b[23;0t"  # as they come in `undo`
    )
    assert modes.undo() == expected + ALWAYS
    assert modes.undo() == ALWAYS


def test_the_title_may_stay_for_later() -> None:
    modes = Modes(has_title=True)
    assert modes.undo(title=False) == ALWAYS
    assert modes.undo() == b"\x1b[23;0t" + ALWAYS


def test_a_keyboard_s_modes_take_one_entry_of_the_terminal_however_many_a_program_has() -> None:
    keyboard = KeyboardFlags()
    told = [keyboard.push(1), keyboard.push(3), keyboard.push(3), keyboard.pop(2), keyboard.pop(1)]
    assert told == ["\x1b[>1u", "\x1b[=3;1u", "", "\x1b[=1;1u", "\x1b[<u"]
    assert [keyboard.pop(99), keyboard.pop(1), keyboard.switch(0)] == ["", "", ""]


def test_of_keyboard_modes_no_more_are_kept_than_terminals_keep() -> None:
    keyboard = KeyboardFlags()
    for number in range(100_000):
        keyboard.push(number)
    assert len(keyboard._stack) <= 16
    assert keyboard.flags < 32
    assert keyboard.pop(999_999_999) == "\x1b[<u"


def test_each_screen_has_a_keyboard_of_its_own_and_both_are_put_back() -> None:
    modes = Modes()
    modes.keyboard.push(1)
    modes.switch("?1049", is_on=True)
    assert modes.keyboard.flags == 0
    modes.keyboard.push(5)
    assert modes.undo() == b"\x1b[<u\x1b[?1049l\x1b[<u" + ALWAYS


def test_the_other_screen_s_keyboard_is_put_back_also_when_it_is_not_shown() -> None:
    modes = _after(("?1049", True))
    modes.keyboard.push(5)
    modes.switch("?1049", is_on=False)
    assert modes.undo() == b"\x1b[?1049h\x1b[<u\x1b[?1049l" + ALWAYS
