"""What `until` finds: screens of a real terminal, written to as programs do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from cloche.screen_search import Old, not_shown, pattern_of, search
from cloche.screens import Cursor, Screen
from cloche_term import Terminal, open_terminal

PROMPT = "user$ "


class Shown:
    """A terminal that programs write to, and who waits for what it shows."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.old = Old()

    def writes(self, text: str) -> None:
        self.terminal.feed(text.replace("\n", "\r\n").encode())

    @property
    def screen(self) -> Screen:
        terminal, cursor = self.terminal, self.terminal.cursor
        return Screen(
            terminal.rows, terminal.cols, terminal.text(), Cursor(cursor.row, cursor.col, cursor.is_visible),
            terminal.title, terminal.modes.is_alternate, terminal.first_line, 0, "open",
        )  # fmt: skip

    def finds(self, wanted: str | re.Pattern[str]) -> tuple[int, str] | None:
        """The line in which what was found begins, and the rest of that line; None if it is not found."""
        found = search(self.old, pattern_of(wanted), self.screen)
        if found is None:
            return None
        match, self.old = found
        row = match.string.count("\n", 0, match.start())
        return self.screen.first_line + row, match.string[match.start() :].split("\n")[0]


@pytest.fixture
def shown() -> Iterator[Shown]:
    terminal = open_terminal(5, 40)
    yield Shown(terminal)
    terminal.close()


# Shells.


def test_a_prompt_has_its_blank_though_nobody_sees_it(shown: Shown) -> None:
    assert shown.finds(PROMPT) is None
    shown.writes(PROMPT)
    assert shown.finds(PROMPT) == (0, PROMPT)


def test_a_prompt_that_was_found_is_not_found_again_and_the_next_one_is(shown: Shown) -> None:
    shown.writes(PROMPT)
    assert shown.finds("$ ") == (0, "$ ")
    for written in ("", "ls", "\n", "a  b\n"):
        shown.writes(written)
        assert shown.finds("$ ") is None
        assert shown.finds(re.compile(r"user\$ ?")) is None
    shown.writes(PROMPT)
    assert shown.finds("$ ") == (2, "$ ")


def test_a_prompt_at_which_nothing_was_typed_stays_old_though_its_blank_is_gone(shown: Shown) -> None:
    shown.writes(PROMPT)
    shown.finds(PROMPT)
    shown.writes("\n")
    assert shown.finds(re.compile(r"user\$")) is None


def test_prompts_that_came_together_are_found_one_after_another(shown: Shown) -> None:
    shown.writes(f"{PROMPT}a\n{PROMPT}b\n{PROMPT}")
    assert [shown.finds("$ ") for _ in range(4)] == [(0, "$ a"), (1, "$ b"), (2, "$ "), None]


def test_of_prompts_that_were_passed_over_the_blank_is_gone(shown: Shown) -> None:
    shown.writes(f"{PROMPT}\n{PROMPT}")
    assert [shown.finds(PROMPT) for _ in range(2)] == [(1, PROMPT), None]


def test_before_anything_was_found_all_that_stands_there_counts(shown: Shown) -> None:
    shown.writes(f"{PROMPT}make\nok\n{PROMPT}")
    assert shown.finds("make") == (0, "make")


def test_what_is_typed_is_shown_and_found(shown: Shown) -> None:
    shown.writes(PROMPT)
    shown.finds(PROMPT)
    shown.writes("echo hi\nhi\n")
    assert shown.finds("hi") == (0, "hi")
    assert shown.finds("hi") == (1, "hi")
    assert shown.finds("hi") is None


def test_the_place_goes_along_as_the_screen_scrolls(shown: Shown) -> None:
    shown.writes(PROMPT)
    shown.finds(PROMPT)
    shown.writes("seq 3\n1\n2\n3\n")
    assert shown.finds(PROMPT) is None
    shown.writes(PROMPT)
    assert shown.finds(PROMPT) == (4, PROMPT)
    shown.writes("\n\n")
    assert shown.screen.first_line == 2
    assert shown.finds(PROMPT) is None
    shown.writes("".join(f"{number}\n" for number in range(100)) + PROMPT)
    assert shown.finds(PROMPT) == (106, PROMPT)


def test_what_has_scrolled_off_is_not_found(shown: Shown) -> None:
    shown.writes("".join(f"line {number}\n" for number in range(100)))
    assert shown.finds("line 7\n") is None
    assert shown.finds("line 97\n") == (97, "line 97")


def test_a_cleared_screen_is_new_also_where_it_reads_as_before(shown: Shown) -> None:
    shown.writes(f"{PROMPT}\n{PROMPT}\n{PROMPT}")
    while shown.finds("$"):
        pass
    shown.writes(f"clear\n\x1b[H\x1b[2J{PROMPT}")
    assert shown.finds(PROMPT) == (0, PROMPT)


def test_a_cleared_screen_that_is_full_again_is_new_where_it_reads_otherwise(shown: Shown) -> None:
    shown.writes(f"a\nb\nc\n{PROMPT}")
    shown.finds(PROMPT)
    shown.writes(f"x\n\x1b[H\x1b[2J{PROMPT}d\ne\nf\n{PROMPT}")
    assert shown.finds("$ ") == (0, "$ d")


def test_numbers_that_begin_anew_make_all_new(shown: Shown) -> None:
    shown.writes("\n" * 20 + PROMPT)
    assert shown.finds(PROMPT) == (20, PROMPT)
    terminal = open_terminal(5, 40)
    shown.terminal.close()
    shown.terminal = terminal
    shown.writes(PROMPT)
    assert shown.finds(PROMPT) == (0, PROMPT)


