"""What a window shows of a console, seen in a real emulator, as things happen."""

from __future__ import annotations

from cloche.cli.viewing.view import Size, View
from cloche.console_events import ConsoleEvent, Live, Output, Resized, ScreenBegins
from cloche_term import Terminal, open_terminal

SMALL, LARGE = Size(5, 20), Size(8, 30)


class _Window:
    """A terminal with a shell in it, and a view of a console in front."""

    def __init__(self, size: Size, *, is_driving: bool, source: Terminal | None = None) -> None:
        self.terminal = open_terminal(*size)
        self.terminal.feed(b"$ cloche attach box\r\n")
        self.view = View(size, is_driving=is_driving, source=source)

    def take(self, *events: ConsoleEvent) -> None:
        for event in events:
            self.feed(self.view.take(event))

    def show(self, console: Terminal) -> None:
        """The hub tells the screen."""
        begins = ScreenBegins(console.rows, console.cols, 0)
        self.take(begins, Output(console.dump(scrollback_lines=0)), Live(0))
        self.paint()

    def paint(self, status: str = "status") -> None:
        self.feed(self.view.frame(status))

    def resize(self, size: Size) -> None:
        self.terminal.resize(*size)
        self.view.resize(size)

    def feed(self, data: bytes) -> None:
        assert self.terminal.feed(data) == b""

    @property
    def lines(self) -> list[str]:
        text = list(self.terminal.text())
        while text and not text[-1]:
            text.pop()
        return text


def _console(size: Size, shown: bytes = b"one\r\ntwo\r\n$ ") -> Terminal:
    console = open_terminal(*size)
    console.feed(shown)
    return console


def test_a_console_of_the_window_s_size_is_passed_through() -> None:
    window = _Window(SMALL, is_driving=False)
    window.show(_console(SMALL))
    window.take(Output(b"ls\r\n"))
    assert window.lines == ["one", "two", "$ ls"]
    assert not window.terminal.modes.is_alternate
    assert not window.terminal.modes.is_held


def test_what_was_on_the_screen_is_found_by_scrolling_back() -> None:
    window = _Window(SMALL, is_driving=True)
    window.show(_console(SMALL))
    window.show(_console(SMALL))
    above = window.terminal.lines(0, window.terminal.first_line)
    assert [line for line in above if line] == ["$ cloche attach box"]


def test_a_screen_that_begins_anew_is_that_screen_whatever_was_there() -> None:
    window = _Window(SMALL, is_driving=True)
    window.show(_console(SMALL))
    window.take(Output(b"\x1b[?1049h\x1b[?1000h\x1b[?6h\x1b[2;3r\x1b[31;7m\x1b(0\x1b]2;old\x07garbage"))
    fresh = _console(SMALL, b"\x1b[32mfresh\x1b[m\r\n$ ")
    window.show(fresh)
    window.terminal.update(), fresh.update()
    assert [window.terminal.row(y) for y in range(5)] == [fresh.row(y) for y in range(5)]
    assert window.terminal.modes == fresh.modes
    assert window.terminal.cursor == fresh.cursor


def test_of_who_watches_keys_and_mouse_stay_as_they_were_until_he_drives() -> None:
    console = _console(SMALL, b"\x1b[?1000h\x1b[?2004h\x1b[?1h$ ")
    window = _Window(SMALL, is_driving=False)
    window.show(console)
    states = [(window.terminal.modes.bracketed_paste, window.view.is_reporting, window.view.needs_screen())]
    window.view.drive(is_driving=True)
    needs = [window.view.needs_screen(), window.view.needs_screen()]
    window.show(console)
    states.append(
        (window.terminal.modes.bracketed_paste, window.view.is_reporting, window.view.needs_screen())
    )
    assert (states, needs) == ([(False, False, False), (True, True, False)], [True, False])


