"""What a program wants copied is copied when the person was told of it, had the time to read it, and lets it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloche_tui.model.clipboard import WAITS_S, CopyRequests
from cloche_tui.model.console_status import ConsoleStatus, Keys, Phase, Size
from cloche_tui.widgets import pane_clipboard
from cloche_tui.widgets.pane_clipboard import READ_S, PaneClipboard
from tests.tui.consoles import console
from tests.tui.model.test_clipboard import osc52

WIDE, NARROW = Size(24, 120), Size(24, 30)


class Bench:
    """A program, a person, and the time it is.

    Attributes:
        copied: what has been put on the clipboard.
    """

    def __init__(self) -> None:
        self.requests, self.clipboard = CopyRequests(), PaneClipboard()
        self.now = 100.0
        self.copied: list[str] = []

    @property
    def status(self) -> ConsoleStatus:
        return ConsoleStatus(Phase.LIVE, console(), copying=self.requests.newest(self.now))

    def ask(self, text: str, window: Size = WIDE, notice: str = "") -> None:
        """The program wants this copied, which is shown in a pane of this size."""
        self.requests.hear(osc52(text), self.now)
        self.clipboard.shown(self.status, window, Keys(), notice)

    def let(self) -> str:
        """The person presses the key."""
        return self.clipboard.let(self.requests, self.status, Keys(), self.copied.append)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench()
    monkeypatch.setattr(pane_clipboard, "monotonic", lambda: bench.now)
    return bench


def test_what_was_told_is_copied_once(bench: Bench) -> None:
    bench.ask("hello")
    bench.now += READ_S
    assert bench.let() == "copied 5 characters of box/1: hello"
    assert bench.let() == "no program here wants to copy anything"
    assert bench.copied == ["hello"]


def test_a_key_that_was_on_its_way_when_a_program_asked_copies_nothing(bench: Bench) -> None:
    bench.ask("hello")
    assert bench.let() == "it has only just asked: read it, then Y again"
    bench.now += READ_S
    bench.let()
    assert bench.copied == ["hello"]


def test_another_text_in_the_place_of_one_that_was_read_has_to_be_read_too(bench: Bench) -> None:
    bench.ask("harmless")
    bench.now += 5
    bench.ask("harmful")
    assert "only just asked" in bench.let()
    assert bench.copied == []


def test_another_text_that_has_come_but_is_not_shown_yet_is_not_copied(bench: Bench) -> None:
    bench.ask("harmless")
    bench.now += 5
    bench.requests.hear(osc52("harmful"), bench.now)
    assert "(harmful)" in bench.let()
    assert bench.copied == []


@pytest.mark.parametrize(("window", "notice"), [(NARROW, ""), (WIDE, "ann drives now")])
def test_what_there_was_no_room_for_is_told_before_it_is_copied(
    bench: Bench, window: Size, notice: str
) -> None:
    bench.ask("hello", window, notice)
    bench.now += READ_S
    assert bench.let() == "box/1 wants to copy 5 characters: Y again lets it (hello)"
    assert "only just asked" in bench.let()
    bench.now += READ_S
    bench.let()
    assert bench.copied == ["hello"]


def test_the_same_text_asked_for_again_later_has_to_be_read_again(bench: Bench) -> None:
    bench.ask("hello")
    bench.now += 40
    bench.clipboard.shown(bench.status, WIDE, Keys(), "")
    bench.ask("hello")
    assert "only just asked" in bench.let()


def test_what_nobody_saw_is_told_once_when_it_is_too_late(bench: Bench) -> None:
    requests = bench.requests
    requests.hear(osc52("hello"), bench.now)
    assert bench.clipboard.missed(requests.newest(bench.now), is_seen=False) == ""
    bench.now += WAITS_S
    assert bench.clipboard.missed(requests.newest(bench.now), is_seen=False) == ""
    told = "not copied: while this was hidden its program asked to copy 5 characters"
    assert bench.clipboard.missed(requests.newest(bench.now), is_seen=True) == told
    assert bench.clipboard.missed(None, is_seen=True) == ""


@pytest.mark.parametrize("text", ["hello", "x" * (70 << 10)])
def test_what_is_seen_in_time_or_was_refused_is_not_missed(bench: Bench, text: str) -> None:
    bench.requests.hear(osc52(text), bench.now)
    request = bench.requests.newest(bench.now)
    assert request is not None
    is_refused = bool(request.refusal)
    assert bench.clipboard.missed(request, is_seen=False) == ""
    assert bench.clipboard.missed(request, is_seen=not is_refused) == ""
    assert bench.clipboard.missed(None, is_seen=True) == ""


def test_what_is_refused_is_not_copied(bench: Bench) -> None:
    bench.ask("x" * (65 << 10))
    bench.now += READ_S
    assert bench.let() == "not copied: more than 64 KiB"
    assert bench.copied == []


def test_of_a_console_that_is_not_known_nothing_is_copied(bench: Bench) -> None:
    bench.ask("hello")
    status = replace(bench.status, info=None)
    assert bench.clipboard.let(bench.requests, status, Keys(), bench.copied.append).startswith("no program")