# REPLs, progress, menus.


def test_a_line_that_is_written_over_is_new(shown: Shown) -> None:
    shown.writes("start\n 10 %")
    assert shown.finds("10 %") == (1, "10 %")
    shown.writes("\r 20 %")
    assert shown.finds("start") is None
    assert shown.finds("20 %") == (1, "20 %")


def test_a_prompt_that_is_drawn_again_as_it_was_stays_old(shown: Shown) -> None:
    shown.writes(">>> ")
    shown.finds(">>> ")
    shown.writes("pri\r\x1b[K>>> print(1)")
    assert shown.finds(">>> ") is None
    shown.writes("\n1\n>>> ")
    assert shown.finds(">>> ") == (2, ">>> ")


def test_a_menu_that_is_redrawn_in_place_is_found_where_it_has_changed(shown: Shown) -> None:
    shown.writes("pick\n> a\n  b\n  c\n")
    assert shown.finds("> a") == (1, "> a")
    shown.writes("\x1b[3A  a\n> b\n\n")
    assert shown.finds("> b") == (2, "> b")
    shown.writes("\x1b[3A> a\n  b\n\n")
    assert shown.finds("> a") == (1, "> a")


def test_a_change_above_makes_nothing_below_it_new(shown: Shown) -> None:
    shown.writes(f"12:00\n{PROMPT}")
    assert shown.finds(PROMPT) == (1, PROMPT)
    shown.writes("\x1b7\x1b[H12:01\x1b8")
    assert shown.finds(PROMPT) is None
    assert shown.finds("12:01") == (0, "12:01")
    assert shown.finds(PROMPT) is None


def test_what_is_old_between_two_changes_is_passed_over(shown: Shown) -> None:
    shown.writes("1\n2\nx\n")
    shown.finds("x")
    shown.writes("\x1b[H3\x1b[2H4\x1b[4Hend x")
    assert shown.finds("x") == (3, "x")


def test_a_match_may_go_over_rows_and_begins_in_what_is_new(shown: Shown) -> None:
    shown.writes("a\nb\nc")
    assert shown.finds(re.compile("b\nc")) == (1, "b")
    shown.writes("d\nb\nc")
    assert shown.finds(re.compile("b\nc")) == (3, "b")
    assert shown.finds(re.compile("c$")) is None


def test_what_follows_a_match_in_its_row_begins_there_also_with_the_line_feed(shown: Shown) -> None:
    shown.writes("ready\ngo")
    shown.finds("ready")
    assert shown.finds(re.compile(r"\ngo")) is not None


def test_wide_and_combined_characters_before_the_cursor_take_their_columns(shown: Shown) -> None:
    shown.writes("日本e\u0301$ ")
    assert shown.finds("$ ") == (0, "$ ")
    assert shown.finds("$ ") is None


# Full-screen programs.


def test_on_the_alternate_screen_everything_counts_and_the_place_on_the_other_one_stays(shown: Shown) -> None:
    shown.writes(PROMPT)
    shown.finds(PROMPT)
    shown.writes("vi\n\x1b[?1049h\x1b[H~ \x1b[H")
    assert [shown.finds("~") for _ in range(2)] == [(0, "~")] * 2
    assert shown.finds("-- INSERT --") is None
    shown.writes("\x1b[?1049l")
    assert shown.finds(PROMPT) is None
    shown.writes(PROMPT)
    assert shown.finds(PROMPT) == (1, PROMPT)


# Another size.


def test_another_size_leaves_old_what_stays_in_its_row(shown: Shown) -> None:
    shown.writes(f"a\n{PROMPT}")
    shown.finds(PROMPT)
    for rows, cols in ((3, 20), (30, 100)):
        shown.terminal.resize(rows, cols)
        assert shown.finds(PROMPT) is None
    shown.writes(f"\n{PROMPT}")
    assert shown.finds(PROMPT) == (2, PROMPT)


# Patterns and messages.


def test_a_text_is_itself_and_a_pattern_is_what_it_says(shown: Shown) -> None:
    shown.writes("a.b axb")
    assert shown.finds("a.b") == (0, "a.b axb")
    assert shown.finds(re.compile("a.b")) == (0, "axb")


def test_a_screen_without_rows_shows_nothing() -> None:
    bare = Screen(1, 1, (), Cursor(3, 0, True), "", False, 0, 0, "open")
    assert search(Old(), pattern_of("x"), bare) is None


def test_an_empty_text_is_no_wish() -> None:
    with pytest.raises(ValueError, match="empty text"):
        pattern_of("")


def test_an_error_shows_what_was_waited_for_and_the_screen_s_last_rows(shown: Shown) -> None:
    assert not_shown("x", "within 3 s", None) == (
        "the console did not show 'x' within 3 s; its screen has not been told"
    )
    assert not_shown("x", "before it ended", shown.screen).endswith("ends with\n  | (nothing)")
    shown.terminal.resize(20, 300)
    shown.writes("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n\N{NO-BREAK SPACE}" + "a" * 299)
    told = not_shown(re.compile("\n"), "within 3 s", shown.screen).split("\n")
    assert told[0] == r"the console did not show /\n/ within 3 s; its screen ends with"
    assert told[1:-1] == [f"  | {number}" for number in range(1, 10)]
    assert told[-1] == r"  | \xa0" + "a" * 199
