"""Keys that wait are given back in order, and wait again when one of them says so."""

from __future__ import annotations

from textual import events

from cloche_tui.widgets.typed_ahead import MOST, TypedAhead

A, B, C = (events.Key(letter, letter) for letter in "abc")


def test_keys_wait_only_while_they_are_held() -> None:
    ahead = TypedAhead()
    assert not ahead.keeps(A)
    ahead.hold()
    assert ahead.keeps(A)
    assert ahead.keeps(B)
    assert list(ahead.let_go()) == [A, B]
    assert not ahead.keeps(C)


def test_a_key_that_holds_the_others_leaves_them_waiting_in_their_order() -> None:
    ahead = TypedAhead()
    ahead.hold()
    for key in (A, B):
        ahead.keeps(key)
    given = []
    for key in ahead.let_go():
        given.append(key)
        ahead.hold()
    ahead.keeps(C)
    assert given == [A]
    assert list(ahead.let_go()) == [B, C]


def test_what_waits_is_bounded() -> None:
    ahead = TypedAhead()
    ahead.hold()
    for _ in range(2 * MOST):
        ahead.keeps(A)
    assert len(list(ahead.let_go())) == MOST
