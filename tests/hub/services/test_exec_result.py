"""What is taken from a guest's account of how a command began and ended."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.errors import CodedError, CommandNotStarted, Conflict, Forbidden, NotFound, SenselessAnswer
from cloche_hub.services.exec_result import (
    Ending,
    ExecResult,
    parse_console_start,
    parse_ending,
    parse_exec_result,
    parse_exec_start,
    parse_taken_offset,
    without_files,
)

EXIT = {"exit_code": 3, "timed_out": False, "duration_s": 0.25}
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.lists(st.text(), max_size=2),
)


def test_an_exit_and_a_signal_are_understood() -> None:
    assert parse_exec_result(EXIT) == ExecResult(3, None, timed_out=False, duration_s=0.25)
    killed = {"signal": "KILL", "timed_out": True, "duration_s": 2}
    assert parse_exec_result(killed) == ExecResult(None, "KILL", timed_out=True, duration_s=2.0)


def test_a_real_time_signal_is_its_number() -> None:
    assert parse_exec_result({**EXIT, "exit_code": None, "signal": "34"}).signal == "34"


def test_fields_that_nobody_knows_are_no_error_and_are_not_passed_on() -> None:
    assert parse_exec_result({**EXIT, "cpu_s": 0.1, "stdout": "x" * 9999}).fields() == EXIT
    killed = {"signal": "KILL", "timed_out": True, "duration_s": 2.0}
    assert parse_exec_result({**killed, "exit_code": None}).fields() == killed


def test_the_end_of_a_console_has_no_deadline() -> None:
    ended = parse_ending({"exit_code": 3, "duration_s": 0.25, "timed_out": "never"})
    assert ended == Ending(3, None, 0.25)
    assert ended.fields() == {"exit_code": 3, "duration_s": 0.25}
    assert ended.audit_detail() == {"exit_code": 3, "duration_ms": 250}
    assert parse_ending({"signal": "HUP", "duration_s": 1}).fields() == {"signal": "HUP", "duration_s": 1.0}
    with pytest.raises(SenselessAnswer, match="duration_s"):
        parse_ending({"exit_code": 3})


def test_a_consoles_start_is_told_as_the_hub_calls_it() -> None:
    assert parse_console_start({"console": "con_1", "pid": 4, "motd": 1}, console_id="con_1") == {
        "console": "con_1",
        "pid": 4,
    }
    with pytest.raises(SenselessAnswer, match="console"):
        parse_console_start({"console": "con_2", "pid": 4}, console_id="con_1")


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"exec": "ex_1", "pid": 4}, {"exec": "ex_1", "pid": 4}),
        ({"pid": 1 << 22, "motd": "\x1b[2J" * 999}, {"exec": "ex_1", "pid": 1 << 22}),
        ({}, {"exec": "ex_1"}),
    ],
)
def test_of_a_start_only_what_is_known_is_told(info: dict[str, Any], told: dict[str, Any]) -> None:
    assert parse_exec_start(info, exec_id="ex_1") == told


@pytest.mark.parametrize(
    ("info", "named"),
    [
        ({"exec": "ex_2", "pid": 4}, "exec"),
        ({"exec": None}, "exec"),
        ({"pid": 0}, "pid"),
        ({"pid": True}, "pid"),
        ({"pid": "4"}, "pid"),
        ({"pid": (1 << 22) + 1}, "pid"),
    ],
)
def test_a_start_that_makes_no_sense_is_named(info: dict[str, Any], named: str) -> None:
    with pytest.raises(SenselessAnswer, match=named):
        parse_exec_start(info, exec_id="ex_1")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"exit_code": None}, "neither or both"),
        ({"signal": "KILL"}, "neither or both"),
        ({"exit_code": 256}, "exit_code"),
        ({"exit_code": -1}, "exit_code"),
        ({"exit_code": True}, "exit_code"),
        ({"exit_code": None, "signal": "SIG KILL"}, "signal"),
        ({"exit_code": None, "signal": "X" * 21}, "signal"),
        ({"timed_out": 1}, "timed_out"),
        ({"duration_s": -0.1}, "duration_s"),
        ({"duration_s": 1e10}, "duration_s"),
        ({"duration_s": float("nan")}, "duration_s"),
        ({"duration_s": True}, "duration_s"),
    ],
)
def test_what_makes_no_sense_is_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(SenselessAnswer, match=named):
        parse_exec_result(EXIT | change)


@given(st.dictionaries(st.sampled_from(["exit_code", "signal", "timed_out", "duration_s"]), anything))
def test_whatever_a_guest_says_is_a_result_the_audit_can_hold_or_an_error(claim: dict[str, Any]) -> None:
    try:
        result = parse_exec_result(claim)
    except SenselessAnswer:
        return
    detail = result.audit_detail()
    assert isinstance(detail["duration_ms"], int)
    assert ("exit_code" in detail) != ("signal" in detail)


def test_the_audit_is_told_in_whole_milliseconds_and_of_a_time_out_only_if_there_was_one() -> None:
    assert ExecResult(0, None, timed_out=False, duration_s=1.2345).audit_detail() == {
        "duration_ms": 1234,
        "exit_code": 0,
    }
    assert ExecResult(None, "KILL", timed_out=True, duration_s=1).audit_detail() == {
        "duration_ms": 1000,
        "signal": "KILL",
        "timed_out": True,
    }


@pytest.mark.parametrize(
    ("info", "is_good"),
    [
        ({"offset": 5}, True),
        ({"offset": 9}, True),
        ({"offset": 4}, False),
        ({}, False),
        ({"offset": 1 << 63}, False),
        ({"offset": True}, False),
    ],
)
def test_a_console_that_is_taken_over_goes_on_where_it_was_asked_to_or_later(
    info: dict[str, int], *, is_good: bool
) -> None:
    if is_good:
        assert parse_taken_offset(info, 5) == info["offset"]
        return
    with pytest.raises(SenselessAnswer, match="offset"):
        parse_taken_offset(info, 5)


@pytest.mark.parametrize("error", [NotFound("no sandbox"), Forbidden("token"), Conflict("taken")])
def test_an_error_of_files_is_none_of_a_command(error: CodedError) -> None:
    with (
        pytest.raises(SenselessAnswer, match=rf"no command has \({error.code}\): {error.message}"),
        without_files(),
    ):
        raise error


def test_any_other_error_of_a_command_is_its_own() -> None:
    with pytest.raises(CommandNotStarted, match="nope"), without_files():
        raise CommandNotStarted("nope")
