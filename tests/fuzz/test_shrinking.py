"""The same borders and connections under Hypothesis: what fails comes as the smallest input that does."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cloche_wire.frames import Tag
from tests.fuzz import hostile
from tests.fuzz.borders import BORDERS
from tests.fuzz.cases import hear, victim_in_some_state
from tests.fuzz.mutations import ODD, TOKENS, change_text
from tests.fuzz.permitted import outcome_of

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.text(max_size=40)
    | st.binary(max_size=40)
    | st.sampled_from(ODD)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
VALUES = [name for name, border in BORDERS.items() if border.change is not change_text]
TEXTS = [name for name, border in BORDERS.items() if border.change is change_text]


@given(st.data(), st.sampled_from(VALUES))
def test_params_with_any_fields_are_taken_or_refused_as_permitted(data: st.DataObject, name: str) -> None:
    border = BORDERS[name]
    honest: dict[str, Any] = data.draw(st.sampled_from(border.honest))
    lost = data.draw(st.sets(st.sampled_from(sorted(honest)), max_size=1))
    changed = data.draw(st.dictionaries(st.sampled_from([*sorted(honest), "extra"]), values, max_size=3))
    params = {key: value for key, value in {**honest, **changed}.items() if key not in lost}
    outcome_of(border.permitted, lambda: border.take(params))


@given(st.data(), st.sampled_from(TEXTS))
def test_texts_in_any_pieces_are_taken_or_refused_as_permitted(data: st.DataObject, name: str) -> None:
    border = BORDERS[name]
    honest: bytes = data.draw(st.sampled_from(border.honest))
    cut, end = sorted(data.draw(st.tuples(*[st.integers(0, len(honest))] * 2)))
    pieces = data.draw(st.lists(st.sampled_from(TOKENS) | st.binary(max_size=9), max_size=3))
    outcome_of(border.permitted, lambda: border.take(honest[:cut] + b"".join(pieces) + honest[end:]))


numbers = st.integers(-1, 12) | st.sampled_from([hostile.HUGE, hostile.HUGE + 1])
frames = st.builds(
    lambda tag, fields: hostile.pack(tag, *fields),
    st.sampled_from([*Tag, 12]),
    st.lists(numbers | st.sampled_from([b"", b"abc", "exec", {}, {"x": 1}, []]) | scalars, max_size=6),
)
shaped = st.one_of(
    st.builds(lambda number, window: hostile.pack(Tag.OPEN, number, "exec", {}, window), numbers, numbers),
    st.builds(lambda number, window: hostile.pack(Tag.ACCEPT, number, {}, window), numbers, numbers),
    st.builds(
        lambda tag, number, stream, offset: hostile.pack(tag, number, stream, offset),
        st.sampled_from([Tag.EOF, Tag.ACK]), numbers, numbers, numbers,
    ),
    st.builds(
        lambda number, stream, offset, data: hostile.pack(Tag.DATA, number, stream, offset, data),
        numbers, numbers, numbers, st.binary(max_size=9),
    ),
    st.builds(lambda number: hostile.pack(Tag.CLOSE, number, {}), numbers),
    st.builds(lambda number: hostile.pack(Tag.RESET, number, "cancelled", "", {}), numbers),
    st.builds(lambda tag, number: hostile.pack(tag, number), st.just(Tag.CLOSED), numbers),
)  # fmt: skip
messages = st.lists(shaped | frames, min_size=1, max_size=3).map(b"".join) | st.binary(max_size=20)


@given(st.booleans(), st.integers(0, 30), st.lists(messages, min_size=1, max_size=8))
def test_a_connection_takes_any_messages_or_ends_as_permitted(
    leader: bool, before: int, said: list[bytes]
) -> None:
    rng = random.Random(before)
    victim, _ = victim_in_some_state(rng, leader=leader)
    for message in said:
        hear(victim, message, rng)
        victim.check()
        victim.speak()
    victim.give_up()
