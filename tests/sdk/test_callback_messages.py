"""A callback as its handler gets it, and what the caller hears."""

from __future__ import annotations

from typing import Any

import pytest

from cloche.callback_messages import (
    MAX_CALLBACK_BYTES,
    CallbackCall,
    encode_result,
    is_told_as_it_is,
    told_to_caller,
)
from cloche.errors import (
    CallbackFailed,
    CodedError,
    Forbidden,
    HubNotRunning,
    InternalError,
    LinkLost,
    NotFound,
    TooLarge,
)

SAID: dict[str, Any] = {
    "registration": "reg_1",
    "callback": "cb_7",
    "sandbox": "sb_0001",
    "sandbox_name": "box",
    "owner": "ann",
    "labels": {"team": "ml"},
    "method": "pay.send",
    "params": '{"to": "é", "amount": 3}'.encode(),
    "approval": "apr_1",
}


def test_a_call_has_its_parameters_as_values_and_what_is_newer_is_ignored() -> None:
    call = CallbackCall.parse({**SAID, "novelty": 1})
    assert call == CallbackCall(
        "cb_7", "pay.send", {"to": "é", "amount": 3}, "sb_0001", "box", "ann", {"team": "ml"}, "apr_1"
    )
    assert CallbackCall.parse({**SAID, "approval": None}).approval is None


def test_a_call_that_is_none_is_not_answered() -> None:
    with pytest.raises(InternalError, match="callback has params"):
        CallbackCall.parse({**SAID, "params": "{}"})
    for params in (b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(CallbackFailed, match="no JSON"):
            CallbackCall.parse({**SAID, "params": params})


def test_a_result_is_json_in_utf_8() -> None:
    assert encode_result({"é": [1, None, True]}) == '{"é": [1, null, true]}'.encode()


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), b"bytes", "\ud800"])
def test_a_result_that_json_has_not_is_the_handlers_error(value: object) -> None:
    with pytest.raises(TypeError, match="the result must be something JSON has"):
        encode_result(value)


def test_a_result_may_be_as_large_as_a_callbacks_and_no_larger() -> None:
    largest = "x" * (MAX_CALLBACK_BYTES - 2)
    assert len(encode_result(largest)) == MAX_CALLBACK_BYTES
    with pytest.raises(TooLarge, match="the result is 131073 bytes"):
        encode_result(largest + "x")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("no such\n  account"), "callback_failed", "ValueError: no such account"),
        (TimeoutError(), "callback_failed", "TimeoutError"),
        (NotFound("no account", account=3), "not_found", "no account"),
        (Forbidden("not you"), "forbidden", "not you"),
        (LinkLost("our own database"), "callback_failed", "LinkLost: our own database"),
        (HubNotRunning("another hub"), "callback_failed", "HubNotRunning: another hub"),
        (OSError("\ud800"), "callback_failed", "OSError: ?"),
    ],
)
def test_the_caller_hears_type_and_message_or_the_code_that_was_meant(
    error: Exception, code: str, message: str
) -> None:
    told: CodedError = told_to_caller(error)
    assert (told.code, told.message, told.details) == (code, message, {})
    assert is_told_as_it_is(error) is (code != "callback_failed")


def test_a_long_message_is_cut() -> None:
    assert len(told_to_caller(ValueError("x" * 10_000)).message) == 300
