"""What is said on the callback socket: lines to values and back."""

from __future__ import annotations

import json

import pytest

from cloche_guest.callback_messages import (
    MAX_CALLBACK_BYTES,
    MAX_LINE,
    CallbackRequest,
    error_line,
    parse_request,
    result_line,
)
from cloche_wire.errors import BadRequest, Forbidden, TooLarge


def test_a_request_has_a_method_and_little_else() -> None:
    assert parse_request(b'{"method": "now"}') == CallbackRequest("now", b"null", None, True)


def test_a_request_says_how_long_it_waits_and_whether_at_all() -> None:
    line = b'{"method": "pay.send", "params": {"to": "Z\xc3\xbcrich", "amount": 3.5}, "timeout_s": 2, "wait": false}'
    params = '{"to":"Zürich","amount":3.5}'.encode()
    assert parse_request(line) == CallbackRequest("pay.send", params, 2.0, False)


def test_parameters_say_one_thing_whatever_the_caller_wrote() -> None:
    line = b'{"method": "a", "params": {"amount": 1, "amount" :\t1000}}'
    assert parse_request(line).params == b'{"amount":1000}'


@pytest.mark.parametrize("method", ["a", "_", "pay.send", "a:b/c-d.e_f", "A" * 100])
def test_a_method_is_a_short_word(method: str) -> None:
    assert parse_request(json.dumps({"method": method}).encode()).method == method


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "no JSON"),
        (b"hello", "no JSON"),
        (b"\xff\xfe\xfd", "no JSON"),
        (b"[1]", "must be a JSON object"),
        (b"{}", "method must be"),
        (b'{"method": 3}', "method must be"),
        (b'{"method": ""}', "method must be"),
        (b'{"method": ".a"}', "method must be"),
        (b'{"method": "a\\n"}', "method must be"),
        (b'{"method": "%s"}' % (b"a" * 101), "method must be"),
        (b'{"method": "a", "sandbox": "sb_other"}', "unknown field 'sandbox'"),
        (b'{"method": "a", "wait": 1}', "wait must be"),
        (b'{"method": "a", "timeout_s": 0}', "timeout_s must be above 0"),
        (b'{"method": "a", "timeout_s": true}', "timeout_s must be above 0"),
        (b'{"method": "a", "timeout_s": 1e300}', "timeout_s must be above 0"),
        (b'{"method": "a", "params": NaN}', "NaN is no JSON"),
        (b'{"method": "a", "params": -Infinity}', "Infinity is no JSON"),
        (b'{"method": "a", "params": 1e999}', "too large"),
        (b'{"method": "a", "params": %s}' % (b"9" * 5000), "no JSON"),
        (b'{"method": "a", "params": "\\ud800"}', "surrogate"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_what_is_wrong(line: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        parse_request(line)


@pytest.mark.parametrize("depth", [*range(900, 1000, 7), 50_000])
def test_a_request_nested_without_end_is_refused_or_taken(depth: int) -> None:
    for line in (b"[" * depth + b"]" * depth, b'{"method":"a","params":%s}' % (b"[" * depth + b"]" * depth)):
        try:
            assert len(parse_request(line).params) == 2 * depth
        except BadRequest as error:
            assert "nested" in error.message or "object" in error.message  # noqa: PT017


def test_parameters_of_the_largest_size_fit_a_line_and_one_byte_more_does_not_go() -> None:
    text = "x" * (MAX_CALLBACK_BYTES - 2)
    line = json.dumps({"method": "m" * 100, "params": text, "timeout_s": 123.456, "wait": True}).encode()
    assert len(line) < MAX_LINE
    assert len(parse_request(line).params) == MAX_CALLBACK_BYTES
    with pytest.raises(TooLarge, match="131073 bytes"):
        parse_request(json.dumps({"method": "m", "params": text + "x"}).encode())


def test_a_result_of_many_lines_becomes_one() -> None:
    line = result_line(b'{\r\n "a": "b\\n"\n}')
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"result": {"a": "b\n"}}


def test_an_error_is_a_code_and_a_sentence_of_bounded_length() -> None:
    answer = json.loads(error_line(Forbidden("no\n" + "x" * 5000, rule="r")))
    assert answer["error"]["code"] == "forbidden"
    assert answer["error"]["message"].startswith("no\nxxx")
    assert len(answer["error"]["message"]) == 1000
