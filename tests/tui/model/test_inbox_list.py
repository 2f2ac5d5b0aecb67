"""A call is decided by a key that was meant for it, or not at all."""

from __future__ import annotations

from cloche import ApprovalInfo
from cloche_tui.model.guard import QUIET_S, Cause
from cloche_tui.model.inbox import Inbox
from cloche_tui.model.inbox_list import Decide, InboxList
from tests.support.approvals import apr, decided, told

A, B, C = (apr(number, method=f"call.{number}", deadline_s=10 * number) for number in (1, 2, 3))


class Desk:
    """An inbox, the list of it, and a clock."""

    def __init__(self, *approvals: ApprovalInfo) -> None:
        self.now, self.inbox, self.list = 100.0, Inbox(), InboxList()
        self.tell(*approvals)
        self.rest()

    def tell(self, *approvals: ApprovalInfo, change: str = "changed") -> None:
        for approval in approvals:
            self.inbox.apply(told(approval, change))
        self.list.show(self.inbox, now=self.now)

    def rest(self, seconds: float = QUIET_S) -> None:
        self.now += seconds

    def press(self) -> str:
        """What a key comes to: the id it decides, or why it does not."""
        outcome = self.list.press(now=self.now)
        return outcome.approval.id if isinstance(outcome, Decide) else outcome.why

    @property
    def selected(self) -> str | None:
        return self.list.selected.id if self.list.selected else None

    def move(self, by: int) -> None:
        """To another row, as a person does; at an end it stays there."""
        ids = [one.id for one in self.list.rows]
        place = ids.index(self.selected or "") + by
        self.list.select(ids[min(max(place, 0), len(ids) - 1)], now=self.now)


# Selecting.


def test_the_nearest_deadline_is_selected_at_first() -> None:
    assert Desk(C, A, B).selected == A.id


def test_a_person_goes_through_the_list() -> None:
    desk = Desk(A, B, C)
    for by, expected in ((1, B), (5, C), (1, C), (-9, A)):
        desk.move(by)
        assert desk.selected == expected.id


def test_an_empty_list_has_nothing_to_go_to() -> None:
    desk = Desk()
    desk.list.select("apr_0001", now=desk.now)
    assert desk.selected is None
    assert desk.press() == "no call is selected"


def test_the_selection_stays_with_its_call_when_another_comes_above_it() -> None:
    desk = Desk(B)
    desk.tell(A)
    assert [one.id for one in desk.list.rows] == [A.id, B.id]
    assert desk.selected == B.id
    assert desk.press() == B.id


def test_the_selection_stays_with_its_call_when_somebody_else_decides_it() -> None:
    desk = Desk(A, B)
    desk.tell(decided(A))
    assert desk.selected == A.id
    assert desk.press() == "nothing was decided: this call does not wait any more"


def test_where_the_selected_one_is_gone_its_neighbour_is_selected_and_keys_wait() -> None:
    desk = Desk(A, B, C)
    desk.move(1)
    desk.tell(B, change="gone")
    assert desk.selected == C.id
    assert desk.press() == "nothing was decided: it has only just come up"


def test_where_all_are_gone_nothing_is_selected() -> None:
    desk = Desk(A)
    desk.tell(A, change="gone")
    assert desk.selected is None


def test_what_is_filtered_out_is_counted_and_not_selected() -> None:
    desk = Desk(A, B, C)
    desk.list.filter(lambda one: one.method == "call.2", desk.inbox, now=desk.now)
    assert [one.id for one in desk.list.rows] == [B.id]
    assert (desk.selected, desk.list.known) == (B.id, 3)
    desk.list.filter(None, desk.inbox, now=desk.now)
    assert len(desk.list.rows) == 3
    assert desk.selected == B.id


# Deciding.


def test_a_call_that_comes_up_under_a_key_that_is_pressed_again_and_again_is_not_decided() -> None:
    desk = Desk()
    desk.press()
    desk.tell(A)
    for _ in range(20):
        desk.rest(0.2)
        assert desk.press() == "nothing was decided: it has only just come up"
    desk.rest()
    assert desk.press() == A.id


def test_a_key_acts_at_once_after_a_persons_own_move() -> None:
    desk = Desk(A, B)
    desk.move(1)
    assert desk.press() == B.id


def test_a_move_just_after_the_list_has_changed_may_have_been_meant_for_another() -> None:
    desk = Desk(A, B, C)
    desk.tell(decided(B))
    desk.rest(0.1)
    desk.move(1)
    assert desk.selected == C.id
    assert desk.press() == "nothing was decided: the list has only just changed"


def test_a_move_to_where_one_is_already_is_no_move() -> None:
    desk = Desk(A)
    desk.tell(B)
    desk.move(-1)
    assert desk.press() == A.id


def test_keys_wait_after_the_focus_came_and_after_typing_elsewhere() -> None:
    desk = Desk(A)
    for cause in (Cause.FOCUSED, Cause.TYPED):
        desk.list.disturb(cause, now=desk.now)
        assert desk.press() == f"nothing was decided: {cause.value}"
        desk.rest()
    assert desk.press() == A.id


def test_a_call_is_not_decided_twice_while_the_first_decision_is_on_its_way() -> None:
    desk = Desk(A)
    desk.list.send(A.id)
    assert desk.press() == "nothing was decided: this call does not wait any more"
    desk.list.fail(A.id)
    assert desk.press() == A.id


def test_after_ones_own_decision_the_next_one_is_selected_and_keys_wait() -> None:
    desk = Desk(A, B, C)
    desk.move(1)
    desk.list.send(B.id)
    desk.list.leave(B.id, now=desk.now)
    assert desk.selected == C.id
    assert desk.press() == "nothing was decided: it has only just come up"
    desk.tell(decided(B))
    assert desk.selected == C.id


def test_the_next_one_is_the_same_when_the_hub_tells_of_the_decision_before_it_answers() -> None:
    desk = Desk(A, B, C)
    desk.move(1)
    desk.list.send(B.id)
    desk.tell(decided(B))
    assert desk.selected == C.id
    desk.list.leave(B.id, now=desk.now)
    assert desk.selected == C.id


def test_after_the_last_one_the_one_above_is_next() -> None:
    desk = Desk(A, B)
    desk.move(1)
    desk.list.send(B.id)
    desk.list.leave(B.id, now=desk.now)
    assert desk.selected == A.id


def test_where_nothing_else_waits_the_decided_one_stays_until_another_call_arrives() -> None:
    desk = Desk(A)
    desk.list.send(A.id)
    desk.tell(decided(A))
    desk.list.leave(A.id, now=desk.now)
    assert desk.selected == A.id
    desk.rest()
    desk.tell(B)
    assert desk.selected == B.id
    assert desk.press() == "nothing was decided: it has only just come up"


def test_who_has_gone_to_a_decided_call_to_read_it_is_left_there() -> None:
    desk = Desk(decided(A), decided(B))
    desk.move(1)
    read = desk.selected
    desk.tell(C)
    assert desk.selected == read


def test_who_reads_how_somebody_else_decided_is_left_there_while_nothing_arrives() -> None:
    desk = Desk(A, B)
    desk.tell(decided(A))
    desk.tell(decided(A, reason="fine"))
    assert desk.selected == A.id
    desk.tell(C)
    assert desk.selected == B.id


def test_a_decision_made_elsewhere_after_one_has_left_takes_nobody_away() -> None:
    desk = Desk(A, B)
    desk.move(1)
    desk.list.leave(A.id, now=desk.now)
    assert desk.selected == B.id
    assert isinstance(desk.list.press(now=desk.now), Decide)
