"""Parsing what is asked of consoles, and what viewers say."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_hub.domain.console_requests import (
    Ask,
    AttachRequest,
    ConsoleRequest,
    Give,
    Refresh,
    Resize,
    SendSignal,
    Take,
    parse_attach,
    parse_console_reference,
    parse_create_console,
    parse_viewer_message,
)
from cloche_hub.domain.driving import AttachMode
from cloche_hub.domain.fields import Fields
from cloche_hub.errors import BadRequest


def console(**params: Any) -> ConsoleRequest:
    return parse_create_console({"sandbox": "web", **params})


def test_an_empty_request_is_a_login_shell_on_a_usual_terminal() -> None:
    assert console() == ConsoleRequest(
        "web", None, {"TERM": "xterm-256color"}, cwd=None, user=None, rows=24, cols=80
    )


def test_a_full_request_is_taken_over() -> None:
    full = console(
        argv=["vim", "a"], env={"A": "b"}, cwd="/srv", user="root", rows=1, cols=1000, term="screen.linux"
    )
    assert full == ConsoleRequest(
        "web",
        ("vim", "a"),
        {"TERM": "screen.linux", "A": "b"},
        cwd="/srv",
        user="root",
        rows=1,
        cols=1000,
    )


def test_the_terminals_kind_is_the_field_or_else_the_variable() -> None:
    assert console(env={"TERM": "vt100"}).env == {"TERM": "vt100"}
    assert console(env={"TERM": "vt100"}, term="linux").env == {"TERM": "linux"}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"argv": []}, "argv must begin with a command"),
        ({"argv": "vim"}, "argv must be a list"),
        ({"env": {"A=B": "c"}}, "env has a variable"),
        ({"env": {"A": "x" * 100_000, "B": "x" * 100_000}, "argv": ["x" * 50_000]}, "argv and env are"),
        ({"cwd": "srv"}, "cwd must be an absolute path"),
        ({"user": "a b"}, "user 'a b' will not do"),
        ({"rows": 0}, "rows must be a whole number from 1 to 1000"),
        ({"rows": 1001}, "rows"),
        ({"rows": 51, "cols": 1000}, "too large"),
        ({"rows": "24"}, "rows"),
        ({"cols": 0}, "cols must be a whole number from 1 to 1000"),
        ({"cols": True}, "cols"),
        ({"term": ""}, "term must be 1 to 64 printable characters"),
        ({"term": "x" * 65}, "term"),
        ({"term": "a b"}, "term"),
        ({"term": "\x1b[2J"}, "term"),
        ({"term": "é"}, "term"),
        ({"term": 1}, "term must be a text"),
        ({"sandbox": None}, "sandbox is missing"),
        ({"timeout_s": 1}, "unknown field 'timeout_s'"),
    ],
)
def test_a_console_that_will_not_do_is_refused_by_the_fields_name(params: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        console(**params)


def test_the_audit_has_the_command_and_the_size_but_no_variables_value() -> None:
    assert console(argv=["vim"], env={"TOKEN": "secret"}, user="root").audit_detail() == {
        "argv": ["vim"],
        "env_names": ["TERM", "TOKEN"],
        "user": "root",
        "rows": 24,
        "cols": 80,
    }
    assert console(cwd="/").audit_detail() == {"env_names": ["TERM"], "cwd": "/", "rows": 24, "cols": 80}


def test_a_console_to_keep_may_have_a_name_and_is_recorded_unless_that_is_not_wanted() -> None:
    plain = parse_create_console({"sandbox": "web"})
    assert (plain.name, plain.record) == (None, True)
    named = parse_create_console({"sandbox": "web", "name": "build", "record": False})
    assert (named.name, named.record) == ("build", False)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"name": "boot"}, "the machine's own"),
        ({"record": 1}, "record must be true or false"),
        ({"x": 1}, "unknown"),
    ],
)
def test_a_console_to_keep_that_will_not_do_is_refused(params: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        parse_create_console({"sandbox": "web", **params})


def test_who_attaches_and_says_nothing_drives_the_newest_console_if_nobody_does() -> None:
    assert parse_attach({"sandbox": "web"}) == AttachRequest(None, AttachMode.DRIVE, 24, 80, scrollback=0)


def test_who_attaches_says_how() -> None:
    asked = {"sandbox": "web", "console": "1", "mode": "take", "rows": 1, "cols": 2, "scrollback": 500}
    assert parse_attach(asked) == AttachRequest("1", AttachMode.TAKE, 1, 2, scrollback=500)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"mode": "steal"}, "there are: drive, watch, take"),
        ({"rows": 0}, "rows"),
        ({"scrollback": -1}, "scrollback"),
        ({"scrollback": 10_001}, "scrollback"),
        ({"console": ""}, "console must be"),
        ({"name": "1"}, "unknown"),
    ],
)
def test_who_attaches_in_another_way_is_refused(params: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        parse_attach({"sandbox": "web", **params})


def test_a_console_may_be_left_out() -> None:
    assert parse_console_reference(Fields({"console": "1"})) == "1"
    assert parse_console_reference(Fields({})) is None


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ({"resize": {"rows": 3, "cols": 4}}, Resize(3, 4)),
        ({"signal": "TERM"}, SendSignal("TERM")),
        ({"signal": 64}, SendSignal(64)),
        ({"ask": True}, Ask()),
        ({"take": True}, Take()),
        ({"give": "v2"}, Give("v2")),
        ({"refresh": True}, Refresh()),
    ],
)
def test_what_a_viewer_says_has_one_entry(message: dict[str, Any], meant: object) -> None:
    assert parse_viewer_message(message) == meant


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("ask", "must be a map"),
        ({}, "one entry"),
        ({"ask": True, "take": True}, "one entry"),
        ({"steal": True}, "unknown field"),
        ({"ask": False}, "ask must be true"),
        ({"ask": 1}, "ask must be true or false"),
        ({"give": "v" * 21}, "give must be a viewer's id"),
        ({"give": None}, "give is missing"),
        ({"resize": None}, "must be a map"),
        ({"resize": {"rows": 0, "cols": 1}}, "rows"),
        ({"resize": {"rows": 1, "cols": 1, "x": 1}}, "unknown field"),
        ({"signal": "term"}, "signal must be a name"),
        ({"signal": 0}, "signal"),
        ({"signal": 65}, "signal"),
        ({"signal": True}, "signal"),
        ({"signal": None}, "signal"),
    ],
)
def test_what_a_viewer_says_otherwise_is_refused(message: object, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        parse_viewer_message(message)
