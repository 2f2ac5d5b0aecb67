"""Terminal cases: modes, questions and answers, strings (OSC, DCS, APC, PM, SOS), the title, the keyboard protocols."""

from __future__ import annotations

from cloche_term.terminal import MouseTracking, Style
from tests.term.cases import Case, Shown, Size

TALK_CASES = (
    Case(
        name="modes 9, 1000, 1002 and 1003 choose what is heard of the mouse; the last one counts",
        source="xterm ctlseqs, mouse tracking",
        given=(b"\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h",),
        shows=Shown(modes={"mouse": MouseTracking.MOVES}),
    ),
    Case(
        name="mode 1000 reset means that nothing is heard of the mouse",
        source="xterm ctlseqs, mouse tracking",
        given=(b"\x1b[?1000h\x1b[?1000l",),
        shows=Shown(modes={"mouse": MouseTracking.OFF}),
    ),
    Case(
        name="modes 1, 66, 1004, 1007 and 2004 are kept",
        source="xterm ctlseqs, DECSET",
        given=(b"\x1b[?1h\x1b[?66h\x1b[?1004h\x1b[?1007h\x1b[?2004h",),
        shows=Shown(
            modes={
                "application_cursor": True,
                "application_keypad": True,
                "focus_events": True,
                "alternate_scroll": True,
                "bracketed_paste": True,
            }
        ),
    ),
    Case(
        name="several modes may be set in one sequence",
        source="ECMA-48 8.3.125",
        given=(b"\x1b[?1;2004;1004h\x1b[?1;1004l",),
        shows=Shown(modes={"application_cursor": False, "focus_events": False, "bracketed_paste": True}),
    ),
    Case(
        name="mode 2026 holds the screen until it is reset",
        source="Synchronized output, mode 2026",
        given=(b"\x1b[?2026habc",),
        shows=Shown(text=("abc",), modes={"is_held": True}),
    ),
    Case(
        name="mode 5 reverses the screen",
        source="DEC VT510, DECSCNM",
        given=(b"\x1b[?5h",),
        shows=Shown(modes={"is_reversed": True}),
    ),
    Case(
        name="DECKPAM and DECKPNM switch the keypad",
        source="DEC VT510, DECKPAM",
        given=(b"\x1b=",),
        shows=Shown(modes={"application_keypad": True}),
    ),
    Case(
        name="a program cannot change the size (DECCOLM)",
        source="our own rule",
        given=(b"\x1b[?40h\x1b[?3h0123456789x",),
        shows=Shown(text=("0123456789", "x")),
    ),
    Case(
        name="a program cannot change the size (XTWINOPS 8, DECSCPP, DECSLPP)",
        source="our own rule",
        given=(b"\x1b[8;50;50t\x1b[132$|\x1b[50t\x1b[99;99H\x1b[6n",),
        shows=Shown(answers=b"\x1b[4;10R"),
    ),
    Case(
        name="DSR 5 is answered: no malfunction",
        source="ECMA-48 8.3.35",
        given=(b"\x1b[5n",),
        shows=Shown(answers=b"\x1b[0n"),
    ),
    Case(
        name="CPR tells where the cursor is, also where a wrap is pending",
        source="ECMA-48 8.3.14",
        given=(b"\x1b[2;3H\x1b[6n\x1b[1;1H0123456789\x1b[6n",),
        shows=Shown(answers=b"\x1b[2;3R\x1b[1;10R"),
    ),
    Case(
        name="DA1 tells of a VT220 with color",
        source="DEC VT510, DA1; xterm ctlseqs",
        given=(b"\x1b[c",),
        shows=Shown(answers=b"\x1b[?62;22c"),
    ),
    Case(
        name="DECRQM tells which modes are set, reset and unknown",
        source="DEC VT510, DECRQM",
        given=(b"\x1b[?2004h\x1b[?2004$p\x1b[?1$p\x1b[?31337$p\x1b[4$p",),
        shows=Shown(answers=b"\x1b[?2004;1$y\x1b[?1;2$y\x1b[?31337;0$y\x1b[4;2$y"),
    ),
    Case(
        name="DECRQSS tells the margins",
        source="DEC VT510, DECRQSS",
        given=(b"\x1b[2;3r\x1bP$qr\x1b\\",),
        shows=Shown(answers=b"\x1bP1$r2;3r\x1b\\"),
    ),
    Case(
        name="OSC 10 and 11 tell the terminal's colors",
        source="xterm ctlseqs, OSC 10, 11",
        given=(b"\x1b]10;?\x1b\\\x1b]11;?\x1b\\",),
        shows=Shown(answers=b"\x1b]10;rgb:e0e0/e0e0/e0e0\x1b\\\x1b]11;rgb:0c0c/0c0c/0c0c\x1b\\"),
    ),
    Case(
        name="OSC 11 asked with BEL is answered with BEL",
        source="xterm ctlseqs, OSC",
        given=(b"\x1b]11;?\x07",),
        shows=Shown(answers=b"\x1b]11;rgb:0c0c/0c0c/0c0c\x07"),
    ),
    Case(
        name="OSC 4 sets a color of the palette and tells it",
        source="xterm ctlseqs, OSC 4",
        given=(b"\x1b]4;1;rgb:12/34/56\x1b\\\x1b]4;1;?\x1b\\",),
        shows=Shown(answers=b"\x1b]4;1;rgb:1212/3434/5656\x1b\\"),
    ),
    Case(
        name="OSC 0 and 2 set the title, ended by ST or BEL",
        source="xterm ctlseqs, OSC 0, 2",
        given=(b"\x1b]0;one\x07\x1b]2;two\x1b\\",),
        shows=Shown(text=(), title="two"),
    ),
    Case(
        name="OSC 1 is the icon's name, not the title",
        source="xterm ctlseqs, OSC 1",
        given=(b"\x1b]2;title\x07\x1b]1;icon\x07",),
        shows=Shown(title="title"),
    ),
    Case(
        name="a title may come in pieces, and in UTF-8",
        source="xterm ctlseqs, OSC 2",
        given=(b"\x1b]2;ti", "tel ä".encode()[:-1], b"\xa4\x1b", b"\\x"),
        shows=Shown(text=("x",), title="titel ä"),
    ),
    Case(
        name="the title is not typed to the program (XTWINOPS 20, 21)",
        source="our own rule; CVE-2003-0063",
        given=(b"\x1b]2;rm -rf /\x07\x1b[20t\x1b[21t",),
        shows=Shown(answers=b""),
    ),
    Case(
        name="the clipboard is neither set nor told (OSC 52)",
        source="our own rule; xterm ctlseqs, OSC 52",
        given=(b"\x1b]52;c;cm0gLXJmIC8=\x07\x1b]52;c;?\x07",),
        shows=Shown(text=(), answers=b""),
    ),
    Case(
        name="a font is not told (OSC 50)",
        source="our own rule; CVE-2022-45063",
        given=(b"\x1b]50;x\ny\x07\x1b]50;?\x07",),
        shows=Shown(text=(), answers=b""),
    ),
    Case(
        name="ENQ is not answered",
        source="our own rule; DEC VT510, ENQ",
        given=(b"\x05x",),
        shows=Shown(text=("x",), answers=b""),
    ),
    Case(
        name="OSC 133 marks of a shell show nothing",
        source="FinalTerm, semantic prompts",
        given=(b"\x1b]133;A\x07$ \x1b]133;B\x07ls\x1b]133;C\x1b\\",),
        shows=Shown(text=("$ ls",)),
    ),
    Case(
        name="DCS, APC, PM and SOS show nothing",
        source="ECMA-48 8.3.27, 8.3.2, 8.3.94, 8.3.143",
        given=(b"a\x1bPdcs\x1b\\b\x1b_apc\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e",),
        shows=Shown(text=("abcde",)),
    ),
    Case(
        name="images of kitty and sixel show nothing",
        source="kitty graphics protocol; DEC VT340, sixel",
        given=(b"a\x1b_Gf=24,s=1,v=1;AAAA\x1b\\b\x1bPq#0;2;0;0;0~\x1b\\c",),
        shows=Shown(text=("abc",)),
    ),
    Case(
        name="CAN ends a sequence unfinished",
        source="ECMA-48 8.3.6; DEC VT510",
        given=(b"\x1b[31\x18x\x1b]2;no\x18y",),
        shows=Shown(text=("xy",), styles={(0, 0): Style()}, title=""),
    ),
    Case(
        name="an ESC inside a sequence begins another one",
        source="DEC VT500 parser (vt100.net)",
        given=(b"\x1b[3\x1b[31mx",),
        shows=Shown(text=("x",), styles={(0, 0): Style(foreground=1)}),
    ),
    Case(
        name="a control character inside a sequence acts at once, and the sequence goes on",
        source="DEC VT500 parser (vt100.net)",
        given=(b"ab\x1b[3\r1mx",),
        shows=Shown(text=("xb",), styles={(0, 0): Style(foreground=1)}),
    ),
    Case(
        name="a sequence may come byte by byte",
        source="DEC VT500 parser (vt100.net)",
        given=tuple(bytes([byte]) for byte in b"\x1b[2;3H\x1b[38;5;9mx"),
        shows=Shown(text=("", "  x"), styles={(1, 2): Style(foreground=9)}),
    ),
    Case(
        name="sequences nobody knows show nothing",
        source="ECMA-48 5.4",
        given=(b"\x1b[99;98;97~a\x1b[?9999hb\x1b[1;2'{c\x1b%Gd\x1b F",),
        shows=Shown(text=("abcd",)),
    ),
    Case(
        name="CSI ? 1 ; 1 S asks for colors of images and scrolls nothing",
        source="xterm ctlseqs, XTSMGRAPHICS",
        given=(b"a\x1b[?1;1;0S\x1b[?2Tb",),
        shows=Shown(text=("ab",)),
    ),
    Case(
        name="a C1 control in UTF-8 shows nothing and begins nothing",
        source="our own rule, as in VTE, kitty and ghostty",
        given=("a\x9b31mb\x9d2;x\x9cc".encode(),),
        shows=Shown(text=("a31mb2;xc",), title=""),
    ),
    Case(
        name="an ESC sequence with intermediates that nobody knows shows nothing",
        source="ECMA-35 13.2.1",
        given=(b"a\x1b$Bb\x1b#Zc",),
        shows=Shown(text=("abc",)),
    ),
    Case(
        name="a control character after an ESC acts at once, and the sequence goes on",
        source="DEC VT500 parser (vt100.net)",
        given=(b"ab\x1b\r7\x1b[2;2H\x1b8c",),
        shows=Shown(text=("cb",)),
    ),
    Case(
        name="the kitty keyboard protocol is pushed, told and popped",
        source="kitty keyboard protocol",
        given=(b"\x1b[>5u\x1b[?u\x1b[>1u\x1b[?u\x1b[<u\x1b[?u",),
        shows=Shown(answers=b"\x1b[?5u\x1b[?1u\x1b[?5u", modes={"kitty_keyboard": 5}),
    ),
    Case(
        name="each screen has its own kitty keyboard flags",
        source="kitty keyboard protocol",
        given=(b"\x1b[>5u\x1b[?1049h\x1b[?u",),
        shows=Shown(answers=b"\x1b[?0u", modes={"kitty_keyboard": 0}),
    ),
    Case(
        name="titles are pushed and popped (XTWINOPS 22, 23)",
        source="xterm ctlseqs, XTWINOPS",
        given=(b"\x1b]2;one\x07\x1b[22;0t\x1b]2;two\x07\x1b[23;0t",),
        shows=Shown(title="one"),
    ),
    Case(
        name="the size is told in cells (XTWINOPS 18)",
        source="xterm ctlseqs, XTWINOPS",
        given=(b"\x1b[18t", Size(5, 11), b"\x1b[18t"),
        shows=Shown(answers=b"\x1b[8;4;10t\x1b[8;5;11t"),
    ),
)
