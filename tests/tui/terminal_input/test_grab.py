"""What is typed into a console, byte for byte, however it is read; and the way out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_term.terminal import Modes
from cloche_tui.terminal_input.grab import (
    KEY_WAIT_S,
    MOST_PASTED,
    PASTE_WAIT_S,
    SEQUENCE_WAIT_S,
    ForProgram,
    ForTextual,
    Left,
    Pasted,
    Piece,
    Splitter,
)

# What xterm sends, with nothing switched on.
KEYS = {
    "a": b"a",
    "A": b"A",
    "é": "é".encode(),
    "日": "日".encode(),
    "enter": b"\r",
    "tab": b"\t",
    "shift+tab": b"\x1b[Z",
    "backspace": b"\x7f",
    "ctrl+h": b"\x08",
    "alt+backspace": b"\x1b\x7f",
    "escape": b"\x1b",
    "up": b"\x1b[A",
    "left": b"\x1b[D",
    "ctrl+left": b"\x1b[1;5D",
    "shift+up": b"\x1b[1;2A",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "insert": b"\x1b[2~",
    "ctrl+delete": b"\x1b[3;5~",
    "f1": b"\x1bOP",
    "shift+f3": b"\x1b[1;2R",
    "ctrl+f5": b"\x1b[15;5~",
    "f12": b"\x1b[24~",
    "ctrl+a": b"\x01",
    "ctrl+c": b"\x03",
    "ctrl+z": b"\x1a",
    "ctrl+space": b"\x00",
    "ctrl+\\": b"\x1c",
    "ctrl+_": b"\x1f",
    "alt+x": b"\x1bx",
    "alt+.": b"\x1b.",
    "alt+]": b"\x1b]",
    "alt+P": b"\x1bP",
    "alt+é": b"\x1b" + "é".encode(),
    "ctrl+alt+a": b"\x1b\x01",
    "ctrl+alt+]": b"\x1b\x1d",
    "alt+up, as rxvt": b"\x1b\x1b[A",
    "f1, as the Linux console": b"\x1b[[A",
}
REPORTS = {
    "a press of the mouse": b"\x1b[<0;10;20M",
    "a move of the mouse": b"\x1b[<35;10;20M",
    "the mouse, beside the window": b"\x1b[<35;-1;20m",
    "the mouse, as rxvt": b"\x1b[32;10;20M",
    "the mouse, as of old": b"\x1b[M !!",
    "the focus, got": b"\x1b[I",
    "the focus, lost": b"\x1b[O",
    "the size": b"\x1b[48;24;80;480;800t",
    "a mode": b"\x1b[?2026;1$y",
    "the terminal's kind": b"\x1b[?62;c",
    "the keyboard's flags": b"\x1b[?25u",
    "the cursor's place": b"\x1b[24;80R",
    "light or dark": b"\x1b[?997;1n",
}
ANSWERS = {
    "a color": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
    "a color, ended with BEL": b"\x1b]10;rgb:0000/0000/0000\x07",
    "a setting": b"\x1bP1$r0 q\x1b\\",
    "a version": b"\x1bP>|XTerm(380)\x1b\\",
}


def typed(pieces: list[Piece]) -> bytes:
    """What the program gets of these pieces."""
    return b"".join(piece.data for piece in pieces if isinstance(piece, ForProgram))


def told(pieces: list[Piece]) -> bytes:
    """What Textual gets of these pieces."""
    return b"".join(piece.data for piece in pieces if isinstance(piece, ForTextual))


def read_in_pieces(data: bytes, cuts: list[int]) -> tuple[bytes, bytes]:
    """What program and Textual get of data that is read in pieces, all within a moment."""
    splitter, pieces, at = Splitter(), list[Piece](), 0
    for end in [*sorted(cuts), len(data)]:
        pieces += splitter.split(data[at:end], 0.0, is_cut=end < len(data))
        at = end
    return typed(pieces), told(pieces)


class TestKeys:
    """A key is the program's, unchanged and at once."""

    @pytest.mark.parametrize("name", KEYS)
    def test_a_key_is_the_programs_byte_for_byte(self, name: str) -> None:
        splitter = Splitter()
        assert splitter.split(KEYS[name], 0.0) == [ForProgram(KEYS[name])]
        assert splitter.deadline is None

    def test_all_keys_in_one_read_are_the_programs(self) -> None:
        everything = b"".join(KEYS.values())
        assert Splitter().split(everything + b"q", 0.0) == [ForProgram(everything + b"q")]

    @given(
        st.lists(st.sampled_from([*KEYS.values()]), max_size=12), st.lists(st.integers(0, 100), max_size=4)
    )
    def test_keys_come_out_whole_and_in_order_wherever_a_read_ends(
        self, keys: list[bytes], cuts: list[int]
    ) -> None:
        # The letter behind, so that nothing is held back.
        data = b"".join(keys) + b"q"
        assert read_in_pieces(data, [cut for cut in cuts if cut < len(data)]) == (data, b"")

    @given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
    def test_no_bytes_whatever_are_too_much_for_it(self, data: bytes, cuts: list[int]) -> None:
        splitter, at = Splitter(), 0
        for end in [*sorted(cuts), len(data)]:
            splitter.split(data[at:end], 0.0)
            at = max(at, end)
        splitter.time_is_up(10.0)
        assert splitter.time_is_up(20.0) == []

    @pytest.mark.parametrize("key", [b"\x1b[", b"\x1bO", b"\x1b\x1b"])
    def test_what_may_be_a_key_or_the_beginning_of_one_waits_for_a_moment(self, key: bytes) -> None:
        splitter = Splitter()
        assert splitter.split(key, 1.0) == []
        assert splitter.deadline == 1.0 + KEY_WAIT_S
        assert splitter.time_is_up(1.0) == []
        assert splitter.time_is_up(1.0 + KEY_WAIT_S) == [ForProgram(key)]
        assert splitter.deadline is None

    def test_half_a_key_is_passed_on_when_the_rest_does_not_come(self) -> None:
        splitter = Splitter()
        assert splitter.split(b"\x1b[1;5", 0.0) == []
        assert splitter.time_is_up(SEQUENCE_WAIT_S) == [ForProgram(b"\x1b[1;5")]

    def test_what_was_held_back_too_long_makes_nothing_of_what_is_typed_next(self) -> None:
        splitter = Splitter()
        splitter.split(b"\x1b[", 0.0)
        assert splitter.split(b"I", 1.0) == [ForProgram(b"\x1b[I")]

    def test_a_character_cut_in_two_is_passed_on_as_it_comes(self) -> None:
        splitter = Splitter()
        assert splitter.split(b"\xe6\x97", 0.0) == [ForProgram(b"\xe6\x97")]
        assert splitter.split(b"\xa5", 0.0) == [ForProgram(b"\xa5")]


