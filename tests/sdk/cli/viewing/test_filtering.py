"""What of a guest's output reaches a person's terminal."""

from __future__ import annotations

import random
import re

import pytest

from cloche.cli.viewing.filtering import CLEAR, GuestOutput
from cloche_term import open_terminal
from tests.sdk.cli.viewing.test_modes import ALWAYS


def _passed(*pieces: bytes, keys: bool = True) -> bytes:
    output = GuestOutput(keys=keys)
    return b"".join(map(output.passed, pieces))


@pytest.mark.parametrize(
    "piece",
    [
        "text, tabs\t, é, ✓, 漢字, 👩‍🚀\r\n\x08\x0b\x0c".encode(),
        b"\x1b[m\x1b[1;31m\x1b[38;5;200m\x1b[48:2::10:20:30m\x1b[4:3m",
        b"\x1b[H\x1b[12;40H\x1b[3A\x1b[3B\x1b[3C\x1b[3D\x1b[3E\x1b[3F\x1b[3G\x1b[3d\x1b[3`\x1b[3;4f\x1b[3a\x1b[3e",
        b"\x1b[J\x1b[1J\x1b[2J\x1b[K\x1b[1K\x1b[?2J\x1b[?K\x1b[3X\x1b[3@\x1b[3P\x1b[3L\x1b[3M\x1b[3S\x1b[3T\x1b[3b",
        b"\x1b7\x1b8\x1bD\x1bE\x1bM\x1bH\x1b[3g\x1b[0g\x1b[2I\x1b[2Z\x1b[s\x1b[u\x1b[?5W\x1b[3;20s",
        b"\x1b[2;20r\x1b[r\x1b[?6h\x1b[?69h\x1b[4h\x1b[4l\x1b[20h",
        b"\x1b(0lqk\x1b(B\x1b)0\x0e\x0f\x1b*A\x1b+B\x1bN\x1bO",
        b"\x1b[?1049h\x1b[?47h\x1b[?1047l\x1b[?1048h\x1b[?25l\x1b[?7l\x1b[?5h\x1b[?12h\x1b[?2026h",
        b"\x1b[?1h\x1b=\x1b>\x1b[?66h\x1b[?2004h\x1b[?1000h\x1b[?1002;1003;1006;1015h\x1b[?1004h\x1b[?1007h",
        b"\x1b[ q\x1b[5 q\x1b[!p\x1b#8\x1b#6\x1b[0\"q",
        b"\x1b[>4;2m\x1b[>4m\x1b[>1u\x1b[=3;1u\x1b[<u",
        b"\x1b]4;1;#ff0000\x1b\\\x1b]8;;https://example.org\x1b\\x\x1b]8;;\x1b\\\x1b]104\x1b\\",
    ],
)  # fmt: skip
def test_what_programs_need_passes_as_it_is(piece: bytes) -> None:
    assert _passed(piece) == piece


