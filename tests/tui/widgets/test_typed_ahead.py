"""Keys that wait are given back in order, and wait again when one of them says so."""

from __future__ import annotations

from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input

from cloche_tui.widgets.typed_ahead import MOST, Passed, TypedAhead, typed, typed_s_ago

A, B, C, TAB = *(events.Key(letter, letter) for letter in "abc"), events.Key("tab", "\t")


class Fields(App[None]):
    """Two of them."""

    def compose(self) -> ComposeResult:
        """As it says."""
        yield Input(id="one")
        yield Input(id="other")


def _holding() -> TypedAhead:
    ahead = TypedAhead()
    ahead.follow(A, Input(), ends_line=True)
    return ahead


def test_keys_wait_only_while_they_are_held() -> None:
    ahead = TypedAhead()
    assert not ahead.keeps(A)
    ahead.follow(A, Input(), ends_line=True)
    assert ahead.keeps(A)
    assert ahead.keeps(B)
    assert list(ahead.let_go()) == [A, B]
    assert not ahead.keeps(C)


def test_a_key_that_holds_the_others_leaves_them_waiting_in_their_order() -> None:
    ahead = _holding()
    for key in (A, B):
        ahead.keeps(key)
    given = []
    for key in ahead.let_go():
        given.append(key)
        ahead.follow(key, Input(), ends_line=True)
    ahead.keeps(C)
    assert given == [A]
    assert list(ahead.let_go()) == [B, C]


def test_keys_do_not_wait_for_ever_for_what_never_comes() -> None:
    ahead = TypedAhead()
    assert not ahead.tick()
    for _ in range(2):
        ahead.follow(A, Input(), ends_line=True)
        assert not ahead.tick()
    assert ahead.tick()
    assert ahead.keeps(B)
    assert list(ahead.let_go()) == [B]
    assert not ahead.tick()


def test_what_waits_is_bounded() -> None:
    ahead = _holding()
    for _ in range(2 * MOST):
        ahead.keeps(A)
    assert len(list(ahead.let_go())) == MOST


async def test_keys_wait_until_the_one_before_them_has_passed_or_who_took_it_is_done() -> None:
    app, ahead = Fields(), TypedAhead()
    async with app.run_test():
        for back in (TAB, Passed(TAB)):
            ahead.follow(TAB, app.query_one("#one"))
            assert ahead.keeps(B)
            assert not ahead.has_passed(C)
            assert ahead.has_passed(back)
            assert list(ahead.let_go()) == [B]
            # What comes behind it, the other of the two, is nobody's key.
            assert not ahead.has_passed(Passed(TAB))


async def test_a_letter_in_a_field_is_waited_for_by_nobody_nor_a_key_of_a_widget_that_is_gone() -> None:
    app, ahead = Fields(), TypedAhead()
    async with app.run_test():
        ahead.follow(A, app.query_one("#one"))
        assert not ahead.is_holding
        gone = app.query_one("#other")
        await gone.remove()
        ahead.follow(TAB, gone)
        assert not ahead.is_holding


async def test_it_is_known_how_old_the_key_is_because_of_which_a_worker_does_something() -> None:
    ages: list[float] = []

    async def work() -> None:
        ages.append(typed_s_ago())

    old = events.Key("d", "d")
    old.time -= 3600
    app = Fields()
    async with app.run_test():
        with typed(old):
            worker = app.run_worker(work())
        await worker.wait()
        await app.run_worker(work()).wait()
    assert 3600 <= ages[0] < 7200
    assert ages[1] == 0
