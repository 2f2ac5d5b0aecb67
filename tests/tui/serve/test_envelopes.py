"""What a page says is understood, or is none of its envelopes; nothing else comes of it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_tui.serve.envelopes import (
    Focused,
    Pinged,
    Resized,
    SenselessEnvelope,
    Typed,
    parse_envelope,
)

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_KINDS = st.sampled_from(["stdin", "resize", "ping", "blur", "focus"])


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["stdin", "ä\x1b[A"], Typed("ä\x1b[A".encode())),
        (["stdin", "a\ud800"], Typed(b"a?")),
        (["resize", {"width": 80, "height": 24}], Resized(80, 24)),
        (["resize", {"width": 0, "height": 10**30}], Resized(1, 1000)),
        (["resize", {"width": 80, "height": None}], None),
        (["resize", {}], None),
        (["ping", "17"], Pinged("17")),
        (["blur"], Focused(has_focus=False)),
        (["focus", None, 3], Focused(has_focus=True)),
        (["something", "else"], None),
    ],
)
def test_an_envelope_is_a_kind_and_what_there_is_to_it(said: Any, expected: Any) -> None:
    assert parse_envelope(json.dumps(said)) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "stdin", "[", '["stdin", "a"] ["stdin", "b"]'),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("9" * 5000, id="large"),
        *("null", "3", '"stdin"', "[]", "{}", "[[]]", "[null]", '{"0": "stdin"}'),
        *('["stdin"]', '["stdin", null]', '["stdin", 1]', '["ping", []]', '["ping"]'),
        *('["resize"]', '["resize", 80]', '["resize", {"width": true, "height": 1}]'),
        *('["resize", {"width": 1.5, "height": 1}]', '["resize", {"width": 1, "height": "1"}]'),
        '["resize", {"width": NaN, "height": 1}]',
    ],
)
def test_what_is_none_is_senseless(text: str) -> None:
    with pytest.raises(SenselessEnvelope):
        parse_envelope(text)


@given(st.text() | _JSON.map(json.dumps) | st.tuples(_KINDS, _JSON).map(json.dumps))
def test_whatever_comes_is_an_envelope_or_senseless(text: str) -> None:
    with contextlib.suppress(SenselessEnvelope):
        parse_envelope(text)
