"""What tells one hub from another: its name and colour, or a colour that follows from its address."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from cloche_tui.themes.hubs import (
    _NAMED,
    _NO_ONE_S,
    HubMark,
    MarkRule,
    hub_mark,
    hubs_path,
    load_hub_marks,
    read_hub_marks,
)

PRODUCTION = """
[production]
address = "wss://cloche.example:*"
colour = "red"

[mine]
address = "unix:///*"
"""


def test_a_hub_has_the_name_and_the_colour_it_was_given() -> None:
    rules, problems = read_hub_marks(PRODUCTION)
    assert problems == ()
    assert hub_mark("wss://cloche.example:8443", rules) == HubMark("production", "#b3262a".upper())
    assert hub_mark("unix:///run/cloche/hub.sock", rules).name == "mine"


def test_the_first_rule_for_a_hub_counts() -> None:
    rules = (MarkRule("ws://a*", HubMark("one", "#111111")), MarkRule("*", HubMark("all", "#222222")))
    assert [hub_mark(address, rules).name for address in ("ws://a:1", "ws://b:1")] == ["one", "all"]


def test_a_pattern_s_stars_alone_are_special() -> None:
    rule = MarkRule("ws://[::1]:*", HubMark("here", "#111111"))
    assert rule.is_of("ws://[::1]:8080")
    assert not rule.is_of("ws://:8080")


def test_a_hub_nobody_speaks_of_has_a_colour_that_is_always_the_same() -> None:
    mark = hub_mark("ws://somewhere:8080")
    assert mark.name == ""
    assert mark == hub_mark("ws://somewhere:8080", ())
    assert len({hub_mark(f"ws://host-{number}:8080").colour for number in range(100)}) == len(_NO_ONE_S)


@pytest.mark.parametrize("colour", [*_NO_ONE_S, *_NAMED.values(), "#ffffff", "#ffff00", "#000000"])
def test_its_name_can_be_read_on_every_colour(colour: str) -> None:
    style = HubMark("x", colour).style
    assert style.color is not None
    behind, text = Color.parse(colour), Color.from_rich_color(style.color)
    assert abs(behind.brightness - text.brightness) >= 0.45


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[x", "hubs.toml: Expected ']' at the end of a table declaration (at end of document)"),
        ("x = 1", 'hubs.toml: x: give a table: [x], address = "ws://…", colour = "red"'),
        ('[x]\ncolour = "red"', 'hubs.toml: x: give its address, such as "ws://host:8080" or "unix:///*"'),
        ('[x]\naddress = "*"\ncolor = "red"', "hubs.toml: x: there is no such key: color; there are address and colour"),
        ('[x]\naddress = "*"\ncolour = "rot"', "hubs.toml: x: 'rot' is no colour; give one such as \"red\" or \"#b3262a\""),
        ('[x]\naddress = "*"\ncolour = 3', "hubs.toml: x: 3 is no colour; give one such as \"red\" or \"#b3262a\""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line_and_left_out(text: str, problem: str) -> None:
    assert read_hub_marks(text) == ((), (problem,))


def test_the_file_is_read_where_settings_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load_hub_marks() == ((), ())
    hubs_path().parent.mkdir()
    hubs_path().write_text(PRODUCTION)
    rules, _ = load_hub_marks()
    assert [rule.mark.name for rule in rules] == ["production", "mine"]
    hubs_path().write_bytes(b"\xff")
    assert load_hub_marks() == ((), (f"{hubs_path()} is no UTF-8",))
    hubs_path().unlink()
    hubs_path().mkdir()
    assert load_hub_marks() == ((), (f"{hubs_path()} cannot be read: Is a directory",))
    assert hubs_path({"HOME": "/home/ann"}) == Path("/home/ann/.config/cloche/hubs.toml")


def test_an_address_with_many_stars_is_no_more_work_than_one_with_few() -> None:
    rule = MarkRule("ws://" + "*a" * 30 + "*b", HubMark("here", "#111111"))
    assert not rule.is_of("ws://" + "a" * 200)


def test_a_file_that_is_nested_too_deep_is_said() -> None:
    assert read_hub_marks("a = " + "[" * 30_000) == ((), ("hubs.toml: it is nested too deep",))


def test_what_does_not_print_in_a_name_is_escaped() -> None:
    (rule,), _ = read_hub_marks('["a\\u001b[2J"]\naddress = "*"')
    assert rule.mark.name == r"a\x1b[2J"