class TestReports:
    """What a terminal says by itself is Textual's."""

    @pytest.mark.parametrize("name", REPORTS)
    def test_a_report_is_textuals(self, name: str) -> None:
        assert Splitter().split(REPORTS[name], 0.0) == [ForTextual(REPORTS[name])]

    @pytest.mark.parametrize("name", ANSWERS)
    def test_an_answer_to_nobodys_question_is_nobodys(self, name: str) -> None:
        assert Splitter().split(b"a" + ANSWERS[name] + b"b", 0.0) == [ForProgram(b"ab")]

    @given(
        st.lists(st.sampled_from([*KEYS.values(), *REPORTS.values(), *ANSWERS.values()]), max_size=8),
        st.lists(st.integers(0, 100), max_size=4),
    )
    def test_keys_and_reports_are_told_apart_wherever_a_read_ends(
        self, sent: list[bytes], cuts: list[int]
    ) -> None:
        # A letter behind each key, since Esc and then a report is alt and a letter, or half of another report.
        data = b"".join(
            one if one in REPORTS.values() or one in ANSWERS.values() else one + b"q" for one in sent
        )
        keys = b"".join(one + b"q" for one in sent if one in KEYS.values())
        reports = b"".join(one for one in sent if one in REPORTS.values())
        assert read_in_pieces(data, [cut for cut in cuts if cut < len(data)]) == (keys, reports)

    def test_keys_and_reports_keep_their_order(self) -> None:
        assert Splitter().split(b"a\x1b[<0;1;1Mb\x1b[I", 0.0) == [
            ForProgram(b"a"),
            ForTextual(b"\x1b[<0;1;1M"),
            ForProgram(b"b"),
            ForTextual(b"\x1b[I"),
        ]

    def test_esc_behind_a_report_waits_for_a_moment_since_it_may_begin_the_next_one(self) -> None:
        splitter = Splitter()
        assert splitter.split(b"\x1b[<35;1;1M\x1b", 0.0) == [ForTextual(b"\x1b[<35;1;1M")]
        assert splitter.time_is_up(KEY_WAIT_S) == [ForProgram(b"\x1b")]

    def test_a_report_whose_esc_was_taken_for_the_key_is_not_typed(self) -> None:
        splitter = Splitter()
        assert splitter.split(b"\x1b", 0.0) == [ForProgram(b"\x1b")]
        assert splitter.split(b"[<35;10;20M", 0.001) == [ForTextual(b"\x1b[<35;10;20M")]

    def test_esc_and_later_a_bracket_are_typed(self) -> None:
        splitter = Splitter()
        splitter.split(b"\x1b", 0.0)
        assert splitter.split(b"[<35;10;20M", 1.0) == [ForProgram(b"[<35;10;20M")]

    def test_half_a_report_is_dropped_when_the_rest_does_not_come(self) -> None:
        splitter = Splitter()
        assert splitter.split(b"\x1b[<35;1", 0.0) == []
        assert splitter.time_is_up(SEQUENCE_WAIT_S) == []
        assert splitter.split(b"a", 1.0) == [ForProgram(b"a")]


