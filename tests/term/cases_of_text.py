"""Terminal cases: colors and attributes, character sets, UTF-8, wide and combining characters, links."""

from __future__ import annotations

from cloche_term.terminal import PLAIN, Style, Underline
from tests.term.cases import Case, Shown

TEXT_CASES = (
    Case(
        name="SGR 30-37, 40-47, 90-97 and 100-107 are the sixteen colors",
        source="ECMA-48 8.3.117; xterm ctlseqs, SGR",
        given=(b"\x1b[31;42ma\x1b[95;106mb\x1b[39;49mc",),
        shows=Shown(
            styles={
                (0, 0): Style(foreground=1, background=2),
                (0, 1): Style(foreground=13, background=14),
                (0, 2): PLAIN,
            }
        ),
    ),
    Case(
        name="SGR 38;5 and 48;5 choose from 256 colors, with semicolons or colons",
        source="xterm ctlseqs, SGR; ISO 8613-6",
        given=(b"\x1b[38;5;123;48;5;200ma\x1b[m\x1b[38:5:99mb",),
        shows=Shown(styles={(0, 0): Style(foreground=123, background=200), (0, 1): Style(foreground=99)}),
    ),
    Case(
        name="SGR 38;2 takes red, green and blue with semicolons",
        source="xterm ctlseqs, SGR",
        given=(b"\x1b[38;2;1;2;3;48;2;4;5;6ma",),
        shows=Shown(styles={(0, 0): Style(foreground=(1, 2, 3), background=(4, 5, 6))}),
    ),
    Case(
        name="SGR 38:2 takes red, green and blue with colons, with a color space or without",
        source="ISO 8613-6; xterm ctlseqs, SGR",
        given=(b"\x1b[38:2::1:2:3ma\x1b[38:2:4:5:6mb",),
        shows=Shown(styles={(0, 0): Style(foreground=(1, 2, 3)), (0, 1): Style(foreground=(4, 5, 6))}),
    ),
    Case(
        name="SGR 1, 2, 3, 5, 7, 8, 9 and 53 are attributes of their own",
        source="ECMA-48 8.3.117",
        given=(b"\x1b[1;3;7;9ma\x1b[0;2;5;8;53mb",),
        shows=Shown(
            styles={
                (0, 0): Style(is_bold=True, is_italic=True, is_inverse=True, is_struck=True),
                (0, 1): Style(is_faint=True, is_blinking=True, is_invisible=True, is_overlined=True),
            }
        ),
    ),
    Case(
        name="SGR 22 to 29 and 55 take attributes away one by one",
        source="ECMA-48 8.3.117",
        given=(b"\x1b[1;2;3;4;5;7;8;9;53m\x1b[22ma\x1b[23;24;25mb\x1b[27;28;29;55mc",),
        shows=Shown(
            styles={
                (0, 0): Style(
                    is_italic=True,
                    underline=Underline.SINGLE,
                    is_blinking=True,
                    is_inverse=True,
                    is_invisible=True,
                    is_struck=True,
                    is_overlined=True,
                ),
                (0, 1): Style(is_inverse=True, is_invisible=True, is_struck=True, is_overlined=True),
                (0, 2): PLAIN,
            }
        ),
    ),
    Case(
        name="SGR 4 with colons underlines doubly, curly, dotted or dashed, and 4:0 not at all",
        source="kitty, underlines",
        given=(b"\x1b[4:2ma\x1b[4:3mb\x1b[4:4mc\x1b[4:5md\x1b[4:1me\x1b[4:0mf\x1b[21mg",),
        shows=Shown(
            styles={
                (0, 0): Style(underline=Underline.DOUBLE),
                (0, 1): Style(underline=Underline.CURLY),
                (0, 2): Style(underline=Underline.DOTTED),
                (0, 3): Style(underline=Underline.DASHED),
                (0, 4): Style(underline=Underline.SINGLE),
                (0, 5): PLAIN,
                (0, 6): Style(underline=Underline.DOUBLE),
            }
        ),
    ),
    Case(
        name="SGR 58 colors the underline, 59 gives it back",
        source="kitty, underlines",
        given=(b"\x1b[4;58;5;9ma\x1b[58:2::1:2:3mb\x1b[59mc",),
        shows=Shown(
            styles={
                (0, 0): Style(underline=Underline.SINGLE, underline_color=9),
                (0, 1): Style(underline=Underline.SINGLE, underline_color=(1, 2, 3)),
                (0, 2): Style(underline=Underline.SINGLE),
            }
        ),
    ),
    Case(
        name="SGR without parameters, and an empty one, reset",
        source="ECMA-48 8.3.117",
        given=(b"\x1b[31ma\x1b[mb\x1b[31;;1mc",),
        shows=Shown(styles={(0, 0): Style(foreground=1), (0, 1): PLAIN, (0, 2): Style(is_bold=True)}),
    ),
    Case(
        name="an SGR nobody knows changes nothing, and what follows it counts",
        source="ECMA-48 5.4",
        given=(b"\x1b[31m\x1b[999;1ma",),
        shows=Shown(styles={(0, 0): Style(foreground=1, is_bold=True)}),
    ),
    Case(
        name="CSI > 4 ; 2 m and CSI ? 4 m are no SGR",
        source="xterm ctlseqs, XTMODKEYS, XTQMODKEYS",
        given=(b"\x1b[>4;2ma\x1b[?4mb",),
        shows=Shown(text=("ab",), styles={(0, 0): PLAIN, (0, 1): PLAIN}),
    ),
    Case(
        name="the DEC graphics set draws lines, through G0 or G1",
        source="DEC VT510, SCS",
        given=(b"\x1b(0lqk\x1b(Bq\x1b)0\x0ex\x0fx",),
        shows=Shown(text=("┌─┐q│x",)),
    ),
    Case(
        name="a character in UTF-8 may come in pieces",
        source="ISO 10646, UTF-8",
        given=(b"\xe6", b"\x97", b"\xa5x"),
        shows=Shown(text=("日x",), cursor=(0, 3)),
    ),
    Case(
        name="bytes that are no UTF-8 are one replacement character each, and what follows them counts",
        source="Unicode 16, 3.9, U+FFFD substitution of maximal subparts",
        given=(b"a\xffb\xc0\xafc",),
        shows=Shown(text=("a\N{REPLACEMENT CHARACTER}b" + "\N{REPLACEMENT CHARACTER}" * 2 + "c",)),
    ),
    Case(
        name="a sequence inside a broken character is obeyed",
        source="Unicode 16, 3.9",
        given=(b"\xe6\x97\x1b[31mx",),
        shows=Shown(text=("\N{REPLACEMENT CHARACTER}x",), styles={(0, 1): Style(foreground=1)}),
    ),
    Case(
        name="a wide character takes two cells",
        source="Unicode UAX 11",
        given=("日本x".encode(),),
        shows=Shown(text=("日本x",), cursor=(0, 5)),
    ),
    Case(
        name="a wide character that has no room in the last column begins the next row",
        source="xterm, wide characters",
        given=("\x1b[1;10H日x".encode(),),
        shows=Shown(text=("", "日x"), cursor=(1, 3)),
    ),
    Case(
        name="writing over half of a wide character blanks the other half",
        source="xterm, wide characters",
        given=("日本\x1b[1;2Hx\x1b[1;3Hy".encode(),),
        shows=Shown(text=(" xy",)),
    ),
    Case(
        name="a combining character takes no cell",
        source="Unicode UAX 29",
        given=("e\u0301x".encode(),),
        shows=Shown(text=("e\u0301x",), cursor=(0, 2)),
    ),
    Case(
        name="an emoji takes two cells",
        source="Unicode UTS 51",
        given=("😀x".encode(),),
        shows=Shown(text=("😀x",), cursor=(0, 3)),
    ),
    Case(
        name="a combining character may come after its base, in a write of its own",
        source="Unicode UAX 29",
        given=(b"e", "\u0301".encode(), b"x"),
        shows=Shown(text=("e\u0301x",), cursor=(0, 2)),
    ),
    Case(
        name="an emoji of several joined ones is one character where clusters are asked for (mode 2027)",
        source="Contour, terminal Unicode core, mode 2027",
        given=("\x1b[?2027h👩\u200d💻x".encode(),),
        shows=Shown(text=("👩\u200d💻x",), cursor=(0, 3)),
    ),
    Case(
        name="an emoji of several joined ones takes the cells of all of them where clusters are not asked for",
        source="POSIX wcwidth, as programs count that know nothing of clusters",
        given=("👩\u200d💻x".encode(),),
        shows=Shown(cursor=(0, 5)),
    ),
    Case(
        name="VS16 makes an emoji wide where clusters are asked for (mode 2027)",
        source="Contour, terminal Unicode core, mode 2027; Unicode UTS 51",
        given=("\x1b[?2027h❤\ufe0fx".encode(),),
        shows=Shown(text=("❤\ufe0fx",), cursor=(0, 3)),
    ),
    Case(
        name="OSC 8 makes links, until one without an address",
        source="OSC 8 hyperlinks in terminal emulators",
        given=(b"\x1b]8;;http://a/b\x1b\\ab\x1b]8;;\x1b\\c",),
        shows=Shown(
            text=("abc",),
            styles={(0, 1): Style(is_link=True), (0, 2): PLAIN},
            links={(0, 0): "http://a/b", (0, 1): "http://a/b", (0, 2): ""},
        ),
    ),
    Case(
        name="NUL shows nothing",
        source="ECMA-48 8.3.88",
        given=(b"a\x00b",),
        shows=Shown(text=("ab",)),
    ),
    Case(
        name="DEL shows nothing",
        source="DEC VT510, DEL",
        given=(b"a\x7fb",),
        shows=Shown(text=("ab",)),
    ),
)
