"""The form each key has for the program it is typed to."""

from __future__ import annotations

import pytest

from cloche_term.terminal import Modes
from cloche_tui.terminal_input.key_forms import (
    is_way_out,
    typed_escape,
    typed_sequence,
    typed_text,
    without_events,
)

OLD = Modes()
APPLICATION = Modes(application_cursor=True, application_keypad=True)
KITTY = Modes(kitty_keyboard=1, application_cursor=True)
KITTY_EVENTS = Modes(kitty_keyboard=3)
KITTY_ALL = Modes(kitty_keyboard=25)


@pytest.mark.parametrize("key", [b"A", b"B", b"C", b"D", b"E", b"H", b"F"])
def test_cursor_keys_take_the_form_of_the_programs_mode_whichever_form_they_come_in(key: bytes) -> None:
    for sent in (b"\x1b[" + key, b"\x1bO" + key):
        assert typed_sequence(sent, OLD) == b"\x1b[" + key
        assert typed_sequence(sent, APPLICATION) == b"\x1bO" + key
        assert typed_sequence(sent, KITTY) == b"\x1b[" + key


@pytest.mark.parametrize(("sent", "key"), [(b"1~", b"H"), (b"7~", b"H"), (b"4~", b"F"), (b"8~", b"F")])
def test_home_and_end_of_other_terminals_are_those_of_an_xterm(sent: bytes, key: bytes) -> None:
    assert typed_sequence(b"\x1b[" + sent, OLD) == b"\x1b[" + key
    assert typed_sequence(b"\x1b[" + sent, APPLICATION) == b"\x1bO" + key


def test_alt_in_front_of_a_cursor_key_stays() -> None:
    assert typed_sequence(b"\x1b\x1b[A", APPLICATION) == b"\x1b\x1bOA"


@pytest.mark.parametrize(
    "key", [b"\x1b[1;5A", b"\x1b[5~", b"\x1b[15;2~", b"\x1bOP", b"\x1b[1;2R", b"\x1b[3~", b"\x1b[Z"]
)
def test_other_keys_are_the_same_in_all_modes_of_old(key: bytes) -> None:
    assert typed_sequence(key, OLD) == typed_sequence(key, APPLICATION) == key


@pytest.mark.parametrize(
    ("key", "character"),
    [(b"p", b"0"), (b"y", b"9"), (b"k", b"+"), (b"M", b"\r"), (b"X", b"="), (b"n", b".")],
)
def test_the_keypad_types_characters_unless_the_program_wants_to_know_it(
    key: bytes, character: bytes
) -> None:
    assert typed_sequence(b"\x1bO" + key, OLD) == character
    assert typed_sequence(b"\x1bO" + key, APPLICATION) == b"\x1bO" + key


class TestOfTerminalsWithoutKittysProtocol:
    """The program has asked for kitty's form; the terminal in front of the person does not know it."""

    @pytest.mark.parametrize(
        ("sent", "typed"),
        [
            (b"\x01", b"\x1b[97;5u"),
            (b"\x00", b"\x1b[32;5u"),
            (b"\x08", b"\x1b[104;5u"),
            (b"\x1c", b"\x1b[92;5u"),
            (b"\x1f", b"\x1b[95;5u"),
            (b"a\x03b", b"a\x1b[99;5ub"),
            ("é".encode(), "é".encode()),
            (b"\r\t\x7f", b"\r\t\x7f"),
        ],
    )
    def test_characters_with_ctrl_are_told_in_it(self, sent: bytes, typed: bytes) -> None:
        assert typed_text(sent, KITTY) == typed
        assert typed_text(sent, OLD) == sent

    def test_esc_is_told_in_it(self) -> None:
        assert typed_escape(KITTY) == b"\x1b[27u"
        assert typed_escape(OLD) == b"\x1b"

    @pytest.mark.parametrize(
        ("sent", "typed"),
        [
            (b"\x1bx", b"\x1b[120;3u"),
            (b"\x1bX", b"\x1b[120;4u"),
            (b"\x1b.", b"\x1b[46;3u"),
            (b"\x1b\x01", b"\x1b[97;7u"),
            (b"\x1b\x7f", b"\x1b[127;3u"),
            (b"\x1b\r", b"\x1b[13;3u"),
            (b"\x1b\x1b", b"\x1b[27;3u"),
            (b"\x1b\xc3", b"\x1b\xc3"),
        ],
    )
    def test_characters_with_alt_are_told_in_it(self, sent: bytes, typed: bytes) -> None:
        assert typed_sequence(sent, KITTY) == typed
        assert typed_sequence(sent, OLD) == sent


