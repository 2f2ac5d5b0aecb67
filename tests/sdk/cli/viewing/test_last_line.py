"""Which line of ours is over the last one of a console, and when it goes."""

from __future__ import annotations

from cloche.cli.viewing.last_line import LINE_S, LastLine


def test_a_line_is_shown_once_and_goes_after_a_moment() -> None:
    line = LastLine()
    assert (line.take(0), line.ends(100)) == (None, False)
    line.announce("ann drives")
    assert (line.take(1), line.take(1)) == ("ann drives", None)
    assert not line.ends(1 + LINE_S - 0.01)
    assert line.until == 1 + LINE_S
    assert (line.ends(1 + LINE_S), line.ends(1 + LINE_S)) == (True, False)


def test_the_newest_is_shown_and_has_all_its_time() -> None:
    line = LastLine()
    line.announce("ann drives")
    line.announce("bob drives")
    assert line.take(0) == "bob drives"
    line.announce("cy drives")
    assert line.take(2) == "cy drives"
    assert not line.ends(LINE_S)
    assert line.ends(2 + LINE_S)


def test_what_lasts_stays_until_something_else_is_said_whatever_is_announced() -> None:
    line = LastLine()
    line.announce("you only watch")
    line.say("lost the hub", lasts=True)
    # Of the same moment, and read from the link after it was lost.
    line.announce("you drive now")
    assert line.take(0) == "lost the hub"
    line.announce("you only watch")
    assert (line.take(1), line.until, line.ends(1000)) == (None, None, False)
    line.say("the hub is back", lasts=False)
    assert line.take(1000) == "the hub is back"
    assert line.ends(1000 + LINE_S)
    line.announce("you only watch")
    assert line.take(2000) == "you only watch"
