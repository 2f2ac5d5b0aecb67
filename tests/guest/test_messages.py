"""Requests become values at the border, or are refused by the name of the field."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_guest.messages import (
    ExecRequest,
    Identity,
    parse_become,
    parse_exec,
    parse_signal,
    signal_name,
)
from cloche_wire.errors import BadRequest

BECOME = {
    "sandbox": "sb_1",
    "hostname": "quiet-otter",
    "machine_id": "0123456789abcdef" * 2,
    "entropy": bytes(64),
    "clock_ns": 1_700_000_000_000_000_000,
    "env": {"TOKEN": "x"},
}


def test_become_with_every_field_is_an_identity() -> None:
    assert parse_become(BECOME) == Identity(
        sandbox="sb_1",
        hostname="quiet-otter",
        machine_id="0123456789abcdef" * 2,
        entropy=bytes(64),
        clock_ns=1_700_000_000_000_000_000,
        env={"TOKEN": "x"},
    )


def test_an_identity_keeps_its_secrets_out_of_its_repr() -> None:
    shown = repr(parse_become({**BECOME, "env": {"TOKEN": "secret-value"}}))
    assert "secret-value" not in shown
    assert "entropy" not in shown


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sandbox", None),
        ("sandbox", 7),
        ("hostname", "two words"),
        ("hostname", "a\n127.0.0.1 bank"),
        ("hostname", "a" * 65),
        ("machine_id", "0" * 31),
        ("machine_id", "G" * 32),
        ("entropy", b"short"),
        ("entropy", "0" * 64),
        ("clock_ns", 0),
        ("clock_ns", 1.5),
        ("clock_ns", True),
        ("env", ["A=1"]),
        ("env", {"A": 1}),
        ("env", {"A=B": "1"}),
        ("env", {"": "1"}),
        ("env", {"A": "nul\0"}),
        ("surprise", 1),
    ],
)
def test_become_with_a_wrong_field_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(BadRequest, match=field):
        parse_become({**BECOME, field: value})


def test_an_exec_needs_an_id_and_a_command_and_has_defaults_for_the_rest() -> None:
    assert parse_exec({"exec": "ex_1", "argv": ["true"]}) == ExecRequest(
        exec_id="ex_1", argv=("true",), env={}, cwd=None, user=None, timeout_s=None, stdin=False
    )


def test_an_exec_with_every_field_keeps_them_all() -> None:
    params = {
        "exec": "ex_1",
        "argv": ["printf", "ü"],
        "env": {"A": "1"},
        "cwd": "/srv",
        "user": 1001,
        "timeout_s": 2,
        "stdin": True,
    }
    assert parse_exec(params) == ExecRequest(
        exec_id="ex_1",
        argv=("printf", "ü"),
        env={"A": "1"},
        cwd="/srv",
        user="1001",
        timeout_s=2.0,
        stdin=True,
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("exec", ""),
        ("argv", []),
        ("argv", "true"),
        ("argv", [""]),
        ("argv", ["true", 1]),
        ("argv", ["nul\0"]),
        ("env", {"A": None}),
        ("cwd", "srv"),
        ("cwd", 1),
        ("user", ""),
        ("user", True),
        ("user", 1 << 32),
        ("timeout_s", 0),
        ("timeout_s", -1),
        ("timeout_s", float("nan")),
        ("timeout_s", float("inf")),
        ("timeout_s", "5"),
        ("stdin", 1),
        ("tty", True),
    ],
)
def test_an_exec_with_a_wrong_field_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(BadRequest, match=field):
        parse_exec({"exec": "ex_1", "argv": ["true"], field: value})


@pytest.mark.parametrize(
    ("asked", "number"), [("TERM", 15), ("SIGKILL", 9), (2, 2), ("34", 34), (64, 64), ("CLD", 17)]
)
def test_a_signal_has_a_name_or_a_number(asked: Any, number: int) -> None:
    assert parse_signal({"signal": asked}) == number


@pytest.mark.parametrize(
    "message",
    [{"signal": "NOPE"}, {"signal": 0}, {"signal": 65}, {"signal": True}, {}, "TERM", {"resize": 1}],
)
def test_what_is_no_signal_is_refused(message: Any) -> None:
    with pytest.raises(BadRequest):
        parse_signal(message)


@pytest.mark.parametrize(("number", "name"), [(15, "TERM"), (9, "KILL"), (34, "34"), (40, "40"), (64, "64")])
def test_a_signal_is_named_without_sig_and_a_realtime_one_by_its_number(number: int, name: str) -> None:
    assert signal_name(number) == name
    assert parse_signal({"signal": name}) == number
