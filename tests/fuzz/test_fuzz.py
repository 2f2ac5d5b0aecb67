"""Hostile input costs who sends it, and is answered with a permitted error or taken: the same inputs every time.

`make fuzz` runs more of them, and new ones each time.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import settings

from tests.fuzz.__main__ import run
from tests.fuzz.borders import BORDERS
from tests.fuzz.cases import CASES
from tests.fuzz.permitted import ANSWER, BYTE_STREAM, FRAMES, JSON, LINK, MESSAGES, NOTHING, PARSED, REQUEST

INPUTS = {
    **dict.fromkeys(BORDERS, 1_000),
    "hub to client": 35_000,
    "hub to guest": 35_000,
    "decoder": 50_000,
    "framing": 50_000,
    # A problem of a policy names what comes near it, which takes time.
    "hub: text of a policy": 500,
}
"""Kind of case → inputs of it in an ordinary run."""

PERMITTED = {
    **{name: border.permitted for name, border in BORDERS.items()},
    "hub to client": LINK,
    "hub to guest": LINK,
    "decoder": FRAMES,
    "framing": BYTE_STREAM,
}


def test_every_run_feeds_a_hundred_thousand_hostile_inputs() -> None:
    assert INPUTS.keys() == CASES.keys()
    assert sum(INPUTS.values()) >= 100_000


@pytest.mark.parametrize("name", CASES)
def test_hostile_input_is_taken_or_answered_with_a_permitted_error(name: str) -> None:
    examples = settings.get_profile(settings.get_current_profile_name())
    # As the profile says of all random tests: the same ones for a verdict, new and more of them for a search.
    first = 0 if examples.derandomize else random.SystemRandom().randrange(1 << 48)
    inputs = INPUTS[name] * examples.max_examples // 100

    heard, story = run(name, first=first, inputs=inputs)

    assert story is None, story
    assert heard.total() >= inputs
    # It reaches what is behind the border, and is refused at it.
    permitted = {error.__name__ for error in PERMITTED[name]}
    assert heard[PARSED]
    assert heard.keys() & permitted or not permitted


def test_each_permitted_error_has_a_reason_and_occurs() -> None:
    for table in (LINK, FRAMES, BYTE_STREAM, REQUEST, MESSAGES, JSON, ANSWER, NOTHING):
        assert all(table.values())
        occurred = {
            error
            for name, permitted in PERMITTED.items()
            if permitted is table
            for error in run(name, first=0, inputs=500)[0]
        }
        assert {error.__name__ for error in table} <= occurred
