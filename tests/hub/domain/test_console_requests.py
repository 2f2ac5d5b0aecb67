"""Parsing `console.open`."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_hub.domain.console_requests import ConsoleRequest, parse_console
from cloche_hub.errors import BadRequest


def console(**params: Any) -> ConsoleRequest:
    return parse_console({"sandbox": "web", **params})


def test_an_empty_request_is_a_login_shell_on_a_usual_terminal() -> None:
    assert console() == ConsoleRequest(
        "web", None, {"TERM": "xterm-256color"}, cwd=None, user=None, rows=24, cols=80
    )


def test_a_full_request_is_taken_over() -> None:
    full = console(
        argv=["vim", "a"], env={"A": "b"}, cwd="/srv", user="root", rows=1, cols=1000, term="screen.linux"
    )
    assert full == ConsoleRequest(
        "web", ("vim", "a"), {"TERM": "screen.linux", "A": "b"}, cwd="/srv", user="root", rows=1, cols=1000
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