def test_a_console_of_another_size_is_painted_on_the_other_screen() -> None:
    window = _Window(LARGE, is_driving=False)
    window.show(_console(SMALL))
    assert window.terminal.modes.is_alternate
    assert window.lines[:3] == ["one" + " " * 17 + "│", "two" + " " * 17 + "│", "$" + " " * 19 + "│"]
    assert window.lines[-1] == "status"
    window.take(Output(b"ls"))
    window.paint("new")
    assert (window.lines[2][:4], window.lines[-1]) == ("$ ls", "new")
    window.feed(window.view.close())
    assert window.lines == ["$ cloche attach box"], "nothing of it stays"


def test_a_painted_console_is_asked_to_be_passed_through_once_the_sizes_agree_and_back() -> None:
    window = _Window(LARGE, is_driving=False)
    window.show(_console(SMALL))
    assert not window.view.needs_screen()
    window.resize(SMALL)
    assert window.view.needs_screen()
    window.show(_console(SMALL))
    assert not window.terminal.modes.is_alternate
    assert window.lines == ["one", "two", "$"]
    window.take(Resized(*LARGE))
    assert window.view.needs_screen()
    window.show(_console(LARGE))
    assert window.terminal.modes.is_alternate


def test_a_painted_console_changes_its_size_where_it_is_and_is_told_anew_for_lines_that_come_back() -> None:
    window = _Window(LARGE, is_driving=False)
    console = _console(SMALL, b"".join(b"row %d\r\n" % number for number in range(9)))
    window.show(console)
    window.take(Resized(7, 20))
    window.paint()
    assert window.lines[7] == "status", "there is no room below"
    assert [window.view.needs_screen(), window.view.needs_screen()] == [True, False]
    console.resize(7, 20)
    window.show(console)
    assert window.lines[0] == "row 3" + " " * 15 + "│"
    assert not window.view.needs_screen()


def test_a_painted_screen_that_is_told_anew_is_painted_over_the_one_before() -> None:
    window = _Window(LARGE, is_driving=False)
    console = _console(SMALL)
    window.show(console)
    again = (ScreenBegins(*SMALL, 0), Output(b"one\r\ntwo\r\n$ "), Live(0))
    told = b"".join(window.view.take(event) for event in again)
    assert told + window.view.frame("status") == b"", "it looks the same"
    console.feed(b"ls")
    window.show(console)
    assert window.lines[2][:4] == "$ ls"


def test_who_is_too_slow_skips_to_the_next_screen() -> None:
    window = _Window(LARGE, is_driving=False)
    window.take(ScreenBegins(*SMALL, 0))
    window.view.skip()
    window.take(Output(b"one"), Live(0))
    window.paint()
    assert window.lines[0][:3] == "one", "a screen is shown whole, however long it takes"
    assert window.view.is_emulated
    window.view.skip()
    window.take(Output(b" two"))
    window.paint()
    assert (window.lines[0][:7], window.view.is_emulated) == ("one    ", False)
    assert [window.view.needs_screen(), window.view.needs_screen()] == [True, False]
    window.show(_console(SMALL, b"one two three"))
    assert (window.lines[0][:13], window.view.is_emulated) == ("one two three", True)


def test_what_is_passed_through_is_never_skipped() -> None:
    window = _Window(SMALL, is_driving=False)
    window.show(_console(SMALL))
    window.view.skip()
    window.take(Output(b"ls"))
    assert (window.lines[2], window.view.is_emulated, window.view.needs_screen()) == ("$ ls", False, False)


def test_a_console_that_is_at_hand_is_painted_from_there() -> None:
    console = _console(SMALL)
    window = _Window(LARGE, is_driving=False, source=console)
    window.show(console)
    assert not window.view.is_emulated
    console.feed(b"ls")
    window.take(Output(b"ls"))
    window.paint()
    assert window.lines[2][:6] == "$ ls  "
    console.resize(3, 10)
    window.take(Resized(3, 10))
    window.paint()
    assert window.lines[3] == "─" * 10 + "┘"
    assert not window.view.needs_screen()
    window.feed(window.view.close())
    console.feed(b"still open")