class TestPastes:
    """A paste is told as one, whatever is in it, and in its place between keys."""

    PASTED = b"one\x1d\x1b[A\x1b[<0;1;1M\x1b[I\xe6\x97\xa5"

    def test_a_paste_is_told_whole_also_the_way_out_in_it(self) -> None:
        assert Splitter().split(b"a\x1b[200~" + self.PASTED + b"\x1b[201~b", 0.0) == [
            ForProgram(b"a"),
            Pasted(self.PASTED),
            ForProgram(b"b"),
        ]

    def test_two_pastes_are_two(self) -> None:
        assert Splitter().split(b"\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~", 0.0) == [
            Pasted(b"a"),
            Pasted(b"b"),
        ]

    @given(st.lists(st.integers(0, 60), max_size=6))
    def test_a_paste_ends_wherever_a_read_ends(self, cuts: list[int]) -> None:
        data, splitter, pieces, at = (
            b"\x1b[200~a\x1b[201\x1b[20\x1d~\x1b[201~b\x1b[I",
            Splitter(),
            list[Piece](),
            0,
        )
        for end in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
            pieces += splitter.split(data[at:end], 0.0, is_cut=end < len(data))
            at = end
        assert pieces == [Pasted(b"a\x1b[201\x1b[20\x1d~"), ForProgram(b"b"), ForTextual(b"\x1b[I")]

    def test_a_paste_whose_end_was_lost_is_over_after_a_silence(self) -> None:
        splitter = Splitter()
        splitter.split(b"\x1b[200~abc", 0.0)
        splitter.split(b"def", 1.0)
        assert splitter.deadline == 1.0 + PASTE_WAIT_S
        assert splitter.time_is_up(PASTE_WAIT_S) == []
        assert splitter.time_is_up(1.0 + PASTE_WAIT_S) == [Pasted(b"abcdef")]
        assert splitter.split(b"\x1d", 4.0) == [Left(b"")]

    def test_a_paste_that_never_ends_does_not_grow_for_ever(self) -> None:
        splitter = Splitter()
        splitter.split(b"\x1b[200~", 0.0)
        piece = b"x" * MOST_PASTED
        assert splitter.split(piece, 0.0) == [Pasted(piece)]
        assert splitter.split(b"rest\x1b[201~a", 0.0) == [Pasted(b"rest"), ForProgram(b"a")]


class TestTheWayOut:
    """ctrl+] gives the keyboard back."""

    @pytest.mark.parametrize(
        "key",
        [
            *(b"\x1d", b"\x1b[93;5u", b"\x1b[93;5:1u", b"\x1b[93:125;5u", b"\x1b[93;133u", b"\x1b[27;5;93~"),
            b"\x1b[93;69u",
        ],
    )
    def test_it_is_known_in_every_form_and_what_follows_is_not_the_programs(self, key: bytes) -> None:
        assert Splitter().split(b"a" + key + b"b\x1b[A", 0.0) == [ForProgram(b"a"), Left(b"b\x1b[A")]

    @pytest.mark.parametrize("key", [b"\x1b[93;3u", b"\x1b[93;6u", b"\x1b[93;5:3u", b"\x1b[91;5u"])
    def test_no_other_key_is_it(self, key: bytes) -> None:
        pieces = Splitter(Modes(kitty_keyboard=31)).split(key, 0.0)
        assert pieces == [ForProgram(key)]

    def test_keys_let_go_behind_it_are_dropped_since_textual_cannot_read_them(self) -> None:
        pieces = Splitter(Modes(kitty_keyboard=3)).split(b"\x1b[93;5u\x1b[93;5:3ub\x1b[97;1:1u", 0.0)
        assert pieces == [Left(b"b\x1b[97;1u")]


def test_modes_that_change_hold_for_the_next_key() -> None:
    splitter = Splitter()
    assert splitter.split(b"\x1b[A", 0.0) == [ForProgram(b"\x1b[A")]
    splitter.modes = Modes(application_cursor=True)
    assert splitter.split(b"\x1b[A", 0.0) == [ForProgram(b"\x1bOA")]


def test_esc_takes_kittys_form_where_the_program_asked_for_it() -> None:
    splitter = Splitter(Modes(kitty_keyboard=1))
    assert splitter.split(b"\x1b", 0.0) == [ForProgram(b"\x1b[27u")]
    splitter.split(b"\x1b[I\x1b", 5.0)
    assert splitter.time_is_up(6.0) == [ForProgram(b"\x1b[27u")]
