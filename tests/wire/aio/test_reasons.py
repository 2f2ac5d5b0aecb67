"""Of several errors at once, the one that says most is told."""

from __future__ import annotations

import pytest

from cloche_wire.aio.reasons import meant_for_caller, reason_of_end, told_to_breaker
from cloche_wire.errors import (
    Cancelled,
    CodedError,
    LinkLost,
    LinkSilent,
    LocalProtocolError,
    NotFound,
    RemoteProtocolError,
    ShuttingDown,
    Undecodable,
    WireError,
    WrongVersion,
)

LOST = LinkLost("broken pipe")
SAID = ShuttingDown("back in a minute")
BROKEN = RemoteProtocolError("nonsense")
SILENT = LinkSilent("20 s")


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ([LOST], LOST),
        ([LOST, SAID], SAID),
        ([SAID, LOST], SAID),
        ([LOST, ExceptionGroup("inner", [LOST, BROKEN])], BROKEN),
        ([SILENT, SAID], SILENT),
    ],
)
def test_a_link_ends_for_the_first_reason_that_is_more_than_its_loss(
    errors: list[WireError], reason: WireError
) -> None:
    assert reason_of_end(BaseExceptionGroup("tasks", errors)) is reason


FIRST, SECOND = NotFound("first"), Cancelled("second")


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        (FIRST, FIRST),
        (ExceptionGroup("tasks", [FIRST, SECOND]), FIRST),
        (ExceptionGroup("tasks", [ExceptionGroup("inner", [SECOND]), FIRST]), SECOND),
        (ExceptionGroup("tasks", [FIRST, ZeroDivisionError()]), None),
        (ExceptionGroup("tasks", [ExceptionGroup("inner", [KeyError()]), FIRST]), None),
        (LocalProtocolError("a wrong move"), None),
        (ZeroDivisionError(), None),
    ],
)
def test_only_coded_errors_are_meant_for_the_caller(error: Exception, meant: CodedError | None) -> None:
    assert meant_for_caller(error) is meant


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BROKEN, "bad_request"),
        (Undecodable("no msgpack"), "bad_request"),
        (WrongVersion("2, not 1"), "unsupported"),
    ],
)
def test_who_broke_the_protocol_is_told_that_the_fault_is_not_ours(
    error: RemoteProtocolError, code: str
) -> None:
    told = told_to_breaker(error)
    assert told.code == code
    assert str(error) in told.message
