"""What waits stands by its deadline, then what was decided in this sitting."""

from __future__ import annotations

from cloche_tui.model import inbox as module
from cloche_tui.model.inbox import Inbox
from tests.support.approvals import NOW, apr, decided, told

SOON, LATER, LATEST = (
    apr(number, deadline_s=deadline_s) for number, deadline_s in ((3, 10), (1, 20), (2, 30))
)


def inbox_of(*approvals: object) -> Inbox:
    inbox = Inbox()
    for approval in approvals:
        inbox.apply(told(approval))  # type: ignore[arg-type]
    return inbox


def test_the_nearest_deadline_stands_on_top() -> None:
    inbox = inbox_of(LATEST, SOON, LATER)
    assert inbox.pending == [SOON, LATER, LATEST]
    assert inbox.waiting == 3
    assert inbox.next_deadline == SOON.deadline_at


def test_an_empty_one_has_no_deadline() -> None:
    inbox = Inbox()
    assert (inbox.waiting, inbox.next_deadline, inbox.get("apr_0001")) == (0, None, None)


def test_what_is_decided_stands_apart_the_newest_first() -> None:
    inbox = inbox_of(SOON, LATER, decided(SOON, decided_s=1), decided(LATER, "denied", decided_s=2))
    assert inbox.waiting == 0
    assert [(one.id, one.state) for one in inbox.decided] == [
        ("apr_0001", "denied"),
        ("apr_0003", "approved"),
    ]
    assert inbox.get("apr_0003") == decided(SOON, decided_s=1)


def test_it_counts_what_waits_of_a_sandbox() -> None:
    inbox = inbox_of(SOON, apr(8, sandbox="sb_0002"), LATER)
    assert (inbox.waiting_of("sb_0001"), inbox.waiting_of("sb_0002"), inbox.waiting_of("sb_0003")) == (
        2,
        1,
        0,
    )


def test_what_is_none_of_ours_any_more_is_gone() -> None:
    inbox = inbox_of(SOON, LATER)
    inbox.apply(told(SOON, "gone"))
    assert inbox.pending == [LATER]


def test_what_a_new_connection_does_not_tell_does_not_wait_any_more() -> None:
    inbox = inbox_of(SOON, decided(LATER))
    inbox.begin()
    assert inbox.pending == [SOON]
    inbox.apply(told(LATEST, "current"))
    inbox.end_of_current()
    assert inbox.pending == [LATEST]
    assert [one.id for one in inbox.decided] == [LATER.id]


def test_a_second_end_of_what_there_is_takes_nothing_away() -> None:
    inbox = inbox_of(SOON)
    inbox.end_of_current()
    assert inbox.pending == [SOON]


def test_it_is_known_once_the_hub_has_told_all_that_wait() -> None:
    inbox = Inbox()
    inbox.begin()
    assert not inbox.is_known
    inbox.end_of_current()
    assert inbox.is_known


def test_of_what_is_decided_only_the_newest_are_kept() -> None:
    count = module.MOST_DECIDED + 1
    inbox = inbox_of(*(decided(apr(number), decided_s=number) for number in range(count)))
    assert len(inbox.decided) == module.MOST_DECIDED
    assert inbox.get("apr_0000") is None
    assert inbox.decided[0].decided_at is not None
    assert (inbox.decided[0].decided_at - NOW).total_seconds() == count - 1
