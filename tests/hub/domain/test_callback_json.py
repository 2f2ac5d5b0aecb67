"""The JSON of callbacks: what is refused, and one spelling for what is not."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.callback_json import (
    MAX_CALLBACK_BYTES,
    MAX_DEPTH,
    MAX_WHOLE,
    MIN_WHOLE,
    JsonValue,
    canonical_json,
    parse_canonical,
    parse_json,
    parse_params,
    parse_result,
)
from cloche_hub.errors import BadRequest, TooLarge

values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(MIN_WHOLE, MAX_WHOLE)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "\\ud" not in json.dumps(value))


@given(values, st.sampled_from([None, 2]))
def test_every_spelling_of_a_value_has_one_canonical_text(value: JsonValue, indent: int | None) -> None:
    read = parse_params(json.dumps(value, indent=indent).encode())
    assert read == value
    assert parse_canonical(json.dumps(value, indent=indent).encode(), what="it") == (
        read,
        canonical_json(read),
    )
    text = canonical_json(read)
    assert canonical_json(parse_result(text.encode())) == text


def test_a_frozen_value_has_the_text_anybody_can_compute() -> None:
    text = b' {"b": [1e2, -0, 1.50, true, null], "a": "\\u00e9\\/\\n\\u0041"} '
    assert canonical_json(parse_params(text)) == '{"a":"é/\\nA","b":[100.0,0,1.5,true,null]}'


@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode(errors="replace")))
def test_any_bytes_are_a_value_or_one_of_two_errors(data: bytes) -> None:
    with suppress(BadRequest, TooLarge):
        canonical_json(parse_params(data))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "must be good JSON: Expecting value"),
        (b"{", "must be good JSON"),
        (b"1 2", "Extra data"),
        (b"'a'", "Expecting value"),
        (b"NaN", "NaN is no number in JSON"),
        (b"[-Infinity]", "-Infinity is no number"),
        (b"1e999", "1e999 is too large a number"),
        (b"18446744073709551616", "needs more than 64 bits"),
        (b"-9223372036854775809", "needs more than 64 bits"),
        (b"9" * 5000, "needs more than 64 bits"),
        (b'{"a": {"to": 1, "to": 2}}', "the member 'to' comes twice"),
        (b'"\\ud800"', "half a surrogate pair"),
        (b'{"\\udc00": 1}', "half a surrogate pair"),
        (b'"\xff"', "must be JSON in UTF-8"),
        ('"a"'.encode("utf-16"), "must be JSON in UTF-8"),
        (b"\xef\xbb\xbf1", "must be good JSON"),
    ],
)
def test_what_two_readers_could_understand_differently_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(BadRequest) as raised:
        parse_params(data)
    assert words in raised.value.message
    assert len(raised.value.message) < 200


def test_both_ends_of_64_bits_are_kept() -> None:
    assert parse_params(f"[{MIN_WHOLE},{MAX_WHOLE}]".encode()) == [MIN_WHOLE, MAX_WHOLE]


@pytest.mark.parametrize(("opened", "closed"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_has_a_limit(opened: bytes, closed: bytes) -> None:
    parse_params(opened * MAX_DEPTH + b"1" + closed * MAX_DEPTH)
    for inner in (b"1", b"[]"):
        depth = MAX_DEPTH + (inner == b"1")
        with pytest.raises(BadRequest, match="more than 64 lists and maps"):
            parse_params(opened * depth + inner + closed * depth)
    with pytest.raises(BadRequest, match="more than 64 lists and maps"):
        parse_params(opened * 20_000)


def test_a_text_over_the_limit_is_refused_before_it_is_read() -> None:
    parse_params(b'"' + b"a" * (MAX_CALLBACK_BYTES - 2) + b'"')
    with pytest.raises(TooLarge, match=r"params is 131073 bytes of JSON; the limit is 131072"):
        parse_params(b"{" + b"a" * MAX_CALLBACK_BYTES)


def test_a_value_whose_canonical_text_is_over_the_limit_is_refused() -> None:
    with pytest.raises(TooLarge, match="the result is 380003 bytes"):
        parse_result(b"[" + b"1e15," * 20_000 + b"1]")
    with pytest.raises(TooLarge, match="the answer is"):
        canonical_json("é" * (64 << 10), what="the answer")


def test_errors_name_what_was_read() -> None:
    with pytest.raises(BadRequest, match="the edited params must be good JSON"):
        parse_json(b"[", what="the edited params")