def test_who_drives_is_passed_through_and_told_the_screen_anew_when_the_console_has_his_size() -> None:
    window = _Window(LARGE, is_driving=True)
    window.show(_console(SMALL))
    assert not window.terminal.modes.is_alternate
    assert not window.view.needs_screen(), "the console's other size is on its way"
    window.take(Resized(*LARGE))
    assert window.view.needs_screen()
    window.show(_console(LARGE))
    assert not window.view.needs_screen()
    window.resize(SMALL)
    assert not window.view.needs_screen()
    window.take(Resized(*SMALL))
    assert window.view.needs_screen()


def test_a_line_of_ours_is_over_the_last_one_and_the_screen_is_told_anew_afterwards() -> None:
    window = _Window(SMALL, is_driving=True)
    window.feed(window.view.announce("ctrl+] leaves"))
    assert window.lines == ["$ cloche attach box"], "not before there is a screen"
    console = _console(SMALL, b"1\r\n2\r\n3\r\n4\r\n5\x1b[31m\x1b[2;3r\x1b[?6h\x1b(0\x1b[1;2H")
    window.show(console)
    assert window.lines == ["1", "2", "3", "4", "ctrl+] leaves"]
    assert (window.terminal.cursor.row, window.terminal.cursor.col) == (1, 1)
    window.take(Output(b"q"))
    assert window.lines[1] == "2─", "the character set is the console's again"
    assert not window.view.needs_screen()
    window.view.withdraw()
    assert window.view.needs_screen()
    window.show(console)
    assert window.lines[-1] == "5"


def test_a_line_of_ours_is_the_status_of_a_painted_console() -> None:
    window = _Window(LARGE, is_driving=False)
    window.show(_console(SMALL))
    window.feed(window.view.announce("bob\x1b[2J drives"))
    window.paint()
    assert window.lines[-1] == "bob\\x1b[2J drives"
    window.view.withdraw()
    window.paint()
    assert window.lines[-1] == "status"
    assert not window.view.needs_screen()


def test_a_terminal_that_was_somebody_else_s_for_a_while_is_told_the_screen_anew() -> None:
    passed, painted = _Window(SMALL, is_driving=True), _Window(LARGE, is_driving=False)
    for window in (passed, painted):
        window.show(_console(SMALL))
        window.feed(b"\x1b[H\x1b[Jgarbage")
        window.view.spoil()
        window.paint()
    assert passed.view.needs_screen()
    assert painted.lines[0].startswith("one ")


def test_an_unfinished_update_is_known_and_not_waited_for_for_ever() -> None:
    for size in (SMALL, LARGE):
        window = _Window(size, is_driving=False)
        window.show(_console(SMALL))
        states = [window.view.is_in_update]
        window.take(Output(b"\x1b[?2026h"))
        states.append(window.view.is_in_update)
        assert states == [False, True]
        window.feed(window.view.let_go())
        assert not window.terminal.modes.is_held
        assert window.view.let_go() == b""


def test_the_terminal_is_given_back_with_the_cursor_below() -> None:
    window = _Window(SMALL, is_driving=True)
    window.show(_console(SMALL))
    window.take(Output(b"\x1b[?1049h\x1b[?1003h\x1b[?25l\x1b[5;5Hhi"))
    assert window.view.is_reporting
    window.feed(window.view.close())
    window.feed(b"$ ")
    assert window.lines == ["one", "two", "$", "$"]
    assert window.terminal.cursor.is_visible
    assert (window.terminal.modes.is_alternate, window.terminal.modes.mouse.value) == (False, "off")


def test_a_view_that_has_shown_nothing_has_nothing_to_give_back() -> None:
    assert View(SMALL, is_driving=True).close() == b""


def test_a_half_told_screen_is_not_painted_and_is_given_back_all_the_same() -> None:
    window = _Window(LARGE, is_driving=False)
    window.take(ScreenBegins(*SMALL, 0), Output(b"half"))
    assert window.view.frame("status") == b""
    window.feed(window.view.close())
    assert window.lines == ["$ cloche attach box"]
    assert not window.terminal.modes.is_held
