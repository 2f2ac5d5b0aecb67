"""Callbacks and registrations, parsed from what guests and clients say."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from cloche_hub.domain.callback import (
    MAX_METHODS,
    MAX_PROGRAM,
    MAX_REGISTRATION,
    CallbackRequest,
    ServeRequest,
    digest_of,
    parse_callback,
    parse_serve,
)
from cloche_hub.domain.callback_json import MAX_CALLBACK_BYTES
from cloche_hub.errors import BadRequest, TooLarge


def said(**changes: Any) -> dict[str, Any]:
    return {"callback": "cb_1f", "method": "pay.send", "params": b'{ "to": "ann", "amount": 3 }', **changes}


def test_a_call_is_parsed_and_its_parameters_are_canonical() -> None:
    caller = {"pid": 7, "uid": 1000, "program": "python3"}
    text = '{"amount":3,"to":"ann"}'
    request, value = parse_callback(said(timeout_s=30, wait=False, caller=caller))
    assert value == {"to": "ann", "amount": 3}
    assert request == CallbackRequest(
        callback="cb_1f",
        method="pay.send",
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        size=len(text),
        timeout_s=30.0,
        wait=False,
        caller=caller,
    )


def test_what_is_not_said_has_a_default() -> None:
    request, _ = parse_callback(said())
    assert (request.timeout_s, request.wait, request.caller) == (None, True, {})


def test_the_audit_gets_digests_and_no_values() -> None:
    assert parse_callback(said())[0].audit_detail() == {
        "callback": "cb_1f",
        "method": "pay.send",
        "params_sha256": hashlib.sha256(b'{"amount":3,"to":"ann"}').hexdigest(),
        "params_bytes": 23,
        "wait": True,
    }
    assert digest_of('"ä"', what="result")["result_bytes"] == 4


@pytest.mark.parametrize(
    "callback", ["", "cb_", "1f", "cb_1F", "cb_" + "a" * 41, "cb_1\n", "cb_1_2", "apr_1f"]
)
def test_a_calls_id_has_one_form(callback: str) -> None:
    with pytest.raises(BadRequest, match="callback"):
        parse_callback(said(callback=callback))


@pytest.mark.parametrize("method", ["", ".a", "a b", "ä", "a\n", "a\x1b[2J", "a" * 101, "-x", "a*"])
def test_a_method_has_one_form(method: str) -> None:
    with pytest.raises(BadRequest, match="method") as raised:
        parse_callback(said(method=method))
    assert len(raised.value.message) < 250


@pytest.mark.parametrize("method", ["a", "_x", "0", "pay.send", "a:b/c-d.e_F", "a" * 100])
def test_a_method_that_will_do(method: str) -> None:
    assert parse_callback(said(method=method))[0].method == method


@pytest.mark.parametrize("params", [None, "{}", {"a": 1}, b"", b"{", b"NaN", b'{"a":1,"a":2}', b"\xff"])
def test_parameters_are_one_good_json_text(params: object) -> None:
    with pytest.raises(BadRequest):
        parse_callback(said(params=params))


def test_parameters_that_are_too_large_are_refused_as_that() -> None:
    largest = b'"' + b"x" * (MAX_CALLBACK_BYTES - 2) + b'"'
    assert len(parse_callback(said(params=largest))[0].text) == MAX_CALLBACK_BYTES
    with pytest.raises(TooLarge, match=str(MAX_CALLBACK_BYTES)):
        parse_callback(said(params=largest + b" "))


@pytest.mark.parametrize(
    "caller",
    [
        "root",
        {"pid": -1},
        {"pid": "7"},
        {"uid": 1 << 32},
        {"program": 7},
        {"program": "x" * (MAX_PROGRAM + 1)},
        {"sandbox": "sb_other"},
    ],
)
def test_what_is_said_of_the_caller_is_of_one_shape(caller: object) -> None:
    with pytest.raises(BadRequest):
        parse_callback(said(caller=caller))


def test_a_programs_name_cannot_move_an_operators_cursor() -> None:
    caller = parse_callback(said(caller={"program": "a\x1b[2J\u202eb"}))[0].caller
    assert caller["program"] == "a?[2J?b"


@pytest.mark.parametrize("extra", ["sandbox", "owner", "approval"])
def test_a_call_says_nothing_of_whose_it_is(extra: str) -> None:
    with pytest.raises(BadRequest, match=f"unknown field '{extra}'"):
        parse_callback(said(**{extra: "x"}))


def test_a_registration_is_parsed() -> None:
    assert parse_serve({"sandbox": "web", "methods": ["pay.*", "a?"], "registration": "r1"}) == ServeRequest(
        "web", ("pay.*", "a?"), "r1"
    )
    assert parse_serve({"methods": ["*"]}) == ServeRequest(None, ("*",), "")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"methods": []},
        {"methods": "pay"},
        {"methods": [""]},
        {"methods": ["a b"]},
        {"methods": ["a" * 101]},
        {"methods": ["a"] * (MAX_METHODS + 1)},
        {"methods": ["a"], "registration": "x" * (MAX_REGISTRATION + 1)},
        {"methods": ["a"], "registration": 7},
        {"methods": ["a"], "sandbox": ""},
        {"methods": ["a"], "owner": "bob"},
    ],
)
def test_a_registration_that_will_not_do(params: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        parse_serve(params)
