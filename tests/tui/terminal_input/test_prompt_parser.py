"""How long Textual waits for what may follow an Esc."""

from __future__ import annotations

from time import monotonic

import pytest
from textual import constants
from textual.events import Key, MouseDown

from cloche_tui.terminal_input.prompt_parser import ESCAPE_WAIT_S, PromptParser


def test_an_esc_alone_is_waited_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ESCDELAY", raising=False)
    parser = PromptParser()
    assert list(parser.feed("\x1b")) == []
    assert (parser.deadline or 0) <= monotonic() + ESCAPE_WAIT_S < monotonic() + constants.ESCAPE_DELAY


def test_who_says_in_the_environment_how_long_gets_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESCDELAY", "100")
    parser = PromptParser()
    before = monotonic()
    list(parser.feed("\x1b"))
    assert parser.deadline is not None
    assert parser.deadline >= before + constants.ESCAPE_DELAY


def test_a_whole_key_leaves_nothing_to_wait_for() -> None:
    parser = PromptParser()
    (key,) = parser.feed("\x1b[A")
    assert isinstance(key, Key)
    assert key.key == "up"
    assert parser.deadline is None


def test_a_parser_in_the_place_of_another_knows_how_the_terminal_tells_of_the_mouse() -> None:
    parser = PromptParser()
    list(parser.feed("\x1b[48;24;80;480;1600t"))
    with pytest.raises(ValueError, match="invalid literal"):
        list(parser.feed("\x1b[97:65;2:1u"))
    (press,) = parser.renewed().feed("\x1b[<0;41;41M")
    assert isinstance(press, MouseDown)
    assert (press.x, press.y) == (2, 2)