class TestOfTerminalsThatHaveNotHeardYet:
    """Keys on their way while the program's wishes change: the dashboard has all keys in kitty's form."""

    @pytest.mark.parametrize(
        ("sent", "typed"),
        [
            (b"\x1b[97;;97u", b"a"),
            (b"\x1b[97;2;65u", b"A"),
            (b"\x1b[97;2u", b"A"),
            (b"\x1b[49:33;2u", b"!"),
            (b"\x1b[233;;233u", "é".encode()),
            (b"\x1b[97;129;97u", b"a"),
            (b"\x1b[97;5u", b"\x01"),
            (b"\x1b[32;5u", b"\x00"),
            (b"\x1b[51;5u", b"\x1b"),
            (b"\x1b[47;5u", b"\x1f"),
            (b"\x1b[59;5u", b";"),
            (b"\x1b[97;3u", b"\x1ba"),
            (b"\x1b[97;7u", b"\x1b\x01"),
            (b"\x1b[27u", b"\x1b"),
            (b"\x1b[13u", b"\r"),
            (b"\x1b[9u", b"\t"),
            (b"\x1b[9;2u", b"\x1b[Z"),
            (b"\x1b[127u", b"\x7f"),
            (b"\x1b[127;5u", b"\x08"),
            (b"\x1b[127;3u", b"\x1b\x7f"),
            (b"\x1b[57441;2u", b""),
            (b"\x1b[57404;;53u", b"5"),
            (b"\x1b[57414u", b"\r"),
            (b"\x1b[57419u", b"\x1b[A"),
            (b"\x1b[57421u", b"\x1b[5~"),
            (b"\x1b[P", b"\x1bOP"),
            (b"\x1b[13~", b"\x1bOR"),
            (b"\x1b[1;5:1A", b"\x1b[1;5A"),
            (b"\x1b[1;5:3A", b""),
            (b"\x1b[97;1:3u", b""),
            (b"\x1b[9999999u", b""),
            (b"\x1b[97;;7u", b"a"),
        ],
    )
    def test_a_program_that_never_asked_for_kittys_form_gets_the_one_of_old(
        self, sent: bytes, typed: bytes
    ) -> None:
        assert typed_sequence(sent, OLD) == typed

    @pytest.mark.parametrize(
        ("sent", "typed"),
        [
            (b"\x1b[97;;97u", b"a"),
            (b"\x1b[97;2;65u", b"A"),
            (b"\x1b[13u", b"\r"),
            (b"\x1b[97;5u", b"\x1b[97;5u"),
            (b"\x1b[27u", b"\x1b[27u"),
            (b"\x1b[57441;2u", b""),
            (b"\x1b[57419u", b"\x1b[57419u"),
        ],
    )
    def test_a_program_that_asked_for_some_gets_those(self, sent: bytes, typed: bytes) -> None:
        assert typed_sequence(sent, KITTY) == typed

    @pytest.mark.parametrize("sent", [b"\x1b[97;;97u", b"\x1b[13u", b"\x1b[97;5u", b"\x1b[57441;2u"])
    def test_a_program_that_asked_for_all_gets_all(self, sent: bytes) -> None:
        assert typed_sequence(sent, KITTY_ALL) == sent

    def test_keys_let_go_are_for_who_asked_for_them(self) -> None:
        assert typed_sequence(b"\x1b[97;5:3u", KITTY) == b""
        assert typed_sequence(b"\x1b[97;5:3u", KITTY_EVENTS) == b"\x1b[97;5:3u"


def test_events_are_taken_out_of_what_textual_reads() -> None:
    sent = b"a\x1b[97;5:1u\x1b[98;1:3u\x1b[1;1:2A\x1b[97;;97u\x1b[97:65;2u\x1b[48;24;80;480;800t\x1b[5~\x1b[A\x1b["
    assert (
        without_events(sent)
        == b"a\x1b[97;5u\x1b[1;1A\x1b[97;;97u\x1b[97;2u\x1b[48;24;80;480;800t\x1b[5~\x1b[A\x1b["
    )


def test_the_way_out_is_ctrl_and_its_key_alone() -> None:
    assert is_way_out(b"\x1b[93;5u")
    assert is_way_out(b"\x1b[27;5;93~")
    assert not is_way_out(b"\x1b[93;6u")
    assert not is_way_out(b"\x1b[A")
