"""Somebody who looks elsewhere learns that a call waits, and which; nobody is rung for twice."""

from __future__ import annotations

import pytest

from cloche import ApprovalInfo
from cloche_tui.model.inbox import Inbox
from cloche_tui.widgets.attention import QUIET_S, Attention
from tests.support.approvals import apr, decided, told

A, B, C = (apr(number, method=f"call.{number}", deadline_s=10 * number) for number in (1, 2, 3))
SAVED, TITLE, RESTORED = "\033[22;2t", "\033]2;{}\a", "\033[23;2t"


class Terminal:
    """What was put out, and the inbox it was about."""

    def __init__(self, **wanted: bool) -> None:
        self.out: list[str] = []
        self.inbox, self.now = Inbox(), 100.0
        self.attention = Attention(self.out.append, name="Cloche", **wanted)

    def tell(self, *approvals: ApprovalInfo, after_s: float = QUIET_S) -> list[str]:
        """What is put out when the hub tells of them."""
        self.now += after_s
        for approval in approvals:
            self.inbox.apply(told(approval))
        return self.show()

    def show(self) -> list[str]:
        self.out.clear()
        self.attention.show(self.inbox, now=self.now)
        return self.out[:]

    def begin(self, *approvals: ApprovalInfo) -> list[str]:
        """What is put out when this is all that waits, after a connection was made."""
        self.inbox.begin()
        self.tell(*approvals)
        self.inbox.end_of_current()
        return self.show()


def untitled(*approvals: ApprovalInfo) -> Terminal:
    terminal = Terminal(titles=False)
    terminal.begin(*approvals)
    return terminal


def test_a_new_call_rings_and_is_named() -> None:
    assert untitled().tell(A) == ["\a", "\033]9;Cloche: box asks for call.1\a"]


def test_what_waited_before_rings_for_nobody() -> None:
    assert untitled(A, B).show() == []


def test_a_call_rings_once() -> None:
    terminal = untitled()
    terminal.tell(A)
    assert terminal.tell(A) == []
    assert terminal.begin(A) == []


def test_what_came_while_the_connection_was_lost_rings() -> None:
    terminal = untitled(A)
    terminal.inbox.begin()
    assert terminal.tell(A, B) == ["\a", "\033]9;Cloche: box asks for call.2 (2 waiting)\a"]


def test_many_new_calls_ring_once_in_a_while_with_their_number() -> None:
    terminal = untitled()
    terminal.tell(A)
    assert terminal.tell(B, after_s=1) == []
    assert terminal.tell(C, after_s=1) == []
    assert terminal.tell(after_s=QUIET_S) == [
        "\a",
        "\033]9;Cloche: 2 new calls, 3 waiting; first call.2 of box\a",
    ]
    assert terminal.tell() == []


def test_what_is_decided_before_anybody_was_rung_for_rings_no_more() -> None:
    terminal = untitled()
    terminal.tell(A)
    terminal.tell(B, after_s=1)
    assert terminal.tell(decided(B)) == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"rings": False}, ["\033]9;Cloche: box asks for call.1\a"]),
        ({"notifies": False}, ["\a"]),
        ({"rings": False, "notifies": False}, []),
    ],
)
def test_each_can_be_switched_off(wanted: dict[str, bool], expected: list[str]) -> None:
    terminal = Terminal(titles=False, **wanted)
    terminal.begin()
    assert terminal.tell(A) == expected


def test_hostile_names_are_put_out_printable_and_short() -> None:
    terminal = untitled()
    _, notification = terminal.tell(apr(1, sandbox_name="\a\033]52;c;aGk=\a\x9c" + "x" * 500))
    inside = notification.removeprefix("\033]9;").removesuffix("\a")
    assert inside.isprintable()
    assert inside.startswith(r"Cloche: \x07\x1b]52;c;aGk=\x07\x9cxxx")
    assert len(inside) <= 120


def test_the_title_has_the_number_that_waits_and_is_given_back() -> None:
    terminal = Terminal(rings=False, notifies=False)
    assert terminal.begin() == []
    assert terminal.tell(A, B) == [TITLE.format("(2) Cloche")]
    assert terminal.tell(A) == []
    assert terminal.tell(decided(A), decided(B)) == [TITLE.format("Cloche")]
    terminal.out.clear()
    terminal.attention.close()
    terminal.attention.close()
    assert terminal.out == [TITLE.format(""), RESTORED]


def test_the_title_that_was_there_is_kept_first() -> None:
    terminal = Terminal(rings=False, notifies=False)
    assert terminal.show() == [SAVED, TITLE.format("Cloche")]


def test_the_title_is_given_back_when_it_is_switched_off() -> None:
    terminal = Terminal(rings=False, notifies=False)
    terminal.show()
    terminal.attention.titles = False
    assert terminal.show() == [TITLE.format(""), RESTORED]
    assert terminal.show() == []