@pytest.mark.parametrize(
    "sequence",
    [
        b"\x1b[c", b"\x1b[0c", b"\x1b[>c", b"\x1b[=c", b"\x1bZ",  # what are you
        b"\x1b[5n", b"\x1b[6n", b"\x1b[?6n", b"\x1b[?996n", b"\x1b[x", b"\x1b[?15n",  # how are you
        b"\x1b[14t", b"\x1b[18t", b"\x1b[20t", b"\x1b[21t", b"\x1b[8;50;200t", b"\x1b[3;0;0t", b"\x1b[2t",  # windows
        b"\x1b[22;0t", b"\x1b[23;0t", b"\x1b[>2t",
        b"\x1b[?1$p", b"\x1b[4$p", b"\x1b[?u", b"\x1b[>q", b"\x1b[>0q", b"\x1b[?4m", b"\x1b[?1S", b"\x1b[1;1;1;1;1;1*y",
        b"\x05",  # who are you
        b"\x1b]52;c;cm0gLXJmIC8K\x07", b"\x1b]52;c;?\x1b\\", b"\x1b]10;?\x07", b"\x1b]11;?\x1b\\", b"\x1b]4;1;?\x07",
        b"\x1b]7;file:///etc\x07", b"\x1b]9;hello\x07", b"\x1b]777;notify;a;b\x07", b"\x1b]99;;hi\x1b\\",
        b"\x1b]1337;File=name=eA==;inline=0:AAAA\x07", b"\x1b]50;?\x07", b"\x1b]133;A\x07", b"\x1b]22;wait\x07",
        b"\x1b]46;/tmp/log\x07", b"\x1b]3;x=y\x07", b"\x1b]l\x1b\\", b"\x1b]\x07",
        b"\x1bP+q544e\x1b\\", b"\x1bP$qm\x1b\\", b"\x1bPq#0~\x1b\\", b"\x1bPtmux;\x1b\x1b[6n\x1b\\"[:-7] + b"\x18",
        b"\x1b_Ga=q;AAAA\x1b\\", b"\x1b^run\x1b\\", b"\x1bXsecret\x1b\\",
        b"\x1b[5i", b"\x1b[?5i", b"\x1b[i",  # the printer
        b"\x1b[2h", b"\x1b[12h", b"\x1b[12l",  # the keyboard locked, each key shown twice
        b"\x1b[?3h", b"\x1b[?40h", b"\x1b[?8l", b"\x1b[?1001h", b"\x1b[?1034h", b"\x1b[?2031h", b"\x1b[?2048h",
        b"\x1b[?1042h", b"\x1b[?67h", b"\x1b[?2h", b"\x1b[?4h", b"\x1b[1;1;1;1;9T",
        b"\x1b[?1s", b"\x1b[?1r", b"\x1b[3J", b"\x1b[22J", b"\x1b[2q", b"\x1b[>1p", b"\x1b[>1s", b"\x1b[#{",
        b"\x1b[1;1;9;9$r", b"\x1b[65;1;1;9;9$x", b"\x1b[7 q", b"\x1b[>0;1m", b"\x1b[>4;3m",
        b"\x1b%@", b"\x1b%G", b"\x1b F", b"\x1b G", b"\x1b~", b"\x1bn", b"\x1b|", b"\x1bl", b"\x1bm", b"\x1b-A", b"\x1b$B",
        b"\x1b(K", b"\x1b\\", b"\x1b6", b"\x1b9", b"\x1b[p", b"\x1b[999999999999b",
        b"\x00", b"\x01", b"\x11", b"\x13", b"\x18", b"\x1a", b"\x1c", b"\x7f",
        b"\xc2\x9b", b"\xc2\x9d", b"\xc2\x90", b"\xc2\x85", b"\xc2\x9c",
    ],
)  # fmt: skip
def test_what_would_have_a_terminal_type_copy_print_wait_or_forget_does_not_pass(sequence: bytes) -> None:
    assert _passed(b"a" + sequence + b"b") == b"ab"
    for cut in range(1, len(sequence)):
        assert _passed(b"a" + sequence[:cut], sequence[cut:] + b"b") == b"ab"


def test_characters_that_an_old_terminal_takes_for_sequences_are_replaced() -> None:
    assert _passed(b"\x9b6n") == "\ufffd6n".encode()
    assert _passed(b"\xe2\x1b[6n\xe2\x9c\x93") == "\ufffd✓".encode()


def test_characters_cut_between_pieces_pass_whole() -> None:
    output = GuestOutput()
    assert [output.passed(piece) for piece in (b"\xe2", b"\x9c", b"\x93x")] == [b"", b"", "✓x".encode()]


def test_of_modes_switched_together_those_pass_that_may() -> None:
    assert _passed(b"\x1b[?1001;25;2048;1000l\x1b[2;4h") == b"\x1b[?25;1000l\x1b[4h"


def test_counts_go_no_further_than_a_console_does() -> None:
    assert _passed(b"\x1b[99999b\x1b[5000;99999H\x1b[;7H") == b"\x1b[1000b\x1b[1000;1000H\x1b[;7H"


def test_a_download_that_terminals_begin_by_themselves_does_not_begin() -> None:
    assert _passed(b"rz\r**\x18B00000000000000\r\n") == b"rz\r**B00000000000000\r\n"


def test_a_bell_rings_once_a_piece() -> None:
    assert _passed(b"\x07" * 1000 + b"a\x07", b"\x07b") == b"\x07a\x07b"


def test_a_reset_clears_the_screen_and_leaves_alone_what_is_the_person_s() -> None:
    assert _passed(b"\x1b[?2004h\x1bc") == b"\x1b[?2004h\x1b[?2004l" + ALWAYS + CLEAR


def test_who_only_watches_keeps_keys_and_mouse_as_they_were() -> None:
    keys = b"\x1b[?1h\x1b=\x1b[?1000;1003;1006h\x1b[?1004h\x1b[?2004h\x1b[>4;2m\x1b[>1u\x1b[=5u"
    assert _passed(keys, keys=False) == b""
    assert _passed(b"\x1b[?1049;1000h\x1b[31m", keys=False) == b"\x1b[?1049h\x1b[31m"


def test_what_was_switched_is_known_and_put_back() -> None:
    output = GuestOutput()
    output.passed(
        b"\x1b[?1049h\x1b[?1000;1006h\x1b[?25l\x1b[4 q\x1b]2;t\x07\x1b]11;#000\x07\x1b]8;;http://a\x07"
    )
    assert output.modes.undo() == (
        b"\x1b[?1000l\x1b[?1006l\x1b[?1049l\x1b[?25h\x1b]111\x1b\\\x1b]8;;\x1b\\\x1b[0 q\x1b[23;0t" + ALWAYS
    )


def test_keyboard_modes_are_set_changed_and_combined() -> None:
    assert _passed(b"\x1b[=1u\x1b[=4;2u\x1b[=1;3u\x1b[>u\x1b[<9u\x1b[<1:2u") == (
        b"\x1b[>1u\x1b[=5;1u\x1b[=4;1u\x1b[<u"
    )


def test_a_terminal_of_another_encoding_gets_no_byte_it_takes_for_a_sequence() -> None:
    # é is C3 A9 in UTF-8, and Û is C3 9B: to a terminal that does not know UTF-8, the beginning of a sequence.
    output = GuestOutput(encoding="iso-8859-1")
    assert output.passed("é漢".encode()) == b"\xe9?"
    assert not set(output.passed("Û\u009b6n".encode())) & set(range(0x80, 0xA0))


def test_long_sequences_of_colours_pass_and_endless_ones_do_not() -> None:
    long = b"\x1b[" + b";".join([b"38;5;200"] * 15) + b"m"
    assert _passed(long) == long
    assert _passed(b"\x1b[" + b"1;" * 140 + b"mx") == b"x"


def test_pieces_may_be_cut_anywhere() -> None:
    stream = (
        "a\x1b[1;31m✓\x1b]2;title\x1b\\\x1bPq\x1b\\\x1b(0\x1b[?25l\n\x1b[3J\x1b[?1003h漢\x1b[6nz".encode()
    )
    whole = _passed(stream)
    for cut in range(1, len(stream)):
        assert _passed(stream[:cut], stream[cut:]) == whole
    assert _passed(*(bytes([byte]) for byte in stream)) == whole


_ONLY_THESE = re.compile(
    "(?:[^\x00-\x07\x10-\x1f\x7f-\x9f]|\x07"
    "|\x1b[78DEHMNO=>]|\x1b#[34568]|\x1b[()*+][0AB]"
    '|\x1b\\[[0-9;:]*[@A-Za-bd-hlmrsu`]|\x1b\\[\\?[0-9;]*[hlJKW]|\x1b\\[[0-9]* q|\x1b\\[!p|\x1b\\[[012]?"q'
    "|\x1b\\[>[0-9;]*[mu]|\x1b\\[=[0-9;]*u|\x1b\\[<u|\x1b\\[2[23];0t"
    "|\x1b\\](?:0|1|2|4|8|10|11|12|104|110|111|112)(?:;[^\x00-\x1f\x7f-\x9f]*)?\x1b\\\\)*"
)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_comes_only_whole_and_known_sequences_leave(seed: int) -> None:
    soup = random.Random(seed)
    output = GuestOutput()
    parts = [b"\x1b", b"[", b"]", b"?", b"0", b"1", b";", b"h", b"l", b"m", b"n", b"c", b"t", b"u", b"P", b"\\", b"\x07",
             b"\xc2\x9b", b"\xe2\x9c\x93", b"\x9b", b"52", b"8", b"2004", b"$", b" ", b">", b"q", b"\n", b"\x18", b"x"]  # fmt: skip
    for _ in range(50):
        passed = output.passed(b"".join(soup.choices(parts, k=60)))
        assert _ONLY_THESE.fullmatch(passed.decode()), passed
    assert len(output.modes._switched) < 40


_PARTS = (
    b"\x1b[c", b"\x1b[6n", b"\x1b[?1$p", b"\x1b]11;?\x07", b"\x1bP$qm\x1b\\", b"\x1b[?u", b"\x1b[>q", b"\x05", b"\x1b[18t",
    b"\x1b[?2048h", b"\x1b[31m", b"\x1b[12;40H", b"\x1b[2J", b"\x1b[5;10r", b"\x1b[?6h", b"\x1b(0", b"\x1b(B", b"\x0e",
    b"\x0f", b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[3L", b"\x1b[2M", b"\x1b[4h", b"\x1b[4l", b"\x1b[7P", b"\x1b7", b"\x1b8",
    b"\r\n", b"\n", b"\t", b"\x08", b"lqk", "漢字é".encode(), b"words of text", b"\x1b[?7l", b"\x1b[?7h", b"\x1b[99b",
    b"\x1bM", b"\x1b[S", b"\x1b[K", b"\x1b[1K", b"\x1b[38;2;1;2;3m", b"\x1b[m", b"\x1b[10G", b"\x1b[!p", b"\x1b[?69h\x1b[5;20s",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_a_terminal_shows_the_same_with_it_and_answers_nothing(seed: int) -> None:
    parts = random.Random(seed)
    output, filtered, whole = GuestOutput(), open_terminal(24, 80), open_terminal(24, 80)
    for _ in range(30):
        piece = b"".join(parts.choices(_PARTS, k=10))
        assert filtered.feed(output.passed(piece)) == b""
        whole.feed(piece)
        assert filtered.text() == whole.text()
